package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// testWaits asks the database, while a receipt is written, whether the commit will
// wait for the disk: it must wherever something was told, whatever else is in the set
// and whatever went before. What was only read, and can be read again, does not.
func testWaits(t *testing.T, b *Bench) {
	waits, goes := "on", "off"
	said := `CREATE TABLE said (how text);
		CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO said SELECT current_setting('synchronous_commit'); RETURN NULL; END $$;
		CREATE TRIGGER say AFTER INSERT ON webhook_receipts FOR EACH ROW EXECUTE FUNCTION say()`
	if b.Dialect() == migrations.SQLite {
		waits, goes = "2", "1"
		said = `CREATE TABLE said (how text);
			CREATE TRIGGER say AFTER INSERT ON webhook_receipts BEGIN INSERT INTO said SELECT synchronous FROM pragma_synchronous; END`
	}
	if err := b.exec(t, said); err != nil {
		t.Fatal(err)
	}
	before, err := b.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read := func(e *booking.Event) booking.Post {
		p := b.Post(e)
		p.Read = true
		return p
	}
	at := func(id string, hour int) *booking.Event {
		return created(id, fmt.Sprintf("%02d:00", hour), fmt.Sprintf("%02d:30", hour))
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	for i, c := range []struct {
		what string
		ctx  context.Context
		set  []booking.Post
		want string // by receipt
	}{
		{"told", t.Context(), []booking.Post{b.Post(at("a", 1))}, waits},
		{"read", t.Context(), []booking.Post{read(at("b", 2)), read(at("c", 3))}, goes + goes},
		{"told after a read", t.Context(), []booking.Post{b.Post(at("d", 4))}, waits},
		{"both", t.Context(), []booking.Post{read(at("e", 5)), b.Post(at("f", 6)), read(at("g", 7))}, waits + waits + waits},
		{"read, and refused by the database", t.Context(), []booking.Post{read(tooLong("h"))}, ""},
		{"told after what was refused", t.Context(), []booking.Post{b.Post(at("i", 8))}, waits},
		{"read, and broken off", over, []booking.Post{read(at("j", 9))}, ""},
		{"told after what was broken off", t.Context(), []booking.Post{b.Post(at("k", 10))}, waits},
	} {
		_, err := b.Store.Apply(c.ctx, c.set, Now)
		if failed := err != nil; failed != (c.want == "") {
			t.Fatalf("%d %s: %v", i, c.what, err)
		}
		if got := b.said(t); got != c.want {
			t.Errorf("%d %s: said %q, want %q", i, c.what, got, c.want)
		}
		after, err := b.Settings(t.Context())
		if err != nil || after["synchronous"] != before["synchronous"] || after["synchronous_commit"] != before["synchronous_commit"] {
			t.Errorf("%d %s: left %v behind, not %v: %v", i, c.what, after, before, err)
		}
	}
}

// said takes what the trigger has said since.
func (b *Bench) said(t *testing.T) string {
	t.Helper()
	rows, err := b.SQL.QueryContext(t.Context(), "SELECT how FROM said")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var how string
		if err := rows.Scan(&how); err != nil {
			t.Fatal(err)
		}
		all = append(all, how)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if err := b.exec(t, "DELETE FROM said"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, "")
}
