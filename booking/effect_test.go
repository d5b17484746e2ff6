package booking_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

func view(n byte, provider string, status booking.Status) booking.View {
	return booking.View{
		ID: uuid.UUID{15: n}, Provider: provider, ExternalID: "booking-" + string('a'+rune(n)), Status: status,
		Invitee: booking.Person{Email: string('a'+rune(n)) + "@example.com"},
	}
}

// Who is canceled with a booking is the provider's way: all of the meeting, one
// seat, or one booking.
func TestCanceling(t *testing.T) {
	t.Parallel()
	session := booking.Session{ExternalID: "meeting"}
	seated := session
	seated.Seated = true
	group := func(provider string) []booking.View {
		return []booking.View{
			view(1, provider, booking.Active), view(2, provider, booking.Conflicted), view(3, provider, booking.Pending), view(4, provider, booking.Canceled),
		}
	}
	nameless := view(1, "calcom", booking.Active)
	nameless.Invitee = booking.Person{}
	for name, tt := range map[string]struct {
		b        booking.View
		session  booking.Session
		together []booking.View
		affected []byte
		seat     string
		seatless bool
	}{
		"calendly alone":            {view(1, "calendly", booking.Active), session, group("calendly")[:1], []byte{1}, "", false},
		"calendly group":            {view(1, "calendly", booking.Active), session, group("calendly"), []byte{1, 2, 3}, "", false},
		"calendly canceled":         {view(4, "calendly", booking.Canceled), session, group("calendly"), []byte{1, 2, 3}, "", false},
		"cal.com alone":             {view(1, "calcom", booking.Active), session, group("calcom")[:1], []byte{1}, "", false},
		"cal.com seat":              {view(2, "calcom", booking.Conflicted), seated, group("calcom"), []byte{2}, "c@example.com", false},
		"cal.com seat of no e-mail": {nameless, seated, group("calcom"), []byte{1}, "", true},
		"acuity class":              {view(3, "acuity", booking.Pending), session, group("acuity"), []byte{3}, "", false},
		"acuity canceled":           {view(4, "acuity", booking.Canceled), session, group("acuity"), nil, "", false},
		"link alone told of it":     {view(1, "calendly", booking.Active), booking.Session{}, group("calendly")[:1], []byte{1}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := booking.Canceling(tt.b, tt.session, tt.together)
			var got []byte
			for _, id := range p.IDs() {
				got = append(got, id[15])
			}
			if !slices.Equal(got, tt.affected) || p.Target.Seat != tt.seat || p.Seatless != tt.seatless ||
				p.Target.ExternalID != tt.b.ExternalID || p.Target.SessionExternalID != tt.session.ExternalID {
				t.Errorf("%v, %+v, seatless %v", got, p.Target, p.Seatless)
			}
		})
	}
}

func TestCancelPlanRefuses(t *testing.T) {
	t.Parallel()
	account := uuid.New()
	plan := func(change func(*booking.CancelPlan)) booking.CancelPlan {
		p := booking.Canceling(view(1, "calcom", booking.Active), booking.Session{}, nil)
		p.ConnectionID = account
		change(&p)
		return p
	}
	var cannot *booking.CannotCancelError
	for name, tt := range map[string]struct {
		change func(*booking.CancelPlan)
		want   error
		cannot bool
	}{
		"nothing":            {func(*booking.CancelPlan) {}, nil, false},
		"canceled":           {func(p *booking.CancelPlan) { p.Booking.Status = booking.Canceled }, booking.ErrAlreadyCanceled, false},
		"canceled and asked": {func(p *booking.CancelPlan) { p.Booking.Status, p.Open = booking.Canceled, true }, booking.ErrAlreadyCanceled, false},
		"asked already":      {func(p *booking.CancelPlan) { p.Open = true }, booking.ErrAlreadyAsked, false},
		"no account":         {func(p *booking.CancelPlan) { p.ConnectionID = uuid.Nil }, nil, true},
		"no seat":            {func(p *booking.CancelPlan) { p.Seatless = true }, nil, true},
	} {
		if err := plan(tt.change).Refuse(); tt.want != nil && !errors.Is(err, tt.want) || errors.As(err, &cannot) != tt.cannot || (err != nil) != (tt.want != nil || tt.cannot) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A group's number is asked for, and no other will do; one booking needs none.
func TestCancelPlanChecks(t *testing.T) {
	t.Parallel()
	group := []booking.View{view(1, "calendly", booking.Active), view(2, "calendly", booking.Active)}
	one, two := booking.Canceling(group[0], booking.Session{}, group[:1]), booking.Canceling(group[0], booking.Session{}, group)
	for _, tt := range []struct {
		plan    booking.CancelPlan
		confirm int
		ok      bool
	}{{one, 0, true}, {one, 1, true}, {one, 2, false}, {two, 0, false}, {two, 1, false}, {two, 2, true}, {two, 3, false}} {
		err := tt.plan.Check("", tt.confirm)
		var unconfirmed *booking.UnconfirmedError
		if tt.ok && err != nil || !tt.ok && (!errors.As(err, &unconfirmed) || unconfirmed.Affected != len(tt.plan.Affected)) {
			t.Errorf("%d affected, %d confirmed: %v", len(tt.plan.Affected), tt.confirm, err)
		}
	}
	var invalid *booking.InvalidError
	if err := one.Check(strings.Repeat("é", booking.MaxMessage+1), 1); !errors.As(err, &invalid) || invalid.Field != "message" {
		t.Errorf("a long message: %v", err)
	}
	if err := one.Check(strings.Repeat("é", booking.MaxMessage), 1); err != nil {
		t.Error(err)
	}
}

// What was agreed to is carried out, and nothing more.
func TestCancelOrderStands(t *testing.T) {
	t.Parallel()
	order := booking.CancelOrder{Affected: []uuid.UUID{{15: 1}, {15: 2}}}
	moved := view(1, "calendly", booking.Canceled)
	moved.Reason = booking.ReasonRescheduled
	plan := func(bookings ...booking.View) booking.CancelPlan {
		return booking.Canceling(bookings[0], booking.Session{}, bookings)
	}
	seatless := plan(view(1, "calcom", booking.Active))
	seatless.Seatless = true
	var cannot *booking.CannotCancelError
	for name, tt := range map[string]struct {
		plan   booking.CancelPlan
		stands bool
		want   error
		cannot bool
	}{
		"as agreed":        {plan(view(1, "calendly", booking.Active), view(2, "calendly", booking.Active)), true, nil, false},
		"one has left":     {plan(view(1, "calendly", booking.Active), view(2, "calendly", booking.Canceled)), true, nil, false},
		"all have left":    {plan(view(1, "calendly", booking.Canceled), view(2, "calendly", booking.Canceled)), false, nil, false},
		"somebody joined":  {plan(view(1, "calendly", booking.Active), view(3, "calendly", booking.Pending)), false, booking.ErrJoined, false},
		"somebody came by": {plan(view(1, "calendly", booking.Active), view(3, "calendly", booking.Canceled)), true, nil, false},
		"rescheduled":      {plan(moved), false, booking.ErrMovedAway, false},
		"canceled there":   {plan(view(1, "acuity", booking.Canceled)), false, nil, false},
		"no name any more": {seatless, false, nil, true},
	} {
		stands, err := order.Stands(tt.plan)
		if stands != tt.stands || tt.want != nil && !errors.Is(err, tt.want) || errors.As(err, &cannot) != tt.cannot || (err != nil) != (tt.want != nil || tt.cannot) {
			t.Errorf("%s: %v, %v", name, stands, err)
		}
	}
}
