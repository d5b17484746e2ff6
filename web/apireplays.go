package web

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// replayJSON is a replay and its report as programs get it.
type replayJSON struct {
	ID         uuid.UUID            `json:"id"`
	Status     booking.RunStatus    `json:"status" enum:"running,done,failed,stopped"`
	DryRun     bool                 `json:"dry_run"`
	Refetch    bool                 `json:"refetch"`
	Filter     booking.ReplayFilter `json:"filter"`
	Total      *int                 `json:"total" doc:"How many receipts it is about; null until they are counted"`
	Error      *string              `json:"error" doc:"Of the newest failure to go on"`
	Actor      booking.Actor        `json:"actor"`
	StartedAt  time.Time            `json:"started_at"`
	FinishedAt *time.Time           `json:"finished_at"`
	booking.ReplayCounts
	Changes []replayChangeJSON `json:"changes" nullable:"false" doc:"What changed, or in a dry run would; at most 500 are listed"`
}

type replayChangeJSON struct {
	ReceiptID    uuid.UUID                    `json:"receipt_id"`
	ConnectionID uuid.UUID                    `json:"connection_id"`
	Kind         booking.Kind                 `json:"kind"`
	ReceivedAt   time.Time                    `json:"received_at"`
	Before       booking.ReceiptStatus        `json:"before"`
	After        booking.ReceiptStatus        `json:"after" doc:"The receipt's status; one that was settled keeps it"`
	Verdict      booking.ReceiptStatus        `json:"verdict" doc:"What today's code makes of the event"`
	Transitions  []booking.ReplayedTransition `json:"transitions" nullable:"false"`
}

func newReplayJSON(r booking.Replay, changes []booking.ReplayChange) replayJSON {
	out := replayJSON{
		ID: r.ID, Status: r.Status, DryRun: r.DryRun, Refetch: r.Refetch, Filter: r.Filter, Total: r.Total, Error: orNull(r.Error), Actor: r.Actor,
		StartedAt: r.StartedAt.UTC(), FinishedAt: utc(r.FinishedAt), ReplayCounts: r.ReplayCounts, Changes: []replayChangeJSON{},
	}
	for _, c := range changes {
		out.Changes = append(out.Changes, replayChangeJSON(c))
	}
	return out
}

// ReplayBody is what a replay takes. Exported for huma.
type ReplayBody struct {
	IDs          []string `json:"ids,omitempty" maxItems:"1000" doc:"Receipts, one by one"`
	From         string   `json:"from,omitempty" doc:"Only what came at or after this time, RFC 3339"`
	To           string   `json:"to,omitempty" doc:"Only what came before this time, RFC 3339"`
	Provider     string   `json:"provider,omitempty"`
	ConnectionID string   `json:"connection_id,omitempty"`
	Kind         string   `json:"kind,omitempty"`
	Status       []string `json:"status,omitempty"`
	All          bool     `json:"all,omitempty" doc:"Needed to replay everything, when nothing else is said"`
	DryRun       bool     `json:"dry_run,omitempty" doc:"Tell what would change, and change nothing"`
	Refetch      bool     `json:"refetch,omitempty" doc:"Ask the provider again about what only it knows"`
}

func (b ReplayBody) request() (booking.ReplayRequest, error) {
	q := booking.ReplayRequest{DryRun: b.DryRun, Refetch: b.Refetch, Everything: b.All}
	q.Filter.Provider, q.Filter.Kind = b.Provider, booking.Kind(b.Kind)
	var err error
	if q.Filter.From, err = parseTime("from", b.From); err != nil {
		return q, err
	}
	if q.Filter.To, err = parseTime("to", b.To); err != nil {
		return q, err
	}
	if q.Filter.ConnectionID, err = parseFilterID("connection_id", b.ConnectionID); err != nil {
		return q, err
	}
	for _, status := range b.Status {
		if err := oneOf("status", status, texts(booking.ReceiptStatuses())); err != nil {
			return q, err
		}
		q.Filter.Statuses = append(q.Filter.Statuses, booking.ReceiptStatus(status))
	}
	q.Filter.IDs, err = receiptIDs(b.IDs)
	return q, err
}

func receiptIDs(all []string) ([]uuid.UUID, error) {
	var out []uuid.UUID
	for _, text := range all {
		id, err := parseFilterID("ids", text)
		if err != nil {
			return nil, err
		}
		if id != nil {
			out = append(out, *id)
		}
	}
	return out, nil
}

type replayInput struct{ Body ReplayBody }

func (s *server) registerReplays(api huma.API) {
	command(s, api, "/replays", "create-replay",
		"Take stored receipts through today's code once more. What failed and can be used by now is applied; what was applied stays",
		func(ctx context.Context, by access.By, in *replayInput) (replayJSON, error) {
			q, err := in.Body.request()
			if err != nil {
				return replayJSON{}, err
			}
			r, err := s.Replays.Begin(ctx, q, by)
			return newReplayJSON(r, nil), err
		})
	operation(s, api, "/replays/{id}", "get-replay", "A replay and its report", func(ctx context.Context, in *PathID) (replayJSON, error) {
		id, err := in.parse()
		if err != nil {
			return replayJSON{}, err
		}
		r, err := s.Replays.Replay(ctx, id)
		if err != nil {
			return replayJSON{}, err
		}
		changes, err := s.Replays.Changes(ctx, id)
		return newReplayJSON(r, changes), err
	})
}
