package storetest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/migrations"
	"slotkeeper/providers"
)

// testPaging reads every list by pages of every size: nothing is lost and
// nothing comes twice, also among equal times, and where nothing is known of
// the time.
func testPaging(t *testing.T, b *Bench) {
	for i := range 4 {
		// Equal times, of different hosts; and tombstones without a time.
		at := fmt.Sprintf("%02d:00", 9+i/2)
		to := fmt.Sprintf("%02d:30", 9+i/2)
		b.Apply(t,
			bt.New(bt.Calendly, booking.KindCreated, fmt.Sprint("b", i), i, bt.When(at, to), bt.With(fmt.Sprint("host", i)), bt.For("dewi")),
			canceled(fmt.Sprint("t", i)))
	}
	views := b.bookings(t, booking.Filter{})
	for i, v := range views {
		if known := i < 4; known != (v.StartsAt != nil) {
			t.Errorf("booking %d of %q is out of order", i, names(views))
		}
		if i > 0 && v.StartsAt != nil && v.StartsAt.Before(*views[i-1].StartsAt) {
			t.Errorf("booking %d of %q is too late", i, names(views))
		}
	}
	pages(t, "bookings", 8, views, func(v booking.View) string { return v.ID.String() },
		func(p booking.Page) (booking.List[booking.View], error) {
			return b.Bookings(t.Context(), booking.Filter{}, p)
		})
	pages(t, "slots", 4, b.slots(t, booking.Filter{}), func(v booking.SlotView) string { return v.ID.String() },
		func(p booking.Page) (booking.List[booking.SlotView], error) {
			return b.Slots(t.Context(), booking.Filter{}, p)
		})
	pages(t, "transitions", 8, b.transitions(t, booking.Filter{}), func(v booking.TransitionView) string { return v.ID.String() },
		func(p booking.Page) (booking.List[booking.TransitionView], error) {
			return b.Transitions(t.Context(), booking.Filter{}, p)
		})
	pages(t, "receipts", 8, b.receipts(t, booking.Filter{}), func(v booking.ReceiptView) string { return v.ID.String() },
		func(p booking.Page) (booking.List[booking.ReceiptView], error) {
			return b.Receipts(t.Context(), booking.Filter{}, p)
		})
	connections := func(p booking.Page) (booking.List[providers.Connection], error) {
		return b.Connections(t.Context(), booking.Filter{}, p)
	}
	pages(t, "connections", 3, all(t, 50, connections), func(c providers.Connection) string { return c.ID.String() }, connections)
	resources := func(p booking.Page) (booking.List[booking.ResourceView], error) {
		return b.Resources(t.Context(), booking.Filter{}, p)
	}
	pages(t, "resources", 4, all(t, 50, resources), func(r booking.ResourceView) string { return r.ID.String() }, resources)
}

func pages[T any](t *testing.T, what string, count int, whole []T, id func(T) string, list func(booking.Page) (booking.List[T], error)) {
	t.Helper()
	ids := func(items []T) []string {
		var out []string
		for _, i := range items {
			out = append(out, id(i))
		}
		return out
	}
	if len(whole) != count {
		t.Fatalf("%d %s, not %d", len(whole), what, count)
	}
	for n := 1; n <= count+1; n++ {
		if got := all(t, n, list); !slices.Equal(ids(got), ids(whole)) {
			t.Errorf("%s by %d:\n%v\nnot\n%v", what, n, ids(got), ids(whole))
		}
	}
	if l, err := list(booking.Page{}); err != nil || len(l.Items) != count || l.Next != "" {
		t.Errorf("%s by the default: %d items, %v", what, len(l.Items), err)
	}
}

