package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// blockRow is a row of unavailable.
type blockRow struct {
	ExternalID     string
	Provider       string
	APIBase        string
	HostExternalID string
	HostEmail      string
	StartsAt       stamp
	EndsAt         stamp
	Long           bool
	Note           string
	Told           clockColumn
	ConnectionID   uuid.UUID
	ReceiptID      *uuid.UUID
	SeenAt         stamp
}

func (blockRow) TableName() string { return "unavailable" }

func blockFromDomain(b booking.ToldBlock, seen time.Time) blockRow {
	return blockRow{
		ExternalID: storable(b.ExternalID), Provider: b.Source.Provider, APIBase: b.Source.Base,
		HostExternalID: storable(b.Host.ExternalID), HostEmail: storable(b.Host.Email), StartsAt: at(b.StartsAt), EndsAt: at(b.EndsAt),
		Long: b.Long(), Note: storable(b.Note), Told: clockColumn{clock(b.At)}, ConnectionID: b.ConnectionID,
		ReceiptID: idOrNull(b.ReceiptID), SeenAt: at(seen),
	}
}

// blockViewRow is a row of unavailable_resources as it is read.
type blockViewRow struct {
	ExternalID     string
	Provider       string
	APIBase        string
	HostExternalID string
	HostEmail      string
	StartsAt       stamp
	EndsAt         stamp
	Note           string
	Told           clockColumn
	ConnectionID   uuid.UUID
	ResourceID     *uuid.UUID
}

func (r blockViewRow) toDomain() booking.BlockView {
	return booking.BlockView{
		Block: booking.Block{
			Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, ExternalID: r.ExternalID, At: booking.Clock(r.Told.c),
			Host: booking.Host{ExternalID: r.HostExternalID, Email: r.HostEmail}, StartsAt: r.StartsAt.t, EndsAt: r.EndsAt.t, Note: r.Note,
		},
		ConnectionID: r.ConnectionID, ResourceID: idOrNil(r.ResourceID),
	}
}

// saveBlocks writes what was told of blocks. What is stored and was said later
// stays.
func saveBlocks(t *trip, blocks []booking.ToldBlock, seen time.Time) {
	insertRows(t, rowsOf(blocks, func(b booking.ToldBlock) blockRow { return blockFromDomain(b, seen) }), "external_id", "provider", "api_base")
	if len(blocks) > 0 && t.err == nil {
		last := t.steps[len(t.steps)-1]
		last.text += " WHERE unavailable.told < excluded.told"
	}
}

// ReplaceBlocks makes the blocks that a connection's API listed for a window the
// stored ones: those that it no longer lists are removed. ticket is that of the
// reading (Ticket): a later reading's word stays. A block that began more than
// booking.MaxLength before the window is not removed, since no API promises to
// list it (acuity.Provider.Blocks); nor is one that a webhook told of.
func (s *Store) ReplaceBlocks(
	ctx context.Context, connection uuid.UUID, source booking.Source, from, to time.Time, blocks []booking.Block, ticket time.Time,
) error {
	told := make([]booking.ToldBlock, 0, len(blocks))
	listed := map[string]bool{}
	for _, b := range blocks {
		if listed[b.ExternalID] {
			continue // one statement cannot write a row twice
		}
		listed[b.ExternalID] = true
		b.Source, b.At = source, booking.Clock{At: ticket, Key: "read"}
		told = append(told, booking.ToldBlock{Block: b, ConnectionID: connection})
	}
	return s.inTrips(ctx, func(tx *transaction) error { //nolint:contextcheck // trips have the transaction's
		// In line with the sets, which write the same table.
		if _, err := lockLedger(tx); err != nil {
			return err
		}
		t := tx.trip()
		saveBlocks(t, told, ticket)
		t.write(-1, "remove blocks that are no longer listed",
			`DELETE FROM unavailable WHERE connection_id = ? AND receipt_id IS NULL AND seen_at < ?
				AND ends_at > ? AND starts_at < ? AND starts_at > ?`,
			connection, at(ticket).t, at(from).t, at(to).t, at(from.Add(-booking.MaxLength)).t)
		return t.make()
	})
}

const blockColumns = `external_id, provider, api_base, host_external_id, host_email, starts_at, ends_at, note, told, connection_id, resource_id`

// Blocks are those that overlap [from, to), in order of their beginning: of the
// resources, or with none all, mapped to one or not. Long ones are read apart, so
// that both reads are searches of an index that history does not lengthen.
func (s *Store) Blocks(ctx context.Context, from, to time.Time, resources []uuid.UUID) ([]booking.BlockView, error) {
	short := "SELECT " + blockColumns + " FROM unavailable_resources WHERE NOT long AND starts_at > ? AND starts_at < ? AND ends_at > ?"
	long := "SELECT " + blockColumns + " FROM unavailable_resources WHERE long AND ends_at > ? AND starts_at < ?"
	shortArgs := []any{at(from.Add(-booking.LongBlock).Add(-time.Microsecond)), at(to), at(from)}
	longArgs := []any{at(from), at(to)}
	if len(resources) > 0 {
		short, shortArgs = short+" AND resource_id IN ?", append(shortArgs, resources)
		long, longArgs = long+" AND resource_id IN ?", append(longArgs, resources)
	}
	var rows []blockViewRow
	err := s.reader(ctx).Raw(short+" UNION ALL "+long+" ORDER BY starts_at, provider, external_id, api_base", append(shortArgs, longArgs...)...).Scan(&rows).Error
	return rowsOf(rows, blockViewRow.toDomain), classify(err)
}
