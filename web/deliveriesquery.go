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

// The periods of the deliveries. All narrows nothing: the dashboard then shows the
// last month, and its numbers lead to lists of that.
const (
	periodToday = "today"
	periodDay   = "24h"
	periodWeek  = "7d"
	periodMonth = "30d"
	periodAll   = "all"
)

func periods() []string { return []string{periodToday, periodDay, periodWeek, periodMonth, periodAll} }

// deliveriesQuery is what the page of deliveries shows; all of it stands in the
// query string. The period and the account narrow the dashboard and the list, the
// rest the list alone.
type deliveriesQuery struct {
	Period     string
	Provider   string
	Connection string
	Kind       string
	Status     string
	Text       string
	Cursor     string
}

func readDeliveriesQuery(v url.Values) deliveriesQuery {
	q := deliveriesQuery{
		Period: v.Get("range"), Provider: v.Get("provider"), Connection: v.Get("connection"), Kind: v.Get("kind"), Status: v.Get("status"),
		Text: strings.TrimSpace(v.Get("q")), Cursor: v.Get("cursor"),
	}
	if !slices.Contains(booking.ReceiptStatuses(), booking.ReceiptStatus(q.Status)) {
		q.Status = ""
	}
	if !slices.Contains(periods(), q.Period) {
		q.Period = periodDay
		// Who asks for one delivery, or for those that failed, means all of them.
		if q.Text != "" || q.Status != "" {
			q.Period = periodAll
		}
	}
	return q
}

// Link is the address of these deliveries.
func (q deliveriesQuery) Link() string {
	v := url.Values{}
	for _, p := range [][2]string{
		{"provider", q.Provider},
		{"connection", q.Connection},
		{"kind", q.Kind},
		{"status", q.Status},
		{"q", q.Text},
		{"cursor", q.Cursor},
	} {
		set(v, p[0], p[1])
	}
	if q.Period != readDeliveriesQuery(v).Period {
		set(v, "range", q.Period)
	}
	if len(v) == 0 {
		return "/deliveries"
	}
	return "/deliveries?" + v.Encode()
}

func (q deliveriesQuery) with(change func(*deliveriesQuery)) string {
	q.Cursor = ""
	change(&q)
	return q.Link()
}

// Filtered tells whether more than the period narrows the list.
func (q deliveriesQuery) Filtered() bool {
	return q.Provider != "" || q.Connection != "" || q.Kind != "" || q.Status != "" || q.Text != ""
}

// More tells whether one of the filters is in use that are folded away.
func (q deliveriesQuery) More() bool { return q.Provider != "" || q.Kind != "" }

// since is when the period begins, the zone's; nil for all time.
func (q deliveriesQuery) since(zone *time.Location, now time.Time) *time.Time {
	var from time.Time
	switch q.Period {
	case periodToday:
		from = calendar.DateOf(now, zone).In(zone).Start
	case periodDay:
		from = lastHours(zone, now)[0]
	case periodWeek:
		from = calendar.DateOf(now, zone).AddDays(-6).In(zone).Start
	case periodMonth:
		from = lastDays(zone, now)[0]
	default:
		return nil
	}
	from = from.UTC()
	return &from
}

// lastHours are the beginnings of the last 24 hours of a zone's clock, the one that
// runs the last.
func lastHours(zone *time.Location, now time.Time) []time.Time {
	local := now.In(zone)
	hour := local.Add(-time.Duration(local.Minute())*time.Minute - time.Duration(local.Second())*time.Second - time.Duration(local.Nanosecond()))
	out := make([]time.Time, 24)
	for i := range out {
		out[i] = hour.Add(time.Duration(i-len(out)+1) * time.Hour)
	}
	return out
}

// lastDays are the beginnings of the last 30 days of a zone, today's the last.
func lastDays(zone *time.Location, now time.Time) []time.Time {
	out := make([]time.Time, 30)
	for i := range out {
		out[i] = calendar.DateOf(now, zone).AddDays(i - len(out) + 1).In(zone).Start
	}
	return out
}

// filter is the query as the store takes it for the list.
func (q deliveriesQuery) filter(zone *time.Location, now time.Time) (booking.Filter, error) {
	f := booking.Filter{From: q.since(zone, now), Provider: q.Provider, Kind: booking.Kind(q.Kind), Text: q.Text}
	if q.Status != "" {
		f.Statuses = []string{q.Status}
	}
	var err error
	f.ConnectionID, err = q.connection()
	return f, err
}

func (q deliveriesQuery) connection() (id *uuid.UUID, err error) {
	return parseFilterID("connection", q.Connection)
}
