package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/migrations"
	"slotkeeper/providers"
)

// counted is a store with two connections, and what its test put into it.
type counted struct {
	*Store
	t      *testing.T
	first  uuid.UUID
	second uuid.UUID
	n      int
}

func newCounted(t *testing.T, s *Store) *counted {
	t.Helper()
	c := &counted{Store: s, t: t, first: uuid.New(), second: uuid.New()}
	for i, id := range []uuid.UUID{c.first, c.second} {
		if err := s.CreateConnection(t.Context(), providers.Connection{
			ID: id, Provider: []string{"generic", "calendly"}[i], APIBase: fmt.Sprint("base", i), Secrets: providers.Secrets{Current: "s"}, CreatedAt: moment,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *counted) exec(sql string, args ...any) {
	c.t.Helper()
	if err := c.write.WithContext(c.t.Context()).Exec(sql, args...).Error; err != nil {
		c.t.Fatal(err)
	}
}

// receive stores a receipt, with so many copies of it a minute later each.
func (c *counted) receive(connection uuid.UUID, kind booking.Kind, actor booking.Actor, status booking.ReceiptStatus, when time.Time, copies int) uuid.UUID {
	c.t.Helper()
	c.n++
	id := uuid.New()
	c.exec(`INSERT INTO webhook_receipts (id, connection_id, event_key, kind, subject, status, reason, code, error, actor, body_sha256, headers, signature, received_at)
		VALUES (?, ?, ?, ?, '', ?, '', '', '', ?, ?, '{}', '', ?)`, id, connection, fmt.Sprint("key", c.n), kind, status, actor, make([]byte, 32), at(when))
	for i := range copies + 1 {
		row := deliveryRow{ReceiptID: id, ConnectionID: connection, ReceivedAt: at(when.Add(time.Duration(i) * time.Minute)), Action: actionFirst, Answer: status}
		if i > 0 {
			row.Action, row.Answer = actionCopy, booking.StatusDuplicate
		}
		if actor == booking.ActorWebhook {
			if err := c.write.WithContext(c.t.Context()).Create(&row).Error; err != nil {
				c.t.Fatal(err)
			}
		}
	}
	return id
}

// says wants counts, written as connection kind told status number.
func (c *counted) says(what string, f booking.CountFilter, now time.Time, want map[string]int, parts ...map[booking.ReceiptStatus]int) {
	c.t.Helper()
	got, err := c.CountReceipts(c.t.Context(), f, now)
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	name := map[uuid.UUID]string{c.first: "first", c.second: "second"}
	found := map[string]int{}
	for _, n := range got.Of {
		told := "read"
		if n.Told {
			told = "told"
		}
		found[fmt.Sprint(name[n.ConnectionID], " ", n.Kind, " ", told, " ", n.Status)] += n.Count
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		c.t.Errorf("%s: counted %v, want %v", what, found, want)
	}
	for i, p := range parts {
		if fmt.Sprint(got.Parts[i]) != fmt.Sprint(p) {
			c.t.Errorf("%s: part %d has %v, want %v", what, i, got.Parts[i], p)
		}
	}
}

// A dashboard that miscounts by one is one that nobody believes: whatever is folded,
// whatever came since, and whatever became of it later, the numbers are those of the
// receipts.
func TestCountReceipts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		c := newCounted(t, s)
		now := moment.Add(48*time.Hour + 7*time.Minute)
		day := now.Add(-24 * time.Hour)
		const created, read = booking.KindCreated, booking.Actor("reconcile")
		c.receive(c.first, created, booking.ActorWebhook, booking.StatusProcessed, day.Add(-time.Hour), 0)
		c.receive(c.first, created, booking.ActorWebhook, booking.StatusProcessed, day.Add(time.Hour), 2)
		open := c.receive(c.first, created, booking.ActorWebhook, booking.StatusPending, day.Add(2*time.Hour), 0)
		c.receive(c.first, "OOO_CREATED", booking.ActorWebhook, booking.StatusIgnored, now.Add(-time.Minute), 0)
		c.receive(c.second, created, read, booking.StatusProcessed, day.Add(2*time.Hour), 0)
		c.receive(c.second, booking.KindCanceled, booking.ActorWebhook, booking.StatusFailed, now.Add(-40*time.Minute), 1)

		f := booking.CountFilter{From: day, To: now.Add(time.Second), Parts: []booking.Period{{From: day, To: day.Add(2 * time.Hour)}, {From: day.Add(2 * time.Hour), To: now.Add(time.Hour)}}}
		want := map[string]int{
			"first invitee.created told processed": 1, "first invitee.created told duplicate": 2, "first invitee.created told pending": 1,
			"first OOO_CREATED told ignored": 1, "second invitee.created read processed": 1,
			"second invitee.canceled told failed": 1, "second invitee.canceled told duplicate": 1,
		}
		parts := []map[booking.ReceiptStatus]int{
			{booking.StatusProcessed: 1, booking.StatusDuplicate: 2},
			{booking.StatusPending: 1, booking.StatusIgnored: 1, booking.StatusProcessed: 1, booking.StatusFailed: 1, booking.StatusDuplicate: 1},
		}
		c.says("at first", f, now, want, parts...)
		c.says("when it is folded", f, now, want, parts...)

		// What was open when it was folded is counted as what it is now.
		c.exec("UPDATE webhook_receipts SET status = 'processed' WHERE id = ?", open)
		c.receive(c.first, created, booking.ActorWebhook, booking.StatusRejected, now, 0)
		delete(want, "first invitee.created told pending")
		want["first invitee.created told processed"], want["first invitee.created told rejected"] = 2, 1
		later := now.Add(20 * time.Minute)
		f.To = later
		c.says("after it was settled", f, later, want)
		c.says("again", f, later, want)

		f.ConnectionID = &c.first
		c.says("of one connection", f, later, map[string]int{
			"first invitee.created told processed": 2, "first invitee.created told duplicate": 2, "first invitee.created told rejected": 1, "first OOO_CREATED told ignored": 1,
		})
		f.ConnectionID, f.Provider = nil, "calendly"
		c.says("of one provider", f, later, map[string]int{
			"second invitee.created read processed": 1, "second invitee.canceled told failed": 1, "second invitee.canceled told duplicate": 1,
		})
		f.Provider = ""
		f.From = now.Add(-5 * time.Minute) // 08:02 lies in the quarter from 08:00
		c.says("of the last minutes alone", f, later, map[string]int{"first OOO_CREATED told ignored": 1, "first invitee.created told rejected": 1})

		var rows, old int64
		s.read.WithContext(t.Context()).Table("receipt_counts").Count(&rows)
		if rows == 0 {
			t.Error("nothing was folded")
		}
		// Months later the counts of today are gone, and nobody misses them.
		c.says("months later", booking.CountFilter{From: later.AddDate(0, 3, -30), To: later.AddDate(0, 3, 0)}, later.AddDate(0, 3, 0), map[string]int{})
		s.read.WithContext(t.Context()).Table("receipt_counts").Count(&old)
		if old != 0 {
			t.Errorf("%d counts are kept for good", old)
		}
	})
}

