package web_test

import (
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// What a comparison found is a list of bookings, with what each side has, and not a
// number alone.
func TestDifferencesAreListed(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	r := w.records
	r.drifts[0].Detail = "the provider has it as booked at 2026-12-01T02:00:00Z"
	r.drifts = append(r.drifts, booking.Drift{ConnectionID: id(5), ExternalID: "/gone", Kind: booking.DriftGone, BookingID: id(21), FoundAt: noon, SeenAt: noon})
	of := r.transitions[4] // a create
	of.ID, of.ConnectionID, of.Actor, of.RecordedAt = id(70), id(5), booking.ActorReconcile, noon.Add(-time.Hour)
	of.Title, of.Invitee = "Found late <i>", "Wulan Sari"
	other := of
	other.ID, other.Actor, other.Title = id(71), booking.ActorWebhook, "Told by a webhook"
	r.transitions = append(r.transitions, of, other)
	browser := w.user(t, "ayu", access.Viewer)
	for _, lang := range []string{"en", "id"} {
		wholesome(t, w.get(t, browser, connectionPath(5), "Accept-Language", lang), lang)
	}
	body := w.get(t, browser, connectionPath(5)).body
	card := section(t, body, `id="live-drifts"`, "</section>")
	has(t, "the card", card,
		`<a href="/bookings/`+id(23).String()+`">Review · Siti Rahma</a>`, "booked for <time datetime=\"2026-12-01T02:00:00Z\"", "canceled</span>", "30 Nov 2026, 09:00 WIB",
		"last seen", `<a href="/bookings/`+id(21).String()+`">Intake call · Rani Wijaya</a>`, "The provider knows no such booking.", "Unknown at the provider",
		"A booking that is not here", "time_missing", "/scheduled_events/YY",
		"Set right by the last comparison", `<a href="/bookings/`+of.BookingID.String()+`">Found late &lt;i&gt; · Wulan Sari</a>`, `href="/audit/`+id(70).String()+`"`,
		"actor=reconcile", "connection="+id(5).String())
	hasNot(t, "the card", card, "Told by a webhook")
}

// An import tells days and how far it is, as far as the provider's pages tell.
func TestImportTellsDays(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	w.records.runs[0].From, w.records.runs[0].To = noon.AddDate(0, 0, -30), noon.AddDate(0, 0, 366)
	viewer := w.user(t, "ayu", access.Viewer)
	for _, path := range []string{"/connections", connectionPath(5)} {
		body := w.get(t, viewer, path).body
		has(t, path, body, "bookings of 31 October 2026 – 1 December 2027", "250 bookings read, 240 changes here", "1 conflict</span>", "Has just begun.", "The provider asked us to wait a while.", "data-live=")
	}
	w.records.runs[0].Cursor = "unavailable times"
	has(t, "all read", w.get(t, viewer, connectionPath(5)).body, "All bookings are read", `<progress max="100" value="100"`)
}

// Nobody should have to know that a calendar is a number.
func TestHostsAreCalledByName(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	r := w.records
	quay := booking.Source{Provider: "acuity", Base: "https://acuityscheduling.com"}
	r.change(t, id(7), func(c *providers.Connection) {
		c.APIBase = quay.Base
		c.Owner.Hosts = []booking.Host{{ExternalID: "calendar|501", Name: "Room <i>5</i>"}, {ExternalID: "calendar|502"}}
	})
	r.resources[0].Identities = append(r.resources[0].Identities,
		booking.Identity{Source: quay, ExternalID: "calendar|501", ResourceID: id(10)}, booking.Identity{Source: quay, ExternalID: "calendar|502", ResourceID: id(10)})
	operator := w.user(t, "ayu", access.Operator)
	for _, path := range []string{"/resources", "/resources/" + id(10).String(), "/resources/" + id(10).String() + "/merge?into=" + id(11).String(), connectionPath(7)} {
		page := w.get(t, operator, path)
		wholesome(t, page, "en")
		has(t, path, page.body, "Room &lt;i&gt;5&lt;/i&gt;", "Calendar 502", "calendar|501")
	}
	has(t, "Indonesian", w.get(t, operator, "/resources", "Accept-Language", "id").body, "Kalender 502")
}
