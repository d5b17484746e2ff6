package account

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// keptCauses are errors by what their texts say, in CauseOf's order: rows keep an
// error's text and nothing else of it.
var keptCauses = []struct {
	text  string
	cause Cause
}{
	{booking.ErrUnavailable.Error(), CauseOwn},
	{providers.ErrNoCredentials.Error(), CauseCannotAsk},
	{providers.AppRefused, CauseApp},
	{providers.ErrPaused.Error(), CauseLimited},
	{providers.ErrSpent.Error(), CauseLimited},
	{providers.PrivateHostsSetting, CausePrivate},
	{providers.ErrGone.Error(), CauseNoAPI},
	{"no such host", CauseNoHost},
	{"failed to verify certificate", CauseCertificate},
	{"dial tcp", CauseUnreachable},
	{"i/o timeout", CauseUnreachable},
	{"connection reset", CauseUnreachable},
	{"Client.Timeout", CauseUnreachable},
	{context.DeadlineExceeded.Error(), CauseUnreachable},
	{io.EOF.Error(), CauseUnreachable},
	{providers.ErrRedirected.Error(), CauseNoAPI},
	{providers.ErrBadAnswer.Error(), CauseNoAPI},
	{providers.ErrAnswerTooLarge.Error(), CauseNoAPI},
}

// CauseIn finds the cause of an error of which only the text was kept, and what the
// provider said itself; "" when it said nothing.
func CauseIn(text string) (cause Cause, said string) {
	answer, found := providers.AnswerErrorIn(text)
	if found {
		said = answer.Message
		text = strings.TrimSuffix(strings.TrimSuffix(text, ")"), answer.Error()) // whose words are no cause
		if answer.Status == http.StatusTooManyRequests {
			return CauseLimited, said
		}
	}
	for _, k := range keptCauses {
		if strings.Contains(text, k.text) {
			return k.cause, said
		}
	}
	if found {
		return causeOfAnswer(answer.Status), said
	}
	return CauseUnknown, ""
}

// Said is what a provider's refusal says in its own words; "" of other errors.
func Said(err error) string {
	var answer *providers.AnswerError
	var app *providers.AppError
	switch {
	case errors.As(err, &answer):
		return answer.Message
	case errors.As(err, &app):
		return app.Message
	}
	return ""
}
