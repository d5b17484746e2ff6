package main

import (
	"errors"
	"fmt"
	"text/tabwriter"
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
	cmd := &cobra.Command{Use: "list", Short: "List the tokens", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			all, err := inst.accounts.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			out := make([]tokenJSON, 0, len(all))
			for _, t := range all {
				out = append(out, newTokenJSON(t))
			}
			if *asJSON {
				return c.printJSON(out)
			}
			w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
			for _, t := range out {
				state := "never used"
				switch {
				case t.RevokedAt != nil:
					state = "revoked " + t.RevokedAt.Format(time.RFC3339)
				case t.LastUsedAt != nil:
					state = "last used " + t.LastUsedAt.Format(time.RFC3339)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, t.Name, t.Scope, state)
			}
			return w.Flush()
		})
	}
	return cmd
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
