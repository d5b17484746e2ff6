package calendly

import "slotkeeper/providers"

var _ providers.Ender = (*Provider)(nil)

// EndedBy reads the cancellation of the invitee, else that of the whole event: in a
// body from before February 2022 it has a name and no side.
func (*Provider) EndedBy(body []byte) providers.Party {
	root, f := providers.ScanObject(body)
	if f != nil {
		return providers.Party{}
	}
	told := root.Get("payload", "cancellation")
	if !told.Object() {
		told = root.Get("payload", "scheduled_event", "cancellation")
	}
	by := providers.Party{Name: told.Get("canceled_by").Text()}
	switch role := providers.Role(told.Get("canceler_type").Text()); role {
	case providers.RoleHost, providers.RoleInvitee:
		by.Role = role
	}
	return by
}
