package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// What a connection's page says was just done.
const (
	doneConnected    = "connected"
	doneReconnected  = "reconnected"
	doneChecked      = "checked"
	doneUndelivered  = "undelivered"
	doneRemade       = "remade"
	doneComparing    = "comparing"
	doneImporting    = "importing"
	doneStopped      = "stopped"
	doneRotated      = "rotated"
	doneRotatedOver  = "rotated_over"
	doneFinished     = "finished"
	doneAbandoned    = "abandoned"
	doneDisconnected = "disconnected"
	doneAlready      = "disconnected_already"
)

// connectionNow is the connection of a path, whole, when it is not ended.
func (s *server) connectionNow(c echo.Context, needs access.Action) (providers.Connection, error) {
	if !s.viewer(c).may(needs) {
		return providers.Connection{}, errNoRole
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return providers.Connection{}, err
	}
	conn, err := s.Records.Connection(c.Request().Context(), id)
	if err == nil && conn.DisconnectedAt != nil {
		err = &booking.ConflictError{Code: "disconnected", Detail: "the connection is disconnected"}
	}
	return conn, err
}

// toConnection goes to a connection's page, which says what was done.
func (s *server) toConnection(c echo.Context, id uuid.UUID, done string) error {
	return c.Redirect(http.StatusSeeOther, connectionLink(id)+"?done="+done)
}

// connectionTrouble shows a connection with what could not be done about it.
func (s *server) connectionTrouble(c echo.Context, id uuid.UUID, err error) error {
	t := troubleOf(err)
	if t == nil {
		return err
	}
	s.logTrouble(c, t, err)
	return s.showConnection(c, http.StatusUnprocessableEntity, id, connectionPageView{Trouble: t})
}

// note writes what an operator did to a connection into the admin log, whether or
// not he still waits for the answer.
func (s *server) note(c echo.Context, did string, id uuid.UUID, detail access.Facts) error {
	ctx := context.WithoutCancel(c.Request().Context())
	return s.Accounts.Note(ctx, s.by(c), did, "connection:"+id.String(), detail)
}

// checkConnection asks the provider at once whether all is well, and looks for
// what was missed when it was not.
func (s *server) checkConnection(c echo.Context) error {
	conn, err := s.connectionNow(c, access.SyncConnections)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	found, err := s.Connect.Check(ctx, conn.ID)
	if err := s.note(c, access.DidCheckConnection, conn.ID, access.Facts{"found": foundBy(found, err)}); err != nil {
		return err
	}
	if err != nil {
		return s.connectionTrouble(c, conn.ID, err)
	}
	if found.Err != nil {
		return s.connectionTrouble(c, conn.ID, found.Err)
	}
	if found.Recovered || found.Remade {
		cause := "outage"
		if found.Remade {
			cause = "registered"
		}
		if _, err := s.Connect.Reconcile(ctx, found.Connection, cause, s.by(c).Actor); err != nil {
			return s.connectionTrouble(c, conn.ID, err)
		}
	}
	switch {
	case found.Remade:
		return c.Redirect(http.StatusSeeOther, connectionLink(conn.ID)+"?"+remadeQuery(found.Hook))
	case found.Health.HookLostAt != nil:
		return s.toConnection(c, conn.ID, doneUndelivered)
	}
	return s.toConnection(c, conn.ID, doneChecked)
}

// remadeQuery has a connection's page say how its webhook was before it was made anew.
func remadeQuery(was providers.HookState) string {
	names := make([]string, len(was.Missing))
	for i, k := range was.Missing {
		names[i] = k.Name
	}
	return url.Values{"done": {doneRemade}, "was": {string(was.Trouble)}, "missing": names}.Encode()
}

// remadeOf reads it; what is in no set of ours counts for nothing.
func remadeOf(c echo.Context, needs []providers.HookKind) providers.HookState {
	var was providers.HookState
	if t := providers.HookTrouble(c.QueryParam("was")); slices.Contains(providers.HookTroubles(), t) {
		was.Trouble = t
	}
	names := c.QueryParams()["missing"]
	for _, k := range needs {
		if slices.Contains(names, k.Name) {
			was.Missing = append(was.Missing, k)
		}
	}
	return was
}

