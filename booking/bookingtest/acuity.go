package bookingtest

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"

	b "slotkeeper/booking"
)

// Acuity is the source of Acuity's stories. Its posts say nothing but "look again" (R15), so its stories
// are not sets of events but of what happens there, on the way, and here.
var Acuity = b.Source{Provider: "acuity", Base: "https://acuityscheduling.com/api/v1"}

// AcuityStory is what happens to appointments at Acuity, in this order. All else
// may come in any order that is possible: see AcuityStep.
type AcuityStory struct {
	Name    string
	Changes []AcuityChange
	// Twice is how often a receipt whose fetch is under way is taken up by another
	// instance as well, Deaths how often whoever fetches dies of it.
	Twice, Deaths int
	Rivals        bool
	// Long says that there are too many orders to try them all.
	Long bool
	// Want is the end of bookings: appointment, "status reason".
	Want map[string]string
}

// AcuityChange is a change at Acuity, which tells us to look again.
type AcuityChange struct {
	Appointment string
	// Says is what its API answers from then on, without the time at which it is
	// asked; nil is a 404.
	Says *b.Event
}

// AcuityAct is what a step does.
type AcuityAct string

// The steps. A change is followed by a poke on its way, so that several may
// arrive later than what they tell of, and out of order. A fetch begins with a
// ticket, which is committed; then it asks, then its answer is applied. Until then
// its process may die.
const (
	AcuityChanges AcuityAct = "change"
	AcuityPokes   AcuityAct = "poke"
	AcuityBegins  AcuityAct = "begin"
	AcuityAsks    AcuityAct = "ask"
	AcuityEnds    AcuityAct = "end"
	AcuityDies    AcuityAct = "die"
)

// AcuityStep is one step of a play, with what a store needs in order to do the
// same, and what it must say.
type AcuityStep struct {
	Act         AcuityAct
	Appointment string
	// Receipt is the id offered with a poke, and the receipt that a fetch is of.
	Receipt uuid.UUID
	// Fetch counts the fetches from 0. Two instances take turns.
	Fetch int
	// Delivery is a poke's, or an end's; its event is without the ticket as its
	// time. An end without one is the first 404, which changes nothing.
	Delivery *b.Delivery
	// Answer is what memory answered to the delivery.
	Answer b.Answer
}

func (s AcuityStep) String() string {
	if s.Act == AcuityChanges || s.Act == AcuityPokes {
		return fmt.Sprintf("%s %s", s.Act, s.Appointment)
	}
	return fmt.Sprintf("%s %s#%d", s.Act, s.Appointment, s.Fetch)
}

// AcuityPlay is a story in one of its orders, and how it ended in memory.
type AcuityPlay struct {
	Steps []AcuityStep
	End   *b.State
}

