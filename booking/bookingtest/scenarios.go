package bookingtest

import b "slotkeeper/booking"

// Scenario is a set of deliveries whose order must not matter.
type Scenario struct {
	Name   string
	Rivals bool // bookings fight for slots: who wins may depend on the order
	Events []*b.Event
	// Want is the end of some bookings: name as in Picture, "status reason".
	Want map[string]string
}

const (
	req  = b.KindRequested
	cre  = b.KindCreated
	mov  = b.KindMoved
	can  = b.KindCanceled
	det  = b.KindDetails
	miss = b.KindNoShow
)

// Scenarios are the stories of DESIGN §3 and of what providers really send.
func Scenarios() []Scenario {
	var out []Scenario
	for _, part := range [][]Scenario{single(), chains(), confirmation(), groups(), seats(), rivals(), clocks(), reads()} {
		out = append(out, part...)
	}
	return out
}

func single() []Scenario {
	return []Scenario{
		{
			Name: "one to one",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1), Title("Intro")),
				New(Calendly, can, "a", 5, In("s"), When("10:00", "10:30"), With("maren"), For("priya"), Room(1)),
			},
			Want: map[string]string{"calendly/a/": "canceled canceled"},
		},
		{
			Name: "cancel says other things than the create",
			Events: []*b.Event{
				New(Generic, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya"), Title("Old")),
				New(Generic, can, "a", 5, When("11:00", "11:30"), With("theo"), For("priya"), Title("New")),
				New(Generic, det, "a", 3, For("priya"), Title("Between")),
			},
		},
		{
			Name: "details newer and older than the create",
			Events: []*b.Event{
				New(Generic, cre, "a", 2, When("10:00", "10:30"), With("maren"), For("priya"), Title("Created")),
				New(Generic, det, "a", 1, Title("Older")),
				New(Generic, det, "a", 3, Title("Newer")),
			},
			Want: map[string]string{"generic/a/": "active "},
		},
		{
			Name: "no-show before create and after cancel",
			Events: []*b.Event{
				New(Calendly, miss, "a", 9, In("s"), For("priya"), Missed(true)),
				New(Calendly, cre, "a", 0, In("s"), When("10:00", "10:30"), With("maren"), For("priya")),
				New(Calendly, can, "a", 5, In("s"), For("priya")),
				New(Calendly, miss, "a", 12, In("s"), For("priya"), Missed(false)),
				New(Calendly, miss, "a", 11, In("s"), For("priya"), Missed(true)),
			},
			Want: map[string]string{"calendly/a/": "canceled canceled"},
		},
		{
			Name: "no-show of nobody waits",
			Events: []*b.Event{
				New(Calendly, miss, "ghost", 9, In("s"), For("priya"), Missed(true)),
				New(Calendly, cre, "a", 0, In("s2"), When("10:00", "10:30"), With("maren"), For("kofi")),
			},
		},
		{
			Name: "moves in a row",
			Events: []*b.Event{
				New(Generic, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Generic, mov, "a", 1, When("11:00", "11:30"), With("maren")),
				New(Generic, mov, "a", 2, When("12:00", "12:30"), With("theo")),
				New(Generic, mov, "a", 3, When("10:15", "10:45")),
			},
			Want: map[string]string{"generic/a/": "active "},
		},
		{
			Name: "move alone is pending, a confirmed one is not",
			Events: []*b.Event{
				New(Generic, mov, "a", 1, When("11:00", "11:30"), With("maren"), For("priya")),
				New(Calcom, mov, "b", 1, When("12:00", "12:30"), With("maren"), For("kofi"), Confirmed()),
			},
			Want: map[string]string{"generic/a/": "pending ", "calcom/b/": "active "},
		},
		{
			Name: "a booking changes its session",
			Events: []*b.Event{
				New(Generic, cre, "a", 0, In("s1"), When("10:00", "10:30"), With("maren"), For("priya")),
				New(Generic, mov, "a", 4, In("s2"), When("11:00", "11:30"), With("theo")),
				New(Generic, cre, "c", 1, In("s1"), When("10:00", "10:30"), With("maren"), For("kofi")),
			},
			Want: map[string]string{"generic/a/": "active ", "generic/c/": "active "},
		},
		{
			Name: "reasons of a cancel",
			Events: []*b.Event{
				New(Generic, can, "a", 1, Because(b.ReasonCanceled)),
				New(Generic, can, "a", 3, Because(b.ReasonDeclined)),
				New(Generic, can, "a", 2, Because(b.ReasonRemoved)),
				New(Generic, cre, "a", 5, When("10:00", "10:30"), With("maren"), For("priya")),
			},
			Want: map[string]string{"generic/a/": "canceled declined"},
		},
		{
			Name: "host without e-mail is mapped by a later body",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s1"), When("10:00", "10:30"), NoEmail("maren"), For("priya")),
				New(Calendly, cre, "c", 2, In("s2"), When("12:00", "12:30"), With("maren"), For("kofi")),
			},
			Want: map[string]string{"calendly/a/": "active ", "calendly/c/": "active "},
		},
		{
			Name: "host whom nobody mapped",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s1"), When("10:00", "10:30"), NoEmail("maren"), For("priya")),
				New(Calendly, cre, "c", 2, In("s2"), When("10:00", "10:30"), NoEmail("maren"), For("kofi")),
			},
			Want: map[string]string{"calendly/a/": "active unmapped", "calendly/c/": "active unmapped"},
		},
		{
			Name: "back to back",
			Events: []*b.Event{
				New(Generic, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Calcom, cre, "c", 2, When("10:30", "11:00"), With("maren"), For("kofi")),
			},
			Want: map[string]string{"generic/a/": "active ", "calcom/c/": "active "},
		},
	}
}

