package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"slotkeeper/booking/access"
	"slotkeeper/booking/vault"
	"slotkeeper/providers"
	"slotkeeper/providers/calcom/calcomtest"
	"slotkeeper/web"
)

func (c *cli) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Serve an invented clinic from a data directory of its own, and print a sign-in link",
		Long: `Serve an invented clinic from a temporary data directory.

The bookings come in as they would from outside: signed deliveries are posted to
the running server, some of them twice, some late. The directory is removed at
the end. No database URL or key of yours is used.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.demo(cmd.Context(), func(context.Context, *installation) error { return nil })
		},
	}
}

// demo serves the clinic until ctx ends; told is called when its story was told.
func (c *cli) demo(ctx context.Context, told func(context.Context, *installation) error) (err error) {
	dir, err := os.MkdirTemp("", "slotkeeper-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c.cfg.DataDir, c.cfg.DatabaseURL, c.cfg.SecretKey = dir, "", base64.StdEncoding.EncodeToString(vault.NewKey())
	// The invented deliveries go to this server, whatever stands in front of yours.
	c.cfg.PublicURL = ""
	if c.cfg.publicURL, err = c.cfg.public(); err != nil {
		return err
	}
	// The clinic is where this machine is, so that its hours are those of a day here.
	days := newDemoDays(c.now(), web.NamedZone(c.zone))
	ac, err := c.playAcuity(ctx, days.after.zone())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ac.Close()) }()
	cal, err := c.playCalcom(ctx, days.later)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cal.Close()) }()
	if c.cfg.private, err = demoHosts(ac.URL(), cal.URL()); err != nil {
		return err
	}
	c.patience = 0
	return c.with(ctx, func(inst *installation) error {
		return c.serve(ctx, inst, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
			if err := c.tellAcuity(ctx, inst, ac, days.after); err != nil {
				return err
			}
			go keepTelling(ctx, ac)
			if err := c.tell(ctx, inst, cal, days); err != nil {
				return err
			}
			return told(ctx, inst)
		})
	})
}

// tell posts the demo's story to the running server and prints the way in.
func (c *cli) tell(ctx context.Context, inst *installation, cal *calcomtest.Server, days demoDays) error {
	conns, err := c.demoConnections(ctx, inst)
	if err != nil {
		return err
	}
	all := adapters(&c.cfg)
	counts := map[string]int{}
	for _, p := range demoStory(days) {
		conn := conns[p.provider]
		url := conn.WebhookURL(c.cfg.publicURL)
		for range 1 + p.copies {
			answer, status, err := post(ctx, url, p.body, all[p.provider].Sign(p.body, conn.Secrets.Current, c.now()))
			if err != nil {
				return err
			}
			if status/100 != 2 {
				return fmt.Errorf("the demo's post was answered %d: %s", status, answer)
			}
			var told struct{ Status string }
			if err := json.Unmarshal(answer, &told); err != nil {
				return err
			}
			counts[told.Status]++
		}
	}
	user, err := inst.accounts.AddUser(ctx, access.System, "demo", access.Administrator, "")
	if err != nil {
		return err
	}
	link, err := inst.accounts.SignInLink(ctx, access.System, user.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, `
Acuity, played by us, was asked for what its posts only hinted at.
Posted %d signed deliveries: %d processed, %d copies known, %d conflict, %d refused, %d waiting, %d said nothing new.
The calendar shows the double bookings that were refused their slot; Audit shows why.

To try:
  Cancel at the provider: in Conflicts, cancel Nadia Rahman at Acuity. Aiko Tanaka then
  gets the slot by herself. Only Acuity has an API here; the other connections take posts.
  Accept an overlap: in Conflicts, choose one and give a reason.
  Connect an account: Connections, Connect Cal.com, "self-hosted":
      API address  %s
      API key      %s

    %s%s

The link signs in once. Stop with Ctrl-C; nothing is kept.
`, sum(counts), counts["processed"], counts["duplicate"], counts["conflict"], counts["rejected"], counts["waiting"], counts["unchanged"], cal.APIBase(), demoCalcomKey, c.cfg.publicURL, web.LinkPath(link))
	return nil
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// demoConnections connects an account of each provider of the story.
func (c *cli) demoConnections(ctx context.Context, inst *installation) (map[string]providers.Connection, error) {
	out := map[string]providers.Connection{}
	for provider, name := range map[string]string{
		"calendly": "Harbour Clinic on Calendly", "calcom": "Harbour Clinic on Cal.com", "generic": "Front desk",
	} {
		conn, _, err := c.newConnection(provider, name, "", func(*providers.Connection) error { return nil })
		if err != nil {
			return nil, err
		}
		if err := inst.store.CreateConnection(ctx, conn); err != nil {
			return nil, err
		}
		out[provider] = conn
	}
	return out, nil
}
