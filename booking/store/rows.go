package store

import (
	"slices"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// bookingRow is a row of bookings. Fields with a clock of their own keep it in
// Clocks: nothing is searched by it.
type bookingRow struct {
	ID              uuid.UUID
	ExternalID      string
	Provider        string
	APIBase         string
	Seat            string
	OpenedAt        *stamp
	SessionID       *uuid.UUID
	Status          booking.Status
	Reason          booking.Reason
	Title           string
	Location        string
	InviteeName     string
	InviteeEmail    string
	InviteePhone    string
	InviteeTimezone string
	NoShow          bool
	BookedAt        *stamp
	ChainID         uuid.UUID
	Supersedes      *uuid.UUID
	SupersededBy    *uuid.UUID
	ConflictsWith   document[[]uuid.UUID]
	OverlapAccepted bool
	ConnectionID    uuid.UUID
	LastReceiptID   *uuid.UUID
	Clocks          document[bookingClocks]
}

func (bookingRow) TableName() string { return "bookings" }

type bookingClocks struct {
	Session clock `json:"session,omitzero"`
	NoShow  clock `json:"no_show,omitzero"`
	textClocks
}

// textClocks are those of the texts that bookings and attendances share.
type textClocks struct {
	Title    clock `json:"title,omitzero"`
	Location clock `json:"location,omitzero"`
	Name     clock `json:"name,omitzero"`
	Email    clock `json:"email,omitzero"`
	Phone    clock `json:"phone,omitzero"`
	Timezone clock `json:"timezone,omitzero"`
}

func text(value string, at clock) booking.Text {
	return booking.Text{Value: value, At: booking.Clock(at)}
}

func bookingFromDomain(b booking.Booking) bookingRow {
	return bookingRow{
		ID: b.ID, ExternalID: b.ExternalID, Provider: b.Source.Provider, APIBase: b.Source.Base, Seat: b.Seat,
		OpenedAt: atOrNull(b.OpenedAt), SessionID: idOrNull(b.SessionID), Status: b.Status, Reason: b.Reason,
		Title: b.Title.Value, Location: b.Location.Value,
		InviteeName: b.Invitee.Name.Value, InviteeEmail: b.Invitee.Email.Value,
		InviteePhone: b.Invitee.Phone.Value, InviteeTimezone: b.Invitee.Timezone.Value,
		NoShow: b.NoShow, BookedAt: atPtr(b.BookedAt),
		ChainID: b.ChainID, Supersedes: b.Supersedes, SupersededBy: b.SupersededBy,
		ConflictsWith: document[[]uuid.UUID]{b.ConflictsWith}, OverlapAccepted: b.OverlapAccepted,
		ConnectionID: b.ConnectionID, LastReceiptID: idOrNull(b.LastReceiptID),
		Clocks: document[bookingClocks]{bookingClocks{
			Session: clock(b.SessionAt), NoShow: clock(b.NoShowAt),
			textClocks: textClocksOf(b.Title, b.Location, b.Invitee),
		}},
	}
}

func textClocksOf(title, location booking.Text, i booking.Invitee) textClocks {
	return textClocks{
		Title: clock(title.At), Location: clock(location.At),
		Name: clock(i.Name.At), Email: clock(i.Email.At), Phone: clock(i.Phone.At), Timezone: clock(i.Timezone.At),
	}
}

func (r *bookingRow) toDomain() booking.Booking {
	c := r.Clocks.v
	return booking.Booking{
		ID: r.ID, Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, ExternalID: r.ExternalID,
		Seat: r.Seat, OpenedAt: r.OpenedAt.time(), SessionID: idOrNil(r.SessionID), SessionAt: booking.Clock(c.Session),
		Status: r.Status, Reason: r.Reason, Title: text(r.Title, c.Title), Location: text(r.Location, c.Location),
		Invitee: booking.Invitee{
			Name: text(r.InviteeName, c.Name), Email: text(r.InviteeEmail, c.Email),
			Phone: text(r.InviteePhone, c.Phone), Timezone: text(r.InviteeTimezone, c.Timezone),
		},
		NoShow: r.NoShow, NoShowAt: booking.Clock(c.NoShow), BookedAt: r.BookedAt.ptr(),
		ChainID: r.ChainID, Supersedes: r.Supersedes, SupersededBy: r.SupersededBy,
		ConflictsWith: r.ConflictsWith.v, OverlapAccepted: r.OverlapAccepted,
		ConnectionID: r.ConnectionID, LastReceiptID: idOrNil(r.LastReceiptID),
	}
}

// sessionRow is a row of sessions.
type sessionRow struct {
	ID         uuid.UUID
	ExternalID string
	Provider   string
	APIBase    string
	StartsAt   *stamp
	EndsAt     *stamp
	Capacity   *int
	Seated     bool
	Hosts      document[[]hostJSON]
	AddedHosts document[[]addedHostJSON]
	HostEmails document[[]string]
	Clocks     document[sessionClocks]
}

func (sessionRow) TableName() string { return "sessions" }

type sessionClocks struct {
	Time  clock `json:"time,omitzero"`
	Hosts clock `json:"hosts,omitzero"`
}

type hostJSON struct {
	ExternalID string `json:"id"`
	Email      string `json:"email,omitempty"`
	Name       string `json:"name,omitempty"`
	Named      bool   `json:"named,omitempty"`
}

type addedHostJSON struct {
	Host hostJSON `json:"host"`
	At   clock    `json:"at,omitzero"`
}

// mapped is nil for nil, so that "nobody said" survives.
func mapped[A, B any](in []A, f func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

func sessionFromDomain(s booking.Session) sessionRow {
	return sessionRow{
		ID: s.ID, ExternalID: s.ExternalID, Provider: s.Source.Provider, APIBase: s.Source.Base,
		StartsAt: atOrNull(s.StartsAt), EndsAt: atOrNull(s.EndsAt), Capacity: s.Capacity, Seated: s.Seated,
		Hosts: document[[]hostJSON]{mapped(s.Hosts, func(h booking.Host) hostJSON { return hostJSON(h) })},
		AddedHosts: document[[]addedHostJSON]{mapped(s.Added, func(a booking.AddedHost) addedHostJSON {
			return addedHostJSON{Host: hostJSON(a.Host), At: clock(a.At)}
		})},
		HostEmails: document[[]string]{s.HostEmails},
		Clocks:     document[sessionClocks]{sessionClocks{Time: clock(s.TimeAt), Hosts: clock(s.HostsAt)}},
	}
}

func (r *sessionRow) toDomain() booking.Session {
	return booking.Session{
		ID: r.ID, Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, ExternalID: r.ExternalID,
		StartsAt: r.StartsAt.time(), EndsAt: r.EndsAt.time(), TimeAt: booking.Clock(r.Clocks.v.Time),
		Hosts: mapped(r.Hosts.v, func(h hostJSON) booking.Host { return booking.Host(h) }), HostsAt: booking.Clock(r.Clocks.v.Hosts),
		Added: mapped(r.AddedHosts.v, func(a addedHostJSON) booking.AddedHost {
			return booking.AddedHost{Host: booking.Host(a.Host), At: booking.Clock(a.At)}
		}),
		HostEmails: r.HostEmails.v, Capacity: r.Capacity, Seated: r.Seated,
	}
}

// sessionHostRow leads from a host that counts to its session.
type sessionHostRow struct {
	SessionID  uuid.UUID
	ExternalID string
	Email      string
}

func (sessionHostRow) TableName() string { return "session_hosts" }

func sessionHosts(s booking.Session) []sessionHostRow {
	var out []sessionHostRow
	for _, h := range s.EffectiveHosts() {
		if !slices.ContainsFunc(out, func(r sessionHostRow) bool { return r.ExternalID == h.ExternalID }) {
			out = append(out, sessionHostRow{SessionID: s.ID, ExternalID: h.ExternalID, Email: h.Email})
		}
	}
	return out
}

// slotRow is a row of slots.
type slotRow struct {
	ID         uuid.UUID
	SessionID  uuid.UUID
	ResourceID uuid.UUID
	StartsAt   stamp
	EndsAt     stamp
	Status     booking.SlotStatus
	ReceiptID  *uuid.UUID
}

func (slotRow) TableName() string { return "slots" }

func slotFromDomain(s booking.Slot) slotRow {
	return slotRow{
		ID: s.ID, SessionID: s.SessionID, ResourceID: s.ResourceID, StartsAt: at(s.StartsAt), EndsAt: at(s.EndsAt),
		Status: s.Status, ReceiptID: idOrNull(s.ReceiptID),
	}
}

func (r *slotRow) toDomain() booking.Slot {
	return booking.Slot{
		ID: r.ID, SessionID: r.SessionID, ResourceID: r.ResourceID, StartsAt: r.StartsAt.t, EndsAt: r.EndsAt.t,
		Status: r.Status, ReceiptID: idOrNil(r.ReceiptID),
	}
}

// resourceRow is a row of resources without what people set (zone, merging),
// which no delivery may overwrite.
type resourceRow struct {
	ID                   uuid.UUID
	Name                 string
	NameGiven            bool
	AcceptWithinProvider bool
}

func (resourceRow) TableName() string { return "resources" }

func resourceFromDomain(r booking.Resource) resourceRow { return resourceRow(r) }

func (r *resourceRow) toDomain() booking.Resource { return booking.Resource(*r) }

// identityRow is a row of identities.
type identityRow struct {
	ExternalID string `gorm:"primaryKey"`
	Provider   string `gorm:"primaryKey"`
	APIBase    string `gorm:"primaryKey"`
	ResourceID *uuid.UUID
	Email      string
	Pinned     bool
}

func (identityRow) TableName() string { return "identities" }

func identityFromDomain(i booking.Identity) identityRow {
	return identityRow{
		ExternalID: i.ExternalID, Provider: i.Source.Provider, APIBase: i.Source.Base,
		ResourceID: idOrNull(i.ResourceID), Email: i.Email, Pinned: i.Pinned,
	}
}

func (r *identityRow) toDomain() booking.Identity {
	return booking.Identity{
		Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, ExternalID: r.ExternalID,
		ResourceID: idOrNil(r.ResourceID), Email: r.Email, Pinned: r.Pinned,
	}
}