func chains() []Scenario {
	half := func(id string, n int, opts ...Option) *b.Event {
		return New(Calendly, can, id, n, append([]Option{In("s-" + id), For("priya"), Because(b.ReasonRescheduled)}, opts...)...)
	}
	made := func(id string, n int, from, to string, opts ...Option) *b.Event {
		return New(Calendly, cre, id, n, append([]Option{In("s-" + id), When(from, to), With("maren"), For("priya"), Room(1)}, opts...)...)
	}
	return []Scenario{
		{
			Name:   "reschedule by a quarter of an hour on one host",
			Events: []*b.Event{made("a", 0, "10:00", "10:30"), half("a", 10, To("c")), made("c", 9, "10:15", "10:45", From("a"))},
			Want:   map[string]string{"calendly/a/": "canceled rescheduled", "calendly/c/": "active "},
		},
		{
			Name:   "only the new half comes",
			Events: []*b.Event{made("a", 0, "10:00", "10:30"), made("c", 9, "11:00", "11:30", From("a"))},
			Want:   map[string]string{"calendly/a/": "canceled rescheduled", "calendly/c/": "active "},
		},
		{
			Name:   "only the old half comes",
			Events: []*b.Event{made("a", 0, "10:00", "10:30"), half("a", 10, To("c"))},
			Want:   map[string]string{"calendly/a/": "canceled rescheduled"},
		},
		{
			Name: "three links, first half of the middle missing",
			Events: []*b.Event{
				made("a", 0, "10:00", "10:30"), made("c", 9, "11:00", "11:30", From("a")),
				half("c", 20, From("a"), To("d")), made("d", 19, "11:15", "11:45", From("c")),
			},
			Want: map[string]string{"calendly/a/": "canceled rescheduled", "calendly/c/": "canceled rescheduled", "calendly/d/": "active "},
		},
		{
			Name:   "the middle is never seen but by its cancel",
			Events: []*b.Event{made("a", 0, "10:00", "10:30"), half("c", 20, From("a"), To("d")), made("d", 19, "12:00", "12:30", From("c"))},
		},
		{
			Name: "two successors, the newest counts",
			Events: []*b.Event{
				made("a", 0, "10:00", "10:30"), made("c", 9, "11:00", "11:30", From("a")), made("d", 12, "12:00", "12:30", From("a")),
			},
		},
		{
			Name: "chain that is canceled in the end",
			Events: []*b.Event{
				made("a", 0, "10:00", "10:30"), half("a", 10, To("c")), made("c", 9, "11:00", "11:30", From("a")),
				New(Calendly, can, "c", 30, In("s-c"), For("priya")),
			},
			Want: map[string]string{"calendly/c/": "canceled canceled"},
		},
		{
			Name: "a circle of links",
			Events: []*b.Event{
				made("a", 1, "10:00", "10:30", From("c")), made("c", 2, "11:00", "11:30", From("a")),
			},
		},
		{
			Name: "Cal.com reschedule with a new uid and no cancel",
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Calcom, mov, "c", 9, When("10:15", "10:45"), With("maren"), For("priya"), From("a"), Confirmed()),
				New(Calcom, can, "c", 20, When("10:15", "10:45"), With("maren"), Cut(), For("priya")),
			},
			Want: map[string]string{"calcom/a/": "canceled rescheduled", "calcom/c/": "canceled canceled"},
		},
		{
			Name: "reschedule that needs confirmation",
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Calcom, req, "c", 9, When("11:00", "11:30"), With("maren"), For("priya"), From("a")),
				New(Calcom, cre, "c", 12, When("11:00", "11:30"), With("maren"), Cut(), For("priya")),
			},
			Want: map[string]string{"calcom/a/": "canceled rescheduled", "calcom/c/": "active "},
		},
		{
			Name: "host asks to reschedule, attendee books again",
			Events: []*b.Event{
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Calcom, can, "a", 5, When("10:00", "10:30"), With("maren"), Cut(), For("priya")),
				New(Calcom, mov, "c", 9, When("10:00", "10:30"), With("maren"), For("priya"), From("a"), Confirmed()),
			},
			Want: map[string]string{"calcom/a/": "canceled rescheduled", "calcom/c/": "active "},
		},
		{
			Name: "the generic sender supersedes",
			Events: []*b.Event{
				New(Generic, cre, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Generic, cre, "c", 4, When("10:00", "11:00"), With("maren"), For("priya"), From("a")),
				New(Generic, can, "a", 6),
			},
			Want: map[string]string{"generic/a/": "canceled rescheduled", "generic/c/": "active "},
		},
	}
}

