package booking

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// changes are the set's net results, in an order that does not depend on maps.
func (w *work) changes(answers []Answer) Changes {
	ch := Changes{Answers: answers, Transitions: w.transitions, Ledger: w.ledger}
	fresh := map[ReceiptKey]bool{}
	for _, key := range w.order {
		fresh[key] = true
	}
	for key, r := range w.receipts.changed() {
		if !fresh[key] {
			ch.Resolved = append(ch.Resolved, r)
		}
	}
	for _, v := range w.bookings.changed() {
		ch.Bookings = append(ch.Bookings, v)
	}
	for _, v := range w.sessions.changed() {
		ch.Sessions = append(ch.Sessions, v)
	}
	for id, v := range w.slots.changed() {
		if old, ok := w.slots.base[id]; !ok || old.Status != v.Status {
			ch.Slots = append(ch.Slots, v)
		}
	}
	for _, v := range w.attendances.changed() {
		ch.Attendances = append(ch.Attendances, v)
	}
	for _, v := range w.links.changed() {
		ch.Links = append(ch.Links, v)
	}
	for _, v := range w.identities.changed() {
		ch.Identities = append(ch.Identities, v)
	}
	for _, v := range w.resources.changed() {
		ch.Resources = append(ch.Resources, v)
	}
	for _, v := range w.blocks.changed() {
		ch.Blocks = append(ch.Blocks, v)
	}
	w.referred(ch)
	for _, key := range w.order {
		if r, _ := w.receipts.get(key); !w.unkept[r.ID] {
			ch.Receipts = append(ch.Receipts, r)
		}
	}
	sortByID(ch.Resolved, func(r Receipt) uuid.UUID { return r.ID })
	sortByID(ch.Bookings, func(b Booking) uuid.UUID { return b.ID })
	sortByID(ch.Sessions, func(s Session) uuid.UUID { return s.ID })
	sortByID(ch.Slots, func(s Slot) uuid.UUID { return s.ID })
	sortByID(ch.Resources, func(r Resource) uuid.UUID { return r.ID })
	slices.SortFunc(ch.Attendances, func(a, b Attendance) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.ExternalID, b.ExternalID), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(ch.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.Predecessor, b.Predecessor),
			cmp.Compare(a.Successor, b.Successor), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(ch.Identities, func(a, b Identity) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.ExternalID, b.ExternalID))
	})
	slices.SortFunc(ch.Blocks, func(a, b ToldBlock) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.ExternalID, b.ExternalID))
	})
	return ch
}

// referred keeps the receipts that rows name after all.
func (w *work) referred(ch Changes) {
	if len(w.unkept) == 0 {
		return
	}
	for _, b := range ch.Bookings {
		delete(w.unkept, b.LastReceiptID)
	}
	for _, s := range ch.Slots {
		delete(w.unkept, s.ReceiptID)
	}
	for _, t := range ch.Transitions {
		delete(w.unkept, t.ReceiptID)
	}
}

func sortByID[T any](s []T, id func(T) uuid.UUID) {
	slices.SortFunc(s, func(a, b T) int {
		x, y := id(a), id(b)
		return bytes.Compare(x[:], y[:])
	})
}
