package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

func (i *installation) feeds() *access.Feeds { return access.NewFeeds(i.store.Feeds(), i.accounts) }

func (c *cli) feedsCommand() *cobra.Command {
	return group("feeds", "List, make and revoke calendar feeds", c.feedsList(), c.feedsAdd(), c.feedsRevoke())
}

type feedJSON struct {
	ID         uuid.UUID         `json:"id"`
	Name       string            `json:"name"`
	Level      booking.FeedLevel `json:"level"`
	Resources  []uuid.UUID       `json:"resource_ids"` // none: all
	Provider   string            `json:"provider"`     // "" for all
	Statuses   []booking.Status  `json:"statuses"`     // none: all
	OwnerID    *uuid.UUID        `json:"owner_id"`     // null: the installation's
	CreatedBy  booking.Actor     `json:"created_by"`
	CreatedAt  time.Time         `json:"created_at"`
	LastUsedAt *time.Time        `json:"last_used_at"`
	RevokedAt  *time.Time        `json:"revoked_at"`
}

func newFeedJSON(f access.Feed) feedJSON {
	out := feedJSON{
		ID: f.ID, Name: f.Name, Level: f.Level, Resources: f.Filter.Resources, Provider: f.Filter.Provider, Statuses: f.Filter.Statuses,
		OwnerID: f.Owner, CreatedBy: f.CreatedBy, CreatedAt: f.CreatedAt, LastUsedAt: f.LastUsedAt, RevokedAt: f.RevokedAt,
	}
	if out.Resources == nil {
		out.Resources = []uuid.UUID{}
	}
	if out.Statuses == nil {
		out.Statuses = []booking.Status{}
	}
	return out
}

func (c *cli) feedsAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "add --name N [--level busy|names|full] [--resource ID]…", Short: "Make a feed and print its address, once", Args: cobra.NoArgs,
	}
	name := cmd.Flags().String("name", "", "what the feed is for; calendars show it")
	level := cmd.Flags().String("level", string(booking.FeedBusy), "busy, names or full: how much it tells")
	resources := cmd.Flags().StringArray("resource", nil, "only bookings of this resource (id); may be given several times")
	provider := cmd.Flags().String("provider", "", "only bookings of this provider")
	statuses := cmd.Flags().StringArray("status", nil, "only active, pending or conflicted bookings; may be given several times")
	user := cmd.Flags().String("user", "", "whose feed it is: it tells no more than that user may see")
	if err := cmd.MarkFlagRequired("name"); err != nil {
		panic(err)
	}
	alwaysJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		wanted := access.NewFeed{Name: *name, Level: booking.FeedLevel(*level), Filter: booking.FeedFilter{Provider: *provider}}
		for _, text := range *resources {
			id, err := parseID("resource", text)
			if err != nil {
				return err
			}
			wanted.Filter.Resources = append(wanted.Filter.Resources, id)
		}
		for _, s := range *statuses {
			wanted.Filter.Statuses = append(wanted.Filter.Statuses, booking.Status(s))
		}
		if names := c.providerNames(); *provider != "" && !slices.Contains(names, *provider) {
			return &booking.InvalidError{Field: "--provider", Detail: "give one of " + strings.Join(names, ", ")}
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error { return c.addFeed(cmd.Context(), inst, wanted, *user) })
	}
	return cmd
}

func (c *cli) addFeed(ctx context.Context, inst *installation, wanted access.NewFeed, user string) error {
	owner, err := inst.feedOwner(ctx, user)
	if err != nil {
		return err
	}
	secret, f, err := inst.feeds().Add(ctx, access.System, owner, wanted)
	if err != nil {
		return err
	}
	return c.printJSON(struct {
		URL string `json:"url"`
		feedJSON
	}{c.cfg.publicURL.String() + web.FeedPath(secret), newFeedJSON(f)})
}

// feedOwner is the user of a name; nil for none.
func (i *installation) feedOwner(ctx context.Context, name string) (*access.User, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // a feed without an owner is the installation's
	}
	all, err := i.accounts.Users(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(u access.User) bool { return u.Name == strings.ToLower(strings.TrimSpace(name)) })
	if at < 0 || all[at].DisabledAt != nil {
		return nil, &booking.InvalidError{Field: "--user", Detail: fmt.Sprintf("there is no user %q who may sign in", name)}
	}
	u, err := i.accounts.User(ctx, all[at].ID)
	return &u, err
}

func (c *cli) feedsList() *cobra.Command {
	read := func(ctx context.Context, inst *installation) ([]access.Feed, error) { return inst.feeds().All(ctx) }
	return listing(c, "List the feeds", read, newFeedJSON, func(f feedJSON) []any {
		return []any{f.ID, f.Name, f.Level, usage("read", f.LastUsedAt, f.RevokedAt)}
	})
}

func (c *cli) feedsRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a feed at once", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("feed", args[0])
			if err != nil {
				return err
			}
			return c.withExisting(cmd.Context(), func(inst *installation) error {
				if err := inst.feeds().Revoke(cmd.Context(), access.System, id); err != nil {
					if errors.Is(err, booking.ErrNotFound) {
						return &booking.InvalidError{Field: "feed", Detail: fmt.Sprintf("there is no feed %s that is not revoked yet: see feeds list", id)}
					}
					return fmt.Errorf("feed %s: %w", id, err)
				}
				fmt.Fprintln(c.stdout, "revoked")
				return nil
			})
		},
	}
}
