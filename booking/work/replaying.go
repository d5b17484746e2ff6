package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/intake"
	"slotkeeper/providers"
)

const (
	// replaySet bounds for how long whoever posts waits, and what is in memory: no
	// more than so many bodies.
	replaySet = 2
	// replayHold is how long a replay is its holder's without a word of him. A set
	// may take seconds, and its members one by one again as long.
	replayHold      = time.Minute
	leastReplayHold = 2 * time.Second // however fast a test lets time pass
	replayTries     = 3
	mostReplayFails = 5
	releaseTimeout  = 10 * time.Second
)

// replaying is one process's hold on a replay.
type replaying struct {
	*Replays
	run  booking.Replay
	by   uuid.UUID
	conn map[uuid.UUID]providers.Connection
	// found is what sets found that changed nothing: it is written with the next that
	// does, before the hold ends, or at the end of a page.
	found booking.ReplayStep
	// listed is how many changes the report has.
	listed int
	// renewed is when it was last written that the replay is held.
	renewed time.Time
}

// Work goes on with a replay until it has ended, or until ctx does: whoever comes
// next goes on behind the last set.
func (r *Replays) Work(ctx context.Context, id uuid.UUID) error {
	h := r.hold(uuid.New())
	run, mine, err := r.opts.Store.ClaimReplay(ctx, id, r.opts.Now(), h)
	if err != nil || !mine {
		return err
	}
	rp := &replaying{Replays: r, run: run, by: h.By, renewed: r.opts.Now(), conn: map[uuid.UUID]providers.Connection{}}
	return rp.end(ctx, rp.all(ctx))
}

func (r *Replays) hold(by uuid.UUID) booking.Hold {
	return booking.Hold{By: by, Until: r.opts.Now().Add(r.holdTime())}
}

func (r *Replays) holdTime() time.Duration {
	return max(r.opts.Tempo.Wait(replayHold), leastReplayHold)
}

func (rp *replaying) all(ctx context.Context) error {
	listed, err := rp.opts.Store.ReplayChanges(ctx, rp.run.ID)
	if err != nil {
		return err
	}
	rp.listed = len(listed)
	if rp.run.Total == nil {
		n, err := rp.opts.Store.CountReplayed(ctx, rp.run)
		if err != nil {
			return err
		}
		rp.run.Total = &n
		if err := rp.save(ctx); err != nil {
			return err
		}
	}
	for {
		place := rp.run
		ids, end, more, err := rp.opts.Store.ReplayPage(ctx, place)
		if err != nil {
			return err
		}
		for set := range slices.Chunk(ids, replaySet) {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			began := rp.opts.Now()
			if err := rp.set(ctx, set); err != nil {
				return err
			}
			// A page of what changes nothing can last longer than the hold does: unless
			// that is renewed, whoever comes next begins with the page anew, for ever.
			if now := rp.opts.Now(); now.Sub(rp.renewed) > rp.holdTime()/3 {
				if err := rp.save(ctx); err != nil {
					return err
				}
			}
			intake.Rest(ctx, rp.opts.Now().Sub(began))
		}
		rp.found.At = end
		if err := rp.save(ctx); err != nil || !more {
			return err
		}
	}
}

// save writes what was found since, and holds the replay for longer.
func (rp *replaying) save(ctx context.Context) error {
	now := rp.opts.Now()
	err := rp.opts.Store.HoldReplay(ctx, rp.run.ID, rp.run.Total, rp.found, rp.listed, now, rp.hold(rp.by))
	if err == nil {
		rp.renewed = now
		rp.saved(rp.found)
	}
	return err
}

// saved says that a step is written.
func (rp *replaying) saved(step booking.ReplayStep) {
	if step.At.ID != uuid.Nil {
		rp.run.Add(step)
		rp.run.Failures, rp.run.Error = 0, ""
	}
	rp.listed = min(rp.listed+len(step.Changes), booking.MaxReplayChanges)
	rp.found = booking.ReplayStep{}
}

