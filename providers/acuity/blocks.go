package acuity

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const (
	maxBlocks = 4 << 20
	// lookBack is how long before a window a block may begin that still touches it:
	// whether minDate means a block's beginning or its end is not documented.
	lookBack = booking.MaxLength
)

// Blocks reads what calendars are blocked for. A block that recurs was never seen
// recorded: each interval that the API lists is taken as it stands, and none is
// made of "recurring" and "until". A block has no note here: what its owner wrote
// is his own, and Acuity's description is its time in words. One that began more
// than lookBack before the window may be missing.
func (p *Provider) Blocks(ctx context.Context, client *http.Client, c providers.Connection, w providers.Window) ([]booking.Block, error) {
	if !w.From.Before(w.To) {
		return nil, nil
	}
	r := &blockReader{api: newAPI(client, c)}
	if err := r.read(ctx, dateOf(w.From.Add(-lookBack)).Add(-day), dateOf(w.To).Add(day)); err != nil {
		return nil, err
	}
	var all []booking.Block
	seen := map[string]bool{}
	for _, v := range r.all {
		b, calendarID, err := block(v)
		if err != nil {
			return nil, err
		}
		if seen[b.ExternalID] || !b.EndsAt.After(w.From) || !b.StartsAt.Before(w.To) || !b.EndsAt.After(b.StartsAt) {
			continue
		}
		seen[b.ExternalID] = true
		b.Source = c.Source()
		if b.Host, err = p.calendars.host(ctx, r.api, calendarID); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

func block(v providers.Value) (b booking.Block, calendarID string, err error) {
	var in providers.Fields
	b.ExternalID = number(&in, v.Get("id"), "id")
	calendarID = number(&in, v.Get("calendarID"), "calendarID")
	from, to := stamp(&in, v.Get("start"), "start"), stamp(&in, v.Get("end"), "end")
	if in.Fault() != nil || from == nil || to == nil {
		return b, "", providers.BadAnswer("a block in it has no id, no calendar or no time that can be read")
	}
	b.StartsAt, b.EndsAt = *from, *to
	if v.Get("recurring").Said() {
		// Should each time be listed, they may have one id together.
		b.ExternalID += "|" + from.Format(time.RFC3339)
	}
	return b, calendarID, nil
}

// blockReader reads all blocks between two dates, both included. The list is as
// short as that of appointments, and has no order that one can ask for: a full one
// is asked for by halves, a day's by calendar.
type blockReader struct {
	api *api
	all []providers.Value
}

func (r *blockReader) read(ctx context.Context, from, to time.Time) error {
	listed, err := r.list(ctx, from, to, "")
	switch {
	case err != nil:
		return err
	case len(listed) < maxListed:
		r.all = append(r.all, listed...)
		return nil
	case from.Before(to):
		middle := from.Add(to.Sub(from) / 2).Truncate(day)
		if err := r.read(ctx, from, middle); err != nil {
			return err
		}
		return r.read(ctx, middle.Add(day), to)
	}
	ids, err := calendarIDs(ctx, r.api)
	if err != nil {
		return err
	}
	for _, id := range withNamed(ids, listed, "calendarID") {
		part, err := r.list(ctx, from, to, id)
		if err != nil {
			return err
		}
		if len(part) >= maxListed {
			return fmt.Errorf("the blocks of %s in calendar %s cannot be read whole: Acuity lists %d and has no further pages", from.Format(time.DateOnly), id, maxListed)
		}
		r.all = append(r.all, part...)
	}
	return nil
}

func (r *blockReader) list(ctx context.Context, from, to time.Time, calendarID string) ([]providers.Value, error) {
	query := url.Values{"minDate": {from.Format(time.DateOnly)}, "maxDate": {to.Format(time.DateOnly)}, "max": {strconv.Itoa(maxListed)}}
	if calendarID != "" {
		query.Set("calendarID", calendarID)
	}
	return r.api.list(ctx, "/blocks", query, maxBlocks, "blocks")
}