func confirmation() []Scenario {
	ask := func(id string, n int) *b.Event {
		return New(Calcom, req, id, n, When("10:00", "10:45"), With("maren", "theo"), For("sean"))
	}
	confirm := func(id string, n int) *b.Event {
		return New(Calcom, cre, id, n, When("10:00", "10:45"), With("maren"), Cut(), For("sean"))
	}
	return []Scenario{
		{
			Name: "request, confirm, move, cancel",
			Events: []*b.Event{
				ask("a", 0), confirm("a", 3),
				New(Calcom, mov, "a", 5, When("12:00", "12:45"), With("maren", "theo"), For("sean"), Confirmed()),
				New(Calcom, can, "a", 9, When("12:00", "12:45"), With("maren"), Cut(), For("sean")),
			},
			Want: map[string]string{"calcom/a/": "canceled canceled"},
		},
		{Name: "confirm before its request", Events: []*b.Event{ask("a", 0), confirm("a", 3)}, Want: map[string]string{"calcom/a/": "active "}},
		{
			Name:   "request declined",
			Events: []*b.Event{ask("a", 0), New(Calcom, can, "a", 3, With("maren"), Cut(), For("sean"), Because(b.ReasonDeclined))},
			Want:   map[string]string{"calcom/a/": "canceled declined"},
		},
		{
			Name:   "confirmed after it was declined",
			Events: []*b.Event{ask("a", 0), New(Calcom, can, "a", 3, For("sean"), Because(b.ReasonDeclined)), confirm("a", 6)},
			Want:   map[string]string{"calcom/a/": "canceled declined"},
		},
		{
			Name: "two people ask for one slot",
			Events: []*b.Event{
				ask("a", 0), New(Calcom, req, "c", 1, When("10:00", "10:45"), With("maren"), For("lena")), confirm("a", 5),
				New(Calcom, can, "c", 6, For("lena"), Because(b.ReasonDeclined)),
			},
			Want: map[string]string{"calcom/a/": "active ", "calcom/c/": "canceled declined"},
		},
		{
			Name: "collective with a cut list of hosts that lists hosts among attendees",
			Events: []*b.Event{
				ask("a", 0),
				New(Calcom, cre, "a", 3, When("10:00", "10:45"), With("maren"), Cut(), ForHost("theo"), For("sean")),
				New(Calcom, cre, "c", 4, When("11:00", "11:30"), With("theo"), For("kofi")),
			},
			Want: map[string]string{"calcom/a/": "active ", "calcom/c/": "active "},
		},
	}
}

