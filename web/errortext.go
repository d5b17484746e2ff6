package web

import (
	"errors"
	"regexp"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/notify"
	"slotkeeper/providers"
)

// errorText is an error as a page says it: what happened and what to do, in the viewer's
// language. The texts of errors are English, and for logs and programs; none stands
// on a page. A new error gets its words here, or in problem.go when it has a page of
// its own.
type errorText struct {
	Text string
	// Said is what a provider answered, in its own words.
	Said string
	// Code and Field are for whoever looks further: a stable word for the cause, and
	// which part of a body it is about.
	Code, Field string
}

// cause says why an account could not be asked.
func (l *language) cause(cause account.Cause, said string) *errorText {
	return &errorText{Text: l.named("trouble", string(cause)) + " " + l.named("remedy", string(cause)), Said: said}
}

// failure says what went wrong with an account.
func (l *language) failure(err error) *errorText {
	return l.cause(account.CauseOf(err), account.Said(err))
}

// kept says what a row tells of its last error, of which it keeps the text alone; nil
// where it keeps none.
func (l *language) kept(text string) *errorText {
	switch text {
	case "":
		return nil
	case booking.ReplayBroken:
		return &errorText{Text: l.t("replay.broken")}
	}
	cause, said := account.CauseIn(text)
	if key := "kept." + string(cause); l.has(key) {
		return &errorText{Text: l.t(key), Said: said} // nobody is at a form
	}
	return l.cause(cause, said)
}

// undone is kept of a cancel at a provider.
func (l *language) undone(text string) *errorText {
	if code := booking.UndoneIn(text); code != "" {
		return &errorText{Text: l.t("undone." + code)}
	}
	switch cause, said := account.CauseIn(text); {
	case strings.Contains(text, providers.ErrGone.Error()):
		return &errorText{Text: l.t("undone.gone"), Said: said}
	case cause == account.CauseUnknown && said != "":
		return &errorText{Text: l.t("undone.refused"), Said: said}
	}
	return l.kept(text)
}

// partOf is a text about a part of a body, which it names first.
var partOf = regexp.MustCompile(`^([A-Za-z_][\w.\[\]]*) (?:is|has|names|lists) `)

// fault says why a body cannot be used. Its text is the fault's own, which names the
// part of the body that it is about.
func (l *language) fault(code, text string) *errorText {
	out := &errorText{Text: l.named("fault", code), Code: code}
	if found := partOf.FindStringSubmatch(text); found != nil {
		out.Field = found[1]
	}
	return out
}

// unusable says why a delivery is not applied, or not yet; nil when it is.
func (l *language) unusable(r booking.ReceiptView) *errorText {
	if r.Code != "" {
		return l.fault(r.Code, r.Error)
	}
	return l.kept(r.Error)
}

// explain says why a delivery did not simply become a booking; nil when it did.
func (l *language) explain(r booking.ReceiptView) *errorText {
	if out := l.unusable(r); out != nil {
		return out
	}
	if (r.Status == booking.StatusRejected || r.Status == booking.StatusConflict) && r.Reason != booking.NoReason {
		return &errorText{Text: l.named("reason", string(r.Reason))}
	}
	return nil
}

// hop says what a step of a selftest found. Of a provider that cannot be asked it is
// the cause.
func (l *language) hop(h account.Hop) *errorText {
	if h.Found == account.FoundTrouble {
		return l.cause(account.Cause(h.Values["Cause"]), h.Said)
	}
	pairs := make([]any, 0, 2*len(h.Values))
	for name, value := range h.Values {
		if name == account.HopTopics {
			value = l.topics(strings.Fields(value))
		}
		pairs = append(pairs, name, value)
	}
	return &errorText{Text: l.t("hop.found."+string(h.Found), pairs...), Said: h.Said}
}

// hookWrong says what is the matter with a webhook at its provider; "" for nothing that
// is known.
func (l *language) hookWrong(s providers.HookState, provider string) string {
	if s.Trouble == "" {
		return ""
	}
	topics := make([]string, 0, len(s.Missing))
	for _, t := range s.Topics() {
		topics = append(topics, string(t))
	}
	return l.t("hook.wrong."+string(s.Trouble), "Topics", l.topics(topics), "Provider", l.named("provider", provider))
}

// topics names what events tell of.
func (l *language) topics(all []string) string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = l.named("topic", t)
	}
	return strings.Join(names, ", ")
}

// untold says why somebody was not told of an alert.
func (l *language) untold(err error) *errorText {
	switch {
	case errors.Is(err, notify.ErrNoMail):
		return &errorText{Text: l.t("alerts.nomail")}
	case errors.Is(err, notify.ErrRefused):
		return &errorText{Text: l.t("alerts.try.refused"), Said: account.Said(err)}
	}
	return l.failure(err)
}

// refused says what exactly does not go together, of errors that know it; "" of
// others.
func (l *language) refused(err error) string {
	var (
		conflict *booking.ConflictError
		cannot   *booking.CannotCancelError
	)
	key := ""
	switch {
	case errors.As(err, &conflict):
		key = "conflict." + conflict.Code
	case errors.As(err, &cannot):
		key = "undone." + cannot.Code
	}
	if key == "" || !l.has(key) {
		return ""
	}
	return l.t(key)
}

// filters says what is wrong with a page's filters.
func (l *language) filters(err error) string {
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) && invalid.Field == periodField {
		return l.t("invalid.period")
	}
	return l.t("audit.invalid")
}
