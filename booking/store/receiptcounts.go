package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// Receipts are counted for people by folding: those of each quarter of an hour that
// is over become one row of each connection, kind and status. It happens when
// somebody looks, so that whoever applies a delivery writes nothing for it, and a
// month is a few thousand rows however much came. What came since is counted as it
// stands.
//
// A receipt that was not settled when it was folded may become something else.
// Those that are not settled now are therefore held against the counts: where they
// differ, the quarter is counted anew. A receipt that is settled
// keeps its status.
const (
	countedPart = 15 * time.Minute
	// settlesIn is how long after its end a quarter is folded: until then posts that
	// came in it may still be committed.
	settlesIn = 2 * time.Minute
	// foldedBack is how far back the first fold goes, and keptCounts how long counts
	// stay: more than a dashboard shows.
	foldedBack = 32 * 24 * time.Hour
	keptCounts = 40 * 24 * time.Hour
	// foldedAtOnce bounds what one statement counts.
	foldedAtOnce = 24 * time.Hour
	// manyCounts are so many new ones that the planner should know.
	manyCounts = 1000
)

// unsettled stands in the text, so that the partial indexes fit.
const unsettled = "status IN ('pending', 'failed', 'waiting', 'dead')"

// countRow is a row of receipt_counts.
type countRow struct {
	Quarter      stamp
	ConnectionID uuid.UUID
	Kind         booking.Kind
	Told         bool
	Status       booking.ReceiptStatus
	Receipts     int
}

func (countRow) TableName() string { return "receipt_counts" }

// CountReceipts counts what came in some time, copies too.
func (s *Store) CountReceipts(ctx context.Context, f booking.CountFilter, now time.Time) (booking.ReceiptCounts, error) {
	out := booking.ReceiptCounts{Parts: make([]map[booking.ReceiptStatus]int, len(f.Parts))}
	for i := range out.Parts {
		out.Parts[i] = map[booking.ReceiptStatus]int{}
	}
	until, err := s.foldReceipts(ctx, now)
	if err != nil {
		return out, err
	}
	f.From = quarterOf(f.From)
	counted, err := s.countedBetween(ctx, f)
	if err != nil {
		return out, err
	}
	if err := s.countedParts(ctx, f, out.Parts); err != nil {
		return out, err
	}
	newest, err := s.countNow(ctx, until, f.To, f)
	if err != nil {
		return out, err
	}
	sums := map[countRow]int{}
	for _, r := range append(counted, newest...) {
		if !r.Quarter.t.IsZero() && r.Quarter.t.Before(f.From) {
			continue
		}
		n := r.Receipts
		r.Quarter, r.Receipts = stamp{}, 0
		sums[r] += n
	}
	for r, n := range sums {
		out.Of = append(out.Of, booking.ReceiptCount{ConnectionID: r.ConnectionID, Kind: r.Kind, Told: r.Told, Status: r.Status, Count: n})
	}
	for _, r := range newest {
		for i, p := range f.Parts {
			if !r.Quarter.t.Before(p.From) && r.Quarter.t.Before(p.To) {
				out.Parts[i][r.Status] += r.Receipts
			}
		}
	}
	return out, nil
}

func quarterOf(t time.Time) time.Time { return t.UTC().Truncate(countedPart) }

// ofConnection narrows to a connection, or to those of a provider.
func ofConnection(column string, f booking.CountFilter) (text string, args []any) {
	if f.ConnectionID != nil {
		text, args = " AND "+column+" = ?", append(args, *f.ConnectionID)
	}
	if f.Provider != "" {
		text, args = text+" AND "+column+" IN (SELECT id FROM connections WHERE provider = ?)", append(args, f.Provider)
	}
	return text, args
}

// countedBetween sums what is folded.
func (s *Store) countedBetween(ctx context.Context, f booking.CountFilter) ([]countRow, error) {
	var rows []countRow
	of, args := ofConnection("connection_id", f)
	err := s.reader(ctx).Raw(`SELECT connection_id, kind, told, status, sum(receipts) AS receipts FROM receipt_counts
		WHERE quarter >= ? AND quarter < ?`+of+` GROUP BY connection_id, kind, told, status`,
		append([]any{at(f.From), at(f.To)}, args...)...).Scan(&rows).Error
	return rows, classify(err)
}

