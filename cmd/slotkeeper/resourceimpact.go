package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

type impactJSON struct {
	ResourceID uuid.UUID `json:"resource_id"`
	// Changed is how many bookings have another state by it.
	Changed   int            `json:"bookings_changed"`
	Sessions  int            `json:"sessions_moved"`
	Conflicts []affectedJSON `json:"conflicts"`
	Released  []affectedJSON `json:"released"`
	Done      bool           `json:"done"`
}

type affectedJSON struct {
	BookingID uuid.UUID      `json:"booking_id"`
	Reason    booking.Reason `json:"reason"`
	StartsAt  time.Time      `json:"starts_at"`
	EndsAt    time.Time      `json:"ends_at"`
	With      []uuid.UUID    `json:"with"`
}

func newImpactJSON(to uuid.UUID, i booking.Impact) impactJSON {
	list := func(all []booking.Affected) []affectedJSON {
		out := make([]affectedJSON, 0, len(all))
		for _, a := range all {
			item := affectedJSON{a.Booking.ID, a.Booking.Reason, a.StartsAt.UTC(), a.EndsAt.UTC(), []uuid.UUID{}}
			for _, w := range a.With {
				item.With = append(item.With, w.ID)
			}
			out = append(out, item)
		}
		return out
	}
	return impactJSON{
		ResourceID: to, Changed: len(i.Conflicts) + len(i.Released), Sessions: i.Sessions,
		Conflicts: list(i.Conflicts), Released: list(i.Released), Done: true,
	}
}

// printImpact lists the conflicts that a change makes and those that it releases.
func (c *cli) printImpact(i booking.Impact) error {
	fmt.Fprintf(c.stdout, "%s with new claims, %s made, %s released\n",
		counted(i.Sessions, "meeting"), counted(len(i.Conflicts), "conflict"), counted(len(i.Released), "conflict"))
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	for _, list := range []struct {
		what, with string
		all        []booking.Affected
	}{{"conflict", "held by ", i.Conflicts}, {"released", "was held by ", i.Released}} {
		for _, a := range list.all {
			var with []string
			for _, o := range a.With {
				with = append(with, bookingName(o))
			}
			over := ""
			if !a.EndsAt.After(c.now()) {
				over = "over"
			}
			fmt.Fprintf(w, "%s\t%s–%s\t%s\t%s%s\t%s\n", list.what, a.StartsAt.UTC().Format("2006-01-02 15:04"), a.EndsAt.UTC().Format("15:04 UTC"),
				bookingName(a.Booking), list.with, strings.Join(with, "; "), over)
		}
	}
	return w.Flush()
}

func bookingName(b booking.Booking) string {
	var parts []string
	for _, text := range []string{b.Title.Value, b.Invitee.Name.Value, b.Source.Provider, b.ID.String()} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " · ")
}
