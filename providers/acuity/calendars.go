package acuity

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const (
	// An e-mail that is known is believed for an hour; a calendar that has none,
	// or that the list did not have, is asked about again after a minute.
	knownFor   = time.Hour
	unknownFor = time.Minute

	// maxAccounts bounds how many connections' calendars are remembered.
	maxAccounts = 1000
)

// calendars knows the e-mails of connections' calendars, which an appointment
// does not have. An API call tells all of a connection's at once.
type calendars struct {
	now   func() time.Time
	tempo providers.Tempo

	mu       sync.Mutex
	accounts map[account]*directory
}

// account is whose calendars they are. Another API base is another world.
type account struct {
	connection uuid.UUID
	base       string
}

// directory is what one connection's API told.
type directory struct {
	asked  time.Time
	hosts  map[string]booking.Host // by calendar id; nil before the first answer
	asking *question               // nil while nobody asks
}

// question is a call under way. All who need its answer wait for it, so that a
// hundred appointments of one calendar ask once, and fail together.
type question struct {
	done  chan struct{}
	hosts map[string]booking.Host
	err   error
}

func newCalendars(now func() time.Time, tempo providers.Tempo) *calendars {
	return &calendars{now: now, tempo: tempo, accounts: map[account]*directory{}}
}

// host is the calendar as bookings name it. Its e-mail is "" when it has none or
// the account may not ask.
func (c *calendars) host(ctx context.Context, a *api, calendarID string) (booking.Host, error) {
	c.mu.Lock()
	d := c.directory(account{connection: a.conn.ID, base: a.conn.APIBase})
	if host, fresh := c.known(d, calendarID); fresh {
		c.mu.Unlock()
		return host, nil
	}
	q := d.asking
	if q == nil {
		q = &question{done: make(chan struct{})}
		d.asking = q
		c.mu.Unlock()
		c.ask(ctx, a, d, q)
		return q.host(calendarID), q.err
	}
	c.mu.Unlock()
	select {
	case <-q.done:
		return q.host(calendarID), q.err
	case <-ctx.Done():
		return booking.Host{}, context.Cause(ctx)
	}
}

func (q *question) host(calendarID string) booking.Host { return hostOf(q.hosts, calendarID) }

// hostOf is a calendar that may be none that the list has.
func hostOf(hosts map[string]booking.Host, calendarID string) booking.Host {
	if host, listed := hosts[calendarID]; listed {
		return host
	}
	return booking.Host{ExternalID: calendarHost(calendarID)}
}

// calendarHost is a calendar's id as bookings name it.
func calendarHost(calendarID string) string { return "calendar|" + calendarID }

func (c *calendars) ask(ctx context.Context, a *api, d *directory, q *question) {
	var all []calendar
	all, q.err = listCalendars(ctx, a)
	if _, mayNot := refusedWith(q.err, http.StatusForbidden); mayNot || errors.Is(q.err, providers.ErrGone) {
		// Its calendars are mapped by hand.
		all, q.err = nil, nil
	}
	q.hosts = map[string]booking.Host{}
	for _, listed := range all {
		q.hosts[listed.id] = listed.host
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.err == nil {
		d.asked, d.hosts = c.now(), q.hosts
	}
	d.asking = nil
	close(q.done)
}

func (c *calendars) known(d *directory, calendarID string) (host booking.Host, fresh bool) {
	if d.hosts == nil {
		return booking.Host{}, false
	}
	host, lasts := hostOf(d.hosts, calendarID), unknownFor
	if host.Email != "" {
		lasts = knownFor
	}
	return host, c.now().Sub(d.asked) < c.tempo.Wait(lasts)
}

func (c *calendars) directory(a account) *directory {
	d := c.accounts[a]
	if d == nil {
		if len(c.accounts) >= maxAccounts {
			c.accounts = map[account]*directory{} // asking all again costs less than bookkeeping
		}
		d = &directory{}
		c.accounts[a] = d
	}
	return d
}

// calendar is one that can be booked.
type calendar struct {
	id   string
	host booking.Host
}

// listCalendars asks for all; the API has no pages of them.
func listCalendars(ctx context.Context, a *api) ([]calendar, error) {
	answer, err := a.list(ctx, "/calendars", nil, maxCalendars, "calendars")
	if err != nil {
		return nil, err
	}
	var all []calendar
	for _, listed := range answer {
		var id, rest providers.Fields
		c := calendar{id: number(&id, listed.Get("id"), "id")}
		if id.Fault() != nil {
			continue // no appointment can name it
		}
		c.host = booking.Host{ExternalID: calendarHost(c.id), Email: rest.Email(listed.Get("email"), "email")}
		if name := rest.Text(listed.Get("name")); name != nil {
			c.host.Name = *name
		}
		all = append(all, c)
	}
	return all, nil
}
