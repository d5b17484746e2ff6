package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// FormKeeper says of which connections intake forms and notes are kept; *work.Forms.
type FormKeeper interface {
	// KeepForms tells how many were removed because they are kept no longer.
	KeepForms(ctx context.Context, connection uuid.UUID, keep bool, by access.By) (removed int64, err error)
}

// formRecords read what is kept of them.
type formRecords interface {
	// Forms are a booking's, or booking.ErrNotFound.
	Forms(ctx context.Context, bookingID uuid.UUID) (booking.KeptForms, error)
}

const (
	doneFormsKept    = "forms_kept"
	doneFormsDropped = "forms_dropped"
)

// tellsForms tells whether a provider's API has intake forms at all.
func (s *server) tellsForms(provider string) bool {
	_, tells := s.Providers[provider].(providers.FormKeeper)
	return tells
}

// keepForms has the intake forms and notes of a connection kept, once somebody has
// said that the organisation answers for it, or no longer. What is kept of a
// connection that is disconnected can be removed all the same.
func (s *server) keepForms(c echo.Context) error {
	if !s.viewer(c).may(access.ManageConnections) {
		return errNoRole
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	keep, err := keepChoice(c.FormValue("keep"), c.FormValue("understood"))
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showConnection(c, http.StatusUnprocessableEntity, id, connectionPageView{Errors: s.viewer(c).language.fieldErrors(invalid)})
	}
	// It is gone on with although whoever asked has left.
	if _, err := s.Forms.KeepForms(context.WithoutCancel(c.Request().Context()), id, keep, s.by(c)); err != nil {
		return err
	}
	if keep {
		return s.toConnection(c, id, doneFormsKept)
	}
	return s.toConnection(c, id, doneFormsDropped)
}

// keepChoice is what somebody chose. What says neither is refused: dropping cannot be
// undone, and a form that came empty must not do it.
func keepChoice(keep, understood string) (bool, error) {
	switch {
	case keep == "no":
		return false, nil
	case keep != "yes":
		return false, &booking.InvalidError{Field: "keep", Detail: "is yes or no"}
	case understood != "yes":
		return false, &booking.InvalidError{Field: "understood", Detail: "is yes, once it is understood what is kept"}
	}
	return true, nil
}

// formsView is a booking's intake forms and notes on its page.
type formsView struct {
	booking.KeptForms
	// Link shows them; "" where they are shown. That somebody looks stands in the
	// admin log.
	Link string
	// Hidden says that they are kept, and that this viewer's role does not see them.
	Hidden bool
}

// formsOf are what the page of a booking says of its forms; nil for nothing. Viewers
// are told nothing of them.
func (s *server) formsOf(c echo.Context, b booking.View, q calendarQuery) (*formsView, error) {
	ctx, who := c.Request().Context(), s.viewer(c)
	if !who.may(access.ReadForms) {
		return s.hiddenForms(ctx, b, who)
	}
	kept, err := s.Records.Forms(ctx, b.ID)
	if errors.Is(err, booking.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if c.QueryParam("forms") != "show" {
		link := "?forms=show"
		if q.Zone.String() != q.ownZone.String() {
			link += "&zone=" + q.Zone.String()
		}
		return &formsView{KeptForms: booking.KeptForms{ToldAt: kept.ToldAt}, Link: link + "#forms"}, nil
	}
	if err := s.Accounts.Note(ctx, s.by(c), access.DidReadForms, "booking:"+b.ID.String(), nil); err != nil {
		return nil, err
	}
	return &formsView{KeptForms: kept}, nil
}

// hiddenForms tells an operator from whose role names are hidden that there may be
// forms.
func (s *server) hiddenForms(ctx context.Context, b booking.View, who viewer) (*formsView, error) {
	if !who.operator() || !s.tellsForms(b.Provider) {
		return nil, nil
	}
	conn, err := s.Records.Connection(ctx, b.ConnectionID)
	if err != nil || !conn.KeepForms {
		return nil, notOthers(err)
	}
	return &formsView{Hidden: true}, nil
}

// keptDays is a period of retention in days; 0 for ever.
func keptDays(d time.Duration) int { return int(d / (24 * time.Hour)) }
