package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calendly"
	"slotkeeper/web"
)

// overlaps is the store of acceptances, in memory.
type overlaps struct {
	records *records
	notes   map[uuid.UUID]booking.ConflictNote
	// arrivals are how bookings came to stand as they do.
	arrivals map[uuid.UUID]booking.Arrival
	asked    []string
	busy     bool // the provider is asked to cancel just now
}

func (o *overlaps) AcceptOverlaps(
	ctx context.Context, by access.By, ids []uuid.UUID, reason string, _ time.Time,
) ([]booking.OverlapAnswer, error) {
	reason, err := booking.OverlapReason(reason)
	if err != nil {
		return nil, err
	}
	if o.busy {
		return nil, booking.ErrBeingTried
	}
	var out []booking.OverlapAnswer
	for _, id := range ids {
		b, err := o.records.Booking(ctx, id)
		if err != nil {
			return nil, err
		}
		a := booking.OverlapAnswer{BookingID: id, Unchanged: b.OverlapAccepted}
		if b.Status != booking.Conflicted {
			a.Refused = &booking.IllegalTransitionError{From: b.Status, Action: booking.AcceptOverlap}
		} else {
			i := slices.IndexFunc(o.records.bookings, func(b booking.View) bool { return b.ID == id })
			o.records.bookings[i].OverlapAccepted = true
		}
		kind, _, _ := strings.Cut(string(by.Actor), ":")
		o.asked = append(o.asked, fmt.Sprintf("%s %s accepts %s: %s", kind, by.Remote, id, reason))
		out = append(out, a)
	}
	return out, nil
}

func (o *overlaps) SetOverlapRule(_ context.Context, by access.By, id uuid.UUID, on bool, _ time.Time) (int, error) {
	kind, _, _ := strings.Cut(string(by.Actor), ":")
	o.asked = append(o.asked, fmt.Sprintf("%s %s rules %s %v", kind, by.Remote, id, on))
	for i := range o.records.resources {
		if r := &o.records.resources[i]; r.ID == id {
			r.AcceptWithinProvider = on
		}
	}
	return 12, nil
}

func (o *overlaps) ConflictNotes(context.Context, []uuid.UUID) (map[uuid.UUID]booking.ConflictNote, error) {
	return o.notes, o.records.failing()
}

func (o *overlaps) Arrivals(context.Context, []uuid.UUID) (map[uuid.UUID]booking.Arrival, error) {
	return o.arrivals, o.records.failing()
}

// quarrels is a house with conflicts: the one of full, one within a provider, one
// that is over, one that somebody accepted and one that a rule did.
func quarrels(t *testing.T) (*world, *overlaps) {
	t.Helper()
	r := full()
	like := func(n byte, change func(b *booking.View)) {
		b := r.bookings[3]
		b.ID, b.SessionID, b.Provider = id(n), id(n+100), "calendly"
		b.Invitee = booking.Person{Name: fmt.Sprintf("Person %d <i>", n), Phone: "+62 812 0000 1111"}
		change(&b)
		r.bookings = append(r.bookings, b)
	}
	like(32, func(*booking.View) {})
	like(33, func(b *booking.View) {
		from, to := noon.Add(-3*time.Hour), noon.Add(-2*time.Hour)
		b.StartsAt, b.EndsAt = &from, &to
	})
	like(34, func(b *booking.View) { b.OverlapAccepted = true })
	like(35, func(b *booking.View) { b.OverlapAccepted = true })
	o := &overlaps{records: r, notes: map[uuid.UUID]booking.ConflictNote{
		id(22): {Since: noon.Add(-20 * time.Minute)},
		id(34): {Since: noon.Add(-time.Hour), Accepted: &booking.AcceptedNote{At: noon, Actor: "user:" + booking.Actor(id(7).String()), Reason: "two rooms <b>bold</b>"}},
		id(35): {Since: noon.Add(-time.Hour), Accepted: &booking.AcceptedNote{At: noon, Actor: booking.ActorSystem}},
	}}
	w := newWorld(t, r, nil, func(d *web.Deps) {
		d.Overlaps, d.Effects = o, &effects{records: r}
		d.Providers["calendly"], d.Providers["calcom"] = calendly.New(time.Hour), calcom.New()
	})
	return w, o
}

