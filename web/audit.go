package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

// What the audit shows of the transitions.
const (
	showTroubled = "troubled"
	showRejected = "rejected"
	showAll      = "all"
)

// auditRange is the last so many days; 0 is all time.
type auditRange struct {
	Name string
	Days int
}

// auditRanges are the periods to choose from; the first is the one that opens.
var auditRanges = []auditRange{{"7d", 7}, {"24h", 1}, {"30d", 30}, {"90d", 90}, {"all", 0}}

const auditPageSize = 50

// auditQuery is what the audit shows; all of it stands in the query string.
type auditQuery struct {
	Range    string
	From     string // dates, instead of a range
	To       string
	Show     string
	Reason   string
	Provider string
	Booking  string
	Cursor   string
}

func readAuditQuery(v url.Values) auditQuery {
	q := auditQuery{
		Range: v.Get("range"), From: v.Get("from"), To: v.Get("to"), Show: v.Get("show"),
		Reason: v.Get("reason"), Provider: v.Get("provider"), Booking: v.Get("booking"), Cursor: v.Get("cursor"),
	}
	if !slices.ContainsFunc(auditRanges, func(r auditRange) bool { return r.Name == q.Range }) {
		q.Range = auditRanges[0].Name
	}
	if q.Show != showRejected && q.Show != showAll {
		q.Show = showTroubled
	}
	return q
}

// Link is the address of this audit.
func (q auditQuery) Link() string {
	v := url.Values{}
	for _, p := range [][2]string{
		{"from", q.From}, {"to", q.To}, {"reason", q.Reason}, {"provider", q.Provider}, {"booking", q.Booking}, {"cursor", q.Cursor},
	} {
		if p[1] != "" {
			v.Set(p[0], p[1])
		}
	}
	if q.Range != auditRanges[0].Name {
		v.Set("range", q.Range)
	}
	if q.Show != showTroubled {
		v.Set("show", q.Show)
	}
	if len(v) == 0 {
		return "/audit"
	}
	return "/audit?" + v.Encode()
}

// Filtered tells whether more than the period narrows the list.
func (q auditQuery) Filtered() bool { return q.Reason != "" || q.Provider != "" || q.Booking != "" }

func (q auditQuery) with(change func(*auditQuery)) string {
	q.Cursor = ""
	change(&q)
	return q.Link()
}

// filter of everything but reason and provider, which the counters vary.
func (q auditQuery) filter(zone *time.Location, now time.Time) (booking.Filter, error) {
	f := booking.Filter{Troubled: q.Show == showTroubled}
	if q.Show == showRejected {
		f.Outcome = booking.Rejected
	}
	var err error
	if f.BookingID, err = parseFilterID("booking", q.Booking); err != nil {
		return f, err
	}
	for _, r := range auditRanges {
		if r.Name == q.Range && r.Days > 0 {
			from := now.AddDate(0, 0, -r.Days).UTC()
			f.From = &from
		}
	}
	if q.From == "" && q.To == "" {
		return f, nil
	}
	f.From = nil
	if d, err := calendar.ParseDate(q.From); err == nil {
		start := d.In(zone).Start.UTC()
		f.From = &start
	} else if q.From != "" {
		return f, &booking.InvalidError{Field: "from", Detail: "is a date like 2026-11-29"}
	}
	if d, err := calendar.ParseDate(q.To); err == nil {
		end := d.In(zone).End.UTC()
		f.To = &end
	} else if q.To != "" {
		return f, &booking.InvalidError{Field: "to", Detail: "is a date like 2026-11-29"}
	}
	return f, nil
}

type auditView struct {
	Query     auditQuery
	Rows      []auditRow
	Reasons   []counter
	Providers []counter
	Ranges    []string
	Older     string
	First     string
	Clear     string
	Nothing   bool // nothing was ever recorded
	Error     string
}

type auditRow struct {
	booking.TransitionView
	Resource string
}

// counter is a value that can be chosen, and how many transitions have it.
type counter struct {
	Value  string
	Count  int
	Chosen bool
	Link   string
}

func (s *server) auditPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	v := auditView{Query: readAuditQuery(c.QueryParams())}
	for _, r := range auditRanges {
		v.Ranges = append(v.Ranges, r.Name)
	}
	v.Clear = v.Query.with(func(q *auditQuery) { q.Reason, q.Provider, q.Booking = "", "", "" })
	status := http.StatusOK
	err := s.fillAudit(ctx, &v, who.zone)
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		v.Error, status = who.language.t("audit.invalid"), http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	return s.page(c, status, "audit", page{Title: "audit.title", Section: "audit", Wide: true, Data: v})
}

