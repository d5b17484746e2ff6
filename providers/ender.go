package providers

// Role is a side of a booking.
type Role string

// The sides that providers tell apart; "" is one that they do not name.
const (
	RoleHost    Role = "host"
	RoleInvitee Role = "invitee"
)

// Party is somebody as a provider names them. Both may be unknown.
type Party struct {
	Name string // or their e-mail
	Role Role
}

// Ender is an adapter whose bodies say who ended a booking.
type Ender interface {
	Provider
	// EndedBy is who canceled, declined or moved away the booking that a body is
	// about, as far as the body says so. Providers do not prove it: it is shown to
	// people, and decides nothing.
	EndedBy(body []byte) Party
}
