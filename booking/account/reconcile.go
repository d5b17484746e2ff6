package account

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

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
	looks := 0
	for externalID, bookings := range here {
		r.run.Here += len(bookings)
		listed := r.seen[externalID]
		if listed && len(r.left(bookings)) == 0 || looks >= mostLooks {
			continue
		}
		looks++
		first := r.seats[externalID].at
		if err := r.look(ctx, bookings); err != nil {
			return err
		}
		if left := r.left(bookings); listed && len(left) > 0 {
			if err := r.leave(ctx, left, first); err != nil {
				return err
			}
		}
		if looks%10 == 0 {
			if err := r.save(ctx); err != nil {
				return err
			}
		}
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
	ticket, err := r.opts.Store.Ticket(ctx, r.opts.Now())
	if err != nil {
		return err
	}
	s, err := r.api.Look(ctx, r.opts.Client, r.conn, r.origin(r.conn), here[0].ExternalID, ticket)
	r.run.Requests++
	switch {
	case errors.Is(err, providers.ErrGone):
		return r.gone(ctx, here, ticket)
	case err != nil:
		return err
	}
	counted := r.run.AtProvider
	again := r.seen[here[0].ExternalID]
	err = r.take(ctx, []providers.Standing{s}, ticket)
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
	d, known := r.drifts[first.ExternalID]
	if !known || d.Kind != booking.DriftGone || r.opts.Now().Sub(d.FoundAt) < r.opts.Tempo.Wait(goneFor) {
		return r.drift(ctx, booking.DriftGone, first.ExternalID, "the provider knows no such booking", first.ID)
	}
	e := &booking.Event{
		Kind: booking.KindCanceled, Source: r.conn.Source(), At: ticket, ExternalID: first.ExternalID, Reason: booking.ReasonRemoved, Shared: first.Shared,
		Attendees: r.people(here),
	}
	s := providers.Standing{Delivery: booking.Delivery{Event: e}, Body: []byte(`{"gone":true}`)}
	return r.apply(ctx, []booking.Post{r.post(s, ticket, 0)})
}
