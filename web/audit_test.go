package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	const create, conflict, stale, cancel = "/audit/01000000-0000-7000-8000-000000000040", "/audit/01000000-0000-7000-8000-00000000003f",
		"/audit/01000000-0000-7000-8000-00000000003e", "/audit/01000000-0000-7000-8000-00000000003d"
	rows := []string{create, conflict, stale, cancel}
	for query, want := range map[string][]string{
		"":                                {create, conflict, stale},
		"show=rejected":                   {create, stale},
		"show=all":                        rows,
		"reason=stale":                    {stale},
		"provider=calcom":                 {conflict},
		"provider=calcom&reason=stale":    {},
		"from=2026-11-30&to=2026-11-30":   {create, conflict, stale},
		"from=2026-12-01":                 {},
		"to=2026-11-29":                   {},
		"range=24h":                       {create, conflict, stale},
		"booking=" + id(22).String():      {conflict},
		"show=all&reason=rescheduled":     {cancel},
		"range=nonsense&show=nonsense":    {create, conflict, stale},
		"range=30d&from=2026-11-30&to=":   {create, conflict, stale},
		"booking=" + id(21).String() + "": {stale},
		"connection=" + id(1).String():    {create, conflict, stale},
		"connection=" + id(2).String():    {},
		"resource=" + id(10).String():     {create, conflict, stale},
		"resource=" + id(11).String():     {},
		"actor=webhook":                   {create, conflict, stale},
		"actor=system":                    {},
		"q=rani&show=all":                 rows,
		"q=nobody":                        {},
	} {
		res := w.get(t, browser, "/audit?"+query)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%q: %d", query, res.StatusCode)
		}
		for _, row := range rows {
			wanted := false
			for _, x := range want {
				wanted = wanted || x == row
			}
			if strings.Contains(res.body, `href="`+row+`"`) != wanted {
				t.Errorf("%q: %s is shown: %v", query, row, !wanted)
			}
		}
		wholesome(t, res, "en")
	}
	for query, want := range map[string]string{
		"from=2026-12-01": "Nothing was refused or in conflict in this period", "from=2026-12-01&show=rejected": "No refused transitions in this period", "from=2026-12-01&show=all": "No transitions in this period",
		"reason=overlap": "Nothing fits these filters",
	} {
		if res := w.get(t, browser, "/audit?"+query); !strings.Contains(res.body, want) {
			t.Errorf("%q does not say %q", query, want)
		}
	}
	for _, bad := range []string{"from=soon", "to=2026-02-30", "booking=mine", "connection=mine", "resource=mine", "cursor=nonsense"} {
		res := w.get(t, browser, "/audit?"+bad)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, "is not valid") {
			t.Errorf("%q: %d", bad, res.StatusCode)
		}
		wholesome(t, res, "en")
	}
	if res := w.get(t, browser, "/audit?from=2026-12-07&to=2026-12-01"); res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, "“From day” is later than “To day”.") || strings.Count(res.body, `aria-invalid="true" aria-describedby="filters-error"`) != 2 {
		t.Errorf("a period that ends before it begins: %d", res.StatusCode)
	}
	// Of nothing there is no file, and all time is a click away, unless it is that already.
	operator := w.user(t, "budi", access.Operator)
	none := w.get(t, operator, "/audit?from=2026-12-01&q=rani").body
	has(t, "nothing", none, `href="/audit?q=rani&amp;range=all">Show all time`)
	hasNot(t, "nothing", none, "/audit/export")
	hasNot(t, "nothing of all time", w.get(t, operator, "/audit?range=all&reason=overlap").body, "Show all time")
	has(t, "something", w.get(t, operator, "/audit").body, "/audit/export", "Shown is what was refused")
	hasNot(t, "everything", w.get(t, operator, "/audit?show=all").body, "Shown is what was refused")
	empty := newWorld(t, &records{}, nil)
	if res := empty.get(t, empty.user(t, "ayu", access.Viewer), "/audit"); !strings.Contains(res.body, "Nothing is recorded yet") {
		t.Error("an audit without anything does not say so")
	}
}

