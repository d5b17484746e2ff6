package calendly

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"slotkeeper/providers"
)

const (
	// maxStandings ends a page early whose events have many invitees.
	maxStandings = 1000

	apiTime = "2006-01-02T15:04:05.000000Z"
)

var errBadCursor = errors.New("the cursor is none of this list's")

// List reads the scheduled events that are active, then those that are canceled,
// and of each all its invitees, at their own times of change. The API filters by the
// beginning only.
//
// An event costs a request of its own, and a user on a free plan may ask 50 times a
// minute: a page that is cut short by a refusal, or by its own size, ends after the
// last event that was read, so that the next call goes on there and not at the
// page's beginning, which would never end.
func (*Provider) List(ctx context.Context, client *http.Client, c providers.Connection, o providers.Origin, w providers.Window, cursor string, _ time.Time) (providers.Page, error) {
	a := &api{client: client, connection: c}
	page, err := a.list(ctx, o, w, cursor)
	page.Requests = a.requests
	return page, err
}

func (a *api) list(ctx context.Context, o providers.Origin, w providers.Window, cursor string) (providers.Page, error) {
	at, list, next, err := a.listed(ctx, w, cursor)
	if err != nil {
		return providers.Page{}, err
	}
	var page providers.Page
	progress := false
	skip := at.after != "" && has(list, at.after)
	for event := range list.Items() {
		id := identity(event.Get("uri"))
		if skip {
			skip = id != at.after
			continue
		}
		if !within(event, w) {
			continue
		}
		if !eventPath.MatchString(id) {
			page.Standings = append(page.Standings, unreadable(event, o))
			continue
		}
		read, err := a.standings(ctx, o, id, event)
		if err != nil && !progress {
			return providers.Page{}, err
		}
		if err != nil {
			page.Next = at.cursor()
			return page, nil // the next call begins with this event and meets the error again
		}
		page.Standings = append(page.Standings, read...)
		progress, at.after, at.until = true, id, begins(event)
		if len(page.Standings) >= maxStandings {
			page.Next = at.cursor()
			return page, nil
		}
	}
	page.Next = at.next(next).cursor()
	return page, nil
}

// listed reads a page of events. A user who may not read the organization's is
// answered with 403 at the first page, and reads his own.
func (a *api) listed(ctx context.Context, w providers.Window, cursor string) (at position, list providers.Value, next string, err error) {
	if cursor != "" {
		if at, err = parsePosition(cursor); err == nil {
			list, next, err = a.events(ctx, w, at)
		}
		return at, list, next, err
	}
	me, err := a.me(ctx)
	if err != nil {
		return at, list, next, err
	}
	at = position{status: statusActive, owner: me.organization}
	list, next, err = a.events(ctx, w, at)
	if _, no := forbidden(err); no {
		at.owner = me.host.ExternalID
		list, next, err = a.events(ctx, w, at)
	}
	return at, list, next, err
}

func (a *api) events(ctx context.Context, w providers.Window, at position) (list providers.Value, next string, err error) {
	query := url.Values{
		"status": {at.status}, "sort": {"start_time:asc"},
		"min_start_time": {w.From.UTC().Format(apiTime)}, "max_start_time": {w.To.UTC().Format(apiTime)},
	}
	if userPath.MatchString(at.owner) {
		query.Set("user", address(at.owner))
	} else {
		query.Set("organization", address(at.owner))
	}
	return a.page(ctx, "/scheduled_events", query, at.token)
}

// within tells whether the event begins in the window: whether the API counts the
// bounds in is not documented. One whose time cannot be read is for its invitees'
// readers to refuse.
func within(event providers.Value, w providers.Window) bool {
	var in providers.Fields
	start := in.Time(event.Get("start_time"), "start_time")
	return start == nil || !start.Before(w.From) && start.Before(w.To)
}

// begins is when an event begins; "" when that cannot be read.
func begins(event providers.Value) string {
	var in providers.Fields
	start := in.Time(event.Get("start_time"), "start_time")
	if start == nil {
		return ""
	}
	return start.UTC().Format(time.RFC3339)
}

func has(events providers.Value, id string) bool {
	for e := range events.Items() {
		if identity(e.Get("uri")) == id {
			return true
		}
	}
	return false
}

// standings reads all that were invited to an event. One that is gone in the
// meantime has none.
func (a *api) standings(ctx context.Context, o providers.Origin, id string, event providers.Value) ([]providers.Standing, error) {
	var out []providers.Standing
	err := a.each(ctx, id+"/invitees", url.Values{"sort": {"created_at:asc"}}, func(invitee providers.Value) {
		out = append(out, stands(invitee, event, o))
	})
	if errors.Is(err, providers.ErrGone) {
		return nil, nil
	}
	return out, err
}

// position is how far the list was read: which events of whom, the API's token of the
// page, and the last event of that page that was read. until is when the last event
// begins, for people.
type position struct{ status, owner, token, after, until string }

func (p position) cursor() string {
	if p.status == "" {
		return ""
	}
	return url.Values{"status": {p.status}, "of": {p.owner}, "page": {p.token}, "after": {p.after}, "until": {p.until}}.Encode()
}

// next is the position after a page; the zero position after the last.
func (p position) next(token string) position {
	switch {
	case token != "":
		return position{status: p.status, owner: p.owner, token: token, until: p.until}
	case p.status == statusActive:
		return position{status: statusCanceled, owner: p.owner}
	}
	return position{}
}

func parsePosition(cursor string) (position, error) {
	v, err := url.ParseQuery(cursor)
	if err != nil {
		return position{}, errBadCursor
	}
	p := position{status: v.Get("status"), owner: v.Get("of"), token: v.Get("page"), after: v.Get("after"), until: v.Get("until")}
	if p.status != statusActive && p.status != statusCanceled ||
		!userPath.MatchString(p.owner) && !organizationPath.MatchString(p.owner) ||
		p.after != "" && !eventPath.MatchString(p.after) {
		return position{}, errBadCursor
	}
	return p, nil
}

// Reached is when the last event before a cursor begins, and which events those are.
func (*Provider) Reached(cursor string) providers.Reached {
	p, err := parsePosition(cursor)
	if err != nil {
		return providers.Reached{}
	}
	out := providers.Reached{Canceled: p.status == statusCanceled}
	if at, err := time.Parse(time.RFC3339, p.until); err == nil {
		out.Until = at
	}
	return out
}
