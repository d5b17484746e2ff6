package web_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// mentions tells whether a text is in a booking.
func mentions(b booking.View, text string) bool {
	return text == "" || strings.Contains(strings.ToLower(b.Title+" "+b.Invitee.Name+" "+b.Invitee.Email), strings.ToLower(text))
}

func (r *records) BookingsWithin(ctx context.Context, f booking.Filter, most int) ([]booking.View, bool, error) {
	l, err := r.Bookings(ctx, f, booking.Page{Limit: most})
	return slices.DeleteFunc(l.Items, func(b booking.View) bool { return b.StartsAt == nil }), l.Next != "", err
}

func (r *records) FormerPlaces(_ context.Context, f booking.Filter) ([]booking.FormerPlace, error) {
	var out []booking.FormerPlace
	for _, p := range r.former {
		if within(f, &p.StartsAt, &p.EndsAt) {
			out = append(out, p)
		}
	}
	return out, r.failing()
}

func (r *records) BookingBefore(ctx context.Context, f booking.Filter, before time.Time) (booking.View, error) {
	all, _, err := r.BookingsWithin(ctx, f, 10_000)
	if err != nil {
		return booking.View{}, err
	}
	var last *booking.View
	for i, b := range all {
		if b.StartsAt.Before(before) && (last == nil || last.StartsAt.Before(*b.StartsAt)) {
			last = &all[i]
		}
	}
	if last == nil {
		return booking.View{}, booking.ErrNotFound
	}
	return *last, nil
}

func (r *records) ByDay(ctx context.Context, f booking.Filter, days []booking.Period, most int) ([]booking.DayCount, [][]booking.DayPlace, error) {
	var counts []booking.DayCount
	first := make([][]booking.DayPlace, len(days))
	for i, d := range days {
		f.From, f.To = &d.From, &d.To
		all, _, err := r.BookingsWithin(ctx, f, 10_000)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range booking.Statuses() {
			n := 0
			for _, b := range all {
				if b.Status == s {
					n++
				}
			}
			if n > 0 {
				counts = append(counts, booking.DayCount{Day: i, Status: s, Count: n})
			}
		}
		at := map[[2]string]int{}
		for _, b := range all {
			key := [2]string{b.SessionID.String(), string(b.Status)}
			if n, known := at[key]; known && b.SessionID != uuid.Nil {
				first[i][n].Others++
				continue
			}
			at[key] = len(first[i])
			first[i] = append(first[i], booking.DayPlace{View: b})
		}
		first[i] = first[i][:min(len(first[i]), most)]
	}
	return counts, first, nil
}

func (r *records) LastSeq(context.Context) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked++
	return r.seq, r.err
}

// happens moves the ledger on.
func (r *records) happens(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq += n
}

// changes moves the ledger on, by another newest transition of the first's booking.
func (r *records) changes(n byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	r.transitions = slices.Clone(r.transitions)
	r.transitions[0].ID, r.transitions[0].Seq = id(n), r.transitions[0].Seq+1
}

func (r *records) counted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func (r *records) looks() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.looked
}

func (r *records) ResourcesToldOf(ctx context.Context, connection uuid.UUID, window booking.Period) ([]uuid.UUID, error) {
	all, _, err := r.BookingsWithin(ctx, booking.Filter{From: &window.From, To: &window.To}, 10_000)
	var out []uuid.UUID
	for _, b := range all {
		if b.ConnectionID == connection {
			out = append(out, b.ResourceIDs...)
		}
	}
	return out, err
}
