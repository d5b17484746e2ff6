package web

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/calendar"
	"slotkeeper/providers"
)

// runView is a run as pages show it.
type runView struct {
	booking.Run
	account.Progress
	// Changes is where the audit lists what it changed; "" when that is nothing.
	Changes string
	// By is who began it.
	By string
	// Stop is where it is stopped; "" when that is not possible.
	Stop string
}

// Importing tells whether it brings bookings in.
func (r runView) Importing() bool { return r.Kind == booking.RunBackfill }

func newRunView(p providers.Provider, r booking.Run, who viewer) runView {
	v := runView{Run: r, Progress: account.ProgressOf(p, r)}
	if r.Status == booking.RunRunning && who.may(access.SyncConnections) {
		v.Stop = connectionLink(r.ConnectionID) + "/runs/" + r.ID.String() + "/stop"
	}
	if r.Differed > 0 {
		v.Changes = changesLink(r, who.zone)
	}
	return v
}

// changesLink is the audit of the days on which a run worked.
func changesLink(r booking.Run, zone *time.Location) string {
	last := r.MovedAt
	if r.FinishedAt != nil {
		last = *r.FinishedAt
	}
	if last.Before(r.StartedAt) {
		last = r.StartedAt
	}
	day := func(t time.Time) string { return calendar.DateOf(t, zone).String() }
	return "/audit?" + url.Values{
		"show": {showAll}, "connection": {r.ConnectionID.String()}, "actor": {string(r.Kind.Actor())}, "from": {day(r.StartedAt)}, "to": {day(last)},
	}.Encode()
}

// Settled tells whether it is a comparison that found all as it should be.
func (r runView) Settled() bool {
	return r.Kind == booking.RunReconcile && r.Status == booking.RunDone && r.Differed+r.Conflicts+r.Refused+r.Unreadable == 0
}

// history sets a connection's last runs. Comparisons that changed nothing come every
// 15 minutes: they stand apart, for they would crowd out what did.
func (s *server) history(ctx context.Context, v *connectionPageView, c providers.Connection, who viewer) error {
	runs, err := s.Records.Runs(ctx, c.ID, booking.MaxLimit)
	if err != nil {
		return err
	}
	v.compared(runs)
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	for _, r := range s.runViews(c, runs, who) {
		r.By = who.language.actorName(r.Actor, actors)
		into := &v.History
		if r.Settled() {
			into = &v.Quiet
		}
		if len(*into) < newestRuns {
			*into = append(*into, r)
		}
	}
	return nil
}

func (s *server) runViews(c providers.Connection, runs []booking.Run, who viewer) []runView {
	out := make([]runView, len(runs))
	for i, r := range runs {
		out[i] = newRunView(s.Providers[c.Provider], r, who)
	}
	return out
}

// maxChanges is how many changes of the last comparison a page lists.
const maxChanges = 10

// changesOf are the newest changes that a comparison made. Webhooks that came
// meanwhile are no changes of its.
func (s *server) changesOf(ctx context.Context, r *booking.Run) ([]booking.TransitionView, error) {
	if r == nil || r.Differed == 0 || r.FinishedAt == nil {
		return nil, nil
	}
	until := r.FinishedAt.Add(time.Second)
	list, err := s.Records.Transitions(ctx, booking.Filter{
		ConnectionID: &r.ConnectionID, Actor: string(r.Kind.Actor()), From: &r.StartedAt, To: &until,
	}, booking.Page{Limit: maxChanges})
	return list.Items, err
}

// driftView is what a provider has otherwise than we, for a person to see to.
type driftView struct {
	booking.Drift
	// Ours is the booking as it stands here; nil when there is none.
	Ours *entry
	// Theirs is when the provider has it; zero when it does not say.
	Theirs time.Time
	// Unreadable is why what the provider has cannot be used.
	Unreadable *errorText
}

// driftsOf are a connection's, with the bookings that they are about.
func (s *server) driftsOf(ctx context.Context, connection uuid.UUID, who viewer) ([]driftView, error) {
	all, err := s.Records.Drifts(ctx, connection, mostDrifts)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var ids []uuid.UUID
	for _, d := range all {
		if d.BookingID != uuid.Nil {
			ids = append(ids, d.BookingID)
		}
	}
	ours, err := s.byID(ctx, ids)
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	q := readCalendarQuery(url.Values{}, who.zone, s.Now())
	out := make([]driftView, len(all))
	for i, d := range all {
		out[i] = driftView{Drift: d}
		if b, ok := ours[d.BookingID]; ok {
			e := newEntry(b, q, names, who.language)
			out[i].Ours = &e
		}
		switch d.Kind {
		case booking.DriftRefused:
			_, at, _ := strings.Cut(d.Detail, " booked at ")
			out[i].Theirs, _ = time.Parse(time.RFC3339, at) // zero when it says none
		case booking.DriftUnreadable:
			code, text, _ := strings.Cut(d.Detail, ": ")
			out[i].Unreadable = who.language.fault(code, text)
		case booking.DriftGone:
		}
	}
	return out, nil
}
