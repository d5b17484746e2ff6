package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/auditfile"
)

const auditPageSize = 50

type auditView struct {
	Query       auditQuery
	Rows        []auditRow
	Reasons     []counter
	Ranges      []string
	Providers   []string
	Connections []option
	Resources   []option
	Actors      []option
	Older       string
	First       string
	Clear       string
	CSV         string // the filtered set as a file; "" for whoever may not
	JSONL       string
	AdminLog    bool // the viewer may see it
	Nothing     bool // nothing was ever recorded
	// Wider is the same of all time, of a period that shows nothing.
	Wider   string
	Partly  bool // the page is not full, since the search goes on further back
	Error   string
	BadDays bool // the error is about the days
}

type auditRow struct {
	booking.TransitionView
	Resource   string
	Connection string
	Who        string // the actor's name
}

// counter is a value that can be chosen, and how many transitions have it: at
// least so many with More.
type counter struct {
	Value  string
	Count  int
	More   bool
	Chosen bool
	Link   string
}

func (s *server) auditPage(c echo.Context) error {
	if c.QueryParam("view") == adminView {
		return s.adminLogPage(c)
	}
	ctx, who := c.Request().Context(), s.viewer(c)
	v := auditView{Query: readAuditQuery(c.QueryParams()), Ranges: rangeNames(), AdminLog: who.may(access.ReadAdminLog)}
	v.Clear = v.Query.withoutFilters()
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	v.Providers, v.Connections, v.Resources = names.providers, names.connectionOptions(who.language), names.resources
	v.Actors = actorOptions(actors, who.language)
	status := http.StatusOK
	err = s.fillAudit(ctx, &v, who, names, actors)
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		v.Error, v.BadDays, status = who.language.filters(err), aboutDays(invalid), http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	return s.page(c, status, "audit", page{Title: "audit.title", Section: "audit", Wide: true, Data: v})
}

func (s *server) fillAudit(ctx context.Context, v *auditView, who viewer, names names, actors map[booking.Actor]string) error {
	f, err := v.Query.filter(who.zone, s.Now())
	if err != nil {
		return err
	}
	rows, err := s.Records.Transitions(ctx, f, booking.Page{Limit: auditPageSize, Cursor: v.Query.Cursor})
	if err != nil {
		return err
	}
	tally, err := s.Records.Tally(ctx, f)
	if err != nil {
		return err
	}
	v.Reasons = reasonCounters(tally, v.Query)
	for _, t := range rows.Items {
		v.Rows = append(v.Rows, newAuditRow(t, names, actors, who.language))
	}
	if rows.Next != "" {
		v.Older = v.Query.with(func(q *auditQuery) { q.Cursor = rows.Next })
		v.Partly = len(rows.Items) < auditPageSize
	}
	if v.Query.Cursor != "" {
		v.First = v.Query.with(func(*auditQuery) {})
	}
	if who.may(access.ExportAudit) && len(rows.Items)+len(rows.Next) > 0 {
		all := v.Query
		all.Cursor = ""
		v.CSV, v.JSONL = all.link(exportPath(auditfile.CSV)), all.link(exportPath(auditfile.JSONL))
	}
	if len(rows.Items) == 0 && !v.Partly {
		v.Wider = v.Query.wider()
		any, err := s.Records.Transitions(ctx, booking.Filter{}, booking.Page{Limit: 1})
		if err != nil {
			return err
		}
		v.Nothing = len(any.Items) == 0
	}
	return nil
}

func newAuditRow(t booking.TransitionView, names names, actors map[booking.Actor]string, l *language) auditRow {
	r := auditRow{TransitionView: t, Resource: names.of(t.ResourceIDs), Who: l.actorName(t.Actor, actors)}
	if t.ConnectionID != uuid.Nil {
		r.Connection = names.connection[t.ConnectionID]
	}
	return r
}

// connectionOptions are all connections to choose from, each with its provider:
// two may have one name.
func (n names) connectionOptions(l *language) []option {
	out := make([]option, 0, len(n.connection))
	for id, name := range n.connection {
		label := l.named("provider", n.providerOf[id])
		if name != "" {
			label = name + " · " + label
		}
		out = append(out, option{Value: id.String(), Label: label})
	}
	slices.SortFunc(out, func(a, b option) int { return cmp.Or(byLabel(a, b), cmp.Compare(a.Value, b.Value)) })
	return out
}

