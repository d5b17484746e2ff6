package main

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"slotkeeper/migrations/migratetest"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly/calendlytest"
)

// TestOldCalendlyBodies fetches the event that bodies of 2022 leave out: a booking
// that moves ends in one chain, whatever came first.
func TestOldCalendlyBodies(t *testing.T) {
	t.Parallel()
	long(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		oldBodies(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		oldBodies(t, migratetest.EmptyPostgres(t))
	})
}

func oldBodies(t *testing.T, databaseURL string) {
	const token = "calendly-token-0123456789"
	c := calendlytest.New(calendlytest.Options{Token: token, Tempo: acuityTempo, Now: time.Now})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	at, err := url.Parse(c.APIBase())
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, databaseURL, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host, "SLOTKEEPER_TEMPO="+strconv.Itoa(acuityTempo))
	a := s.connect(t, "calendly", "--api-url", c.APIBase(), "--api-token", token)
	c.SetHook(calendlytest.Hook{URL: s.url + "/webhooks/calendly/" + a.id.String(), Key: a.secret})
	host := calendlytest.Host{ID: "maren", Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example"}

	first, made, err := c.Book("Priya Raman", "priya.raman@mail.example", host, monday, monday.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	c.Set(apitest.Unavailable)
	second, moved, err := c.Move(first, monday.Add(15*time.Minute), monday.Add(75*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(moved, made...) {
		ack, err := postTo(t.Context(), p.URL, p.Body, p.Header)
		if err != nil || ack.HTTP != 202 || ack.Status != "pending" {
			t.Fatalf("answered %+v, %v", ack, err)
		}
	}
	c.Set(apitest.Healthy)
	key := s.token(t, "read")
	waitFor(t, "the move to be on the calendar", func() error {
		is := map[string]bookingItem{}
		for _, b := range api[bookingItem](t, s, key, "bookings") {
			is[b.ExternalID] = b
		}
		old, now := is[first], is[second]
		if old.Status != "canceled" || old.Reason == nil || *old.Reason != "rescheduled" || now.Status != "active" ||
			now.StartsAt == nil || !now.StartsAt.Equal(monday.Add(15*time.Minute)) {
			return fmt.Errorf("the old one is %s, the new one %s at %v\n%s", old.Status, now.Status, now.StartsAt, s.log)
		}
		return nil
	})
	if open := api[receiptItem](t, s, key, "receipts?status=dead"); len(open) > 0 {
		t.Errorf("%d receipts are dead", len(open))
	}
}
