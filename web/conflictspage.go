package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Overlaps accepts what conflicts, by hand and by rule, and tells since when, by whom,
// and how bookings came to stand as they do; *store.Store. Each change writes its entry
// with it.
type Overlaps interface {
	// AcceptOverlaps accepts several at once. Those that are not conflicted are
	// refused, one by one.
	AcceptOverlaps(ctx context.Context, by access.By, ids []uuid.UUID, reason string, now time.Time) ([]booking.OverlapAnswer, error)
	// SetOverlapRule switches a resource's rule and tells how many open conflicts
	// it accepted.
	SetOverlapRule(ctx context.Context, by access.By, id uuid.UUID, on bool, now time.Time) (int, error)
	ConflictNotes(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]booking.ConflictNote, error)
	Arrivals(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]booking.Arrival, error)
}

const (
	conflictsPageSize = 25
	// maxHolders is how many of those who hold a place are shown: a group may have
	// hundreds.
	maxHolders = 5
)

type conflictsView struct {
	Query     conflictsQuery
	Pairs     []pair
	Shown     int    // bookings that wait, of which a meeting may have several
	First     string // the list's beginning; "" when this is it
	Next      string
	Resources []option
	Providers []string
	Resource  string // name of the one that is shown
	Rule      string // where its rule is; "" when none is shown
	Action    string // where the form goes; "" for who may not
	MaxReason int

	// What was done just now.
	Accepted int
	Refused  int
	Already  []already
	Done     string // asked: for a cancel; retried: one that failed; withdrawn: one that waited

	// Hidden are the open ones to come that the filters leave out, of a page that
	// shows none.
	Hidden int

	// What was typed, of a form that was refused.
	Reason string
	Errors map[string]string
}

// conflictsPage lists the conflicts, the next first.
func (s *server) conflictsPage(c echo.Context) error {
	q := readConflictsQuery(c.QueryParams())
	v := conflictsView{Query: q}
	if done := c.QueryParam("done"); done == "asked" || done == "retried" || done == "withdrawn" {
		v.Done = done
	}
	for _, text := range c.QueryParams()["already"] {
		if id, err := uuid.Parse(text); err == nil && len(v.Already) < conflictsPageSize {
			v.Already = append(v.Already, already{ID: id})
		}
	}
	v.Accepted, _ = strconv.Atoi(c.QueryParam("accepted")) // 0 when it is no number
	v.Refused, _ = strconv.Atoi(c.QueryParam("refused"))
	return s.showConflicts(c, http.StatusOK, v, nil)
}

func (s *server) showConflicts(c echo.Context, status int, v conflictsView, chosen []string) error {
	ctx, who, q := c.Request().Context(), s.viewer(c), v.Query
	found, next, err := s.conflicting(ctx, q)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	v.Resources, v.Providers, v.Resource = names.resources, names.providers, names.resource[q.Resource]
	v.MaxReason = booking.MaxOverlapReason
	if v.Resource != "" {
		v.Rule = ruleLink(q.Resource)
	}
	if who.may(access.AcceptOverlaps) && q.Show == showOpen {
		v.Action = q.at("/conflicts/accept")
	}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	if v.Already, err = s.alreadyAccepted(ctx, v.Already, actors, who); err != nil {
		return err
	}
	if v.Pairs, err = s.pairs(ctx, found, conflictsWindow{query: q, names: names, actors: actors, who: who}); err != nil {
		return err
	}
	for i := range v.Pairs {
		v.Pairs[i].Chosen = slices.Contains(chosen, v.Pairs[i].Chooses())
	}
	v.Shown, v.Next = len(found), next
	if q.Cursor != "" || q.Over {
		v.First = q.First()
	}
	if len(found) == 0 && q.Show == showOpen && q.Filtered() {
		if v.Hidden, err = s.Records.OpenConflicts(ctx, s.Now()); err != nil {
			return err
		}
	}
	return s.page(c, status, "conflicts", page{Title: "conflicts.title", Section: "conflicts", Data: v})
}

// conflicting is a page of those that wait, and where the next one is. Those that are
// over come last: nothing can be saved there any more.
func (s *server) conflicting(ctx context.Context, q conflictsQuery) ([]booking.View, string, error) {
	now := s.Now()
	list, err := s.Records.Bookings(ctx, q.filter(now), booking.Page{Limit: conflictsPageSize, Cursor: q.Cursor})
	if err != nil {
		return nil, "", err
	}
	found := list.Items
	if q.Over {
		found = slices.DeleteFunc(found, func(b booking.View) bool { return !over(b, now) }) // they stood before these
	}
	switch {
	case list.Next != "":
		return found, q.Next(list.Next), nil
	case !q.Past || q.Over:
		return found, "", nil
	}
	q.Over, q.Cursor = true, ""
	past, next, err := s.conflicting(ctx, q)
	return append(found, past...), next, err
}