// plan is what is to be done about a set of receipts.
type plan struct {
	stored []booking.StoredReceipt
	posts  []booking.Post
	of     []int // which of stored each post is about
	ask    []uuid.UUID
	step   booking.ReplayStep // of those that need no deciding
}

// set replays some receipts. A set that cannot be applied is tried one by one.
func (rp *replaying) set(ctx context.Context, ids []uuid.UUID) error {
	var err error
	for range replayTries {
		if err = rp.try(ctx, ids); err == nil {
			return nil
		}
		var fence *booking.FenceError
		if !errors.Is(err, booking.ErrReplayOutdated) && !errors.As(err, &fence) {
			break
		}
	}
	switch {
	case errors.Is(err, booking.ErrNotHeld), errors.Is(err, booking.ErrUnavailable), ctx.Err() != nil:
		return err
	case len(ids) > 1:
		for _, id := range ids {
			if err := rp.set(ctx, []uuid.UUID{id}); err != nil {
				return err
			}
		}
		return nil
	}
	rp.opts.Log.ErrorContext(ctx, "a receipt could not be replayed", "replay", rp.run.ID, "receipt", ids[0], "err", err)
	stored, readErr := rp.opts.Store.StoredReceipts(ctx, ids)
	if readErr != nil || len(stored) == 0 {
		return errors.Join(err, readErr)
	}
	rp.found.At = stored[0].Place()
	rp.found.Counts.Count(booking.ReplayStillFailed)
	return nil
}

// try decides a set without holding up anybody. Only when that would change
// something, it is decided again where nobody else writes.
func (rp *replaying) try(ctx context.Context, ids []uuid.UUID) error {
	stored, err := rp.opts.Store.StoredReceipts(ctx, ids)
	if err != nil || len(stored) == 0 {
		return err
	}
	p := plan{stored: stored}
	p.step.At = stored[len(stored)-1].Place()
	for i := range stored {
		if err := rp.plan(ctx, &p, i); err != nil {
			return err
		}
	}
	now := rp.opts.Now()
	var answers []booking.Answer
	quiet := true
	if len(p.posts) > 0 {
		if answers, quiet, err = rp.opts.Store.LookReplay(ctx, p.posts, now); err != nil {
			return err
		}
	}
	if rp.run.DryRun || quiet && len(p.ask) == 0 {
		step := p.judge(answers)
		rp.found = joined(rp.found, step)
		return nil
	}
	var step booking.ReplayStep
	_, err = rp.opts.Intake.Replay(ctx, p.posts, func(ctx context.Context) ([]booking.Answer, error) {
		return rp.opts.Store.ApplyReplay(ctx, booking.ReplaySet{
			Replay: rp.run.ID, Hold: rp.hold(rp.by), Posts: p.posts, Ask: p.ask, Listed: rp.listed,
			Step: func(answers []booking.Answer) booking.ReplayStep {
				step = joined(rp.found, p.judge(answers))
				return step
			},
		}, now)
	})
	if err == nil {
		rp.saved(step)
	}
	return err
}

func joined(a, b booking.ReplayStep) booking.ReplayStep {
	sum := booking.Replay{ReplayCounts: a.Counts}
	sum.Add(b)
	return booking.ReplayStep{At: b.At, Counts: sum.ReplayCounts, Changes: slices.Concat(a.Changes, b.Changes)}
}

