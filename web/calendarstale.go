package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/calendar"
	"slotkeeper/providers"
)

// staleAccount is an account that tells nothing any more: what the calendar shows of
// its resources may be old, and an empty day there may be full.
type staleAccount struct {
	Text      string // "No data from X since 09:12", or "No webhooks …"
	Name      string
	Provider  string
	State     providers.State
	OnlyHook  bool // bookings come late, not never
	Resources []staleResource
	// Link is the account's page, and Again where it is connected again: "" where that
	// does not help, or the viewer may not.
	Link  string
	Again string

	ids   []uuid.UUID
	since *time.Time // nil where it is not known
}

type staleResource struct {
	Name string
	Link string // the calendar of that resource
}

// told is how far around what is shown it is looked whose bookings an account told
// of.
const told = 14 * 24 * time.Hour

// stale are the accounts that are down, with the resources that they tell of.
func (s *server) stale(ctx context.Context, q calendarQuery, names names, who viewer) ([]staleAccount, error) {
	var out []staleAccount
	days := q.Days()
	around := booking.Period{From: days[0].Start.Add(-told), To: days[len(days)-1].End.Add(told)}
	for _, c := range names.accounts {
		if !down(c.State(s.Now())) {
			continue
		}
		booked, err := s.Records.ResourcesToldOf(ctx, c.ID, around)
		if err != nil {
			return nil, err
		}
		d := downOf(c, s.Now(), who)
		a := staleAccount{Text: staleText(c, q, who.language), Name: d.Name, Provider: d.Provider, State: d.State, OnlyHook: d.OnlyHook, Link: d.Link, Again: d.Again, since: c.DownSince()}
		for _, r := range names.known {
			if slices.Contains(booked, r.ID) || tellsOf(names.accounts, c, r) {
				a.ids = append(a.ids, r.ID)
				a.Resources = append(a.Resources, staleResource{Name: names.resource[r.ID], Link: q.Of(r.ID)})
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// staleHere are those of them that what is shown may lack something of: not where a
// filter leaves the account out, nor on days that were over before it went down.
func staleHere(all []staleAccount, q calendarQuery) []staleAccount {
	days := q.Days()
	ends := days[len(days)-1].End
	var out []staleAccount
	for _, a := range all {
		if q.Provider != "" && a.Provider != q.Provider || a.since != nil && !a.since.Before(ends) {
			continue
		}
		if q.Resource != uuid.Nil && len(a.ids) > 0 {
			at := slices.Index(a.ids, q.Resource)
			if at < 0 {
				continue
			}
			a.Resources = a.Resources[at : at+1]
		}
		out = append(out, a)
	}
	return out
}

func staleText(c providers.Connection, q calendarQuery, l *language) string {
	since, key := c.DownSince(), "calendar.stale.since"
	if c.OnlyHookLost() {
		key = "calendar.stale.hook.since"
	}
	if since == nil {
		return l.t("calendar.stale", "Name", c.Name)
	}
	at := since.In(q.Zone)
	text := l.dates.time(at) + nb + zoneName(at)
	// Beside another day than today a time alone would be taken for one of that day.
	if d := calendar.DateOf(at, q.Zone); d != q.today || !slices.ContainsFunc(q.Days(), func(shown calendar.Day) bool { return shown.Date == d }) {
		text = l.dates.stamp(at)
	}
	return l.t(key, "Name", c.Name, "Since", text)
}

// tellsOf tells whether a resource can be booked in an account. Accounts of one
// provider share its identities: then those count whom the account itself named.
func tellsOf(accounts []providers.Connection, c providers.Connection, r booking.ResourceView) bool {
	alone := !slices.ContainsFunc(accounts, func(o providers.Connection) bool {
		return o.ID != c.ID && o.Source() == c.Source() && o.DisconnectedAt == nil
	})
	return slices.ContainsFunc(r.Identities, func(i booking.Identity) bool {
		own := i.Source == c.Source()
		return own && alone || slices.ContainsFunc(c.Owner.Hosts, func(h booking.Host) bool {
			return own && h.ExternalID == i.ExternalID || i.Source == (booking.Source{}) && h.Email != "" && strings.EqualFold(h.Email, i.Email)
		})
	})
}

// markStale says in a list to choose from which resources have no data. Those that
// are only told of late have.
func markStale(options []option, stale []staleAccount, l *language) []option {
	out := slices.Clone(options)
	for i, o := range out {
		if slices.ContainsFunc(stale, func(a staleAccount) bool {
			return !a.OnlyHook && slices.ContainsFunc(a.ids, func(id uuid.UUID) bool { return id.String() == o.Value })
		}) {
			out[i].Label = l.t("calendar.stale.option", "Name", o.Label)
		}
	}
	return out
}