func (s *server) fillAudit(ctx context.Context, v *auditView, zone *time.Location) error {
	f, err := v.Query.filter(zone, s.Now())
	if err != nil {
		return err
	}
	tally, err := s.Records.Tally(ctx, f)
	if err != nil {
		return err
	}
	v.Reasons, v.Providers = counters(tally, v.Query)
	f.Reason, f.Provider = booking.Reason(v.Query.Reason), v.Query.Provider
	rows, err := s.Records.Transitions(ctx, f, booking.Page{Limit: auditPageSize, Cursor: v.Query.Cursor})
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	for _, t := range rows.Items {
		v.Rows = append(v.Rows, auditRow{TransitionView: t, Resource: names.of(t.ResourceIDs)})
	}
	if rows.Next != "" {
		v.Older = v.Query.with(func(q *auditQuery) { q.Cursor = rows.Next })
	}
	if v.Query.Cursor != "" {
		v.First = v.Query.with(func(*auditQuery) {})
	}
	if len(rows.Items) == 0 {
		any, err := s.Records.Transitions(ctx, booking.Filter{}, booking.Page{Limit: 1})
		if err != nil {
			return err
		}
		v.Nothing = len(any.Items) == 0
	}
	return nil
}

// troubled tells whether a person should see the transition.
func troubled(t booking.Transition) bool {
	return t.Outcome == booking.Rejected || t.To == booking.Conflicted && t.Event != booking.AcceptOverlap
}

// counters count by reason within the chosen provider, and by provider within
// the chosen reason. Choosing one again takes it back.
func counters(tally []booking.Tally, q auditQuery) (reasons, from []counter) {
	byReason, byProvider := map[string]int{}, map[string]int{}
	for _, t := range tally {
		if q.Provider == "" || t.Provider == q.Provider {
			byReason[string(t.Reason)] += t.Count
		}
		if q.Reason == "" || string(t.Reason) == q.Reason {
			byProvider[t.Provider] += t.Count
		}
	}
	reasons = countersOf(byReason, q.Reason, func(v string) string {
		return q.with(func(q *auditQuery) { q.Reason = toggled(q.Reason, v) })
	})
	from = countersOf(byProvider, q.Provider, func(v string) string {
		return q.with(func(q *auditQuery) { q.Provider = toggled(q.Provider, v) })
	})
	return reasons, from
}

func toggled(now, value string) string {
	if now == value {
		return ""
	}
	return value
}

func countersOf(counts map[string]int, chosen string, link func(string) string) []counter {
	if chosen != "" && counts[chosen] == 0 {
		counts[chosen] = 0 // what is chosen can be taken back
	}
	var out []counter
	for value, n := range counts {
		if value != "" {
			out = append(out, counter{Value: value, Count: n, Chosen: value == chosen, Link: link(value)})
		}
	}
	slices.SortFunc(out, func(a, b counter) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	return out
}

type transitionView struct {
	auditRow
	Booking entry
	Known   bool // the booking still stands
	Holder  *rival
	Allowed []booking.Action
	Receipt *booking.ReceiptView
	Why     string
	Payload *payload
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
	v := transitionView{auditRow: auditRow{TransitionView: t, Resource: names.of(t.ResourceIDs)}}
	if v.Outcome == booking.Rejected {
		v.Allowed = booking.Allowed(t.From)
	}
	q := readCalendarQuery(url.Values{}, who.zone, s.Now())
	if err := s.fillTransition(ctx, &v, q, names, who); err != nil {
		return err
	}
	return s.page(c, http.StatusOK, "transition", page{Title: "transition.title", Section: "audit", Data: v})
}

func (s *server) fillTransition(ctx context.Context, v *transitionView, q calendarQuery, names names, who viewer) error {
	b, err := s.Records.Booking(ctx, v.BookingID)
	if err == nil {
		v.Booking, v.Known = newEntry(b, q, names, who.language), true
	} else if !errors.Is(err, booking.ErrNotFound) {
		return err
	}
	if v.HolderID != nil {
		found, err := s.byID(ctx, []uuid.UUID{*v.HolderID})
		if err != nil {
			return err
		}
		if holder, ok := found[*v.HolderID]; ok {
			v.Holder = &rival{Name: fullName(holder, who.language), Link: bookingLink(holder.ID, q)}
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
	v.Receipt = &r
	v.Why = explain(booking.Answer{Status: r.Status, Code: r.Code, Error: r.Error})
	if who.operator() {
		v.Payload, err = s.payload(ctx, r)
	}
	return err
}
