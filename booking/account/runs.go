package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// What a reconcile looks at, and how much of it at a time.
const (
	pastDays   = 7 * 24 * time.Hour
	futureDays = 60 * 24 * time.Hour
	// farthest is how far ahead a backfill reads.
	farthest = 366 * 24 * time.Hour

	// mostFailures in a row end a run; the next comparison begins anew.
	mostFailures = 12

	// setSize lets acknowledgements slip in between: none waits for more than this
	// many bookings. Providers tell of a few a second; larger sets gain nothing.
	setSize = 2
	// distrust is how long a read is not believed that knows nothing of a cancel:
	// Cal.com tells of it before it does it (facts, 2.11).
	distrust      = time.Minute
	leastDistrust = 500 * time.Millisecond // however fast a test lets time pass
	// goneFor is how long a booking must be unknown to its provider to be removed
	// here: a single 404 changes nothing (R15).
	goneFor = 10 * time.Minute
	// mostDrift is more than an account has bookings in a window: of one that is gone
	// must be known that it was so before.
	mostDrift = 20_000
)

// Begin has a connection's bookings read from a day on, or finds the run of the
// kind that is under way.
func (a *Accounts) Begin(ctx context.Context, c providers.Connection, kind booking.RunKind, cause string, from time.Time, by booking.Actor) (booking.Run, error) {
	if _, err := a.adapter(c); err != nil {
		return booking.Run{}, err
	}
	now := a.opts.Now()
	to := now.Add(futureDays)
	if kind == booking.RunBackfill {
		to = now.Add(farthest)
	}
	if err := a.readable(from); err != nil {
		return booking.Run{}, err
	}
	r, err := a.opts.Store.BeginRun(ctx, booking.Run{
		ID: uuid.Must(uuid.NewV7()), ConnectionID: c.ID, Kind: kind, Cause: cause, From: from.UTC(), To: to.UTC(),
		Status: booking.RunRunning, Actor: by, StartedAt: now, MovedAt: now,
	})
	if err != nil {
		return r, err
	}
	if kind == booking.RunBackfill && from.UTC().Before(r.From) {
		return r, &booking.ConflictError{Code: "importing", Detail: fmt.Sprintf("an import from %s on is under way: ask again when it is done", r.From.Format(time.DateOnly))}
	}
	return r, a.opts.Wake(ctx, r.ID)
}

// earliest is the first day that is read from: no provider is older, and each day
// may cost a request.
var earliest = time.Date(2005, 1, 1, 0, 0, 0, 0, time.UTC)

func (a *Accounts) readable(from time.Time) error {
	if from.After(a.opts.Now()) || from.Before(earliest) {
		return &booking.InvalidError{Field: "from", Detail: "must be a day between " + earliest.Format(time.DateOnly) + " and today"}
	}
	return nil
}

// Reconcile has a connection compared with its provider: the last days and the
// next weeks.
func (a *Accounts) Reconcile(ctx context.Context, c providers.Connection, cause string, by booking.Actor) (booking.Run, error) {
	return a.Begin(ctx, c, booking.RunReconcile, cause, a.opts.Now().Add(-pastDays), by)
}

// reading is one process's hold on a run.
type reading struct {
	*Accounts
	by     uuid.UUID // who holds it
	run    booking.Run
	conn   providers.Connection
	api    providers.Account
	drifts map[string]booking.Drift
	// seen are the external ids that this reading met. They are kept in memory
	// alone: a reconcile that is taken over begins anew.
	seen map[string]bool
	// place is what a reconcile that is done leaves for the next one, as its cursor.
	place string
	asked time.Time // the ticket of the last read
	// seats are who has one in the shared bookings that it met.
	seats map[string]seating
}

// seating is who has a seat of a booking, by their keys, as of a read.
type seating struct {
	keys map[string]bool
	at   time.Time
}