func groups() []Scenario {
	in := func(id, who string, n int, opts ...Option) *b.Event {
		return New(Calendly, cre, id, n, append([]Option{In("g"), When("10:00", "11:00"), With("maren"), For(who)}, opts...)...)
	}
	out := func(id, who string, n int) *b.Event {
		return New(Calendly, can, id, n, In("g"), When("10:00", "11:00"), With("maren"), For(who))
	}
	return []Scenario{
		{
			Name:   "one leaves a group",
			Events: []*b.Event{in("a", "priya", 0, Room(8)), in("c", "kofi", 1, Room(8)), out("a", "priya", 5)},
			Want:   map[string]string{"calendly/a/": "canceled canceled", "calendly/c/": "active "},
		},
		{
			Name: "the host cancels a group",
			Events: []*b.Event{
				in("a", "priya", 0, Room(8)), in("c", "kofi", 1, Room(8)), in("d", "lena", 2, Room(8)),
				out("a", "priya", 5), out("c", "kofi", 5), out("d", "lena", 5),
			},
		},
		{
			Name:   "over a known capacity the latest wait",
			Events: []*b.Event{in("a", "priya", 0, Room(2)), in("c", "kofi", 1, Room(2)), in("d", "lena", 2, Room(2)), in("e", "sean", 3)},
			Want: map[string]string{
				"calendly/a/": "active ", "calendly/c/": "active ",
				"calendly/d/": "conflicted capacity_full", "calendly/e/": "conflicted capacity_full",
			},
		},
		{
			Name:   "capacity is raised",
			Events: []*b.Event{in("a", "priya", 0, Room(1)), in("c", "kofi", 1, Room(1)), in("d", "lena", 2, Room(2))},
			Want:   map[string]string{"calendly/a/": "active ", "calendly/c/": "active ", "calendly/d/": "conflicted capacity_full"},
		},
		{
			Name:   "a seat becomes free",
			Events: []*b.Event{in("a", "priya", 0, Room(2)), in("c", "kofi", 1, Room(2)), in("d", "lena", 2, Room(2)), out("a", "priya", 5)},
			Want:   map[string]string{"calendly/d/": "active "},
		},
		{
			Name: "a collective blocks both hosts",
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("p"), When("10:00", "11:00"), With("maren", "theo"), For("priya"), Room(1)),
				New(Generic, cre, "c", 5, When("11:00", "11:30"), With("theo"), For("kofi")),
			},
		},
		{
			Name: "a group moves with all its bookings",
			Events: []*b.Event{
				New(Generic, cre, "a", 0, In("g"), When("10:00", "11:00"), With("maren"), For("priya")),
				New(Generic, cre, "c", 1, In("g"), When("10:00", "11:00"), With("maren"), For("kofi")),
				New(Generic, mov, "a", 5, In("g"), When("14:00", "15:00"), With("maren")),
			},
			Want: map[string]string{"generic/a/": "active ", "generic/c/": "active "},
		},
	}
}

