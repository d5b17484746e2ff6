package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom/calcomtest"
	"slotkeeper/providers/calendly/calendlytest"
)

// sizesTempo lets a minute at a provider take a little over half a second.
const sizesTempo = 100

// large is an account with much in it, and our connection to it.
type large struct {
	*server
	front *apitest.Front
	base  string
	token string
	id    uuid.UUID
}

// standIn is what all stand-ins are.
type standIn interface{ APIBase() string }

// newLarge starts an installation that may reach the account, and others.
func newLarge(t *testing.T, databaseURL string, s standIn, front *apitest.Front, others ...string) *large {
	t.Helper()
	var hosts []string
	for _, base := range append(others, s.APIBase()) {
		at, err := url.Parse(base)
		must(t, err)
		hosts = append(hosts, at.Host)
	}
	l := &large{front: front, base: s.APIBase()}
	l.server = newServer(t, databaseURL, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+strings.Join(hosts, ","), "SLOTKEEPER_TEMPO="+strconv.Itoa(sizesTempo))
	l.token = l.server.token(t, "read")
	return l
}

// brings connects the account and waits until all in it is here.
func (l *large) brings(t *testing.T, provider string, credentials ...string) {
	t.Helper()
	var out connectionItem
	args := slices.Concat([]string{"connect", provider, "--api-url", l.base}, credentials, []string{"--backfill", firstDay()})
	decode(t, l.run(t, args...), &out)
	l.id = out.ID
	l.ended(t, "backfill")
}

// ended waits for the newest run of a kind, as long as it goes on.
func (l *large) ended(t *testing.T, kind string) {
	t.Helper()
	db, last, status := l.database(t), -1, ""
	for status != "done" {
		waitFor(t, "the "+kind+" to go on", func() error {
			var pages int
			var failure string
			err := db.QueryRowContext(t.Context(), "SELECT status, pages, error FROM runs WHERE kind = '"+kind+"' ORDER BY started_at DESC LIMIT 1").
				Scan(&status, &pages, &failure)
			switch {
			case err != nil:
				return err
			case status == "failed":
				t.Fatalf("the %s failed: %s", kind, failure)
			case status != "done" && pages == last:
				return fmt.Errorf("it is %s after %d pages: %s", status, pages, failure)
			}
			last = pages
			return nil
		})
	}
}

// sync compares the account with its provider.
func (l *large) sync(t *testing.T) runItem {
	t.Helper()
	var run runItem
	decode(t, l.run(t, "connections", "sync", l.id.String(), "--json"), &run)
	if run.Status != "done" || run.Refused+run.Unreadable > 0 {
		t.Errorf("the comparison ended as %+v", run)
	}
	return run
}

// statuses counts the account's bookings by their status.
func (l *large) statuses(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, b := range api[bookingItem](t, l.server, l.token, "bookings?connection_id="+l.id.String()) {
		n[b.Status]++
	}
	return n
}

func (l *large) has(t *testing.T, when string, want map[string]int) {
	t.Helper()
	got := l.statuses(t)
	for _, status := range []string{"active", "canceled", "conflicted", "pending"} {
		if got[status] != want[status] {
			t.Errorf("%s: %d bookings are %s, want %d", when, got[status], status, want[status])
		}
	}
}

// withinLimits checks that nobody was asked more often than he allows within a
// time of his own, and never had to say so.
func (l *large) withinLimits(t *testing.T, most int, per time.Duration) {
	t.Helper()
	told := 0
	for _, r := range l.front.Requests() {
		if r.Status == http.StatusTooManyRequests {
			told++
		}
	}
	busiest := l.front.BusiestOf(per)
	if told > 0 || busiest > most {
		t.Errorf("%d requests within %s, want at most %d; %d were told to slow down", busiest, per, most, told)
	}
	t.Logf("%d requests, at most %d within %s of the provider's", len(l.front.Requests()), busiest, per)
}

