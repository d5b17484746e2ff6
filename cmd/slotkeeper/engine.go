package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/intake"
	"slotkeeper/booking/work"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/calendly"
)

// engine is what works on an installation: what applies deliveries, the queue of
// jobs, and the connected accounts. Commands use it without starting the queue:
// what they ask for is done by the server.
type engine struct {
	adapters map[string]providers.Provider
	intake   *intake.Intake
	queue    *work.Queue
	accounts *account.Accounts
	replays  *work.Replays
	forms    *work.Forms
	client   *http.Client
}

func (c *cli) newEngine(inst *installation, log *slog.Logger, in intake.Options, effects work.EffectOptions) (*engine, error) {
	tempo := providers.Tempo(c.cfg.Tempo)
	e := &engine{
		adapters: adapters(&c.cfg),
		client:   providers.NewClient(providers.Outbound{Allowed: c.cfg.private, Tempo: tempo, Now: c.now}),
	}
	in.MaxSet, in.Now, in.Log = c.cfg.MaxSet, c.now, log
	e.intake = intake.New(inst.store, in)
	e.accounts = account.New(account.Options{
		Store: inst.store, Intake: e.intake, Providers: e.adapters, Client: e.client, PublicURL: c.cfg.publicURL, EmailKey: inst.emailKey,
		Apps: map[string]account.App{calendly.Name: c.cfg.CalendlyApp, acuity.Name: c.cfg.AcuityApp},
		Now:  c.now, Log: log, Tempo: tempo,
		Wake:      func(ctx context.Context, run uuid.UUID) error { return e.queue.WakeRun(ctx, run) },
		WakeCheck: func(ctx context.Context, connection uuid.UUID) error { return e.queue.WakeCheck(ctx, connection) },
	})
	e.forms = &work.Forms{Store: inst.store, Providers: e.adapters, Now: c.now, Tempo: tempo}
	effects.Cancel = e.accounts.Cancel
	e.replays = work.NewReplays(work.ReplayOptions{
		Store: inst.store, Intake: e.intake, Providers: e.adapters, EmailKey: inst.emailKey, Now: c.now, Log: log, Tempo: tempo,
		Wake: func(ctx context.Context, replay uuid.UUID) error { return e.queue.WakeReplay(ctx, replay) },
	})
	var err error
	e.queue, err = work.New(work.Options{
		Store: inst.store, Intake: e.intake, Accounts: e.accounts, Replays: e.replays, Providers: e.adapters, Client: e.client, EmailKey: inst.emailKey,
		Now: c.now, Log: log, Tempo: tempo, Effects: effects, Keep: c.cfg.keep,
	})
	if err != nil {
		e.intake.Stop()
		return nil, err
	}
	return e, nil
}

// withEngine lends commands an engine whose queue is not started.
func (c *cli) withEngine(_ context.Context, inst *installation, fn func(*engine) error) error {
	observe := func([]booking.Post, []booking.Answer) {}
	//nolint:contextcheck // a set's context is its own
	e, err := c.newEngine(inst, c.logger(), intake.Options{Observe: observe}, work.EffectOptions{
		Observe: func(booking.EffectKind, booking.EffectStatus) {},
	})
	if err != nil {
		return err
	}
	defer e.intake.Stop()
	return fn(e)
}
