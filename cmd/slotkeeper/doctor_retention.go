package main

import (
	"context"
	"errors"
	"fmt"

	"slotkeeper/booking"
)

// retention: what is kept too long is a promise broken to somebody. Without a
// server nobody removes anything.
func (d *doctor) retention(ctx context.Context, inst *installation) check {
	const name = "retention"
	run, err := inst.store.LastRetention(ctx)
	switch {
	case errors.Is(err, booking.ErrNotFound):
		return fine(name, "no run yet: the server makes one when it starts, and every 6 hours")
	case err != nil:
		return unasked(name, err)
	}
	what := fmt.Sprintf("last run %s: removed %d bodies, %d snapshots, %d intake forms, %d deliveries, %d sessions, %d links, %d reads, %d replays, %d alerts, %d messages",
		run.StartedAt.UTC().Format("2006-01-02 15:04Z"), run.Bodies, run.Snapshots, run.Forms, run.Deliveries, run.Sessions, run.Links, run.Reads, run.Replays, run.Alerts, run.Messages)
	if d.now().Sub(run.StartedAt) > booking.RetentionOverdue {
		return warning(name, what, "does the server run, and does its log say why the job `retain` fails?")
	}
	return fine(name, what)
}