// AcuityStories are the stories of R15.
func AcuityStories() []AcuityStory {
	one := func(says ...*b.Event) []AcuityChange {
		var out []AcuityChange
		for _, e := range says {
			out = append(out, AcuityChange{"1", e})
		}
		return out
	}
	single := func(id, at string, opts ...Option) *b.Event {
		return appointment(id, append([]Option{In("appointment|" + id), When(at, at[:3]+"45"), Room(1), calendar("maren")}, opts...)...)
	}
	seat := func(id, at string, opts ...Option) *b.Event {
		return appointment(id, append([]Option{In("class|2|2|" + at), When(at, at[:3]+"50"), calendar("theo")}, opts...)...)
	}
	return []AcuityStory{
		{Name: "booked", Changes: one(single("1", "10:00")), Want: map[string]string{"1": "active "}},
		{Name: "moved", Changes: one(single("1", "10:00"), single("1", "11:00")), Want: map[string]string{"1": "active "}},
		{Name: "canceled during a fetch", Changes: one(single("1", "10:00"), canceled(single("1", "10:00"))), Want: map[string]string{"1": "canceled canceled"}},
		{Name: "fetched by two at once", Changes: one(single("1", "10:00"), single("1", "11:00")), Twice: 1, Long: true, Want: map[string]string{"1": "active "}},
		{Name: "booked, and fetched by two at once", Changes: one(single("1", "10:00")), Twice: 2, Want: map[string]string{"1": "active "}},
		{Name: "whoever fetches dies", Changes: one(single("1", "10:00")), Deaths: 2, Want: map[string]string{"1": "active "}},
		{Name: "canceled, and whoever fetches dies", Changes: one(single("1", "10:00"), canceled(single("1", "10:00"))), Deaths: 1, Want: map[string]string{"1": "canceled canceled"}},
		{Name: "404 twice", Changes: one(single("1", "10:00"), nil), Want: map[string]string{"1": "canceled removed"}},
		{Name: "never seen, 404 twice", Changes: one(nil), Twice: 1},
		{
			Name: "moved and canceled", Changes: one(single("1", "10:00"), single("1", "11:00"), canceled(single("1", "11:00"))),
			Want: map[string]string{"1": "canceled canceled"},
		},
		{
			Name: "moved there and back", Changes: one(single("1", "10:00"), single("1", "10:15"), single("1", "10:00")), Long: true,
			Want: map[string]string{"1": "active "},
		},
		{
			Name:    "moved often, fetched twice, with a death",
			Changes: one(single("1", "10:00"), single("1", "11:00"), single("1", "10:15"), canceled(single("1", "10:15"))), Twice: 1, Deaths: 1, Long: true,
			Want: map[string]string{"1": "canceled canceled"},
		},
		{
			Name: "canceled, then a no-show", Changes: one(single("1", "10:00"), canceled(single("1", "10:00"), Missed(false)), canceled(single("1", "10:00"), Missed(true))),
			Long: true, Want: map[string]string{"1": "canceled canceled"},
		},
		{
			Name: "seats of a class, one leaves", Long: true,
			Changes: []AcuityChange{{"1", seat("1", "17:00")}, {"2", seat("2", "17:00")}, {"1", canceled(seat("1", "17:00"))}},
			Want:    map[string]string{"1": "canceled canceled", "2": "active "},
		},
		{
			Name: "seats of a class, one moves alone", Long: true,
			Changes: []AcuityChange{{"1", seat("1", "17:00")}, {"2", seat("2", "17:00")}, {"1", seat("1", "18:00")}},
			Want:    map[string]string{"1": "active ", "2": "active "},
		},
		{
			Name: "two on one hour, the first leaves", Long: true,
			Changes: []AcuityChange{{"1", single("1", "10:00")}, {"2", single("2", "10:00")}, {"1", canceled(single("1", "10:00"))}},
			Want:    map[string]string{"1": "canceled canceled", "2": "active "},
		},
		{
			Name: "two on one hour, both stay", Rivals: true, Long: true,
			Changes: []AcuityChange{{"1", single("1", "10:00")}, {"2", single("2", "10:00")}, {"2", single("2", "10:15")}},
		},
		{
			Name: "one is gone, the other takes its hour", Long: true,
			Changes: []AcuityChange{{"1", single("1", "10:00")}, {"2", single("2", "10:00")}, {"1", nil}},
			Want:    map[string]string{"1": "canceled removed", "2": "active "},
		},
	}
}

// appointment is one that stands, as its API says it.
func appointment(id string, opts ...Option) *b.Event {
	return New(Acuity, b.KindSnapshot, id, 0, append([]Option{For("priya"), Booked(0), Title("Consultation")}, opts...)...)
}

// calendar names the one host of an appointment as Acuity does.
func calendar(name string) Option {
	return func(e *b.Event) {
		e.Session.Hosts = []b.Host{{ExternalID: "calendar|" + name, Email: name + "@harbourclinic.example", Name: name}}
	}
}

func canceled(e *b.Event, opts ...Option) *b.Event {
	c := *e
	c.Kind, c.Reason, c.Attendees = b.KindCanceled, b.ReasonCanceled, slices.Clone(e.Attendees)
	for _, o := range opts {
		o(&c)
	}
	return &c
}

// Orders yields the story in each of its orders when there are at most so many (0
// is no limit), else in as many as the sample is, chosen by r.
func (s AcuityStory) Orders(most, sample int, r *rand.Rand) iter.Seq[AcuityPlay] {
	n := 0
	if !s.Long && most > 0 {
		for range s.all {
			if n++; n > most {
				break
			}
		}
	}
	if !s.Long && (most == 0 || n <= most) {
		return s.all
	}
	return func(yield func(AcuityPlay) bool) {
		for range sample {
			if !yield(s.play(func(moves []acuityMove) acuityMove { return moves[r.IntN(len(moves))] })) {
				return
			}
		}
	}
}

// all yields the story in each of its orders; two differ in at least one step.
func (s AcuityStory) all(yield func(AcuityPlay) bool) {
	var walk func(w *acuityWorld) bool
	walk = func(w *acuityWorld) bool {
		moves := w.next()
		if len(moves) == 0 {
			return yield(AcuityPlay{w.steps, w.st})
		}
		for _, m := range moves {
			c := w.clone()
			m.do(c)
			if !walk(c) {
				return false
			}
		}
		return true
	}
	walk(newAcuityWorld(s))
}

