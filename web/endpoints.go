package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/endpoint"
)

// Endpoints are the other systems that are told of events; *store.Store. Each change
// writes its entry with it, and gives booking.ErrNotFound for an endpoint that is not
// there or is so already.
type Endpoints interface {
	// Endpoints come with their secrets, oldest first.
	Endpoints(ctx context.Context) ([]booking.Endpoint, error)
	Endpoint(ctx context.Context, id uuid.UUID) (booking.Endpoint, error)
	// Webhooks are what one was told, newest first.
	Webhooks(ctx context.Context, endpoint uuid.UUID, status booking.EffectStatus, before int64, limit int) ([]booking.Effect, error)
	// Attempts are the tries of messages, by message.
	Attempts(ctx context.Context, effects []uuid.UUID) (map[uuid.UUID][]booking.Attempt, error)
	AddEndpoint(ctx context.Context, e booking.Endpoint, by access.By) error
	RemoveEndpoint(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error
	SwitchEndpoint(ctx context.Context, id uuid.UUID, on, skip bool, by access.By, now time.Time) error
	RotateEndpoint(ctx context.Context, id uuid.UUID, secret string, by access.By, now time.Time) error
	FinishEndpointRotation(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error
	// RetryWebhook has a message sent again, also one that got through.
	RetryWebhook(ctx context.Context, endpoint, message uuid.UUID, e access.Entry) error
}

// Tester sends an endpoint a message at once; *endpoint.Dispatcher.
type Tester interface {
	Test(ctx context.Context, endpoint uuid.UUID, requestID string, by access.By) (booking.Attempt, error)
}

const (
	endpointsPath = "/settings/endpoints"
	shownWebhooks = 50
)

func endpointLink(id uuid.UUID) string { return endpointsPath + "/" + id.String() }

func (s *server) endpointRoutes(e *echo.Echo, signedIn []echo.MiddlewareFunc) {
	e.GET(endpointsPath, s.endpointsPage, signedIn...)
	e.POST(endpointsPath, s.addEndpoint, signedIn...)
	e.GET(endpointsPath+"/:id", s.endpointPage, signedIn...)
	e.POST(endpointsPath+"/:id/test", s.testEndpoint, signedIn...)
	e.POST(endpointsPath+"/:id/rotate", s.rotateEndpoint, signedIn...)
	e.POST(endpointsPath+"/:id/finish", s.finishEndpoint, signedIn...)
	e.POST(endpointsPath+"/:id/switch", s.switchEndpoint, signedIn...)
	e.POST(endpointsPath+"/:id/remove", s.removeEndpoint, signedIn...)
	e.POST(endpointsPath+"/:id/messages/:message/retry", s.retryWebhook, signedIn...)
}

type endpointsView struct {
	settingsTabs
	Endpoints []endpointRow
	Done      string

	// What can be chosen, and what was typed.
	Events    []choiceBox
	Resources []choiceBox
	Name, URL string
	People    bool
	Errors    map[string]string
}

type endpointRow struct {
	booking.Endpoint
	Link  string
	Where []string // names of the resources that it is narrowed to
	// Cause is why nothing gets through, in words; "" while something does.
	Cause string
}

func (s *server) endpointsPage(c echo.Context) error {
	return s.showEndpoints(c, http.StatusOK, endpointsView{Done: oneOfDone(c, "removed")}, booking.Endpoint{})
}

func (s *server) showEndpoints(c echo.Context, status int, v endpointsView, chosen booking.Endpoint) error {
	l := s.viewer(c).language
	names, err := s.names(c.Request().Context())
	if err != nil {
		return err
	}
	all, err := s.Endpoints.Endpoints(c.Request().Context())
	if err != nil {
		return err
	}
	for _, e := range all {
		row := newEndpointRow(e, names)
		if row.Cause, err = s.endpointCause(c, e); err != nil {
			return err
		}
		v.Endpoints = append(v.Endpoints, row)
	}
	for _, event := range booking.EndpointEvents() {
		v.Events = append(v.Events, choiceBox{option{Value: string(event), Label: l.named("told", string(event))}, slices.Contains(chosen.Events, event)})
	}
	v.Resources = names.resourceBoxes(chosen.Resources)
	v.settingsTabs = s.settingsTabs(c, "endpoints")
	v.Name, v.URL, v.People = chosen.Name, chosen.URL, chosen.People
	return s.page(c, status, "settingsendpoints", page{Title: "endpoints.title", Section: "settings", Data: v})
}

func newEndpointRow(e booking.Endpoint, names names) endpointRow {
	row := endpointRow{Endpoint: e, Link: endpointLink(e.ID)}
	for _, id := range e.Resources {
		row.Where = append(row.Where, names.resource[id])
	}
	return row
}

// endpointCause is why the newest message that did not get through did not.
func (s *server) endpointCause(c echo.Context, e booking.Endpoint) (string, error) {
	if e.FailingSince == nil {
		return "", nil
	}
	ctx := c.Request().Context()
	for _, status := range []booking.EffectStatus{booking.EffectFailed, booking.EffectDead} {
		newest, err := s.Endpoints.Webhooks(ctx, e.ID, status, 0, 1)
		if err != nil {
			return "", err
		}
		if len(newest) == 0 {
			continue
		}
		tries, err := s.Endpoints.Attempts(ctx, []uuid.UUID{newest[0].ID})
		if err != nil {
			return "", err
		}
		if of := tries[newest[0].ID]; len(of) > 0 {
			return s.viewer(c).language.tried(of[len(of)-1]).Why, nil
		}
	}
	return "", nil
}

// addEndpoint leads to the endpoint's page, which shows its secret this once.
func (s *server) addEndpoint(c echo.Context) error {
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	e := booking.Endpoint{
		ID: newID(), Name: strings.TrimSpace(form.Get("name")), URL: strings.TrimSpace(form.Get("url")), People: form.Get("people") != "",
		Secret: endpoint.NewSecret(), CreatedBy: s.by(c).Actor, CreatedAt: s.Now().UTC().Truncate(time.Microsecond),
	}
	for _, name := range form["event"] {
		e.Events = append(e.Events, booking.EndpointEvent(name))
	}
	if e.Resources, err = tickedResources(form["resource"]); err == nil {
		err = e.Check(s.PrivateHosts)
	}
	if err == nil {
		err = s.Endpoints.AddEndpoint(c.Request().Context(), e, s.by(c))
	}
	if errors.Is(err, booking.ErrNotFound) {
		err = &booking.InvalidError{Field: "resource"}
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showEndpoints(c, http.StatusUnprocessableEntity, endpointsView{Errors: s.viewer(c).language.fieldErrors(invalid)}, e)
	}
	if err != nil {
		return err
	}
	return s.showEndpoint(c, http.StatusCreated, e.ID, endpointView{Secret: e.Secret, Done: "added"})
}

type endpointView struct {
	settingsTabs
	endpointRow
	Maker string
	Done  string
	// Secret is one that was just made: it is shown now and never again.
	Secret string
	// Tried is the test that was just sent; nil for none.
	Tried *triedRow
	Log   []webhookRow
	// Status narrows the log; "" is all.
	Status booking.EffectStatus
	// Filters lead to the log by status, Older to what comes after it.
	Filters []webhookFilter
	Older   string
}

type webhookFilter struct {
	Status booking.EffectStatus
	Link   string
	Here   bool
}

// triedRow is a try as the page has it.
type triedRow struct {
	booking.Attempt
	Why string // in words; "" of one that got through
}

func (l *language) tried(a booking.Attempt) triedRow {
	row := triedRow{Attempt: a}
	if a.Cause != "" {
		row.Why = l.t("endpoints.why."+string(a.Cause), "Status", a.Status)
	}
	return row
}

type webhookRow struct {
	booking.Effect
	Tries   []triedRow
	About   string // the booking's page
	Retry   string // where to have it sent again; "" when there is nothing to
	Waiting bool   // it is not sent while the endpoint is off
}

// Why is what became of the last try, in words; "" of one that got through.
func (r webhookRow) Why() string {
	if len(r.Tries) == 0 {
		return ""
	}
	return r.Tries[len(r.Tries)-1].Why
}

func (s *server) endpointPage(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	return s.showEndpoint(c, http.StatusOK, id, endpointView{Done: oneOfDone(c, "on", "off", "finished", "retried")})
}

func (s *server) showEndpoint(c echo.Context, status int, id uuid.UUID, v endpointView) error {
	ctx := c.Request().Context()
	e, err := s.Endpoints.Endpoint(ctx, id)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	v.endpointRow, v.settingsTabs = newEndpointRow(e, names), s.settingsTabs(c, "endpoints")
	if v.Cause, err = s.endpointCause(c, e); err != nil {
		return err
	}
	v.Maker = s.viewer(c).language.actorName(e.CreatedBy, actors)
	if wanted := booking.EffectStatus(c.QueryParam("status")); slices.Contains(booking.EffectStatuses(), wanted) {
		v.Status = wanted
	}
	for _, st := range append([]booking.EffectStatus{""}, booking.EffectStatuses()...) {
		link := v.Link
		if st != "" {
			link += "?status=" + string(st)
		}
		v.Filters = append(v.Filters, webhookFilter{st, link + "#log", st == v.Status})
	}
	if err := s.webhookLog(c, &v); err != nil {
		return err
	}
	return s.page(c, status, "settingsendpoint", page{Title: "endpoints.title", Section: "settings", Data: v})
}

// webhookLog reads a page of what the endpoint was told.
func (s *server) webhookLog(c echo.Context, v *endpointView) error {
	ctx := c.Request().Context()
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64) // what is no place is the beginning
	all, err := s.Endpoints.Webhooks(ctx, v.ID, v.Status, before, shownWebhooks+1)
	if err != nil {
		return err
	}
	if len(all) > shownWebhooks {
		all = all[:shownWebhooks]
		v.Older = v.Link + "?before=" + strconv.FormatInt(all[shownWebhooks-1].Seq, 10)
		if v.Status != "" {
			v.Older += "&status=" + string(v.Status)
		}
		v.Older += "#log"
	}
	ids := make([]uuid.UUID, len(all))
	for i, m := range all {
		ids[i] = m.ID
	}
	tries, err := s.Endpoints.Attempts(ctx, ids)
	if err != nil {
		return err
	}
	for _, m := range all {
		row := webhookRow{Effect: m, Waiting: v.Off != "" && m.Status.Open()}
		for _, a := range tries[m.ID] {
			row.Tries = append(row.Tries, s.viewer(c).language.tried(a))
		}
		if m.BookingID != uuid.Nil {
			row.About = "/bookings/" + m.BookingID.String()
		} else if m.ConnectionID != uuid.Nil {
			row.About = connectionLink(m.ConnectionID)
		}
		if m.Event != booking.EventTest && m.Status != booking.EffectPending && m.Status != booking.EffectWithdrawn {
			row.Retry = v.Link + "/messages/" + m.ID.String() + "/retry"
		}
		v.Log = append(v.Log, row)
	}
	return nil
}

// testEndpoint shows what came of a test with its answer.
func (s *server) testEndpoint(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	a, err := s.Tester.Test(c.Request().Context(), id, requestIDOf(c.Request().Context()), s.by(c))
	if err != nil {
		return err
	}
	status, row := http.StatusOK, s.viewer(c).language.tried(a)
	if a.Cause != "" {
		status = http.StatusBadGateway
	}
	return s.showEndpoint(c, status, id, endpointView{Tried: &row})
}

// rotateEndpoint shows the new secret with its answer.
func (s *server) rotateEndpoint(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	secret := endpoint.NewSecret()
	if err := s.Endpoints.RotateEndpoint(c.Request().Context(), id, secret, s.by(c), s.Now()); err != nil {
		return err
	}
	return s.showEndpoint(c, http.StatusOK, id, endpointView{Secret: secret, Done: "rotated"})
}

// finishEndpoint may be asked twice: that it is so already is what was asked for.
func (s *server) finishEndpoint(c echo.Context) error {
	return s.onEndpoint(c, "finished", func(ctx context.Context, id uuid.UUID) error {
		return s.Endpoints.FinishEndpointRotation(ctx, id, s.by(c), s.Now())
	})
}

func (s *server) retryWebhook(c echo.Context) error {
	message, err := parseID(c.Param("message"))
	if err != nil {
		return err
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.Endpoints.Endpoint(ctx, id); err != nil {
		return err
	}
	if err := s.Endpoints.RetryWebhook(ctx, id, message, s.entry(s.by(c))); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, endpointLink(id)+"?done=retried")
}

func (s *server) switchEndpoint(c echo.Context) error {
	to := c.FormValue("to")
	if to != "on" && to != "off" {
		return echo.NewHTTPError(http.StatusBadRequest)
	}
	on := to == "on"
	return s.onEndpoint(c, map[bool]string{true: "on", false: "off"}[on], func(ctx context.Context, id uuid.UUID) error {
		return s.Endpoints.SwitchEndpoint(ctx, id, on, c.FormValue("skip") != "", s.by(c), s.Now())
	})
}

func (s *server) onEndpoint(c echo.Context, done string, do func(ctx context.Context, id uuid.UUID) error) error {
	ctx := c.Request().Context()
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	if _, err := s.Endpoints.Endpoint(ctx, id); err != nil {
		return err
	}
	if err := do(ctx, id); err != nil && !errors.Is(err, booking.ErrNotFound) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, endpointLink(id)+"?done="+done)
}

func (s *server) removeEndpoint(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	if err := s.Endpoints.RemoveEndpoint(c.Request().Context(), id, s.by(c), s.Now()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, endpointsPath+"?done=removed")
}