func testBadPages(t *testing.T, b *Bench) {
	b.Apply(t, created("one", "10:00", "10:30"), created("two", "11:00", "11:30"))
	other, err := b.Slots(t.Context(), booking.Filter{}, booking.Page{Limit: 1})
	if err != nil || other.Next == "" {
		t.Fatalf("%+v: %v", other, err)
	}
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	id := uuid.New().String()
	for what, p := range map[string]booking.Page{
		"a limit below":    {Limit: -1},
		"a limit above":    {Limit: booking.MaxLimit + 1},
		"no base64":        {Cursor: "!"},
		"another list's":   {Cursor: other.Next},
		"too few parts":    {Cursor: encode("bookings|")},
		"a bad time":       {Cursor: encode("bookings|yesterday|" + id)},
		"a bad id":         {Cursor: encode("bookings|2026-12-07T10:00:00.000000Z|' OR 1=1")},
		"a seq that is no": {Cursor: encode("transitions|one")},
	} {
		var invalid *booking.InvalidError
		if _, err := b.Bookings(t.Context(), booking.Filter{}, p); !errors.As(err, &invalid) || invalid.Field == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for name, list := range map[string]func(booking.Page) error{
		"slots":       func(p booking.Page) error { _, err := b.Slots(t.Context(), booking.Filter{}, p); return err },
		"transitions": func(p booking.Page) error { _, err := b.Transitions(t.Context(), booking.Filter{}, p); return err },
		"receipts":    func(p booking.Page) error { _, err := b.Receipts(t.Context(), booking.Filter{}, p); return err },
		"connections": func(p booking.Page) error { _, err := b.Connections(t.Context(), booking.Filter{}, p); return err },
		"resources":   func(p booking.Page) error { _, err := b.Resources(t.Context(), booking.Filter{}, p); return err },
	} {
		for _, p := range []booking.Page{{Limit: -1}, {Cursor: "!"}, {Cursor: encode(name)}, {Cursor: encode(name + "|x")}} {
			var invalid *booking.InvalidError
			if err := list(p); !errors.As(err, &invalid) {
				t.Errorf("%s, %+v: %v", name, p, err)
			}
		}
	}
}

func testBookingFilters(t *testing.T, b *Bench) {
	b.Apply(t,
		created("ten", "10:00", "10:30"),
		bt.New(bt.Calendly, booking.KindCreated, "eleven", 11, bt.When("11:00", "11:30"), bt.With("rangga"), bt.For("dewi")),
		bt.New(bt.Generic, booking.KindCreated, "rival", 12, bt.When("10:15", "10:45"), bt.With("putri"), bt.For("agus")),
		canceled("tomb"))
	long := bt.New(bt.Generic, booking.KindCreated, "long", 13, bt.With("long"), bt.For("agus"))
	from, to := bt.Day.Add(-20*24*time.Hour), bt.Day.Add(9*time.Hour)
	long.Session.StartsAt, long.Session.EndsAt = &from, &to
	b.Apply(t, long)

	at := func(clock string) *time.Time { v := bt.At(clock); return &v }
	ten := b.bookings(t, booking.Filter{})
	i := slices.IndexFunc(ten, func(v booking.View) bool { return v.ExternalID == "ten" })
	connection, resource, id, nobody := b.Conn["generic"], ten[i].ResourceIDs[0], ten[i].ID, uuid.New()
	for want, f := range map[string]booking.Filter{
		"eleven long rival ten tomb": {},
		"eleven rival ten":           {From: at("09:00")},
		"eleven":                     {From: at("10:45")},
		"long":                       {To: at("10:00")},
		"long ten":                   {To: at("10:15")},
		"rival ten":                  {From: at("10:29"), To: at("11:00")},
		"rival":                      {From: at("10:30"), To: at("11:00")},
		"long ":                      {From: at("08:59"), To: at("09:00")},
		"rival ten ":                 {ResourceID: &resource},
		"":                           {ResourceID: &nobody},
		"long rival":                 {Provider: "generic"},
		"long rival ":                {ConnectionID: &connection},
		"ten":                        {BookingID: &id},
		"tomb":                       {Statuses: []string{"canceled"}},
		"rival tomb":                 {Statuses: []string{"canceled", "conflicted"}},
		" ":                          {Statuses: []string{"nonsense"}},
		"rival  ":                    {Reason: booking.ReasonOverlap},
		"ten ":                       {From: at("10:00"), To: at("10:15"), Provider: "calendly", Statuses: []string{"active"}},
	} {
		if got := sortedNames(b.bookings(t, f)); got != trim(want) {
			t.Errorf("%+v: %q, not %q", f, got, trim(want))
		}
	}
	for want, f := range map[int]booking.Filter{
		4: {}, 1: {Statuses: []string{"waiting"}}, 3: {From: at("09:00")}, 2: {ResourceID: &resource}, 0: {From: at("11:30")},
	} {
		if got := b.slots(t, f); len(got) != want {
			t.Errorf("slots of %+v: %d, not %d", f, len(got), want)
		}
	}
	if got := b.slots(t, booking.Filter{BookingID: &id, Provider: "calendly"}); len(got) != 1 {
		t.Errorf("%d slots of a booking", len(got))
	}
	if got := b.slots(t, booking.Filter{ConnectionID: &connection}); len(got) != 2 {
		t.Errorf("%d slots of a connection", len(got))
	}
	views, err := b.BookingsByID(t.Context(), []uuid.UUID{id, nobody})
	if err != nil || names(views) != "ten" {
		t.Errorf("by id: %q, %v", names(views), err)
	}
}

// trim lets the maps above name the same outcome twice.
func trim(s string) string {
	for s != "" && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

func testTransitionFilters(t *testing.T, b *Bench) {
	b.Apply(t, created("one", "10:00", "10:30"))
	b.Apply(t, canceled("one"))
	late := b.Post(created("one", "10:00", "10:30", func(e *booking.Event) { e.At = e.At.Add(time.Hour) }))
	late.EventKey += "late"
	b.ApplyPosts(t, late)
	b.Apply(t, created("two", "10:00", "10:30"),
		bt.New(bt.Generic, booking.KindCreated, "rival", 12, bt.When("10:00", "10:30"), bt.With("putri"), bt.For("agus")))
	one := booking.ID(bt.Calendly, "one", "")
	generic, before, after := b.Conn["generic"], Now.Add(-time.Second), Now.Add(time.Second)
	resource := b.slots(t, booking.Filter{})[0].ResourceID
	for _, c := range []struct {
		f    booking.Filter
		want string
	}{
		{booking.Filter{}, "conflicted active canceled canceled active"},
		{booking.Filter{BookingID: &one}, "canceled canceled active"},
		{booking.Filter{ReceiptID: &late.ReceiptID}, "canceled"},
		{booking.Filter{Outcome: booking.Rejected}, "canceled"},
		{booking.Filter{Reason: booking.ReasonIllegal}, "canceled"},
		{booking.Filter{Troubled: true}, "conflicted canceled"},
		{booking.Filter{Troubled: true, Provider: "generic"}, "conflicted"},
		{booking.Filter{ConnectionID: &generic}, "conflicted"},
		{booking.Filter{ResourceID: &resource, Statuses: []string{"active"}}, "active active"},
		{booking.Filter{From: &Now, To: &after}, "conflicted active canceled canceled active"},
		{booking.Filter{From: &before, To: &Now}, ""},
		{booking.Filter{From: &after}, ""},
	} {
		got := ""
		for _, tr := range b.transitions(t, c.f) {
			got += string(tr.To) + " "
		}
		if trim(got) != c.want {
			t.Errorf("%+v: %q, not %q", c.f, got, c.want)
		}
	}
	tally, err := b.Tally(t.Context(), booking.Filter{Troubled: true})
	want := []booking.Tally{{Reason: booking.ReasonIllegal, Count: 1}, {Reason: booking.ReasonSlotTaken, Count: 1}}
	if err != nil || !slices.Equal(tally, want) {
		t.Errorf("tally %+v: %v", tally, err)
	}
}

func testReceiptFilters(t *testing.T, b *Bench) {
	posts := []booking.Post{
		b.Post(created("one", "10:00", "10:30")), b.Post(canceled("one")),
		b.Post(bt.New(bt.Generic, booking.KindCreated, "one", 12, bt.When("10:00", "10:30"), bt.With("putri"), bt.For("agus"))),
	}
	for i := range posts {
		posts[i].ReceivedAt = Now.Add(time.Duration(i) * time.Minute)
	}
	b.ApplyPosts(t, posts...)
	one, generic, second, nobody := booking.ID(bt.Calendly, "one", ""), b.Conn["generic"], posts[1].ReceivedAt, uuid.New()
	for _, c := range []struct {
		f    booking.Filter
		want []int
	}{
		{booking.Filter{}, []int{2, 1, 0}},
		{booking.Filter{BookingID: &one}, []int{1, 0}},
		{booking.Filter{BookingID: &nobody}, nil},
		{booking.Filter{ReceiptID: &posts[1].ReceiptID}, []int{1}},
		{booking.Filter{Provider: "generic"}, []int{2}},
		{booking.Filter{ConnectionID: &generic}, []int{2}},
		{booking.Filter{Statuses: []string{"processed"}}, []int{2, 1, 0}},
		{booking.Filter{Statuses: []string{"failed", "dead"}}, nil},
		{booking.Filter{From: &second}, []int{2, 1}},
		{booking.Filter{To: &second}, []int{0}},
	} {
		var want, got []uuid.UUID
		for _, i := range c.want {
			want = append(want, posts[i].ReceiptID)
		}
		for _, r := range b.receipts(t, c.f) {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, not %v", c.f, got, want)
		}
	}
	var ids []uuid.UUID
	for _, p := range posts {
		ids = append(ids, p.ReceiptID)
	}
	about, err := b.BookingsOfReceipts(t.Context(), append(ids, nobody))
	other := booking.ID(bt.Generic, "one", "")
	if err != nil || !reflect.DeepEqual(about, map[uuid.UUID][]uuid.UUID{ids[0]: {one}, ids[1]: {one}, ids[2]: {other}}) {
		t.Errorf("about %v: %v", about, err)
	}
}

// testAdminLog keeps what people did, in order, and finds it by who, what and when.
func testAdminLog(t *testing.T, b *Bench) {
	at := Now
	accounts := access.NewAccounts(b.Accounts(), func() time.Time { return at })
	user, err := accounts.AddUser(t.Context(), access.System, "budi", access.Operator, "")
	if err != nil {
		t.Fatal(err)
	}
	by := access.By{Actor: user.Principal().Actor(), Remote: "192.0.2.7"}
	for i := range 5 {
		if i != 3 { // two at one time
			at = at.Add(time.Minute)
		}
		if err := accounts.Note(t.Context(), by, access.DidExportAudit, "", access.Facts{"format": fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := accounts.Note(t.Context(), access.System, access.DidReadBody, "receipt:x", nil); err != nil {
		t.Fatal(err)
	}
	read := func(f access.EntryFilter, limit int) (out []string) {
		t.Helper()
		for _, e := range all(t, limit, func(p booking.Page) (booking.List[access.LoggedEntry], error) { return b.AdminLog(t.Context(), f, p) }) {
			out = append(out, e.Action+e.Detail["format"])
			if e.Seq == 0 || e.Action == access.DidExportAudit && (e.Actor != by.Actor || e.Remote != by.Remote || e.At.Location() != time.UTC) {
				t.Errorf("entry %+v", e)
			}
		}
		return out
	}
	two, three := Now.Add(2*time.Minute), Now.Add(3*time.Minute)
	exported := func(numbers ...int) (out []string) {
		for _, n := range numbers {
			out = append(out, access.DidExportAudit+fmt.Sprint(n))
		}
		return out
	}
	for _, c := range []struct {
		f    access.EntryFilter
		want []string
	}{
		{access.EntryFilter{}, append(append([]string{access.DidReadBody}, exported(4, 3, 2, 1, 0)...), access.DidAddUser)},
		{access.EntryFilter{Actor: by.Actor}, exported(4, 3, 2, 1, 0)},
		{access.EntryFilter{Action: access.DidReadBody}, []string{access.DidReadBody}},
		{access.EntryFilter{Actor: booking.ActorSystem, Action: access.DidExportAudit}, nil},
		{access.EntryFilter{From: &two, To: &three}, exported(1)},
		{access.EntryFilter{From: &three, Actor: by.Actor}, exported(4, 3, 2)},
	} {
		for _, limit := range []int{1, 2, 50} {
			if got := read(c.f, limit); !slices.Equal(got, c.want) {
				t.Errorf("%+v by %d: %q, not %q", c.f, limit, got, c.want)
			}
		}
	}
	if _, err := b.AdminLog(t.Context(), access.EntryFilter{}, booking.Page{Cursor: "x"}); err == nil {
		t.Error("a cursor of nobody's is taken")
	}
	if names, err := b.Actors(t.Context()); err != nil || names[by.Actor] != "budi" || len(names) != 1 {
		t.Errorf("actors %v: %v", names, err)
	}
}

// testOpenConflicts lists and counts the conflicts that are not over, and leaves
// out what somebody accepted. The index for that is used.
func testOpenConflicts(t *testing.T, b *Bench) {
	rival := func(id, from, to string) *booking.Event {
		return bt.New(bt.Generic, booking.KindCreated, id, 12, bt.When(from, to), bt.With("putri"), bt.For("agus"))
	}
	b.Apply(t, created("ten", "10:00", "10:30"), created("eleven", "11:00", "11:30"), created("twelve", "12:00", "12:30"))
	b.Apply(t, rival("ten-too", "10:15", "10:45"), rival("eleven-too", "11:00", "11:30"), rival("accepted", "12:00", "12:30"))
	if err := b.exec(t, "UPDATE bookings SET overlap_accepted = (1 = 1) WHERE external_id = 'accepted'"); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[string]string{"09:00": "eleven-too ten-too", "10:44": "eleven-too ten-too", "10:45": "eleven-too", "11:30": ""} {
		from := bt.At(after)
		list := b.bookings(t, booking.Filter{From: &from, OpenConflicts: true})
		n, err := b.OpenConflicts(t.Context(), from)
		if sorted := sortedNames(list); err != nil || sorted != want || n != len(list) {
			t.Errorf("after %s: %q, counted %d, %v", after, sorted, n, err)
		}
	}
	explain := "EXPLAIN QUERY PLAN "
	if b.Dialect() == migrations.Postgres {
		if err := b.exec(t, "INSERT INTO bookings SELECT (b).* FROM (SELECT jsonb_populate_record(x, jsonb_build_object("+
			"'id', gen_random_uuid(), 'external_id', 'copy ' || n, 'status', 'active', 'reason', '')) b "+
			"FROM bookings x, generate_series(1, 3000) n WHERE x.external_id = 'ten') y"); err != nil {
			t.Fatal(err)
		}
		if err := b.exec(t, "ANALYZE bookings"); err != nil {
			t.Fatal(err)
		}
		explain = "EXPLAIN "
	}
	rows, err := b.SQL.QueryContext(t.Context(), explain+"SELECT count(*) FROM bookings b JOIN sessions s ON s.id = b.session_id "+
		"WHERE b.status = 'conflicted' AND NOT b.overlap_accepted AND s.ends_at > '2026-12-07T09:00:00.000000Z'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var line string
		cells := []any{&line}
		if b.Dialect() == migrations.SQLite {
			cells = []any{new(any), new(any), new(any), &line}
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		plan += line + "\n"
	}
	if err := rows.Err(); err != nil || !strings.Contains(plan, "bookings_conflicted") {
		t.Errorf("the index is not used: %v\n%s", err, plan)
	}
}

// testFailing counts the newest receipts of a connection that failed, and none
// once one worked; what is pending and copies say nothing.
func testFailing(t *testing.T, b *Bench) {
	minute := 0
	arrive := func(p booking.Post) booking.Post {
		minute++
		p.ReceivedAt = Now.Add(time.Duration(minute) * time.Minute)
		b.ApplyPosts(t, p)
		return p
	}
	broken := func(key string) booking.Post {
		p := b.Post(created(key, "10:00", "10:30"))
		p.Event, p.Status, p.Code, p.Error = nil, booking.StatusFailed, "time_missing", "there is no time"
		return p
	}
	check := func(when string, connection uuid.UUID, want booking.Failing) {
		t.Helper()
		if got, err := b.Failing(t.Context(), connection); err != nil || got != want {
			t.Errorf("%s: %+v, %v", when, got, err)
		}
	}
	calendly := b.Conn["calendly"]
	check("before all", calendly, booking.Failing{})
	arrive(broken("one"))
	check("of all one", calendly, booking.Failing{Count: 1, Newest: booking.StatusFailed})
	good := arrive(b.Post(created("good", "11:00", "11:30")))
	check("then a good one", calendly, booking.Failing{})
	two := arrive(broken("two"))
	three := arrive(broken("three"))
	arrive(two)
	arrive(good)
	check("then two, and copies", calendly, booking.Failing{Count: 2, Newest: booking.StatusFailed})
	check("of another", b.Conn["generic"], booking.Failing{})
	if err := b.exec(t, "UPDATE webhook_receipts SET status = 'pending' WHERE id = '"+three.ReceiptID.String()+"'"); err != nil {
		t.Fatal(err)
	}
	check("the newest is asked for", calendly, booking.Failing{Count: 1, Newest: booking.StatusFailed})
	if err := b.exec(t, "UPDATE webhook_receipts SET status = 'dead' WHERE id = '"+three.ReceiptID.String()+"'"); err != nil {
		t.Fatal(err)
	}
	check("the newest is given up", calendly, booking.Failing{Count: 2, Newest: booking.StatusDead})
}

func testNotFound(t *testing.T, b *Bench) {
	id := uuid.New()
	for what, read := range map[string]func() error{
		"booking":    func() error { _, err := b.Booking(t.Context(), id); return err },
		"transition": func() error { _, err := b.Transition(t.Context(), id); return err },
		"receipt":    func() error { _, err := b.Receipt(t.Context(), id); return err },
		"body":       func() error { _, err := b.ReceiptBody(t.Context(), id); return err },
		"connection": func() error { _, err := b.Connection(t.Context(), id); return err },
	} {
		if err := read(); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if chain, err := b.Chain(t.Context(), id); err != nil || len(chain) != 0 {
		t.Errorf("chain %+v: %v", chain, err)
	}
	if a, err := b.Store.Apply(t.Context(), nil, Now); err != nil || a != nil {
		t.Errorf("an empty set: %+v, %v", a, err)
	}
}