// Two who fold at once count everything once.
func TestFoldAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		c := newCounted(t, s)
		now := moment.Add(24 * time.Hour)
		for i := range 40 {
			c.receive(c.first, booking.KindCreated, booking.ActorWebhook, booking.StatusProcessed, now.Add(-time.Duration(i)*20*time.Minute), 1)
		}
		f := booking.CountFilter{From: now.AddDate(0, 0, -2), To: now.Add(time.Hour)}
		errs := make(chan error)
		for range 4 {
			go func() {
				_, err := s.CountReceipts(t.Context(), f, now)
				errs <- err
			}()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		c.says("after all", f, now, map[string]int{"first invitee.created told processed": 40, "first invitee.created told duplicate": 40})
		var sum int64
		s.read.WithContext(t.Context()).Raw("SELECT sum(receipts) FROM receipt_counts").Scan(&sum)
		if want := int64(78); sum < want-2 || sum > want {
			t.Errorf("%d are folded of 80, of which the newest are not", sum)
		}
	})
}

// The searches that the page of deliveries makes, and how they end.
func TestSearchReceipts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		c := newCounted(t, s)
		var rare, dead uuid.UUID
		rare = c.receive(c.second, "OOO_CREATED", booking.ActorWebhook, booking.StatusIgnored, moment.Add(-time.Hour), 0)
		dead = c.receive(c.second, booking.KindCreated, booking.ActorWebhook, booking.StatusDead, moment.Add(-time.Hour), 0)
		of := "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500) SELECT "
		insert := `INSERT INTO webhook_receipts (id, connection_id, event_key, kind, subject, status, reason, code, error, actor, body_sha256, headers, signature, received_at) `
		if s.dialect == migrations.Postgres {
			c.exec(insert+of+`gen_random_uuid(), ?, 'many' || i, 'invitee.created', '', 'processed', '', '', '', 'webhook', ?, '{}', '', ? FROM n`, c.first, make([]byte, 32), at(moment))
		} else {
			c.exec(insert+of+`lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(6))),
				?, 'many' || i, 'invitee.created', '', 'processed', '', '', '', 'webhook', ?, '{}', '', ? FROM n`, c.first, make([]byte, 32), at(moment))
		}
		c.exec("UPDATE webhook_receipts SET subject = ? WHERE id = ?", booking.Subject(booking.Source{Provider: "calendly", Base: "base1"}, "their id"), rare)
		before := moment.Add(-30 * time.Minute)
		for name, tc := range map[string]struct {
			filter booking.Filter
			want   uuid.UUID
			pages  int
		}{
			"what is not settled is found at once": {booking.Filter{Statuses: []string{"dead"}}, dead, 1},
			"a rare kind is found further back":    {booking.Filter{Kind: "OOO_CREATED"}, rare, 2},
			"in its time it is found at once":      {booking.Filter{Kind: "OOO_CREATED", To: &before}, rare, 1},
			"a rare connection too":                {booking.Filter{ConnectionID: &c.second, Kind: "OOO_CREATED"}, rare, 2},
			"by its own id":                        {booking.Filter{Text: " " + rare.String()}, rare, 1},
			"by its key":                           {booking.Filter{Text: "key1"}, rare, 1},
			"by the provider's id of the booking":  {booking.Filter{Text: "their id"}, rare, 1},
			"by that and a provider":               {booking.Filter{Text: "their id", Provider: "calendly"}, rare, 1},
		} {
			p := booking.Page{Limit: 10}
			var found []uuid.UUID
			pages := 0
			for {
				l, err := s.Receipts(t.Context(), tc.filter, p)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				pages++
				for _, r := range l.Items {
					found = append(found, r.ID)
				}
				if p.Cursor = l.Next; p.Cursor == "" {
					break
				}
			}
			if len(found) != 1 || found[0] != tc.want || pages != tc.pages {
				t.Errorf("%s: %v in %d pages, want %v in %d", name, found, pages, tc.want, tc.pages)
			}
		}
		for _, text := range []string{"nobody", "key", uuid.NewString(), "'; DROP TABLE users; --", "a\x00b"} {
			if l, err := s.Receipts(t.Context(), booking.Filter{Text: text}, booking.Page{}); err != nil || len(l.Items) != 0 {
				t.Errorf("%q: %d, %v", text, len(l.Items), err)
			}
		}
		if l, err := s.Receipts(t.Context(), booking.Filter{Text: "their id", Provider: "generic"}, booking.Page{}); err != nil || len(l.Items) != 0 {
			t.Errorf("another provider's: %v %v", l, err)
		}
	})
}
