package calendlytest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPage is the API's most, defaultPage what it gives unasked (OFF).
const (
	maxPage     = 100
	defaultPage = 20
)

// paged answers a list as {collection, pagination} (OFF). The token is ours: what
// the real ones look like is nobody's business.
func (s *Server) paged(r *http.Request, all []map[string]any) (any, *refusal) {
	q := r.URL.Query()
	size, from := defaultPage, 0
	if text := q.Get("count"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return nil, invalid("count")
		}
		size = n
	}
	if s.options.PageSize > 0 {
		size = min(size, s.options.PageSize)
	}
	if token := q.Get("page_token"); token != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(token, "tok-"))
		if err != nil || n < 0 {
			return nil, invalid("page_token")
		}
		from = min(n, len(all))
	}
	to := min(from+size, len(all))
	link := func(at int, there bool) (page, token any) {
		if !there {
			return nil, nil
		}
		t := "tok-" + strconv.Itoa(at)
		q.Set("page_token", t)
		return publicBase + r.URL.Path + "?" + q.Encode(), t
	}
	next, nextToken := link(to, to < len(all))
	previous, previousToken := link(max(from-size, 0), from > 0)
	return map[string]any{
		"collection": append([]map[string]any{}, all[from:to]...),
		"pagination": map[string]any{
			"count": to - from, "next_page": next, "next_page_token": nextToken, "previous_page": previous, "previous_page_token": previousToken,
		},
	}, nil
}

// listEvents filters by whose they are, by state and by the beginning (OFF). That
// both bounds are counted in is UNV.
func (s *Server) listEvents(r *http.Request, by *grant) (any, *refusal) {
	q := r.URL.Query()
	user := q.Get("user")
	switch o := q.Get("organization"); {
	case o == "" && user == "":
		return nil, invalid("organization")
	case o != "" && (o != Organization || !by.of.manages()):
		return nil, denied("You do not have permission to access this resource.")
	case o == "" && user != uri(by.of.path()):
		return nil, denied("Please also specify organization when requesting events for a user within your organization.")
	}
	status := q.Get("status")
	if status != "" && status != active && status != canceled {
		return nil, invalid("status")
	}
	from, no := bound(q.Get("min_start_time"), "min_start_time")
	if no != nil {
		return nil, no
	}
	to, no := bound(q.Get("max_start_time"), "max_start_time")
	if no != nil {
		return nil, no
	}
	var found []*event
	for _, e := range s.events {
		if (user == "" || e.hostedBy(user)) && (status == "" || status == e.status()) &&
			(from.IsZero() || !e.start.Before(from)) && (to.IsZero() || !e.start.After(to)) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *event) int {
		return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.path, b.path))
	})
	if q.Get("sort") == "start_time:desc" {
		slices.Reverse(found)
	}
	all := make([]map[string]any, 0, len(found))
	for _, e := range found {
		all = append(all, e.answer())
	}
	return s.paged(r, all)
}

func bound(text, name string) (time.Time, *refusal) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, invalid(name)
	}
	return at, nil
}

func (s *Server) getEvent(r *http.Request, _ *grant) (any, *refusal) {
	e, ok := s.events[r.URL.Path]
	if !ok {
		return nil, &refusal{status: http.StatusNotFound}
	}
	return resource(e.answer()), nil
}

// listInvitees gives all of an event, in order of booking (OFF).
func (s *Server) listInvitees(r *http.Request, _ *grant) (any, *refusal) {
	e, ok := s.events["/scheduled_events/"+r.PathValue("event")]
	if !ok {
		return nil, &refusal{status: http.StatusNotFound}
	}
	status := r.URL.Query().Get("status")
	var all []map[string]any
	for _, i := range e.invitees {
		if status == "" || status == i.status() {
			all = append(all, i.answer())
		}
	}
	return s.paged(r, all)
}

// getInvitee answers without the event (OFF).
func (s *Server) getInvitee(r *http.Request, _ *grant) (any, *refusal) {
	i, ok := s.invitees[r.URL.Path]
	if !ok {
		return nil, &refusal{status: http.StatusNotFound}
	}
	return resource(i.answer()), nil
}