func seats() []Scenario {
	sit := func(id, who string, n int, opts ...Option) *b.Event {
		return New(Calcom, cre, id, n, append([]Option{When("17:00", "18:00"), With("maren"), For(who), Seats(8)}, opts...)...)
	}
	leave := func(id, who string, n int, opts ...Option) *b.Event {
		return New(Calcom, can, id, n, append([]Option{When("17:00", "18:00"), With("maren"), Cut(), For(who)}, opts...)...)
	}
	confirm := func(id, who string, n int) *b.Event {
		return New(Calcom, cre, id, n, When("17:00", "18:00"), With("maren"), Cut(), For(who))
	}
	return []Scenario{
		{
			Name:   "seats that leave",
			Events: []*b.Event{sit("u", "lena", 0), sit("u", "kofi", 1), leave("u", "kofi", 5, Seats(8))},
			Want:   map[string]string{"calcom/u/lena": "active ", "calcom/u/kofi": "canceled canceled"},
		},
		{
			Name:   "a seat is taken again",
			Events: []*b.Event{sit("u", "lena", 0), leave("u", "lena", 3, Seats(8)), sit("u", "lena", 6), sit("u", "kofi", 1)},
			Want:   map[string]string{"calcom/u/lena": "active ", "calcom/u/kofi": "active "},
		},
		{
			Name:   "a seat is taken again and left again",
			Events: []*b.Event{sit("u", "lena", 0), leave("u", "lena", 3, Seats(8)), sit("u", "lena", 6), leave("u", "lena", 9, Seats(8))},
			Want:   map[string]string{"calcom/u/lena": "canceled canceled"},
		},
		{
			Name: "one seat moves to an empty slot",
			Events: []*b.Event{
				sit("u", "lena", 0), sit("u", "kofi", 1),
				New(Calcom, mov, "v", 5, When("19:00", "20:00"), With("maren"), For("kofi"), Seats(8), From("u"), Confirmed()),
			},
			Want: map[string]string{"calcom/u/lena": "active ", "calcom/u/kofi": "canceled rescheduled", "calcom/v/kofi": "active "},
		},
		{
			Name: "one seat moves away and comes back",
			Events: []*b.Event{
				sit("u", "kofi", 0),
				New(Calcom, mov, "v", 5, When("19:00", "20:00"), With("maren"), For("kofi"), Seats(8), From("u"), Confirmed()),
				New(Calcom, mov, "u", 9, When("17:00", "18:00"), With("maren"), For("kofi"), Seats(8), From("v"), Confirmed()),
				sit("u", "kofi", 9),
			},
		},
		{
			Name: "the whole seated booking moves in place, with a late seat",
			Events: []*b.Event{
				sit("u", "lena", 0), sit("u", "kofi", 4),
				New(Calcom, mov, "u", 3, When("20:00", "21:00"), With("maren"), For("lena"), Seats(8), From("u"), Confirmed()),
			},
			Want: map[string]string{"calcom/u/lena": "active ", "calcom/u/kofi": "active "},
		},
		{
			Name:   "the number comes late",
			Events: []*b.Event{confirm("u", "lena", 1), confirm("u", "kofi", 2), sit("u", "sean", 3)},
			Want:   map[string]string{"calcom/u/lena": "active ", "calcom/u/kofi": "active ", "calcom/u/sean": "active "},
		},
		{
			Name:   "the number comes after a silent decline",
			Events: []*b.Event{confirm("u", "lena", 1), leave("u", "kofi", 2, Because(b.ReasonDeclined)), sit("u", "sean", 3)},
			Want:   map[string]string{"calcom/u/lena": "active ", "calcom/u/kofi": "canceled declined", "calcom/u/sean": "active "},
		},
		{
			Name: "pending seats, a request after its create",
			Events: []*b.Event{
				sit("u", "lena", 1), leave("u", "lena", 2, Seats(8)),
				New(Calcom, req, "u", 3, When("17:00", "18:00"), With("maren"), For("lena"), Seats(8)),
				confirm("u", "kofi", 4),
			},
			Want: map[string]string{"calcom/u/lena": "pending ", "calcom/u/kofi": "active "},
		},
		{
			Name: "no-shows of seats",
			Events: []*b.Event{
				sit("u", "lena", 0), sit("u", "kofi", 1),
				New(Calcom, miss, "u", 9, For("kofi"), Missed(true)),
				New(Calcom, miss, "u", 11, For("kofi"), Missed(false)),
				New(Calcom, miss, "u", 10, For("lena", "sean"), Missed(true)),
			},
		},
		{
			Name: "no-show of a guest is nobody's",
			Events: []*b.Event{
				New(Calcom, cre, "u", 0, When("10:00", "11:00"), With("maren"), For("priya", "kofi")),
				New(Calcom, miss, "u", 9, For("kofi"), Missed(true)),
				New(Calcom, miss, "u", 10, For("priya"), Missed(true)),
			},
		},
		{
			Name:   "a seated create lists many",
			Events: []*b.Event{sit("u", "lena", 0), New(Calcom, cre, "u", 2, When("17:00", "18:00"), With("maren"), For("kofi", "sean"), Seats(8)), leave("u", "sean", 4)},
			Want:   map[string]string{"calcom/u/sean": "canceled canceled", "calcom/u/kofi": "active "},
		},
		{
			Name:   "too many for the seats",
			Events: []*b.Event{sit("u", "lena", 0, Seats(2)), sit("u", "kofi", 1, Seats(2)), sit("u", "sean", 2, Seats(2)), leave("u", "lena", 7, Seats(2))},
			Want:   map[string]string{"calcom/u/kofi": "active ", "calcom/u/sean": "active "},
		},
		{
			Name: "the host cancels all seats in one body",
			Events: []*b.Event{
				sit("u", "lena", 0), sit("u", "kofi", 1),
				New(Calcom, can, "u", 5, When("17:00", "18:00"), With("maren"), Cut(), For("lena", "kofi"), Seats(8)),
			},
		},
		{
			Name: "a host sits among the seats",
			Events: []*b.Event{
				New(Calcom, cre, "u", 0, When("17:00", "18:00"), With("maren"), Cut(), ForHost("theo"), For("lena")),
				New(Calcom, cre, "u", 2, When("17:00", "18:00"), With("maren", "theo"), For("kofi"), Seats(8)),
			},
			Want: map[string]string{"calcom/u/lena": "active ", "calcom/u/kofi": "active "},
		},
		{
			Name: "a seat known only by a move, when the number comes",
			Events: []*b.Event{
				New(Calcom, cre, "u", 1, When("17:00", "18:00"), With("maren"), For("priya"), Room(1)),
				New(Calcom, mov, "u", 3, When("17:00", "18:00"), With("maren"), For("kofi"), Room(1)),
				sit("u", "lena", 9, Seats(3)),
			},
			Want: map[string]string{"calcom/u/priya": "active ", "calcom/u/kofi": "pending ", "calcom/u/lena": "active "},
		},
		{
			Name: "a silent cancel and a move, then the number",
			Events: []*b.Event{
				New(Calcom, can, "u", 6, For("sean")),
				New(Calcom, mov, "u", 7, When("17:00", "18:00"), With("maren"), For("kofi")),
				sit("u", "lena", 9, Seats(2)),
			},
			Want: map[string]string{"calcom/u/sean": "canceled canceled", "calcom/u/kofi": "pending ", "calcom/u/lena": "active "},
		},
		{
			Name: "a seat moves into an existing booking, unknown before",
			Events: []*b.Event{
				New(Calcom, mov, "v", 5, When("19:00", "20:00"), With("maren"), For("kofi"), Seats(8), From("u"), Confirmed()),
				sit("v", "lena", 1, When("19:00", "20:00")), leave("u", "kofi", 2), sit("u", "kofi", 0),
			},
			Want: map[string]string{"calcom/u/kofi": "canceled rescheduled", "calcom/v/kofi": "active ", "calcom/v/lena": "active "},
		},
	}
}

