package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/calendar"
)

type bookingPageView struct {
	entry
	Connection string
	Calendar   string // the calendar around it
	When       string
	Theirs     string // when, in the invitee's own zone; "" when that is the viewer's
	There      string // when, where it takes place; "" when that is one of the two
	Open       providerPage
	Fellows    []entry // the others of its meeting
	May        bookingActions
	Effects    effectsView
	Chain      []chainLink
	Timeline   []timelineItem
	More       bool // the timeline has older items
	// Forms are what its client told at the provider; nil for nothing kept.
	Forms *formsView
	Ended *ending // nil while it is not canceled
	// Accepted is who accepted that it overlaps; nil for nobody.
	Accepted *acceptance
	// Slotless says what to do about that it has no place, of a conflicted one.
	Slotless string

	actors   map[booking.Actor]string
	language *language
}

// Named is an actor with the name that is known of it.
func (v bookingPageView) Named(a booking.Actor) string { return v.language.actorName(a, v.actors) }

// titleNames tells whether a title names who comes, as some providers' titles do.
func titleNames(title, who string) bool {
	return strings.Contains(strings.ToLower(title), strings.ToLower(who))
}

// Titled tells whether the title names who comes.
func (v bookingPageView) Titled() bool {
	return titleNames(v.Name, v.Who)
}

// By is who made a decision.
func (v bookingPageView) By(a booking.Actor) string { return v.language.decider(a, v.actors) }

// Seats are a group's; a meeting for one says nothing of them.
func (v bookingPageView) Seats() *int {
	if v.Capacity == nil || *v.Capacity <= 1 {
		return nil
	}
	return v.Capacity
}

// Taken is how many of the seats are taken, as far as is shown.
func (v bookingPageView) Taken() int { return len(v.Fellows) + 1 }

// bookingActions are what the viewer may do about the booking here.
type bookingActions struct {
	Accept bool // that it overlaps
}

// Any tells whether there is something to do at all.
func (v bookingPageView) Any() bool {
	return v.May.Accept || v.Effects.Cancel != "" || v.Effects.ByHand != "" || slices.ContainsFunc(v.Effects.Effects, effectView.Actionable)
}

// providerPage is where the booking is looked at there.
type providerPage struct {
	Link string
	// Exact says that it is the booking's own page, and not the way in.
	Exact bool
}

// chainLink is one booking of a chain of reschedules.
type chainLink struct {
	entry
	Current bool
}

// Left tells whether another booking took over: it was moved, and nobody canceled it.
func (c chainLink) Left() bool {
	return c.Status == booking.Canceled && c.Reason == booking.ReasonRescheduled
}

// timelineItem is a receipt with the transitions that it made, or transitions
// that came of another booking's receipt.
type timelineItem struct {
	At          time.Time
	Receipt     *booking.ReceiptView
	Transitions []booking.TransitionView
	Payload     *payload
	Link        string // shows the payload
}

// apart is how far two clocks may differ before both are shown.
const apart = time.Minute

// Said is when a delivery's event happened by the provider's clock, where that is not
// when it came; nil else.
func (i timelineItem) Said() *time.Time {
	if i.Receipt == nil || len(i.Transitions) == 0 {
		return nil
	}
	said := i.Transitions[0].OccurredAt
	if said.IsZero() || i.At.Sub(said).Abs() <= apart {
		return nil
	}
	return &said
}

// Waits tells whether the delivery waits for another that books.
func (i timelineItem) Waits() bool {
	return i.Receipt != nil && i.Receipt.Status == booking.StatusWaiting
}

// canceling is the newest transition that canceled a booking, of a timeline that
// begins with the newest.
func canceling(items []timelineItem) *booking.TransitionView {
	for _, item := range items {
		for i := range item.Transitions {
			if t := &item.Transitions[i]; t.Outcome == booking.Applied && t.To == booking.Canceled && t.From != booking.Canceled {
				return t
			}
		}
	}
	return nil
}

// Accepting is the transition by which somebody or a rule accepted the overlap, of an
// item that no delivery made; nil else.
func (i timelineItem) Accepting() *booking.TransitionView {
	if i.Receipt != nil || len(i.Transitions) != 1 || i.Transitions[0].Event != booking.AcceptOverlap || i.Transitions[0].Outcome != booking.Applied {
		return nil
	}
	return &i.Transitions[0]
}

// payload is what a provider sent, without the secrets in it.
type payload struct {
	Body   string
	Gone   bool // emptied by retention
	Copies []booking.Copy
}