// Straight is the story in its simplest order: each change is told, looked at and
// applied before the next one happens, by one instance that lives.
func (s AcuityStory) Straight() AcuityPlay {
	s.Twice, s.Deaths = 0, 0
	before := []AcuityAct{AcuityEnds, AcuityAsks, AcuityBegins, AcuityPokes, AcuityChanges}
	return s.play(func(moves []acuityMove) acuityMove {
		return slices.MinFunc(moves, func(a, b acuityMove) int { return slices.Index(before, a.act) - slices.Index(before, b.act) })
	})
}

func (s AcuityStory) play(choose func([]acuityMove) acuityMove) AcuityPlay {
	w := newAcuityWorld(s)
	for moves := w.next(); len(moves) > 0; moves = w.next() {
		choose(moves).do(w)
	}
	return AcuityPlay{w.steps, w.st}
}

// Seen tells whether an appointment was ever found standing.
func (p AcuityPlay) Seen(appointment string) bool {
	return slices.ContainsFunc(p.Steps, func(s AcuityStep) bool {
		return s.Act == AcuityEnds && s.Appointment == appointment && s.Delivery != nil &&
			s.Delivery.Event.Reason != b.ReasonRemoved && s.Answer.Status != b.StatusDuplicate
	})
}

// Ends pictures how the story must end, by its simplest order. What a play saw
// nothing of before it was gone has no row there (R15).
func (s AcuityStory) Ends() func(AcuityPlay) string {
	picture := Picture(s.Straight().End, s.Rivals)
	return func(p AcuityPlay) string {
		lines := strings.Split(picture, "\n")
		for _, c := range s.Changes {
			if c.Says == nil && !p.Seen(c.Appointment) {
				lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "acuity/"+c.Appointment+"/ ") })
			}
		}
		return strings.Join(lines, "\n")
	}
}

// acuityWorld is a moment of a play.
type acuityWorld struct {
	story   AcuityStory
	st      *b.State
	steps   []AcuityStep
	says    map[string]*b.Event // by appointment; nil, or none, is a 404
	changed int                 // changes that happened
	pokes   []string            // on their way
	posts   int
	twice   int
	deaths  int
	fetches []acuityFetch
	// doubted are the receipts with one 404, and how many fetches there were then.
	doubted map[uuid.UUID]int
}

type acuityFetch struct {
	key     b.ReceiptKey
	subject string
	again   bool // after a first 404
	asked   bool
	saw     *b.Event
	over    bool // ended, or its process died
}

func newAcuityWorld(s AcuityStory) *acuityWorld {
	return &acuityWorld{story: s, st: b.NewState(), says: map[string]*b.Event{}, doubted: map[uuid.UUID]int{}}
}

func (w *acuityWorld) clone() *acuityWorld {
	c, st := *w, *w.st
	st.Receipts, st.Bookings, st.Sessions, st.Slots = maps.Clone(st.Receipts), maps.Clone(st.Bookings), maps.Clone(st.Sessions), maps.Clone(st.Slots)
	st.Attendances, st.Links = maps.Clone(st.Attendances), maps.Clone(st.Links)
	st.Identities, st.Resources = maps.Clone(st.Identities), maps.Clone(st.Resources)
	c.st, c.says, c.doubted = &st, maps.Clone(w.says), maps.Clone(w.doubted)
	c.steps, c.pokes, c.fetches = slices.Clone(w.steps), slices.Clone(w.pokes), slices.Clone(w.fetches)
	return &c
}

type acuityMove struct {
	act AcuityAct
	do  func(*acuityWorld)
}

// next are all steps that are possible now, in an order of their own.
func (w *acuityWorld) next() []acuityMove {
	var out []acuityMove
	may := func(act AcuityAct, do func(*acuityWorld)) { out = append(out, acuityMove{act, do}) }
	if w.changed < len(w.story.Changes) {
		may(AcuityChanges, (*acuityWorld).change)
	}
	for i, subject := range w.pokes {
		if !slices.Contains(w.pokes[:i], subject) { // pokes are all alike
			may(AcuityPokes, func(w *acuityWorld) { w.poke(i) })
		}
	}
	under := map[b.ReceiptKey]bool{}
	for i, f := range w.fetches {
		if f.over {
			continue
		}
		under[f.key] = true
		if f.asked {
			may(AcuityEnds, func(w *acuityWorld) { w.end(i) })
		} else {
			may(AcuityAsks, func(w *acuityWorld) { w.ask(i) })
		}
		if w.deaths < w.story.Deaths {
			may(AcuityDies, func(w *acuityWorld) { w.die(i) })
		}
	}
	keys := slices.SortedFunc(maps.Keys(w.st.Receipts), func(a, b b.ReceiptKey) int { return strings.Compare(a.EventKey, b.EventKey) })
	for _, key := range keys {
		r := w.st.Receipts[key]
		if r.Status == b.StatusPending && (!under[key] || w.twice < w.story.Twice) && w.waited(&r) {
			may(AcuityBegins, func(w *acuityWorld) { w.begin(key, under[key]) })
		}
	}
	return out
}

