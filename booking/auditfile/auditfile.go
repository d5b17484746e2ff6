// Package auditfile writes the audit log, and the log of what people did here, as a
// file: CSV for spreadsheets, JSON lines for programs. The audit page and the command
// "audit export" write the same file. It is streamed page by page, so that it may be of
// any length.
package auditfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Format of a file.
type Format string

// The formats.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
)

// Formats are all formats.
func Formats() []Format { return []Format{CSV, JSONL} }

// ErrFormat says that a format is none of Formats.
var ErrFormat = errors.New("a format is csv or jsonl")

// MediaType of the file.
func (f Format) MediaType() string {
	if f == CSV {
		return "text/csv; charset=utf-8; header=present"
	}
	return "application/jsonl; charset=utf-8"
}

// Names is what ids are called; an id without a name stands for itself.
type Names struct {
	Resources   map[uuid.UUID]string
	Connections map[uuid.UUID]string
}

// Export is what to write.
type Export struct {
	Format Format
	Filter booking.Filter
	Names  Names
	// Transitions reads a page, newest first; the store's.
	Transitions func(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error)
	// Flushed is called when a page was written: w may send it on. An error ends
	// the export. nil does nothing.
	Flushed func() error
}

// row is a transition as the file tells it: what the audit page shows, and
// nothing of a person beyond that. Null is what is not known.
type row struct {
	Seq          int64           `json:"seq"`
	ID           uuid.UUID       `json:"id"`
	RecordedAt   string          `json:"recorded_at"`
	OccurredAt   string          `json:"occurred_at"`
	Outcome      booking.Outcome `json:"outcome"`
	Event        booking.Action  `json:"event"`
	From         *string         `json:"from"`
	To           *string         `json:"to"`
	Reason       *string         `json:"reason"`
	BookingID    uuid.UUID       `json:"booking_id"`
	Title        *string         `json:"title"`
	Invitee      *string         `json:"invitee"`
	ResourceIDs  []uuid.UUID     `json:"resource_ids"`
	Resources    []string        `json:"resources"`
	Provider     string          `json:"provider"`
	ConnectionID *uuid.UUID      `json:"connection_id"`
	Connection   *string         `json:"connection"`
	Kind         *string         `json:"kind"`
	ReceiptID    *uuid.UUID      `json:"receipt_id"`
	HolderID     *uuid.UUID      `json:"holder_id"`
	Constraint   *string         `json:"constraint"`
	Actor        booking.Actor   `json:"actor"`
	Hash         string          `json:"hash"`
	Note         *string         `json:"note"`
}

// Write writes the file and says how many transitions stand in it. What it holds
// at once is a page, however long the file. A reader that left ends it with an
// error, as ctx does.
func Write(ctx context.Context, w io.Writer, e Export) (int, error) {
	out, err := newWriter(w, e.Format, header)
	if err != nil {
		return 0, err
	}
	read := func(ctx context.Context, p booking.Page) (booking.List[booking.TransitionView], error) {
		return e.Transitions(ctx, e.Filter, p)
	}
	return stream(ctx, out, read, func(t booking.TransitionView) line { return e.row(t) }, e.Flushed)
}

// stream writes what is read, page by page.
func stream[T any](
	ctx context.Context, out writer, read func(context.Context, booking.Page) (booking.List[T], error), lineOf func(T) line, flushed func() error,
) (int, error) {
	n := 0
	page := booking.Page{Limit: booking.MaxLimit}
	for {
		if err := ctx.Err(); err != nil {
			return n, fmt.Errorf("audit file: %w", err)
		}
		list, err := read(ctx, page)
		if err != nil {
			return n, fmt.Errorf("audit file: read: %w", err)
		}
		for _, item := range list.Items {
			if err := out.write(lineOf(item)); err != nil {
				return n, fmt.Errorf("audit file: write: %w", err)
			}
			n++
		}
		if err := out.flush(); err != nil {
			return n, fmt.Errorf("audit file: write: %w", err)
		}
		if flushed != nil {
			if err := flushed(); err != nil {
				return n, fmt.Errorf("audit file: write: %w", err)
			}
		}
		if list.Next == "" {
			return n, nil
		}
		page.Cursor = list.Next
	}
}

func (e Export) row(t booking.TransitionView) row {
	r := row{
		Seq: t.Seq, ID: t.ID, RecordedAt: instant(t.RecordedAt), OccurredAt: instant(t.OccurredAt), Outcome: t.Outcome, Event: t.Event,
		From: orNull(string(t.From)), To: orNull(string(t.To)), Reason: orNull(string(t.Reason)),
		BookingID: t.BookingID, Title: orNull(t.Title), Invitee: orNull(t.Invitee), ResourceIDs: []uuid.UUID{}, Resources: []string{},
		Provider: t.Provider, Kind: orNull(string(t.ReceiptKind)), HolderID: t.HolderID, Constraint: orNull(t.Constraint), Actor: t.Actor,
		Hash: fmt.Sprintf("%x", t.Hash), Note: orNull(t.Note),
	}
	for _, id := range t.ResourceIDs {
		r.ResourceIDs = append(r.ResourceIDs, id)
		r.Resources = append(r.Resources, nameOf(e.Names.Resources, id))
	}
	if t.ConnectionID != uuid.Nil {
		name := nameOf(e.Names.Connections, t.ConnectionID)
		r.ConnectionID, r.Connection = &t.ConnectionID, &name
	}
	if t.ReceiptID != uuid.Nil {
		r.ReceiptID = &t.ReceiptID
	}
	return r
}

func nameOf(names map[uuid.UUID]string, id uuid.UUID) string {
	if name := names[id]; name != "" {
		return name
	}
	return id.String()
}

// instant is UTC with all that the database keeps, in a width that sorts.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// detail are the facts of an export: its format, the time that it is about, and those
// texts that say something.
func detail(format Format, from, to *time.Time, texts map[access.Fact]string) access.Facts {
	out := access.Facts{"format": string(format)}
	for name, at := range map[access.Fact]*time.Time{"from": from, "to": to} {
		if at != nil {
			out[name] = instant(*at)
		}
	}
	for name, text := range texts {
		if text != "" {
			out[name] = text
		}
	}
	return out
}

// Detail is what the admin log keeps of an export: its format, and by what it was
// filtered. Of a text only that there was one: it may name a person.
func Detail(format Format, f booking.Filter) (out access.Facts) {
	out = detail(format, f.From, f.To, map[access.Fact]string{
		"outcome": string(f.Outcome), "reason": string(f.Reason), "provider": f.Provider, "actor": f.Actor,
	})
	for name, id := range map[access.Fact]*uuid.UUID{"booking_id": f.BookingID, "connection_id": f.ConnectionID, "resource_id": f.ResourceID} {
		if id != nil {
			out[name] = id.String()
		}
	}
	if f.Text != "" {
		out["text"] = "given"
	}
	if f.Troubled {
		out["show"] = "troubled"
	}
	return out
}