// foundBy is the result of a check in a word, for the admin log: a cause, when it
// did not go well.
func foundBy(found account.Finding, err error) string {
	switch err := cmp.Or(err, found.Err); {
	case err != nil:
		return string(account.CauseOf(err))
	case found.Remade:
		return "remade"
	case found.Recovered:
		return "recovered"
	}
	return "ok"
}

// compareConnection begins a reconcile.
func (s *server) compareConnection(c echo.Context) error {
	conn, err := s.connectionNow(c, access.SyncConnections)
	if err != nil {
		return err
	}
	r, err := s.Connect.Reconcile(c.Request().Context(), conn, "asked", s.by(c).Actor)
	if err != nil {
		return s.connectionTrouble(c, conn.ID, err)
	}
	if err := s.note(c, access.DidCompareConnection, conn.ID, access.Facts{"run": r.ID.String()}); err != nil {
		return err
	}
	return s.toConnection(c, conn.ID, doneComparing)
}

// importConnection begins to bring in what is booked from a day on.
func (s *server) importConnection(c echo.Context) error {
	conn, err := s.connectionNow(c, access.SyncConnections)
	if err != nil {
		return err
	}
	who := s.viewer(c)
	from, err := readDay(c.FormValue("day"), who.zone, s.Now())
	if err == nil && from == nil {
		err = &booking.InvalidError{Field: "day", Detail: "is missing"}
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showConnection(c, http.StatusUnprocessableEntity, conn.ID, connectionPageView{
			Day: strings.TrimSpace(c.FormValue("day")), Errors: who.language.fieldErrors(invalid),
		})
	}
	r, err := s.Connect.Begin(c.Request().Context(), conn, booking.RunBackfill, "asked", *from, s.by(c).Actor)
	if err != nil {
		return s.connectionTrouble(c, conn.ID, err)
	}
	detail := access.Facts{"run": r.ID.String(), "from": r.From.UTC().Format(time.RFC3339)}
	if err := s.note(c, access.DidImportConnection, conn.ID, detail); err != nil {
		return err
	}
	return s.toConnection(c, conn.ID, doneImporting)
}

// stopRun ends a run that is under way: what it read stays.
func (s *server) stopRun(c echo.Context) error {
	conn, err := s.connectionNow(c, access.SyncConnections)
	if err != nil {
		return err
	}
	id, err := parseID(c.Param("run"))
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	open, err := s.Records.OpenRuns(ctx)
	if err != nil {
		return err
	}
	// One that has ended meanwhile is not stopped, and of another connection none.
	if !slices.ContainsFunc(open, func(r booking.Run) bool { return r.ID == id && r.ConnectionID == conn.ID }) {
		runs, err := s.Records.Runs(ctx, conn.ID, booking.MaxLimit)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(runs, func(r booking.Run) bool { return r.ID == id }) {
			return booking.ErrNotFound
		}
		return &booking.ConflictError{Code: "ended", Detail: "the run has ended already"}
	}
	r, err := s.Connect.StopRun(ctx, id, s.by(c).Actor)
	if err != nil {
		return err
	}
	if err := s.note(c, access.DidStopRun, conn.ID, access.Facts{"run": r.ID.String(), "kind": string(r.Kind)}); err != nil {
		return err
	}
	return s.toConnection(c, conn.ID, doneStopped)
}

// rotateConnection gives a connection a new secret: the provider too where we
// registered the webhook, else the page shows it once.
func (s *server) rotateConnection(c echo.Context) error {
	conn, err := s.connectionNow(c, access.ManageConnections)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if conn.SecretFixed(s.Providers[conn.Provider]) {
		return &booking.ConflictError{Code: "key_not_ours", Detail: "the provider signs with a key that is not ours to change"}
	}
	done := doneRotatedOver
	if conn.Subscription == providers.Registered {
		err = s.Connect.Rotate(ctx, conn.ID)
	} else {
		done = doneRotated
		err = s.Connect.RotateByHand(ctx, conn.ID, account.NewSecret(), false)
	}
	if err != nil {
		return s.connectionTrouble(c, conn.ID, err)
	}
	if err := s.note(c, access.DidRotateSecret, conn.ID, nil); err != nil {
		return err
	}
	if done == doneRotated {
		s.sessions.putReveal(ctx, reveal{ID: conn.ID, Secret: true}, s.Now())
	}
	return s.toConnection(c, conn.ID, done)
}

