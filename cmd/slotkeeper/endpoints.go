package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/endpoint"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// dispatcher tells an installation's endpoints; metrics count its tries, unless they
// are nil.
func (c *cli) dispatcher(inst *installation, log *slog.Logger, metrics *web.Metrics) *endpoint.Dispatcher {
	tempo := providers.Tempo(c.cfg.Tempo)
	client := providers.NewPoster(providers.Outbound{Allowed: c.cfg.private, Tempo: tempo}, endpoint.Timeout)
	o := endpoint.Options{
		Store: inst.store, Body: web.NewWebhookBodies(inst.store).Body, Sender: endpoint.NewSender(client, c.now, "Slotkeeper/"+version()),
		Now: c.now, Log: log, Tempo: tempo,
	}
	if metrics != nil {
		o.Observe, o.Tried = metrics.EffectTried, metrics.EndpointTried
	}
	return endpoint.NewDispatcher(o)
}

func (c *cli) endpointsCommand() *cobra.Command {
	return group("endpoints", "Other systems that are told of bookings by webhook",
		c.endpointsList(), c.endpointsAdd(), c.endpointsTest(), c.endpointsRotate(), c.endpointsSwitch(), c.endpointsRemove())
}

type endpointJSON struct {
	ID           uuid.UUID               `json:"id"`
	Name         string                  `json:"name"`
	URL          string                  `json:"url"`
	Events       []booking.EndpointEvent `json:"events"`       // none: all
	Resources    []uuid.UUID             `json:"resource_ids"` // none: all
	People       bool                    `json:"people"`
	Off          *booking.EndpointOff    `json:"off"` // null: it is on
	OffAt        *time.Time              `json:"off_at"`
	FailingSince *time.Time              `json:"failing_since"`
	Rotating     bool                    `json:"rotating"`
	CreatedBy    booking.Actor           `json:"created_by"`
	CreatedAt    time.Time               `json:"created_at"`
}

func newEndpointJSON(e booking.Endpoint) endpointJSON {
	out := endpointJSON{
		ID: e.ID, Name: e.Name, URL: e.URL, Events: e.Events, Resources: e.Resources, People: e.People, OffAt: e.OffAt, FailingSince: e.FailingSince,
		Rotating: e.Rotating(), CreatedBy: e.CreatedBy, CreatedAt: e.CreatedAt,
	}
	if e.Off != "" {
		out.Off = &e.Off
	}
	if out.Events == nil {
		out.Events = []booking.EndpointEvent{}
	}
	if out.Resources == nil {
		out.Resources = []uuid.UUID{}
	}
	return out
}

// state says in a few words how an endpoint is.
func (e endpointJSON) state() string {
	switch {
	case e.Off != nil:
		return fmt.Sprintf("off since %s: %s", e.OffAt.Format(time.RFC3339), *e.Off)
	case e.FailingSince != nil:
		return "failing since " + e.FailingSince.Format(time.RFC3339)
	}
	return "on"
}

func (c *cli) endpointsList() *cobra.Command {
	read := func(ctx context.Context, inst *installation) ([]booking.Endpoint, error) {
		return inst.store.Endpoints(ctx)
	}
	return listing(c, "List the endpoints", read, newEndpointJSON, func(e endpointJSON) []any {
		return []any{e.ID, e.Name, e.URL, e.state()}
	})
}

func (c *cli) endpointsAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "add --name N --url URL [--event E]… [--resource ID]… [--people]", Short: "Add an endpoint and print its secret, once", Args: cobra.NoArgs,
	}
	name := cmd.Flags().String("name", "", "which system it is; people see it")
	address := cmd.Flags().String("url", "", "where messages are posted to")
	events := cmd.Flags().StringArray("event", nil, "only this event; may be given several times")
	resources := cmd.Flags().StringArray("resource", nil, "only bookings of this resource (id); may be given several times")
	people := cmd.Flags().Bool("people", false, "also tell names, e-mail addresses and phone numbers")
	for _, flag := range []string{"name", "url"} {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic(err)
		}
	}
	alwaysJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		e := booking.Endpoint{
			ID: uuid.Must(uuid.NewV7()), Name: strings.TrimSpace(*name), URL: strings.TrimSpace(*address), People: *people, Secret: endpoint.NewSecret(),
			CreatedBy: access.System.Actor, CreatedAt: c.now().UTC().Truncate(time.Microsecond),
		}
		for _, v := range *events {
			e.Events = append(e.Events, booking.EndpointEvent(v))
		}
		for _, text := range *resources {
			id, err := parseID("resource", text)
			if err != nil {
				return err
			}
			e.Resources = append(e.Resources, id)
		}
		if err := e.Check(c.cfg.private.Allows); err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			err := inst.store.AddEndpoint(cmd.Context(), e, access.System)
			if errors.Is(err, booking.ErrNotFound) {
				return &booking.InvalidError{Field: "--resource", Detail: "there is no such resource: see resources list"}
			}
			if err != nil {
				return err
			}
			return c.printJSON(struct {
				Secret string `json:"secret"`
				endpointJSON
			}{e.Secret, newEndpointJSON(e)})
		})
	}
	return cmd
}