// Work reads on in a run, until it has ended, until it shall be looked at again
// (a *providers.LaterError), or until ctx ends. What was read is applied before the
// next page is asked for, and where that begins is kept with it, so that whoever
// goes on with a backfill neither skips nor repeats more than a page. A reconcile is
// one pass, however long that takes: it waits in its place (ask), and must be given
// the time.
func (a *Accounts) Work(ctx context.Context, id uuid.UUID) error {
	h := a.hold()
	run, mine, err := a.opts.Store.ClaimRun(ctx, id, a.opts.Now(), h)
	if err != nil || !mine {
		return err
	}
	r := &reading{Accounts: a, run: run, by: h.By, seen: map[string]bool{}, seats: map[string]seating{}}
	renew := func(ctx context.Context) error { return a.opts.Store.HoldRun(ctx, id, nil, a.longer(h.By)) }
	err = a.whileHeld(ctx, renew, r.readAll)
	keep, done := keeping(ctx)
	defer done()
	return r.end(keep, err)
}

// StopRun ends a run that is under way. What was read of it stays; whoever reads on
// in it finds out within half a minute. One that has ended is a
// *booking.ConflictError.
func (a *Accounts) StopRun(ctx context.Context, id uuid.UUID, by booking.Actor) (booking.Run, error) {
	r, err := a.opts.Store.StopRun(ctx, id, a.opts.Now())
	if err == nil {
		a.opts.Log.InfoContext(ctx, "run stopped", "run", r.ID, "kind", r.Kind, "connection", r.ConnectionID, "by", by, "pages", r.Pages)
	}
	return r, err
}

func (r *reading) readAll(ctx context.Context) (err error) {
	if r.conn, r.api, err = r.Ready(ctx, r.run.ConnectionID); err != nil {
		return err
	}
	if r.run.Kind == booking.RunReconcile {
		r.run.Cursor, r.run.RunCounts = "", booking.RunCounts{}
	}
	known, err := r.opts.Store.Drifts(ctx, r.conn.ID, mostDrift)
	if err != nil {
		return err
	}
	r.drifts = map[string]booking.Drift{}
	for _, d := range known {
		r.drifts[d.ExternalID] = d
	}
	for r.run.Cursor != blocksNext {
		next, err := r.page(ctx)
		if err != nil {
			return err
		}
		r.run.Cursor, r.run.Failures, r.run.Error = next, 0, ""
		if next == "" {
			break
		}
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	if r.run.Kind == booking.RunReconcile {
		if err := r.missing(ctx); err != nil {
			return err
		}
	}
	err = r.blocks(ctx)
	if err == nil {
		r.run.Cursor = r.place
	}
	return err
}

// save keeps what was found so far, and the run for longer.
func (r *reading) save(ctx context.Context) error {
	r.run.MovedAt = r.opts.Now()
	return r.opts.Store.HoldRun(ctx, r.run.ID, &r.run, r.longer(r.by))
}

// end gives the run back: done, failed for good, or to be gone on with.
func (r *reading) end(ctx context.Context, err error) error {
	now := r.opts.Now()
	r.run.MovedAt = now
	paused := false
	var later *providers.LaterError
	switch {
	case errors.Is(err, booking.ErrNotHeld):
		r.lost(ctx)
		return nil
	case err == nil:
		r.run.Status, r.run.FinishedAt = booking.RunDone, &now
	case errors.As(err, &later), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, booking.ErrUnavailable):
		r.run.Error = err.Error()
	case providers.NeedsSignIn(err) && r.run.Kind == booking.RunBackfill:
		// It goes on where it is once somebody has signed in again.
		r.run.Error, paused = err.Error(), true
	default:
		r.run.Failures++
		r.run.Error = err.Error()
		if r.over(err) {
			r.run.Status, r.run.FinishedAt = booking.RunFailed, &now
		}
	}
	if r.api != nil {
		r.note(ctx, r.conn, err)
	}
	switch releaseErr := r.opts.Store.ReleaseRun(ctx, r.run, r.by); {
	case errors.Is(releaseErr, booking.ErrNotHeld):
		r.lost(ctx)
		return err // of a database that was away: it is tried again soon
	case releaseErr != nil:
		// Its hold ends by itself, and then Watch has it gone on with.
		return errors.Join(err, releaseErr)
	}
	if paused {
		r.opts.Log.WarnContext(ctx, "run waits until somebody has signed in again", "run", r.run.ID, "kind", r.run.Kind, "connection", r.run.ConnectionID, "err", err)
		return nil
	}
	if r.run.Status == booking.RunRunning {
		return err
	}
	r.opts.Log.InfoContext(ctx, "run ended", "run", r.run.ID, "kind", r.run.Kind, "cause", r.run.Cause, "connection", r.run.ConnectionID,
		"status", r.run.Status, "pages", r.run.Pages, "requests", r.run.Requests, "at_provider", r.run.AtProvider, "here", r.run.Here,
		"differed", r.run.Differed, "err", err)
	if err == nil {
		return r.opts.Store.ForgetDrifts(ctx, r.run)
	}
	return nil
}