func (s *server) bookingPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	b, err := s.Records.Booking(ctx, id)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	q := readCalendarQuery(c.QueryParams(), who.zone, s.Now())
	v := bookingPageView{
		entry: newEntry(b, q, names, who.language), Connection: names.connection[b.ConnectionID],
		Calendar: q.Link(), Theirs: theirs(b, q, who.language),
		May: bookingActions{
			Accept: b.Status == booking.Conflicted && !b.OverlapAccepted && who.may(access.AcceptOverlaps),
		},
	}
	if v.There, err = s.there(ctx, b, q, who.language); err != nil {
		return err
	}
	if v.Open, err = s.pageAtProvider(ctx, b); err != nil {
		return err
	}
	if v.Fellows, err = s.fellows(ctx, b, window{query: q, names: names, language: who.language}); err != nil {
		return err
	}
	for i := range v.Fellows {
		v.Fellows[i].Link = bookingLink(v.Fellows[i].ID, q)
	}
	if q.back != "" {
		v.Calendar = "/calendar?" + q.back
	} else if b.StartsAt != nil {
		v.Calendar = q.Around(calendar.DateOf(*b.StartsAt, q.Zone))
	}
	if err := s.addOthers(ctx, &v.entry, q, who.language); err != nil {
		return err
	}
	v.Slotless = who.language.withoutSlot(b, v.Meetings())
	if err := s.addAbsences(ctx, &v.entry, q, names, who.language); err != nil {
		return err
	}
	if v.Chain, err = s.chain(ctx, b, q, names, who.language); err != nil {
		return err
	}
	if v.Effects, err = s.effectsOf(ctx, b, q, names, who); err != nil {
		return err
	}
	v.language = who.language
	if v.actors, err = s.Records.Actors(ctx); err != nil {
		return err
	}
	if b.OverlapAccepted {
		notes, err := s.Overlaps.ConflictNotes(ctx, []uuid.UUID{b.ID})
		if err != nil {
			return err
		}
		v.Accepted = newAcceptance(notes[b.ID], v.actors, who.language)
	}
	if v.Forms, err = s.formsOf(c, b, q); err != nil {
		return err
	}
	if v.Timeline, v.More, err = s.timeline(ctx, b.ID); err != nil {
		return err
	}
	if b.Status == booking.Canceled {
		if v.Ended, err = s.ending(ctx, v, q, who.language); err != nil {
			return err
		}
	}
	if who.may(access.ReadRawBodies) {
		if err := s.openPayload(c, v.Timeline, q); err != nil {
			return err
		}
	}
	return s.page(c, http.StatusOK, "booking", page{Title: "booking.title", Section: "calendar", Zone: q.Zone, Data: v})
}

// addOthers adds the other side of the conflicts that the booking is in, and why each
// holds what it does.
func (s *server) addOthers(ctx context.Context, e *entry, q calendarQuery, l *language) error {
	one := []entry{*e}
	if err := s.addHolders(ctx, one, q, l); err != nil {
		return err
	}
	if err := s.addRivals(ctx, one, q, l); err != nil {
		return err
	}
	*e = one[0]
	return s.explainHolds(ctx, e, q, l)
}

// theirs is the time where the invitee is.
func theirs(b booking.View, q calendarQuery, l *language) string {
	zone, err := loadZone(b.Invitee.Timezone)
	if err != nil || zone.String() == q.Zone.String() || b.StartsAt == nil || b.EndsAt == nil {
		return ""
	}
	return l.dates.span(b.StartsAt.In(zone), b.EndsAt.In(zone))
}

// there is the time where the booking takes place, when the resource has a zone of
// its own that neither the viewer nor the invitee is in.
func (s *server) there(ctx context.Context, b booking.View, q calendarQuery, l *language) (string, error) {
	if b.StartsAt == nil || b.EndsAt == nil || len(b.ResourceIDs) == 0 {
		return "", nil
	}
	found, err := s.Records.Resources(ctx, booking.Filter{ResourceID: &b.ResourceIDs[0]}, booking.Page{Limit: 1})
	if err != nil || len(found.Items) == 0 {
		return "", err
	}
	name := found.Items[0].Timezone
	if name == "" || name == q.Zone.String() || name == b.Invitee.Timezone {
		return "", nil
	}
	// One that the time zone database knows no more is left out.
	if zone, err := loadZone(name); err == nil {
		return l.dates.span(b.StartsAt.In(zone), b.EndsAt.In(zone)), nil
	}
	return "", nil
}

