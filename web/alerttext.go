package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/notify"
	"slotkeeper/providers"
)

// alertRecords are what is read for what an alert says.
type alertRecords interface {
	Connection(ctx context.Context, id uuid.UUID) (providers.Connection, error)
	Booking(ctx context.Context, id uuid.UUID) (booking.View, error)
	Resources(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ResourceView], error)
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
	return &AlertTexts{all, records, named(zone)}, nil
}

// Text is what a notice says in a language. The link begins with a slash.
func (t *AlertTexts) Text(ctx context.Context, tag string, a booking.Alert, n booking.Notice) (notify.Text, error) {
	l := t.languages.of(tag, "")
	a.Level, a.Count, a.Detail = n.Level, n.Count, n.Detail
	said, err := sayAlert(ctx, l, t.records, a, t.zone)
	if err != nil {
		return notify.Text{}, err
	}
	out := notify.Text{Subject: l.t("alert.subject."+string(n.Event), "Level", l.named("level", string(n.Level)), "What", said.Title), Link: said.Link}
	if n.Event == booking.AlertRecovered {
		out.Happened = l.t("alert.over", "What", said.Title, "Since", l.dates.stamp(a.Since.In(t.zone)), "Until", l.dates.stamp(n.At.In(t.zone)))
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
	Link                string
}

func sayAlert(ctx context.Context, l *language, records alertRecords, a booking.Alert, zone *time.Location) (alertSaid, error) {
	base := "alert." + string(a.Kind)
	if more := base + "." + a.Detail; a.Detail != "" && l.has(more+".title") {
		base = more
	}
	data := []any{"Number", l.number(a.Count), "Since", l.dates.stamp(a.Since.In(zone))}
	out := alertSaid{}
	switch a.Kind {
	case booking.TroubleConnection, booking.TroubleReceipts, booking.TroubleConflicts, booking.TroubleDrift, booking.TroubleCopies:
		name := l.t("alert.someone")
		id, err := uuid.Parse(a.Subject)
		if err != nil {
			return out, fmt.Errorf("web: the alert %s is about no connection: %w", a.ID, err)
		}
		c, err := records.Connection(ctx, id)
		if err == nil {
			name = c.Name + " (" + l.named("provider", c.Provider) + ")"
		} else if !errors.Is(err, booking.ErrNotFound) {
			return out, err
		}
		data = append(data, "Name", name)
		switch a.Kind {
		case booking.TroubleConflicts:
			out.Link = conflictsQuery{Show: showOpen}.Link()
		case booking.TroubleReceipts:
			out.Link = deliveriesQuery{Connection: id.String(), Status: a.Detail, Period: periodAll}.Link()
		default:
			out.Link = connectionLink(id)
		}
	case booking.TroubleConflict:
		where, when := l.t("alert.somewhere"), ""
		id, err := uuid.Parse(a.Subject)
		if err != nil {
			return out, fmt.Errorf("web: the alert %s is about no booking: %w", a.ID, err)
		}
		b, err := records.Booking(ctx, id)
		if err != nil && !errors.Is(err, booking.ErrNotFound) {
			return out, err
		}
		if b.StartsAt != nil {
			when = l.dates.stamp(b.StartsAt.In(zone))
		}
		resources, err := booking.Everything(ctx, records.Resources)
		if err != nil {
			return out, err
		}
		for _, r := range resources {
			if len(b.ResourceIDs) > 0 && r.ID == b.ResourceIDs[0] {
				where = r.Name
			}
		}
		data = append(data, "Where", where, "When", when)
		out.Link = "/bookings/" + id.String()
	case booking.TroubleDead:
		out.Link = deliveriesQuery{Status: string(booking.StatusDead), Period: periodAll}.Link()
	case booking.TroubleOpen:
		out.Link = deliveriesQuery{Status: string(booking.StatusPending), Period: periodAll}.Link()
	}
	out.Title, out.Happened = l.t(base+".title", data...), l.t(base+".happened", data...)
	out.Means, out.Do = l.t(base+".means", data...), l.t(base+".do", data...)
	return out, nil
}
