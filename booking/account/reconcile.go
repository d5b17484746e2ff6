package account

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// mostLooks bounds what one comparison asks for one by one: so many bookings of which
// nobody knows yet why they were not listed, and as many that were gone before.
const (
	mostLooks   = 200
	looksAtOnce = 10 // until the run tells how far it is
)

// lookedTo begins the cursor of a comparison that has read all, and asks for what was
// not listed. One that could not ask for all of it leaves there, when it is done, behind
// which external id the next one goes on. No adapter's cursor begins so.
const lookedTo = "looked to "

// missing looks for the bookings that stand here and were not listed.
func (r *reading) missing(ctx context.Context) error {
	// Those that an earlier connection of the account told of are this one's too.
	same, err := r.sameAccount(ctx, r.conn)
	if err != nil {
		return err
	}
	ids := []uuid.UUID{r.conn.ID}
	for _, c := range same {
		if c.ID != r.conn.ID {
			ids = append(ids, c.ID)
		}
	}
	here, err := r.opts.Store.StandingHere(ctx, ids, r.run.From, r.run.To)
	if err != nil {
		return err
	}
	again, first := r.unlisted(here)
	if again, err = r.ripe(ctx, again); err != nil {
		return err
	}
	if first, err = r.turn(ctx, first); err != nil {
		return err
	}
	r.run.Cursor = lookedTo
	for i, externalID := range slices.Concat(again, first) {
		if i%looksAtOnce == 0 {
			if err := r.save(ctx); err != nil {
				return err
			}
		}
		if err := r.confirm(ctx, here[externalID]); err != nil {
			return err
		}
	}
	return nil
}

// unlisted are the external ids of what stands here and was not listed, or not as it
// stands here. Those come again of which the provider did not know before.
func (r *reading) unlisted(here map[string][]booking.Standing) (again, first []string) {
	for externalID, bookings := range here {
		r.run.Here += len(bookings)
		switch listed := r.seen[externalID]; {
		case listed && len(r.left(bookings)) == 0:
		case !listed && r.drifts[externalID].Kind == booking.DriftGone:
			again = append(again, externalID)
		default:
			first = append(first, externalID)
		}
	}
	return again, first
}

// ripe are those of what was gone before that are asked for now, the longest gone
// first: if they still are, they are removed. The others stay known as gone, so that
// their turn comes.
func (r *reading) ripe(ctx context.Context, again []string) ([]string, error) {
	slices.SortFunc(again, func(a, b string) int {
		return cmp.Or(r.drifts[a].FoundAt.Compare(r.drifts[b].FoundAt), cmp.Compare(a, b))
	})
	due := 0
	for due < min(len(again), r.looks) && r.goneLong(r.drifts[again[due]]) {
		due++
	}
	for _, externalID := range again[due:] {
		d := r.drifts[externalID]
		r.run.Differed++
		if err := r.drift(ctx, d.Kind, externalID, d.Detail, d.BookingID); err != nil {
			return nil, err
		}
	}
	return again[:due], nil
}

// turn are those of what was not listed that are asked for now. Where that are not
// all, the next comparison goes on behind them: whatever a provider knows and never
// lists must not keep the others from their turn.
func (r *reading) turn(ctx context.Context, first []string) ([]string, error) {
	slices.Sort(first)
	if len(first) <= r.looks {
		return first, nil
	}
	last, err := r.lastLook(ctx)
	if err != nil {
		return nil, err
	}
	from, met := slices.BinarySearch(first, last)
	if met {
		from++
	}
	now := slices.Concat(first, first)[from : from+r.looks]
	r.place = lookedTo + now[r.looks-1]
	return now, nil
}

// lastLook is the external id behind which the last comparison left off; "" when it
// looked at all.
func (r *reading) lastLook(ctx context.Context) (string, error) {
	runs, err := r.opts.Store.Runs(ctx, r.conn.ID, booking.MaxLimit)
	if err != nil {
		return "", err
	}
	for _, run := range runs {
		if run.Kind == booking.RunReconcile && run.Status == booking.RunDone {
			if last, left := strings.CutPrefix(run.Cursor, lookedTo); left {
				return last, nil
			}
			break
		}
	}
	return "", nil
}

