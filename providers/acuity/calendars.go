package acuity

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

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
	emails map[string]string // by calendar id; nil before the first answer
	asking *question         // nil while nobody asks
}

// question is a call under way. All who need its answer wait for it, so that a
// hundred appointments of one calendar ask once, and fail together.
type question struct {
	done   chan struct{}
	emails map[string]string
	err    error
}

func newCalendars(now func() time.Time, tempo providers.Tempo) *calendars {
	return &calendars{now: now, tempo: tempo, accounts: map[account]*directory{}}
}

// email is the calendar's, or "" when it has none or the account may not ask.
func (c *calendars) email(ctx context.Context, client *http.Client, conn providers.Connection, calendarID string) (string, error) {
	c.mu.Lock()
	d := c.directory(account{connection: conn.ID, base: conn.APIBase})
	if email, fresh := c.known(d, calendarID); fresh {
		c.mu.Unlock()
		return email, nil
	}
	q := d.asking
	if q == nil {
		q = &question{done: make(chan struct{})}
		d.asking = q
		c.mu.Unlock()
		c.ask(ctx, client, conn, d, q)
		return q.emails[calendarID], q.err
	}
	c.mu.Unlock()
	select {
	case <-q.done:
		return q.emails[calendarID], q.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (c *calendars) ask(ctx context.Context, client *http.Client, conn providers.Connection, d *directory, q *question) {
	q.emails, q.err = list(ctx, client, conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.err == nil {
		d.asked, d.emails = c.now(), q.emails
	}
	d.asking = nil
	close(q.done)
}

func (c *calendars) known(d *directory, calendarID string) (email string, fresh bool) {
	if d.emails == nil {
		return "", false
	}
	email, lasts := d.emails[calendarID], unknownFor
	if email != "" {
		lasts = knownFor
	}
	return email, c.now().Sub(d.asked) < c.tempo.Wait(lasts)
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

// list asks for all calendars. An account that may not ask has none with an
// e-mail; its calendars are mapped by hand.
func list(ctx context.Context, client *http.Client, conn providers.Connection) (map[string]string, error) {
	answer, err := ask(ctx, client, conn, "/calendars", maxCalendars)
	if refused(err) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	if !answer.Array() {
		return nil, providers.BadAnswer("it is not a list of calendars")
	}
	emails := map[string]string{}
	for calendar := range answer.Items() {
		var in providers.Fields
		if email := in.Email(calendar.Get("email"), "email"); email != "" {
			emails[numeral(calendar.Get("id"))] = email
		}
	}
	return emails, nil
}

func refused(err error) bool {
	var later *providers.LaterError
	if errors.As(err, &later) {
		return false
	}
	var answer *providers.AnswerError
	return errors.Is(err, providers.ErrGone) ||
		errors.As(err, &answer) && (answer.Status == http.StatusForbidden || answer.Status == http.StatusUnauthorized)
}
