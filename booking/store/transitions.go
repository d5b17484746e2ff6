package store

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

const listTransitions = "transitions"

// Transitions lists the audit log, newest first. However rarely the filter fits,
// a page looks through so many transitions and then gives what it found.
func (s *Store) Transitions(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error) {
	var none booking.List[booking.TransitionView]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	search, err := s.searchTransitions(ctx, f)
	if err != nil {
		return none, err
	}
	if search.after, err = s.readTransitionPlace(p, f.Scope); err != nil {
		return none, err
	}
	var rows []transitionRow
	if err := search.fitting(s.reader(ctx)).Limit(limit + 1).Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	items, err := s.transitionViews(ctx, rows)
	if err != nil {
		return none, err
	}
	out := pageOf(items, limit,
		func(v booking.TransitionView) booking.TransitionView { return v },
		func(v booking.TransitionView) string { return s.transitionCursor(place{v.RecordedAt, v.Seq}, f.Scope) })
	if out.Next == "" && len(search.rest) > 0 {
		last, err := search.end(s.reader(ctx))
		if err != nil {
			return none, err
		}
		if last != nil {
			out.Next = s.transitionCursor(*last, f.Scope)
		}
	}
	return out, nil
}

// transitionCursor is the cursor behind a place of the log. Who is limited to some
// resources gets it sealed: the places of what they see, read or guessed at, would tell
// how much goes on at the others, and so would that of a row that they do not see.
func (s *Store) transitionCursor(p place, scope booking.Scope) string {
	if !scope.Limited {
		return p.cursor(listTransitions)
	}
	// As long for a small number as for a large one.
	plain := fmt.Sprintf("%s|%s|%019d", listTransitions, p.at.UTC().Format(stampFormat), p.seq)
	return base64.RawURLEncoding.EncodeToString(s.vault.Seal([]byte(plain), cursorContext))
}

const cursorContext = "cursor of transitions"

