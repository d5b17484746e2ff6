package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// maxBoardKinds is how many kinds of a connection are told apart: a sender may name
// its events as it likes.
const maxBoardKinds = 12

// board is the reconciliation: of each connection what came and what became of it,
// beside what its provider says that it has.
type board struct {
	Since time.Time
	// Month says that the last month is counted, since the list is of all time.
	Month       bool
	Connections []boardConnection
	// Columns are the statuses that have one.
	Columns []booking.ReceiptStatus
	// Read says that something was read from a provider's API, which has a column
	// then.
	Read bool
	// Sum is that of all connections.
	Sum    boardRow
	Charts []deliveryChart
	// Oldest is when the oldest open receipt came, and OldestLink leads to it.
	Oldest     *time.Time
	OldestLink string
}

type boardConnection struct {
	Name     string
	Provider string
	Link     string
	State    providers.State
	// Asked says that its provider can be asked what it has, and Compared is the
	// last time that this was done; Differing leads to what differs.
	Asked    bool
	Compared *booking.Run
	Rows     []boardRow
	// Sum is that of several rows, nil of one.
	Sum *boardRow
}

// boardRow counts the receipts of a kind. Received are all posts, of which Unique
// told of something for the first time. What was Read came by no post.
type boardRow struct {
	Kind     booking.Kind
	Other    bool // the kinds that have no row of their own
	Received int
	Unique   int
	Copies   int
	Read     int
	Cells    []boardCell
}

type boardCell struct {
	Status booking.ReceiptStatus
	Count  int
	Link   string // the list of these
}

// Bad tells whether somebody should look at the cell's receipts.
func (c boardCell) Bad() bool {
	return c.Count > 0 && (c.Status == booking.StatusFailed || c.Status == booking.StatusDead || c.Status == booking.StatusConflict)
}

// The columns in their order, and those of them that stand there only when they have
// a number.
var (
	boardColumns = []booking.ReceiptStatus{
		booking.StatusProcessed, booking.StatusConflict, booking.StatusUnchanged, booking.StatusRejected, booking.StatusIgnored,
		booking.StatusWaiting, booking.StatusPending, booking.StatusFailed, booking.StatusDead,
	}
	seldom = []booking.ReceiptStatus{booking.StatusConflict, booking.StatusWaiting}
)

func (s *server) board(ctx context.Context, q deliveriesQuery, who viewer) (board, error) {
	now := s.Now()
	days, hours := lastDays(who.zone, now), lastHours(who.zone, now)
	// All that ever came would be a scan of a table that only grows. The numbers' links
	// then are of the month, too: each leads to as many as it says.
	b := board{Since: days[0], Month: q.Period == periodAll}
	if b.Month {
		q.Period = periodMonth
	} else if since := q.since(who.zone, now); since != nil {
		b.Since = *since
	}
	connection, err := q.connection()
	if err != nil {
		return b, err
	}
	// Up to the end of the second that runs: what came just now counts.
	f := booking.CountFilter{
		From: b.Since, To: now.Add(time.Second), ConnectionID: connection, Provider: q.Provider, Parts: append(partsOf(hours), partsOf(days)...),
	}
	counts, err := s.Records.CountReceipts(ctx, f, now)
	if err != nil {
		return b, err
	}
	for _, chart := range []struct {
		name   string
		begins []time.Time
		counts []map[booking.ReceiptStatus]int
	}{{"day", hours, counts.Parts[:len(hours)]}, {"month", days, counts.Parts[len(hours):]}} {
		drawn, err := newDeliveryChart(chart.name, chart.begins, chart.counts, who)
		if err != nil {
			return b, err
		}
		b.Charts = append(b.Charts, drawn)
	}
	b.Columns = columnsOf(counts.Of)
	if err := s.fillBoard(ctx, &b, counts.Of, q, f); err != nil {
		return b, err
	}
	err = s.addOldest(ctx, &b)
	return b, err
}

// partsOf are the times between the beginnings, the last of which is open.
func partsOf(begins []time.Time) []booking.Period {
	out := make([]booking.Period, len(begins))
	for i, from := range begins {
		to := from.AddDate(1, 0, 0)
		if i+1 < len(begins) {
			to = begins[i+1]
		}
		out[i] = booking.Period{From: from, To: to}
	}
	return out
}

func columnsOf(counts []booking.ReceiptCount) []booking.ReceiptStatus {
	return slices.DeleteFunc(slices.Clone(boardColumns), func(status booking.ReceiptStatus) bool {
		return slices.Contains(seldom, status) &&
			!slices.ContainsFunc(counts, func(c booking.ReceiptCount) bool { return c.Status == status && c.Count > 0 })
	})
}

