package calcomtest

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"slotkeeper/providers/apitest"
)

const maxTake = 250

var statuses = []string{"upcoming", "recurring", "past", "cancelled", "unconfirmed"}

// query is what GET /bookings is asked for.
type query struct {
	statuses           []string
	afterStart, before time.Time // of the end; zero for none
	take, skip         int
	sort               string
}

// readQuery refuses what the validators do (R).
func readQuery(q url.Values) (query, string) {
	out := query{take: 100, sort: q.Get("sortStart")}
	if text := q.Get("status"); text != "" {
		out.statuses = strings.Split(text, ",")
	}
	for _, status := range out.statuses {
		if !slices.Contains(statuses, status) {
			return out, "Invalid status. Allowed are upcoming, recurring, past, cancelled, unconfirmed"
		}
	}
	var err error
	for name, into := range map[string]*time.Time{"afterStart": &out.afterStart, "beforeEnd": &out.before} {
		if text := q.Get(name); text != "" {
			if *into, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return out, name + " must be a valid ISO 8601 date."
			}
		}
	}
	if text := q.Get("take"); text != "" {
		if out.take, err = strconv.Atoi(text); err != nil || out.take < 1 || out.take > maxTake {
			return out, "take must not be greater than 250"
		}
	}
	if text := q.Get("skip"); text != "" {
		if out.skip, err = strconv.Atoi(text); err != nil || out.skip < 0 {
			return out, "skip must not be less than 0"
		}
	}
	return out, ""
}

func (q query) wants(b *row, now time.Time) bool {
	if !q.afterStart.IsZero() && b.Start.Before(q.afterStart) || !q.before.IsZero() && b.End.After(q.before) {
		return false
	}
	if len(q.statuses) == 0 {
		return true
	}
	ended, closed := b.End.Before(now), b.Status == Cancelled || b.Status == Rejected
	return slices.ContainsFunc(q.statuses, func(status string) bool {
		switch status {
		case "upcoming":
			return !ended && !closed && b.Status != Pending
		case "recurring":
			return !ended && !closed && b.Series != ""
		case "past":
			return ended && !closed
		case "cancelled":
			return closed
		case "unconfirmed":
			return !ended && b.Status == Pending
		}
		return false
	})
}

func (s *Server) getBookings(w http.ResponseWriter, r *http.Request) {
	q, wrong := readQuery(r.URL.Query())
	if wrong != "" {
		s.fail(w, r, http.StatusBadRequest, wrong)
		return
	}
	s.mu.Lock()
	var found []*row
	for _, b := range s.bookings {
		if q.wants(b, s.now()) {
			found = append(found, b)
		}
	}
	if q.sort != "" {
		slices.SortStableFunc(found, func(a, b *row) int {
			if q.sort == "desc" {
				a, b = b, a
			}
			return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
		})
	}
	from := min(q.skip, len(found))
	page := found[from:min(from+q.take, len(found))]
	right := r.Header.Get("Cal-Api-Version") == bookingsVersion
	out := make([]any, 0, len(page))
	for _, b := range page {
		if right {
			out = append(out, b.api())
		} else {
			out = append(out, b.oldAPI())
		}
	}
	s.mu.Unlock()
	if !right {
		s.answer(w, r, http.StatusOK, map[string]any{"bookings": out, "recurringInfo": []any{}, "nextCursor": nil})
		return
	}
	pages := (len(found) + q.take - 1) / q.take
	s.answer(w, r, http.StatusOK, out, map[string]any{"pagination": map[string]any{
		"returnedItems": len(page), "totalItems": len(found), "itemsPerPage": q.take, "remainingItems": max(len(found)-q.skip-q.take, 0),
		"currentPage": min(q.skip/q.take+1, pages), "totalPages": pages, "hasNextPage": q.skip+q.take < len(found), "hasPreviousPage": q.skip > 0,
	}})
}

func (s *Server) getBooking(w http.ResponseWriter, r *http.Request) {
	uid := r.PathValue("uid")
	s.mu.Lock()
	var series []any
	b, ok := s.find(uid)
	var one any
	for _, in := range s.bookings {
		if in.Series == uid {
			series = append(series, in.api())
		}
	}
	if ok {
		one = b.api()
		if r.Header.Get("Cal-Api-Version") != bookingsVersion {
			one = b.oldAPI()
		}
	}
	s.mu.Unlock()
	switch {
	case ok:
		s.answer(w, r, http.StatusOK, one)
	case series != nil:
		s.answer(w, r, http.StatusOK, series)
	default:
		s.noBooking(w, r)
	}
}

func (s *Server) noBooking(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, http.StatusNotFound, "Booking with uid="+r.PathValue("uid")+" was not found in the database")
}

type cancelInput struct {
	Reason  *string `json:"cancellationReason"`
	SeatUID *string `json:"seatUid"`
}

func (s *Server) cancelBooking(w http.ResponseWriter, r *http.Request) {
	var in cancelInput
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &in) != nil {
		s.fail(w, r, http.StatusBadRequest, "Body should be an object")
		return
	}
	status, message := s.cancelByAPI(r.Context(), r.PathValue("uid"), in)
	if status != http.StatusOK {
		s.fail(w, r, status, message)
		return
	}
	s.getBooking(w, r)
}

// cancelByAPI sends before the state changes (B).
func (s *Server) cancelByAPI(ctx context.Context, uid string, in cancelInput) (status int, message string) {
	posts, done, status, message := s.beginCancel(uid, in)
	if status != http.StatusOK {
		return status, message
	}
	if s.options.Deliver != nil {
		s.options.Deliver(ctx, posts)
	} else {
		s.mu.Lock()
		s.outbox = append(s.outbox, posts...)
		s.mu.Unlock()
	}
	done()
	return http.StatusOK, ""
}

func (s *Server) beginCancel(uid string, in cancelInput) (posts []apitest.Post, done func(), status int, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.find(uid)
	reason := ""
	if in.Reason != nil {
		reason = *in.Reason
	}
	switch {
	case !ok:
		return nil, nil, http.StatusNotFound, "Booking with uid=" + uid + " was not found in the database"
	case in.SeatUID != nil && in.Reason != nil && s.options.SeatsWithoutReason:
		return nil, nil, http.StatusBadRequest, "cancellationReason property is wrong,property cancellationReason should not exist "
	case in.SeatUID != nil:
		i := slices.IndexFunc(b.Seats, func(seat Seat) bool { return seat.UID == *in.SeatUID })
		if i < 0 {
			return nil, nil, http.StatusBadRequest, "Invalid seatUid: this seat does not exist or has already been cancelled."
		}
		posts, done = s.cancelSeat(b, b.Seats[i])
	case b.Status == Cancelled || b.Status == Rejected:
		return nil, nil, http.StatusBadRequest, "This booking has already been cancelled."
	case b.End.Before(s.now()):
		return nil, nil, http.StatusBadRequest, "Cannot cancel a booking that has already ended"
	case strings.TrimSpace(reason) == "":
		return nil, nil, http.StatusBadRequest, "Cancellation reason is required when you are the host"
	default:
		posts, done = s.cancel(b, reason)
	}
	return posts, done, http.StatusOK, ""
}