// plan says what is to be done about one receipt of the set.
func (rp *replaying) plan(ctx context.Context, p *plan, i int) error {
	r := p.stored[i]
	if r.Status == booking.StatusPending {
		p.step.Counts.Count(booking.ReplayOpen)
		return nil
	}
	if r.Body == nil && r.Snapshot == nil {
		p.step.Counts.Count(booking.ReplayGone)
		return nil
	}
	conn, err := rp.connection(ctx, r.ConnectionID)
	if err != nil {
		return err
	}
	adapter, ok := rp.opts.Providers[conn.Provider]
	if !ok {
		p.step.Counts.Count(booking.ReplayStillFailed)
		return nil
	}
	d, outcome := rp.read(adapter, conn, r)
	if outcome == booking.ReplayAsked && r.Status.Settled() {
		p.ask = append(p.ask, r.ID)
	}
	if outcome != "" && (outcome != booking.ReplayAsked || r.Status.Settled()) {
		p.step.Counts.Count(outcome)
		return nil
	}
	p.posts, p.of = append(p.posts, rp.post(r, d)), append(p.of, i)
	return nil
}

func (rp *replaying) connection(ctx context.Context, id uuid.UUID) (providers.Connection, error) {
	c, ok := rp.conn[id]
	if ok {
		return c, nil
	}
	c, err := rp.opts.Store.Connection(ctx, id)
	if err == nil {
		rp.conn[id] = c
	}
	return c, err
}

// read is what today's adapter makes of a receipt. The outcome is "" when the
// machine is to decide it.
func (rp *replaying) read(adapter providers.Provider, conn providers.Connection, r booking.StoredReceipt) (booking.Delivery, booking.ReplayOutcome) {
	origin := rp.origin(conn)
	fetcher, fetches := adapter.(providers.Fetcher)
	if fetches && r.Snapshot != nil && !r.SnapshotAt.IsZero() && !rp.run.Refetch {
		return fetcher.Read(r.Snapshot, origin, r.SnapshotAt, r.Kind, r.EventKey), ""
	}
	if r.Body == nil {
		return booking.Delivery{}, booking.ReplayGone
	}
	d := adapter.Parse(providers.Request{Body: r.Body}, origin)
	switch {
	case d.Status != booking.StatusPending || d.Event != nil || d.Block != nil:
		return d, ""
	case !rp.run.Refetch:
		return d, booking.ReplayNeedRefetch
	case r.Status.Settled() && !r.Newest:
		return d, booking.ReplayUnchanged // a later one about the same asks
	}
	d.Subject = booking.Subject(conn.Source(), d.Subject)
	return d, booking.ReplayAsked
}

func (r *Replays) origin(c providers.Connection) providers.Origin {
	return providers.Origin{Source: c.Source(), ConnectionID: c.ID, EmailKey: r.opts.EmailKey}
}

// post makes a delivery of what a stored receipt says.
func (r *Replays) post(of booking.StoredReceipt, d booking.Delivery) booking.Post {
	if d.Kind == "" {
		d.Kind = of.Kind
	}
	d.ReceiptID, d.ConnectionID, d.EventKey = of.ID, of.ConnectionID, of.EventKey
	d.Actor, d.Settles, d.Replays, d.Poke = booking.ActorReplay, true, true, false
	return booking.Post{Delivery: d, RequestID: "replay-" + of.ID.String(), ReceivedAt: of.ReceivedAt}
}

// fetched asks the provider once more what a settled receipt was about.
func (r *Replays) fetched(ctx context.Context, q *Queue, of booking.StoredReceipt, ticket time.Time) (booking.Post, error) {
	var none booking.Post
	conn, err := r.opts.Store.Connection(ctx, of.ConnectionID)
	if err != nil {
		return none, err
	}
	fetcher, ok := r.opts.Providers[conn.Provider].(providers.Fetcher)
	if !ok {
		return none, fmt.Errorf("the adapter for %s cannot fetch", conn.Provider)
	}
	subject := strings.TrimPrefix(of.Subject, booking.Subject(conn.Source(), ""))
	fetched, err := q.fetch(ctx, fetcher, conn, subject, of.Body)
	if err != nil {
		return none, err
	}
	p := r.post(of, fetcher.Read(fetched.Snapshot, r.origin(conn), ticket, of.Kind, of.EventKey))
	p.Snapshot, p.SnapshotAt, p.Forms = fetched.Snapshot, ticket, fetched.Forms
	return p, nil
}