// over tells whether a booking's time has passed.
func over(b booking.View, now time.Time) bool { return b.EndsAt != nil && !b.EndsAt.After(now) }

// oneSource tells whether bookings are of one provider, as rules see it: each
// connection of a generic sender is a world of its own.
func oneSource(a, b booking.View) bool {
	return a.Provider == b.Provider && (a.Provider != generic || a.ConnectionID == b.ConnectionID)
}

func ruleLink(resource uuid.UUID) string { return resourceLink(resource) + "#overlaps" }

// acceptConflicts accepts those that were chosen, or all that the page showed.
func (s *server) acceptConflicts(c echo.Context) error {
	who := s.viewer(c)
	if !who.may(access.AcceptOverlaps) {
		return errNoRole
	}
	form, err := c.FormParams()
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest)
	}
	chosen := form["booking"]
	if form.Get("all") != "" {
		chosen = form["shown"]
	}
	v := conflictsView{Query: readConflictsQuery(c.QueryParams()), Reason: formText(c, "reason")}
	if len(chosen) == 0 {
		v.Errors = map[string]string{"booking": who.language.t("conflicts.none.chosen")}
		return s.showConflicts(c, http.StatusUnprocessableEntity, v, nil)
	}
	var ids []uuid.UUID
	for _, all := range chosen {
		for _, text := range strings.Split(all, idSeparator) { // those of one meeting
			id, err := parseID(text)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
	}
	answers, err := s.acceptOverlaps(c.Request().Context(), s.by(c), ids, v.Reason)
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		v.Errors = who.language.fieldErrors(invalid)
		return s.showConflicts(c, http.StatusUnprocessableEntity, v, chosen)
	}
	if errors.Is(err, booking.ErrBeingTried) {
		v.Errors = map[string]string{"booking": who.language.t("conflicts.tried")}
		return s.showConflicts(c, http.StatusConflict, v, chosen)
	}
	if err != nil {
		return err
	}
	q := v.Query.first()
	done, accepted, refused := q.values(), 0, 0
	for _, a := range answers {
		switch {
		case a.Refused != nil:
			refused++
		case a.Unchanged:
			done.Add("already", a.BookingID.String())
		default:
			accepted++
		}
	}
	if accepted > 0 {
		done.Set("accepted", strconv.Itoa(accepted))
	}
	if refused > 0 {
		done.Set("refused", strconv.Itoa(refused))
	}
	return c.Redirect(http.StatusSeeOther, "/conflicts?"+done.Encode())
}

// acceptOverlaps accepts overlaps and logs what the machine refuses, as it does of
// deliveries.
func (s *server) acceptOverlaps(ctx context.Context, by access.By, ids []uuid.UUID, reason string) ([]booking.OverlapAnswer, error) {
	answers, err := s.Overlaps.AcceptOverlaps(ctx, by, ids, reason, s.Now())
	for _, a := range answers {
		if a.Refused != nil {
			s.Log.LogAttrs(ctx, slog.LevelWarn, "transition refused",
				slog.String("request_id", requestIDOf(ctx)), slog.String("booking", a.BookingID.String()), slog.String("event", string(a.Refused.Action)),
				slog.String("from", string(a.Refused.From)), slog.String("reason", string(booking.ReasonIllegal)), slog.String("actor", string(by.Actor)))
		}
	}
	return answers, err
}

// setOverlapRule switches a resource's rule.
func (s *server) setOverlapRule(c echo.Context) error {
	if !s.viewer(c).may(access.AcceptOverlaps) {
		return errNoRole
	}
	r, err := s.resourceOf(c)
	if err != nil {
		return err
	}
	to := c.FormValue("to")
	if to != "on" && to != "off" {
		return echo.NewHTTPError(http.StatusBadRequest)
	}
	on := to == "on"
	accepted, err := s.Overlaps.SetOverlapRule(c.Request().Context(), s.by(c), r.ID, on, s.Now())
	if err != nil {
		return err
	}
	done := url.Values{"done": {"unruled"}}
	if on {
		done.Set("done", "ruled")
		done.Set("accepted", strconv.Itoa(accepted))
	}
	return c.Redirect(http.StatusSeeOther, resourceLink(r.ID)+"?"+done.Encode())
}
