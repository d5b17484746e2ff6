package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/notify"
	"slotkeeper/providers"
)

// What no later try helps is given up at once, so that whoever asked for the cancel
// hears of it while there is time to do it by hand: twelve tries take two hours. What
// may pass, or a person may mend meanwhile, is tried again.
func TestFinal(t *testing.T) {
	t.Parallel()
	answer := func(status int) error { return &providers.AnswerError{Status: status, Message: "no"} }
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"the seats are not shown":        {booking.ErrSeatsHidden, true},
		"an id that names nothing":       {booking.ErrUnnamed, true},
		"nothing to ask with":            {account.ErrCannotAsk, true},
		"no key in the adapter":          {fmt.Errorf("%w: make one", providers.ErrNoCredentials), true},
		"gone":                           {fmt.Errorf("%w: %w", providers.ErrGone, answer(http.StatusNotFound)), true},
		"somebody joined":                {booking.ErrJoined, true},
		"it was moved":                   {booking.ErrMovedAway, true},
		"the overlap was accepted":       {booking.ErrAcceptedMeanwhile, true},
		"not possible":                   {&booking.CannotCancelError{Code: booking.CannotNoAPI, Detail: "no"}, true},
		"too late to cancel":             {answer(http.StatusBadRequest), true},
		"not allowed":                    {account.Remedied("calendly", answer(http.StatusForbidden)), true},
		"mail is not set up":             {notify.ErrNoMail, true},
		"a chat refuses":                 {notify.ErrRefused, true},
		"signed out":                     {answer(http.StatusUnauthorized), false},
		"the app's secret":               {&providers.AppError{Status: http.StatusUnauthorized}, false},
		"in another's hands":             {answer(http.StatusConflict), false},
		"too many":                       {&providers.LaterError{Err: answer(http.StatusTooManyRequests)}, false},
		"a page that asks to wait":       {&providers.LaterError{Err: answer(http.StatusForbidden)}, false},
		"trouble there":                  {answer(http.StatusBadGateway), false},
		"an answer that nobody can read": {providers.BadAnswer("it does not say that the event was canceled"), false},
		"a private address":              {&providers.AddressError{Host: "cal.local:443"}, false},
		"too slow":                       {context.DeadlineExceeded, false},
		"broken off":                     {io.ErrUnexpectedEOF, false},
		"elsewhere":                      {providers.ErrRedirected, false},
		"unheard of":                     {errors.New("a surprise"), false},
	} {
		if got := final(tt.err); got != tt.want {
			t.Errorf("%s: given up %t, want %t", name, got, tt.want)
		}
	}
	for code, err := range map[string]error{booking.CannotSeatsHidden: booking.ErrSeatsHidden, booking.CannotUnnamed: booking.ErrUnnamed} {
		if got := booking.UndoneIn(err.Error()); got != code {
			t.Errorf("kept as a text, %v is %q", err, got)
		}
	}
}
