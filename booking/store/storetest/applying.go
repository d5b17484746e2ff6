package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

func created(id, from, to string, opts ...bt.Option) *booking.Event {
	opts = append([]bt.Option{bt.When(from, to), bt.With("putri"), bt.For("dewi"), bt.Title("Intake")}, opts...)
	return bt.New(bt.Calendly, booking.KindCreated, id, 10, opts...)
}

func canceled(id string, opts ...bt.Option) *booking.Event {
	return bt.New(bt.Calendly, booking.KindCanceled, id, 20, opts...)
}

// testBooking follows one post into all lists.
func testBooking(t *testing.T, b *Bench) {
	e := created("one", "10:00", "10:30", bt.Room(1))
	post := b.Post(e)
	answer := b.ApplyPosts(t, post)[0]
	if answer.Status != booking.StatusProcessed || answer.ReceiptID != post.ReceiptID {
		t.Fatalf("answer %+v", answer)
	}
	id := booking.ID(bt.Calendly, "one", "")
	v, err := b.Booking(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.ResourceIDs) != 1 || v.Status != booking.Active || v.Title != "Intake" || v.Provider != "calendly" || v.ExternalID != "one" ||
		v.ConnectionID != b.Conn["calendly"] || v.StartsAt == nil || *v.StartsAt != bt.At("10:00") || *v.EndsAt != bt.At("10:30") ||
		*v.Capacity != 1 || !strings.HasPrefix(v.Invitee.Email, "dewi@") || v.ChainID != id {
		t.Errorf("booking %+v", v)
	}
	slots := b.slots(t, booking.Filter{})
	if len(slots) != 1 || slots[0].Status != booking.SlotActive || slots[0].StartsAt != *v.StartsAt || slots[0].ReceiptID != post.ReceiptID ||
		!slices.Equal(slots[0].BookingIDs, []uuid.UUID{id}) || slots[0].ResourceID != v.ResourceIDs[0] {
		t.Errorf("slots %+v", slots)
	}
	list := b.transitions(t, booking.Filter{})
	if len(list) != 1 {
		t.Fatalf("transitions %+v", list)
	}
	tr, err := b.Transition(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if tr.BookingID != id || tr.ReceiptID != post.ReceiptID || tr.Event != booking.Create || tr.To != booking.Active || tr.Provider != "calendly" ||
		tr.Title != "Intake" || tr.ReceiptKind != booking.KindCreated || !slices.Equal(tr.ResourceIDs, v.ResourceIDs) || tr.RecordedAt != Now {
		t.Errorf("transition %+v", tr)
	}
	r, err := b.Receipt(t.Context(), post.ReceiptID)
	if err != nil {
		t.Fatal(err)
	}
	if r.Provider != "calendly" || r.EventKey != e.Key || r.Deliveries != 1 || r.ReceivedAt != Now || r.ProcessedAt == nil || *r.ProcessedAt != Now {
		t.Errorf("receipt %+v", r)
	}
	body, err := b.ReceiptBody(t.Context(), post.ReceiptID)
	if err != nil || !bytes.Equal(body, post.Body) {
		t.Errorf("body %q: %v", body, err)
	}
	var sealed []byte
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT raw_body FROM webhook_receipts").Scan(&sealed); err != nil || bytes.Contains(sealed, post.Body) {
		t.Errorf("the body lies in clear: %q, %v", sealed, err)
	}
	if l, err := b.Ledger(t.Context()); err != nil || l.Seq != 1 {
		t.Errorf("highest seq %d: %v", l.Seq, err)
	}
}

