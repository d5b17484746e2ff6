package main

import (
	"fmt"
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
	account
	*acuitytest.Server
	token string
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
	return studio{a, ac, s.token(t, "read")}
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

// TestAcuityTrouble lets Acuity hang, limit, and answer garbage for ten minutes:
// posts are acknowledged as ever, also after a crash in the midst of it, and
// everything is caught up afterwards.
func TestAcuityTrouble(t *testing.T) {
	t.Parallel()
	onBothStudios(t, func(t *testing.T, s studio) {
		desk := s.connect(t, "generic")
		var ids []int64
		troubles := []apitest.Trouble{apitest.Hanging, apitest.Limited, apitest.Blocked, apitest.Garbage, apitest.Unavailable, apitest.Cut}
		for i, trouble := range troubles {
			s.Set(trouble)
			from := monday.Add(time.Duration(i) * time.Hour)
			id, posts, err := s.Book(visitor, 1, 1, from)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			s.deliverAll(t, posts)
			// Each trouble lasts until Acuity was asked in vain.
			asked := s.Count("/appointments/")
			waitFor(t, "Acuity to be asked", func() error {
				if s.Count("/appointments/") > asked {
					return nil
				}
				return fmt.Errorf("asked %d times", asked)
			})
			ack := desk.must(t, genericBody("invitee.created", fmt.Sprintf("b-%d", i), "desk", monday, from, from.Add(time.Hour)))
			if ack.Status != "processed" {
				t.Errorf("while Acuity is %s the front desk is answered %s", trouble, ack.Status)
			}
			if trouble == apitest.Hanging && !testing.Short() {
				s.kill(t)
				s.start(t)
			}
		}
		s.Set(apitest.Healthy)
		for i, id := range ids {
			s.until(t, id, "active", monday.Add(time.Duration(i)*time.Hour))
		}
		s.settled(t)
	})
}

// TestAcuityBurst pokes for one appointment many times, and for many at once: few
// fetches, within Acuity's limits.
func TestAcuityBurst(t *testing.T) {
	t.Parallel()
	s := newStudio(t, "")
	id, posts, err := s.Book(visitor, 1, 1, monday)
	if err != nil {
		t.Fatal(err)
	}
	each(250, 32, func(i int) {
		p := posts[i%len(posts)]
		if ack, err := postTo(t.Context(), p.URL, p.Body, p.Header); err != nil || ack.HTTP/100 != 2 {
			t.Errorf("answered %+v, %v", ack, err)
		}
	})
	s.until(t, id, "active", monday)
	s.settled(t)
	if n := s.Count("/appointments/"); n > 60 {
		t.Errorf("250 pokes made %d fetches", n)
	}
	t.Logf("250 pokes for one appointment made %d fetches", s.Count("/appointments/"))

	many := 2000
	if testing.Short() {
		many = 100
	}
	var all []apitest.Post
	var ids []int64
	for i := range many {
		id, posts, err := s.Book(visitor, 1, 1, monday.Add(time.Duration(i+1)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		ids, all = append(ids, id), append(all, posts...)
	}
	each(len(all), 32, func(i int) {
		if ack, err := postTo(t.Context(), all[i].URL, all[i].Body, all[i].Header); err != nil || ack.HTTP/100 != 2 {
			t.Errorf("answered %+v, %v", ack, err)
		}
	})
	s.settled(t)
	s.until(t, ids[many-1], "active", time.Time{})
	if n := s.Busiest(); n > 11*acuityTempo {
		t.Errorf("%d requests in one second of the wall, which is %d of Acuity's", n, acuityTempo)
	}
	if n := s.MostConnections(); n > 20 {
		t.Errorf("%d connections at once", n)
	}
}

// TestAcuityGivenUp refuses our key until the tries are used up: the receipt is
// dead, kept with the reason, and counted; nothing is dropped silently.
func TestAcuityGivenUp(t *testing.T) {
	t.Parallel()
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
