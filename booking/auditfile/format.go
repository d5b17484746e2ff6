package auditfile

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

type writer interface {
	write(l line) error
	flush() error
}

// line is what a line of a file says: as it is in JSON, or in the cells of its header.
type line interface{ cells() []string }

func newWriter(w io.Writer, f Format, header []string) (writer, error) {
	switch f {
	case CSV:
		out := csv.NewWriter(w)
		out.UseCRLF = true // RFC 4180
		return &csvWriter{w: out}, out.Write(header)
	case JSONL:
		return jsonWriter{w}, nil
	}
	return nil, ErrFormat
}

// jsonWriter writes a value a line. The encoder escapes what a page would take for
// markup, and every control character; what turns a text's direction is escaped
// besides, since people look at the file in a terminal.
type jsonWriter struct{ w io.Writer }

func (j jsonWriter) write(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	for _, d := range booking.Directions() {
		text = bytes.ReplaceAll(text, []byte(d), []byte(strings.Trim(strconv.QuoteToASCII(d), `"`)))
	}
	_, err = j.w.Write(append(text, '\n'))
	return err
}

func (jsonWriter) flush() error { return nil }

var header = []string{
	"seq", "id", "recorded_at", "occurred_at", "outcome", "event", "from", "to", "reason", "booking_id", "title", "invitee",
	"resource_ids", "resources", "provider", "connection_id", "connection", "kind", "receipt_id", "holder_id", "constraint", "actor", "hash", "note",
}

// listSeparator stands between the several values of one cell.
const listSeparator = "; "

func (r row) cells() []string {
	resources := make([]string, len(r.ResourceIDs))
	for i, id := range r.ResourceIDs {
		resources[i] = id.String()
	}
	return []string{
		strconv.FormatInt(r.Seq, 10), r.ID.String(), r.RecordedAt, r.OccurredAt, string(r.Outcome), string(r.Event),
		text(r.From), text(r.To), text(r.Reason), r.BookingID.String(), text(r.Title), text(r.Invitee),
		strings.Join(resources, listSeparator), strings.Join(r.Resources, listSeparator), r.Provider, idText(r.ConnectionID), text(r.Connection),
		text(r.Kind), idText(r.ReceiptID), idText(r.HolderID), text(r.Constraint), string(r.Actor), r.Hash, text(r.Note),
	}
}

type csvWriter struct{ w *csv.Writer }

func (c *csvWriter) write(l line) error {
	cells := l.cells()
	for i, cell := range cells {
		cells[i] = harmless(cell)
	}
	return c.w.Write(cells)
}

func (c *csvWriter) flush() error {
	c.w.Flush()
	return c.w.Error()
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func idText(id *uuid.UUID) string {
	if id == nil {
		return ""
	}
	return id.String()
}

// Programs that open CSV run a cell as a formula when it begins with one of
// these, in some locales also in full width.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// harmless keeps a cell from being taken for a formula: an apostrophe before it
// makes it text. Space and invisible characters before the formula's first are
// looked through, since some programs drop them. NULs, which some programs take
// for the end of the text, are shown as U+FFFD, as is what would turn the direction
// of the cells beside it.
func harmless(cell string) string {
	cell = booking.Straight(strings.ReplaceAll(cell, "\x00", "\uFFFD"))
	if cell == "" {
		return cell
	}
	rest := strings.TrimLeftFunc(cell, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.IsControl(r)
	})
	first, _ := utf8.DecodeRuneInString(rest)
	if strings.ContainsAny(cell[:1], "\t\r\n") || rest != "" && strings.ContainsRune(formulaStarts, first) {
		return "'" + cell
	}
	return cell
}