// testCopies delivers one event twice in a set, and again later.
func testCopies(t *testing.T, b *Bench) {
	e := created("one", "10:00", "10:30")
	first, second, third := b.Post(e), b.Post(e), b.Post(e)
	second.ReceivedAt = Now.Add(1)
	third.ReceivedAt = Now.Add(1e9)
	answers := append(b.ApplyPosts(t, first, second), b.ApplyPosts(t, third)...)
	want := []booking.ReceiptStatus{booking.StatusProcessed, booking.StatusDuplicate, booking.StatusDuplicate}
	if got := statuses(answers); !slices.Equal(got, want) {
		t.Errorf("answers %v", got)
	}
	for _, a := range answers {
		if a.ReceiptID != first.ReceiptID || a.Status == booking.StatusDuplicate && a.Original != booking.StatusProcessed {
			t.Errorf("answer %+v", a)
		}
	}
	copies, err := b.Copies(t.Context(), first.ReceiptID)
	if err != nil || len(copies) != 3 {
		t.Fatalf("copies %+v: %v", copies, err)
	}
	var got []booking.ReceiptStatus
	for _, c := range copies {
		got = append(got, c.Answer)
	}
	if !slices.Equal(got, want) {
		t.Errorf("copies %+v", copies)
	}
	if r := b.receipts(t, booking.Filter{}); len(r) != 1 || r[0].Deliveries != 3 {
		t.Errorf("receipts %+v", r)
	}
	if n := len(b.transitions(t, booking.Filter{})); n != 1 {
		t.Errorf("%d transitions", n)
	}
}

// testWaiting keeps a no-show that comes before its booking, sealed, and
// applies it with the booking.
func testWaiting(t *testing.T, b *Bench) {
	early := bt.New(bt.Calendly, booking.KindNoShow, "one", 30, bt.For("dewi"), bt.Missed(true))
	post := b.Post(early)
	if a := b.ApplyPosts(t, post)[0]; a.Status != booking.StatusWaiting {
		t.Fatalf("answer %+v", a)
	}
	var event []byte
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT waiting_event FROM webhook_receipts").Scan(&event); err != nil {
		t.Fatal(err)
	}
	if len(event) == 0 || bytes.Contains(event, []byte("dewi")) {
		t.Errorf("the waiting event is kept as %q", event)
	}
	backlog, err := b.Backlog(t.Context())
	if err != nil || backlog.Oldest != nil || backlog.Open[booking.StatusPending]+backlog.Open[booking.StatusFailed] != 0 {
		t.Errorf("what waits for its booking is open: %+v, %v", backlog, err)
	}
	if a := b.ApplyPosts(t, b.Post(early))[0]; a.Status != booking.StatusDuplicate || a.Original != booking.StatusWaiting {
		t.Errorf("its copy's answer is %+v", a)
	}
	b.Apply(t, created("one", "10:00", "10:30"))
	v := b.bookings(t, booking.Filter{})
	if len(v) != 1 || !v[0].NoShow {
		t.Errorf("bookings %+v", v)
	}
	r, err := b.Receipt(t.Context(), post.ReceiptID)
	if err != nil || r.Status != booking.StatusProcessed || r.ProcessedAt == nil {
		t.Errorf("receipt %+v: %v", r, err)
	}
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT waiting_event FROM webhook_receipts WHERE id = '"+post.ReceiptID.String()+"'").Scan(&event); err != nil || event != nil {
		t.Errorf("the event is kept after it was applied: %q, %v", event, err)
	}
}

// testSlotHandedOn moves a booking by a quarter of an hour within one host's
// time: its new slot overlaps the one that it leaves, in one save.
func testSlotHandedOn(t *testing.T, b *Bench) {
	b.Apply(t, created("old", "10:00", "10:30"))
	b.Apply(t, created("new", "10:15", "10:45", bt.From("old")))
	active := b.slots(t, booking.Filter{Statuses: []string{string(booking.SlotActive)}})
	if len(active) != 1 || active[0].StartsAt != bt.At("10:15") {
		t.Errorf("active slots %+v", active)
	}
	// And the same place passes from one session to another.
	b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "rival", 12, bt.When("10:15", "10:45"), bt.With("putri"), bt.For("agus")))
	b.Apply(t, canceled("new"))
	v := b.bookings(t, booking.Filter{Statuses: []string{string(booking.Active)}})
	if names(v) != "rival" {
		t.Errorf("active bookings %q", names(v))
	}
	if all := b.slots(t, booking.Filter{}); len(all) != 3 {
		t.Errorf("%d slots, not 3: %+v", len(all), all)
	}
}

