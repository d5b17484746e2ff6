package acuity

import (
	"net/url"
	"strconv"
	"strings"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// kinds are the actions about appointments, by the names that hooks made in
// Acuity's pages send. Hooks made over its API put "appointment." before them.
var kinds = map[string]booking.Kind{
	"scheduled":   booking.KindCreated,
	"rescheduled": booking.KindMoved,
	"canceled":    booking.KindCanceled,
	"changed":     booking.KindDetails,
}

// Parse says what to look at again: a post tells that something happened to an
// appointment, not what.
func (*Provider) Parse(r providers.Request, o providers.Origin) booking.Delivery {
	form, f := providers.ScanForm(r.Body)
	if f != nil {
		return o.Failed(providers.KindUnknown, r.Body, f)
	}
	said := strings.ToLower(form.Get("action"))
	action := strings.TrimPrefix(said, "appointment.")
	kind, known := kinds[action]
	switch {
	case said == "":
		return o.Failed(providers.KindUnknown, r.Body, providers.Faultf(providers.CodeKindMissing, "the form does not name its action; Acuity's forms do"))
	case said == string(booking.KindSelftest):
		return o.Ignored(booking.KindSelftest, r.Body)
	case !known:
		return o.Ignored(providers.OwnKind(said), r.Body)
	}
	id, f := appointmentID(form.Get("id"))
	if f != nil {
		return o.Failed(kind, r.Body, f)
	}
	return o.Poke(kind, o.Key(Name, id, action), id)
}

// Selftest is a form that Acuity never sends: signed and posted to the
// connection's address, it shows that the way in is open. id tells one from the
// other.
func (*Provider) Selftest(id string) []byte {
	return []byte("action=" + string(booking.KindSelftest) + "&id=" + url.QueryEscape(id))
}

// appointmentID is an id in its one spelling. Ids pass 32 bits: Acuity's
// appointments are near that, its blocks beyond.
func appointmentID(text string) (string, *providers.Fault) {
	if text == "" {
		return "", providers.Faultf(providers.CodeIDMissing, "id is missing; without it nobody can tell which appointment this is about")
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || text[0] == '+' {
		return "", providers.Faultf(providers.CodeIDInvalid, "id is not the number of an appointment")
	}
	return strconv.FormatInt(id, 10), nil
}