// judge counts what became of the set's receipts, and lists what changed.
func (p *plan) judge(answers []booking.Answer) booking.ReplayStep {
	step := p.step
	for i, a := range answers {
		r := p.stored[p.of[i]]
		outcome := outcomeOf(r, a)
		step.Counts.Count(outcome)
		if outcome != booking.ReplayChanged && outcome != booking.ReplayAsked {
			continue
		}
		change := booking.ReplayChange{
			ReceiptID: r.ID, ConnectionID: r.ConnectionID, Kind: r.Kind, ReceivedAt: r.ReceivedAt,
			Before: r.Status, After: a.Original, Verdict: a.Status, Transitions: []booking.ReplayedTransition{},
		}
		for _, t := range a.Transitions {
			change.Transitions = append(change.Transitions, booking.ReplayedTransition{
				BookingID: t.BookingID, Event: t.Event, From: t.From, To: t.To, Outcome: t.Outcome, Reason: t.Reason,
			})
		}
		step.Counts.Transitions += len(change.Transitions)
		step.Changes = append(step.Changes, change)
	}
	return step
}

func outcomeOf(r booking.StoredReceipt, a booking.Answer) booking.ReplayOutcome {
	switch {
	case a.Original == booking.StatusPending && r.Status == booking.StatusPending:
		return booking.ReplayOpen
	case a.Original == booking.StatusPending:
		return booking.ReplayAsked
	case a.Status == booking.StatusFailed:
		return booking.ReplayStillFailed
	case a.Original != r.Status, len(a.Transitions) > 0:
		return booking.ReplayChanged
	case r.Status.Settled() && (a.Status == booking.StatusProcessed || a.Status == booking.StatusConflict):
		return booking.ReplayChanged // texts, links or a no-show
	}
	return booking.ReplayUnchanged
}

// end gives the replay back: done, failed for good, or to be gone on with.
func (rp *replaying) end(ctx context.Context, err error) error {
	now := rp.opts.Now()
	rp.run.MovedAt = now
	switch {
	case errors.Is(err, booking.ErrNotHeld):
		rp.lost(ctx)
		return nil
	case err == nil:
		rp.run.Status, rp.run.FinishedAt = booking.RunDone, &now
	case ctx.Err() != nil, errors.Is(err, booking.ErrUnavailable):
		rp.run.Error = "" // it goes on by itself
	default:
		rp.run.Failures++
		rp.run.Error = booking.ReplayBroken
		if rp.run.Failures >= mostReplayFails {
			rp.run.Status, rp.run.FinishedAt = booking.RunFailed, &now
		}
	}
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer done()
	switch releaseErr := rp.opts.Store.ReleaseReplay(keep, rp.run, rp.by); {
	case errors.Is(releaseErr, booking.ErrNotHeld):
		rp.lost(ctx)
		return err // of a database that was away: it is tried again soon
	case releaseErr != nil:
		return errors.Join(err, releaseErr) // its hold ends by itself
	}
	if rp.run.Status == booking.RunRunning {
		return err
	}
	rp.opts.Log.InfoContext(ctx, "replay ended", "replay", rp.run.ID, "status", rp.run.Status, "dry_run", rp.run.DryRun, "looked", rp.run.Looked,
		"changed", rp.run.Changed, "unchanged", rp.run.Unchanged, "still_failed", rp.run.StillFailed, "asked", rp.run.Asked,
		"need_refetch", rp.run.NeedRefetch, "gone", rp.run.Gone, "transitions", rp.run.Transitions, "err", err)
	return nil
}

// lost says that the replay is not ours any more: nothing that was decided since was
// written.
func (rp *replaying) lost(ctx context.Context) {
	rp.opts.Log.WarnContext(ctx, "replay is no longer ours: it was stopped or taken over, or the database crashed", "replay", rp.run.ID, "looked", rp.run.Looked)
}
