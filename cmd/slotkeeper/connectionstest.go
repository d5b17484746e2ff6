package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
)

type hopJSON struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy,omitempty"`
	Duration string `json:"duration"`
}

type selftestJSON struct {
	ConnectionID uuid.UUID `json:"connection_id"`
	OK           bool      `json:"ok"`
	SentFrom     string    `json:"sent_from"`
	Hops         []hopJSON `json:"hops"`
}

func (c *cli) connectionsTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test ID",
		Short: "Follow a signed selftest from here through the public URL into the database",
		Long: `Post a signed selftest to a connection's webhook URL, as its provider would, and
tell how each hop went: address, connection, certificate, the post and its answer,
the receipt in the database; then the provider's API and the webhook there, if they
can be asked. A selftest is stored and ignored; nothing is changed at the provider.

The server must be running. It is posted from this machine, not from the provider's:
a firewall may still stop what the provider posts.`,
		Args: exactly(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID("connection", args[0])
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			return c.withEngine(cmd.Context(), inst, func(e *engine) error {
				hops, err := e.accounts.SelfTest(cmd.Context(), id)
				if errors.Is(err, booking.ErrNotFound) {
					return noConnection("connection", id, err)
				}
				if err != nil {
					return err
				}
				return c.printHops(id, hops, *asJSON)
			})
		})
	}
	return cmd
}

func (c *cli) printHops(id uuid.UUID, hops []account.Hop, asJSON bool) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	out := selftestJSON{ConnectionID: id, OK: true, SentFrom: host}
	var failed account.HopName
	for _, h := range hops {
		if !h.OK {
			out.OK = false
			failed = h.Name
		}
		out.Hops = append(out.Hops, hopJSON{string(h.Name), h.OK, h.Detail, h.Remedy, h.Took.Round(time.Microsecond).String()})
	}
	if asJSON {
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else {
		out.print(c.stdout)
	}
	if !out.OK {
		return fmt.Errorf("the selftest failed at the hop %s", failed)
	}
	return nil
}

func (o selftestJSON) print(w io.Writer) {
	for _, h := range o.Hops {
		status := statusOK
		if !h.OK {
			status = statusFailed
		}
		writeFinding(w, status, fmt.Sprintf("%s: %s (%s)", h.Name, h.Detail, h.Duration), h.Remedy)
	}
}
