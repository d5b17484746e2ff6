package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
)

// acuityTempo lets a minute at Acuity, and of our waiting, take a second.
const acuityTempo = 60

const (
	acuityUser = "12345678"
	acuityKey  = "acuity-key-0123456789abcdef"
)

// studio is an Acuity account and our connection to it.
type studio struct {
	connected
	*acuitytest.Server
	token string
	tempo providers.Tempo
}

// newStudio starts a stand-in for Acuity and connects it to a server that
// may reach it.
func newStudio(t *testing.T, databaseURL string) studio {
	t.Helper()
	return newStudioAt(t, databaseURL, acuityTempo)
}

func newStudioAt(t *testing.T, databaseURL string, tempo providers.Tempo) studio {
	t.Helper()
	ac := acuitytest.New(acuitytest.Options{UserID: acuityUser, APIKey: acuityKey, Tempo: tempo, Now: time.Now})
	if err := ac.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ac.Close() })
	at, err := url.Parse(ac.APIBase())
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, databaseURL, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host, "SLOTKEEPER_TEMPO="+strconv.Itoa(int(tempo)))
	a := s.connect(t, "acuity", "--api-url", ac.APIBase(), "--api-user", acuityUser, "--api-key", acuityKey)
	ac.AddHook(acuitytest.Hook{URL: s.url + "/webhooks/acuity/" + a.id.String(), Key: acuityKey, Dynamic: true})
	ac.AddCalendar(acuitytest.Calendar{ID: 1, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Timezone: "Europe/Berlin"})
	ac.AddCalendar(acuitytest.Calendar{ID: 2, Name: "Room 2", Timezone: "Europe/Berlin"})
	ac.AddType(acuitytest.Type{ID: 1, Name: "Consultation", Minutes: 50})
	ac.AddType(acuitytest.Type{ID: 2, Name: "Back school", Minutes: 60, ClassSize: 8})
	return studio{a, ac, s.token(t, "read"), tempo}
}

var visitor = acuitytest.Client{FirstName: "Priya", LastName: "Raman", Email: "priya.raman@mail.example", Timezone: "Asia/Kolkata"}

// deliverAll sends what Acuity sends, and wants every post taken.
func (s studio) deliverAll(t *testing.T, posts []apitest.Post) {
	t.Helper()
	for _, p := range posts {
		ack, err := postTo(t.Context(), p.URL, p.Body, p.Header)
		if err != nil || ack.HTTP/100 != 2 {
			t.Fatalf("answered %+v, %v", ack, err)
		}
	}
}

// until waits for an appointment to be as it should.
func (s studio) until(t *testing.T, id int64, status string, at time.Time) bookingItem {
	t.Helper()
	var found bookingItem
	waitFor(t, fmt.Sprintf("appointment %d to be %s", id, status), func() error {
		for _, b := range api[bookingItem](t, s.server, s.token, "bookings") {
			if b.ExternalID != strconv.FormatInt(id, 10) {
				continue
			}
			if found = b; b.Status == status && (at.IsZero() || (b.StartsAt != nil && b.StartsAt.Equal(at))) {
				return nil
			}
			return fmt.Errorf("it is %s %v at %v", b.Status, b.Reason, b.StartsAt)
		}
		return fmt.Errorf("it is not there\n%s", s.log)
	})
	return found
}

// settled waits until nothing is left to be done.
func (s studio) settled(t *testing.T) {
	t.Helper()
	waitFor(t, "everything to be settled", func() error {
		if open := api[receiptItem](t, s.server, s.token, "receipts?status=pending"); len(open) > 0 {
			return fmt.Errorf("%d receipts are open", len(open))
		}
		return nil
	})
}

func onBothStudios(t *testing.T, f func(t *testing.T, s studio)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, newStudio(t, ""))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, newStudio(t, migratetest.EmptyPostgres(t)))
	})
}

