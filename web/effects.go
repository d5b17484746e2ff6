package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// Effects asks for what is to be done at providers, and tells how far it is;
// *store.Store. Each change writes its entry with it.
type Effects interface {
	// Effects are those of a booking, newest first.
	Effects(ctx context.Context, bookingID uuid.UUID) ([]booking.Effect, error)
	// CancelPlan is how far canceling a booking at its provider would go.
	CancelPlan(ctx context.Context, bookingID uuid.UUID) (booking.CancelPlan, error)
	AskCancel(ctx context.Context, r booking.CancelRequest, e access.Entry) (booking.Effect, error)
	RetryEffect(ctx context.Context, id uuid.UUID, e access.Entry) (booking.Effect, error)
}

// effectsView is what a booking page shows of them, and what may be done.
type effectsView struct {
	Effects []effectView
	// Cancel is where to ask for a cancel; "" when that is not possible.
	Cancel     string
	MaxMessage int
}

type effectView struct {
	booking.Effect
	Provider string
	// Retry is where to have it tried again; "" when there is nothing to.
	Retry string
}

// effectsOf is what a booking page shows of its effects.
func (s *server) effectsOf(ctx context.Context, b booking.View, q calendarQuery, may bool) (effectsView, error) {
	v := effectsView{MaxMessage: booking.MaxMessage}
	all, err := s.Effects.Effects(ctx, b.ID)
	if err != nil {
		return v, err
	}
	open := false
	for _, e := range all {
		row := effectView{Effect: e, Provider: b.Provider}
		if may && (e.Status == booking.EffectFailed || e.Status == booking.EffectDead) {
			row.Retry = "/effects/" + e.ID.String() + "/retry"
		}
		open = open || e.Kind == booking.EffectCancel && e.Status.Open()
		v.Effects = append(v.Effects, row)
	}
	if may && !open && b.Status != booking.Canceled && s.reaches(b.Provider) {
		v.Cancel = cancelLink(b.ID, q)
	}
	return v, nil
}

func cancelLink(id uuid.UUID, q calendarQuery) string {
	path, query, found := strings.Cut(bookingLink(id, q), "?")
	if path += "/cancel-at-provider"; found {
		path += "?" + query
	}
	return path
}

// reaches tells whether a provider has an API to act through.
func (s *server) reaches(provider string) bool {
	_, ok := s.Providers[provider].(providers.Account)
	return ok
}

// cancelPlan is how far a cancel would go, or why there is none.
func (s *server) cancelPlan(ctx context.Context, id uuid.UUID) (booking.CancelPlan, error) {
	p, err := s.Effects.CancelPlan(ctx, id)
	if err != nil {
		return p, err
	}
	if !s.reaches(p.Booking.Provider) {
		return p, &booking.CannotCancelError{Detail: p.Booking.Provider + " has no API to cancel through: cancel it there by hand"}
	}
	return p, p.Refuse()
}

// askCancel asks for a cancel that whoever asks may ask for.
func (s *server) askCancel(ctx context.Context, r booking.CancelRequest, by access.By) (booking.Effect, error) {
	b, err := s.Records.Booking(ctx, r.BookingID)
	if err != nil {
		return booking.Effect{}, err
	}
	if !s.reaches(b.Provider) {
		_, err := s.cancelPlan(ctx, r.BookingID)
		return booking.Effect{}, err
	}
	r.RequestID = requestIDOf(ctx)
	return s.Effects.AskCancel(ctx, r, s.entry(by))
}

// entry is what the log says of who did it and when; the store adds what.
func (s *server) entry(by access.By) access.Entry {
	return access.Entry{At: s.Now().UTC().Truncate(time.Microsecond), Actor: by.Actor, Remote: by.Remote}
}

// cancelView is the page that says who would be canceled.
type cancelView struct {
	entry
	Back string
	// FromConflicts says that it leads back to the page of conflicts.
	FromConflicts bool
	Action        string // where the form goes
	Request       uuid.UUID
	Affected      []entry
	Seat          bool
	Message       string
	// Confirm is what was typed.
	Confirm    string
	MaxMessage int
	Errors     map[string]string
}