// TestAcuityFullDay brings in a day that has more appointments than Acuity lists,
// which has no pages, and compares it.
func TestAcuityFullDay(t *testing.T) {
	t.Parallel()
	long(t)
	for _, many := range []int{100, 250} {
		t.Run(strconv.Itoa(many), func(t *testing.T) {
			t.Parallel()
			ac := newLargeAcuity(t)
			l := newLarge(t, "", ac, ac.Front)
			morning := firstHour().AddDate(0, 0, 3).Truncate(24 * time.Hour)
			var ids []int64
			for n := range many {
				// Ten minutes each, one after the other, in two calendars.
				ids = append(ids, bookAt(t, ac, n, int64(n%2+1), morning.Add(time.Duration(n/2)*10*time.Minute)))
			}
			l.brings(t, "acuity", "--api-user", acuityUser, "--api-key", acuityKey)
			l.has(t, "imported", map[string]int{"active": many})
			// Of three nobody tells.
			for _, id := range []int64{ids[0], ids[many/2], ids[many-1]} {
				_, err := ac.Cancel(id, false)
				must(t, err)
			}
			if run := l.sync(t); run.Differed < 3 || run.AtProvider != many-3 || run.Here != many-3 {
				t.Errorf("the comparison found %+v", run)
			}
			l.has(t, "compared", map[string]int{"active": many - 3, "canceled": 3})
			l.withinLimits(t, 10*60, time.Minute)
		})
	}
}

func newLargeAcuity(t *testing.T) *acuitytest.Server {
	t.Helper()
	ac := acuitytest.New(acuitytest.Options{UserID: acuityUser, APIKey: acuityKey, Tempo: sizesTempo, Now: time.Now, Timezone: "UTC"})
	must(t, ac.Start(t.Context()))
	t.Cleanup(func() { _ = ac.Close() })
	ac.AddCalendar(acuitytest.Calendar{ID: 1, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Timezone: "UTC"})
	ac.AddCalendar(acuitytest.Calendar{ID: 2, Name: "Room 2", Email: "room.2@harbourclinic.example", Timezone: "UTC"})
	ac.AddType(acuitytest.Type{ID: 1, Name: "Short visit", Minutes: 10})
	return ac
}

func bookAt(t *testing.T, ac *acuitytest.Server, n int, calendar int64, at time.Time) int64 {
	t.Helper()
	_, email := visitorNamed(n)
	id, _, err := ac.Book(acuitytest.Client{FirstName: "Priya", LastName: fmt.Sprintf("Raman %d", n), Email: email}, 1, calendar, at)
	must(t, err)
	return id
}

// TestCalendlyLargeGroup brings in an event with forty who come: one place in the
// calendar, forty bookings.
func TestCalendlyLargeGroup(t *testing.T) {
	t.Parallel()
	long(t)
	const many = 40
	c := newLargeCalendly(t)
	l := newLarge(t, "", c, c.Front)
	at := firstHour()
	event := c.Open(calendlytest.Session{Name: "Back school", Start: at, End: at.Add(50 * time.Minute), Limit: many})
	var invitees []string
	join := func(n int) {
		name, email := visitorNamed(n)
		path, _, err := c.Join(event, name, email)
		must(t, err)
		invitees = append(invitees, path)
	}
	for n := range many {
		join(n)
	}
	l.brings(t, "calendly", "--api-token", calendlyFirstToken)
	l.has(t, "imported", map[string]int{"active": many})
	one := func(want int) {
		t.Helper()
		type slot struct {
			Status     string      `json:"status"`
			BookingIDs []uuid.UUID `json:"booking_ids"`
		}
		slots := slices.DeleteFunc(api[slot](t, l.server, l.token, "slots"), func(s slot) bool { return s.Status != "active" })
		if len(slots) != 1 || len(slots[0].BookingIDs) != want {
			t.Errorf("%d slots, with %+v; want one with %d bookings", len(slots), slots, want)
		}
	}
	one(many)
	for _, path := range invitees[:5] {
		_, err := c.Cancel(path)
		must(t, err)
	}
	join(many)
	join(many + 1)
	l.sync(t)
	l.has(t, "compared", map[string]int{"active": many - 3, "canceled": 5})
	one(many - 3)
	l.withinLimits(t, calendlytest.PaidPlan, time.Minute)
}