// lost says that the run is not ours any more: what was read since the last page is
// not counted, and read again by whoever goes on.
func (r *reading) lost(ctx context.Context) {
	r.opts.Log.WarnContext(ctx, "run is no longer ours: it was stopped or taken over, or the database crashed", "run", r.run.ID, "kind", r.run.Kind,
		"connection", r.run.ConnectionID, "pages", r.run.Pages)
}

// over tells whether a run that failed is not gone on with. An import has no next
// one that begins by itself: it waits for a provider that is away, however long.
func (r *reading) over(err error) bool {
	if providers.NeedsSignIn(err) || errors.Is(err, ErrCannotAsk) {
		return true
	}
	return r.run.Failures >= mostFailures && (r.run.Kind != booking.RunBackfill || !stumbled(err))
}

// stumbled tells of errors of a provider that stumbles, or cannot be reached.
func stumbled(err error) bool {
	return passing(err) || errors.Is(err, providers.ErrBadAnswer) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// page reads and applies one page, and returns the next one's cursor.
func (r *reading) page(ctx context.Context) (next string, err error) {
	var p providers.Page
	var asked time.Time
	err = r.ask(ctx, func(ticket time.Time) (err error) {
		asked = ticket
		p, err = r.api.List(ctx, r.opts.Client, r.conn, r.origin(r.conn), providers.Window{From: r.run.From, To: r.run.To}, r.run.Cursor, ticket)
		r.run.Requests += p.Requests
		return err
	})
	if err != nil {
		return "", err
	}
	r.run.Pages++
	return p.Next, r.take(ctx, p.Standings, asked)
}

// take applies what was read.
func (r *reading) take(ctx context.Context, all []providers.Standing, ticket time.Time) error {
	r.asked = ticket
	var set []booking.Post
	for i, s := range all {
		if s.Event == nil {
			r.run.Unreadable++
			if err := r.drift(ctx, booking.DriftUnreadable, cmp.Or(s.Subject, providers.Digest(s.Body)), s.Code+": "+s.Error, uuid.Nil); err != nil {
				return err
			}
			continue
		}
		id := s.Event.ExternalID
		r.seen[id] = true
		stands := s.Event.Kind != booking.KindCanceled
		if stands {
			r.run.AtProvider += max(1, seats(s.Event))
			r.sit(s.Event, ticket)
		}
		if d, known := r.drifts[id]; stands && known && d.Kind == booking.DriftRefused && d.Detail == detailOf(s.Event) {
			// It was refused before, and that is kept; saying it again changes nothing.
			r.run.Differed++
			r.run.Refused++
			if err := r.driftAt(ctx, d.Kind, id, d.Detail, d.BookingID, s.Event.Session.StartsAt); err != nil {
				return err
			}
			continue
		}
		set = append(set, r.post(s, ticket, i))
	}
	for len(set) > 0 {
		n := min(setSize, len(set))
		if err := r.believe(ctx, set[:n]); err != nil {
			return err
		}
		set = set[n:]
	}
	return nil
}

// believe applies of a set what the provider may know. It does not know of a cancel
// that it told shortly before it was asked, nor of one that it told since: webhooks
// come in while a page is applied.
func (r *reading) believe(ctx context.Context, set []booking.Post) error {
	ids := make([]string, len(set))
	for i, p := range set {
		ids[i] = p.Event.ExternalID
	}
	closed, err := r.closed(ctx, ids...)
	if err != nil {
		return err
	}
	return r.apply(ctx, slices.DeleteFunc(set, func(p booking.Post) bool {
		return p.Event.Kind != booking.KindCanceled && closed[p.Event.ExternalID]
	}))
}

// closed are those of external ids whose bookings were canceled by webhook since
// shortly before the last read.
func (r *reading) closed(ctx context.Context, ids ...string) (map[string]bool, error) {
	return r.opts.Store.ClosedSince(ctx, r.conn.Source(), ids, r.asked.Add(-max(r.opts.Tempo.Wait(distrust), leastDistrust)))
}

func seats(e *booking.Event) int {
	if e.Seats == nil {
		return 1
	}
	return len(e.Attendees)
}

// sit keeps who has a seat of a shared booking.
func (r *reading) sit(e *booking.Event, ticket time.Time) {
	if !e.Shared || e.Seats == nil {
		return
	}
	s := seating{keys: map[string]bool{}, at: ticket}
	for _, a := range e.Attendees {
		s.keys[a.Key] = true
	}
	r.seats[e.ExternalID] = s
}

// post makes a delivery of what was read. Its key is later than that of every read
// before, which settles what two reads say at one time of the provider's.
func (r *reading) post(s providers.Standing, ticket time.Time, n int) booking.Post {
	d := s.Delivery
	e := *d.Event
	e.Key = fmt.Sprintf("read|%s|%s|%d", providers.KeyTime(ticket), e.ExternalID, n)
	d.Event, d.EventKey, d.Kind = &e, e.Key, kindOf(&e)
	d.ReceiptID, d.ConnectionID = uuid.Must(uuid.NewV7()), r.conn.ID
	d.Actor, d.Read = r.run.Kind.Actor(), true
	return booking.Post{Delivery: d, Body: s.Body, Forms: s.Forms, RequestID: "run-" + r.run.ID.String(), ReceivedAt: r.opts.Now()}
}

// kindOf is a receipt's kind: a snapshot is an event's alone.
func kindOf(e *booking.Event) booking.Kind {
	if e.Kind == booking.KindSnapshot {
		return booking.KindCreated
	}
	return e.Kind
}

func (r *reading) apply(ctx context.Context, set []booking.Post) error {
	answers, err := r.opts.Intake.TakeSet(ctx, set)
	if err != nil {
		return err
	}
	for i, p := range set {
		if err := r.count(ctx, p.Event, answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// count counts what became of something that was read, and keeps what a person has
// to see to.
func (r *reading) count(ctx context.Context, e *booking.Event, a booking.Answer) error {
	if a.Status == booking.StatusUnchanged || a.Status == booking.StatusDuplicate {
		return nil
	}
	r.run.Differed++
	switch a.Status { //nolint:exhaustive // the rest was set right
	case booking.StatusConflict:
		r.run.Conflicts++
	case booking.StatusRejected:
		// A cancel may have come in while the set was made: then all is as it should be.
		if closed, err := r.closed(ctx, e.ExternalID); err != nil || closed[e.ExternalID] {
			return err
		}
		r.run.Refused++
		return r.driftAt(ctx, booking.DriftRefused, e.ExternalID, detailOf(e), bookingOf(a), e.Session.StartsAt)
	case booking.StatusFailed:
		r.run.Unreadable++
		return r.driftAt(ctx, booking.DriftUnreadable, e.ExternalID, a.Code+": "+a.Error, uuid.Nil, e.Session.StartsAt)
	}
	return nil
}

func bookingOf(a booking.Answer) uuid.UUID {
	for _, t := range a.Transitions {
		if t.Outcome == booking.Rejected {
			return t.BookingID
		}
	}
	return uuid.Nil
}

// detailOf says what a provider has, without personal data: the same words for
// the same thing, so that it is known again.
func detailOf(e *booking.Event) string {
	if e.Session.StartsAt == nil {
		return "the provider has it as booked"
	}
	return "the provider has it as booked at " + e.Session.StartsAt.UTC().Format(time.RFC3339)
}

// drift keeps what a person has to see to, of which the provider tells no time.
func (r *reading) drift(ctx context.Context, kind booking.DriftKind, externalID, detail string, id uuid.UUID) error {
	return r.driftAt(ctx, kind, externalID, detail, id, nil)
}

func (r *reading) driftAt(ctx context.Context, kind booking.DriftKind, externalID, detail string, id uuid.UUID, starts *time.Time) error {
	now := r.opts.Now()
	d := booking.Drift{
		ConnectionID: r.conn.ID, ExternalID: externalID, Kind: kind, Detail: detail, BookingID: id, StartsAt: starts, FoundAt: now, SeenAt: now,
	}
	if r.run.Kind == booking.RunBackfill {
		d.ImportFrom = &r.run.From
	}
	return r.opts.Store.NoteDrift(ctx, d)
}
