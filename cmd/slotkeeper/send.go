package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

func (c *cli) sendCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send <provider> FILE --connection ID",
		Short: "Sign a body as the provider would and post it to the running server",
		Long: `Sign a body as the provider would, with the connection's own secret, and post
it to the running server. FILE - is the standard input. The answer is printed.`,
		Args: exactly(2),
	}
	alwaysJSON(cmd)
	connection := cmd.Flags().String("connection", "", "the connection's id (see connections list)")
	to := cmd.Flags().String("url", "", "where the server is (default: SLOTKEEPER_PUBLIC_URL)")
	if err := cmd.MarkFlagRequired("connection"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		adapter, ok := adapters(&c.cfg)[args[0]]
		if !ok {
			return &booking.InvalidError{Field: "provider", Detail: fmt.Sprintf("%q is not one: see connect --help", args[0])}
		}
		id, err := parseID("--connection", *connection)
		if err != nil {
			return err
		}
		body, err := c.readBody(args[1])
		if err != nil {
			return err
		}
		var conn providers.Connection
		err = c.withExisting(cmd.Context(), func(inst *installation) error {
			conn, err = inst.store.Connection(cmd.Context(), id)
			return err
		})
		if err != nil {
			return noConnection("--connection", id, err)
		}
		if conn.Provider != adapter.Name() {
			return &booking.InvalidError{Field: "--connection", Detail: fmt.Sprintf("%s is a connection of %s, not of %s", id, conn.Provider, adapter.Name())}
		}
		base := c.cfg.publicURL
		if *to != "" {
			if base, err = base.Parse(*to); err != nil {
				return &booking.InvalidError{Field: "--url", Detail: "give it as http(s)://host[:port]"}
			}
		}
		return c.post(cmd.Context(), conn.WebhookURL(base), body, adapter.Sign(body, conn.Secrets.Current, c.now()))
	}
	return cmd
}

func (c *cli) readBody(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(c.stdin)
	}
	return os.ReadFile(path) //nolint:gosec // G304: the operator names the file
}

const sendTimeout = 30 * time.Second

// post sends a signed body and prints the answer; anything but 2xx is an error.
func (c *cli) post(ctx context.Context, url string, body []byte, header http.Header) error {
	answer, status, err := post(ctx, url, body, header)
	if err != nil {
		return err
	}
	var v any
	if json.Unmarshal(answer, &v) != nil {
		v = string(answer)
	}
	if err := c.printJSON(v); err != nil {
		return err
	}
	if status/100 != 2 {
		return fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
	}
	return nil
}

func post(ctx context.Context, url string, body []byte, header http.Header) (answer []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("is the server running, and at this URL? %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer, resp.StatusCode, err
}