func newLargeCalendly(t *testing.T) *calendlytest.Server {
	t.Helper()
	c := calendlytest.New(calendlytest.Options{Token: calendlyFirstToken, Owner: calendlyOwner, Tempo: sizesTempo, Now: time.Now})
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestCalcomLongSeries brings in a series of a year's weeks, of which each is a
// booking of its own.
func TestCalcomLongSeries(t *testing.T) {
	t.Parallel()
	long(t)
	const many = 52
	c := newLargeCalcom(t)
	l := newLarge(t, "", c, c.Front)
	_, uids, _, err := c.BookSeries(calcomSingle, calcomtest.Person{Name: "Priya Raman", Email: "priya.raman@mail.example", Timezone: "Asia/Kolkata"},
		firstHour(), 7*24*time.Hour, many)
	must(t, err)
	l.brings(t, "calcom", "--api-token", calcomFirstKey)
	l.has(t, "imported", map[string]int{"active": many})
	for _, uid := range []string{uids[1], uids[2], uids[many-1]} {
		_, done, err := c.Cancel(uid, "cannot come")
		must(t, err)
		done()
	}
	_, _, err = c.Reschedule(uids[3], firstHour().Add(22*24*time.Hour))
	must(t, err)
	l.sync(t) // which looks at the next two months
	l.has(t, "compared", map[string]int{"active": many - 2, "canceled": 3})
	decode(t, l.run(t, "connections", "backfill", l.id.String(), "--from", firstDay(), "--json"), &runItem{})
	l.has(t, "imported again", map[string]int{"active": many - 3, "canceled": 4})
	l.withinLimits(t, calcomMost, time.Minute)
}

// calcomMost is what Cal.com's bucket lets through in a minute: all that is in it,
// and what comes in meanwhile.
const calcomMost = 2 * 120

func newLargeCalcom(t *testing.T) *calcomtest.Server {
	t.Helper()
	c := calcomtest.New(calcomtest.Options{Key: calcomFirstKey, User: calcomOwner, Tempo: sizesTempo, Now: time.Now})
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { _ = c.Close() })
	c.AddEventType(calcomtest.EventType{ID: calcomSingle, Slug: "first", Title: "First visit", Minutes: 30, Location: "Room 1"})
	return c
}

// TestLargeImport brings in a thousand bookings of each provider within its limits,
// while others' webhooks are acknowledged.
func TestLargeImport(t *testing.T) {
	t.Parallel()
	long(t)
	const calm = 100
	thousands := 1 // make bench imports 5,000 at Cal.com, too
	if os.Getenv("SLOTKEEPER_SOAK") != "" {
		thousands = 5
	}
	hour := func(n int) time.Time { return firstHour().Add(time.Duration(n) * time.Hour) }
	for _, one := range []struct {
		name        string
		credentials []string
		many, most  int
		make        func(t *testing.T, many int) (standIn, *apitest.Front)
	}{
		{"calendly", []string{"--api-token", calendlyFirstToken}, 1000 * thousands, calendlytest.PaidPlan, func(t *testing.T, many int) (standIn, *apitest.Front) {
			c := newLargeCalendly(t)
			for n := range many {
				name, email := visitorNamed(n)
				_, _, err := c.Book(name, email, calendlyOwner, hour(n), hour(n).Add(30*time.Minute))
				must(t, err)
			}
			return c, c.Front
		}},
		{"calcom", []string{"--api-token", calcomFirstKey}, 1000 * thousands, calcomMost, func(t *testing.T, many int) (standIn, *apitest.Front) {
			c := newLargeCalcom(t)
			for n := range many {
				name, email := visitorNamed(n)
				_, _, err := c.Book(calcomSingle, calcomtest.Person{Name: name, Email: email, Timezone: "Europe/Berlin"}, hour(n))
				must(t, err)
			}
			return c, c.Front
		}},
		{"acuity", []string{"--api-user", acuityUser, "--api-key", acuityKey}, 1000 * thousands, 10 * 60, func(t *testing.T, many int) (standIn, *apitest.Front) {
			ac := newLargeAcuity(t)
			for n := range many {
				bookAt(t, ac, n, 1, hour(n))
			}
			return ac, ac.Front
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s, front := one.make(t, one.many)
			l := newLarge(t, migratetest.EmptyPostgres(t), s, front)
			m := newMeter(t, l.server)
			before := m.during(t, func() { l.waitsFor(t, calm) })
			began := time.Now()
			during := m.during(t, func() { l.brings(t, one.name, one.credentials...) })
			took := time.Since(began)
			compareAcks(t, before, during)
			l.has(t, "imported", map[string]int{"active": one.many})
			l.withinLimits(t, one.most, time.Minute)
			t.Logf("%d bookings took %s, which are %s of the provider's time", one.many, took.Round(time.Millisecond),
				providers.Tempo(sizesTempo).Passed(took).Round(time.Second))
		})
	}
}

// waitsFor waits until so many posts were taken.
func (l *large) waitsFor(t *testing.T, posts int) {
	t.Helper()
	waitFor(t, "posts to be taken", func() error {
		if n := len(api[receiptItem](t, l.server, l.token, "receipts")); n < posts {
			return errors.New("too few")
		}
		return nil
	})
}