func TestAuditPages(t *testing.T) {
	t.Parallel()
	r := full()
	for range 120 {
		r.transitions = append(r.transitions, r.transitions[0])
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	path, pages := "/audit?show=rejected", 0
	for path != "" {
		res := w.get(t, browser, path)
		pages++
		path = ""
		for _, l := range links(t, res) {
			if strings.Contains(l, "cursor=") {
				path = l
			}
		}
	}
	if pages != 3 {
		t.Errorf("122 rows stand on %d pages", pages)
	}
}

// Each counter leads to what it counts, with all other filters kept, and back.
func TestAuditCounters(t *testing.T) {
	t.Parallel()
	r := full()
	for range booking.MaxTally {
		r.transitions = append(r.transitions, r.transitions[2])
	}
	w := newWorld(t, r, nil)
	browser := w.user(t, "ayu", access.Viewer)
	res := w.get(t, browser, "/audit?q=rani&range=30d")
	has(t, "counters", res.body,
		`<a class="chip" href="/audit?q=rani&amp;range=30d&amp;reason=stale">older than what is known <strong>10,000<span aria-hidden="true">+</span><span class="hidden"> or more</span></strong></a>`,
		`<a class="chip" href="/audit?q=rani&amp;range=30d&amp;reason=slot_taken">the slot is taken <strong>1</strong></a>`)
	res = w.get(t, browser, "/audit?q=rani&range=30d&reason=stale", "Accept-Language", "id")
	has(t, "chosen", res.body, `href="/audit?q=rani&amp;range=30d" aria-current="true">`, "<strong>10.000<span", `reason=slot_taken`)
	if res := w.get(t, browser, "/audit?reason=overlap"); !strings.Contains(res.body, `<strong>0</strong>`) {
		t.Error("a chosen reason that nothing has cannot be taken back")
	}
}

// partial finds nothing in what it looked through, and says that there is more.
type partial struct{ *records }

func (partial) Transitions(context.Context, booking.Filter, booking.Page) (booking.List[booking.TransitionView], error) {
	return booking.List[booking.TransitionView]{Next: "x"}, nil
}

// A search that is not at its end does not say that nothing is there.
func TestAuditSearchesFurther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil, func(d *web.Deps) {
		if r, ok := d.Records.(*records); ok {
			d.Records = partial{r}
		}
	})
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/audit?q=nobody&show=all")
	wholesome(t, res, "en")
	has(t, "page", res.body, "Nothing found yet", `href="/audit?cursor=x&amp;q=nobody&amp;show=all" rel="next">Search further back`)
	if strings.Contains(res.body, "Nothing fits") {
		t.Error("it says that nothing fits")
	}
}

