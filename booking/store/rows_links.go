package store

import "slotkeeper/booking"

// attendanceRow is a row of attendances: what is kept of one listed e-mail of a
// shared uid. Key is the e-mail's HMAC.
type attendanceRow struct {
	ExternalID      string `gorm:"primaryKey"`
	Key             string `gorm:"primaryKey"`
	Provider        string `gorm:"primaryKey"`
	APIBase         string `gorm:"primaryKey"`
	CloseReason     booking.Reason
	Strongest       booking.Reason
	Alone           bool
	Title           string
	Location        string
	InviteeName     string
	InviteeEmail    string
	InviteePhone    string
	InviteeTimezone string
	NoShow          bool
	BookedAt        *stamp
	Listed          document[[]string]
	Clocks          document[attendanceClocks]
}

func (attendanceRow) TableName() string { return "attendances" }

type attendanceClocks struct {
	Create      clock `json:"create,omitzero"`
	Request     clock `json:"request,omitzero"`
	ConfirmMove clock `json:"confirm_move,omitzero"`
	Move        clock `json:"move,omitzero"`
	Closing     clock `json:"closing,omitzero"`
	NoShow      clock `json:"no_show,omitzero"`
	Listed      clock `json:"listed,omitzero"`
	textClocks
}

func attendanceFromDomain(a booking.Attendance) attendanceRow {
	return attendanceRow{
		ExternalID: a.ExternalID, Key: a.Key, Provider: a.Source.Provider, APIBase: a.Source.Base,
		CloseReason: a.CloseReason, Strongest: a.Strongest, Alone: a.Alone,
		Title: a.Title.Value, Location: a.Location.Value,
		InviteeName: a.Invitee.Name.Value, InviteeEmail: a.Invitee.Email.Value,
		InviteePhone: a.Invitee.Phone.Value, InviteeTimezone: a.Invitee.Timezone.Value,
		NoShow: a.NoShow, BookedAt: atPtr(a.BookedAt), Listed: document[[]string]{a.Listed},
		Clocks: document[attendanceClocks]{attendanceClocks{
			Create: clock(a.Create), Request: clock(a.Request), ConfirmMove: clock(a.ConfirmMove), Move: clock(a.Move),
			Closing: clock(a.Closing), NoShow: clock(a.NoShowAt), Listed: clock(a.ListedAt),
			textClocks: textClocksOf(a.Title, a.Location, a.Invitee),
		}},
	}
}

func (r *attendanceRow) toDomain() booking.Attendance {
	c := r.Clocks.v
	return booking.Attendance{
		Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, ExternalID: r.ExternalID, Key: r.Key,
		Create: booking.Clock(c.Create), Request: booking.Clock(c.Request),
		ConfirmMove: booking.Clock(c.ConfirmMove), Move: booking.Clock(c.Move), Closing: booking.Clock(c.Closing),
		CloseReason: r.CloseReason, Strongest: r.Strongest, Alone: r.Alone,
		Title: text(r.Title, c.Title), Location: text(r.Location, c.Location),
		Invitee: booking.Invitee{
			Name: text(r.InviteeName, c.Name), Email: text(r.InviteeEmail, c.Email),
			Phone: text(r.InviteePhone, c.Phone), Timezone: text(r.InviteeTimezone, c.Timezone),
		},
		NoShow: r.NoShow, NoShowAt: booking.Clock(c.NoShow), BookedAt: r.BookedAt.ptr(),
		Listed: r.Listed.v, ListedAt: booking.Clock(c.Listed),
	}
}

func attendanceKey(a booking.Attendance) booking.AttendanceKey {
	return booking.AttendanceKey{Ref: booking.Ref{Source: a.Source, ExternalID: a.ExternalID}, Key: a.Key}
}

// bookingLinkRow is a row of links.
type bookingLinkRow struct {
	Predecessor string `gorm:"primaryKey"`
	Successor   string `gorm:"primaryKey"`
	Key         string `gorm:"primaryKey"`
	Provider    string `gorm:"primaryKey"`
	APIBase     string `gorm:"primaryKey"`
	Clock       clockColumn
}

func (bookingLinkRow) TableName() string { return "links" }

func bookingLinkFromDomain(l booking.Link) bookingLinkRow {
	return bookingLinkRow{
		Predecessor: l.Predecessor, Successor: l.Successor, Key: l.Key,
		Provider: l.Source.Provider, APIBase: l.Source.Base, Clock: clockColumn{clock(l.At)},
	}
}

func (r *bookingLinkRow) toDomain() booking.Link {
	return booking.Link{
		Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, Predecessor: r.Predecessor, Successor: r.Successor,
		Key: r.Key, At: booking.Clock(r.Clock.c),
	}
}

func linkKey(l booking.Link) booking.LinkKey {
	return booking.LinkKey{Source: l.Source, Predecessor: l.Predecessor, Successor: l.Successor, Key: l.Key}
}