func rivals() []Scenario {
	want := func(s b.Source, id, who string, n int, from, to string, hosts ...string) *b.Event {
		return New(s, cre, id, n, When(from, to), With(hosts...), For(who))
	}
	return []Scenario{
		{
			Name: "two providers, one slot", Rivals: true,
			Events: []*b.Event{want(Calcom, "a", "priya", 0, "10:00", "10:30", "maren"), want(Calendly, "c", "kofi", 1, "10:00", "10:30", "maren")},
		},
		{
			Name: "overlap chain", Rivals: true,
			Events: []*b.Event{
				want(Calcom, "a", "priya", 0, "10:00", "10:30", "maren"), want(Calendly, "c", "kofi", 1, "10:15", "10:45", "maren"),
				want(Generic, "d", "lena", 2, "10:30", "11:00", "maren"),
			},
		},
		{
			Name: "the holder is canceled",
			Events: []*b.Event{
				want(Calcom, "a", "priya", 0, "10:00", "10:30", "maren"), want(Calendly, "c", "kofi", 1, "10:00", "10:30", "maren"),
				New(Calcom, can, "a", 5, For("priya")),
			},
			Want: map[string]string{"calcom/a/": "canceled canceled", "calendly/c/": "active "},
		},
		{
			Name: "the holder moves away",
			Events: []*b.Event{
				want(Generic, "a", "priya", 0, "10:00", "10:30", "maren"), want(Calendly, "c", "kofi", 1, "10:00", "10:30", "maren"),
				New(Generic, mov, "a", 5, When("12:00", "12:30")),
			},
			Want: map[string]string{"generic/a/": "active ", "calendly/c/": "active "},
		},
		{
			Name: "a collective waits for two", Rivals: true,
			Events: []*b.Event{
				want(Calcom, "a", "priya", 0, "10:00", "10:30", "maren"), want(Generic, "d", "lena", 2, "10:00", "10:30", "theo"),
				want(Calendly, "c", "kofi", 1, "10:00", "11:00", "maren", "theo"), New(Calcom, can, "a", 5, For("priya")),
			},
		},
		{
			Name: "a group is pushed into a held place", Rivals: true,
			Events: []*b.Event{
				New(Generic, cre, "a", 0, In("g"), When("10:00", "11:00"), With("maren"), For("priya")),
				New(Generic, cre, "c", 1, In("g"), When("10:00", "11:00"), With("maren"), For("kofi")),
				want(Calendly, "d", "lena", 2, "14:00", "15:00", "maren"),
				New(Generic, mov, "a", 5, In("g"), When("14:30", "15:30"), With("maren")),
			},
		},
		{
			Name: "three in a row, the middle leaves",
			Events: []*b.Event{
				want(Calcom, "a", "priya", 0, "10:00", "10:30", "maren"), want(Calendly, "c", "kofi", 1, "10:15", "10:45", "maren"),
				want(Generic, "d", "lena", 2, "10:30", "11:00", "maren"), New(Calendly, can, "c", 9, For("kofi")),
			},
			Want: map[string]string{"calcom/a/": "active ", "generic/d/": "active "},
		},
		{
			Name: "seats against a single", Rivals: true,
			Events: []*b.Event{
				New(Calcom, cre, "u", 0, When("17:00", "18:00"), With("maren"), For("lena"), Seats(2)),
				New(Calcom, cre, "u", 1, When("17:00", "18:00"), With("maren"), For("kofi"), Seats(2)),
				want(Calendly, "c", "sean", 2, "17:30", "18:30", "maren"),
				New(Calcom, can, "u", 4, For("lena"), Seats(2)),
			},
		},
		{
			Name: "a pending one excludes nobody",
			Events: []*b.Event{
				New(Calcom, req, "a", 0, When("10:00", "10:30"), With("maren"), For("priya")), want(Calendly, "c", "kofi", 1, "10:00", "10:30", "maren"),
			},
			Want: map[string]string{"calcom/a/": "pending ", "calendly/c/": "active "},
		},
		{
			Name: "an unmapped host's booking is mapped into a held place", Rivals: true,
			Events: []*b.Event{
				New(Calendly, cre, "a", 0, In("s1"), When("10:00", "10:30"), NoEmail("maren"), For("priya")),
				want(Calcom, "c", "kofi", 1, "10:00", "10:30", "maren"),
				New(Calendly, cre, "d", 2, In("s3"), When("12:00", "12:30"), With("maren"), For("lena")),
			},
		},
	}
}