func TestConflictPages(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	for role, name := range map[access.Role]string{access.Operator: "ayu", access.Viewer: "budi"} {
		browser := w.user(t, name, role)
		for _, lang := range []string{"en", "id"} {
			for _, query := range []string{
				"", "show=accepted", "past=1", "resource=" + id(10).String(), "provider=calcom", "provider=acuity", "booking=" + id(22).String(),
				"accepted=2&refused=1", "done=asked", "show=nonsense&resource=x&accepted=y", "show=accepted&provider=acuity",
			} {
				res := w.get(t, browser, "/conflicts?"+query, "Accept-Language", lang)
				if res.StatusCode != http.StatusOK {
					t.Fatalf("%s gives %d: %s", query, res.StatusCode, res.body)
				}
				wholesome(t, res, lang)
				may := role == access.Operator && strings.Contains(res.body, `class="pairs"`)
				if strings.Contains(res.body, `action="/conflicts/accept`) != (may && !strings.Contains(query, "show=accepted")) || strings.Contains(res.body, "/cancel-at-provider?conflicts=") != may {
					t.Errorf("%s %s: the wrong people may act", role, query)
				}
			}
		}
	}
	browser := w.user(t, "citra", access.Operator)
	actors, err := w.records.Actors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for actor, name := range actors {
		if name == "citra" {
			o.notes[id(34)].Accepted.Actor = actor
		}
	}
	body := w.get(t, browser, "/conflicts?resource="+id(10).String()).body
	one := section(t, body, "<li class=\"card pair\">", "</li>")
	has(t, "pair", one, "the slot is taken", "Waits, without a slot", "Jonas Keller", "Cal.com", "Holds the slot", "Rani Wijaya", "Calendly", "14:00–14:45", "mailto:someone@example.com",
		"probably the same person twice", "since", `value="`+id(22).String()+`"`, "conflicts=resource%3D"+id(10).String())
	if strings.Contains(one, "#overlaps") {
		t.Error("a rule is offered between two providers")
	}
	has(t, "list", body, `href="/resources/`+id(10).String()+`#overlaps"`, "Both are of one provider", "Person 32 &lt;i&gt;", "The rule of Consulting room", "Accept all 2 on this page",
		`<a href="/conflicts" aria-current="page">Conflicts <span class="open" id="open-conflicts" data-count="2">`)
	for _, not := range []string{"Person 33", "Person 34", "Person 35"} {
		if strings.Contains(body, not) {
			t.Errorf("the open ones have %s", not)
		}
	}
	has(t, "past", w.get(t, browser, "/conflicts?past=1").body, "Person 33")
	has(t, "accepted", w.get(t, browser, "/conflicts?show=accepted").body, "Person 34", "two rooms &lt;b&gt;bold", "Person 35", "Accepted by the rule of the resource", "Accepted by citra,")
	has(t, "filtered", w.get(t, browser, "/conflicts?provider=acuity").body, "No conflicts match these filters", "They hide 2 conflicts to come.")
	for path, want := range map[string]int{"/conflicts?cursor=nonsense": http.StatusUnprocessableEntity, "/conflicts/accept": http.StatusMethodNotAllowed} {
		if res := w.get(t, browser, path); res.StatusCode != want {
			t.Errorf("%s gives %d", path, res.StatusCode)
		}
	}
	if res := w.get(t, w.browser(t), "/conflicts"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a stranger gets %d", res.StatusCode)
	}
}

func TestNoConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &records{}, nil)
	browser := w.user(t, "ayu", access.Operator)
	for query, want := range map[string]string{"": "No conflicts", "show=accepted": "No overlap is accepted"} {
		res := w.get(t, browser, "/conflicts?"+query)
		wholesome(t, res, "en")
		has(t, query, res.body, want)
	}
}

// Many are paged, and those of a page can be accepted at once.
func TestConflictsArePaged(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	base := o.records.bookings[3]
	for n := range 60 {
		b := base
		b.ID, b.SessionID = uuid.UUID{1, byte(n)}, uuid.UUID{2, byte(n)}
		o.records.bookings = append(o.records.bookings, b)
	}
	browser := w.user(t, "ayu", access.Operator)
	body := w.get(t, browser, "/conflicts").body
	if n := strings.Count(body, `class="card pair"`); n != 25 || !strings.Contains(body, `rel="next"`) {
		t.Errorf("the first page has %d", n)
	}
	form := url.Values{"all": {"1"}, "reason": {"a first import"}}
	for _, part := range strings.Split(body, `name="shown" value="`)[1:] {
		form.Add("shown", part[:36])
	}
	res := w.post(t, browser, "/conflicts/accept?provider=calcom", form)
	if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || to != "/conflicts?accepted=25&provider=calcom" || len(o.asked) != 25 {
		t.Errorf("%d, %s, %d accepted", res.StatusCode, to, len(o.asked))
	}
}

