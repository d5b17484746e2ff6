package auditfile_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/auditfile"
)

var (
	noon     = time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.FixedZone("WIB", 7*60*60))
	room     = uuid.MustParse("01890000-0000-7000-8000-000000000010")
	unnamed  = uuid.MustParse("01890000-0000-7000-8000-000000000011")
	account  = uuid.MustParse("01890000-0000-7000-8000-000000000001")
	theirs   = uuid.MustParse("01890000-0000-7000-8000-000000000021")
	received = uuid.MustParse("01890000-0000-7000-8000-000000000040")
	names    = auditfile.Names{Resources: map[uuid.UUID]string{room: "Consulting room"}, Connections: map[uuid.UUID]string{account: "Clinic"}}
)

func refused(title, invitee string) booking.TransitionView {
	return booking.TransitionView{
		Transition: booking.Transition{
			Seq: 7, ID: uuid.MustParse("01890000-0000-7000-8000-000000000060"), BookingID: theirs, ReceiptID: received, Event: booking.Create,
			From: booking.Canceled, To: booking.Canceled, Outcome: booking.Rejected, Reason: booking.ReasonIllegal, Actor: booking.ActorWebhook,
			OccurredAt: noon.Add(-time.Minute), RecordedAt: noon,
		},
		Provider: "calendly", Title: title, Invitee: invitee, ResourceIDs: []uuid.UUID{room, unnamed}, ReceiptKind: booking.KindCreated, ConnectionID: account,
	}
}

// pages reads a list in pages as the store does.
func pages(all ...booking.TransitionView) func(context.Context, booking.Filter, booking.Page) (booking.List[booking.TransitionView], error) {
	return func(_ context.Context, _ booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error) {
		from, _ := strconv.Atoi(p.Cursor)
		to := min(from+p.Limit, len(all))
		out := booking.List[booking.TransitionView]{Items: all[from:to]}
		if to < len(all) {
			out.Next = strconv.Itoa(to)
		}
		return out, nil
	}
}

func write(t *testing.T, f auditfile.Format, all ...booking.TransitionView) string {
	t.Helper()
	var b bytes.Buffer
	n, err := auditfile.Write(t.Context(), &b, auditfile.Export{Format: f, Names: names, Transitions: pages(all...)})
	if err != nil || n != len(all) {
		t.Fatalf("%d of %d rows: %v", n, len(all), err)
	}
	return b.String()
}

func TestCSV(t *testing.T) {
	t.Parallel()
	got := write(t, auditfile.CSV, refused(`Intake, "first"`, "Rani\nWijaya"), booking.TransitionView{})
	header, rest, _ := strings.Cut(got, "\r\n")
	if header != "seq,id,recorded_at,occurred_at,outcome,event,from,to,reason,booking_id,title,invitee,resource_ids,resources,provider,"+
		"connection_id,connection,kind,receipt_id,holder_id,constraint,actor,hash,note" {
		t.Errorf("header %q", header)
	}
	first := "7,01890000-0000-7000-8000-000000000060,2026-11-30T05:00:00.123456Z,2026-11-30T04:59:00.123456Z,rejected,create,canceled,canceled," +
		"illegal_transition," + theirs.String() + `,"Intake, ""first""","Rani` + "\r\n" + `Wijaya",` + room.String() + "; " + unnamed.String() +
		",Consulting room; " + unnamed.String() + ",calendly," + account.String() + ",Clinic,invitee.created," + received.String() + ",,,webhook," +
		strings.Repeat("0", 64) + ",\r\n"
	if !strings.HasPrefix(rest, first) {
		t.Errorf("row\n%q\nwant\n%q", rest, first)
	}
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil || len(rows) != 3 || len(rows[2]) != len(rows[0]) {
		t.Errorf("%d rows: %v", len(rows), err)
	}
}

// A file without any transition says what its columns would be.
func TestEmpty(t *testing.T) {
	t.Parallel()
	if got := write(t, auditfile.CSV); strings.Count(got, "\r\n") != 1 {
		t.Errorf("CSV %q", got)
	}
	if got := write(t, auditfile.JSONL); got != "" {
		t.Errorf("JSON lines %q", got)
	}
}

