package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/migrations"
	"slotkeeper/providers"
)

// auditLog is a log of many transitions about few bookings: every twentieth ended
// conflicted, every hundredth was refused; the oldest ten are of a connection, a
// provider and a resource of their own.
type auditLog struct {
	rare, common       uuid.UUID // connections
	rareRoom, room     uuid.UUID
	rareBooking, other uuid.UUID
	user               booking.Actor
}

const logged = 12_000

func fillAuditLog(t *testing.T, s *Store) auditLog {
	t.Helper()
	l := auditLog{
		rare: uuid.New(), common: uuid.New(), rareRoom: uuid.New(), room: uuid.New(), rareBooking: uuid.New(), other: uuid.New(),
	}
	user := uuid.New()
	l.user = booking.Actor("user:" + user.String())
	create := func(rows any) {
		t.Helper()
		if err := s.write.WithContext(t.Context()).Create(rows).Error; err != nil {
			t.Fatal(err)
		}
	}
	create(&userRow{ID: user, Name: "budi", Role: "operator", CreatedAt: at(moment)})
	receipts := map[uuid.UUID]uuid.UUID{}
	for i, c := range []uuid.UUID{l.rare, l.common} {
		provider := []string{"generic", "calendly"}[i]
		base, room := fmt.Sprint("base", i), []uuid.UUID{l.rareRoom, l.room}[i]
		if err := s.CreateConnection(t.Context(), providers.Connection{
			ID: c, Provider: provider, APIBase: base, Secrets: providers.Secrets{Current: "s"}, CreatedAt: moment,
		}); err != nil {
			t.Fatal(err)
		}
		receipts[c] = uuid.New()
		session := uuid.New()
		email := fmt.Sprintf("host%d@example.com", i)
		for _, q := range []struct {
			sql  string
			args []any
		}{
			{"INSERT INTO resources (id, name) VALUES (?, ?)", []any{room, email}},
			{"INSERT INTO identities (external_id, provider, api_base, resource_id, email, pinned) VALUES (?, '', '', ?, ?, 1 = 0)", []any{email, room, email}},
			{"INSERT INTO sessions (id, external_id, provider, api_base, seated, hosts, added_hosts, host_emails, clocks) VALUES (?, ?, ?, ?, 1 = 0, '[]', '[]', '{}', '{}')", []any{session, base, provider, base}},
			{"INSERT INTO session_hosts (session_id, external_id, email) VALUES (?, ?, ?)", []any{session, email, email}},
			{`INSERT INTO webhook_receipts (id, connection_id, event_key, kind, subject, status, reason, code, error, actor, body_sha256, headers, signature, received_at)
				VALUES (?, ?, 'k', 'invitee.created', '', 'processed', '', '', '', 'webhook', ?, '{}', '', ?)`, []any{receipts[c], c, make([]byte, 32), at(moment)}},
			{`INSERT INTO bookings (id, external_id, provider, api_base, seat, session_id, status, reason, title, location, invitee_name, invitee_email,
				invitee_phone, invitee_timezone, no_show, chain_id, conflicts_with, overlap_accepted, connection_id, clocks)
				VALUES (?, ?, ?, ?, '', ?, 'active', '', 'Intake call', '', ?, ?, '', '', 1 = 0, ?, '[]', 1 = 0, ?, '{}')`, []any{
				[]uuid.UUID{l.rareBooking, l.other}[i], "their" + base, provider, base, session, []string{"Rani 100%_Wijaya", "Jonas Keller"}[i],
				fmt.Sprintf("Person%d@Example.com", i), uuid.New(), c,
			}},
		} {
			if err := s.write.WithContext(t.Context()).Exec(strings.ReplaceAll(q.sql, "1 = 0", "(1 = 0)"), q.args...).Error; err != nil {
				t.Fatal(err)
			}
		}
	}
	rows := make([]transitionRow, 0, logged)
	for i := range logged {
		r := transitionRow{
			Seq: int64(i + 1), ID: uuid.New(), BookingID: l.other, Event: booking.Create, To: booking.Active, Outcome: booking.Applied,
			Actor: booking.ActorWebhook, OccurredAt: at(moment), RecordedAt: at(moment.Add(time.Duration(i/2) * time.Minute)),
			Prev: make([]byte, 32), Hash: make([]byte, 32),
		}
		receipt := receipts[l.common]
		switch {
		case i < 10:
			r.BookingID, receipt = l.rareBooking, receipts[l.rare]
		case i%100 == 1:
			r.From, r.To, r.Outcome, r.Reason = booking.Canceled, booking.Canceled, booking.Rejected, booking.ReasonIllegal
		case i%20 == 2:
			r.To, r.Reason = booking.Conflicted, booking.ReasonSlotTaken
		case i%5 == 3:
			r.Event, r.To, r.Reason = booking.Cancel, booking.Canceled, booking.ReasonCanceled
		case i%1000 == 4:
			r.Actor = l.user
		}
		r.ReceiptID = &receipt
		rows = append(rows, r)
	}
	for part := range slices.Chunk(rows, 1000) {
		create(part)
	}
	if s.dialect == migrations.Postgres {
		if err := s.write.WithContext(t.Context()).Exec("ANALYZE").Error; err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// everyPage gives all that a filter leaves, and how many pages that took.
func everyPage(t *testing.T, s *Store, f booking.Filter, limit int) (all []booking.TransitionView, pages int) {
	t.Helper()
	p := booking.Page{Limit: limit}
	for {
		list, err := s.Transitions(t.Context(), f, p)
		if err != nil {
			t.Fatal(err)
		}
		all, pages = append(all, list.Items...), pages+1
		if list.Next == "" {
			return all, pages
		}
		p.Cursor = list.Next
	}
}

// TestAuditSearches finds the same in a long log whatever the page, ends each page
// after so many candidates, and says when there is more.
func TestAuditSearches(t *testing.T) {
	t.Parallel()
	if testing.Short() || RaceDetector {
		t.Skip("make test runs it, without the race detector")
	}
	onBoth(t, func(t *testing.T, s *Store) {
		l := fillAuditLog(t, s)
		hour := moment.Add(time.Hour)
		for name, c := range map[string]struct {
			f    booking.Filter
			want int
		}{
			"all":                {booking.Filter{}, logged},
			"troubled":           {booking.Filter{Troubled: true}, 718},
			"rejected":           {booking.Filter{Outcome: booking.Rejected}, 119},
			"conflicted":         {booking.Filter{Statuses: []string{"conflicted"}}, 599},
			"reason":             {booking.Filter{Reason: booking.ReasonSlotTaken}, 599},
			"reason and outcome": {booking.Filter{Reason: booking.ReasonIllegal, Outcome: booking.Applied}, 0},
			"rare provider":      {booking.Filter{Provider: "generic"}, 10},
			"rare connection":    {booking.Filter{ConnectionID: &l.rare}, 10},
			"rare resource":      {booking.Filter{ResourceID: &l.rareRoom}, 10},
			"resource":           {booking.Filter{ResourceID: &l.room, Troubled: true}, 718},
			"no resource":        {booking.Filter{ResourceID: &l.rare}, 0},
			"booking":            {booking.Filter{BookingID: &l.rareBooking, Provider: "generic"}, 10},
			"person":             {booking.Filter{Actor: string(l.user)}, 11},
			"people":             {booking.Filter{Actor: "user"}, 11},
			"tokens":             {booking.Filter{Actor: "token"}, 0},
			"webhooks":           {booking.Filter{Actor: "webhook", Reason: booking.ReasonIllegal}, 119},
			"name":               {booking.Filter{Text: "  rANI 100%_w "}, 10},
			"no wildcard":        {booking.Filter{Text: "rani%wijaya"}, 0},
			"e-mail":             {booking.Filter{Text: "person0@example.COM"}, 10},
			"external id":        {booking.Filter{Text: "theirbase0"}, 10},
			"our id":             {booking.Filter{Text: l.rareBooking.String(), Reason: booking.ReasonStale}, 0},
			"window":             {booking.Filter{From: &moment, To: &hour, Provider: "calendly"}, 110},
			"state that is none": {booking.Filter{Statuses: []string{"pending"}}, 0},
		} {
			got, pages := everyPage(t, s, c.f, 200)
			if len(got) != c.want {
				t.Errorf("%s: %d in %d pages, not %d", name, len(got), pages, c.want)
			}
			for i := 1; i < len(got); i++ {
				if got[i].Seq >= got[i-1].Seq {
					t.Fatalf("%s: %d comes after %d", name, got[i].Seq, got[i-1].Seq)
				}
			}
			if again, _ := everyPage(t, s, c.f, 40); len(got) < 1000 && len(again) != len(got) {
				t.Errorf("%s: %d in small pages, %d in large ones", name, len(again), len(got))
			}
		}
		// The rare are past the first page's candidates: it says that there is more.
		first, err := s.Transitions(t.Context(), booking.Filter{Provider: "generic"}, booking.Page{Limit: 50})
		if err != nil || len(first.Items) != 0 || first.Next == "" {
			t.Errorf("%d found at once, next %q: %v", len(first.Items), first.Next, err)
		}
		for _, cursor := range []string{"nonsense", makeCursor(listTransitions, "x", "1"), makeCursor(listTransitions, at(moment).t.Format(stampFormat), "x"), makeCursor("bookings", "a", "b")} {
			if _, err := s.Transitions(t.Context(), booking.Filter{}, booking.Page{Cursor: cursor}); err == nil {
				t.Errorf("the cursor %q is taken", cursor)
			}
		}
		testAuditTally(t, s, l)
		testAuditPlans(t, s, l)
	})
}

func testAuditTally(t *testing.T, s *Store, l auditLog) {
	t.Helper()
	for name, c := range map[string]struct {
		f    booking.Filter
		want []booking.Tally
	}{
		"troubled": {booking.Filter{Troubled: true, Reason: booking.ReasonStale}, []booking.Tally{{Reason: booking.ReasonIllegal, Count: 119}, {Reason: booking.ReasonSlotTaken, Count: 599}}},
		"rejected": {booking.Filter{Outcome: booking.Rejected}, []booking.Tally{{Reason: booking.ReasonIllegal, Count: 119}}},
		"of few":   {booking.Filter{BookingID: &l.rareBooking}, nil},
		"looked up": {booking.Filter{Provider: "calendly", Troubled: true}, []booking.Tally{
			{Reason: booking.ReasonIllegal, Count: 119}, {Reason: booking.ReasonSlotTaken, Count: 599},
		}},
		"looked up, cut": {booking.Filter{Provider: "calendly"}, []booking.Tally{
			{Reason: booking.ReasonCanceled, Count: 400, More: true}, {Reason: booking.ReasonIllegal, Count: 20, More: true}, {Reason: booking.ReasonSlotTaken, Count: 100, More: true},
		}},
	} {
		got, err := s.Tally(t.Context(), c.f)
		slices.SortFunc(got, func(a, b booking.Tally) int { return strings.Compare(string(a.Reason), string(b.Reason)) })
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, not %+v: %v", name, got, c.want, err)
		}
	}
}

// testAuditPlans looks at how the databases would search: by an index, in the
// list's order. Neither reads the log from end to end.
func testAuditPlans(t *testing.T, s *Store, l auditLog) {
	t.Helper()
	from := moment.Add(100 * time.Hour)
	for name, f := range map[string]booking.Filter{
		"all": {}, "window": {From: &from}, "troubled": {Troubled: true, From: &from}, "rejected": {Outcome: booking.Rejected},
		"reason": {Reason: booking.ReasonStale, Troubled: true}, "provider": {Provider: "generic"}, "connection": {ConnectionID: &l.rare, Troubled: true},
		"resource": {ResourceID: &l.room}, "actor": {Actor: string(l.user)}, "text": {Text: "nobody"}, "webhook": {Actor: "webhook"},
	} {
		search, err := s.searchTransitions(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		sql := s.read.ToSQL(func(tx *gorm.DB) *gorm.DB {
			return search.fitting(tx.Session(fresh)).Limit(51).Find(&[]transitionRow{})
		})
		if plan := explained(t, s, sql); wasteful(plan) {
			t.Errorf("%s reads\n%s\nfor %s", name, plan, sql)
		}
	}
}

// wasteful tells whether a plan reads the log without an index, or sorts it. What
// SQLite scans of a coroutine are the candidates; what PostgreSQL sorts is few.
func wasteful(plan string) bool {
	candidates := strings.Count(plan, "CO-ROUTINE t\n")
	return strings.Contains(plan, "Seq Scan on transitions") || strings.Contains(plan, "TEMP B-TREE") || strings.Count(plan, "SCAN t\n") > candidates
}

func explained(t *testing.T, s *Store, sql string) string {
	t.Helper()
	explain := "EXPLAIN QUERY PLAN "
	if s.dialect == migrations.Postgres {
		explain = "EXPLAIN "
	}
	rows, err := s.read.WithContext(t.Context()).Raw(explain + sql).Rows()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var line string
		cells := []any{&line}
		if s.dialect == migrations.SQLite {
			cells = []any{new(any), new(any), new(any), &line}
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		plan += line + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