// waited tells whether a receipt may be taken up: after a first 404 that is ten
// minutes later, and no try lasts longer than one, so those from before are over.
func (w *acuityWorld) waited(r *b.Receipt) bool {
	subject := r.Subject[len(b.Subject(Acuity, "")):]
	return !slices.ContainsFunc(w.fetches[:w.doubted[r.ID]], func(f acuityFetch) bool { return !f.over && f.subject == subject })
}

func (w *acuityWorld) change() {
	c := w.story.Changes[w.changed]
	w.changed++
	w.says[c.Appointment] = c.Says
	w.pokes = append(w.pokes, c.Appointment)
	w.steps = append(w.steps, AcuityStep{Act: AcuityChanges, Appointment: c.Appointment})
}

func (w *acuityWorld) poke(i int) {
	subject := w.pokes[i]
	w.pokes = slices.Delete(w.pokes, i, i+1)
	w.posts++
	w.deliver(AcuityStep{Act: AcuityPokes, Appointment: subject}, b.Delivery{
		ReceiptID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, w.posts)), EventKey: "acuity|" + subject + "|changed", Kind: b.KindDetails,
		Subject: b.Subject(Acuity, subject), Poke: true, Status: b.StatusPending, Actor: b.ActorWebhook,
	})
}

func (w *acuityWorld) begin(key b.ReceiptKey, twice bool) {
	r := w.st.Receipts[key]
	if twice {
		w.twice++
	}
	r.Claimed = true
	w.st.Receipts[key] = r
	subject := r.Subject[len(b.Subject(Acuity, "")):]
	w.steps = append(w.steps, AcuityStep{Act: AcuityBegins, Appointment: subject, Receipt: r.ID, Fetch: len(w.fetches)})
	w.fetches = append(w.fetches, acuityFetch{key: key, subject: subject, again: w.doubted[r.ID] > 0})
}

func (w *acuityWorld) ask(i int) {
	f := &w.fetches[i]
	f.asked, f.saw = true, w.says[f.subject]
	w.steps = append(w.steps, AcuityStep{Act: AcuityAsks, Appointment: f.subject, Fetch: i})
}

func (w *acuityWorld) die(i int) {
	w.deaths++
	w.fetches[i].over = true
	w.steps = append(w.steps, AcuityStep{Act: AcuityDies, Appointment: w.fetches[i].subject, Fetch: i})
}

// end applies what was seen. Fetches count as tickets.
func (w *acuityWorld) end(i int) {
	f := &w.fetches[i]
	f.over = true
	r := w.st.Receipts[f.key]
	step := AcuityStep{Act: AcuityEnds, Appointment: f.subject, Receipt: r.ID, Fetch: i}
	e := f.saw
	switch {
	case e == nil && !f.again:
		w.doubted[r.ID] = len(w.fetches)
		w.steps = append(w.steps, step)
		return
	case e == nil:
		e = &b.Event{Kind: b.KindCanceled, Source: Acuity, ExternalID: f.subject, Reason: b.ReasonRemoved}
	}
	w.deliver(step, b.Delivery{
		ReceiptID: r.ID, EventKey: r.EventKey, Kind: r.Kind, Event: Looked(e, r.EventKey, i), Settles: true, Actor: b.ActorWebhook,
	})
}

// Looked is what an API says, as it was said to the fetch with the ticket n.
func Looked(e *b.Event, key string, n int) *b.Event {
	c := *e
	c.Key, c.At = key, Said(n)
	return &c
}

func (w *acuityWorld) deliver(s AcuityStep, d b.Delivery) {
	ch := b.Decide(w.st, []b.Delivery{d}, Day)
	Merge(w.st, ch)
	s.Delivery, s.Receipt, s.Answer = &d, d.ReceiptID, ch.Answers[0]
	w.steps = append(w.steps, s)
}