// onEndpoint is a command about one endpoint.
func (c *cli) onEndpoint(cmd *cobra.Command, do func(ctx context.Context, inst *installation, id uuid.UUID) error) *cobra.Command {
	cmd.Args = exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseID("endpoint", args[0])
		if err != nil {
			return err
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			if _, err := inst.store.Endpoint(cmd.Context(), id); errors.Is(err, booking.ErrNotFound) {
				return &booking.InvalidError{Field: "endpoint", Detail: fmt.Sprintf("there is no endpoint %s: see endpoints list", id)}
			}
			return do(cmd.Context(), inst, id)
		})
	}
	return cmd
}

func (c *cli) endpointsTest() *cobra.Command {
	cmd := &cobra.Command{Use: "test ID", Short: "Send an endpoint a message now and say what it answered"}
	asJSON := jsonFlag(cmd)
	return c.onEndpoint(cmd, func(ctx context.Context, inst *installation, id uuid.UUID) error {
		// What the log would say of it is what is printed here.
		a, err := c.dispatcher(inst, slog.New(slog.DiscardHandler), nil).Test(ctx, id, "", access.System)
		if err != nil {
			return err
		}
		if *asJSON {
			if err := c.printJSON(struct {
				MessageID uuid.UUID `json:"message_id"`
				Status    int       `json:"status"` // 0: no answer
				TookMS    int64     `json:"took_ms"`
				Error     string    `json:"error"`
				Answer    string    `json:"answer"`
			}{a.Effect, a.Status, a.Took.Milliseconds(), a.Error, a.Answer}); err != nil {
				return err
			}
		} else if a.Error == "" {
			fmt.Fprintf(c.stdout, "told: it answered %d in %s\n", a.Status, a.Took.Round(time.Millisecond))
		}
		if a.Gone() {
			fmt.Fprintln(c.stderr, "It says that it is gone for good, and is switched off: endpoints switch --on has it told again.")
		}
		if a.Error != "" {
			return fmt.Errorf("the endpoint was not told: %s", a.Error)
		}
		return nil
	})
}

func (c *cli) endpointsRotate() *cobra.Command {
	cmd := &cobra.Command{Use: "rotate ID [--finish]", Short: "Give an endpoint a new secret, or with --finish stop signing with the old one"}
	finish := cmd.Flags().Bool("finish", false, "sign with the newest secret alone")
	alwaysJSON(cmd)
	return c.onEndpoint(cmd, func(ctx context.Context, inst *installation, id uuid.UUID) error {
		if *finish {
			err := inst.store.FinishEndpointRotation(ctx, id, access.System, c.now())
			if errors.Is(err, booking.ErrNotFound) {
				return &booking.InvalidError{Field: "endpoint", Detail: "no rotation of its secret is under way"}
			}
			if err != nil {
				return err
			}
			return c.printJSON(map[string]any{"id": id, "rotating": false})
		}
		secret := endpoint.NewSecret()
		if err := inst.store.RotateEndpoint(ctx, id, secret, access.System, c.now()); err != nil {
			return err
		}
		return c.printJSON(map[string]any{"id": id, "secret": secret, "rotating": true})
	})
}

func (c *cli) endpointsSwitch() *cobra.Command {
	cmd := &cobra.Command{Use: "switch ID --on|--off [--skip]", Short: "Switch an endpoint off, or on again"}
	on := cmd.Flags().Bool("on", false, "tell it again, in order, what it missed")
	cmd.Flags().Bool("off", false, "tell it nothing until it is switched on")
	skip := cmd.Flags().Bool("skip", false, "with --on: only what happens from now on")
	cmd.MarkFlagsMutuallyExclusive("on", "off")
	cmd.MarkFlagsOneRequired("on", "off")
	cmd.MarkFlagsMutuallyExclusive("off", "skip")
	return c.onEndpoint(cmd, func(ctx context.Context, inst *installation, id uuid.UUID) error {
		err := inst.store.SwitchEndpoint(ctx, id, *on, *skip, access.System, c.now())
		if errors.Is(err, booking.ErrNotFound) {
			return &booking.InvalidError{Field: "endpoint", Detail: "it is so already"}
		}
		if err == nil {
			fmt.Fprintln(c.stdout, map[bool]string{true: "on", false: "off"}[*on])
		}
		return err
	})
}

func (c *cli) endpointsRemove() *cobra.Command {
	return c.onEndpoint(&cobra.Command{Use: "remove ID", Short: "Tell an endpoint nothing any more"},
		func(ctx context.Context, inst *installation, id uuid.UUID) error {
			if err := inst.store.RemoveEndpoint(ctx, id, access.System, c.now()); err != nil {
				return err
			}
			fmt.Fprintln(c.stdout, "removed")
			return nil
		})
}
