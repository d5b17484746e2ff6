package calcom

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const (
	bookingsPage = 100
	// allStatuses are all the parts of the list of bookings, by Cal.com's words:
	// canceled and declined ones are in "cancelled".
	allStatuses = "upcoming,recurring,past,cancelled,unconfirmed"

	queryTime = "2006-01-02T15:04:05.000Z"
)

// List reads a page of bookings in the order of their beginning. The API filters
// by the end where we filter by the beginning: it is asked for more, and what
// begins outside the window is dropped. The cursor is how many bookings to skip,
// and in an ordered list when the last of them begins, for people.
func (*Provider) List(ctx context.Context, client *http.Client, c providers.Connection, o providers.Origin, w providers.Window, cursor string, at time.Time) (providers.Page, error) {
	count, _, _ := strings.Cut(cursor, " ")
	skip, err := strconv.ParseUint("0"+count, 10, 31)
	if err != nil {
		return providers.Page{}, fmt.Errorf("the cursor %q is none of ours", cursor)
	}
	q := url.Values{
		"status": {allStatuses}, "sortStart": {"asc"},
		// The API's own bounds may or may not include the instant itself.
		"afterStart": {w.From.Add(-time.Second).UTC().Format(queryTime)},
		"beforeEnd":  {w.To.Add(booking.MaxLength).UTC().Format(queryTime)},
		"take":       {strconv.Itoa(bookingsPage)}, "skip": {strconv.FormatUint(skip, 10)},
	}
	answer, err := send(ctx, client, c, request{method: http.MethodGet, path: "/bookings?" + q.Encode(), version: bookingsVersion, limit: maxPage})
	if err != nil {
		return providers.Page{}, err
	}
	if !answer.Get("data").Array() {
		return providers.Page{}, providers.BadAnswer("it is not a list of bookings")
	}
	types := &eventTypes{client: client, c: c}
	page := providers.Page{Requests: 1}
	seen := map[string]bool{}
	order := starts{sorted: true}
	for b := range answer.Get("data").Items() {
		start := order.add(b)
		uid := b.Get("uid").Text()
		if uid != "" && seen[uid] || start != nil && (start.Before(w.From) || !start.Before(w.To)) {
			continue
		}
		seen[uid] = true
		s, err := types.standing(ctx, b, o, at)
		if err != nil {
			return providers.Page{}, err
		}
		page.Standings = append(page.Standings, s)
	}
	page.Requests += types.asked
	if !order.past(w.To) {
		page.Next = next(answer.Get("pagination"), int(skip), order.n)
	}
	if page.Next != "" && order.sorted && order.last != nil {
		page.Next += " " + order.last.UTC().Format(time.RFC3339)
	}
	return page, nil
}

// Reached is when the last booking before a cursor begins.
func (*Provider) Reached(cursor string) providers.Reached {
	_, last, _ := strings.Cut(cursor, " ")
	at, err := time.Parse(time.RFC3339, last)
	if err != nil {
		return providers.Reached{}
	}
	return providers.Reached{Until: at}
}

// next is the cursor of the page after one of n bookings. How many were skipped
// counts, not how many came: those that vanish while a page is made are missing
// from it.
func next(pagination providers.Value, skip, n int) string {
	step := bookingsPage
	if size, ok := pagination.Get("itemsPerPage").Whole(); ok && size >= 1 && size < bookingsPage {
		step = int(size)
	}
	more, told := pagination.Get("hasNextPage").Bool()
	if !told {
		more = n >= bookingsPage
	}
	if !more || n == 0 {
		return ""
	}
	return strconv.Itoa(skip + step)
}

// starts watches the order in which a page's bookings begin: after one that is
// too late in an ordered list come only later ones.
type starts struct {
	n      int
	last   *time.Time
	sorted bool
}

func (s *starts) add(b providers.Value) *time.Time {
	var in providers.Fields
	s.n++
	start := in.Time(b.Get("start"), "start")
	if start == nil || s.last != nil && start.Before(*s.last) {
		s.sorted = false
	}
	if start != nil {
		s.last = start
	}
	return start
}

func (s *starts) past(to time.Time) bool { return s.sorted && s.last != nil && !s.last.Before(to) }

// Look reads one booking. The uid of a series is answered with all of its
// bookings; only the one of that very uid is meant.
func (*Provider) Look(ctx context.Context, client *http.Client, c providers.Connection, o providers.Origin, externalID string, at time.Time) (providers.Standing, error) {
	b, err := look(ctx, client, c, externalID)
	if err != nil {
		return providers.Standing{}, err
	}
	return (&eventTypes{client: client, c: c}).standing(ctx, b, o, at)
}

func look(ctx context.Context, client *http.Client, c providers.Connection, uid string) (providers.Value, error) {
	if uid == "" || uid == "." || uid == ".." {
		return providers.Value{}, fmt.Errorf("%q is no booking's uid", uid)
	}
	answer, err := get(ctx, client, c, "/bookings/"+url.PathEscape(uid), bookingsVersion)
	if err != nil {
		return providers.Value{}, err
	}
	data := answer.Get("data")
	if data.Array() {
		for b := range data.Items() {
			if b.Get("uid").Text() == uid {
				return b, nil
			}
		}
		return providers.Value{}, fmt.Errorf("%w: the uid is that of a series", providers.ErrGone)
	}
	if data.Get("uid").Text() != uid {
		return providers.Value{}, providers.BadAnswer("it is not about the booking that was asked for")
	}
	if data.Get("status").Text() == "" || data.Get("start").Text() == "" {
		return providers.Value{}, providers.BadAnswer("it does not say how the booking stands; it may be of another version of the API")
	}
	return data, nil
}
