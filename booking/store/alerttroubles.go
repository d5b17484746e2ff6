package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const (
	// openTooLong is how long a delivery may be stored and not applied.
	openTooLong = 15 * time.Minute
	// Of so many deliveries of the last hour at least, so many in a hundred are copies
	// when something is wrong with the provider's webhook, or with our answers.
	copiesOf, copiesWithin, copiesShare = 20, 500, 60
)

// What is wrong with a connection, in a word.
const (
	troubleHook        = "hook_lost"
	troubleUndelivered = "undelivered"
	troubleCall        = "failing"
)

// Troubles are what a person has to see to now.
func (s *Store) Troubles(ctx context.Context, now time.Time) ([]booking.Trouble, error) {
	connections, err := booking.Everything(ctx, s.Connections)
	if err != nil {
		return nil, err
	}
	var out []booking.Trouble
	for _, c := range connections {
		if c.DisconnectedAt != nil || c.ConnectingSince != nil {
			continue
		}
		if t, failing := connectionTrouble(c, now); failing {
			out = append(out, t)
		}
		more, err := s.deliveryTroubles(ctx, c.ID, now)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	for _, look := range []func(context.Context, time.Time) ([]booking.Trouble, error){s.backlogTroubles, s.conflictTroubles, s.driftTroubles, s.unprovenTroubles, s.endpointTroubles} {
		more, err := look(ctx, now)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func (s *Store) endpointTroubles(ctx context.Context, now time.Time) ([]booking.Trouble, error) {
	all, err := s.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	var out []booking.Trouble
	for _, e := range all {
		if t, bad := e.Trouble(now); bad {
			out = append(out, t)
		}
	}
	return out, nil
}

func connectionTrouble(c providers.Connection, now time.Time) (booking.Trouble, bool) {
	t := booking.Trouble{Kind: booking.TroubleConnection, Subject: c.ID.String(), Count: c.Health.Failures}
	switch c.State(now) {
	case providers.StateNeedsSignIn:
		t.Detail = string(providers.StateNeedsSignIn)
	case providers.StateFailing:
		t.Detail = troubleCall
		if c.OnlyHookLost() {
			t.Detail = troubleHook
			if providers.HookStateIn(c.Health.Failure, nil).Trouble == providers.HookFailing {
				t.Detail = troubleUndelivered
			}
		}
	case providers.StateDisconnected, providers.StateQuiet, providers.StateWorking:
		return t, false
	}
	for _, since := range []*time.Time{c.Health.HookLostAt, c.Health.FailingSince} {
		if since != nil {
			t.Since = *since
		}
	}
	return t, true
}

// deliveryTroubles tells of a connection whose newest deliveries could not be
// applied, or came before.
func (s *Store) deliveryTroubles(ctx context.Context, connection uuid.UUID, now time.Time) ([]booking.Trouble, error) {
	var out []booking.Trouble
	failing, err := s.Failing(ctx, connection)
	if err != nil {
		return nil, err
	}
	if failing.Count > 0 {
		out = append(out, booking.Trouble{Kind: booking.TroubleReceipts, Subject: connection.String(), Detail: string(failing.Newest), Count: failing.Count})
	}
	var actions []string
	err = s.reader(ctx).Table("deliveries").Where("connection_id = ? AND received_at >= ?", connection, at(now.Add(-time.Hour))).
		Order("received_at DESC").Limit(copiesWithin).Pluck("action", &actions).Error
	if err != nil {
		return nil, classify(err)
	}
	copies := 0
	for _, a := range actions {
		if a != actionFirst {
			copies++
		}
	}
	if len(actions) >= copiesOf && copies*100 >= len(actions)*copiesShare {
		out = append(out, booking.Trouble{Kind: booking.TroubleCopies, Subject: connection.String(), Count: copies * 100 / len(actions)})
	}
	return out, nil
}

func (s *Store) backlogTroubles(ctx context.Context, now time.Time) ([]booking.Trouble, error) {
	backlog, err := s.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	var out []booking.Trouble
	if dead := backlog.Open[booking.StatusDead]; dead > 0 {
		out = append(out, booking.Trouble{Kind: booking.TroubleDead, Count: dead})
	}
	if backlog.Oldest != nil && now.Sub(*backlog.Oldest) >= openTooLong {
		out = append(out, booking.Trouble{Kind: booking.TroubleOpen, Since: *backlog.Oldest})
	}
	return out, nil
}

// conflictTroubles are bookings to come that have no slot. What an import or a
// comparison brought is one trouble a connection, however many they are.
func (s *Store) conflictTroubles(ctx context.Context, now time.Time) ([]booking.Trouble, error) {
	all, err := booking.Whole(ctx, booking.Filter{From: &now, OpenConflicts: true}, s.Bookings)
	if err != nil {
		return nil, err
	}
	ids := rowsOf(all, func(b booking.View) uuid.UUID { return b.ID })
	began, err := s.conflictsBegan(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []booking.Trouble
	many := map[uuid.UUID]*booking.Trouble{}
	for _, b := range all {
		note := began[b.ID]
		if note.Actor == booking.ActorWebhook {
			out = append(out, booking.Trouble{
				Kind: booking.TroubleConflict, Subject: b.ID.String(), Count: 1, Since: note.RecordedAt.t, Resources: b.ResourceIDs,
			})
			continue
		}
		t := many[b.ConnectionID]
		if t == nil {
			t = &booking.Trouble{Kind: booking.TroubleConflicts, Subject: b.ConnectionID.String(), Since: note.RecordedAt.t}
			many[b.ConnectionID] = t
		}
		t.Count++
		t.Resources = append(t.Resources, b.ResourceIDs...)
		if note.RecordedAt.t.Before(t.Since) {
			t.Since = note.RecordedAt.t
		}
	}
	for _, t := range many {
		out = append(out, *t)
	}
	return out, nil
}

// conflictBegan is the newest transition that took a booking's slot.
type conflictBegan struct {
	BookingID  uuid.UUID
	Actor      booking.Actor
	RecordedAt stamp
}

func (s *Store) conflictsBegan(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]conflictBegan, error) {
	out := make(map[uuid.UUID]conflictBegan, len(ids))
	for part := range slices.Chunk(ids, maxIn) {
		var rows []conflictBegan
		err := s.reader(ctx).Raw(`
		SELECT t.booking_id, t.actor, t.recorded_at FROM transitions t JOIN (
			SELECT max(seq) AS seq FROM transitions
			WHERE booking_id IN ? AND outcome = 'applied' AND "to" = 'conflicted' AND "from" <> 'conflicted'
			GROUP BY booking_id) newest ON newest.seq = t.seq`, part).Scan(&rows).Error
		if err != nil {
			return nil, classify(err)
		}
		for _, r := range rows {
			out[r.BookingID] = r
		}
	}
	return out, nil
}

func (s *Store) driftTroubles(ctx context.Context, _ time.Time) ([]booking.Trouble, error) {
	var rows []struct {
		ConnectionID uuid.UUID
		Count        int
		Found        stamp
	}
	err := s.reader(ctx).Table("drifts d").Joins("JOIN connections c ON c.id = d.connection_id AND c.disconnected_at IS NULL").
		Select("d.connection_id, count(*) AS count, min(d.found_at) AS found").Group("d.connection_id").Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	out := make([]booking.Trouble, 0, len(rows))
	for _, r := range rows {
		out = append(out, booking.Trouble{Kind: booking.TroubleDrift, Subject: r.ConnectionID.String(), Count: r.Count, Since: r.Found.t})
	}
	return out, nil
}
