package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/migrations"
)

// away is a post that tells of a host's absence.
func (b *Bench) away(id, host string, said, from, to time.Time) booking.Post {
	key := "OOO_CREATED|" + id + "|" + said.Format(time.RFC3339Nano)
	return booking.Post{
		Delivery: booking.Delivery{
			ReceiptID: uuid.New(), ConnectionID: b.Conn["calcom"], EventKey: key, Kind: "OOO_CREATED", Actor: booking.ActorWebhook,
			Block: &booking.Block{
				Source: bt.Calcom, ExternalID: id, At: booking.Clock{At: said, Key: key}, Host: booking.Host{ExternalID: host, Email: host},
				StartsAt: from, EndsAt: to,
			},
		},
		Body: []byte("body of " + key), RequestID: key, ReceivedAt: Now,
	}
}

// blocks reads a window, each as id and hours from ten o'clock.
func (b *Bench) blocks(t testing.TB, from, to time.Time, resources ...uuid.UUID) string {
	t.Helper()
	all, err := b.Blocks(t.Context(), from, to, resources)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range all {
		out = append(out, fmt.Sprintf("%s %s to %s", v.ExternalID, v.StartsAt.Sub(ten), v.EndsAt.Sub(ten)))
	}
	return strings.Join(out, ", ")
}

var ten = bt.At("10:00")

const host = "maren.oduya@harbourclinic.example"

// testBlockOfWebhook: whichever word of an absence comes first, the last one said
// stands; and it takes no place.
func testBlockOfWebhook(t *testing.T, b *Bench) {
	first := b.away("one", host, ten.Add(-2*time.Hour), ten, ten.Add(time.Hour))
	second := b.away("one", host, ten.Add(-time.Hour), ten, ten.Add(4*time.Hour))
	for i, p := range []booking.Post{second, first, second} {
		want := booking.StatusProcessed
		if i == 2 {
			want = booking.StatusDuplicate
		}
		if a := b.ApplyPosts(t, p)[0]; a.Status != want {
			t.Errorf("post %d: %+v", i, a)
		}
	}
	if got := b.blocks(t, ten, ten.Add(time.Hour)); got != "one 0s to 4h0m0s" {
		t.Errorf("blocks %q", got)
	}
	all, err := b.Blocks(t.Context(), ten, ten.Add(time.Hour), nil)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v (%v)", all, err)
	}
	v := all[0]
	if v.Host.Email != host || v.Source != bt.Calcom || v.ConnectionID != b.Conn["calcom"] || v.ResourceID != uuid.Nil || v.At.Key != second.Block.At.Key {
		t.Errorf("%+v", v)
	}
	var receipt string
	if err := b.SQL.QueryRowContext(t.Context(), "SELECT receipt_id FROM unavailable").Scan(&receipt); err != nil || receipt != second.ReceiptID.String() {
		t.Errorf("it names the receipt %q (%v)", receipt, err)
	}
	if slots := b.slots(t, booking.Filter{}); len(slots) != 0 {
		t.Errorf("it claims %+v", slots)
	}
}

// testBlockResource: what a block is about follows what its host maps to, whenever
// that was settled.
func testBlockResource(t *testing.T, b *Bench) {
	named := booking.Host{ExternalID: "calendar|91", Name: "Studio"}
	b.ApplyPosts(t, b.away("one", host, ten, ten, ten.Add(time.Hour)))
	b.replace(t, ten, ten.Add(time.Hour), ten, booking.Block{ExternalID: "9", Host: named, StartsAt: ten, EndsAt: ten.Add(time.Hour)})
	of := func() string {
		t.Helper()
		all, err := b.Blocks(t.Context(), ten, ten.Add(time.Hour), nil)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, v := range all {
			out = append(out, v.ExternalID+"="+v.ResourceID.String())
		}
		return strings.Join(out, " ")
	}
	none := uuid.Nil.String()
	if got := of(); got != "one="+none+" 9="+none {
		t.Errorf("before anybody is known: %s", got)
	}
	b.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "b", 1, bt.When("10:00", "10:30"), bt.For("agus"), func(e *booking.Event) {
		e.Session.Hosts = []booking.Host{{ExternalID: "/users/M", Email: host, Name: "Maren Oduya"}}
	}))
	list, err := b.Resources(t.Context(), booking.Filter{}, booking.Page{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v (%v)", list, err)
	}
	maren := list.Items[0].ID
	if got := of(); got != "one="+maren.String()+" 9="+none {
		t.Errorf("by the e-mail of another provider: %s", got)
	}
	studio := booking.Resource{ID: uuid.New(), Name: "Studio"}
	if _, _, err := b.MapIdentity(t.Context(), access.By{Actor: "user:0b9d6f0e-0000-4000-8000-0000000000aa"}, booking.Identity{Source: bt.Generic, ExternalID: named.ExternalID, Pinned: true}, studio, Now); err != nil {
		t.Fatal(err)
	}
	if got := of(); got != "one="+maren.String()+" 9="+studio.ID.String() {
		t.Errorf("mapped by a person: %s", got)
	}
	if got := b.blocks(t, ten, ten.Add(time.Hour), maren); got != "one 0s to 1h0m0s" {
		t.Errorf("of one resource: %s", got)
	}
	if got := b.blocks(t, ten, ten.Add(time.Hour), studio.ID, maren); got != "one 0s to 1h0m0s, 9 0s to 1h0m0s" {
		t.Errorf("of both: %s", got)
	}
	if got := b.blocks(t, ten, ten.Add(time.Hour), uuid.New()); got != "" {
		t.Errorf("of another: %s", got)
	}
}

