package main

import (
	"bytes"
	"context"
	"database/sql" //nolint:depguard // SQL by hand is what the store's reads are held against
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" //nolint:depguard // see database/sql

	"slotkeeper/booking"
)

// byHand reads what the store reads, with the same driver and the same SQL, page
// by page, and scans it into the same structs: what remains is what the store's
// own machinery costs. It names the columns that it needs.
type byHand struct {
	db       *sql.DB
	embedded bool
}

func openByHand(s *server) (*byHand, error) {
	if s.database == "" {
		db, err := openEmbedded(s.file(), "query_only(1)")
		return &byHand{db, true}, err
	}
	db, err := sql.Open("pgx", s.database)
	return &byHand{db, false}, err
}

func (h *byHand) close() error { return h.db.Close() }

const (
	pageOfBookings = `SELECT b.id, b.provider, b.connection_id, b.external_id, b.session_id, b.title, b.location, b.status, b.reason,
	b.booked_at, b.invitee_name, b.invitee_email, b.invitee_phone, b.invitee_timezone, b.no_show, b.chain_id, b.supersedes,
	b.superseded_by, b.conflicts_with, b.overlap_accepted, s.starts_at, s.ends_at, s.capacity
	FROM bookings b LEFT JOIN sessions s ON s.id = b.session_id
	WHERE (s.ends_at > $1 AND s.starts_at > $2) AND s.starts_at < $3 AND s.starts_at IS NOT NULL`
	laterBookings   = " AND (s.starts_at >= $5 AND (s.starts_at > $6 OR b.id > $7))"
	orderOfBookings = " ORDER BY s.starts_at, b.id LIMIT $4"
	resourcesOfSet  = "SELECT session_id, resource_id FROM session_resources WHERE session_id IN "

	pageOfSlots  = "SELECT id, session_id, resource_id, starts_at, ends_at, status, receipt_id FROM slots WHERE (slots.ends_at > $1 AND slots.starts_at > $2) AND slots.starts_at < $3"
	laterSlots   = " AND (starts_at >= $5 AND (starts_at > $6 OR id > $7))"
	orderOfSlots = " ORDER BY starts_at, id LIMIT $4"
	membersOfSet = "SELECT session_id, id FROM bookings WHERE status <> 'canceled' AND session_id IN "
)

// bookings reads a week's.
func (h *byHand) bookings(ctx context.Context, w window) ([]booking.View, error) {
	return pages(ctx, h, w, pageOfBookings, laterBookings, orderOfBookings, resourcesOfSet, scanBooking,
		func(v *booking.View) (session, id uuid.UUID, at time.Time) { return v.SessionID, v.ID, *v.StartsAt },
		func(v *booking.View, ids []uuid.UUID) { v.ResourceIDs = ids })
}

// slots reads a week's.
func (h *byHand) slots(ctx context.Context, w window) ([]booking.SlotView, error) {
	return pages(ctx, h, w, pageOfSlots, laterSlots, orderOfSlots, membersOfSet, scanSlot,
		func(v *booking.SlotView) (session, id uuid.UUID, at time.Time) { return v.SessionID, v.ID, v.StartsAt },
		func(v *booking.SlotView, ids []uuid.UUID) { v.BookingIDs = ids })
}

// pages reads a window page by page, and for each page what stands beside its
// sessions.
func pages[T any](ctx context.Context, h *byHand, w window, page, later, order, besides string, scan func(*sql.Rows, *T) error,
	place func(*T) (session, id uuid.UUID, at time.Time), put func(*T, []uuid.UUID),
) ([]T, error) {
	var all []T
	args := []any{spelled(w.from), spelled(w.from.Add(-booking.MaxLength)), spelled(w.to), booking.MaxLimit + 1}
	query := page + order
	for {
		found, err := queryAll(ctx, h, query, args, scan)
		if err != nil {
			return nil, err
		}
		more := len(found) > booking.MaxLimit
		found = found[:min(len(found), booking.MaxLimit)]
		var sessions []any
		for i := range found {
			session, _, _ := place(&found[i])
			sessions = append(sessions, session)
		}
		beside, err := h.besides(ctx, besides, sessions)
		if err != nil {
			return nil, err
		}
		for i := range found {
			session, _, _ := place(&found[i])
			put(&found[i], beside[session])
		}
		all = append(all, found...)
		if !more {
			return all, nil
		}
		_, id, at := place(&all[len(all)-1])
		query, args = page+later+order, append(args[:4:4], spelled(at), spelled(at), id)
	}
}

// besides reads which ids stand beside each session.
func (h *byHand) besides(ctx context.Context, query string, sessions []any) (map[uuid.UUID][]uuid.UUID, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	places := make([]string, len(sessions))
	for i := range places {
		places[i] = "$" + strconv.Itoa(i+1)
	}
	type pair struct{ session, id uuid.UUID }
	found, err := queryAll(ctx, h, query+"("+strings.Join(places, ", ")+")", sessions,
		func(rows *sql.Rows, p *pair) error { return rows.Scan(&p.session, &p.id) })
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID][]uuid.UUID, len(sessions))
	for _, p := range found {
		out[p.session] = append(out[p.session], p.id)
	}
	for _, ids := range out {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	}
	return out, nil
}

func queryAll[T any](ctx context.Context, h *byHand, query string, args []any, scan func(*sql.Rows, *T) error) (all []T, err error) {
	if h.embedded {
		query = strings.ReplaceAll(query, "$", "?")
	}
	rows, err := h.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

func scanBooking(rows *sql.Rows, v *booking.View) error {
	var booked, starts, ends moment
	var conflicts string
	if err := rows.Scan(&v.ID, &v.Provider, &v.ConnectionID, &v.ExternalID, &v.SessionID, &v.Title, &v.Location, &v.Status, &v.Reason,
		&booked, &v.Invitee.Name, &v.Invitee.Email, &v.Invitee.Phone, &v.Invitee.Timezone, &v.NoShow, &v.ChainID, &v.Supersedes,
		&v.SupersededBy, &conflicts, &v.OverlapAccepted, &starts, &ends, &v.Capacity); err != nil {
		return err
	}
	v.BookedAt, v.StartsAt, v.EndsAt = booked.at, starts.at, ends.at
	return json.Unmarshal([]byte(conflicts), &v.ConflictsWith)
}

func scanSlot(rows *sql.Rows, v *booking.SlotView) error {
	var starts, ends moment
	if err := rows.Scan(&v.ID, &v.SessionID, &v.ResourceID, &starts, &ends, &v.Status, &v.ReceiptID); err != nil {
		return err
	}
	v.StartsAt, v.EndsAt = *starts.at, *ends.at
	return nil
}

// moment is a column with a time, or null.
type moment struct{ at *time.Time }

// Scan reads PostgreSQL's times and SQLite's text.
func (m *moment) Scan(value any) error {
	var at time.Time
	switch v := value.(type) {
	case nil:
		return nil
	case time.Time:
		at = v.UTC()
	case string:
		var err error
		if at, err = time.Parse(spelling, v); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%T is no time", value)
	}
	m.at = &at
	return nil
}

// spelling is how the schema of SQLite has times.
const spelling = "2006-01-02T15:04:05.000000Z"

func spelled(t time.Time) string { return t.UTC().Format(spelling) }
