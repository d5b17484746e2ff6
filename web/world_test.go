package web_test

import (
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// full is a house with something of everything in it: a conflict, a reschedule
// chain, a group, a late create that was refused, texts that try to be markup.
func full() *records {
	at := func(day, hour, minute int) *time.Time {
		t := time.Date(2026, 11, day, hour-7, minute, 0, 0, time.UTC) // Jakarta's clock
		return &t
	}
	conn, other, off := id(1), id(2), id(3)
	room, host := id(10), id(11)
	seats := 8
	gone, last := noon.Add(-48*time.Hour), noon.Add(-5*time.Minute)
	view := func(n byte, title, who string, status booking.Status, reason booking.Reason, from, to *time.Time, resource ...uuid.UUID) booking.View {
		v := booking.View{
			ID: id(n), Provider: "calendly", ConnectionID: conn, ExternalID: "/scheduled_events/AA/invitees/" + who, SessionID: id(n + 100),
			Title: title, Status: status, Reason: reason, ResourceIDs: resource, StartsAt: from, EndsAt: to, ChainID: id(n),
		}
		if who != "" {
			v.Invitee = booking.Person{Name: who, Email: "someone@example.com", Timezone: "Europe/Berlin"}
		}
		return v
	}
	held := view(21, "Intake call", "Rani Wijaya", booking.Active, "", at(30, 14, 0), at(30, 14, 45), room)
	held.BookedAt = &gone
	lost := view(22, "Intake call", "Jonas Keller", booking.Conflicted, booking.ReasonSlotTaken, at(30, 14, 0), at(30, 14, 30), room)
	lost.Provider, lost.ConnectionID, lost.ConflictsWith = "calcom", other, []uuid.UUID{held.ID}
	first := view(23, "Review", "Siti Rahma", booking.Canceled, booking.ReasonRescheduled, at(30, 9, 0), at(30, 9, 30), host)
	second := view(24, "Review", "Siti Rahma", booking.Active, "", at(30, 9, 15), at(30, 9, 45), host)
	second.ChainID, second.Supersedes, first.SupersededBy = first.ID, &first.ID, &second.ID
	group := view(25, "Prenatal class <b>bold</b>", "Maya Putri", booking.Active, "", at(30, 16, 0), at(30, 18, 0), room, host)
	group.Capacity, group.NoShow, group.Location = &seats, true, "Room 2 & garden"
	asked := view(26, "House visit", "Budi Santoso", booking.Pending, "", at(31, 10, 0), at(31, 11, 0), host)
	night := view(27, "Night watch", "Dewi", booking.Active, "", at(31, 22, 0), at(32, 2, 0), host)
	days := view(28, "Retreat", "", booking.Active, booking.ReasonUnmapped, at(32, 0, 0), at(34, 0, 0))
	tomb := view(29, "", "", booking.Canceled, booking.ReasonCanceled, nil, nil)
	short := view(30, "Quick question", "Tono", booking.Active, "", at(33, 11, 0), at(33, 11, 10), host)

	r := &records{
		bookings: []booking.View{first, second, held, lost, group, asked, night, days, short, tomb},
		slots: []booking.SlotView{{
			Slot:       booking.Slot{ID: id(80), SessionID: held.SessionID, ResourceID: room, StartsAt: *held.StartsAt, EndsAt: *held.EndsAt, Status: booking.SlotActive},
			BookingIDs: []uuid.UUID{held.ID},
		}},
		resources: []booking.ResourceView{
			{Resource: booking.Resource{ID: room, Name: "Consulting room"}, Identities: []booking.Identity{
				{ExternalID: "room@example.com", Email: "room@example.com", ResourceID: room},
				{Source: booking.Source{Provider: "calendly", Base: "https://api.calendly.com"}, ExternalID: "/users/BB", ResourceID: room, Pinned: true},
			}},
			{Resource: booking.Resource{ID: host, Name: "Ayu Lestari"}, Timezone: "Asia/Makassar"},
		},
		connections: []providers.Connection{
			{ID: conn, Provider: "calendly", APIBase: "https://api.calendly.com", Name: "Clinic", Secrets: providers.Secrets{Current: "planted-secret"}, CreatedAt: gone, LastDeliveryAt: &last},
			{ID: other, Provider: "generic", APIBase: other.String(), Name: "Front desk", Secrets: providers.Secrets{Current: "planted-secret"}, CreatedAt: gone},
			{ID: off, Provider: "generic", APIBase: off.String(), Name: "Old desk", Secrets: providers.Secrets{Current: "planted-secret"}, CreatedAt: gone, DisconnectedAt: &last},
		},
		about: map[uuid.UUID][]uuid.UUID{
			id(40): {held.ID}, id(41): {group.ID, second.ID}, id(42): {lost.ID}, id(43): {id(99)},
		},
		blocks: []booking.BlockView{
			block("1", host, *at(30, 8, 0), *at(30, 12, 0)), block("2", host, *at(31, 0, 0), *at(33, 0, 0)), block("3", uuid.Nil, *at(30, 22, 0), *at(31, 2, 0)),
		},
		failed: map[uuid.UUID]booking.Failing{other: {Count: 2, Newest: booking.StatusFailed}, off: {Count: 1, Newest: booking.StatusDead}},
		bodies: map[uuid.UUID][]byte{id(40): []byte(`{"event":"invitee.created","password":"hunter2","note":"<script>alert(1)</script>"}`)},
		copies: map[uuid.UUID][]booking.Copy{id(40): {
			{ReceivedAt: last, RequestID: "req-1", Answer: booking.StatusProcessed},
			{ReceivedAt: last.Add(time.Second), RequestID: "req-2", Answer: booking.StatusDuplicate},
		}},
	}
	receipt := func(n byte, kind booking.Kind, status booking.ReceiptStatus, ago time.Duration) {
		done := noon.Add(-ago)
		r.receipts = append(r.receipts, booking.ReceiptView{
			ID: id(n), Provider: "calendly", ConnectionID: conn, EventKey: "invitee.created|AA", Kind: kind, Status: status,
			Deliveries: 1, ReceivedAt: noon.Add(-ago), ProcessedAt: &done,
		})
	}
	receipt(43, booking.KindCreated, booking.StatusRejected, 10*time.Minute)
	receipt(42, booking.KindCreated, booking.StatusConflict, 20*time.Minute)
	receipt(41, booking.KindMoved, booking.StatusFailed, 25*time.Minute)
	r.receipts[2].Code, r.receipts[2].Error, r.receipts[2].ProcessedAt = "time_missing", "the body has no time", nil
	receipt(40, booking.KindCreated, booking.StatusProcessed, 30*time.Minute)
	r.receipts[3].Deliveries = 2
	seq := int64(20)
	transition := func(n, b, receipt byte, event booking.Action, from, to booking.Status, outcome booking.Outcome, reason booking.Reason, ago time.Duration) {
		seq--
		r.transitions = append(r.transitions, booking.TransitionView{
			Transition: booking.Transition{
				Seq: seq, ID: id(n), BookingID: id(b), ReceiptID: id(receipt), Event: event, From: from, To: to, Outcome: outcome, Reason: reason,
				Actor: booking.ActorWebhook, OccurredAt: noon.Add(-ago - time.Second), RecordedAt: noon.Add(-ago), Hash: [32]byte{n},
			},
			Provider: "calendly", Title: "Intake call", Invitee: "Rani Wijaya", ResourceIDs: []uuid.UUID{room}, ReceiptKind: booking.KindCreated, ConnectionID: conn,
		})
	}
	transition(64, 23, 43, booking.Create, booking.Canceled, booking.Canceled, booking.Rejected, booking.ReasonIllegal, 10*time.Minute)
	transition(63, 22, 42, booking.Create, booking.New, booking.Conflicted, booking.Applied, booking.ReasonSlotTaken, 20*time.Minute)
	r.transitions[1].Provider, r.transitions[1].HolderID, r.transitions[1].Constraint = "calcom", &held.ID, "one_booking_per_slot"
	transition(62, 21, 99, booking.Move, booking.Active, booking.Active, booking.Rejected, booking.ReasonStale, 25*time.Minute)
	transition(61, 23, 40, booking.Cancel, booking.Active, booking.Canceled, booking.Applied, booking.ReasonRescheduled, 28*time.Minute)
	transition(60, 21, 40, booking.Create, booking.New, booking.Active, booking.Applied, "", 30*time.Minute)
	return r
}
