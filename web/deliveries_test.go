package web_test

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// CountReceipts counts what the store would.
func (r *records) CountReceipts(_ context.Context, f booking.CountFilter, _ time.Time) (booking.ReceiptCounts, error) {
	out := booking.ReceiptCounts{Parts: make([]map[booking.ReceiptStatus]int, len(f.Parts))}
	for i := range out.Parts {
		out.Parts[i] = map[booking.ReceiptStatus]int{}
	}
	for _, v := range r.receipts {
		if f.ConnectionID != nil && *f.ConnectionID != v.ConnectionID || f.Provider != "" && f.Provider != v.Provider {
			continue
		}
		counts := map[booking.ReceiptStatus]int{v.Status: 1}
		if v.Deliveries > 1 {
			counts[booking.StatusDuplicate] = v.Deliveries - 1
		}
		for status, n := range counts {
			if !v.ReceivedAt.Before(f.From) && v.ReceivedAt.Before(f.To) {
				out.Of = append(out.Of, booking.ReceiptCount{ConnectionID: v.ConnectionID, Kind: v.Kind, Told: v.Deliveries > 0, Status: status, Count: n})
			}
			for i, p := range f.Parts {
				if !v.ReceivedAt.Before(p.From) && v.ReceivedAt.Before(p.To) {
					out.Parts[i][status] += n
				}
			}
		}
	}
	slices.SortFunc(out.Of, func(a, b booking.ReceiptCount) int { return cmp.Compare(a.Status, b.Status) })
	return out, nil
}

func TestConnectionThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/connections")
	desk := section(t, res.body, "Front desk</a> <small>", "</li>")
	has(t, "failing", desk, "The last 2 deliveries failed", `href="/deliveries?connection=`+id(2).String()+`&amp;status=failed"`)
	if strings.Contains(desk, "health is-working") {
		t.Error("a connection that fails is green")
	}
	if off := section(t, res.body, "Old desk</a> <small>", "</li>"); strings.Contains(off, "failed") {
		t.Error("a connection that was disconnected warns")
	}
	has(t, "good", section(t, res.body, "Clinic</a> <small>", "</li>"), "health is-working", "Last delivery")
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	list := w.get(t, w.user(t, "ayu", access.Viewer), "/deliveries").body
	has(t, "list", list,
		`<a href="/bookings/`+id(21).String()+`">Intake call</a><span class="who">Rani Wijaya</span>`,
		`<a href="/deliveries/`+id(40).String()+`">Booking created</a>`,
		`<a href="/deliveries/`+id(41).String()+`">2 bookings</a>`)

	for role, sees := range map[access.Role]bool{access.Viewer: false, access.Operator: true} {
		w := newWorld(t, full(), nil)
		browser := w.user(t, "ayu", role)
		closed := w.get(t, browser, "/deliveries/"+id(40).String())
		if strings.Contains(closed.body, "[redacted]") || strings.Contains(closed.body, `href="?body=1#body"`) != sees {
			t.Errorf("%s: the body is shown unasked, or can be asked for: %t", role, !sees)
		}
		res := w.get(t, browser, "/deliveries/"+id(40).String()+"?body=1")
		wholesome(t, res, "en")
		has(t, string(role), res.body, `<a href="/bookings/`+id(21).String()+`">Intake call · Rani Wijaya</a>`, `<a href="/audit/`+id(60).String()+`">`)
		if strings.Contains(res.body, "[redacted]") != sees || strings.Contains(res.body, "Operators also see") == sees {
			t.Errorf("%s: the body is shown: %t", role, !sees)
		}
		has(t, "of several", w.get(t, browser, "/deliveries/"+id(41).String()).body, "Prenatal class", "Siti Rahma", "A time is missing, so the booking has no place in the calendar.", "time_missing", "Nothing.")
		has(t, "of none", w.get(t, browser, "/deliveries/"+id(43).String()).body, "no booking is known")
		for _, path := range []string{"/deliveries/none", "/deliveries/" + id(200).String()} {
			if res := w.get(t, browser, path); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s gives %d", path, res.StatusCode)
			}
		}
	}
}

