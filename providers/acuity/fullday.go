package acuity

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"slotkeeper/providers"
)

// maxListed is how many appointments or blocks the API lists unless asked for
// more, and how many we ask for: whether it would give more is not documented.
const maxListed = 100

// dayReader reads all appointments of one day, however many.
type dayReader struct {
	api  *api
	date string
	// calendars and types are those of the account; nil before they are needed.
	calendars, types []string

	all []providers.Value
	at  map[string]int // by appointment id
	// cut are the lists that have more than can be read from both ends, in words.
	cut []string
	// bare says that a list was read without its forms, so that none says that an
	// appointment has none.
	bare bool
}

// readDay reads what can be read of a day.
func readDay(ctx context.Context, a *api, date string) (*dayReader, error) {
	r := &dayReader{api: a, date: date, at: map[string]int{}}
	err := r.read(ctx, "", "")
	return r, err
}

// read reads those of a calendar and a type, "" being any. Of a full list it asks
// for the other end, and where the two do not meet, for each calendar, then for
// each type. A calendar or type that the account no longer lists is known by the
// appointments at the ends.
func (r *dayReader) read(ctx context.Context, calendarID, typeID string) error {
	first, err := r.list(ctx, calendarID, typeID, "ASC")
	if err != nil {
		return err
	}
	r.add(first)
	if len(first) < maxListed {
		return nil
	}
	last, err := r.list(ctx, calendarID, typeID, "DESC")
	if err != nil {
		return err
	}
	r.add(last)
	switch ends := slices.Concat(first, last); {
	case meet(first, last):
		return nil
	case calendarID == "":
		if r.calendars == nil {
			if r.calendars, err = calendarIDs(ctx, r.api); err != nil {
				return err
			}
		}
		for _, id := range withNamed(r.calendars, ends, "calendarID") {
			if err := r.read(ctx, id, ""); err != nil {
				return err
			}
		}
	case typeID == "":
		if r.types == nil {
			if r.types, err = typeIDs(ctx, r.api); err != nil {
				return err
			}
		}
		for _, id := range withNamed(r.types, ends, "appointmentTypeID") {
			if err := r.read(ctx, calendarID, id); err != nil {
				return err
			}
		}
	default:
		r.cut = append(r.cut, fmt.Sprintf("of %s in calendar %s of type %s there are more than Acuity lists, %d from either end; those between are looked up one by one where they are known",
			r.date, calendarID, typeID, maxListed))
	}
	return nil
}

// list asks for one end of a list. Unless the connection has forms kept they are not
// even asked for: they hold what clients tell their therapist. A list that is too
// long with them is read without, so that no day stays unread for them.
func (r *dayReader) list(ctx context.Context, calendarID, typeID, direction string) ([]providers.Value, error) {
	query := url.Values{
		"minDate": {r.date}, "maxDate": {r.date}, "showall": {"true"}, "direction": {direction},
		"max": {strconv.Itoa(maxListed)},
	}
	if calendarID != "" {
		query.Set("calendarID", calendarID)
	}
	if typeID != "" {
		query.Set("appointmentTypeID", typeID)
	}
	if r.api.conn.KeepForms {
		listed, err := r.api.list(ctx, "/appointments", query, maxWithForms, "appointments")
		if !errors.Is(err, providers.ErrAnswerTooLarge) {
			return listed, err
		}
		r.bare = true
	}
	query.Set("excludeForms", "true")
	return r.api.list(ctx, "/appointments", query, maxAppointments, "appointments")
}

// add keeps each appointment once, as the newest answer has it. One without an id
// is kept as it is, for somebody to see.
func (r *dayReader) add(listed []providers.Value) {
	for _, v := range listed {
		id := numeral(v.Get("id"))
		if i, again := r.at[id]; again && id != "" {
			r.all[i] = v
			continue
		}
		r.at[id] = len(r.all)
		r.all = append(r.all, v)
	}
}

// meet tells whether nothing lies between the first and the last of a list. All
// that begin before the latest of the first are among the first, and all that
// begin after the earliest of the last among the last. Where those overlap, there
// is nothing else, in whatever order those stand that begin at the same time.
func meet(first, last []providers.Value) bool {
	if len(last) == 0 || !ordered(first, 1) || !ordered(last, -1) {
		return false
	}
	return instant(last[len(last)-1]).Before(*instant(first[len(first)-1]))
}

// ordered tells whether the API ordered the list as it was asked to.
func ordered(listed []providers.Value, direction int) bool {
	for i, v := range listed {
		begins := instant(v)
		if begins == nil || i > 0 && begins.Compare(*instant(listed[i-1]))*direction < 0 {
			return false
		}
	}
	return true
}

// withNamed are the ids, and those that appointments name besides.
func withNamed(ids []string, listed []providers.Value, name string) []string {
	all := slices.Clone(ids)
	for _, v := range listed {
		var in providers.Fields
		if id := number(&in, v.Get(name), name); id != "" && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

func calendarIDs(ctx context.Context, a *api) ([]string, error) {
	all, err := listCalendars(ctx, a)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(all))
	for _, c := range all {
		ids = append(ids, c.id)
	}
	return ids, nil
}

func typeIDs(ctx context.Context, a *api) ([]string, error) {
	listed, err := a.list(ctx, "/appointment-types", nil, maxCalendars, "appointment types")
	return withNamed(nil, listed, "id"), err
}