// testNewlyMapped learns by a later event whose calendar an identity is: the
// sessions that it hosts claim their time, where it is free.
func testNewlyMapped(t *testing.T, b *Bench) {
	b.Apply(t, created("holder", "10:00", "10:30"))
	calendar := func(e *booking.Event) { e.Session.Hosts = []booking.Host{{ExternalID: "calendar 7"}} }
	known := func(e *booking.Event) {
		e.Session.Hosts = []booking.Host{{ExternalID: "calendar 7", Email: bt.New(bt.Calendly, booking.KindCreated, "", 0, bt.With("putri")).Session.Hosts[0].Email}}
	}
	b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "free", 11, bt.When("11:00", "11:30"), bt.For("agus"), calendar))
	b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "held", 12, bt.When("10:00", "10:30"), bt.For("agus"), calendar))
	if v := b.bookings(t, booking.Filter{Reason: booking.ReasonUnmapped}); sortedNames(v) != "free held" {
		t.Errorf("unmapped are %q", names(v))
	}
	unmapped, err := b.Unmapped(t.Context(), Now)
	if err != nil || len(unmapped) != 1 || unmapped[0].ExternalID != "calendar 7" || unmapped[0].Source != bt.Generic {
		t.Errorf("unmapped hosts %+v: %v", unmapped, err)
	}
	b.Apply(t, bt.New(bt.Generic, booking.KindCreated, "tells", 13, bt.When("12:00", "12:30"), bt.For("agus"), known))
	if v := b.bookings(t, booking.Filter{Statuses: []string{string(booking.Active)}}); sortedNames(v) != "free holder tells" {
		t.Errorf("active are %q", names(v))
	}
	if v := b.bookings(t, booking.Filter{Reason: booking.ReasonSlotTaken}); names(v) != "held" {
		t.Errorf("conflicted are %q", names(v))
	}
	if unmapped, err = b.Unmapped(t.Context(), Now); err != nil || len(unmapped) != 0 {
		t.Errorf("unmapped hosts %+v: %v", unmapped, err)
	}
}

// testChain lists a chain in its own order, whatever came first.
func testChain(t *testing.T, b *Bench) {
	b.Apply(t, created("third", "12:00", "12:30", bt.From("second")))
	b.Apply(t, created("second", "09:00", "09:30", bt.From("first")))
	b.Apply(t, created("first", "15:00", "15:30"))
	v, err := b.Booking(t.Context(), booking.ID(bt.Calendly, "third", ""))
	if err != nil {
		t.Fatal(err)
	}
	chain, err := b.Chain(t.Context(), v.ChainID)
	if err != nil || names(chain) != "first second third" {
		t.Errorf("chain %q: %v", names(chain), err)
	}
}

// testAudit checks that the log is gapless and chained, over sets of all sizes.
func testAudit(t *testing.T, b *Bench) {
	for i, h := range []string{"08", "09", "10", "11"} {
		id := "b" + h
		b.Apply(t, created(id, h+":00", h+":30"), bt.New(bt.Generic, booking.KindCreated, id, i, bt.When(h+":15", h+":45"), bt.With("putri"), bt.For("agus")))
		b.Apply(t, canceled(id))
		b.Apply(t, created(id, h+":00", h+":30", bt.Title("late"), func(e *booking.Event) { e.Key += "again" }))
	}
	list := b.transitions(t, booking.Filter{})
	slices.Reverse(list)
	var head booking.Ledger
	for _, tr := range list {
		if tr.Seq != head.Seq+1 || tr.Prev != head.Head || tr.Sum() != tr.Hash {
			t.Fatalf("transition %d does not follow %d", tr.Seq, head.Seq)
		}
		head = booking.Ledger{Seq: tr.Seq, Head: tr.Hash}
	}
	ledger, err := b.Ledger(t.Context())
	if err != nil || ledger != head || head.Seq < 16 {
		t.Errorf("the ledger stands at %d, the log at %d: %v", ledger.Seq, head.Seq, err)
	}
}

// tooLong cannot be stored: adapters refuse it, and the schema too.
func tooLong(id string) *booking.Event {
	e := created(id, "10:00", "10:30")
	end := e.Session.StartsAt.Add(booking.MaxLength + 1e9)
	e.Session.EndsAt = &end
	return e
}

