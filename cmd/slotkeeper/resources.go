package main

import (
	"context"
	"fmt"
	"net/mail"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

func (c *cli) resourcesCommand() *cobra.Command {
	return group("resources", "List resources, and say which identities of providers are which",
		c.resourcesList(), c.resourcesMap(), c.resourcesRename(), c.resourcesMerge(), c.resourcesSplit(), c.resourcesZone())
}

type resourceJSON struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"`
	Timezone   string         `json:"timezone"`
	Coming     int            `json:"future_bookings"`
	Identities []identityJSON `json:"identities"`
}

type identityJSON struct {
	Provider   string `json:"provider"` // "" of an e-mail
	APIBase    string `json:"api_base"`
	ExternalID string `json:"external_id"`
	Email      string `json:"email"`
}

type unmappedJSON struct {
	identityJSON
	Bookings int `json:"bookings"`
	Coming   int `json:"future_bookings"`
}

func (c *cli) resourcesList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the resources, and the identities that have none yet", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			all, err := inst.resources(cmd.Context())
			if err != nil {
				return err
			}
			coming, err := inst.store.Coming(cmd.Context(), c.now())
			if err != nil {
				return err
			}
			unmapped, err := inst.store.Unmapped(cmd.Context(), c.now())
			if err != nil {
				return err
			}
			if *asJSON {
				out := struct {
					Resources []resourceJSON `json:"resources"`
					Unmapped  []unmappedJSON `json:"unmapped"`
				}{[]resourceJSON{}, []unmappedJSON{}}
				for _, r := range all {
					item := resourceJSON{r.ID, r.Name, r.Timezone, coming[r.ID], make([]identityJSON, 0, len(r.Identities))}
					for _, i := range r.Identities {
						item.Identities = append(item.Identities, newIdentityJSON(i))
					}
					out.Resources = append(out.Resources, item)
				}
				for _, u := range unmapped {
					out.Unmapped = append(out.Unmapped, unmappedJSON{newIdentityJSON(u.Identity), u.Bookings, u.Coming})
				}
				return c.printJSON(out)
			}
			w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
			for _, r := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Name, r.Timezone, counted(coming[r.ID], "future booking"))
				for _, i := range r.Identities {
					fmt.Fprintf(w, "\t%s\t%s\t\n", identityName(i), i.Source.Provider)
				}
			}
			for _, u := range unmapped {
				fmt.Fprintf(w, "unmapped\t%s\t%s\t%s, %d to come\n", u.ExternalID, u.Source.Provider, counted(u.Bookings, "booking"), u.Coming)
			}
			return w.Flush()
		})
	}
	return cmd
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func identityName(i booking.Identity) string {
	if i.Email != "" && i.Email != i.ExternalID {
		return i.ExternalID + " (" + i.Email + ")"
	}
	return i.ExternalID
}

func newIdentityJSON(i booking.Identity) identityJSON {
	return identityJSON{i.Source.Provider, i.Source.Base, i.ExternalID, i.Email}
}

func (c *cli) resourcesMap() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "map PROVIDER IDENTITY (--resource ID | --email E | --name N)",
		Short: "Say which resource a provider's identity is; its bookings claim their slots there at once",
		Args:  exactly(2),
	}
	resource := cmd.Flags().String("resource", "", "an existing resource's id")
	email := cmd.Flags().String("email", "", "the resource of this e-mail, made when there is none")
	name := cmd.Flags().String("name", "", "a new resource of this name")
	base := baseFlag(cmd)
	asJSON := jsonFlag(cmd)
	cmd.MarkFlagsOneRequired("resource", "email", "name")
	cmd.MarkFlagsMutuallyExclusive("resource", "email", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			source, err := inst.source(cmd.Context(), args[0], *base)
			if err != nil {
				return err
			}
			to := booking.Resource{ID: uuid.Must(uuid.NewV7()), Name: *name, NameGiven: true}
			switch {
			case *resource != "":
				if to, err = inst.resourceByID(cmd.Context(), "--resource", *resource); err != nil {
					return err
				}
			case *email != "":
				address := booking.NormalizeEmail(*email)
				if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
					return &booking.InvalidError{Field: "--email", Detail: fmt.Sprintf("%q is not an e-mail address", *email)}
				}
				to = booking.Resource{ID: booking.ResourceIDByEmail(address), Name: address}
			}
			to, impact, err := inst.store.MapIdentity(cmd.Context(), access.System, booking.Identity{Source: source, ExternalID: args[1]}, to, c.now())
			if err != nil {
				return err
			}
			if *asJSON {
				return c.printJSON(newImpactJSON(to.ID, impact))
			}
			fmt.Fprintf(c.stdout, "mapped to %s (%s); bookings whose state changed: %d\n", to.Name, to.ID, len(impact.Conflicts)+len(impact.Released))
			return c.printImpact(impact)
		})
	}
	return cmd
}

func baseFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("api-url", "", "the identity's API, when several accounts of the provider are connected")
}

func (i *installation) resourceByID(ctx context.Context, what, text string) (booking.Resource, error) {
	id, err := parseID(what, text)
	if err != nil {
		return booking.Resource{}, err
	}
	return i.resource(ctx, id)
}