// What a provider sent is for those who work with it, when they ask for it, and
// without its secrets. That they saw it is logged; that others asked is not.
func TestBodiesAreForOperators(t *testing.T) {
	t.Parallel()
	for role, sees := range map[access.Role]bool{access.Viewer: false, access.Operator: true, access.Administrator: true} {
		w := newWorld(t, full(), nil)
		browser := w.user(t, string(role), role)
		for _, path := range []string{
			"/audit/" + id(60).String() + "?body=1", "/deliveries/" + id(40).String() + "?body=1",
			"/bookings/" + id(21).String() + "?receipt=" + id(40).String(),
		} {
			w.store.forget()
			if res := w.get(t, browser, strings.Replace(path, "body=1", "", 1)); strings.Contains(path, "body=1") && strings.Contains(res.body, "invitee.created&#34;") || len(w.store.entries()) > 0 && strings.Contains(path, "body=1") {
				t.Errorf("%s on %s: seen unasked, or logged", role, path)
			}
			w.store.forget()
			res := w.get(t, browser, path)
			if strings.Contains(res.body, "&#34;event&#34;: &#34;invitee.created&#34;") != sees {
				t.Errorf("%s on %s sees it: %v", role, path, !sees)
			}
			if strings.Contains(res.body, "hunter2") || strings.Contains(res.body, "<script>alert") {
				t.Errorf("%s on %s: the body is shown as it came", role, path)
			}
			wholesome(t, res, "en")
			log := w.store.entries()
			if logged := len(log) == 1 && log[0].Action == access.DidReadBody && log[0].Subject == "receipt:"+id(40).String() &&
				strings.HasPrefix(string(log[0].Actor), "user:") && log[0].Remote != ""; logged != sees || len(log) > 1 {
				t.Errorf("%s on %s: the log has %+v", role, path, log)
			}
		}
		// Of a body that is gone nothing was seen.
		w.store.forget()
		if w.get(t, browser, "/deliveries/"+id(41).String()+"?body=1"); len(w.store.entries()) != 0 {
			t.Errorf("%s: a body that is gone is logged", role)
		}
	}
}

func TestAdminLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	viewer, operator := w.user(t, "ayu", access.Viewer), w.user(t, "budi", access.Operator)
	if res := w.get(t, viewer, "/audit?view=admin"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer gets %d", res.StatusCode)
	}
	if strings.Contains(w.get(t, viewer, "/audit").body, "view=admin") {
		t.Error("a viewer is led there")
	}
	note := func(action, subject string, detail access.Facts) {
		if err := w.accounts.Note(t.Context(), access.By{Actor: booking.ActorSystem, Remote: "192.0.2.7"}, action, subject, detail); err != nil {
			t.Fatal(err)
		}
	}
	note(access.DidRenameResource, "resource:"+id(10).String(), access.Facts{"name": "<b>bold</b>"})
	note(access.DidAskCancel, "booking:"+id(22).String(), nil)
	note(access.DidConnect, "connection:"+id(1).String(), nil)
	note("something.new", "odd", nil)
	res := w.get(t, operator, "/audit?view=admin")
	wholesome(t, res, "en")
	has(t, "log", res.body, `system renamed the resource <a href="/resources/`+id(10).String()+`">Consulting room</a>.`, `Name:</span> &lt;b&gt;bold&lt;/b&gt;`, "192.0.2.7",
		`system asked the provider to cancel <a href="/bookings/`+id(22).String()+`">`, `system connected the account <a href="/connections/`+id(1).String()+`">Clinic</a>.`,
		"something.new", "odd", "budi signed in.")
	// A preview is told as one, and no name twice.
	note(access.DidReplay, "replay:"+id(92).String(), access.Facts{"dry_run": "true"})
	note(access.DidReplay, "replay:"+id(93).String(), access.Facts{"dry_run": "false"})
	note(access.DidCreateToken, "", access.Facts{"name": "Till", "scope": "read"})
	told := strings.Join(shows(t, w.get(t, operator, "/audit?view=admin"), "adminlog"), " ")
	has(t, "replays", told, "The system previewed what processing deliveries again would change: its report .", "The system had deliveries processed again: its report .")
	has(t, "names", told, "The system made the access token Till . Scope: read")
	hasNot(t, "facts", told, "Preview:", "Name: Till")
	res = w.get(t, operator, "/audit?view=admin&action=user.signed_in")
	has(t, "filtered", res.body, `budi signed in.`, `href="/audit?view=admin"`)
	if strings.Contains(res.body, "renamed the resource") {
		t.Error("the filter leaves others")
	}
	has(t, "none", w.get(t, operator, "/audit?view=admin&action=token.revoked").body, "Nothing fits these filters")
	has(t, "empty", w.get(t, operator, "/audit?view=admin&to=2020-01-01").body, "No actions in this period")
	for _, bad := range []string{"from=soon", "cursor=nonsense"} {
		if res := w.get(t, operator, "/audit?view=admin&"+bad); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s gives %d", bad, res.StatusCode)
		}
	}
	for range 120 {
		note(access.DidCheckConnection, "connection:"+id(1).String(), nil)
	}
	pages := 0
	for path := "/audit?view=admin&action=connection.checked"; path != ""; pages++ {
		res := w.get(t, operator, path)
		path = ""
		for _, l := range links(t, res) {
			if strings.Contains(l, "cursor=") {
				path = l
			}
		}
	}
	if pages != 3 {
		t.Errorf("120 entries stand on %d pages", pages)
	}
}