func TestAcceptConflicts(t *testing.T) {
	t.Parallel()
	one, two, active := id(22).String(), id(32).String(), id(21).String()
	for name, c := range map[string]struct {
		form   url.Values
		status int
		asked  int
		to     string // where it leads, or what the page says
	}{
		"one":          {url.Values{"booking": {one}, "reason": {"two rooms"}}, 303, 1, "/conflicts?accepted=1&resource=" + id(10).String()},
		"several":      {url.Values{"booking": {one, two}, "reason": {"two rooms"}}, 303, 2, "accepted=2"},
		"one too late": {url.Values{"booking": {one, active}, "reason": {"two rooms"}}, 303, 2, "accepted=1&refused=1"},
		"no reason":    {url.Values{"booking": {one}, "reason": {" "}}, 422, 0, `id="reason-error">Say in up to 500`},
		"none chosen":  {url.Values{"reason": {"keep <i>"}}, 422, 0, "Choose at least one conflict"},
		"no id":        {url.Values{"booking": {"x"}, "reason": {"y"}}, 404, 0, ""},
		"not there":    {url.Values{"booking": {id(99).String()}, "reason": {"y"}}, 404, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := quarrels(t)
			path := "/conflicts/accept?resource=" + id(10).String()
			for who, want := range map[*http.Client]int{w.browser(t): http.StatusSeeOther, w.user(t, "viewer", access.Viewer): http.StatusForbidden} {
				if res := w.post(t, who, path, c.form); res.StatusCode != want || len(o.asked) > 0 {
					t.Errorf("status %d, asked was %q", res.StatusCode, o.asked)
				}
			}
			browser := w.user(t, "ayu", access.Operator)
			if res := w.post(t, browser, path, c.form, "Sec-Fetch-Site", "cross-site"); res.StatusCode != http.StatusForbidden || len(o.asked) > 0 {
				t.Errorf("another site gets %d", res.StatusCode)
			}
			res := w.post(t, browser, path, c.form)
			if res.StatusCode != c.status || len(o.asked) != c.asked {
				t.Fatalf("status %d, asked %q: %s", res.StatusCode, o.asked, res.body)
			}
			if c.status == http.StatusSeeOther {
				to := res.Header.Get("Location")
				if !strings.Contains(to, c.to) {
					t.Errorf("it leads to %s", to)
				}
				page := w.get(t, browser, to)
				wholesome(t, page, "en")
				has(t, to, page.body, "accepted.</p>")
				return
			}
			wholesome(t, res, "en")
			has(t, "page", res.body, c.to)
			if c.status == http.StatusUnprocessableEntity && len(c.form["booking"]) > 0 != strings.Contains(res.body, `value="`+one+`" checked`) {
				t.Error("what was chosen is forgotten")
			}
		})
	}
}

// A cancel that began at the conflicts leads back there, and nowhere else.
func TestCancelFromConflicts(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	browser := w.user(t, "ayu", access.Operator)
	back := "/conflicts?resource=" + id(10).String()
	path := cancelOf(22) + "?" + url.Values{"conflicts": {"resource=" + id(10).String() + "&evil=//elsewhere.example"}}.Encode()
	page := w.get(t, browser, path)
	wholesome(t, page, "en")
	has(t, "preview", page.body, `href="`+back+`"`, "To the conflicts, without canceling")
	if strings.Contains(page.body, "elsewhere") {
		t.Error("it leads elsewhere")
	}
	request := requestField.FindStringSubmatch(page.body)
	action := strings.SplitN(strings.SplitN(page.body, `method="post" action="/bookings`, 2)[1], `"`, 2)[0]
	res := w.post(t, browser, "/bookings"+strings.ReplaceAll(action, "&amp;", "&"), url.Values{"request": {request[1]}, "confirm": {"1"}})
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || to != "/conflicts?done=asked&resource="+id(10).String() {
		t.Fatalf("%d, %s", res.StatusCode, to)
	}
	has(t, to, w.get(t, browser, to).body, "The cancellation is under way")
	if len(o.asked) > 0 {
		t.Error("something was accepted")
	}
}