func (c *cli) resourcesRename() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rename ID NAME", Short: "Give a resource a name; what providers tell does not change it any more", Args: exactly(2),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.editResource(cmd.Context(), args[0], func(inst *installation, r booking.Resource) error {
			if err := inst.store.RenameResource(cmd.Context(), access.System, r.ID, args[1], c.now()); err != nil {
				return err
			}
			fmt.Fprintf(c.stdout, "%s is now %s\n", r.Name, args[1])
			return nil
		})
	}
	return cmd
}

func (c *cli) resourcesZone() *cobra.Command {
	cmd := &cobra.Command{
		Use: "zone ID ZONE", Short: `Say in which IANA time zone a resource is; "" is the server's`, Args: exactly(2),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.editResource(cmd.Context(), args[0], func(inst *installation, r booking.Resource) error {
			if err := inst.store.SetZone(cmd.Context(), access.System, r.ID, args[1], c.now()); err != nil {
				return err
			}
			zone := args[1]
			if zone == "" {
				zone = "the server's"
			}
			fmt.Fprintf(c.stdout, "the zone of %s is %s\n", r.Name, zone)
			return nil
		})
	}
	return cmd
}

func (c *cli) editResource(ctx context.Context, id string, edit func(*installation, booking.Resource) error) error {
	return c.withExisting(ctx, func(inst *installation) error {
		r, err := inst.resourceByID(ctx, "ID", id)
		if err != nil {
			return err
		}
		return edit(inst, r)
	})
}

func (c *cli) resourcesMerge() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge FROM INTO [--yes]",
		Short: "Make a resource another: its identities and all their bookings, past ones too; without --yes only say what that would do",
		Args:  exactly(2),
	}
	yes := cmd.Flags().Bool("yes", false, "do it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			ctx := cmd.Context()
			from, err := inst.resourceByID(ctx, "FROM", args[0])
			if err != nil {
				return err
			}
			into, err := inst.resourceByID(ctx, "INTO", args[1])
			if err != nil {
				return err
			}
			var impact booking.Impact
			if *yes {
				impact, err = inst.store.MergeResources(ctx, access.System, from.ID, into.ID, "", c.now())
			} else {
				impact, err = inst.store.PreviewMerge(ctx, from.ID, into.ID, c.now())
			}
			if err != nil {
				return err
			}
			if *asJSON {
				out := newImpactJSON(into.ID, impact)
				out.Done = *yes
				return c.printJSON(out)
			}
			if *yes {
				fmt.Fprintf(c.stdout, "%s is now %s (%s)\n", from.Name, into.Name, into.ID)
			} else {
				fmt.Fprintf(c.stdout, "nothing is changed; with --yes, %s becomes %s (%s)\n", from.Name, into.Name, into.ID)
			}
			return c.printImpact(impact)
		})
	}
	return cmd
}

func (c *cli) resourcesSplit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "split ID IDENTITY [--provider P] [--resource ID | --name N]",
		Short: "Take an identity, or an e-mail with what follows it, out of a resource; by default it becomes one of its own",
		Args:  exactly(2),
	}
	provider := cmd.Flags().String("provider", "", "whose identity it is, when several have the same name")
	resource := cmd.Flags().String("resource", "", "the resource that it is from now on")
	name := cmd.Flags().String("name", "", "the new resource's name")
	asJSON := jsonFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("resource", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			ctx := cmd.Context()
			id, err := parseID("ID", args[0])
			if err != nil {
				return err
			}
			key, err := inst.identityOf(ctx, id, args[1], *provider)
			if err != nil {
				return err
			}
			to := booking.Resource{ID: uuid.Must(uuid.NewV7()), Name: key.ExternalID}
			switch {
			case *resource != "":
				if to, err = inst.resourceByID(ctx, "--resource", *resource); err != nil {
					return err
				}
			case *name != "":
				to.Name, to.NameGiven = *name, true
			}
			impact, err := inst.store.SplitIdentity(ctx, access.System, key, to, c.now())
			if err != nil {
				return err
			}
			if *asJSON {
				return c.printJSON(newImpactJSON(to.ID, impact))
			}
			fmt.Fprintf(c.stdout, "%s is now %s (%s)\n", key.ExternalID, to.Name, to.ID)
			return c.printImpact(impact)
		})
	}
	return cmd
}

// identityOf finds one of a resource's identities by its name.
func (i *installation) identityOf(ctx context.Context, resource uuid.UUID, name, provider string) (booking.IdentityKey, error) {
	list, err := i.store.Resources(ctx, booking.Filter{ResourceID: &resource}, booking.Page{})
	if err != nil {
		return booking.IdentityKey{}, err
	}
	var found []booking.IdentityKey
	for _, r := range list.Items {
		for _, id := range r.Identities {
			if id.ExternalID == name && (provider == "" || id.Source.Provider == provider) {
				found = append(found, booking.IdentityKey{Source: id.Source, ExternalID: id.ExternalID})
			}
		}
	}
	if provider == "" && len(found) > 1 {
		// Of an e-mail and a provider's name that is the same, the e-mail leads.
		for _, key := range found {
			if key.Source == (booking.Source{}) {
				return key, nil
			}
		}
	}
	switch len(found) {
	case 0:
		return booking.IdentityKey{}, &booking.InvalidError{Field: "IDENTITY", Detail: fmt.Sprintf("resource %s has no identity %q: see resources list", resource, name)}
	case 1:
		return found[0], nil
	}
	return booking.IdentityKey{}, &booking.InvalidError{Field: "--provider", Detail: fmt.Sprintf("several identities of the resource are named %q: say whose it is", name)}
}
