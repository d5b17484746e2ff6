package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

func (c *cli) connectionsCommand() *cobra.Command {
	return group("connections", "List connections, compare them with their providers, change their secrets and what is kept of them, end them",
		c.connectionsList(), c.connectionsTest(), c.connectionsSync(), c.connectionsBackfill(), c.connectionsStop(), c.connectionsRotate(), c.connectionsForms(), c.connectionsDisconnect())
}

func (c *cli) connectionsList() *cobra.Command {
	read := func(ctx context.Context, inst *installation) ([]providers.Connection, error) {
		return inst.connections(ctx)
	}
	return listing(c, "List the connections", read, c.connectionJSON, func(o connectionJSON) []any {
		return []any{o.ID, o.Provider, o.State, o.Name, o.WebhookURL}
	})
}

func (c *cli) connectionsRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Give a connection a new secret; the one before stays good until --finish",
		Long: `Give a connection a new secret and print it.

From then on posts are accepted that are signed with either, so that nothing is
lost until the new one is entered at the provider. Then run it with --finish:
the old secret verifies nothing any more. Where the webhook was registered
through the provider's API, the provider is given the new one at once.

Only one secret before is kept. Do not rotate again before the provider signs
with the new one: what it signs with now would no longer be accepted.`,
		Args: exactly(1),
	}
	alwaysJSON(cmd)
	force := cmd.Flags().Bool("force", false, "rotate again although the rotation before is not finished")
	finish := cmd.Flags().Bool("finish", false, "forget the secret before, once the provider signs with the new one")
	secret := c.secretFlag(cmd, "signing-secret", "the new secret (made when absent)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID("connection", args[0])
		if err != nil {
			return err
		}
		next, err := secret()
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			conn, err := inst.store.Connection(cmd.Context(), id)
			if err != nil {
				return noConnection("connection", id, err)
			}
			return c.withEngine(cmd.Context(), inst, func(e *engine) error {
				out := c.connectionJSON(conn)
				if *finish {
					err = account.Remedied(conn.Provider, e.accounts.FinishRotation(cmd.Context(), id))
				} else {
					out.SigningSecret, err = c.rotate(cmd.Context(), e, conn, next, *force)
				}
				if err != nil {
					return err
				}
				return c.printJSON(out)
			})
		})
	}
	return cmd
}

// rotate gives a connection a new secret, and tells it where it was made here for a
// person to enter.
func (c *cli) rotate(ctx context.Context, e *engine, conn providers.Connection, next string, force bool) (made string, err error) {
	switch {
	case conn.DisconnectedAt != nil:
		return "", &booking.ConflictError{Detail: "the connection is disconnected, and takes no posts: connect it again with connect " + conn.Provider + " --reconnect " + conn.ID.String()}
	case conn.SecretFixed(e.adapters[conn.Provider]):
		return "", &booking.ConflictError{Detail: "the provider signs with a key that is not ours to change: make another there, and give it with connect " + conn.Provider + " --reconnect " + conn.ID.String()}
	case conn.Secrets.Previous != "" && !force:
		return "", &booking.ConflictError{Detail: "a rotation is under way: the provider may still sign with the secret before this one, which another rotation would forget. Enter the new secret there and run --finish, or --force if it was never entered"}
	case conn.Subscription == providers.Registered && next != "":
		return "", &booking.InvalidError{Field: "--signing-secret", Detail: "the webhook is registered by us, and gets a secret that is made here"}
	case conn.Subscription == providers.Registered:
		return "", account.Remedied(conn.Provider, e.accounts.Rotate(ctx, conn.ID))
	case next == "":
		next = account.NewSecret()
		made = next
	}
	if err := checkSecret("--signing-secret", next); err != nil {
		return "", err
	}
	return made, e.accounts.RotateByHand(ctx, conn.ID, next, force)
}

// noConnection says where to look when there is none of an id.
func noConnection(field string, id uuid.UUID, err error) error {
	if errors.Is(err, booking.ErrNotFound) {
		return &booking.InvalidError{Field: field, Detail: fmt.Sprintf("there is no connection %s: see connections list", id)}
	}
	return fmt.Errorf("connection %s: %w", id, err)
}

func parseID(what, s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return id, &booking.InvalidError{Field: what, Detail: fmt.Sprintf("%q is not an id such as 0190a2b4-…", s)}
	}
	return id, nil
}
