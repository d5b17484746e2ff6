package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// Effects asks for what is to be done at providers, and tells how far it is;
// *store.Store. Each change writes its entry with it.
type Effects interface {
	// Effects are those of a booking, newest first.
	Effects(ctx context.Context, bookingID uuid.UUID) ([]booking.Effect, error)
	// EffectsOf are those of several, by booking.
	EffectsOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]booking.Effect, error)
	// CancelPlan is how far canceling a booking at its provider would go.
	CancelPlan(ctx context.Context, bookingID uuid.UUID) (booking.CancelPlan, error)
	AskCancel(ctx context.Context, r booking.CancelRequest, e access.Entry) (booking.Effect, error)
	RetryEffect(ctx context.Context, id uuid.UUID, e access.Entry) (booking.Effect, error)
	// WithdrawEffect takes back one that is still to be done.
	WithdrawEffect(ctx context.Context, id uuid.UUID, e access.Entry) (booking.Effect, error)
	// KeylessConnections are those through which nothing can be canceled.
	KeylessConnections(ctx context.Context) ([]uuid.UUID, error)
}

// effectsView is what a booking page shows of them, and what may be done.
type effectsView struct {
	Effects []effectView
	// Told is what other systems were told of the booking, newest first; none for
	// whoever is limited to some resources.
	Told []toldView
	offer
	// Undone is the newest cancel, where it failed and the booking stands.
	Undone     *effectView
	MaxMessage int
}

// toldView is a message to another system.
type toldView struct {
	booking.Effect
	System string
}

// shownTold is how many messages a booking's page shows.
const shownTold = 20

type effectView struct {
	booking.Effect
	Provider string
	// Retry is where to have it tried again, Withdraw where to take it back; "" when
	// there is nothing to.
	Retry    string
	Withdraw string
	// Waits says that it is done, and that the provider has not told of it yet.
	Waits bool
	// Again is where the account that it failed for is connected again; "" where that
	// is not the cause, or the viewer may not.
	Again string
}

// Actionable tells whether the viewer can have something done about it.
func (v effectView) Actionable() bool { return v.Retry != "" || v.Withdraw != "" || v.Again != "" }

// effectsOf is what a booking page shows of its effects.
func (s *server) effectsOf(ctx context.Context, b booking.View, q calendarQuery, names names, who viewer) (effectsView, error) {
	may := who.may(access.ActAtProvider)
	v := effectsView{MaxMessage: booking.MaxMessage}
	all, err := s.Effects.Effects(ctx, b.ID)
	if err != nil {
		return v, err
	}
	if v.Told, err = s.toldOf(ctx, all); err != nil {
		return v, err
	}
	all = slices.DeleteFunc(all, func(e booking.Effect) bool { return e.Kind != booking.EffectCancel })
	newest := newestCancel(b, all, may)
	if newest != nil && newest.Bad() {
		v.Undone = newest
	}
	for i, e := range all {
		one := newEffectView(e, b, may)
		if i == 0 && v.Undone != nil {
			if one.Again, err = s.reconnects(ctx, e, who); err != nil {
				return v, err
			}
		}
		v.Effects = append(v.Effects, one)
	}
	keyless, err := s.Effects.KeylessConnections(ctx)
	v.offer = s.offerOf(b, newest, cancelLink(b.ID, q), keyless, names, may)
	return v, err
}

