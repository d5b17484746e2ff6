package account

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// blocksNext is the cursor of a run whose pages are all read, so that whoever goes
// on does not begin anew. No adapter has it.
const blocksNext = "unavailable times"

// blocks reads when the account's hosts are unavailable. What an API will not say
// however often it is asked is no reason to fail a run whose bookings are read: it
// stands in the run's error, and the next run asks again.
func (r *reading) blocks(ctx context.Context) error {
	api, ok := r.api.(providers.Blocker)
	if !ok {
		return nil
	}
	r.run.Cursor = blocksNext
	if err := r.save(ctx); err != nil {
		return err
	}
	var all []booking.Block
	var asked time.Time
	err := r.ask(ctx, func(ticket time.Time) (err error) {
		asked = ticket
		all, err = api.Blocks(ctx, r.opts.Client, r.conn, providers.Window{From: r.run.From, To: r.run.To})
		r.run.Requests++
		return err
	})
	switch {
	case err == nil:
		err = r.opts.Store.ReplaceBlocks(ctx, r.conn.ID, r.conn.Source(), r.run.From, r.run.To, all, asked)
	case !passing(err):
		r.opts.Log.WarnContext(ctx, "unavailable times were not read", "run", r.run.ID, "connection", r.conn.ID, "err", err)
		r.run.Error, err = fmt.Sprintf("unavailable times were not read: %v", err), nil
	}
	if err == nil {
		r.run.Cursor = ""
	}
	return err
}

// passing tells whether an error may be another, or none, when asked again.
func passing(err error) bool {
	var later *providers.LaterError
	var network net.Error
	var answer *providers.AnswerError
	return errors.As(err, &later) || errors.As(err, &network) || errors.Is(err, context.Canceled) || errors.Is(err, booking.ErrUnavailable) ||
		providers.NeedsSignIn(err) || errors.As(err, &answer) && answer.Status >= http.StatusInternalServerError
}