// countedParts adds what is folded to the parts that it lies in.
func (s *Store) countedParts(ctx context.Context, f booking.CountFilter, into []map[booking.ReceiptStatus]int) error {
	if len(f.Parts) == 0 {
		return nil
	}
	of, more := ofConnection("connection_id", f)
	var selects []string
	var args []any
	for i, p := range f.Parts {
		selects = append(selects, "SELECT "+strconv.Itoa(i)+" AS part, status, sum(receipts) AS receipts FROM receipt_counts WHERE quarter >= ? AND quarter < ?"+of+" GROUP BY status")
		args = append(append(args, at(quarterOf(p.From)), at(quarterOf(p.To))), more...)
	}
	var rows []struct {
		Part     int
		Status   booking.ReceiptStatus
		Receipts int
	}
	// One statement, of as many reads of the index as there are parts.
	err := s.reader(ctx).Raw(strings.Join(selects, " UNION ALL "), args...).Scan(&rows).Error
	for _, r := range rows {
		into[r.Part][r.Status] += r.Receipts
	}
	return classify(err)
}

// quarter is the beginning of a column's quarter of an hour.
func (s *Store) quarter(column string) string {
	if s.dialect == migrations.Postgres {
		return "date_bin('15 minutes', " + column + ", timestamptz '2000-01-01 00:00:00Z')"
	}
	minute := "substr(" + column + ", 15, 2)"
	return "substr(" + column + ", 1, 14) || CASE WHEN " + minute + " < '15' THEN '00' WHEN " + minute + " < '30' THEN '15' WHEN " + minute +
		" < '45' THEN '30' ELSE '45' END || ':00.000000Z'"
}

// countNow counts receipts and copies themselves, by quarter.
func (s *Store) countNow(ctx context.Context, from, to time.Time, f booking.CountFilter) ([]countRow, error) {
	if !from.Before(to) {
		return nil, nil
	}
	var rows, copies []countRow
	of, more := ofConnection("connection_id", f)
	err := s.reader(ctx).Raw("SELECT "+s.quarter("received_at")+` AS quarter, connection_id, kind, actor = 'webhook' AS told, status, count(*) AS receipts
		FROM webhook_receipts WHERE received_at >= ? AND received_at < ?`+of+" GROUP BY 1, 2, 3, 4, 5",
		append([]any{at(from), at(to)}, more...)...).Scan(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	// Their index begins with the connection: they are named one by one.
	var connections []uuid.UUID
	of, more = ofConnection("id", f)
	if err := s.reader(ctx).Raw("SELECT id FROM connections WHERE 1 = 1"+of, more...).Scan(&connections).Error; err != nil || len(connections) == 0 {
		return rows, classify(err)
	}
	err = s.reader(ctx).Raw("SELECT "+s.quarter("d.received_at")+` AS quarter, d.connection_id, r.kind, 1 = 1 AS told, d.answer AS status, count(*) AS receipts
		FROM deliveries d JOIN webhook_receipts r ON r.id = d.receipt_id
		WHERE d.connection_id IN ? AND d.received_at >= ? AND d.received_at < ? AND d.action = ? GROUP BY 1, 2, 3, 4, 5`,
		connections, at(from), at(to), actionCopy).Scan(&copies).Error
	return append(rows, copies...), classify(err)
}

// foldReceipts counts the quarters that are over and those that have changed, and
// says how far the counts go.
func (s *Store) foldReceipts(ctx context.Context, now time.Time) (time.Time, error) {
	var state struct{ Until *stamp }
	if err := s.reader(ctx).Table("receipts_counted").Where("id = 1").Take(&state).Error; err != nil {
		return time.Time{}, classify(err)
	}
	end, first := quarterOf(now.Add(-settlesIn)), quarterOf(now.Add(-foldedBack))
	until := state.Until.time()
	if until.Before(first) {
		until = first
	}
	changed, err := s.changedQuarters(ctx, first, until)
	if err != nil {
		return until, err
	}
	for _, span := range changed {
		if err := s.refold(ctx, span.from, span.to); err != nil {
			return until, err
		}
	}
	before, folded := state.Until, 0
	for until.Before(end) {
		to := until.Add(foldedAtOnce)
		if to.After(end) {
			to = end
		}
		rows, err := s.countNow(ctx, until, to, booking.CountFilter{})
		if err != nil {
			return until, err
		}
		if err := s.keepCounts(ctx, before, to, rows); err != nil {
			return until, err
		}
		until, before, folded = to, atPtr(&to), folded+len(rows)
	}
	if folded > manyCounts && s.dialect == migrations.Postgres {
		// The first fold fills the table: until it is analyzed, plans are for an empty one.
		return until, classify(s.write.WithContext(ctx).Exec("ANALYZE receipt_counts").Error)
	}
	return until, nil
}

// keepCounts adds the counts of new quarters, unless somebody else did so since
// the time before.
func (s *Store) keepCounts(ctx context.Context, before *stamp, until time.Time, rows []countRow) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		// The row is also the lock: whoever folds at the same time finds it moved.
		q := tx.Table("receipts_counted").Where("id = 1")
		if before == nil {
			q = q.Where("until IS NULL")
		} else {
			q = q.Where("until = ?", before)
		}
		res := q.Update("until", at(until))
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		if err := tx.Exec("DELETE FROM receipt_counts WHERE quarter < ?", at(until.Add(-keptCounts))).Error; err != nil {
			return err
		}
		return insertCounts(tx, rows)
	})
}

