package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Feeds keeps calendar feeds for package access.
type Feeds struct{ s *Store }

var _ access.FeedStore = (*Feeds)(nil)

// Feeds of this database.
func (s *Store) Feeds() *Feeds { return &Feeds{s} }

type feedRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	Name       string
	Level      string
	Provider   string
	Statuses   string // with commas between
	Hash       []byte
	OwnerID    *uuid.UUID
	CreatedBy  string
	CreatedAt  stamp
	LastUsedAt *stamp
	RevokedAt  *stamp
}

func (feedRow) TableName() string { return "feeds" }

func (r *feedRow) toDomain(resources []uuid.UUID) access.Feed {
	f := access.Feed{
		ID: r.ID, Name: r.Name, Level: booking.FeedLevel(r.Level), Hash: r.Hash,
		Filter: booking.FeedFilter{Resources: resources, Provider: r.Provider},
		Owner:  r.OwnerID, CreatedBy: booking.Actor(r.CreatedBy), CreatedAt: r.CreatedAt.time(),
		LastUsedAt: r.LastUsedAt.ptr(), RevokedAt: r.RevokedAt.ptr(),
	}
	if r.Statuses != "" {
		for status := range strings.SplitSeq(r.Statuses, ",") {
			f.Filter.Statuses = append(f.Filter.Statuses, booking.Status(status))
		}
	}
	return f
}

func feedFromDomain(f *access.Feed) *feedRow {
	statuses := make([]string, len(f.Filter.Statuses))
	for i, s := range f.Filter.Statuses {
		statuses[i] = string(s)
	}
	return &feedRow{
		ID: f.ID, Name: storable(f.Name), Level: string(f.Level), Provider: storable(f.Filter.Provider), Statuses: strings.Join(statuses, ","),
		Hash: f.Hash, OwnerID: f.Owner, CreatedBy: string(f.CreatedBy), CreatedAt: at(f.CreatedAt),
		LastUsedAt: atPtr(f.LastUsedAt), RevokedAt: atPtr(f.RevokedAt),
	}
}

// AddFeed keeps a feed, its resources and the entry in one transaction.
func (f *Feeds) AddFeed(ctx context.Context, feed access.Feed, e access.Entry) error {
	return accountsError(f.s.inTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(feedFromDomain(&feed)).Error; err != nil {
			return err
		}
		if err := narrow(tx, "feed_resources", "feed_id", feed.ID, feed.Filter.Resources); err != nil {
			return err
		}
		return appendAdminLog(tx, e)
	}))
}

// RevokeFeed is guarded: of two who revoke one at once, one finds it revoked.
func (f *Feeds) RevokeFeed(ctx context.Context, id uuid.UUID, e access.Entry) error {
	return accountsError(f.s.inTx(ctx, func(tx *gorm.DB) error {
		res := tx.Exec(`UPDATE feeds SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`, at(e.At), id)
		if err := oneRow(res, booking.ErrNotFound); err != nil {
			return err
		}
		return appendAdminLog(tx, e)
	}))
}

// Feeds newest first, revoked ones too.
func (f *Feeds) Feeds(ctx context.Context) ([]access.Feed, error) {
	var rows []feedRow
	if err := f.s.reader(ctx).Order("created_at DESC, id").Find(&rows).Error; err != nil {
		return nil, accountsError(err)
	}
	resources, err := f.resources(ctx, "")
	out := make([]access.Feed, len(rows))
	for i := range rows {
		out[i] = rows[i].toDomain(resources[rows[i].ID])
	}
	return out, err
}

// FeedByHash by the SHA-256 of its secret.
func (f *Feeds) FeedByHash(ctx context.Context, hash []byte) (access.Feed, error) {
	var r feedRow
	if err := f.s.reader(ctx).Take(&r, "hash = ?", hash).Error; err != nil {
		return access.Feed{}, accountsError(err)
	}
	resources, err := f.resources(ctx, "WHERE feed_id = ?", r.ID)
	return r.toDomain(resources[r.ID]), err
}

func (f *Feeds) resources(ctx context.Context, where string, values ...any) (map[uuid.UUID][]uuid.UUID, error) {
	out, err := narrowed(f.s.reader(ctx), "feed_resources", "feed_id", where, values...)
	return out, accountsError(err)
}

// TouchFeed never moves the last use back.
func (f *Feeds) TouchFeed(ctx context.Context, id uuid.UUID, when time.Time) error {
	return accountsError(f.s.write.WithContext(ctx).Exec(
		`UPDATE feeds SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)`,
		at(when), id, at(when)).Error)
}