// readTransitionPlace takes a sealed cursor from anybody, as in a link that was passed
// on, and one that is not sealed from who may see all numbers.
func (s *Store) readTransitionPlace(p booking.Page, scope booking.Scope) (*place, error) {
	if p.Cursor == "" {
		return nil, nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	switch {
	case err == nil && s.vault.Sealed(sealed):
		plain, err := s.vault.Open(sealed, cursorContext)
		if err != nil {
			return nil, errCursor
		}
		p.Cursor = base64.RawURLEncoding.EncodeToString(plain)
	case scope.Limited:
		return nil, errCursor
	}
	return readPlace(p, listTransitions)
}

// Transition is one row of the audit log, or booking.ErrNotFound.
func (s *Store) Transition(ctx context.Context, id uuid.UUID) (booking.TransitionView, error) {
	var rows []transitionRow
	if err := s.reader(ctx).Where("id = ?", id).Find(&rows).Error; err != nil {
		return booking.TransitionView{}, classify(err)
	}
	if len(rows) == 0 {
		return booking.TransitionView{}, booking.ErrNotFound
	}
	items, err := s.transitionViews(ctx, rows)
	if err != nil {
		return booking.TransitionView{}, err
	}
	return items[0], nil
}

// auditedBooking and auditedReceipt are what names a transition to a person.
type auditedBooking struct {
	ID           uuid.UUID
	Provider     string
	Title        string
	InviteeName  string
	InviteeEmail string
	SessionID    *uuid.UUID
}

type auditedReceipt struct {
	ID           uuid.UUID
	Kind         booking.Kind
	ConnectionID uuid.UUID
}

// transitionViews reads by id what names the rows, not by a join: a page is few
// rows, but a planner that thinks otherwise would read all bookings for it.
func (s *Store) transitionViews(ctx context.Context, rows []transitionRow) ([]booking.TransitionView, error) {
	var bookings, receipts []uuid.UUID
	for _, r := range rows {
		bookings = append(bookings, r.BookingID)
		if r.ReceiptID != nil {
			receipts = append(receipts, *r.ReceiptID)
		}
	}
	named, err := in[auditedBooking](s.reader(ctx).Table("bookings").Select("id, provider, title, invitee_name, invitee_email, session_id").Session(fresh), "id", bookings)
	if err != nil {
		return nil, classify(err)
	}
	caused, err := in[auditedReceipt](s.reader(ctx).Table("webhook_receipts").Select("id, kind, connection_id").Session(fresh), "id", receipts)
	if err != nil {
		return nil, classify(err)
	}
	resources, err := resourcesOf(ctx, s, named, func(b auditedBooking) *uuid.UUID { return b.SessionID })
	if err != nil {
		return nil, err
	}
	about, by := map[uuid.UUID]auditedBooking{}, map[uuid.UUID]auditedReceipt{}
	for _, b := range named {
		about[b.ID] = b
	}
	for _, r := range caused {
		by[r.ID] = r
	}
	out := make([]booking.TransitionView, 0, len(rows))
	for _, r := range rows {
		t, err := r.toDomain()
		if err != nil {
			return nil, err
		}
		b, receipt := about[t.BookingID], by[t.ReceiptID]
		out = append(out, booking.TransitionView{
			Transition: t, Provider: b.Provider, Title: b.Title, Invitee: b.InviteeName, Erased: booking.Person{Email: b.InviteeEmail}.Erased(),
			ResourceIDs: resources[idOrNil(b.SessionID)], ReceiptKind: receipt.Kind, ConnectionID: receipt.ConnectionID,
		})
	}
	return out, s.noteReasons(ctx, out)
}

// Tally counts the transitions of a filter by reason, whatever reason it asks
// for itself. It stops at booking.MaxTally of each.
func (s *Store) Tally(ctx context.Context, f booking.Filter) ([]booking.Tally, error) {
	reasons := f.Reasons()
	f.Reason = ""
	search, err := s.searchTransitions(ctx, f)
	switch {
	case err != nil:
		return nil, err
	case search.looksUp:
		return s.tallyTogether(ctx, search, maxCounted)
	case search.narrow || f.Actor != "":
		return s.tallyTogether(ctx, search, booking.MaxTally)
	}
	return s.tallyEach(ctx, f, reasons)
}

type tallyRow struct {
	Reason booking.Reason
	Seen   int
	Fit    int
}

// tallyTogether counts the newest candidates, all reasons in one read.
func (s *Store) tallyTogether(ctx context.Context, search transitionSearch, limit int) ([]booking.Tally, error) {
	fits, args := search.fits()
	var found []tallyRow
	err := s.reader(ctx).Table("(?) AS t", search.candidates(s.reader(ctx), limit+1)).
		Select("t.reason, count(*) AS seen, count(CASE WHEN "+fits+" THEN 1 END) AS fit", args...).
		Group("t.reason").Order("t.reason").Find(&found).Error
	seen := 0
	for _, c := range found {
		seen += c.Seen
	}
	var out []booking.Tally
	for _, c := range found {
		if c.Reason != "" && c.Fit > 0 {
			out = append(out, booking.Tally{Reason: c.Reason, Count: min(c.Fit, limit), More: seen > limit})
		}
	}
	return out, classify(err)
}

// tallyEach counts each reason by its own index, so that a rare one is counted
// right beside one that is past counting.
func (s *Store) tallyEach(ctx context.Context, f booking.Filter, reasons []booking.Reason) ([]booking.Tally, error) {
	var union string
	var args []any
	troubled := f.Troubled
	if f.Outcome == booking.Rejected {
		f.Outcome = ""
	}
	for _, reason := range reasons {
		// The reasons are those of such transitions and of no others, but for accepted
		// overlaps, which keep the conflict's.
		f.Reason, f.Troubled = reason, troubled && reason != booking.ReasonIllegal && reason != booking.ReasonStale
		search, err := s.searchTransitions(ctx, f)
		if err != nil {
			return nil, err
		}
		if union != "" {
			union += " UNION ALL "
		}
		fits, values := search.fits()
		// The reason is a constant of the text: PostgreSQL would not know the type
		// of a parameter that stands alone.
		union += "SELECT '" + string(reason) + "' AS reason, count(*) AS seen, count(CASE WHEN " + fits + " THEN 1 END) AS fit FROM (?) AS t"
		args = append(append(args, values...), search.counted(s.reader(ctx), booking.MaxTally+1))
	}
	var found []tallyRow
	if err := s.reader(ctx).Raw(union, args...).Scan(&found).Error; err != nil {
		return nil, classify(err)
	}
	var out []booking.Tally
	for _, c := range found {
		if c.Fit > 0 {
			out = append(out, booking.Tally{Reason: c.Reason, Count: min(c.Fit, booking.MaxTally), More: c.Seen > booking.MaxTally})
		}
	}
	return out, nil
}