// confirm looks at bookings of one external id, and ends the seats of those who have
// none, as was read twice.
func (r *reading) confirm(ctx context.Context, here []booking.Standing) error {
	externalID := here[0].ExternalID
	listed, first := r.seen[externalID], r.seats[externalID].at
	if err := r.look(ctx, here); err != nil {
		return err
	}
	if left := r.left(here); listed && len(left) > 0 {
		return r.leave(ctx, left, first)
	}
	return nil
}

// left are those of a shared booking's who have no seat of it as it was read. A
// provider tells who has one, and not who had.
func (r *reading) left(here []booking.Standing) []booking.Standing {
	read, seated := r.seats[here[0].ExternalID]
	if !seated {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(here), func(b booking.Standing) bool {
		return b.Email == "" || read.keys[r.opts.EmailKey(b.Email)]
	})
}

// leave cancels the seats of those who had none in two reads, as of the first: who
// takes one while they are made is newer.
func (r *reading) leave(ctx context.Context, left []booking.Standing, ticket time.Time) error {
	e := &booking.Event{
		Kind: booking.KindCanceled, Source: r.conn.Source(), At: ticket, ExternalID: left[0].ExternalID, Reason: booking.ReasonCanceled, Shared: true,
		Attendees: r.people(left),
	}
	s := providers.Standing{Delivery: booking.Delivery{Event: e}, Body: []byte(`{"left":true}`)}
	return r.apply(ctx, []booking.Post{r.post(s, ticket, 0)})
}

func (r *reading) people(here []booking.Standing) []booking.Attendee {
	var out []booking.Attendee
	for _, b := range here {
		if b.Email != "" {
			out = append(out, booking.Attendee{Email: b.Email, Key: r.opts.EmailKey(b.Email)})
		}
	}
	return out
}

// look asks for what was not listed, or not as it stands here: bookings of one
// external id.
func (r *reading) look(ctx context.Context, here []booking.Standing) error {
	var s providers.Standing
	var asked time.Time
	err := r.ask(ctx, func(ticket time.Time) (err error) {
		asked = ticket
		s, err = r.api.Look(ctx, r.opts.Client, r.conn, r.origin(r.conn), here[0].ExternalID, ticket)
		r.run.Requests++
		return err
	})
	var refused *providers.AnswerError
	switch {
	case errors.Is(err, providers.ErrGone):
		return r.gone(ctx, here, asked)
	case errors.As(err, &refused) && !passing(err):
		// What is not told of one booking must not keep the others from their turn.
		r.run.Unreadable++
		r.opts.Log.WarnContext(ctx, "a booking could not be compared", "run", r.run.ID, "connection", r.conn.ID, "booking", here[0].ID, "err", err)
		return nil
	case err != nil:
		return err
	}
	counted := r.run.AtProvider
	again := r.seen[here[0].ExternalID]
	err = r.take(ctx, []providers.Standing{s}, asked)
	if again {
		r.run.AtProvider = counted
	}
	return err
}

// gone removes bookings that their provider does not know, and did not know some
// time ago.
func (r *reading) gone(ctx context.Context, here []booking.Standing, ticket time.Time) error {
	r.run.Differed++
	first := here[0]
	if d := r.drifts[first.ExternalID]; d.Kind != booking.DriftGone || !r.goneLong(d) {
		return r.drift(ctx, booking.DriftGone, first.ExternalID, "the provider knows no such booking", first.ID)
	}
	e := &booking.Event{
		Kind: booking.KindCanceled, Source: r.conn.Source(), At: ticket, ExternalID: first.ExternalID, Reason: booking.ReasonRemoved, Shared: first.Shared,
		Attendees: r.people(here),
	}
	s := providers.Standing{Delivery: booking.Delivery{Event: e}, Body: []byte(`{"gone":true}`)}
	return r.apply(ctx, []booking.Post{r.post(s, ticket, 0)})
}

// goneLong tells whether what was gone before was so long enough ago.
func (r *reading) goneLong(d booking.Drift) bool {
	return r.opts.Now().Sub(d.FoundAt) >= r.opts.Tempo.Wait(goneFor)
}
