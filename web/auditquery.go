package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

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
var auditRanges = []auditRange{{"7d", 7}, {"24h", 1}, {"30d", 30}, {"90d", 90}, {rangeAll, 0}}

// rangeAll is all time, rangeCustom a period between two days of one's own.
const (
	rangeAll    = "all"
	rangeCustom = "custom"
)

func rangeNames() []string {
	out := make([]string, 0, len(auditRanges)+1)
	for _, r := range auditRanges {
		out = append(out, r.Name)
	}
	return append(out, rangeCustom)
}

// auditPeriod is a range, or days instead of it: where both are given the days win,
// for a form has a range whether or not somebody chose it.
type auditPeriod struct {
	Range string
	From  string
	To    string
}

func readAuditPeriod(v url.Values) auditPeriod {
	p := auditPeriod{Range: v.Get("range"), From: v.Get("from"), To: v.Get("to")}
	switch {
	case p.From != "" || p.To != "":
		p.Range = rangeCustom
	case !slices.Contains(rangeNames(), p.Range):
		p.Range = auditRanges[0].Name
	}
	return p
}

func (p auditPeriod) into(v url.Values) {
	set(v, "from", p.From)
	set(v, "to", p.To)
	if p.Range != auditRanges[0].Name && p.From == "" && p.To == "" {
		v.Set("range", p.Range)
	}
}

// periodField is what is wrong of days each of which is right.
const periodField = "period"

// aboutDays tells whether an error of the filters is about the days of a period.
func aboutDays(err *booking.InvalidError) bool {
	return err.Field == periodField || err.Field == "from" || err.Field == "to"
}

// window is the period as times, nil where it is open. Days are the zone's.
func (p auditPeriod) window(zone *time.Location, now time.Time) (from, to *time.Time, err error) {
	if p.From == "" && p.To == "" {
		for _, r := range auditRanges {
			if r.Name == p.Range && r.Days > 0 {
				start := now.AddDate(0, 0, -r.Days).UTC()
				from = &start
			}
		}
		return from, nil, nil
	}
	if d, err := calendar.ParseDate(p.From); err == nil {
		start := d.In(zone).Start.UTC()
		from = &start
	} else if p.From != "" {
		return nil, nil, &booking.InvalidError{Field: "from", Detail: "is a date like 2026-11-29"}
	}
	if d, err := calendar.ParseDate(p.To); err == nil {
		end := d.In(zone).End.UTC()
		to = &end
	} else if p.To != "" {
		return nil, nil, &booking.InvalidError{Field: "to", Detail: "is a date like 2026-11-29"}
	}
	if from != nil && to != nil && !from.Before(*to) {
		return nil, nil, &booking.InvalidError{Field: periodField, Detail: "ends before it begins"}
	}
	return from, to, nil
}

// auditQuery is what the audit shows; all of it stands in the query string.
type auditQuery struct {
	auditPeriod
	Show       string
	Reason     string
	Provider   string
	Connection string
	Resource   string
	Booking    string
	Actor      string
	Text       string
	Cursor     string
}

func readAuditQuery(v url.Values) auditQuery {
	q := auditQuery{
		auditPeriod: readAuditPeriod(v), Show: v.Get("show"), Reason: v.Get("reason"), Provider: v.Get("provider"),
		Connection: v.Get("connection"), Resource: v.Get("resource"), Booking: strings.TrimSpace(v.Get("booking")), Actor: v.Get("actor"),
		Text: strings.TrimSpace(v.Get("q")), Cursor: v.Get("cursor"),
	}
	if q.Show != showRejected && q.Show != showAll {
		q.Show = showTroubled
	}
	return q
}

func set(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func (q auditQuery) link(path string) string {
	v := url.Values{}
	q.into(v)
	for _, p := range [][2]string{
		{"reason", q.Reason},
		{"provider", q.Provider},
		{"connection", q.Connection},
		{"resource", q.Resource},
		{"booking", q.Booking},
		{"actor", q.Actor},
		{"q", q.Text},
		{"cursor", q.Cursor},
	} {
		set(v, p[0], p[1])
	}
	if q.Show != showTroubled {
		v.Set("show", q.Show)
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// Link is the address of this audit.
func (q auditQuery) Link() string { return q.link("/audit") }

// Filtered tells whether more than the period narrows the list.
func (q auditQuery) Filtered() bool {
	return q.Reason != "" || q.Provider != "" || q.Connection != "" || q.Resource != "" || q.Booking != "" || q.Actor != "" || q.Text != ""
}

// More tells whether one of the filters is in use that are folded away.
func (q auditQuery) More() bool {
	return q.Range == rangeCustom || q.Provider != "" || q.Connection != "" || q.Booking != "" || q.Actor != ""
}

func (q auditQuery) with(change func(*auditQuery)) string {
	q.Cursor = ""
	change(&q)
	return q.Link()
}

// wider is the same of all time; "" when it is that already.
func (q auditQuery) wider() string {
	if q.From == "" && q.To == "" && q.Range == rangeAll {
		return ""
	}
	return q.with(func(q *auditQuery) { q.auditPeriod = auditPeriod{Range: rangeAll} })
}

// withoutFilters is the same period and kind of transition, all of it.
func (q auditQuery) withoutFilters() string {
	return auditQuery{auditPeriod: q.auditPeriod, Show: q.Show}.Link()
}

// filter is the query as the store takes it.
func (q auditQuery) filter(zone *time.Location, now time.Time) (booking.Filter, error) {
	f := booking.Filter{
		Troubled: q.Show == showTroubled, Reason: booking.Reason(q.Reason), Provider: q.Provider, Actor: q.Actor, Text: q.Text,
	}
	if q.Show == showRejected {
		f.Outcome = booking.Rejected
	}
	var err error
	for _, id := range []struct {
		field, text string
		into        **uuid.UUID
	}{{"booking", q.Booking, &f.BookingID}, {"connection", q.Connection, &f.ConnectionID}, {"resource", q.Resource, &f.ResourceID}} {
		if *id.into, err = parseFilterID(id.field, id.text); err != nil {
			return f, err
		}
	}
	f.From, f.To, err = q.window(zone, now)
	return f, err
}
