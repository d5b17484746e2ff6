package web_test

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

func TestAuditExport(t *testing.T) {
	t.Parallel()
	r := full()
	r.transitions[0].Invitee, r.transitions[0].Title = "=cmd|' /C calc'!A0", "\u202e<b>bold</b>\x00🙂"
	w := newWorld(t, r, nil)
	browser := w.user(t, "budi", access.Operator)
	page := w.get(t, browser, "/audit?show=all&provider=calendly&q=i").body
	has(t, "links", page, `href="/audit/export.csv?provider=calendly&amp;q=i&amp;show=all"`, `href="/audit/export.jsonl?provider=calendly&amp;q=i&amp;show=all"`)

	w.store.forget()
	res := w.get(t, browser, "/audit/export.csv?show=all")
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/csv; charset=utf-8; header=present" {
		t.Fatalf("%d %s", res.StatusCode, got)
	}
	if got := res.Header.Get("Content-Disposition"); got != `attachment; filename="audit-20261130-050000.csv"` {
		t.Errorf("disposition %s", got)
	}
	rows, err := csv.NewReader(strings.NewReader(res.body)).ReadAll()
	if err != nil || len(rows) != len(r.transitions)+1 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	if line := rows[1]; line[2] != "2026-11-30T04:50:00.000000Z" || line[10] != "\uFFFD<b>bold</b>\uFFFD🙂" || line[11] != "'=cmd|' /C calc'!A0" || line[13] != "Consulting room" {
		t.Errorf("row %q", line)
	}
	if strings.Contains(res.body, "someone@example.com") {
		t.Error("there is more of a person than the page shows")
	}
	log := w.store.entries()
	if len(log) != 1 || log[0].Action != access.DidExportAudit || log[0].Detail["format"] != "csv" || log[0].Detail["from"] != "2026-11-23T05:00:00.000000Z" {
		t.Errorf("the log has %+v", log)
	}

	res = w.get(t, browser, "/audit/export.jsonl?reason=stale&q=rani")
	var line map[string]any
	if err := json.Unmarshal([]byte(res.body), &line); err != nil || line["reason"] != "stale" || strings.Count(res.body, "\n") != 1 {
		t.Errorf("%q: %v", res.body, err)
	}
	if got := w.logged(); got.Detail["reason"] != "stale" || got.Detail["text"] != "given" {
		t.Errorf("the log has %+v", got)
	}
	for _, bad := range []string{"/audit/export.csv?from=soon", "/audit/export.csv?booking=mine"} {
		if res := w.get(t, browser, bad); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s gives %d", bad, res.StatusCode)
		}
	}
}

// The log of accounts and actions is exported as it is filtered, for who reads it; the
// file begins with that it was made.
func TestAdminLogExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "budi", access.Operator)
	actor := access.User{ID: w.userNamed(t, "budi").ID}.Principal().Actor()
	deeds := []access.Entry{
		{Action: access.DidRenameResource, Subject: "resource:" + id(10).String(), Detail: access.Facts{"name": "=1+1\u202e"}},
		{Action: access.DidAcceptOverlap, Subject: "booking:" + id(22).String(), Detail: access.Facts{"reason": "=cmd|' /C calc'!A0"}},
		{Action: access.DidFailSignIn, Subject: "=odd"},
	}
	for _, e := range deeds {
		if err := w.accounts.Note(t.Context(), access.By{Actor: actor, Remote: "192.0.2.7"}, e.Action, e.Subject, e.Detail); err != nil {
			t.Fatal(err)
		}
	}
	has(t, "the page", w.get(t, browser, "/audit?view=admin&range=30d").body, `href="/audit/export.csv?range=30d&amp;view=admin"`, `href="/audit/export.jsonl?range=30d&amp;view=admin"`)
	res := w.get(t, browser, "/audit/export.csv?view=admin")
	if got := res.Header.Get("Content-Disposition"); res.StatusCode != http.StatusOK || got != `attachment; filename="actions-20261130-050000.csv"` {
		t.Fatalf("%d %s", res.StatusCode, got)
	}
	rows, err := csv.NewReader(strings.NewReader(res.body)).ReadAll()
	if err != nil || strings.Join(rows[0], " ") != "seq at actor actor_name action subject subject_name facts remote" {
		t.Fatalf("%q: %v", rows, err)
	}
	if first := rows[1]; first[4] != access.DidExportAdminLog || first[3] != "budi" || first[7] != `{"format":"csv","from":"2026-11-23T05:00:00.000000Z"}` {
		t.Errorf("the first line is %q", first)
	}
	if odd := rows[2]; odd[5] != "'=odd" {
		t.Errorf("a formula stands in %q", odd)
	}
	if named := rows[4]; named[6] != "Consulting room" || named[7] != "{\"name\":\"=1+1\uFFFD\"}" || named[8] != "192.0.2.7" {
		t.Errorf("a resource was renamed: %q", named)
	}
	res = w.get(t, browser, "/audit/export.jsonl?view=admin&action="+access.DidAcceptOverlap+"&actor="+string(actor))
	var line struct {
		Actor, Action, Subject string
		SubjectName            *string `json:"subject_name"`
		Facts                  map[string]string
	}
	if err := json.Unmarshal([]byte(res.body), &line); err != nil || line.Action != access.DidAcceptOverlap || line.SubjectName != nil || line.Facts["reason"] != "=cmd|' /C calc'!A0" {
		t.Errorf("%q: %v", res.body, err)
	}
	if got := w.logged(); got.Action != access.DidExportAdminLog || got.Detail["action"] != access.DidAcceptOverlap || got.Detail["actor"] != string(actor) {
		t.Errorf("the log has %+v", got)
	}
	if res := w.get(t, browser, "/audit/export.csv?view=admin&from=soon"); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("no day gives %d", res.StatusCode)
	}
}