// finishRotation forgets the secret before.
func (s *server) finishRotation(c echo.Context) error {
	conn, err := s.connectionNow(c, access.ManageConnections)
	if err != nil {
		return err
	}
	if err := s.Connect.FinishRotation(c.Request().Context(), conn.ID); err != nil {
		return err
	}
	if err := s.note(c, access.DidFinishRotation, conn.ID, nil); err != nil {
		return err
	}
	return s.toConnection(c, conn.ID, doneFinished)
}

// abandonRotation goes back to the secret before: the new one was lost.
func (s *server) abandonRotation(c echo.Context) error {
	conn, err := s.connectionNow(c, access.ManageConnections)
	if err != nil {
		return err
	}
	if err := s.Connect.AbandonRotation(c.Request().Context(), conn.ID); err != nil {
		return err
	}
	if err := s.note(c, access.DidAbandonRotation, conn.ID, nil); err != nil {
		return err
	}
	return s.toConnection(c, conn.ID, doneAbandoned)
}

// connectionEndView is a connection that somebody is about to end.
type connectionEndView struct {
	connectionView
	// Coming are bookings to come that hold their slots, and go on to; More says that
	// there are even more.
	Coming int
	More   bool
}

// disconnectPage says what disconnecting does and what stays.
func (s *server) disconnectPage(c echo.Context) error {
	conn, err := s.connectionNow(c, access.ManageConnections)
	if conn.DisconnectedAt != nil {
		return s.toConnection(c, conn.ID, doneAlready)
	}
	if err != nil {
		return err
	}
	ctx, now := c.Request().Context(), s.Now()
	v, err := s.newConnectionView(ctx, conn, nil, s.viewer(c))
	if err != nil {
		return err
	}
	coming, err := s.Records.Bookings(ctx, booking.Filter{
		ConnectionID: &conn.ID, From: &now, Statuses: []string{string(booking.Active)},
	}, booking.Page{Limit: booking.MaxLimit})
	if err != nil {
		return err
	}
	return s.page(c, http.StatusOK, "connectionend", page{
		Title: "disconnect.title", Section: "connections", Data: connectionEndView{v, len(coming.Items), coming.Next != ""},
	})
}

// disconnectConnection ends a connection. Of two people who do it at once the second
// is told that it is done: nothing is left for him to do, and nothing went wrong.
func (s *server) disconnectConnection(c echo.Context) error {
	conn, err := s.connectionNow(c, access.ManageConnections)
	if conn.DisconnectedAt != nil {
		return s.toConnection(c, conn.ID, doneAlready)
	}
	if err != nil {
		return err
	}
	left, err := s.Connect.Disconnect(c.Request().Context(), conn.ID)
	if errors.Is(err, account.ErrDisconnected) {
		return s.toConnection(c, conn.ID, doneAlready)
	}
	if err != nil {
		return err
	}
	detail := access.Facts{"webhook": "removed"}
	if left != nil {
		detail["webhook"] = "left"
	}
	if err := s.note(c, access.DidDisconnect, conn.ID, detail); err != nil {
		return err
	}
	if left != nil {
		// Not a redirect: it is said this once.
		return s.showConnection(c, http.StatusOK, conn.ID, connectionPageView{Done: doneDisconnected, Left: s.viewer(c).language.failure(left)})
	}
	return s.toConnection(c, conn.ID, doneDisconnected)
}

// backfillDays is how far back bookings are brought in unless somebody says
// otherwise.
const backfillDays = 30 * 24 * time.Hour

// readDay reads the beginning of a day that has come; nil for none.
func readDay(text string, zone *time.Location, now time.Time) (*time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil || day.After(now) || day.Year() < 2000 {
		return nil, &booking.InvalidError{Field: "day", Detail: "must be a day that has come, as YYYY-MM-DD"}
	}
	return &day, nil
}
