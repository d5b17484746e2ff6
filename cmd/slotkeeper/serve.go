package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"slotkeeper/booking"
	"slotkeeper/booking/intake"
	"slotkeeper/booking/notify"
	"slotkeeper/booking/store"
	"slotkeeper/booking/work"
	"slotkeeper/providers"
	"slotkeeper/web"
)

func (c *cli) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve webhooks, pages and API until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.patience = 0
			return c.with(cmd.Context(), func(inst *installation) error {
				link, err := inst.accounts.Begin(cmd.Context(), c.cfg.AdminPassword)
				var invalid *booking.InvalidError
				if errors.As(err, &invalid) {
					return fmt.Errorf("SLOTKEEPER_ADMIN_PASSWORD: %s", invalid.Detail)
				}
				if err != nil {
					return err
				}
				if link != "" {
					fmt.Fprintf(c.stderr, "\nNobody can sign in yet. Open this link once, within a day, to make the administrator:\n\n    %s%s\n\n", c.cfg.publicURL, web.LinkPath(link))
				}
				return c.serve(cmd.Context(), inst, c.logger(), nil)
			})
		},
	}
}

// The main listener's time limits. A webhook is small, and an export will be
// the longest answer.
const (
	headerTimeout   = 10 * time.Second
	readTimeout     = 30 * time.Second
	writeTimeout    = 2 * time.Minute
	idleTimeout     = 2 * time.Minute
	maxHeader       = 64 << 10
	shutdownTimeout = 25 * time.Second
	// chatTimeout is how long a chat has to take an alert.
	chatTimeout = 20 * time.Second
	// answerTimeout is how long a request that was begun has at the end. It is longer
	// than a webhook may take to be committed, alone after its set failed, and leaves
	// time for the work under way; whoever has only half asked by then is cut off.
	answerTimeout = 15 * time.Second
)

// serve runs until ctx ends: then it stops to listen, answers what it has read
// within answerTimeout, and commits what it has taken. ready is called once it listens.
func (c *cli) serve(ctx context.Context, inst *installation, log *slog.Logger, ready func(ctx context.Context) error) error {
	metrics := web.NewMetrics(c.providerNames(), inst.store, c.now)
	pools, err := inst.store.PoolMetrics()
	if err != nil {
		return err
	}
	if err := metrics.Register(pools...); err != nil {
		return err
	}
	texts, err := web.NewAlertTexts(inst.store, c.zone)
	if err != nil {
		return err
	}
	teller := notify.New(notify.Options{
		Store: inst.store, Words: texts.Text, Sample: texts.Sample, Mail: c.cfg.mail, PublicURL: c.cfg.publicURL,
		// Not the providers' client: there one chat that is asked too much would pause all
		// that are on its host.
		Client: providers.NewPoster(providers.Outbound{Allowed: c.cfg.private, Tempo: providers.Tempo(c.cfg.Tempo)}, chatTimeout),
	})
	//nolint:contextcheck // a set's context is its own: a client that leaves cancels nobody
	e, err := c.newEngine(inst, log, intake.Options{Observe: observe(metrics)}, work.EffectOptions{Tell: teller.Tell, Observe: metrics.EffectTried})
	if err != nil {
		return err
	}
	defer e.intake.Stop()
	queue := e.queue

	told := c.dispatcher(inst, log, metrics)
	sessions := inst.store.WebSessions(c.now)
	live := web.NewLive(inst.store, log)
	unproven := web.NewUnproven(inst.store, c.now, log)
	handler, err := web.New(web.Deps{
		Log: log, Now: c.now, Records: inst.store, Accounts: inst.accounts, Intake: e.intake, Effects: inst.store, Resources: inst.store, Overlaps: inst.store, Replays: e.replays, Alerts: inst.store, Trier: teller, Eraser: inst.store, Endpoints: inst.store, Tester: told, PrivateHosts: c.cfg.private.Allows, Feeds: inst.feeds(), Revisions: inst.store.Revisions, Metrics: metrics, Live: live, Unproven: unproven,
		Connect: e.accounts, Senders: inst.store, Forms: e.forms, FormsKept: c.cfg.keep.Bodies,
		Providers: e.adapters, EmailKey: inst.emailKey, Sessions: sessions, PublicURL: c.cfg.publicURL,
		TrustedProxies: c.cfg.proxies, Zone: c.zone, Version: version(), MetricsElsewhere: c.cfg.AdminListen != "",
	})
	if err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	listen := func(address, variable, name string, h http.Handler, writeTimeout time.Duration) error {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("%s is taken, choose another with %s: %w", address, variable, err)
		}
		if err != nil {
			return err // it says "listen tcp" itself
		}
		log.InfoContext(ctx, "serving", "listener", name, "address", l.Addr().String(), "version", version())
		s := &http.Server{
			Handler: boundBodies(ctx, h, c.now), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
			IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		}
		group.Go(func() error {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			return shutDown(context.WithoutCancel(ctx), s, name, log)
		})
		return nil
	}
	err = listen(c.cfg.Listen, "SLOTKEEPER_LISTEN", "main", handler, writeTimeout)
	if err == nil && c.cfg.AdminListen != "" {
		// A profile takes as long as it is asked to.
		err = listen(c.cfg.AdminListen, "SLOTKEEPER_ADMIN_LISTEN", "admin", web.NewAdmin(metrics), 0)
	}
	if err == nil {
		group.Go(func() error { return queue.Run(ctx, shutdownTimeout) })
		group.Go(func() error { return told.Run(ctx) })
	}
	group.Go(func() error {
		sweepSessions(ctx, sessions, log)
		return nil
	})
	group.Go(func() error {
		tick := time.NewTicker(web.LiveInterval)
		defer tick.Stop()
		return live.Run(ctx, tick.C)
	})
	group.Go(func() error {
		tick := time.NewTicker(max(providers.Tempo(c.cfg.Tempo).Wait(web.UnprovenInterval), time.Second))
		defer tick.Stop()
		return unproven.Run(ctx, tick.C)
	})
	if err == nil && ready != nil {
		group.Go(func() error { return ready(ctx) })
	}
	if err != nil {
		group.Go(func() error { return err })
	}
	err = group.Wait()
	log.InfoContext(ctx, "stopped", "reason", reasonOf(err))
	return err
}

// shutDown lets a server answer what it has read, and closes the connections of those
// who are not done with asking. That is no failure: a stranger could bring it about.
func shutDown(ctx context.Context, s *http.Server, name string, log *slog.Logger) error {
	stop, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := s.Shutdown(stop)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	log.WarnContext(ctx, "connections closed that did not come to an end", "listener", name, "waited", answerTimeout)
	return s.Close()
}

// sweepSessions removes the sessions that have expired, every hour.
func sweepSessions(ctx context.Context, sessions *store.WebSessions, log *slog.Logger) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := sessions.DeleteExpired(ctx); err != nil {
				log.ErrorContext(ctx, "expired sessions not removed", "err", err)
			}
		}
	}
}

func reasonOf(err error) string {
	if err == nil {
		return "asked to"
	}
	return strings.SplitN(err.Error(), "\n", 2)[0]
}

func observe(m *web.Metrics) func([]booking.Post, []booking.Answer) {
	return func(set []booking.Post, answers []booking.Answer) {
		m.SetApplied(len(set))
		for _, a := range answers {
			for _, t := range a.Transitions {
				m.Transitioned(t.Event, t.Outcome, t.Reason)
			}
		}
	}
}
