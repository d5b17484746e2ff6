package calcom

import (
	"slotkeeper/booking"
	"slotkeeper/providers"
)

// outOfOffice reads OOO_CREATED: a host is away for days or months. Neither the
// notes nor the reason are kept, which may be of health (ooo_reasons_sick_leave).
func outOfOffice(root providers.Value, o providers.Origin) (*booking.Block, *providers.Fault) {
	var in providers.Fields
	at := in.NeedTime(root.Get("createdAt"), "createdAt")
	entry := root.Get("payload", "oooEntry")
	from := in.NeedTime(entry.Get("start"), "payload.oooEntry.start")
	to := in.NeedTime(entry.Get("end"), "payload.oooEntry.end")
	if in.Fault() == nil && !to.After(from) {
		in.Fail(providers.Faultf(providers.CodeEndBeforeStart, "payload.oooEntry.end is not after payload.oooEntry.start"))
	}
	id := in.ID(entry.Get("uuid"), "payload.oooEntry.uuid")
	if id == "" {
		id = in.CheckID(numeral(entry.Get("id")), "payload.oooEntry.id")
	}
	if id == "" {
		in.Fail(providers.Faultf(providers.CodeIDMissing, "payload.oooEntry has neither uuid nor id; without one nobody can tell which absence this is"))
	}
	user := entry.Get("user")
	email := in.Email(user.Get("email"), "payload.oooEntry.user.email")
	if email == "" {
		in.Fail(providers.Faultf(providers.CodeResourceMissing, "payload.oooEntry.user.email is missing; without it nobody can tell who is away"))
	}
	host := booking.Host{ExternalID: in.CheckID(email, "payload.oooEntry.user.email"), Email: email}
	if name := in.Text(user.Get("name")); name != nil {
		host.Name = *name
	}
	if f := in.Fault(); f != nil {
		return nil, f
	}
	return &booking.Block{
		Source: o.Source, ExternalID: id, Host: host, StartsAt: from, EndsAt: to,
		At: booking.Clock{At: at, Key: o.Key(outOfOfficeCreated, id, providers.KeyTime(at))},
	}, nil
}
