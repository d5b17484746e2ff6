package store

import (
	"context"
	"database/sql"
	"math"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// chainPage is how many transitions are held at once.
const chainPage = 1000

// CheckChain reads the whole audit log, oldest first and a page at a time, and
// gives each row to the check. The server may run meanwhile: what comes during
// the reading is checked too.
func (s *Store) CheckChain(ctx context.Context, c *booking.Chain) error {
	seq, id := int64(math.MinInt64), uuid.Nil
	for {
		rows, ledger, err := s.chainPage(ctx, seq, id, c)
		if err != nil {
			return classify(err)
		}
		if len(rows) < chainPage {
			c.End(ledger)
			return nil
		}
		last := rows[len(rows)-1]
		seq, id = last.Seq, last.ID
	}
}

// chainPage checks the rows after one, and tells the ledger as it was then: both
// of one moment, so that nothing that is written meanwhile looks like a flaw.
func (s *Store) chainPage(ctx context.Context, seq int64, id uuid.UUID, c *booking.Chain) (rows []transitionRow, ledger booking.Ledger, err error) {
	o := &sql.TxOptions{ReadOnly: true}
	if s.dialect == migrations.Postgres {
		o.Isolation = sql.LevelRepeatableRead
	}
	err = s.reader(ctx).Transaction(func(tx *gorm.DB) error {
		var row ledgerRow
		if err := tx.Take(&row).Error; err != nil {
			return err
		}
		ledger.Seq = row.Seq
		copy(ledger.Head[:], row.Head)
		// With the id, lest rows of one number hide behind a page's end.
		page := tx.Where("(seq, id) > (?, ?)", seq, id).Order("seq, id").Limit(chainPage).Session(fresh)
		if page.Find(&rows).Error == nil {
			for i := range rows {
				giveToChain(c, &rows[i])
			}
			return nil
		}
		return oneByOne(tx, page, c, &rows)
	}, o)
	return rows, ledger, err
}

func giveToChain(c *booking.Chain, row *transitionRow) {
	t, err := row.toDomain()
	if err != nil {
		c.Unreadable(row.Seq, err)
		return
	}
	c.Next(&t)
}

// oneByOne reads a page with a row in it that cannot be read, to name it.
func oneByOne(tx, page *gorm.DB, c *booking.Chain, rows *[]transitionRow) error {
	var keys []struct {
		Seq int64
		ID  string
	}
	if err := page.Model(&transitionRow{}).Select("seq, id").Find(&keys).Error; err != nil {
		return err
	}
	*rows = (*rows)[:0]
	for _, key := range keys {
		var row transitionRow
		id, err := uuid.Parse(key.ID)
		if err == nil {
			err = tx.Where("seq = ? AND id = ?", key.Seq, key.ID).Take(&row).Error
		}
		if err != nil {
			c.Unreadable(key.Seq, err)
			*rows = append(*rows, transitionRow{Seq: key.Seq, ID: id})
			continue
		}
		*rows = append(*rows, row)
		giveToChain(c, &row)
	}
	return nil
}
