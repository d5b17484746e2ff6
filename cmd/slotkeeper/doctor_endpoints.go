package main

import (
	"context"
	"fmt"

	"slotkeeper/booking"
)

// endpoints looks at each other system that is told.
func (d *doctor) endpoints(ctx context.Context, inst *installation) []check {
	all, err := inst.store.Endpoints(ctx)
	if err != nil {
		return []check{unasked("webhooks", err)}
	}
	var out []check
	for _, e := range all {
		name := "webhooks to " + e.Name
		switch {
		case e.Off == booking.OffByHand:
			out = append(out, fine(name, "switched off by hand since "+e.OffAt.UTC().Format("2006-01-02 15:04Z")))
		case e.Off != "":
			out = append(out, warning(name, fmt.Sprintf("switched off since %s: %s", e.OffAt.UTC().Format("2006-01-02 15:04Z"), e.Off),
				"ask whoever runs it, then `slotkeeper endpoints switch "+e.ID.String()+" --on`, or remove it"))
		case e.FailingSince != nil:
			out = append(out, warning(name, "nothing has got through since "+e.FailingSince.UTC().Format("2006-01-02 15:04Z"),
				"see what it answers with `slotkeeper endpoints test "+e.ID.String()+"`"))
		default:
			out = append(out, fine(name, "on"))
		}
	}
	return out
}