// pageAtProvider is where whoever has an account there finds the booking. Only
// hosted providers have a known address.
func (s *server) pageAtProvider(ctx context.Context, b booking.View) (providerPage, error) {
	provider, known := s.Providers[b.Provider]
	if !known {
		return providerPage{}, nil
	}
	c, err := s.Records.Connection(ctx, b.ConnectionID)
	if errors.Is(err, booking.ErrNotFound) {
		return providerPage{}, nil
	} else if err != nil {
		return providerPage{}, err
	}
	if c.APIBase != provider.APIBase() {
		return providerPage{}, nil
	}
	switch b.Provider {
	case "calcom":
		return providerPage{Link: "https://app.cal.com/booking/" + url.PathEscape(b.ExternalID), Exact: true}, nil
	case "calendly":
		return providerPage{Link: "https://calendly.com/app/scheduled_events/user/me"}, nil
	case "acuity":
		return providerPage{Link: "https://secure.acuityscheduling.com/"}, nil
	}
	return providerPage{}, nil
}

// chain is the reschedules that the booking belongs to; nil when it stands alone.
func (s *server) chain(ctx context.Context, b booking.View, q calendarQuery, names names, l *language) ([]chainLink, error) {
	all, err := s.Records.Chain(ctx, b.ChainID)
	if err != nil || len(all) < 2 {
		return nil, err
	}
	out := make([]chainLink, len(all))
	for i, o := range all {
		out[i] = chainLink{entry: newEntry(o, q, names, l), Current: o.ID == b.ID}
	}
	return out, nil
}

// timeline is what happened to a booking, newest first.
func (s *server) timeline(ctx context.Context, id uuid.UUID) ([]timelineItem, bool, error) {
	f, p := booking.Filter{BookingID: &id}, booking.Page{Limit: booking.MaxLimit}
	transitions, err := s.Records.Transitions(ctx, f, p)
	if err != nil {
		return nil, false, err
	}
	receipts, err := s.Records.Receipts(ctx, f, p)
	if err != nil {
		return nil, false, err
	}
	return mergeTimeline(receipts.Items, transitions.Items), transitions.Next != "" || receipts.Next != "", nil
}

func mergeTimeline(receipts []booking.ReceiptView, transitions []booking.TransitionView) []timelineItem {
	var out []timelineItem
	at := map[uuid.UUID]int{}
	for _, r := range receipts {
		at[r.ID] = len(out)
		out = append(out, timelineItem{At: r.ReceivedAt, Receipt: &r})
	}
	for _, t := range transitions {
		if i, ok := at[t.ReceiptID]; ok {
			out[i].Transitions = append(out[i].Transitions, t)
			continue
		}
		out = append(out, timelineItem{At: t.RecordedAt, Transitions: []booking.TransitionView{t}})
	}
	slices.SortStableFunc(out, func(a, b timelineItem) int { return cmp.Compare(b.At.UnixNano(), a.At.UnixNano()) })
	return out
}

// openPayload adds what the provider sent to the receipt that the query names,
// and links for the others.
func (s *server) openPayload(c echo.Context, items []timelineItem, q calendarQuery) error {
	for i := range items {
		r := items[i].Receipt
		if r == nil {
			continue
		}
		if r.ID.String() == c.QueryParam("receipt") {
			p, err := s.payload(c, *r)
			if err != nil {
				return err
			}
			items[i].Payload = p
			continue
		}
		link := "?receipt=" + r.ID.String()
		if q.Zone.String() != q.ownZone.String() {
			link += "&zone=" + q.Zone.String()
		}
		items[i].Link = link + "#r-" + r.ID.String()
	}
	return nil
}

// payload reads a receipt's body and takes the secrets out of it, as its
// adapter knows them. A body whose adapter is gone is not shown. Whoever is given
// one stands in the admin log.
func (s *server) payload(c echo.Context, r booking.ReceiptView) (*payload, error) {
	ctx := c.Request().Context()
	copies, err := s.Records.Copies(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	out := &payload{Copies: copies}
	body, err := s.Records.ReceiptBody(ctx, r.ID)
	if err != nil && !errors.Is(err, booking.ErrNotFound) {
		return nil, err
	}
	provider, known := s.Providers[r.Provider]
	if len(body) == 0 || !known {
		out.Gone = true
		return out, nil
	}
	if err := s.Accounts.Note(ctx, s.by(c), access.DidReadBody, "receipt:"+r.ID.String(), access.Facts{"provider": r.Provider}); err != nil {
		return nil, err
	}
	out.Body = readable(provider.Redact(body))
	return out, nil
}

// readable is JSON with a line for each member; anything else as it is.
func readable(body []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil {
		return string(body)
	}
	return out.String()
}