type memberRow struct {
	ID            uuid.UUID
	ExternalID    string
	Provider      string
	APIBase       string
	ChainID       uuid.UUID
	LastReceiptID *uuid.UUID
}

// Revisions are how often chains changed and when they last did, by the chain's id. A
// change is an applied transition, or a receipt that changed only what is told of a
// booking. Neither is ever removed, so that a count never falls.
func (s *Store) Revisions(ctx context.Context, chains []uuid.UUID) (map[uuid.UUID]booking.Revision, error) {
	members, err := in[memberRow](s.reader(ctx).Table("bookings").
		Select("id, external_id, provider, api_base, chain_id, last_receipt_id").Session(fresh), "chain_id", distinctIDs(chains))
	if err != nil {
		return nil, classify(err)
	}
	out := map[uuid.UUID]booking.Revision{}
	chainOf, bySubject := map[uuid.UUID]uuid.UUID{}, map[string][]uuid.UUID{}
	var ids, receipts []uuid.UUID
	var subjects []string
	for _, m := range members {
		r := out[m.ChainID]
		r.Members = append(r.Members, m.ID)
		out[m.ChainID], chainOf[m.ID] = r, m.ChainID
		ids = append(ids, m.ID)
		if m.LastReceiptID != nil {
			receipts = append(receipts, *m.LastReceiptID)
		}
		subject := booking.Subject(booking.Source{Provider: m.Provider, Base: m.APIBase}, m.ExternalID)
		if !slices.Contains(bySubject[subject], m.ChainID) {
			bySubject[subject] = append(bySubject[subject], m.ChainID)
		}
		subjects = append(subjects, storable(subject))
	}
	count := func(chain uuid.UUID, n int, when *stamp) {
		r := out[chain]
		r.Changes += n
		if t := when.time(); t.After(r.Modified) {
			r.Modified = t
		}
		out[chain] = r
	}
	if err := s.countTransitions(ctx, ids, chainOf, count); err != nil {
		return nil, err
	}
	if err := s.countDetails(ctx, subjects, bySubject, count); err != nil {
		return nil, err
	}
	return out, s.lastReceipts(ctx, distinctIDs(receipts), members, count)
}

func (s *Store) countTransitions(ctx context.Context, bookings []uuid.UUID, chainOf map[uuid.UUID]uuid.UUID, count func(uuid.UUID, int, *stamp)) error {
	type applied struct {
		BookingID  uuid.UUID
		RecordedAt stamp
	}
	rows, err := in[applied](s.reader(ctx).Table("transitions").Select("booking_id, recorded_at").
		Where("outcome = 'applied'").Session(fresh), "booking_id", bookings)
	if err != nil {
		return classify(err)
	}
	for _, r := range rows {
		count(chainOf[r.BookingID], 1, &r.RecordedAt)
	}
	return nil
}

func (s *Store) countDetails(ctx context.Context, subjects []string, bySubject map[string][]uuid.UUID, count func(uuid.UUID, int, *stamp)) error {
	type told struct {
		Subject     string
		ProcessedAt *stamp
	}
	slices.Sort(subjects)
	rows, err := in[told](s.reader(ctx).Table("webhook_receipts").Select("subject, processed_at").
		Where("subject <> '' AND status IN ('processed', 'conflict') AND NOT EXISTS (SELECT 1 FROM transitions t WHERE t.receipt_id = webhook_receipts.id AND t.outcome = 'applied')").
		Session(fresh), "subject", slices.Compact(subjects))
	if err != nil {
		return classify(err)
	}
	for _, r := range rows {
		for _, chain := range bySubject[r.Subject] {
			count(chain, 1, r.ProcessedAt)
		}
	}
	return nil
}

// lastReceipts move the time of the last change on: what another booking's receipt
// said of the same meeting counts too.
func (s *Store) lastReceipts(ctx context.Context, receipts []uuid.UUID, members []memberRow, count func(uuid.UUID, int, *stamp)) error {
	type processed struct {
		ID          uuid.UUID
		ProcessedAt *stamp
	}
	rows, err := in[processed](s.reader(ctx).Table("webhook_receipts").Select("id, processed_at").Session(fresh), "id", receipts)
	if err != nil {
		return classify(err)
	}
	when := map[uuid.UUID]*stamp{}
	for _, r := range rows {
		when[r.ID] = r.ProcessedAt
	}
	for _, m := range members {
		count(m.ChainID, 0, when[idOrNil(m.LastReceiptID)])
	}
	return nil
}