func TestOverlapRuleForm(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	room := "/resources/" + id(10).String()
	for who, want := range map[*http.Client]int{w.browser(t): http.StatusSeeOther, w.user(t, "viewer", access.Viewer): http.StatusForbidden} {
		if res := w.post(t, who, room+"/overlaps", url.Values{"to": {"on"}}); res.StatusCode != want || len(o.asked) > 0 {
			t.Errorf("status %d", res.StatusCode)
		}
	}
	browser := w.user(t, "ayu", access.Operator)
	has(t, "off", w.get(t, browser, room).body, "Each is a conflict that needs a person", "Accept them by rule")
	res := w.post(t, browser, room+"/overlaps", url.Values{"to": {"on"}})
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || to != room+"?accepted=12&done=ruled" {
		t.Fatalf("%d, %s", res.StatusCode, to)
	}
	page := w.get(t, browser, to)
	wholesome(t, page, "en")
	has(t, "on", page.body, "12 open conflicts are accepted by it", "Switch the rule off")
	res = w.post(t, browser, room+"/overlaps", url.Values{"to": {"off"}})
	if to = res.Header.Get("Location"); to != room+"?done=unruled" {
		t.Fatalf("%d, %s", res.StatusCode, to)
	}
	page = w.get(t, browser, to)
	wholesome(t, page, "en")
	if got := strings.Join(o.asked, ", "); got != fmt.Sprintf("user 127.0.0.1 rules %s true, user 127.0.0.1 rules %s false", id(10), id(10)) {
		t.Error(got)
	}
	if res := w.post(t, browser, room+"/overlaps", nil); res.StatusCode != http.StatusBadRequest || len(o.asked) != 2 {
		t.Errorf("neither on nor off: %d", res.StatusCode)
	}
	if res := w.post(t, browser, "/resources/"+id(99).String()+"/overlaps", url.Values{"to": {"off"}}); res.StatusCode != http.StatusNotFound {
		t.Errorf("of nothing: %d", res.StatusCode)
	}
}

func TestAcceptOverlapByAPI(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope  access.Scope
		id     string
		body   string
		status int
		code   string
		asked  int
	}{
		"accepted":       {access.Operate, id(22).String(), `{"reason":"two rooms"}`, 200, "", 1},
		"administrator":  {access.Admin, id(22).String(), `{"reason":"two rooms"}`, 200, "", 1},
		"the same again": {access.Operate, id(34).String(), `{"reason":" two rooms <b>bold</b>"}`, 200, "", 1},
		"came second":    {access.Operate, id(34).String(), `{"reason":"two rooms"}`, 409, "conflict", 1},
		"after a rule":   {access.Operate, id(35).String(), `{"reason":"two rooms"}`, 409, "conflict", 1},
		"may only read":  {access.Read, id(22).String(), `{"reason":"two rooms"}`, 403, "forbidden", 0},
		"nobody":         {"", id(22).String(), `{"reason":"two rooms"}`, 401, "unauthenticated", 0},
		"not conflicted": {access.Operate, id(21).String(), `{"reason":"two rooms"}`, 409, "illegal_transition", 1},
		"no reason":      {access.Operate, id(22).String(), `{}`, 422, "invalid", 0},
		"empty reason":   {access.Operate, id(22).String(), `{"reason":"  "}`, 422, "invalid", 0},
		"too long":       {access.Operate, id(22).String(), `{"reason":"` + strings.Repeat("x", 501) + `"}`, 422, "invalid", 0},
		"unknown":        {access.Operate, id(99).String(), `{"reason":"two rooms"}`, 404, "not_found", 0},
		"no id":          {access.Operate, "x", `{"reason":"two rooms"}`, 404, "not_found", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := quarrels(t)
			header := []string{"Content-Type", "application/json"}
			if c.scope != "" {
				header = append(header, "Authorization", w.token(t, c.scope))
			}
			res := w.do(t, w.Client(), w.request(t, http.MethodPost, "/api/v1/bookings/"+c.id+"/accept-overlap", strings.NewReader(c.body), header...))
			if res.StatusCode != c.status || len(o.asked) != c.asked {
				t.Fatalf("status %d, asked %q: %s", res.StatusCode, o.asked, res.body)
			}
			var got struct {
				Code     string
				Detail   string
				Status   any
				Accepted bool `json:"overlap_accepted"`
			}
			if err := json.Unmarshal([]byte(res.body), &got); err != nil {
				t.Fatal(err)
			}
			if got.Code != c.code || got.Accepted != (c.status == 200) {
				t.Errorf("it answers %s", res.body)
			}
			if c.code == "illegal_transition" {
				if got.Detail != "booking: no transition for accept_overlap from active" || !strings.Contains(w.logs.String(), `"level":"WARN","msg":"transition refused"`) {
					t.Errorf("%s; the log: %s", got.Detail, w.logs)
				}
			}
			if c.asked > 0 && (!strings.HasPrefix(o.asked[0], "token 127.0.0.1 accepts ") || !strings.Contains(o.asked[0], ": two rooms")) {
				t.Errorf("asked was %q", o.asked)
			}
		})
	}
}

