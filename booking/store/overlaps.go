package store

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// maxOverlaps is how many overlaps are accepted at once: more than a page shows.
const maxOverlaps = 200

// AcceptOverlaps accepts the overlaps of conflicted bookings in one transaction
// (booking.AcceptOverlaps), with an entry for each that has the reason. Those that
// are not conflicted are refused, which is recorded too; an id that is nobody's is
// booking.ErrNotFound, and then nothing is done. Cancels that are still to be done of
// what is accepted are withdrawn; one that is being tried is booking.ErrBeingTried,
// and then nothing is done either.
//
//nolint:contextcheck // what the domain does in memory is not to be broken off
func (s *Store) AcceptOverlaps(ctx context.Context, by access.By, ids []uuid.UUID, reason string, now time.Time) (answers []booking.OverlapAnswer, err error) {
	if reason, err = booking.OverlapReason(reason); err != nil {
		return nil, err
	}
	if len(ids) == 0 || len(ids) > maxOverlaps {
		return nil, &booking.InvalidError{Field: "booking", Detail: "must be 1 to " + strconv.Itoa(maxOverlaps) + " bookings"}
	}
	err = s.inTrips(ctx, func(tx *transaction) (err error) {
		l := s.loader(tx)
		if l.st.Ledger, err = lockLedger(tx); err != nil {
			return err
		}
		t := tx.trip()
		rows := read[bookingRow](t, "WHERE id = any(?)", ids)
		if err := t.make(); err != nil {
			return err
		}
		for _, r := range *rows {
			b := r.toDomain()
			l.st.Bookings[b.ID] = b
			l.meetings.add(b.SessionID)
		}
		for _, id := range ids {
			if _, ok := l.st.Bookings[id]; !ok {
				return booking.ErrNotFound
			}
		}
		if err := l.rest(); err != nil {
			return err
		}
		if err := l.surroundings(); err != nil {
			return err
		}
		var ch booking.Changes
		ch, answers = booking.AcceptOverlaps(l.st, ids, by.Actor, now)
		if err := s.save(tx, l.st, ch, nil, now); err != nil {
			return err
		}
		var accepted []uuid.UUID
		for _, a := range answers {
			if a.Unchanged || a.Refused != nil {
				continue
			}
			accepted = append(accepted, a.BookingID)
			err := appendAdminLog(tx.DB, access.Entry{
				At: now, Actor: by.Actor, Action: access.DidAcceptOverlap, Subject: bookingSubject(a.BookingID),
				Detail: access.Facts{"reason": reason}, Remote: by.Remote,
			})
			if err != nil {
				return err
			}
		}
		return s.withdrawFor(tx.DB, accepted, by, now)
	})
	return answers, err
}

func bookingSubject(id uuid.UUID) string { return "booking:" + id.String() }

// sessionIDRow is a session's id alone.
type sessionIDRow struct{ ID uuid.UUID }

func (sessionIDRow) TableName() string { return "sessions" }

// SetOverlapRule switches the rule of a resource (booking.SetOverlapRule), and
// tells how many open conflicts it accepted. What is so already is left alone.
// Cancels are withdrawn as by AcceptOverlaps.
//
//nolint:contextcheck // what the domain does in memory is not to be broken off
func (s *Store) SetOverlapRule(ctx context.Context, by access.By, id uuid.UUID, on bool, now time.Time) (accepted int, err error) {
	err = s.inTrips(ctx, func(tx *transaction) (err error) {
		l := s.loader(tx)
		if l.st.Ledger, err = lockLedger(tx); err != nil {
			return err
		}
		r, err := standingIn(tx, id, "resource")
		if err != nil || r.AcceptWithinProvider == on {
			return err
		}
		l.st.Resources[id] = r
		if on {
			t := tx.trip()
			rows := read[sessionIDRow](t, `WHERE id IN (SELECT b.session_id FROM bookings b JOIN session_resources r ON r.session_id = b.session_id
				WHERE b.status = 'conflicted' AND NOT b.overlap_accepted AND r.resource_id = any(?))`, []uuid.UUID{id})
			if err := t.make(); err != nil {
				return err
			}
			for _, row := range *rows {
				l.meetings.add(row.ID)
			}
			if err := l.rest(); err != nil {
				return err
			}
			if err := l.surroundings(); err != nil {
				return err
			}
		}
		ch := booking.SetOverlapRule(l.st, id, on, now)
		accepted = len(ch.Transitions)
		if err := s.save(tx, l.st, ch, nil, now); err != nil {
			return err
		}
		if err := s.withdrawFor(tx.DB, rowsOf(ch.Transitions, func(t booking.Transition) uuid.UUID { return t.BookingID }), by, now); err != nil {
			return err
		}
		return appendAdminLog(tx.DB, access.Entry{
			At: now, Actor: by.Actor, Action: access.DidSetOverlapRule, Subject: resourceSubject(id), Remote: by.Remote,
			Detail: access.Facts{"within_provider": strconv.FormatBool(on), "accepted": strconv.Itoa(accepted)},
		})
	})
	return accepted, err
}