// TestAcuityAppointments follows appointments from Acuity's posts, which say
// nothing, to the calendar: booked, moved, a class, canceled, a no-show.
func TestAcuityAppointments(t *testing.T) {
	t.Parallel()
	onBothStudios(t, func(t *testing.T, s studio) {
		id, posts, err := s.Book(visitor, 1, 1, monday)
		if err != nil {
			t.Fatal(err)
		}
		s.deliverAll(t, posts)
		s.until(t, id, "active", monday)

		if posts, err = s.Move(id, 0, monday.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		s.deliverAll(t, posts)
		s.until(t, id, "active", monday.Add(2*time.Hour))

		// The same hour of the same person, by an administrator: Acuity allows it.
		rival, posts, err := s.Book(visitor, 1, 1, monday.Add(2*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		s.deliverAll(t, posts)
		s.until(t, rival, "conflicted", monday.Add(2*time.Hour))

		if posts, err = s.Cancel(id, true); err != nil {
			t.Fatal(err)
		}
		s.deliverAll(t, posts)
		s.until(t, id, "canceled", time.Time{})
		s.until(t, rival, "active", time.Time{})

		// A class: one place in the calendar, many people; one leaves.
		var seats []int64
		for range 3 {
			seat, posts, err := s.Book(visitor, 2, 2, monday.Add(24*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			s.deliverAll(t, posts)
			seats = append(seats, seat)
		}
		for _, seat := range seats {
			if b := s.until(t, seat, "active", monday.Add(24*time.Hour)); b.Reason == nil || *b.Reason != "unmapped" {
				t.Errorf("a calendar without e-mail has the resource of nobody, yet the reason is %v", b.Reason)
			}
		}
		if posts, err = s.Cancel(seats[0], false); err != nil {
			t.Fatal(err)
		}
		s.deliverAll(t, posts)
		s.until(t, seats[0], "canceled", time.Time{})
		s.until(t, seats[1], "active", time.Time{})

		// The room is mapped by hand: the class claims it, once.
		s.run(t, "resources", "map", "acuity", "calendar|2", "--name", "Room 2")
		if b := s.until(t, seats[1], "active", time.Time{}); b.Reason != nil {
			t.Errorf("after it is mapped the reason is %s", *b.Reason)
		}
		s.settled(t)
	})
}

// TestAcuityGone cancels what Acuity knows no more, but only when it says so twice.
func TestAcuityGone(t *testing.T) {
	t.Parallel()
	long(t)
	s := newStudio(t, "")
	id, posts, err := s.Book(visitor, 1, 1, monday)
	if err != nil {
		t.Fatal(err)
	}
	s.deliverAll(t, posts)
	s.until(t, id, "active", monday)
	s.Remove(id)
	s.deliverAll(t, posts)
	b := s.until(t, id, "canceled", time.Time{})
	if b.Reason == nil || *b.Reason != "removed" {
		t.Errorf("reason %v", b.Reason)
	}
}

// TestAcuityBurst pokes for one appointment many times, which makes few fetches.
func TestAcuityBurst(t *testing.T) {
	t.Parallel()
	long(t)
	onBothStudios(t, func(t *testing.T, s studio) {
		id, posts, err := s.Book(visitor, 1, 1, monday)
		if err != nil {
			t.Fatal(err)
		}
		moved := monday.Add(3 * time.Hour)
		began := time.Now()
		each(250, 32, func(i int) {
			if i == 125 {
				if _, err := s.Move(id, 0, moved); err != nil {
					t.Error(err)
				}
			}
			p := posts[i%len(posts)]
			if ack, err := postTo(t.Context(), p.URL, p.Body, p.Header); err != nil || ack.HTTP/100 != 2 {
				t.Errorf("answered %+v, %v", ack, err)
			}
		})
		took := time.Since(began)
		s.until(t, id, "active", moved)
		s.settled(t)
		// A poke joins the receipt whose fetch has not begun, so there is never more
		// than one of those. It begins when the server next looks for work: at once
		// on SQLite, though no sooner than 10 ms after it looked before, and within
		// 250 ms on PostgreSQL. Then the next poke makes a receipt of its own. So it
		// is one fetch for each look while pokes come, and one for the last of them.
		// They come in some twenty commits, between which looks and fetches take
		// their turns: on machines slow and fast it was never more than 6.
		n := s.Count("/appointments/")
		if n < 1 || n > 25 {
			t.Errorf("250 pokes within %s made %d fetches", took, n)
		}
		t.Logf("250 pokes for one appointment within %s made %d fetches", took.Round(time.Millisecond), n)
	})
}

// TestAcuityMany books so many at once that the queue is full of fetches: they
// stay within Acuity's limits.
func TestAcuityMany(t *testing.T) {
	t.Parallel()
	long(t)
	// Fast enough not to last, and slow enough that the limit holds it up too.
	s := newStudioAt(t, "", 10)
	const many = 2000
	var all []apitest.Post
	var ids []int64
	for i := range many {
		id, posts, err := s.Book(visitor, 1, 1, monday.Add(time.Duration(i)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		ids, all = append(ids, id), append(all, posts...)
	}
	began := time.Now()
	each(len(all), 32, func(i int) {
		if ack, err := postTo(t.Context(), all[i].URL, all[i].Body, all[i].Header); err != nil || ack.HTTP/100 != 2 {
			t.Errorf("answered %+v, %v", ack, err)
		}
	})
	// A busy machine may take minutes, as long as it goes on.
	for left := len(all); left > 0; {
		waitFor(t, "the queue to become shorter", func() error {
			now := s.open(t)
			if now > max(left-many/10, 0) {
				return fmt.Errorf("%d receipts are open, and were %d", now, left)
			}
			left = now
			return nil
		})
	}
	took := time.Since(began)
	active := map[string]bool{}
	for _, b := range api[bookingItem](t, s.server, s.token, "bookings") {
		active[b.ExternalID] = b.Status == "active"
	}
	for _, id := range ids {
		if !active[strconv.FormatInt(id, 10)] {
			t.Errorf("appointment %d is not on the calendar", id)
		}
	}
	s.withinLimits(t)
	t.Logf("%d appointments took %s of Acuity's time, %.1f requests a second", many, s.tempo.Passed(took).Round(time.Second),
		float64(len(s.Requests()))/s.tempo.Passed(took).Seconds())
}

// open counts the receipts that are queued.
func (s studio) open(t *testing.T) int {
	t.Helper()
	for line := range strings.Lines(s.get(t, "/metrics", s.token)) {
		if value, ok := strings.CutPrefix(line, `slotkeeper_receipts_open{status="pending"} `); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the metrics do not count what is open")
	return 0
}

// withinLimits holds what Acuity was asked against its limits: 10 requests in a
// second of its time and 20 connections. On the wall its second is too short to
// be measured while the machine is busy, so that a minute is looked at.
func (s studio) withinLimits(t *testing.T) {
	t.Helper()
	all, from, most, limited := s.Requests(), 0, 0, 0
	for to, r := range all {
		for r.At.Sub(all[from].At) >= s.tempo.Wait(time.Minute) {
			from++
		}
		most = max(most, to-from+1)
		if r.Status == http.StatusTooManyRequests {
			limited++
		}
	}
	if most > 10*60 {
		t.Errorf("%d requests within a minute of Acuity's, want at most %d", most, 10*60)
	}
	if n := s.MostConnections(); n > 20 {
		t.Errorf("%d connections at once", n)
	}
	t.Logf("%d requests, at most %d within a minute of Acuity's, %d within a second, %d told to slow down; %d connections",
		len(all), most, s.Busiest(), limited, s.MostConnections())
}

// TestAcuityGivenUp refuses our key until the tries are used up: the receipt is
// dead, kept with the reason, and counted; nothing is dropped silently.
func TestAcuityGivenUp(t *testing.T) {
	t.Parallel()
	long(t)
	s := newStudioAt(t, "", 20_000)
	s.Set(apitest.Unauthorized)
	_, posts, err := s.Book(visitor, 1, 1, monday)
	if err != nil {
		t.Fatal(err)
	}
	s.deliverAll(t, posts)
	waitFor(t, "the receipt to be given up", func() error {
		dead := api[receiptItem](t, s.server, s.token, "receipts?status=dead")
		if len(dead) != 1 {
			return fmt.Errorf("%d are dead", len(dead))
		}
		if dead[0].Error == nil || !strings.Contains(*dead[0].Error, "401") {
			t.Errorf("the reason is %v", dead[0].Error)
		}
		return nil
	})
	if m := s.get(t, "/metrics", s.token); !strings.Contains(m, `slotkeeper_receipts_open{status="dead"} 1`) {
		t.Errorf("the metrics do not count it:\n%s", m)
	}
	// The next poke is a receipt of its own, and finds what the first did not.
	s.Set(apitest.Healthy)
	id, posts, err := s.Book(visitor, 1, 1, monday.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s.deliverAll(t, posts)
	s.until(t, id, "active", time.Time{})
}
