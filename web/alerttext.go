package web

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/notify"
	"slotkeeper/providers"
)

// alertRecords are what is read for what alerts say.
type alertRecords interface {
	Connections(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[providers.Connection], error)
	BookingsByID(ctx context.Context, ids []uuid.UUID) ([]booking.View, error)
	Resources(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ResourceView], error)
	// EndpointNames are the names of other systems that are or were told, by id.
	EndpointNames(ctx context.Context) (map[uuid.UUID]string, error)
}

// AlertTexts says alerts in people's languages, for pages and messages alike. Messages
// leave the house: they name accounts and resources, and nobody who booked.
type AlertTexts struct {
	languages *languages
	records   alertRecords
	zone      *time.Location
}

// NewAlertTexts makes them; times are told in zone.
func NewAlertTexts(records alertRecords, zone *time.Location) (*AlertTexts, error) {
	all, err := loadLanguages()
	if err != nil {
		return nil, err
	}
	return &AlertTexts{all, records, NamedZone(zone)}, nil
}

// Text is what a notice says in a language. The link begins with a slash.
func (t *AlertTexts) Text(ctx context.Context, tag string, a booking.Alert, n booking.Notice) (notify.Text, error) {
	l := t.languages.of(tag, "")
	a.Level, a.Count, a.Detail = n.Level, n.Count, n.Detail
	all, err := sayAlerts(ctx, l, t.records, t.zone, a)
	if err != nil {
		return notify.Text{}, err
	}
	said := all[0]
	out := notify.Text{Subject: l.t("alert.subject."+string(n.Event), "Level", l.named("level", string(n.Level)), "What", said.Title), Link: said.Link}
	if n.Event == booking.AlertRecovered {
		out.Happened = l.t("alert.over", "What", said.Title, "Since", l.dates.stamp(a.Began().In(t.zone)), "Until", l.dates.stamp(n.At.In(t.zone)))
		return out, nil
	}
	out.Happened, out.Means, out.Do = said.Happened, said.Means, said.Do
	return out, nil
}

// Sample is what a test of a recipient says.
func (t *AlertTexts) Sample(tag string) notify.Text {
	l := t.languages.of(tag, "")
	return notify.Text{Subject: l.t("alert.sample.subject"), Happened: l.t("alert.sample.happened"), Means: l.t("alert.sample.means"), Link: alertsPath}
}

// alertSaid is an alert in words.
type alertSaid struct {
	Title               string
	Happened, Means, Do string
	// Link leads to where it is seen to, and Go says what that is.
	Link, Go string
}

// aboutAlerts is what is known of what alerts are about.
type aboutAlerts struct {
	connections map[uuid.UUID]providers.Connection
	bookings    map[uuid.UUID]booking.View
	resources   map[uuid.UUID]string
	endpoints   map[uuid.UUID]string
}

// sayAlerts says alerts, in their order; what they are about is read once for all.
func sayAlerts(ctx context.Context, l *language, records alertRecords, zone *time.Location, alerts ...booking.Alert) ([]alertSaid, error) {
	var conflicts []uuid.UUID
	subjects := make([]uuid.UUID, len(alerts))
	for i, a := range alerts {
		if a.Subject == "" {
			continue
		}
		id, err := uuid.Parse(a.Subject)
		if err != nil {
			return nil, fmt.Errorf("web: what the alert %s is about: %w", a.ID, err)
		}
		if subjects[i] = id; a.Kind == booking.TroubleConflict {
			conflicts = append(conflicts, id)
		}
	}
	about, err := readAbout(ctx, records, conflicts)
	if err != nil {
		return nil, err
	}
	out := make([]alertSaid, len(alerts))
	for i, a := range alerts {
		out[i] = about.say(l, zone, a, subjects[i])
	}
	return out, nil
}

func readAbout(ctx context.Context, records alertRecords, conflicts []uuid.UUID) (aboutAlerts, error) {
	out := aboutAlerts{connections: map[uuid.UUID]providers.Connection{}, bookings: map[uuid.UUID]booking.View{}, resources: map[uuid.UUID]string{}}
	var err error
	if out.endpoints, err = records.EndpointNames(ctx); err != nil {
		return out, err
	}
	connections, err := booking.Everything(ctx, records.Connections)
	if err != nil {
		return out, err
	}
	for _, c := range connections {
		out.connections[c.ID] = c
	}
	if len(conflicts) == 0 {
		return out, nil
	}
	bookings, err := records.BookingsByID(ctx, conflicts)
	if err != nil {
		return out, err
	}
	for _, b := range bookings {
		out.bookings[b.ID] = b
	}
	resources, err := booking.Everything(ctx, records.Resources)
	for _, r := range resources {
		out.resources[r.ID] = r.Name
	}
	return out, err
}

func (about aboutAlerts) say(l *language, zone *time.Location, a booking.Alert, subject uuid.UUID) alertSaid {
	base := "alert." + string(a.Kind)
	if more := base + "." + a.Detail; a.Detail != "" && l.has(more+".title") {
		base = more
	}
	name := l.t("alert.someone")
	if c, known := about.connections[subject]; known {
		name = c.Name + " (" + l.named("provider", c.Provider) + ")"
	}
	if system, known := about.endpoints[subject]; known {
		name = system
	}
	where, when := l.t("alert.somewhere"), ""
	b := about.bookings[subject]
	if len(b.ResourceIDs) > 0 {
		where = cmp.Or(about.resources[b.ResourceIDs[0]], where)
	}
	if b.StartsAt != nil {
		when = l.dates.stamp(b.StartsAt.In(zone))
	}
	link, there := alertLink(a, subject)
	data := []any{"Number", l.number(a.Count), "Since", l.dates.stamp(a.Since.In(zone)), "Name", name, "Where", where, "When", when}
	text := func(part string) string { return l.counted(base+"."+part, a.Count, data...) }
	return alertSaid{
		Title: text("title"), Happened: text("happened"), Means: text("means"), Do: text("do"), Link: link, Go: l.named("alerts.go", there),
	}
}

// alertLink leads to where an alert is seen to, and tells what that is: a message's
// key's end.
func alertLink(a booking.Alert, subject uuid.UUID) (link, there string) {
	switch a.Kind {
	case booking.TroubleConflict:
		return "/bookings/" + subject.String(), "conflict"
	case booking.TroubleConflicts:
		return conflictsQuery{Show: showOpen}.Link(), "conflicts"
	case booking.TroubleReceipts:
		return deliveriesQuery{Connection: subject.String(), Status: a.Detail, Period: periodAll}.Link(), "deliveries"
	case booking.TroubleDead:
		return deliveriesQuery{Status: string(booking.StatusDead), Period: periodAll}.Link(), "deliveries"
	case booking.TroubleOpen:
		return deliveriesQuery{Status: string(booking.StatusPending), Period: periodAll}.Link(), "deliveries"
	case booking.TroubleEndpoint:
		return endpointLink(subject), "system"
	case booking.TroubleConnection, booking.TroubleDrift, booking.TroubleCopies, booking.TroubleUnproven:
	}
	return connectionLink(subject), "account"
}