func TestFormulas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"=1+1", "'=1+1"},
		{`=HYPERLINK("http://evil.example","x")`, `'=HYPERLINK("http://evil.example","x")`},
		{"+6281234567890", "'+6281234567890"},
		{"-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"\t=1+1", "'\t=1+1"},
		{"\r=1+1", "'\r=1+1"},
		{"\tplain", "'\tplain"},
		{"  =1+1", "'  =1+1"},
		{"\u202e=1+1", "\uFFFD=1+1"},
		{"\x00=1+1", "\uFFFD=1+1"},
		{"＝1+1", "'＝1+1"},
		{"＠SUM", "'＠SUM"},
		{"Rani =1", "Rani =1"},
		{"O'Brien", "O'Brien"},
		{"'quoted", "'quoted"},
		{"🙂", "🙂"},
		{" ", " "},
		{"<b>bold</b>", "<b>bold</b>"},
	} {
		rows, err := csv.NewReader(strings.NewReader(write(t, auditfile.CSV, refused(c.text, c.text)))).ReadAll()
		if err != nil {
			t.Fatalf("%q: %v", c.text, err)
		}
		for _, column := range []string{"title", "invitee"} {
			if got := rows[1][slices.Index(rows[0], column)]; got != c.want && got != strings.ReplaceAll(c.want, "\r", "") {
				t.Errorf("%s of %q is %q, want %q", column, c.text, got, c.want)
			}
		}
	}
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	got := write(t, auditfile.JSONL, refused("<script>\x00\u2028", "=1+1"), booking.TransitionView{})
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 2 || strings.ContainsAny(got, "<\x00\u2028") {
		t.Fatalf("lines %q", lines)
	}
	var first, second map[string]any
	if err := errors.Join(json.Unmarshal([]byte(lines[0]), &first), json.Unmarshal([]byte(lines[1]), &second)); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"seq": 7.0, "recorded_at": "2026-11-30T05:00:00.123456Z", "outcome": "rejected", "reason": "illegal_transition",
		"title": "<script>\x00\u2028", "invitee": "=1+1", "connection": "Clinic", "holder_id": nil,
	} {
		if first[key] != want {
			t.Errorf("%s is %v, want %v", key, first[key], want)
		}
	}
	for _, key := range []string{"from", "to", "reason", "title", "invitee", "connection_id", "connection", "kind", "receipt_id"} {
		if v, stands := second[key]; !stands || v != nil {
			t.Errorf("%s of nothing is %v (%v)", key, v, stands)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	t.Parallel()
	if _, err := auditfile.Write(t.Context(), io.Discard, auditfile.Export{Format: "xlsx"}); !errors.Is(err, auditfile.ErrFormat) {
		t.Errorf("gives %v", err)
	}
}

// endless gives pages of the same rows, up to so many, and looks at the heap as
// it goes.
type endless struct {
	page  []booking.TransitionView
	left  int
	reads int
	peak  uint64
}

func (e *endless) read(_ context.Context, _ booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error) {
	e.reads++
	if e.reads%50 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		e.peak = max(e.peak, m.HeapAlloc)
	}
	n := min(p.Limit, e.left)
	e.left -= n
	out := booking.List[booking.TransitionView]{Items: e.page[:n]}
	if e.left > 0 {
		out.Next = "more"
	}
	return out, nil
}

// The heap does not grow with the file. Not in parallel: others would count.
func TestFlatMemory(t *testing.T) {
	for _, f := range auditfile.Formats() {
		e := &endless{page: make([]booking.TransitionView, booking.MaxLimit), left: 50_000}
		for i := range e.page {
			e.page[i] = refused("Intake "+fmt.Sprint(i), strings.Repeat("x", 200))
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		n, err := auditfile.Write(t.Context(), io.Discard, auditfile.Export{Format: f, Names: names, Transitions: e.read})
		if err != nil || n != 50_000 {
			t.Fatalf("%s: %d rows: %v", f, n, err)
		}
		if e.peak > m.HeapAlloc+1<<20 {
			t.Errorf("%s: the heap grew from %d to %d bytes", f, m.HeapAlloc, e.peak)
		}
	}
}

var errLeft = errors.New("the reader left")

type gone struct{ after int }

func (g *gone) Write(p []byte) (int, error) {
	if g.after -= len(p); g.after < 0 {
		return 0, errLeft
	}
	return len(p), nil
}

// Whoever left is not written to for the rest of the log.
func TestReaderLeaves(t *testing.T) {
	t.Parallel()
	for _, f := range auditfile.Formats() {
		e := &endless{page: slices.Repeat([]booking.TransitionView{refused("Intake", "Rani")}, booking.MaxLimit), left: 50_000}
		if _, err := auditfile.Write(t.Context(), &gone{100_000}, auditfile.Export{Format: f, Transitions: e.read}); !errors.Is(err, errLeft) || e.reads > 3 {
			t.Errorf("%s: %d reads, %v", f, e.reads, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		e.left, e.reads = 50_000, 0
		_, err := auditfile.Write(ctx, io.Discard, auditfile.Export{Format: f, Transitions: e.read, Flushed: func() error {
			cancel()
			return nil
		}})
		if !errors.Is(err, context.Canceled) || e.reads != 1 {
			t.Errorf("%s: %d reads after the end, %v", f, e.reads, err)
		}
		e.left = 50_000
		_, err = auditfile.Write(t.Context(), io.Discard, auditfile.Export{Format: f, Transitions: e.read, Flushed: func() error { return errLeft }})
		if !errors.Is(err, errLeft) {
			t.Errorf("%s: not sent on gives %v", f, err)
		}
	}
}