// Of several who accept one conflict at once, one is right: the others are told who
// was faster, and that their reason is not the one that is kept.
func TestAcceptedAlready(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	browser := w.user(t, "ayu", access.Operator)
	res := w.post(t, browser, "/conflicts/accept", url.Values{"booking": {id(34).String(), id(22).String()}, "reason": {"another reason"}})
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || to != "/conflicts?accepted=1&already="+id(34).String() {
		t.Fatalf("%d, %s", res.StatusCode, to)
	}
	for _, lang := range []string{"en", "id"} {
		wholesome(t, w.get(t, browser, to, "Accept-Language", lang), lang)
	}
	has(t, "the page", w.get(t, browser, to).body, "One of them was accepted by somebody else meanwhile", "Person 34", "accepted already by", "two rooms &lt;b&gt;bold", "1 overlap")
	o.busy = true
	tried := w.post(t, browser, "/conflicts/accept", url.Values{"booking": {id(32).String()}, "reason": {"two rooms"}})
	wholesome(t, tried, "en")
	if tried.StatusCode != http.StatusConflict {
		t.Errorf("while the provider is asked to cancel: %d", tried.StatusCode)
	}
	has(t, "while it is tried", tried.body, "being canceled at its provider at this moment", `value="two rooms"`)
}

// The pages of a booking whose overlap is accepted say who did it and why, and warn of
// nothing.
func TestAcceptedBookingIsCalm(t *testing.T) {
	t.Parallel()
	w, _ := quarrels(t)
	browser := w.user(t, "ayu", access.Operator)
	page := w.get(t, browser, "/bookings/"+id(34).String())
	wholesome(t, page, "en")
	has(t, "page", page.body, "Accepted overlap", "two rooms &lt;b&gt;bold", `datetime="`+noon.Format("2006-01-02T15:04:05Z"))
	hasNot(t, "page", page.body, "This booking has no slot", `class="trouble"`)
	has(t, "an open one", w.get(t, browser, "/bookings/"+id(22).String()).body, "This booking has no slot")
}

// A group against one holder is one conflict, to be accepted at once.
func TestGroupIsOneConflict(t *testing.T) {
	t.Parallel()
	w, o := quarrels(t)
	friend := o.records.bookings[3]
	friend.ID, friend.Invitee = id(36), booking.Person{Name: "Friend <b>", Email: "friend@example.com"}
	o.records.bookings = append(o.records.bookings, friend)
	browser := w.user(t, "ayu", access.Operator)
	page := w.get(t, browser, "/conflicts?provider=calcom")
	wholesome(t, page, "en")
	both := id(22).String() + "," + id(36).String()
	has(t, "page", page.body, "2 people", "Friend &lt;b&gt;", "mailto:friend@example.com", `name="booking" value="`+both+`"`, "Accept all 2 on this page")
	if n := strings.Count(page.body, `class="card pair"`); n != 1 {
		t.Errorf("there are %d cards", n)
	}
	res := w.post(t, browser, "/conflicts/accept", url.Values{"booking": {both}, "reason": {"two rooms"}})
	if to := res.Header.Get("Location"); to != "/conflicts?accepted=2" || len(o.asked) != 2 {
		t.Errorf("%s, %v", to, o.asked)
	}
}
