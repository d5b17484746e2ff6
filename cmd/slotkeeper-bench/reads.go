package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"reflect"
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

// The phases of reading, by database.
const (
	postgresKind = "PostgreSQL"
	sqliteKind   = "SQLite"

	weekByStore  = ", a week's bookings by the store"
	weekByHand   = ", a week's bookings by hand"
	slotsByStore = ", a week's slots by the store"
	slotsByHand  = ", a week's slots by hand"
	weekPage     = ", the calendar's page of a week"
	monthPage    = ", the calendar's page of a month"
)

// readable are 200,000 bookings, 2,000 in a week.
var readable = past{people: people, bookings: 200_000, cancelEvery: 10}

// reads measures a week's window, read by the store and by hand, and the page
// that shows it.
func (b *bench) reads(ctx context.Context) error {
	return errors.Join(b.readsOn(ctx, postgresKind, "readable"), b.readsOn(ctx, sqliteKind, ""))
}

func (b *bench) readsOn(ctx context.Context, kind, name string) (err error) {
	b.say("%s, reads: writing %d bookings", kind, readable.bookings)
	s, err := b.filled(ctx, name, readable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end(ctx, s, name)) }()
	v, err := vault.New(s.key)
	if err != nil {
		return err
	}
	address := s.database
	if address == "" {
		address = "sqlite:" + s.file()
	}
	st, err := store.Open(ctx, address, store.Options{Vault: v})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	hand, err := openByHand(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hand.close()) }()
	browser, err := signIn(ctx, s)
	if err != nil {
		return err
	}
	return b.eachRound(kind+", reads", func(_ int, r map[phase]figures) error {
		if err := compare(b, kind, weekByStore, weekByHand, r, func(w window) ([]booking.View, error) {
			return whole(ctx, w, st.Bookings)
		}, func(w window) ([]booking.View, error) { return hand.bookings(ctx, w) }); err != nil {
			return err
		}
		if err := compare(b, kind, slotsByStore, slotsByHand, r, func(w window) ([]booking.SlotView, error) {
			return whole(ctx, w, st.Slots)
		}, func(w window) ([]booking.SlotView, error) { return hand.slots(ctx, w) }); err != nil {
			return err
		}
		for page, view := range map[string]string{weekPage: "week", monthPage: "month"} {
			f, err := b.measure(s, func() ([]time.Duration, time.Duration, error) { return browser.calendars(ctx, view, b.each) })
			if err != nil {
				return err
			}
			r[phase{kind + page, 1}] = f
		}
		return nil
	})
}

// window is a week.
type window struct{ from, to time.Time }

// weekly are the weeks of the past, one after the other and from the start
// again: not one that is read again and again.
func (p past) weekly(n int) window {
	from := p.first().AddDate(0, 0, 7*(n%p.weeks()))
	return window{from, from.AddDate(0, 0, 7)}
}

// whole reads a window page by page, as the calendar's page does.
func whole[T any](ctx context.Context, w window, list func(context.Context, booking.Filter, booking.Page) (booking.List[T], error)) ([]T, error) {
	return booking.Whole(ctx, booking.Filter{From: &w.from, To: &w.to}, list)
}

// compare reads week after week in both ways, each first in turn, and holds what
// they read against each other.
func compare[T any](b *bench, kind, one, other string, r map[phase]figures, byStore, byHand func(window) ([]T, error)) error {
	ways := []struct {
		name  string
		read  func(window) ([]T, error)
		took  []time.Duration
		total time.Duration
		found []T
	}{{name: kind + one, read: byStore}, {name: kind + other, read: byHand}}
	began := time.Now()
	for n := 0; time.Since(began) < b.each; n++ {
		w := readable.weekly(n)
		for i := range ways {
			way := &ways[(i+n)%2]
			at := time.Now()
			found, err := way.read(w)
			took := time.Since(at)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			way.found, way.took, way.total = found, append(way.took, took), way.total+took
		}
		if want := readable.people * perWeek; len(ways[0].found) != want || !reflect.DeepEqual(ways[0].found, ways[1].found) {
			return fmt.Errorf("%s: %d by the store and %d by hand of the week of %s, want the same %d",
				kind, len(ways[0].found), len(ways[1].found), w.from.Format(time.DateOnly), want)
		}
	}
	for _, way := range ways {
		r[phase{way.name, 1}] = figuresOf(way.took, way.total, 0)
	}
	return nil
}

// browser is somebody who is signed in.
type browser struct {
	http.Client
	host string
}

func signIn(ctx context.Context, s *server) (*browser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	br := &browser{http.Client{Jar: jar, Timeout: answerTimeout}, s.host}
	form := url.Values{"username": {administrator}, "password": {password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.host+"/signin", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := br.Do(req)
	if err != nil {
		return nil, err
	}
	return br, resp.Body.Close()
}

// calendars loads a view's pages around one week after the other.
func (br *browser) calendars(ctx context.Context, view string, each time.Duration) ([]time.Duration, time.Duration, error) {
	began := time.Now()
	var took []time.Duration
	for n := 0; time.Since(began) < each; n++ {
		at := time.Now()
		if err := br.calendar(ctx, view, readable.weekly(n).from); err != nil {
			return nil, 0, err
		}
		took = append(took, time.Since(at))
	}
	return took, time.Since(began), nil
}

func (br *browser) calendar(ctx context.Context, view string, monday time.Time) error {
	link := "http://" + br.host + "/calendar?view=" + view + "&zone=UTC&date=" + monday.Format(time.DateOnly)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := br.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "First visit") {
		return fmt.Errorf("the calendar answered %d, with %d bytes and without the bookings", resp.StatusCode, len(body))
	}
	return nil
}
