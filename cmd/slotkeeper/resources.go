package main

import (
	"fmt"
	"net/mail"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
)

func (c *cli) resourcesCommand() *cobra.Command {
	return group("resources", "List resources and map providers' identities to them", c.resourcesList(), c.resourcesMap())
}

type resourceJSON struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"`
	Timezone   string         `json:"timezone"`
	Identities []identityJSON `json:"identities"`
}

type identityJSON struct {
	Provider   string `json:"provider"` // "" of an e-mail
	APIBase    string `json:"api_base"`
	ExternalID string `json:"external_id"`
	Email      string `json:"email"`
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
			unmapped, err := inst.store.Unmapped(cmd.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				out := struct {
					Resources []resourceJSON `json:"resources"`
					Unmapped  []identityJSON `json:"unmapped"`
				}{[]resourceJSON{}, identitiesJSON(unmapped)}
				for _, r := range all {
					out.Resources = append(out.Resources, resourceJSON{r.ID, r.Name, r.Timezone, identitiesJSON(r.Identities)})
				}
				return c.printJSON(out)
			}
			w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
			for _, r := range all {
				fmt.Fprintf(w, "%s\t%s\t\n", r.ID, r.Name)
				for _, i := range r.Identities {
					fmt.Fprintf(w, "\t%s\t%s\n", identityName(i), i.Source.Provider)
				}
			}
			for _, i := range unmapped {
				fmt.Fprintf(w, "unmapped\t%s\t%s\n", i.ExternalID, i.Source.Provider)
			}
			return w.Flush()
		})
	}
	return cmd
}

func identityName(i booking.Identity) string {
	if i.Email != "" && i.Email != i.ExternalID {
		return i.ExternalID + " (" + i.Email + ")"
	}
	return i.ExternalID
}

func identitiesJSON(all []booking.Identity) []identityJSON {
	out := make([]identityJSON, 0, len(all))
	for _, i := range all {
		out = append(out, identityJSON{i.Source.Provider, i.Source.Base, i.ExternalID, i.Email})
	}
	return out
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
	base := cmd.Flags().String("api-url", "", "the identity's API, when several accounts of the provider are connected")
	asJSON := jsonFlag(cmd)
	cmd.MarkFlagsOneRequired("resource", "email", "name")
	cmd.MarkFlagsMutuallyExclusive("resource", "email", "name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			source, err := inst.source(cmd.Context(), args[0], *base)
			if err != nil {
				return err
			}
			to := booking.Resource{ID: uuid.Must(uuid.NewV7()), Name: *name}
			switch {
			case *resource != "":
				if to.ID, err = parseID("--resource", *resource); err != nil {
					return err
				}
				if to, err = inst.resource(cmd.Context(), to.ID); err != nil {
					return err
				}
			case *email != "":
				address := booking.NormalizeEmail(*email)
				if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
					return &booking.InvalidError{Field: "--email", Detail: fmt.Sprintf("%q is not an e-mail address", *email)}
				}
				to = booking.Resource{ID: booking.ResourceIDByEmail(address), Name: address}
			}
			done, err := inst.store.MapIdentity(cmd.Context(), booking.Identity{Source: source, ExternalID: args[1]}, to, booking.ActorSystem, c.now())
			if err != nil {
				return err
			}
			if *asJSON {
				return c.printJSON(struct {
					ResourceID uuid.UUID `json:"resource_id"`
					Changed    int       `json:"bookings_changed"`
				}{to.ID, done})
			}
			fmt.Fprintf(c.stdout, "mapped to %s (%s); bookings whose state changed: %d\n", to.Name, to.ID, done)
			return nil
		})
	}
	return cmd
}