// What an entry says beside its sentence is in words, in both languages, and no name
// or code of ours.
func TestFactsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	operator := w.user(t, "budi", access.Operator)
	for _, e := range []access.Entry{
		{Action: access.DidRetryEffect, Subject: "booking:" + id(22).String(), Detail: access.Facts{"effect": id(90).String(), "kind": string(booking.EffectWebhook), "event": string(booking.EventConflicted)}},
		{Action: access.DidWithdrawEffect, Subject: "booking:" + id(22).String(), Detail: access.Facts{"effect": id(91).String(), "kind": string(booking.EffectCancel), "because": "the overlap was accepted"}},
		{Action: access.DidBackUp, Detail: access.Facts{"file": "monday.db", "audit_intact": "true", "transitions": "12"}},
		{Action: access.DidAddFeed, Detail: access.Facts{"name": "Door", "level": "busy"}},
		{Action: access.DidReplay, Subject: "replay:" + id(92).String(), Detail: access.Facts{"status": "[failed dead]", "kind": string(booking.KindCreated)}},
		{Action: access.DidExportAdminLog, Detail: access.Facts{"action": access.DidBackUp}},
	} {
		if err := w.accounts.Note(t.Context(), access.System, e.Action, e.Subject, e.Detail); err != nil {
			t.Fatal(err)
		}
	}
	for lang, want := range map[string][]string{
		"en": {
			"What was asked for:</span> Message to another system", "Event:</span> Double booked", "What was asked for:</span> Cancel at the provider", "Because:</span> the overlap was accepted",
			"Backup file:</span> monday.db", "Audit in it unaltered:</span> yes", "Tells:</span> only that the time is taken", "State:</span> failed, given up", "Kind of action:</span> Backed up the database",
		},
		"id": {"Yang diminta:</span> Pesan ke sistem lain", "Peristiwa:</span> Bentrok", "Karena:</span> tumpang tindihnya diterima", "Audit di dalamnya utuh:</span> ya"},
	} {
		res := w.get(t, operator, "/audit?view=admin", "Accept-Language", lang)
		wholesome(t, res, lang)
		has(t, lang, res.body, want...)
		hasNot(t, lang, res.body, "Other event", "fact.", "audit_intact", ">asked_for", id(90).String(), "[failed")
	}
}

func TestTransitionSaysWhatWouldHaveBeenAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/audit/"+id(64).String())
	for _, want := range []string{"canceled", "active", "Allowed instead", "Cancel, Change of details, No-show", "A canceled booking never becomes active again."} {
		if !strings.Contains(res.body, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

// Whoever accepted an overlap said why: that stands in the list, and not what it
// overlapped.
func TestAuditListsTheReasonGiven(t *testing.T) {
	t.Parallel()
	r := full()
	accepted := r.transitions[1]
	accepted.ID, accepted.Event, accepted.From, accepted.Note = id(65), booking.AcceptOverlap, booking.Conflicted, "They share <b>the</b> room"
	r.transitions = append(r.transitions, accepted)
	w := newWorld(t, r, nil)
	res := w.get(t, w.user(t, "ayu", access.Viewer), "/audit?show=all&q=rani")
	wholesome(t, res, "en")
	has(t, "list", res.body, `<q class="said">They share &lt;b&gt;the&lt;/b&gt; room</q>`)
}
