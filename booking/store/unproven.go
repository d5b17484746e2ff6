package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
)

// unprovenRow is a row of unproven_posts.
type unprovenRow struct {
	ConnectionID uuid.UUID
	Part         stamp
	Posts        int
}

func (unprovenRow) TableName() string { return "unproven_posts" }

// AddUnproven adds how many posts to each connection were not proven. There is one row
// of a connection and part of an hour, whatever was posted, and those that nobody is
// told of any more are removed.
func (s *Store) AddUnproven(ctx context.Context, posts map[uuid.UUID]int, now time.Time) error {
	rows := make([]unprovenRow, 0, len(posts))
	// In one order: two processes that add at once wait for each other in turn.
	for _, id := range slices.SortedFunc(maps.Keys(posts), compareIDs) {
		rows = append(rows, unprovenRow{id, at(now.UTC().Truncate(booking.UnprovenPart)), posts[id]})
	}
	if len(rows) == 0 {
		return nil
	}
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("DELETE FROM unproven_posts WHERE part < ?", at(now.Add(-booking.UnprovenKept))).Error; err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "connection_id"}, {Name: "part"}},
			DoUpdates: clause.Set{{Column: clause.Column{Name: "posts"}, Value: gorm.Expr("unproven_posts.posts + excluded.posts")}},
		}).CreateInBatches(rows, maxIn).Error
	})
}

// unprovenTroubles are the connections to which too much comes that bears no signature
// that fits.
func (s *Store) unprovenTroubles(ctx context.Context, now time.Time) ([]booking.Trouble, error) {
	var rows []unprovenRow
	err := s.reader(ctx).Table("unproven_posts u").Joins("JOIN connections c ON c.id = u.connection_id AND c.disconnected_at IS NULL").
		Where("u.part > ?", at(now.Add(-booking.UnprovenWithin))).Select("u.connection_id, u.part, u.posts").Order("u.connection_id, u.part").Find(&rows).Error
	if err != nil {
		return nil, classify(err)
	}
	var of []booking.Unproven
	for _, r := range rows {
		if n := len(of); n == 0 || of[n-1].ConnectionID != r.ConnectionID {
			of = append(of, booking.Unproven{ConnectionID: r.ConnectionID})
		}
		u := &of[len(of)-1]
		u.Parts = append(u.Parts, booking.UnprovenPosts{At: r.Part.t, Posts: r.Posts})
	}
	var out []booking.Trouble
	for _, u := range of {
		var newest struct{ ReceivedAt *stamp }
		// A test of ours is signed with the secret that may be the wrong one.
		err := s.reader(ctx).Raw(`SELECT max(d.received_at) AS received_at FROM deliveries d JOIN webhook_receipts r ON r.id = d.receipt_id
			WHERE d.connection_id = ? AND d.received_at >= ? AND r.kind <> ?`, u.ConnectionID, at(u.Parts[0].At), booking.KindSelftest).Scan(&newest).Error
		if err != nil {
			return nil, classify(err)
		}
		u.Proven = newest.ReceivedAt.time()
		if t, is := u.Trouble(); is {
			out = append(out, t)
		}
	}
	return out, nil
}