// Group tells whether others are canceled too.
func (v cancelView) Group() bool { return len(v.Affected) > 1 }

var errNoRole = &refusal{status: http.StatusForbidden, code: "forbidden"}

// cancelPage says who would be canceled, and lets that be confirmed.
func (s *server) cancelPage(c echo.Context) error {
	return s.showCancel(c, http.StatusOK, cancelView{Message: c.FormValue("message")})
}

func (s *server) showCancel(c echo.Context, status int, v cancelView) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	if !who.may(access.ActAtProvider) {
		return errNoRole
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	p, err := s.cancelPlan(ctx, id)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	q := readCalendarQuery(c.QueryParams(), who.zone, s.Now())
	v.entry, v.Back, v.Action = newEntry(p.Booking, q, names, who.language), bookingLink(id, q), cancelLink(id, q)
	if from, ok := cameFromConflicts(c.QueryParams()); ok {
		v.FromConflicts, v.Back, v.Action = true, from.Link(), from.From("/bookings/"+id.String()+"/cancel-at-provider")
	}
	v.Seat, v.MaxMessage, v.Request = p.Target.Seat != "", booking.MaxMessage, newID()
	for _, b := range p.Affected {
		v.Affected = append(v.Affected, newEntry(b, q, names, who.language))
	}
	return s.page(c, status, "cancel", page{Title: "cancel.title", Section: "calendar", Zone: q.Zone, Data: v})
}

// cancelBooking shows who would be canceled, or, of a form that says so, asks for
// the cancel.
func (s *server) cancelBooking(c echo.Context) error {
	who := s.viewer(c)
	if !who.may(access.ActAtProvider) {
		return errNoRole
	}
	if c.FormValue("request") == "" {
		return s.cancelPage(c)
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	r := booking.CancelRequest{BookingID: id, Message: formText(c, "message")}
	if r.Action, err = uuid.Parse(c.FormValue("request")); err != nil {
		return echo.NewHTTPError(http.StatusBadRequest)
	}
	typed := strings.TrimSpace(c.FormValue("confirm"))
	if r.Confirm, err = strconv.Atoi(typed); err != nil {
		r.Confirm = -1 // none that could be right
	}
	_, err = s.askCancel(c.Request().Context(), r, s.by(c))
	var unconfirmed *booking.UnconfirmedError
	var invalid *booking.InvalidError
	switch {
	case errors.As(err, &unconfirmed):
		return s.showCancel(c, http.StatusUnprocessableEntity, cancelView{
			Message: r.Message, Confirm: typed, Errors: map[string]string{"confirm": who.language.n("cancel.unconfirmed", unconfirmed.Affected)},
		})
	case errors.As(err, &invalid):
		return s.showCancel(c, http.StatusUnprocessableEntity, cancelView{
			Message: r.Message, Confirm: typed, Errors: who.language.fieldErrors(invalid),
		})
	case err != nil:
		return err
	}
	if from, ok := cameFromConflicts(c.QueryParams()); ok {
		done := from.values()
		done.Set("done", "asked")
		return c.Redirect(http.StatusSeeOther, "/conflicts?"+done.Encode())
	}
	q := readCalendarQuery(c.QueryParams(), who.zone, s.Now())
	return c.Redirect(http.StatusSeeOther, bookingLink(id, q)+"#effects")
}

// formText is a field with the line ends that a person meant: browsers send two
// characters for each, which would count twice.
func formText(c echo.Context, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(c.FormValue(name), "\r\n", "\n"))
}

// retryEffect has an effect tried again now.
func (s *server) retryEffect(c echo.Context) error {
	if !s.viewer(c).may(access.ActAtProvider) {
		return errNoRole
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	e, err := s.Effects.RetryEffect(c.Request().Context(), id, s.entry(s.by(c)))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, fmt.Sprintf("/bookings/%s#effects", e.BookingID))
}