// fillBoard gives each connection its rows. One that is connected and silent stands
// there too: that nothing came is what somebody looks for.
func (s *server) fillBoard(ctx context.Context, b *board, counts []booking.ReceiptCount, q deliveriesQuery, f booking.CountFilter) error {
	all, err := booking.Everything(ctx, s.Records.Connections)
	if err != nil {
		return err
	}
	kinds := map[uuid.UUID]map[booking.Kind]*boardRow{}
	for _, c := range counts {
		if kinds[c.ConnectionID] == nil {
			kinds[c.ConnectionID] = map[booking.Kind]*boardRow{}
		}
		row := kinds[c.ConnectionID][c.Kind]
		if row == nil {
			row = &boardRow{Kind: c.Kind}
			kinds[c.ConnectionID][c.Kind] = row
		}
		row.count(c)
	}
	for _, c := range all {
		if f.ConnectionID != nil && c.ID != *f.ConnectionID || f.Provider != "" && c.Provider != f.Provider {
			continue
		}
		rows := boardRows(kinds[c.ID])
		if len(rows) == 0 && c.DisconnectedAt != nil {
			continue
		}
		shown := boardConnection{
			Name: c.Name, Provider: c.Provider, Link: connectionLink(c.ID), State: c.State(s.Now()), Rows: rows,
			Asked: c.Owner.ExternalID != "" && s.reaches(c.Provider),
		}
		if shown.Asked {
			runs, err := s.Records.Runs(ctx, c.ID, newestRuns)
			if err != nil {
				return err
			}
			shown.Compared = lastReconcile(runs)
		}
		var sum boardRow
		for i := range rows {
			sum.add(rows[i])
			rows[i].Cells = rows[i].cells(b.Columns, q, c.ID.String())
		}
		if len(rows) > 1 {
			sum.Cells = sum.cells(b.Columns, q, c.ID.String())
			shown.Sum = &sum
		}
		b.Sum.add(sum)
		b.Connections = append(b.Connections, shown)
	}
	b.Read = b.Sum.Read > 0
	b.Sum.Cells = b.Sum.cells(b.Columns, q, q.Connection)
	slices.SortStableFunc(b.Connections, func(x, y boardConnection) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Name, y.Name))
	})
	return nil
}

// count adds receipts to the row; its cells hold only numbers yet.
func (r *boardRow) count(c booking.ReceiptCount) {
	switch {
	case c.Status == booking.StatusDuplicate:
		r.Copies += c.Count
		r.Received += c.Count
		return
	case c.Told:
		r.Unique += c.Count
		r.Received += c.Count
	default:
		r.Read += c.Count
	}
	r.Cells = append(r.Cells, boardCell{Status: c.Status, Count: c.Count})
}

func (r *boardRow) add(o boardRow) {
	r.Received += o.Received
	r.Unique += o.Unique
	r.Copies += o.Copies
	r.Read += o.Read
	r.Cells = append(r.Cells, o.Cells...)
}

func (r *boardRow) total() int { return r.Received + r.Read }

// cells are the row's numbers in the order of the columns, each with the list that
// it counts.
func (r *boardRow) cells(columns []booking.ReceiptStatus, q deliveriesQuery, connection string) []boardCell {
	out := make([]boardCell, len(columns))
	for i, status := range columns {
		out[i].Status = status
		for _, c := range r.Cells {
			if c.Status == status {
				out[i].Count += c.Count
			}
		}
		if out[i].Count == 0 || r.Other {
			continue
		}
		out[i].Link = q.with(func(q *deliveriesQuery) {
			q.Connection, q.Kind, q.Status, q.Text = connection, string(r.Kind), string(status), ""
		}) + "#list"
	}
	return out
}

// boardRows are a connection's kinds, those that people know in the order of a
// booking's life, then the others by their number; what is past the limit in one row.
func boardRows(kinds map[booking.Kind]*boardRow) []boardRow {
	life := []booking.Kind{
		booking.KindRequested, booking.KindCreated, booking.KindMoved, booking.KindCanceled, booking.KindDetails, booking.KindNoShow,
	}
	place := func(k booking.Kind) int {
		if i := slices.Index(life, k); i >= 0 {
			return i
		}
		return len(life)
	}
	out := make([]boardRow, 0, len(kinds))
	for _, r := range kinds {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b boardRow) int {
		return cmp.Or(cmp.Compare(place(a.Kind), place(b.Kind)), cmp.Compare(b.total(), a.total()), cmp.Compare(a.Kind, b.Kind))
	})
	if len(out) <= maxBoardKinds {
		return out
	}
	rest := boardRow{Other: true}
	for _, r := range out[maxBoardKinds-1:] {
		rest.add(r)
	}
	return append(out[:maxBoardKinds-1], rest)
}

// addOldest adds the oldest of what is still worked on.
func (s *server) addOldest(ctx context.Context, b *board) error {
	backlog, err := s.Records.Backlog(ctx)
	if err != nil {
		return err
	}
	b.Oldest = backlog.Oldest
	if backlog.OldestID != uuid.Nil {
		b.OldestLink = "/deliveries/" + backlog.OldestID.String()
	}
	return nil
}

// Width is how many columns the table has.
func (b board) Width() int {
	n := len(b.Columns) + 4
	if b.Read {
		n++
	}
	return n
}
