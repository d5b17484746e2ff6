package acuity

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Cancel cancels one appointment, of a class one seat, as an administrator: the
// rules for clients do not hold. What is canceled already is left alone, so that
// nobody is told twice.
func (*Provider) Cancel(ctx context.Context, client *http.Client, c providers.Connection, t providers.CancelTarget, message string) error {
	id, unnamed := appointmentID(t.ExternalID)
	if unnamed != nil {
		return booking.ErrUnnamed
	}
	a := newAPI(client, c)
	canceled, err := isCanceled(ctx, a, id)
	if err != nil || canceled {
		return err
	}
	body := map[string]string{} // an empty object is due where there is nothing to say
	if message != "" {
		body["cancelNote"] = message
	}
	answer, err := a.do(ctx, http.MethodPut, "/appointments/"+id+"/cancel", url.Values{"admin": {"true"}}, body, maxAppointment)
	if _, refused := refusedWith(err, http.StatusBadRequest); refused {
		// Somebody else may have canceled it meanwhile.
		if canceled, again := isCanceled(ctx, a, id); again == nil && canceled {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if err := check(answer, id); err != nil {
		return err
	}
	if canceled, _ := answer.Get("canceled").Bool(); !canceled {
		return errNotCanceled
	}
	return nil
}

var errNotCanceled = errors.New("the API took the cancellation, but says that the appointment stands")

func isCanceled(ctx context.Context, a *api, id string) (bool, error) {
	answer, err := one(ctx, a, id)
	if err != nil {
		return false, err
	}
	canceled, _ := answer.Get("canceled").Bool() // it was checked that it says so
	return canceled, nil
}
