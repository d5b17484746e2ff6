package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// settler settles one receipt. It may run twice for one job, and two may run at
// once: what is settled is found so, and a ticket orders what they saw.
type settler struct {
	river.WorkerDefaults[settleArgs]
	queue *Queue
}

// Work is one try.
func (s *settler) Work(ctx context.Context, job *river.Job[settleArgs]) error {
	q := s.queue
	if job.Args.Again {
		return s.lookAgain(ctx, job.Args.Receipt)
	}
	claim, err := q.opts.Store.Claim(ctx, job.Args.Receipt, q.opts.Now())
	if errors.Is(err, booking.ErrNotFound) {
		return nil // settled already
	}
	if err != nil {
		return err
	}
	err = q.settle(ctx, claim, job.Args.Gone)
	var later *providers.LaterError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, booking.ErrUnavailable), errors.Is(err, context.Canceled):
		return err // nothing that could be said about the receipt
	case errors.As(err, &later):
		q.note(ctx, claim.ReceiptID, err)
		return river.JobSnooze(q.opts.Tempo.Wait(jittered(max(later.After, firstWait))))
	case job.Attempt >= job.MaxAttempts:
		q.opts.Log.ErrorContext(ctx, "receipt given up", "receipt", claim.ReceiptID, "connection", claim.Connection.ID, "attempt", job.Attempt, "err", err)
		return q.opts.Store.GiveUp(ctx, claim.ReceiptID, err.Error(), q.opts.Now())
	}
	q.opts.Log.WarnContext(ctx, "receipt not settled yet", "receipt", claim.ReceiptID, "connection", claim.Connection.ID, "attempt", job.Attempt, "err", err)
	q.note(ctx, claim.ReceiptID, err)
	return err
}

// note keeps why a receipt is open, for whoever looks at it.
func (q *Queue) note(ctx context.Context, receipt uuid.UUID, why error) {
	if err := q.opts.Store.TriedInVain(ctx, receipt, why.Error()); err != nil {
		q.opts.Log.ErrorContext(ctx, "why a receipt is open was not kept", "receipt", receipt, "err", err)
	}
}

// settle finds out what the receipt is about and has that applied.
func (q *Queue) settle(ctx context.Context, c providers.Claim, gone bool) error {
	adapter, ok := q.opts.Providers[c.Connection.Provider]
	if !ok {
		return fmt.Errorf("there is no adapter for %s in this version", c.Connection.Provider)
	}
	origin := providers.Origin{Source: c.Connection.Source(), ConnectionID: c.Connection.ID, EmailKey: q.opts.EmailKey}
	if c.Status == booking.StatusFailed {
		d := adapter.Parse(providers.Request{Body: c.Body}, origin)
		if d.Status != booking.StatusPending || d.Event != nil {
			return q.apply(ctx, c, d, providers.Fetched{})
		}
		// What was fetched could not be applied: it is fetched anew.
	}
	fetcher, ok := adapter.(providers.Fetcher)
	if !ok {
		return fmt.Errorf("the adapter for %s cannot fetch", c.Connection.Provider)
	}
	fetched, err := q.fetch(ctx, fetcher, c.Connection, c.Subject, c.Body)
	switch {
	case errors.Is(err, providers.ErrGone) && !gone:
		return q.doubt(ctx, c.ReceiptID)
	case errors.Is(err, providers.ErrGone):
		return q.apply(ctx, c, removed(c, origin), providers.Fetched{})
	case err != nil:
		return err
	}
	return q.apply(ctx, c, fetcher.Read(fetched.Snapshot, origin, c.Ticket, c.Kind, c.EventKey), fetched)
}

// fetch asks a provider what a receipt is about. When it refuses the credentials, the
// connection is checked at once: everybody knows then that nothing comes in, and not
// only with the next check.
func (q *Queue) fetch(ctx context.Context, f providers.Fetcher, c providers.Connection, subject string, body []byte) (providers.Fetched, error) {
	fetched, err := f.Fetch(ctx, q.opts.Client, c, subject, body)
	if providers.NeedsSignIn(err) && !c.Health.NeedsSignIn {
		if queueErr := q.WakeCheck(ctx, c.ID); queueErr != nil {
			q.opts.Log.ErrorContext(ctx, "a connection whose key is refused is not checked yet", "connection", c.ID, "err", queueErr)
		}
	}
	return fetched, err
}

// doubt has a 404 asked for again after a while: the first changes nothing.
func (q *Queue) doubt(ctx context.Context, receipt uuid.UUID) error {
	opts := once()
	opts.ScheduledAt = time.Now().Add(q.opts.Tempo.Wait(goneWait)) //nolint:forbidigo // River's clock is the machine's
	if _, err := q.client.Insert(ctx, settleArgs{Receipt: receipt, Gone: true}, opts); err != nil {
		return fmt.Errorf("work: ask again: %w", err)
	}
	return nil
}

// removed is what two 404 in a row mean: the booking is no more, if there was one.
func removed(c providers.Claim, o providers.Origin) booking.Delivery {
	return booking.Delivery{Event: &booking.Event{
		Kind: booking.KindCanceled, Source: o.Source, Key: c.EventKey, At: c.Ticket, ExternalID: c.Subject,
		Reason: booking.ReasonRemoved,
	}}
}

// apply hands over what was found out, as the receipt's own.
func (q *Queue) apply(ctx context.Context, c providers.Claim, d booking.Delivery, fetched providers.Fetched) error {
	d.ReceiptID, d.ConnectionID, d.EventKey, d.Kind = c.ReceiptID, c.Connection.ID, c.EventKey, c.Kind
	d.Actor, d.Settles, d.Poke = booking.ActorWebhook, true, false
	answer, err := q.opts.Intake.Take(ctx, booking.Post{
		Delivery: d, Body: c.Body, Snapshot: fetched.Snapshot, SnapshotAt: c.Ticket, Forms: fetched.Forms, RequestID: "job-" + c.ReceiptID.String(), ReceivedAt: q.opts.Now(),
	})
	if err != nil {
		return err
	}
	if answer.Status == booking.StatusFailed && answer.Code == booking.CodeApplyFailed {
		return errors.New(answer.Error)
	}
	q.opts.Log.InfoContext(ctx, "receipt settled", "receipt", c.ReceiptID, "connection", c.Connection.ID, "provider", c.Connection.Provider,
		"kind", c.Kind, "status", answer.Status, "reason", answer.Reason, "code", answer.Code)
	return nil
}
