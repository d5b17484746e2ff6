package acuity

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// day is how long a page of List is. Its dates are the account's own, so a
// window's are a day more at both ends: no zone is further away.
const day = 24 * time.Hour

// List reads a day: the API has no pages, but lists at most a hundred
// appointments. Where a day has too many of one calendar and type to be read, what
// could be read comes with a standing that says so.
func (p *Provider) List(ctx context.Context, client *http.Client, c providers.Connection, o providers.Origin, w providers.Window, cursor string, at time.Time) (providers.Page, error) {
	if !w.From.Before(w.To) {
		return providers.Page{}, nil
	}
	date, last := dateOf(w.From).Add(-day), dateOf(w.To.Add(-1)).Add(day)
	if cursor != "" {
		var err error
		if date, err = time.Parse(time.DateOnly, cursor); err != nil {
			return providers.Page{}, fmt.Errorf("the cursor is not a date: %w", err)
		}
	}
	a := newAPI(client, c)
	read, err := readDay(ctx, a, date.Format(time.DateOnly))
	if err != nil {
		return providers.Page{}, err
	}
	page := providers.Page{}
	for _, what := range read.cut {
		d := o.Fetched(booking.KindSnapshot, "", nil, providers.Faultf(providers.CodeListCut, "%s", what))
		d.Subject = "day|" + date.Format(time.DateOnly)
		page.Standings = append(page.Standings, providers.Standing{Delivery: d, Body: []byte(providers.Withheld)})
	}
	for _, v := range read.all {
		if begins := instant(v); begins != nil && (begins.Before(w.From) || !begins.Before(w.To)) {
			continue
		}
		s, err := p.standing(ctx, a, o, v, at)
		if err != nil {
			return providers.Page{}, err
		}
		if read.bare {
			s.Forms = nil
		}
		page.Standings = append(page.Standings, s)
	}
	if next := date.Add(day); !next.After(last) {
		page.Next = next.Format(time.DateOnly)
	}
	page.Requests = a.asked
	return page, nil
}

// Reached is the day that a cursor begins.
func (*Provider) Reached(cursor string) providers.Reached {
	date, err := time.Parse(time.DateOnly, cursor)
	if err != nil {
		return providers.Reached{}
	}
	return providers.Reached{Until: date}
}

func dateOf(t time.Time) time.Time { return t.UTC().Truncate(day) }

// instant is when an appointment begins; nil when it does not say, or not so that
// it can be read.
func instant(v providers.Value) *time.Time {
	var in providers.Fields
	return stamp(&in, v.Get("datetime"), "datetime")
}

// standing is what a listed appointment says, by the way that fetched ones go.
func (p *Provider) standing(ctx context.Context, a *api, o providers.Origin, v providers.Value, at time.Time) (providers.Standing, error) {
	host := booking.Host{}
	if calendarID := numeral(v.Get("calendarID")); calendarID != "" {
		var err error
		if host, err = p.calendars.host(ctx, a, calendarID); err != nil {
			return providers.Standing{}, err
		}
	}
	s := p.stands(reduce(v, host.Email), o, at)
	s.Forms = formsOf(v, a.conn)
	return s, nil
}

func (p *Provider) stands(snapshot []byte, o providers.Origin, at time.Time) providers.Standing {
	if len(snapshot) > providers.MaxSnapshot {
		f := providers.Faultf(providers.CodeBodyTooLarge, "what is to be kept of the appointment is too large")
		return providers.Standing{Delivery: o.Fetched(booking.KindSnapshot, "", nil, f), Body: []byte(providers.Withheld)}
	}
	s := providers.Standing{Delivery: p.Read(snapshot, o, at, booking.KindSnapshot, ""), Body: p.Redact(snapshot)}
	if s.Event != nil {
		s.Kind = s.Event.Kind
	}
	return s
}

// Look reads one appointment.
func (p *Provider) Look(ctx context.Context, client *http.Client, c providers.Connection, o providers.Origin, externalID string, at time.Time) (providers.Standing, error) {
	fetched, err := p.fetch(ctx, newAPI(client, c), externalID)
	if err != nil {
		return providers.Standing{}, err
	}
	s := p.stands(fetched.Snapshot, o, at)
	s.Forms = fetched.Forms
	return s, nil
}
