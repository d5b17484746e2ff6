package web

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/calendar"
)

const feedProduct = "-//Slotkeeper//Slotkeeper//EN"

// uidOf is the UID of an event. It names no host: the address of a server may change,
// and its events stay what they are.
func uidOf(id uuid.UUID) string { return id.String() + "@slotkeeper" }

// feedWriter writes one feed.
type feedWriter struct {
	server  *server
	feed    access.OpenedFeed
	window  booking.Period
	now     time.Time
	l       *language
	names   map[uuid.UUID]string // of resources; nil where none is told
	out     *calendar.ICS
	several bool // whether the feed is about several resources
}

// writeFeed writes a feed as the context's scope shows it, a page of bookings at a
// time.
func (s *server) writeFeed(ctx context.Context, w io.Writer, feed access.OpenedFeed, now time.Time) error {
	out, err := calendar.NewICS(w, calendar.Feed{Product: feedProduct, Name: feed.Name, Refresh: feedRefresh})
	if err != nil {
		return err
	}
	f := &feedWriter{server: s, feed: feed, window: booking.FeedWindow(now), now: now, out: out, l: s.languages.of(feed.Language, "")}
	if feed.Level != booking.FeedBusy {
		resources, err := booking.Everything(ctx, s.Records.Resources)
		if err != nil {
			return err
		}
		f.names = plainNames(resources)
		f.several = len(feed.Filter.Resources) != 1 && len(f.names) > 1
	}
	if err := f.bookings(ctx); err != nil {
		return err
	}
	if err := f.blocks(ctx); err != nil {
		return err
	}
	return out.Close()
}

func (f *feedWriter) bookings(ctx context.Context) error {
	filter, page := f.feed.Filter.Filter(f.window), booking.Page{Limit: booking.MaxLimit}
	for {
		l, err := f.server.Records.Bookings(ctx, filter, page)
		if err != nil {
			return err
		}
		entries, err := f.entries(ctx, l.Items)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := f.out.Write(f.event(e)); err != nil {
				return err
			}
		}
		if l.Next == "" {
			return nil
		}
		page.Cursor = l.Next
	}
}

func (f *feedWriter) entries(ctx context.Context, page []booking.View) ([]booking.FeedEntry, error) {
	ids := make([]uuid.UUID, len(page))
	for i, v := range page {
		ids[i] = v.ChainID
	}
	choice := booking.FeedChoice{Filter: f.feed.Filter, Window: f.window, Now: f.now, Chains: map[uuid.UUID][]booking.View{}}
	var err error
	if choice.Revisions, err = f.server.Revisions(ctx, ids); err != nil {
		return nil, err
	}
	var members []uuid.UUID
	for _, r := range choice.Revisions {
		if len(r.Members) > 1 {
			members = append(members, r.Members...)
		}
	}
	if len(members) > 0 {
		seen, err := f.server.Records.BookingsByID(ctx, members)
		if err != nil {
			return nil, err
		}
		for _, v := range seen {
			choice.Chains[v.ChainID] = append(choice.Chains[v.ChainID], v)
		}
	}
	return choice.Entries(page), nil
}

// event is a booking as the feed's level tells of it.
func (f *feedWriter) event(e booking.FeedEntry) calendar.Entry {
	out := calendar.Entry{
		UID: uidOf(e.UID), Sequence: max(0, e.Changes-1), Status: calendar.Confirmed, StartsAt: *e.StartsAt, EndsAt: *e.EndsAt,
		Stamp: e.Modified, Modified: e.Modified, Summary: f.l.t("feed.busy"),
	}
	if out.Stamp.IsZero() {
		out.Stamp = f.window.From
	}
	switch e.Status {
	case booking.Pending:
		out.Status = calendar.Tentative
	case booking.Canceled:
		out.Status, out.Free = calendar.Cancelled, true
	case booking.Active, booking.Conflicted, booking.New:
	}
	if f.feed.Level == booking.FeedBusy {
		return out
	}
	out.Summary = f.summary(e.View)
	if f.feed.Level != booking.FeedFull {
		return out
	}
	out.Location, out.Description = e.Location, f.description(e.View)
	out.URL = f.server.PublicURL.JoinPath("bookings", e.ID.String()).String()
	return out
}

// summary is what it is and who comes, once: some providers write the name into the
// title.
func (f *feedWriter) summary(v booking.View) string {
	what, who := strings.TrimSpace(v.Title), strings.TrimSpace(v.Invitee.Name)
	switch {
	case what == "" && who == "":
		what = f.l.t("feed.untitled")
	case what == "":
		what = who
	case who != "" && !titleNames(what, who):
		what += " – " + who
	}
	switch v.Status {
	case booking.Pending:
		return f.l.t("feed.requested", "Title", what)
	case booking.Conflicted:
		return f.l.t("feed.conflict", "Title", what)
	case booking.Canceled:
		return f.l.t("feed.canceled", "Title", what)
	case booking.Active, booking.New:
	}
	return what
}

func (f *feedWriter) description(v booking.View) string {
	var lines []string
	line := func(key, value string) {
		if value = strings.TrimSpace(value); value != "" {
			lines = append(lines, f.l.t("feed.line", "Name", f.l.t(key), "Value", value))
		}
	}
	line("feed.invitee", v.Invitee.Name)
	line("feed.email", v.Invitee.Email)
	line("feed.phone", v.Invitee.Phone)
	line("feed.with", f.resources(v.ResourceIDs))
	line("feed.provider", f.l.named("provider", v.Provider))
	return strings.Join(lines, "\n")
}

func (f *feedWriter) resources(ids []uuid.UUID) string {
	var names []string
	for _, id := range ids {
		if name := f.names[id]; name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// blocks are the times at which somebody is unavailable: busy, whatever for.
func (f *feedWriter) blocks(ctx context.Context) error {
	all, err := f.server.Records.Blocks(ctx, f.window.From, f.window.To, f.feed.Filter.Resources)
	if err != nil {
		return err
	}
	for _, b := range all {
		if f.feed.Filter.Provider != "" && b.Source.Provider != f.feed.Filter.Provider || !b.EndsAt.After(b.StartsAt) {
			continue
		}
		e := calendar.Entry{
			UID: uidOf(b.FeedID()), Status: calendar.Confirmed, StartsAt: b.StartsAt, EndsAt: b.EndsAt,
			// A reading gives every block a new time: the feed would never stay the same.
			Stamp: f.window.From, Summary: f.l.t("feed.busy"),
		}
		if f.feed.Level != booking.FeedBusy {
			e.Summary = f.l.t("feed.unavailable")
			if name := f.names[b.ResourceID]; f.several && name != "" {
				e.Summary = f.l.t("feed.unavailable.who", "Name", name)
			}
		}
		if f.feed.Level == booking.FeedFull {
			e.Description = b.Note
		}
		if err := f.out.Write(e); err != nil {
			return err
		}
	}
	return nil
}