func clocks() []Scenario {
	return []Scenario{
		{
			Name: "equal times",
			Events: []*b.Event{
				New(Calcom, req, "a", 0, When("10:00", "10:30"), With("maren"), For("priya"), Title("asked")),
				New(Calcom, cre, "a", 0, When("10:00", "10:30"), With("maren"), Cut(), For("priya"), Title("confirmed")),
				New(Calcom, mov, "a", 0, When("11:00", "11:30"), With("maren"), For("priya"), Title("moved"), Confirmed()),
				New(Calcom, can, "a", 0, For("priya"), Title("canceled")),
			},
			Want: map[string]string{"calcom/a/": "canceled canceled"},
		},
		{
			Name: "a cancel whose clock is behind its create",
			Events: []*b.Event{
				New(Generic, cre, "a", 5, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Generic, can, "a", 2), New(Generic, mov, "a", 9, When("12:00", "12:30")),
			},
			Want: map[string]string{"generic/a/": "canceled canceled"},
		},
		{
			Name: "skewed clocks of two moves",
			Events: []*b.Event{
				New(Generic, cre, "a", 50, When("10:00", "10:30"), With("maren"), For("priya")),
				New(Generic, mov, "a", 10, When("12:00", "12:30")), New(Generic, mov, "a", 49, When("13:00", "13:30"), Title("T")),
			},
			Want: map[string]string{"generic/a/": "active "},
		},
		{
			Name: "time of booking is the earliest",
			Events: []*b.Event{
				New(Generic, cre, "a", 5, When("10:00", "10:30"), With("maren"), For("priya"), Booked(5)),
				New(Generic, req, "a", 2, When("10:00", "10:30"), With("maren"), For("priya"), Booked(1)),
			},
			Want: map[string]string{"generic/a/": "active "},
		},
	}
}