// ConflictNotes tell of conflicted bookings what their newest transitions do:
// since when they are as they are, and who accepted that. A booking that was
// never conflicted has none.
func (s *Store) ConflictNotes(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]booking.ConflictNote, error) {
	var told []struct {
		BookingID  uuid.UUID
		Event      booking.Action
		Actor      booking.Actor
		RecordedAt stamp
	}
	if len(ids) == 0 {
		return nil, nil
	}
	err := s.reader(ctx).Raw(`
		SELECT t.booking_id, t.event, t.actor, t.recorded_at FROM transitions t JOIN (
			SELECT max(seq) AS seq FROM transitions
			WHERE booking_id IN ? AND outcome = 'applied' AND "to" = 'conflicted'
			GROUP BY booking_id, CASE WHEN event = 'accept_overlap' THEN 1 ELSE 0 END) newest ON newest.seq = t.seq`, ids).Scan(&told).Error
	if err != nil {
		return nil, classify(err)
	}
	reasons, err := s.overlapReasons(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]booking.ConflictNote, len(ids))
	for _, row := range told {
		note := out[row.BookingID]
		if row.Event == booking.AcceptOverlap {
			note.Accepted = &booking.AcceptedNote{At: row.RecordedAt.t, Actor: row.Actor}
			if row.Actor != booking.ActorSystem {
				note.Accepted.Reason = reasons[bookingSubject(row.BookingID)]
			}
		} else {
			note.Since = row.RecordedAt.t
		}
		out[row.BookingID] = note
	}
	return out, nil
}

// Arrivals tell of bookings how they came to stand where they do: by the newest
// change of their place or of whether they hold it.
func (s *Store) Arrivals(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]booking.Arrival, error) {
	var rows []struct {
		BookingID  uuid.UUID
		Seq        int64
		Event      booking.Action
		From       booking.Status
		Actor      booking.Actor
		RecordedAt stamp
	}
	if len(ids) == 0 {
		return nil, nil
	}
	err := s.reader(ctx).Raw(`
		SELECT t.booking_id, t.seq, t.event, t."from", t.actor, t.recorded_at FROM transitions t JOIN (
			SELECT max(seq) AS seq FROM transitions
			WHERE booking_id IN ? AND outcome = 'applied' AND event IN ('create', 'move', 'release')
			GROUP BY booking_id) newest ON newest.seq = t.seq`, ids).Scan(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	out := make(map[uuid.UUID]booking.Arrival, len(rows))
	for _, r := range rows {
		out[r.BookingID] = booking.Arrival{Seq: r.Seq, Event: r.Event, From: r.From, Actor: r.Actor, At: r.RecordedAt.t}
	}
	return out, nil
}

// overlapReasons are those that people gave last, by the subject of their entry.
func (s *Store) overlapReasons(ctx context.Context, ids []uuid.UUID) (map[string]string, error) {
	rows, err := s.acceptances(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.Subject] = r.Detail.v["reason"]
	}
	return out, nil
}

// acceptances are the entries of who accepted overlaps of bookings, oldest first.
func (s *Store) acceptances(ctx context.Context, ids []uuid.UUID) ([]adminLogRow, error) {
	// The action stands in the text, so that the partial index fits.
	q := s.reader(ctx).Where("action = 'booking.overlap_accepted'").Order("seq").Session(fresh)
	rows, err := in[adminLogRow](q, "subject", rowsOf(ids, bookingSubject))
	return rows, classify(err)
}

// noteReasons adds to transitions by which people accepted overlaps the reasons that
// they gave: they stand in entries that were written in the same transaction.
func (s *Store) noteReasons(ctx context.Context, list []booking.TransitionView) error {
	type moment struct {
		subject string
		actor   booking.Actor
		at      int64
	}
	var ids []uuid.UUID
	for _, t := range list {
		if t.AcceptedByHand() {
			ids = append(ids, t.BookingID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := s.acceptances(ctx, ids)
	if err != nil {
		return err
	}
	reasons := make(map[moment]string, len(rows))
	for _, r := range rows {
		reasons[moment{r.Subject, booking.Actor(r.Actor), r.At.t.UnixMicro()}] = r.Detail.v["reason"]
	}
	for i, t := range list {
		if t.AcceptedByHand() {
			list[i].Note = reasons[moment{bookingSubject(t.BookingID), t.Actor, t.RecordedAt.UnixMicro()}]
		}
	}
	return nil
}