func (w *world) logged() access.Entry { return w.store.logged() }

func TestAuditExportIsForOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	for _, path := range []string{"/audit/export.csv", "/audit/export.jsonl", "/audit/export.csv?view=admin"} {
		if res := w.get(t, w.browser(t), path); res.StatusCode != http.StatusSeeOther {
			t.Errorf("nobody gets %d", res.StatusCode)
		}
	}
	for role, status := range map[access.Role]int{access.Viewer: http.StatusForbidden, access.Operator: http.StatusOK, access.Administrator: http.StatusOK} {
		browser := w.user(t, string(role), role)
		for _, path := range []string{"/audit/export.csv", "/audit/export.jsonl", "/audit/export.csv?view=admin", "/audit/export.jsonl?view=admin"} {
			w.store.forget()
			if res := w.get(t, browser, path); res.StatusCode != status || (len(w.store.entries()) == 1) != (status == http.StatusOK) {
				t.Errorf("%s gets %d for %s, logged %d", role, res.StatusCode, path, len(w.store.entries()))
			}
		}
		if led := strings.Contains(w.get(t, browser, "/audit").body, "/audit/export.csv"); led != (status == http.StatusOK) {
			t.Errorf("%s is led to the export: %v", role, led)
		}
	}
}

// long is an audit log of many rows, made as they are read.
type long struct {
	*records
	rows  int
	reads atomic.Int64
	fails int // read of this number fails
	peak  atomic.Uint64
}

func (l *long) Transitions(ctx context.Context, _ booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error) {
	n := int(l.reads.Add(1))
	if l.fails == n {
		return booking.List[booking.TransitionView]{}, booking.ErrUnavailable
	}
	if n%50 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		l.peak.Store(max(l.peak.Load(), m.HeapAlloc))
	}
	out := booking.List[booking.TransitionView]{Items: make([]booking.TransitionView, p.Limit)}
	for i := range out.Items {
		out.Items[i] = l.transitions[i%len(l.transitions)]
		out.Items[i].ID = uuid.Nil
	}
	if n*p.Limit < l.rows {
		out.Next = "more"
	}
	return out, ctx.Err()
}

func longWorld(t *testing.T, l *long) (*world, *http.Client) {
	t.Helper()
	w := newWorld(t, l.records, nil, func(d *web.Deps) { d.Records = l })
	browser := w.user(t, "budi", access.Operator)
	return w, browser
}

// A file of 50,000 rows is whole although the server gives an answer less time
// than it takes, and needs no more memory than a short one. Not in parallel:
// others would count.
func TestLongExport(t *testing.T) {
	l := &long{records: full(), rows: 50_000}
	w, browser := longWorld(t, l)
	hasty := httptest.NewUnstartedServer(w.Config.Handler)
	hasty.Config.WriteTimeout = time.Millisecond
	hasty.Start()
	defer hasty.Close()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := w.request(t, http.MethodGet, "/audit/export.jsonl?show=all&range=all", nil)
	r.URL.Host = strings.TrimPrefix(hasty.URL, "http://") // the cookie is of the same host
	res, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := 0
	for in := bufio.NewScanner(res.Body); in.Scan(); lines++ {
		if !strings.HasSuffix(in.Text(), "}") {
			t.Fatalf("line %d is cut: %q", lines, in.Text())
		}
	}
	if lines != 50_000 {
		t.Errorf("%d lines", lines)
	}
	if peak := l.peak.Load(); peak > m.HeapAlloc+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", m.HeapAlloc, peak)
	}
}

// Whoever leaves ends the reading.
func TestExportReaderLeaves(t *testing.T) {
	t.Parallel()
	l := &long{records: full(), rows: 1 << 40}
	w, browser := longWorld(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	res, err := browser.Do(w.request(t, http.MethodGet, "/audit/export.csv?show=all", nil).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, res.Body, 100_000); err != nil {
		t.Fatal(err)
	}
	cancel()
	res.Body.Close()
	w.Close() // returns when the export has ended
	if !strings.Contains(w.logs.String(), "audit export cut") {
		t.Error("the log does not say that the export was cut")
	}
}

// A file that could not be read to its end does not look whole.
func TestExportFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	w, browser := longWorld(t, &long{records: full(), rows: 10_000, fails: 3})
	res, err := browser.Do(w.request(t, http.MethodGet, "/audit/export.csv?show=all", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Errorf("%d bytes look whole", n)
	}
	w, browser = longWorld(t, &long{records: full(), rows: 10_000, fails: 1})
	if res := w.get(t, browser, "/audit/export.csv?show=all"); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(res.Header.Get("Content-Type"), "csv") {
		t.Errorf("nothing read gives %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
}