// actorOptions are the kinds of actors, then people and tokens by name.
func actorOptions(actors map[booking.Actor]string, l *language) []option {
	kinds := []booking.Actor{booking.ActorWebhook, booking.ActorBackfill, booking.ActorReconcile, "replay", booking.ActorSystem, "user", "token"}
	out := make([]option, 0, len(kinds)+len(actors))
	for _, a := range kinds {
		out = append(out, option{Value: string(a), Label: l.actor(a)})
	}
	named := namedActors(actors, l)
	return append(out, named...)
}

func namedActors(actors map[booking.Actor]string, l *language) []option {
	out := make([]option, 0, len(actors))
	for a := range actors {
		out = append(out, option{Value: string(a), Label: l.actorName(a, actors)})
	}
	slices.SortFunc(out, func(a, b option) int { return cmp.Or(byLabel(a, b), cmp.Compare(a.Value, b.Value)) })
	return out
}

// actorName is who it was, with the name of a user or token that is known.
func (l *language) actorName(a booking.Actor, names map[booking.Actor]string) string {
	if name := names[a]; name != "" {
		return l.actor(a) + " · " + name
	}
	return l.actor(a)
}

// troubled tells whether a person should see the transition.
func troubled(t booking.Transition) bool {
	return t.Outcome == booking.Rejected || t.To == booking.Conflicted && t.Event != booking.AcceptOverlap
}

// reasonCounters count by reason, the most first. Choosing one again takes it
// back, so the chosen one always stands there.
func reasonCounters(tally []booking.Tally, q auditQuery) []counter {
	var out []counter
	for _, t := range tally {
		if t.Count > 0 || t.More || string(t.Reason) == q.Reason {
			out = append(out, counter{Value: string(t.Reason), Count: t.Count, More: t.More})
		}
	}
	if q.Reason != "" && !slices.ContainsFunc(out, func(c counter) bool { return c.Value == q.Reason }) {
		out = append(out, counter{Value: q.Reason})
	}
	for i, c := range out {
		out[i].Chosen = c.Value == q.Reason
		out[i].Link = q.with(func(q *auditQuery) { q.Reason = toggled(q.Reason, c.Value) })
	}
	slices.SortFunc(out, func(a, b counter) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	return out
}

func toggled(now, value string) string {
	if now == value {
		return ""
	}
	return value
}

type transitionView struct {
	auditRow
	Booking entry
	Known   bool // the booking still stands
	Holder  *entry
	// Decide is where its conflict is decided; "" when it is over.
	Decide  string
	Replay  bool // its delivery may be replayed
	Allowed []booking.Action
	Receipt *booking.ReceiptView
	Why     *errorText
	Payload *payload
	Reveal  string // shows the body; "" for whoever may not, or when it shows
}

// transitionPage is a row of the audit with everything about it.
func (s *server) transitionPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	t, err := s.Records.Transition(ctx, id)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	v := transitionView{auditRow: newAuditRow(t, names, actors, who.language)}
	if v.Outcome == booking.Rejected {
		v.Allowed = booking.Allowed(t.From)
	}
	q := readCalendarQuery(url.Values{}, who.zone, s.Now())
	if err := s.fillTransition(ctx, &v, q, names, who); err != nil {
		return err
	}
	if v.Receipt != nil {
		if v.Payload, v.Reveal, err = s.revealed(c, *v.Receipt); err != nil {
			return err
		}
	}
	return s.page(c, http.StatusOK, "transition", page{Title: "transition.title", Section: "audit", Data: v})
}

func (s *server) fillTransition(ctx context.Context, v *transitionView, q calendarQuery, names names, who viewer) error {
	b, err := s.Records.Booking(ctx, v.BookingID)
	if err == nil {
		v.Booking, v.Known = newEntry(b, q, names, who.language), true
		v.Decide = undecided(v.Transition, b)
	} else if !errors.Is(err, booking.ErrNotFound) {
		return err
	}
	if v.HolderID != nil {
		found, err := s.byID(ctx, []uuid.UUID{*v.HolderID})
		if err != nil {
			return err
		}
		if holder, ok := found[*v.HolderID]; ok {
			e := newEntry(holder, q, names, who.language)
			v.Holder = &e
		}
	}
	if v.ReceiptID == uuid.Nil {
		return nil
	}
	r, err := s.Records.Receipt(ctx, v.ReceiptID)
	if errors.Is(err, booking.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	v.Receipt, v.Replay = &r, who.may(access.ReplayDeliveries) && r.Deliveries > 0
	v.Why = who.language.unusable(r)
	return nil
}

// undecided is where the conflict is decided that a transition led to; "" when it led to
// none, or when that is over.
func undecided(t booking.Transition, b booking.View) string {
	if t.To != booking.Conflicted || t.Outcome == booking.Rejected || b.Status != booking.Conflicted || b.OverlapAccepted {
		return ""
	}
	return conflictLink(b)
}
