package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"slotkeeper/booking"
)

// Apply decides a set of deliveries on what is stored and saves the outcome, in
// one transaction. The answers are the set's, in its order, and true only when
// err is nil: then all is committed, and on the disk unless all of the set was read
// and nothing told. Of errors, booking.ErrUnavailable says that nothing is known to be
// stored and trying again is safe; *booking.FenceError, that somebody wrote past the
// ledger, and a reload will see what; any other, that a member of the set cannot be
// stored as it is.
func (s *Store) Apply(ctx context.Context, set []booking.Post, now time.Time) ([]booking.Answer, error) {
	if len(set) == 0 {
		return nil, nil
	}
	in := s.inTrips
	if !slices.ContainsFunc(set, func(p booking.Post) bool { return !p.Read }) {
		in = s.inTripsAgain // whoever reads begins again behind what he knows to be stored
	}
	var answers []booking.Answer
	err := in(ctx, func(tx *transaction) error { //nolint:contextcheck // what Decide does in memory is not to be broken off
		st, err := s.load(tx, set)
		if err != nil {
			return err
		}
		ch := booking.Decide(st, deliveriesOf(set), now)
		if len(ch.Answers) != len(set) {
			return fmt.Errorf("store: %d answers for %d deliveries", len(ch.Answers), len(set))
		}
		answers = ch.Answers
		return s.save(tx, st, ch, set, now)
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// KeepFailed stores a delivery that Apply cannot, as a receipt of status failed
// that a replay may mend. A copy of a receipt that is stored stays a copy.
func (s *Store) KeepFailed(ctx context.Context, p booking.Post, cause error, now time.Time) (booking.Answer, error) {
	var answer booking.Answer
	err := s.inTrips(ctx, func(tx *transaction) error { //nolint:contextcheck // trips have the transaction's
		l, t := s.loader(tx), tx.trip()
		ledger := askLedger(t)
		copies, pokes := askCopies(t, []booking.Post{p})
		if err := t.make(); err != nil {
			return err
		}
		if err := l.readCopies([]booking.Post{p}, copies, pokes); err != nil {
			return err
		}
		one := []booking.Post{p}
		if _, err := readLedger(ledger); err != nil {
			return err
		}
		if err := s.forgetErased(tx.DB, (*ledger)[0].Erased, one); err != nil {
			return err
		}
		p = one[0]
		save := tx.trip()
		if r, ok := l.st.Receipts[keyOf(p)]; ok && p.Settles {
			r.Status, r.Reason, r.Code, r.Error = booking.StatusFailed, booking.NoReason, booking.CodeApplyFailed, failure(cause)
			answer = booking.Answer{ReceiptID: r.ID, Status: r.Status, Code: r.Code, Error: r.Error}
			if err := s.settle(save, r, p, now); err != nil {
				return err
			}
			return save.make()
		} else if ok {
			answer = booking.Answer{
				ReceiptID: r.ID, Status: booking.StatusDuplicate, Original: r.Status, Reason: r.Reason, Code: r.Code, Error: r.Error,
			}
			insertRows(save, []deliveryRow{deliveryFromDomain(p, answer)})
			return save.make()
		}
		r := booking.Receipt{
			ID: p.ReceiptID, ConnectionID: p.ConnectionID, EventKey: p.EventKey, Kind: p.Kind, Actor: p.Actor,
			Status: booking.StatusFailed, Code: booking.CodeApplyFailed, Error: failure(cause),
		}
		if p.Event != nil {
			r.Subject = booking.Subject(p.Event.Source, p.Event.ExternalID)
		}
		if p.Erased { // without its body no retry can help
			r.Code = booking.CodeBodyRetired
		}
		answer = booking.Answer{ReceiptID: r.ID, Status: r.Status, Code: r.Code, Error: r.Error}
		row, err := s.receiptFromDomain(r, p, now)
		if err != nil {
			return err
		}
		insertRows(save, []receiptRow{row})
		insertRows(save, []deliveryRow{deliveryFromDomain(p, answer)})
		if err := save.make(); err != nil {
			return err
		}
		return s.queue(tx, []booking.Receipt{r})
	})
	if err != nil {
		return booking.Answer{}, err
	}
	return answer, nil
}

// failure is what may be stored and shown of a cause: the databases' own texts
// can quote what was to be written.
func failure(cause error) string {
	var fence *booking.FenceError
	var pg *pgconn.PgError
	what := "an internal error"
	switch {
	case errors.As(cause, &fence):
		what = "the database refused it by " + fence.Constraint
	case errors.As(cause, &pg):
		what = "the database refused it (SQLSTATE " + pg.Code + ")"
		if pg.ConstraintName != "" {
			what = "the database refused it by " + pg.ConstraintName
		}
	}
	return "applying the event failed: " + what + "; it is kept and can be replayed"
}
