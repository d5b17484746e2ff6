package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

func (c *cli) tokenCommand() *cobra.Command {
	return group("token", "Make, list and revoke API tokens", c.tokenCreate(), c.tokenList(), c.tokenRevoke())
}

func (c *cli) tokenCreate() *cobra.Command {
	cmd := &cobra.Command{Use: "create --name N --scope read|operate|admin", Short: "Make a token and print it, once", Args: cobra.NoArgs}
	name := cmd.Flags().String("name", "", "what the token is for")
	scope := cmd.Flags().String("scope", string(access.Read), "read, operate or admin")
	if err := cmd.MarkFlagRequired("name"); err != nil {
		panic(err)
	}
	alwaysJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd.Context(), func(inst *installation) error {
			text, t, err := inst.accounts.CreateToken(cmd.Context(), access.System, *name, access.Scope(*scope))
			if err != nil {
				return err
			}
			return c.printJSON(struct {
				Token string `json:"token"`
				tokenJSON
			}{text, newTokenJSON(t)})
		})
	}
	return cmd
}

type tokenJSON struct {
	ID         uuid.UUID     `json:"id"`
	Name       string        `json:"name"`
	Scope      access.Scope  `json:"scope"`
	CreatedBy  booking.Actor `json:"created_by"` // "" when nobody knows any more
	CreatedAt  time.Time     `json:"created_at"`
	LastUsedAt *time.Time    `json:"last_used_at"`
	RevokedAt  *time.Time    `json:"revoked_at"`
}

func newTokenJSON(t access.Token) tokenJSON {
	return tokenJSON{t.ID, t.Name, t.Scope, t.CreatedBy, t.CreatedAt, t.LastUsedAt, t.RevokedAt}
}

func (c *cli) tokenList() *cobra.Command {
	read := func(ctx context.Context, inst *installation) ([]access.Token, error) {
		return inst.accounts.Tokens(ctx)
	}
	return listing(c, "List the tokens", read, newTokenJSON, func(t tokenJSON) []any {
		return []any{t.ID, t.Name, t.Scope, usage("used", t.LastUsedAt, t.RevokedAt)}
	})
}

func (c *cli) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a token at once", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("token", args[0])
			if err != nil {
				return err
			}
			return c.withExisting(cmd.Context(), func(inst *installation) error {
				if err := inst.accounts.RevokeToken(cmd.Context(), access.System, id); err != nil {
					if errors.Is(err, booking.ErrNotFound) {
						return &booking.InvalidError{Field: "token", Detail: fmt.Sprintf("there is no token %s that is not revoked yet: see token list", id)}
					}
					return fmt.Errorf("token %s: %w", id, err)
				}
				fmt.Fprintln(c.stdout, "revoked")
				return nil
			})
		},
	}
}
