package calcom

import (
	"strings"

	"slotkeeper/providers"
)

var _ providers.Ender = (*Provider)(nil)

// EndedBy is whose e-mail the body gives, by the name that it has for them. Whoever
// cancels in a browser may have written any: one that is nobody's of the booking is
// shown as it is. Only a host declines.
func (*Provider) EndedBy(body []byte) providers.Party {
	root, f := providers.ScanObject(body)
	if f != nil {
		return providers.Party{}
	}
	payload, field := root.Get("payload"), "cancelledBy"
	switch root.Get("triggerEvent").Text() {
	case rejected:
		return providers.Party{Role: providers.RoleHost}
	case rescheduled, requested:
		field = "rescheduledBy"
	}
	var in providers.Fields
	email := in.Email(payload.Get(field), "payload."+field)
	if email == "" {
		return providers.Party{}
	}
	for _, h := range hosts(&in, payload) {
		if strings.EqualFold(h.Email, email) {
			return named(h.Name, email, providers.RoleHost)
		}
	}
	for a := range payload.Get("attendees").Items() {
		if strings.EqualFold(a.Get("email").Text(), email) {
			return named(a.Get("name").Text(), email, providers.RoleInvitee)
		}
	}
	return providers.Party{Name: email}
}

func named(name, email string, role providers.Role) providers.Party {
	if name = strings.TrimSpace(name); name == "" {
		name = email
	}
	return providers.Party{Name: name, Role: role}
}