// replace has the generic connection list blocks for a window.
func (b *Bench) replace(t testing.TB, from, to, ticket time.Time, blocks ...booking.Block) {
	t.Helper()
	if err := b.ReplaceBlocks(t.Context(), b.Conn["generic"], bt.Generic, from, to, blocks, ticket); err != nil {
		t.Fatal(err)
	}
}

func testReplaceBlocks(t *testing.T, b *Bench) {
	block := func(id string, from, to time.Duration) booking.Block {
		return booking.Block{ExternalID: id, Host: booking.Host{ExternalID: "calendar|91"}, StartsAt: ten.Add(from), EndsAt: ten.Add(to)}
	}
	const h, day = time.Hour, 24 * time.Hour
	// One that reaches into the window, a copy in the list, one past the window, one
	// that nobody may list any more.
	b.replace(t, ten.Add(-90*day), ten.Add(90*day), ten,
		block("1", 0, h), block("1", 0, h), block("2", 2*h, 3*h), block("3", -h, h), block("later", 50*h, 51*h), block("old", -40*day, h))
	b.ApplyPosts(t, b.away("told", host, ten, ten, ten.Add(h)))
	check := func(when, want string) {
		t.Helper()
		if got := b.blocks(t, ten.Add(-90*day), ten.Add(90*day)); got != want {
			t.Errorf("%s: %s, not %s", when, got, want)
		}
	}
	check("at first", "old -960h0m0s to 1h0m0s, 3 -1h0m0s to 1h0m0s, told 0s to 1h0m0s, 1 0s to 1h0m0s, 2 2h0m0s to 3h0m0s, later 50h0m0s to 51h0m0s")
	b.replace(t, ten, ten.Add(day), ten.Add(time.Minute), block("2", 2*h, 5*h))
	check("listed again", "old -960h0m0s to 1h0m0s, told 0s to 1h0m0s, 2 2h0m0s to 5h0m0s, later 50h0m0s to 51h0m0s")
	b.replace(t, ten, ten.Add(day), ten.Add(time.Second), block("2", 2*h, 3*h))
	check("a reading that was overtaken", "old -960h0m0s to 1h0m0s, told 0s to 1h0m0s, 2 2h0m0s to 5h0m0s, later 50h0m0s to 51h0m0s")
	if err := b.ReplaceBlocks(t.Context(), b.Conn["calendly"], bt.Calendly, ten, ten.Add(day), nil, ten.Add(h)); err != nil {
		t.Fatal(err)
	}
	check("another account", "old -960h0m0s to 1h0m0s, told 0s to 1h0m0s, 2 2h0m0s to 5h0m0s, later 50h0m0s to 51h0m0s")
	b.replace(t, ten, ten.Add(day), ten.Add(2*h))
	check("nothing listed", "old -960h0m0s to 1h0m0s, told 0s to 1h0m0s, later 50h0m0s to 51h0m0s")
	err := b.ReplaceBlocks(t.Context(), b.Conn["generic"], bt.Generic, ten, ten.Add(day), []booking.Block{block("no time", h, h)}, ten.Add(3*h))
	var fence *booking.FenceError
	if err == nil || errors.Is(err, booking.ErrUnavailable) && !errors.As(err, &fence) {
		t.Errorf("a block of no time: %v", err)
	}
}

// testBlockWindow: half-open on both sides, short ones and those of months.
func testBlockWindow(t *testing.T, b *Bench) {
	const h, day = time.Hour, 24 * time.Hour
	var all []booking.Block
	for id, at := range map[string][2]time.Duration{
		"ends at":    {-h, 0},
		"reaches":    {-booking.LongBlock + time.Microsecond, time.Microsecond},
		"just long":  {-booking.LongBlock, time.Microsecond},
		"begins at":  {h, 2 * h},
		"within":     {h / 4, h / 2},
		"for a year": {-300 * day, 65 * day},
		"long gone":  {-300 * day, -100 * day},
		"long after": {h, 100 * day},
	} {
		all = append(all, booking.Block{ExternalID: id, Host: booking.Host{ExternalID: "calendar|91"}, StartsAt: ten.Add(at[0]), EndsAt: ten.Add(at[1])})
	}
	b.replace(t, ten.Add(-400*day), ten.Add(400*day), ten, all...)
	got, err := b.Blocks(t.Context(), ten, ten.Add(h), nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, v := range got {
		ids = append(ids, v.ExternalID)
	}
	if want := "for a year, just long, reaches, within"; strings.Join(ids, ", ") != want {
		t.Errorf("%q, not %q", ids, want)
	}
	b.usesIndexes(t)
}

// usesIndexes: history must not slow the reading of a window.
func (b *Bench) usesIndexes(t *testing.T) {
	t.Helper()
	for index, where := range map[string]string{
		"unavailable_start": "NOT long AND starts_at > '2026-12-01T00:00:00.000000Z' AND starts_at < '2026-12-03T00:00:00.000000Z'",
		"unavailable_end":   "long AND ends_at > '2026-12-01T00:00:00.000000Z' AND starts_at < '2026-12-03T00:00:00.000000Z'",
	} {
		explain, column := "EXPLAIN QUERY PLAN ", 3
		if b.Dialect() == migrations.Postgres {
			explain, column = "SET enable_seqscan = off; EXPLAIN ", 0
		}
		plan := b.plan(t, explain+"SELECT * FROM unavailable_resources WHERE "+where, column)
		if !strings.Contains(plan, index) {
			t.Errorf("%s is not used: %s", index, plan)
		}
	}
}

func (b *Bench) plan(t *testing.T, query string, column int) string {
	t.Helper()
	conn, err := b.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if set, rest, ok := strings.Cut(query, "; "); ok {
		if _, err := conn.ExecContext(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		query = rest
	}
	rows, err := conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(values[column]))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}
