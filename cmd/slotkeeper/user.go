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
	"slotkeeper/web"
)

func (c *cli) userCommand() *cobra.Command {
	return group("user", "Add people, set passwords, lock people out", c.userAdd(), c.userList(), c.userPasswd(), c.userDisable(), c.userEnable())
}

func (c *cli) userAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME --role viewer|operator|administrator",
		Short: "Add a user; without a password a one-time sign-in link is printed",
		Args:  exactly(1),
	}
	role := cmd.Flags().String("role", string(access.Viewer), "viewer, operator or administrator")
	password := c.secretFlag(cmd, "password", "the password (without one, a sign-in link is printed)")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		secret, err := password()
		if err != nil {
			return err
		}
		return c.with(cmd.Context(), func(inst *installation) error {
			u, err := inst.accounts.AddUser(cmd.Context(), access.System, args[0], access.Role(*role), secret)
			if err != nil {
				return err
			}
			out := userJSON{ID: u.ID, Name: u.Name, Role: u.Role}
			if secret == "" {
				link, err := inst.accounts.SignInLink(cmd.Context(), access.System, u.ID)
				if err != nil {
					return err
				}
				out.Link = c.cfg.publicURL.String() + web.LinkPath(link)
			}
			if *asJSON {
				return c.printJSON(out)
			}
			fmt.Fprintf(c.stdout, "added %s, %s\n", out.Name, out.Role)
			if out.Link != "" {
				fmt.Fprintf(c.stdout, "sign in once, within an hour, and set a password under Settings:\n%s\n", out.Link)
			}
			return nil
		})
	}
	return cmd
}

type userJSON struct {
	ID   uuid.UUID   `json:"id"`
	Name string      `json:"name"`
	Role access.Role `json:"role"`
	Link string      `json:"link,omitempty"` // signs in once
}

// noUser says so in one line when nobody has the name.
func noUser(name string, err error) error {
	if errors.Is(err, booking.ErrNotFound) {
		return &booking.InvalidError{Field: "user", Detail: fmt.Sprintf("there is no user %q", name)}
	}
	return fmt.Errorf("user %s: %w", name, err)
}

type listedUserJSON struct {
	ID   uuid.UUID   `json:"id"`
	Name string      `json:"name"`
	Role access.Role `json:"role"`
	// Resources are what a limited viewer sees; null for who sees all.
	Resources  []uuid.UUID `json:"resources"`
	CreatedAt  time.Time   `json:"created_at"`
	DisabledAt *time.Time  `json:"disabled_at"`
}

func newListedUserJSON(u access.User) listedUserJSON {
	out := listedUserJSON{ID: u.ID, Name: u.Name, Role: u.Role, CreatedAt: u.CreatedAt, DisabledAt: u.DisabledAt}
	if s := u.Scope(); s.Limited {
		out.Resources = append([]uuid.UUID{}, s.Resources...)
	}
	return out
}

func (c *cli) userList() *cobra.Command {
	read := func(ctx context.Context, inst *installation) ([]access.User, error) { return inst.accounts.Users(ctx) }
	return listing(c, "List the users", read, newListedUserJSON, func(u listedUserJSON) []any {
		sees, state := "sees all", "may sign in"
		if u.Resources != nil {
			sees = fmt.Sprintf("sees %d resources", len(u.Resources))
		}
		if u.DisabledAt != nil {
			state = "disabled " + u.DisabledAt.Format(time.RFC3339)
		}
		return []any{u.ID, u.Name, u.Role, sees, state}
	})
}

func (c *cli) userPasswd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "passwd NAME", Short: "Set a user's password and end their sessions; it is read from the standard input unless given",
		Args: exactly(1),
	}
	password := c.secretFlag(cmd, "password", "the new password")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		secret, err := password()
		if err == nil && secret == "" {
			secret, err = c.readSecret("-")
		}
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			if err := inst.accounts.SetPassword(cmd.Context(), access.System, args[0], secret); err != nil {
				return noUser(args[0], err)
			}
			fmt.Fprintln(c.stdout, "password set")
			return nil
		})
	}
	return cmd
}

func (c *cli) userDisable() *cobra.Command {
	return &cobra.Command{
		Use: "disable NAME", Short: "Lock a user out at once", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withExisting(cmd.Context(), func(inst *installation) error {
				if err := inst.accounts.DisableUser(cmd.Context(), access.System, args[0]); err != nil {
					return noUser(args[0], err)
				}
				fmt.Fprintln(c.stdout, "disabled")
				return nil
			})
		},
	}
}

func (c *cli) userEnable() *cobra.Command {
	return &cobra.Command{
		Use: "enable NAME", Short: "Let somebody in again who was locked out", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withExisting(cmd.Context(), func(inst *installation) error {
				if err := inst.accounts.EnableUser(cmd.Context(), access.System, args[0]); err != nil {
					return noUser(args[0], err)
				}
				fmt.Fprintln(c.stdout, "enabled")
				return nil
			})
		},
	}
}