// The numbers of the dashboard lead to the deliveries that they count.
func TestDeliveriesBoard(t *testing.T) {
	t.Parallel()
	r := full()
	r.receipts[3].Kind = "OOO_CREATED"
	r.receipts = append(r.receipts, booking.ReceiptView{
		ID: id(44), Provider: "calendly", ConnectionID: id(1), Kind: booking.KindCreated, Status: booking.StatusProcessed, ReceivedAt: noon.Add(-3 * time.Hour),
	}, booking.ReceiptView{
		ID: id(45), Provider: "calendly", ConnectionID: id(1), Kind: "FOO_BAR", Status: booking.StatusIgnored, Deliveries: 1, ReceivedAt: noon.Add(-49 * time.Hour),
	})
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	for _, lang := range []string{"en", "id"} {
		for _, path := range []string{"/deliveries", "/deliveries?range=30d", "/deliveries?range=all&connection=" + id(1).String(), "/deliveries?range=today&kind=FOO_BAR"} {
			wholesome(t, w.get(t, browser, path, "Accept-Language", lang), lang)
		}
	}
	day := w.get(t, browser, "/deliveries").body
	board := section(t, day, `<table class="board">`, "</table>")
	has(t, "board", board, "Out of office", "Read in", "Nothing came in this time.",
		`<a href="/deliveries?connection=`+id(1).String()+`&amp;kind=invitee.created&amp;range=24h&amp;status=conflict#list" class="bad">`)
	if strings.Contains(board, "FOO_BAR") || strings.Contains(board, "Old desk") {
		t.Error("the board shows what came before, or an account that ended in silence")
	}
	has(t, "list", day, ">read in<")
	has(t, "month", w.get(t, browser, "/deliveries?range=30d").body, "Other event (FOO_BAR)")
	chart := section(t, day, `<svg class="chart"`, "</svg>")
	has(t, "chart", chart, `viewBox="0 0 640 200"`, `class="stroke-none fill-series-0"`, "fill-series-1", "fill-series-2", "fill-series-3", "fill-series-4", "fill-text")
	for _, bad := range []string{"style", "script", "rgb(", "<style", "font-family", " on"} {
		if strings.Contains(chart, bad) {
			t.Errorf("the chart has %s", bad)
		}
	}
	for _, bad := range []string{"connection=mine", "cursor=nonsense"} {
		res := w.get(t, browser, "/deliveries?"+bad)
		if res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%q gives %d", bad, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	// Of all time the numbers are the last month's, and so are the lists that they lead to.
	r.receipts = append(r.receipts, booking.ReceiptView{
		ID: id(46), Provider: "calendly", ConnectionID: id(1), Kind: booking.KindMoved, Status: booking.StatusFailed, Deliveries: 1, ReceivedAt: noon.Add(-40 * 24 * time.Hour),
	})
	all := w.get(t, browser, "/deliveries?range=all").body
	has(t, "all", all, "in the last 30 days, since", `<a href="/deliveries/`+id(46).String()+`">Booking moved</a>`)
	has(t, "all", section(t, all, `<table class="board">`, "</table>"),
		`<a href="/deliveries?connection=`+id(1).String()+`&amp;kind=booking.moved&amp;range=30d&amp;status=failed#list" class="bad"><span aria-hidden="true">⚠</span> 1</a>`)
	for query, want := range map[string]string{
		"range=today&status=dead": "Nothing fits in this period", "range=all&status=dead": "Nothing fits these filters", "status=dead": "Nothing fits these filters",
	} {
		if body := w.get(t, browser, "/deliveries?"+query).body; !strings.Contains(body, want) {
			t.Errorf("%q does not say %q", query, want)
		}
	}
	empty := newWorld(t, &records{}, nil)
	res := empty.get(t, empty.user(t, "ayu", access.Viewer), "/deliveries?range=all")
	wholesome(t, res, "en")
	has(t, "empty", res.body, "Nothing was delivered")
}

// What a delivery came to is said once, with the way on: a conflict is decided where it
// still is one, and what waits for its booking is no failure.
func TestDeliverySaysWhatItCameTo(t *testing.T) {
	t.Parallel()
	r := full()
	r.receipts[1].Reason = booking.ReasonSlotTaken
	r.receipts = append(r.receipts, booking.ReceiptView{
		ID: id(47), Provider: "calcom", ConnectionID: id(2), Kind: booking.KindNoShow, Status: booking.StatusWaiting, Deliveries: 2, ReceivedAt: noon.Add(-time.Hour),
	})
	w := newWorld(t, r, nil)
	browser := w.user(t, "budi", access.Operator)
	decide := `href="/conflicts?booking=` + id(22).String()
	conflict := w.get(t, browser, "/deliveries/"+id(42).String())
	wholesome(t, conflict, "en")
	has(t, "conflict", conflict.body, `</span>: <span class="muted">the slot is taken</span>`, "Another booking starts at the same moment", decide)
	has(t, "transition", w.get(t, browser, "/audit/"+id(63).String()).body, decide, "Rani Wijaya · Calendly", "14:00–14:45", "See this delivery, or replay it")
	for i, b := range r.bookings {
		if b.ID == id(22) {
			r.bookings[i].OverlapAccepted = true
		}
	}
	for _, path := range []string{"/deliveries/" + id(42).String(), "/audit/" + id(63).String()} {
		hasNot(t, "accepted", w.get(t, browser, path).body, "Decide this conflict")
	}
	waits := w.get(t, browser, "/deliveries/"+id(47).String())
	wholesome(t, waits, "en")
	has(t, "waits", waits.body, "It arrived before its booking.")
	list := w.get(t, browser, "/deliveries?status=waiting")
	has(t, "list", section(t, list.body, `<table class="table deliveries`, "</table>"), "its booking has not come yet", `<td role="cell" class="pick"><label`)
	has(t, "chart", list.body, `series-2" aria-hidden="true"></span> Waiting or queued <strong>1`, `series-4" aria-hidden="true"></span> Failed or given up <strong>1`)
}
