package store

import (
	"context"

	"slotkeeper/booking"
)

// Everything reads all that is stored, for tests that compare whole states.
func (s *Store) Everything(ctx context.Context) (*booking.State, error) {
	st := booking.NewState()
	tx := s.reader(ctx)
	var (
		bookings    []bookingRow
		sessions    []sessionRow
		slots       []slotRow
		attendances []attendanceRow
		links       []bookingLinkRow
		identities  []identityRow
		resources   []resourceRow
		receipts    []knownReceipt
		err         error
	)
	for _, dest := range []any{&bookings, &sessions, &slots, &attendances, &links, &identities, &resources, &receipts} {
		if err := tx.Find(dest).Error; err != nil {
			return nil, err
		}
	}
	for _, r := range bookings {
		st.Bookings[r.ID] = r.toDomain()
	}
	for _, r := range sessions {
		st.Sessions[r.ID] = r.toDomain()
	}
	for _, r := range slots {
		st.Slots[r.ID] = r.toDomain()
	}
	for _, r := range attendances {
		a := r.toDomain()
		st.Attendances[attendanceKey(a)] = a
	}
	for _, r := range links {
		l := r.toDomain()
		st.Links[linkKey(l)] = l
	}
	for _, r := range identities {
		i := r.toDomain()
		st.Identities[booking.IdentityKey{Source: i.Source, ExternalID: i.ExternalID}] = i
	}
	for _, r := range resources {
		st.Resources[r.ID] = r.toDomain()
	}
	for _, r := range receipts {
		key := booking.ReceiptKey{ConnectionID: r.ConnectionID, EventKey: r.EventKey}
		if st.Receipts[key], err = s.receiptToDomain(r); err != nil {
			return nil, err
		}
	}
	st.Ledger, err = s.Ledger(ctx)
	return st, err
}