func insertCounts(tx *gorm.DB, rows []countRow) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.CreateInBatches(rows, 200).Error
}

// refold counts quarters anew.
func (s *Store) refold(ctx context.Context, from, to time.Time) error {
	rows, err := s.countNow(ctx, from, to, booking.CountFilter{})
	if err != nil {
		return err
	}
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("UPDATE receipts_counted SET until = until WHERE id = 1").Error; err != nil {
			return err
		}
		if err := tx.Exec("DELETE FROM receipt_counts WHERE quarter >= ? AND quarter < ?", at(from), at(to)).Error; err != nil {
			return err
		}
		return insertCounts(tx, rows)
	})
}

type countedSpan struct{ from, to time.Time }

// changedQuarters are those whose receipts that are not settled are others than
// the counts say, neighbours in one.
func (s *Store) changedQuarters(ctx context.Context, from, until time.Time) ([]countedSpan, error) {
	span := []any{at(from), at(until)}
	var rows []struct{ Quarter stamp }
	err := s.reader(ctx).Raw(`WITH now AS MATERIALIZED (SELECT `+s.quarter("received_at")+` AS quarter, connection_id, kind, status, count(*) AS receipts
			FROM webhook_receipts WHERE `+unsettled+` AND received_at >= ? AND received_at < ? GROUP BY 1, 2, 3, 4),
		counted AS MATERIALIZED (SELECT quarter, connection_id, kind, status, CAST(sum(receipts) AS bigint) AS receipts
			FROM receipt_counts WHERE `+unsettled+` AND quarter >= ? AND quarter < ? GROUP BY 1, 2, 3, 4)
		SELECT quarter FROM (SELECT * FROM now EXCEPT SELECT * FROM counted) a UNION SELECT quarter FROM (SELECT * FROM counted EXCEPT SELECT * FROM now) b
		ORDER BY 1`, append(span, span...)...).Scan(&rows).Error
	var out []countedSpan
	for _, r := range rows {
		begin := r.Quarter.t
		if n := len(out) - 1; n >= 0 && out[n].to.Equal(begin) && begin.Sub(out[n].from) < foldedAtOnce {
			out[n].to = begin.Add(countedPart)
			continue
		}
		out = append(out, countedSpan{begin, begin.Add(countedPart)})
	}
	return out, classify(err)
}