// reconnects is where to connect an account again, of a cancel that failed because the
// account lets nobody in; "" where that is not why, or the viewer may not.
func (s *server) reconnects(ctx context.Context, e booking.Effect, who viewer) (string, error) {
	cause, _ := account.CauseIn(e.Error)
	keyless := booking.UndoneIn(e.Error) == booking.CannotKeyless
	if cause != account.CauseCredentials && !keyless || !who.may(access.ManageConnections) {
		return "", nil
	}
	c, err := s.Records.Connection(ctx, e.ConnectionID)
	if errors.Is(err, booking.ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return againLink(c), nil
}

// toldOf are the messages to other systems among effects.
func (s *server) toldOf(ctx context.Context, all []booking.Effect) ([]toldView, error) {
	var out []toldView
	for _, e := range all {
		if e.Kind == booking.EffectWebhook && len(out) < shownTold {
			out = append(out, toldView{Effect: e})
		}
	}
	if len(out) == 0 || scopeOf(ctx).Limited {
		return nil, nil
	}
	names, err := s.Records.EndpointNames(ctx)
	for i, t := range out {
		id, _ := booking.EndpointOf(t.Target)
		out[i].System = names[id]
	}
	return out, err
}

func newEffectView(e booking.Effect, of booking.View, may bool) effectView {
	v := effectView{Effect: e, Provider: of.Provider, Waits: e.Status == booking.EffectDone && of.Status != booking.Canceled}
	if may && (e.Status == booking.EffectFailed || e.Status == booking.EffectDead) {
		v.Retry = "/effects/" + e.ID.String() + "/retry"
	}
	if may && e.Kind == booking.EffectCancel && e.Status.Open() {
		v.Withdraw = "/effects/" + e.ID.String() + "/withdraw"
	}
	return v
}

// tellingTime is how long the provider may take to tell of a cancel that it took.
// After that another may be asked for: the first may have been undone there.
const tellingTime = time.Hour

// offer is what can be done to have a booking canceled.
type offer struct {
	// Cancel is where to ask its provider for it; "" when that is not possible.
	Cancel string
	// ByHand is the connection in whose own pages it is to be canceled; "" when it
	// need not be there. Keyless is that connection's page, where it can be given
	// credentials; "" for one that has no API.
	ByHand  string
	Keyless string
}

// offerOf is what can be done about a booking whose newest cancel is asked, at link.
func (s *server) offerOf(b booking.View, asked *effectView, link string, keyless []uuid.UUID, names names, may bool) offer {
	name := cmp.Or(names.connection[b.ConnectionID], b.Provider)
	switch {
	case b.Status == booking.Canceled:
		return offer{}
	case !s.reaches(b.Provider):
		return offer{ByHand: name}
	case asked != nil && asked.Status.Open():
		return offer{}
	case asked != nil && asked.DoneAt != nil && asked.Waits && s.Now().Before(asked.DoneAt.Add(tellingTime)):
		return offer{}
	case slices.Contains(keyless, b.ConnectionID):
		return offer{ByHand: name, Keyless: connectionLink(b.ConnectionID)}
	case may:
		return offer{Cancel: link}
	}
	return offer{}
}

// Bad tells whether it is not done, and will not be by itself or has failed before.
func (v effectView) Bad() bool {
	return v.Status == booking.EffectFailed || v.Status == booking.EffectDead
}

// newestCancel is the last cancel that was asked for of a booking that is not
// canceled yet; nil for none.
func newestCancel(of booking.View, all []booking.Effect, may bool) *effectView {
	i := slices.IndexFunc(all, func(e booking.Effect) bool { return e.Kind == booking.EffectCancel })
	if i < 0 || of.Status == booking.Canceled {
		return nil
	}
	v := newEffectView(all[i], of, may)
	return &v
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
		return p, &booking.CannotCancelError{Code: booking.CannotNoAPI, Detail: p.Booking.Provider + " has no API to cancel through: cancel it there by hand"}
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
	b, err := s.Records.Booking(ctx, id) // with its resources, which the plan does not need
	if err != nil {
		return err
	}
	q := readCalendarQuery(c.QueryParams(), who.zone, s.Now())
	v.entry, v.Back, v.Action = newEntry(b, q, names, who.language), bookingLink(id, q), cancelLink(id, q)
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
			Message: r.Message, Confirm: typed, Errors: map[string]string{"confirm": who.language.unconfirmed(r.Confirm, unconfirmed.Affected)},
		})
	case errors.As(err, &invalid):
		return s.showCancel(c, http.StatusUnprocessableEntity, cancelView{
			Message: r.Message, Confirm: typed, Errors: who.language.fieldErrors(invalid),
		})
	case err != nil:
		return err
	}
	if from, ok := cameFromConflicts(c.QueryParams()); ok {
		return c.Redirect(http.StatusSeeOther, from.done("asked"))
	}
	q := readCalendarQuery(c.QueryParams(), who.zone, s.Now())
	return c.Redirect(http.StatusSeeOther, bookingLink(id, q)+"#effects")
}

// unconfirmed says that another number would be canceled than was confirmed, or that
// none was.
func (l *language) unconfirmed(confirmed, affected int) string {
	switch {
	case affected == 1:
		return l.t("cancel.alone")
	case confirmed < 0:
		return l.n("cancel.unconfirmed.none", affected)
	}
	return l.n("cancel.unconfirmed", affected, "Confirmed", confirmed)
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
	if from, ok := cameFromConflicts(c.QueryParams()); ok {
		return c.Redirect(http.StatusSeeOther, from.done("retried"))
	}
	return c.Redirect(http.StatusSeeOther, fmt.Sprintf("/bookings/%s#effects", e.BookingID))
}

// withdrawEffect takes back an effect that is still to be done.
func (s *server) withdrawEffect(c echo.Context) error {
	if !s.viewer(c).may(access.ActAtProvider) {
		return errNoRole
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	e, err := s.Effects.WithdrawEffect(c.Request().Context(), id, s.entry(s.by(c)))
	if err != nil {
		return err
	}
	if from, ok := cameFromConflicts(c.QueryParams()); ok {
		return c.Redirect(http.StatusSeeOther, from.done("withdrawn"))
	}
	return c.Redirect(http.StatusSeeOther, fmt.Sprintf("/bookings/%s#effects", e.BookingID))
}