func testBadMember(t *testing.T, b *Bench) {
	good, bad := b.Post(created("good", "10:00", "10:30")), b.Post(tooLong("bad"))
	if answers, err := b.Store.Apply(t.Context(), []booking.Post{good, bad}, Now); err == nil {
		t.Fatalf("applied: %+v", answers)
	}
	if r := b.receipts(t, booking.Filter{}); len(r) != 0 {
		t.Errorf("half of the set was stored: %+v", r)
	}
	if a := b.ApplyPosts(t, good)[0]; a.Status != booking.StatusProcessed {
		t.Errorf("alone, the good one is %+v", a)
	}
}

func testKeepFailed(t *testing.T, b *Bench) {
	post := b.Post(tooLong("bad"))
	_, cause := b.Store.Apply(t.Context(), []booking.Post{post}, Now)
	if cause == nil {
		t.Fatal("it was applied")
	}
	a, err := b.KeepFailed(t.Context(), post, cause, Now)
	if err != nil || a.Status != booking.StatusFailed || a.Code != booking.CodeApplyFailed || a.ReceiptID != post.ReceiptID || a.Error == "" {
		t.Fatalf("answer %+v: %v", a, err)
	}
	if strings.Contains(a.Error, "dewi") {
		t.Errorf("the error names a person: %s", a.Error)
	}
	again := b.Post(tooLong("bad"))
	for _, keep := range []func() (booking.Answer, error){
		func() (booking.Answer, error) { return b.KeepFailed(t.Context(), again, cause, Now) },
		func() (booking.Answer, error) { return b.ApplyPosts(t, again)[0], nil },
	} {
		if a, err := keep(); err != nil || a.Status != booking.StatusDuplicate || a.Original != booking.StatusFailed || a.ReceiptID != post.ReceiptID {
			t.Errorf("its copy's answer is %+v: %v", a, err)
		}
	}
	body, err := b.ReceiptBody(t.Context(), post.ReceiptID)
	if err != nil || !bytes.Equal(body, post.Body) {
		t.Errorf("body %q: %v", body, err)
	}
	backlog, err := b.Backlog(t.Context())
	if err != nil || backlog.Open[booking.StatusFailed] != 1 || backlog.Oldest == nil || *backlog.Oldest != Now {
		t.Errorf("backlog %+v: %v", backlog, err)
	}
	copies, err := b.Copies(t.Context(), post.ReceiptID)
	if err != nil || len(copies) != 3 {
		t.Errorf("copies %+v: %v", copies, err)
	}
}

// testStrangeText keeps a receipt whose names no database takes as they are.
func testStrangeText(t *testing.T, b *Bench) {
	post := booking.Post{
		Delivery: booking.Delivery{
			ReceiptID: uuid.New(), ConnectionID: b.Conn["generic"], EventKey: "k\x00\xff", Kind: "odd\x00kind", Actor: booking.ActorWebhook,
			Status: booking.StatusFailed, Code: "json_invalid", Error: "not JSON: \xff",
		},
		Body: []byte{0, 255}, Header: map[string]string{"X\xff": "\x00"}, Signature: "\xfe", RequestID: "\x00", ReceivedAt: Now,
	}
	again := post
	again.ReceiptID = uuid.New()
	answers := b.ApplyPosts(t, post)
	answers = append(answers, b.ApplyPosts(t, again)...)
	if got := statuses(answers); !slices.Equal(got, []booking.ReceiptStatus{booking.StatusFailed, booking.StatusDuplicate}) {
		t.Errorf("answers %v", got)
	}
	body, err := b.ReceiptBody(t.Context(), post.ReceiptID)
	if err != nil || !bytes.Equal(body, post.Body) {
		t.Errorf("body %q: %v", body, err)
	}
	r, err := b.Receipt(t.Context(), post.ReceiptID)
	if err != nil || r.ProcessedAt == nil || r.Code != "json_invalid" {
		t.Errorf("receipt %+v: %v", r, err)
	}
	backlog, err := b.Backlog(t.Context())
	if err != nil || backlog.Open[booking.StatusFailed] != 1 || backlog.Oldest != nil {
		t.Errorf("what only a person can mend is worked on: %+v, %v", backlog, err)
	}
	if r.Provider != "generic" {
		t.Errorf("provider %q", r.Provider)
	}
}
