package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
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

// effects is the store of effects, in memory, with the domain's own judgement.
type effects struct {
	records *records
	list    []booking.Effect
	asked   []booking.CancelRequest
	entries []access.Entry
	retried []uuid.UUID
	keyless []uuid.UUID
}

func (e *effects) Effects(_ context.Context, id uuid.UUID) ([]booking.Effect, error) {
	if err := e.records.failing(); err != nil {
		return nil, err
	}
	e.records.mu.Lock()
	defer e.records.mu.Unlock()
	var out []booking.Effect
	for _, x := range slices.Backward(e.list) {
		if x.BookingID == id {
			out = append(out, x)
		}
	}
	return out, nil
}

func (e *effects) EffectsOf(ctx context.Context, bookings []uuid.UUID) (map[uuid.UUID][]booking.Effect, error) {
	out := map[uuid.UUID][]booking.Effect{}
	for _, id := range bookings {
		all, err := e.Effects(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 {
			out[id] = all
		}
	}
	return out, nil
}

func (e *effects) CancelPlan(ctx context.Context, id uuid.UUID) (booking.CancelPlan, error) {
	b, err := e.records.Booking(ctx, id)
	if err != nil {
		return booking.CancelPlan{}, err
	}
	var together []booking.View
	for _, o := range e.records.bookings {
		if o.SessionID == b.SessionID {
			together = append(together, o)
		}
	}
	p := booking.Canceling(b, booking.Session{ExternalID: "session"}, together)
	p.ConnectionID = b.ConnectionID
	of, err := e.Effects(ctx, id)
	p.Open = slices.ContainsFunc(of, func(x booking.Effect) bool { return x.Status.Open() })
	return p, err
}

func (e *effects) AskCancel(ctx context.Context, r booking.CancelRequest, entry access.Entry) (booking.Effect, error) {
	p, err := e.CancelPlan(ctx, r.BookingID)
	if err == nil {
		err = p.Refuse()
	}
	if err == nil {
		err = p.Check(r.Message, r.Confirm)
	}
	if err != nil {
		return booking.Effect{}, err
	}
	e.records.mu.Lock()
	defer e.records.mu.Unlock()
	x := booking.Effect{
		ID: id(byte(200 + len(e.list))), Action: r.Action, Kind: booking.EffectCancel, Lane: booking.Lane{BookingID: r.BookingID, Target: "there"},
		ConnectionID: p.ConnectionID, RequestID: r.RequestID, Actor: entry.Actor, Status: booking.EffectPending, CreatedAt: entry.At, DueAt: entry.At,
	}
	e.list, e.asked, e.entries = append(e.list, x), append(e.asked, r), append(e.entries, entry)
	return x, nil
}

func (e *effects) RetryEffect(_ context.Context, id uuid.UUID, entry access.Entry) (booking.Effect, error) {
	e.records.mu.Lock()
	defer e.records.mu.Unlock()
	for i := range e.list {
		x := &e.list[i]
		if x.ID != id {
			continue
		}
		if x.Status != booking.EffectFailed && x.Status != booking.EffectDead {
			return booking.Effect{}, booking.ErrNothingToRetry
		}
		x.Status, e.retried, e.entries = booking.EffectPending, append(e.retried, id), append(e.entries, entry)
		return *x, nil
	}
	return booking.Effect{}, booking.ErrNotFound
}

func (e *effects) WithdrawEffect(_ context.Context, id uuid.UUID, entry access.Entry) (booking.Effect, error) {
	e.records.mu.Lock()
	defer e.records.mu.Unlock()
	for i := range e.list {
		x := &e.list[i]
		if x.ID != id {
			continue
		}
		if !x.Status.Open() {
			return booking.Effect{}, booking.ErrNothingToWithdraw
		}
		x.Status, x.DoneAt, e.entries = booking.EffectWithdrawn, &entry.At, append(e.entries, entry)
		return *x, nil
	}
	return booking.Effect{}, booking.ErrNotFound
}

func (e *effects) KeylessConnections(context.Context) ([]uuid.UUID, error) { return e.keyless, nil }

func (r *records) UndoneEffects(context.Context) ([]booking.EffectCount, error) {
	return []booking.EffectCount{{Kind: booking.EffectCancel, Status: booking.EffectDead, Count: 3}}, r.failing()
}

// EndpointQueues are of a system that is told, and of one that is off.
func (r *records) EndpointQueues(context.Context) ([]booking.EndpointQueue, error) {
	since := noon.Add(-20 * time.Minute)
	return []booking.EndpointQueue{{ID: id(80), Waiting: 7, Oldest: &since}, {ID: id(81), Off: booking.OffGone}}, r.failing()
}

// acting is a house whose Calendly and Cal.com have an API, with a group of two in
// Calendly, and effects of every status.
func acting(t *testing.T) (*world, *effects) {
	t.Helper()
	r := full()
	friend := r.bookings[4]
	friend.ID, friend.Invitee = id(31), booking.Person{Name: "Wulan Sari", Email: "wulan@example.com"}
	r.bookings = append(r.bookings, friend)
	e := &effects{records: r}
	done := noon.Add(-time.Hour)
	for n, status := range booking.EffectStatuses() {
		x := booking.Effect{
			ID: id(byte(190 + n)), Kind: booking.EffectCancel, Lane: booking.Lane{BookingID: id(22), Target: "there"}, Status: status, Attempts: n,
			Actor: "user:" + booking.Actor(id(7).String()), RequestID: "req-9", CreatedAt: noon.Add(-2 * time.Hour), DueAt: noon.Add(time.Minute),
		}
		switch status {
		case booking.EffectDone, booking.EffectWithdrawn:
			x.DoneAt = &done
		case booking.EffectFailed, booking.EffectDead:
			x.Error = "the API answered 403: <b>no</b>"
		case booking.EffectPending:
		}
		e.list = append(e.list, x)
	}
	w := newWorld(t, r, nil, func(d *web.Deps) {
		d.Effects = e
		d.Providers["calendly"], d.Providers["calcom"] = calendly.New(time.Hour), calcom.New()
	})
	return w, e
}

var (
	requestField = regexp.MustCompile(`name="request" value="([^"]+)"`)
	cancelOf     = func(n byte) string { return "/bookings/" + id(n).String() + "/cancel-at-provider" }
)

// An operator sees who is canceled before anything happens, types the number of a
// group, and finds on the booking's page how far it is.
func TestCancelPages(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "id"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			w, e := acting(t)
			browser := w.user(t, "ayu", access.Operator)
			header := []string{"Accept-Language", lang}
			page := w.get(t, browser, "/bookings/"+id(25).String(), header...)
			wholesome(t, page, lang)
			if !strings.Contains(page.body, `action="`+cancelOf(25)+`"`) {
				t.Fatal("the booking's page has no form")
			}

			preview := w.post(t, browser, cancelOf(25), url.Values{"message": {"Sorry,\r\nwe are ill <i>"}}, header...)
			wholesome(t, preview, lang)
			if preview.StatusCode != http.StatusOK || len(e.asked) > 0 {
				t.Fatalf("%d, %d asked", preview.StatusCode, len(e.asked))
			}
			for _, want := range []string{"Maya Putri", "Wulan Sari", "wulan@example.com", "we are ill &lt;i&gt;</textarea>", `name="confirm" inputmode`} {
				if !strings.Contains(preview.body, want) {
					t.Errorf("the preview lacks %q", want)
				}
			}
			request := requestField.FindStringSubmatch(preview.body)
			if request == nil {
				t.Fatal("the preview's form has no id")
			}
			form := url.Values{"request": {request[1]}, "message": {"Sorry,\r\nwe are ill"}, "confirm": {"1"}}
			for _, confirm := range []string{"", "1", "3", "all"} {
				form.Set("confirm", confirm)
				again := w.post(t, browser, cancelOf(25), form, header...)
				wholesome(t, again, lang)
				if again.StatusCode != http.StatusUnprocessableEntity || len(e.asked) > 0 || !strings.Contains(again.body, `id="confirm-error"`) ||
					!strings.Contains(again.body, "we are ill") {
					t.Errorf("%q confirmed: %d, %d asked", confirm, again.StatusCode, len(e.asked))
				}
			}
			form.Set("confirm", "2")
			form.Set("message", strings.Repeat("x", booking.MaxMessage+1))
			if long := w.post(t, browser, cancelOf(25), form, header...); long.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(long.body, `id="message-error"`) {
				t.Errorf("a long message: %d", long.StatusCode)
			}
			form.Set("message", "Sorry,\r\nwe are ill")
			res := w.post(t, browser, cancelOf(25), form, header...)
			if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/bookings/"+id(25).String()+"#effects" || len(e.asked) != 1 {
				t.Fatalf("%d %s: %s", res.StatusCode, res.Header.Get("Location"), res.body)
			}
			r, entry := e.asked[0], e.entries[0]
			if r.BookingID != id(25) || r.Action.String() != request[1] || r.Message != "Sorry,\nwe are ill" || r.Confirm != 2 ||
				r.RequestID != res.Header.Get("X-Request-ID") || !strings.HasPrefix(string(entry.Actor), "user:") || entry.Remote == "" || entry.At != noon {
				t.Errorf("asked %+v, entry %+v", r, entry)
			}
			page = w.get(t, browser, "/bookings/"+id(25).String(), header...)
			wholesome(t, page, lang)
			if !strings.Contains(page.body, `id="effects"`) || strings.Contains(page.body, `action="`+cancelOf(25)) {
				t.Error("the page does not show that it is under way, or offers it again")
			}
			if res := w.post(t, browser, cancelOf(25), form, header...); res.StatusCode != http.StatusConflict {
				t.Errorf("asked again: %d", res.StatusCode)
			}
		})
	}
}

// One booking is confirmed with the button alone.
func TestCancelOne(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	browser := w.user(t, "ayu", access.Operator)
	preview := w.get(t, browser, cancelOf(21)+"?zone=Europe/Berlin")
	wholesome(t, preview, "en")
	if !strings.Contains(preview.body, `name="confirm" value="1"`) || !strings.Contains(preview.body, `action="`+cancelOf(21)+`?zone=Europe%2FBerlin"`) {
		t.Fatal(preview.body)
	}
	form := url.Values{"request": {requestField.FindStringSubmatch(preview.body)[1]}, "confirm": {"1"}}
	if res := w.post(t, browser, cancelOf(21), form); res.StatusCode != http.StatusSeeOther || len(e.asked) != 1 {
		t.Errorf("%d: %s", res.StatusCode, res.body)
	}
	form.Set("request", "no id")
	if res := w.post(t, browser, cancelOf(27), form); res.StatusCode != http.StatusBadRequest || len(e.asked) != 1 {
		t.Errorf("a form without an id: %d", res.StatusCode)
	}
}

func TestCancelRefused(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	operator, viewer := w.user(t, "ayu", access.Operator), w.user(t, "budi", access.Viewer)
	form := url.Values{"request": {uuid.NewString()}, "confirm": {"1"}}
	w.records.bookings[7].Provider = "generic" // id 28, whatever its time

	page := w.get(t, viewer, "/bookings/"+id(22).String())
	wholesome(t, page, "en")
	if !strings.Contains(page.body, `id="effects"`) || strings.Contains(page.body, "cancel-at-provider") || strings.Contains(page.body, "/retry") {
		t.Error("a viewer sees no effects, or may act")
	}
	for name, do := range map[string]func() answer{
		"preview": func() answer { return w.get(t, viewer, cancelOf(21)) },
		"cancel":  func() answer { return w.post(t, viewer, cancelOf(21), form) },
		"retry":   func() answer { return w.post(t, viewer, "/effects/"+id(193).String()+"/retry", nil) },
		"from another site": func() answer {
			return w.post(t, operator, cancelOf(21), form, "Sec-Fetch-Site", "cross-site")
		},
	} {
		if res := do(); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	for what, tt := range map[string]struct {
		n    byte
		want int
	}{"canceled": {23, 409}, "under way": {22, 409}, "no API": {28, 409}, "no booking": {99, 404}} {
		for _, res := range []answer{w.get(t, operator, cancelOf(tt.n)), w.post(t, operator, cancelOf(tt.n), form)} {
			if res.StatusCode != tt.want {
				t.Errorf("%s: %d", what, res.StatusCode)
			}
			wholesome(t, res, "en")
		}
	}
	for _, n := range []byte{23, 28} {
		if page := w.get(t, operator, "/bookings/"+id(n).String()); strings.Contains(page.body, "cancel-at-provider") {
			t.Errorf("booking %d offers a cancel", n)
		}
	}
	if len(e.asked) > 0 || len(e.retried) > 0 {
		t.Errorf("asked %v, retried %v", e.asked, e.retried)
	}
}

// Every status shows, with what went wrong and when it goes on.
func TestEffectsShow(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	browser := w.user(t, "ayu", access.Operator)
	for _, lang := range []string{"en", "id"} {
		page := w.get(t, browser, "/bookings/"+id(22).String(), "Accept-Language", lang)
		wholesome(t, page, lang)
		for _, want := range []string{
			`<q class="said" lang="en">&lt;b&gt;no&lt;/b&gt;</q>`, `action="/effects/` + id(191).String() + `/retry"`, `action="/effects/` + id(193).String() + `/retry"`,
			`datetime="2026-11-30T05:01:00Z"`, `datetime="2026-11-30T04:00:00Z"`,
		} {
			if !strings.Contains(page.body, want) {
				t.Errorf("%s: the page lacks %s", lang, want)
			}
		}
		if strings.Count(page.body, "/retry") != 2 {
			t.Error("what is queued or done can be tried again")
		}
	}
	res := w.post(t, browser, "/effects/"+id(193).String()+"/retry", nil)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/bookings/"+id(22).String()+"#effects" || !slices.Equal(e.retried, []uuid.UUID{id(193)}) {
		t.Errorf("%d %s, retried %v", res.StatusCode, res.Header.Get("Location"), e.retried)
	}
	res = w.post(t, browser, "/effects/"+id(192).String()+"/retry", nil)
	if res.StatusCode != http.StatusConflict {
		t.Errorf("what is done was tried again: %d", res.StatusCode)
	}
	wholesome(t, res, "en")
	if res := w.post(t, browser, "/effects/x/retry", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("no effect: %d", res.StatusCode)
	}
}

func TestAPICancel(t *testing.T) {
	t.Parallel()
	w, e := acting(t)
	w.records.bookings[7].Provider = "generic" // id 28
	post := func(scope access.Scope, path, body string) answer {
		return w.do(t, w.Client(), w.request(t, http.MethodPost, "/api/v1"+path, strings.NewReader(body),
			"Authorization", w.token(t, scope), "Content-Type", "application/json"))
	}
	for name, tt := range map[string]struct {
		scope  access.Scope
		path   string
		body   string
		status int
		code   string
		detail string
	}{
		"may only read":    {access.Read, cancelOf(21), `{}`, 403, "forbidden", ""},
		"may not retry":    {access.Read, "/effects/" + id(193).String() + "/retry", ``, 403, "forbidden", ""},
		"not the group":    {access.Operate, cancelOf(25), `{"message":"ill"}`, 409, "unconfirmed", "it cancels 2 bookings: confirm that number"},
		"not the number":   {access.Operate, cancelOf(25), `{"confirm":3}`, 409, "unconfirmed", "it cancels 2 bookings: confirm that number"},
		"canceled already": {access.Admin, cancelOf(23), `{"confirm":1}`, 409, "already_canceled", ""},
		"under way":        {access.Operate, cancelOf(22), `{"confirm":1}`, 409, "already_asked", ""},
		"a provider that can't": {
			access.Operate, cancelOf(28), `{"confirm":1}`, 409, "cannot_cancel", "generic has no API to cancel through: cancel it there by hand",
		},
		"no booking":         {access.Operate, cancelOf(99), `{"confirm":1}`, 404, "not_found", ""},
		"no id":              {access.Operate, "/bookings/x/cancel-at-provider", `{"confirm":1}`, 404, "not_found", ""},
		"no JSON":            {access.Operate, cancelOf(21), `{`, 400, "bad_request", "*"},
		"no such field":      {access.Operate, cancelOf(21), `{"confrim":1}`, 422, "invalid", "*"},
		"a message too long": {access.Operate, cancelOf(21), `{"message":"` + strings.Repeat("x", booking.MaxMessage+1) + `"}`, 422, "invalid", "*"},
		"done already":       {access.Operate, "/effects/" + id(192).String() + "/retry", ``, 409, "nothing_to_retry", ""},
		"no effect":          {access.Operate, "/effects/" + id(99).String() + "/retry", ``, 404, "not_found", ""},
	} {
		res := post(tt.scope, tt.path, tt.body)
		p := problemIn(t, res)
		detail, _ := p["detail"].(string)
		if res.StatusCode != tt.status || p["code"] != tt.code || tt.detail != "*" && detail != tt.detail {
			t.Errorf("%s: %d %v", name, res.StatusCode, p)
		}
	}
	if len(e.asked) > 0 || len(e.retried) > 0 {
		t.Fatalf("asked %v, retried %v", e.asked, e.retried)
	}

	res := post(access.Operate, cancelOf(25), `{"message":"we are ill","confirm":2}`)
	var got struct {
		ID        uuid.UUID  `json:"id"`
		BookingID uuid.UUID  `json:"booking_id"`
		Kind      string     `json:"kind"`
		Status    string     `json:"status"`
		Actor     string     `json:"actor"`
		RequestID string     `json:"request_id"`
		DueAt     *time.Time `json:"due_at"`
		DoneAt    *time.Time `json:"done_at"`
		Error     *string    `json:"error"`
	}
	if err := json.Unmarshal([]byte(res.body), &got); err != nil || res.StatusCode != http.StatusAccepted || got.BookingID != id(25) ||
		got.Kind != "cancel_at_provider" || got.Status != "pending" || !strings.HasPrefix(got.Actor, "token:") || got.DueAt == nil || got.DoneAt != nil ||
		got.Error != nil || got.RequestID != res.Header.Get("X-Request-ID") {
		t.Errorf("%d %s: %v", res.StatusCode, res.body, err)
	}
	if len(e.asked) != 1 || e.asked[0].Message != "we are ill" || e.asked[0].Confirm != 2 || e.entries[0].Remote == "" {
		t.Errorf("asked %+v", e.asked)
	}
	if res := post(access.Operate, cancelOf(21), `{}`); res.StatusCode != http.StatusAccepted {
		t.Errorf("one booking without its number: %d %s", res.StatusCode, res.body)
	}
	if res := post(access.Operate, "/effects/"+id(191).String()+"/retry", ``); res.StatusCode != http.StatusAccepted || !slices.Equal(e.retried, []uuid.UUID{id(191)}) {
		t.Errorf("retry: %d %s, %v", res.StatusCode, res.body, e.retried)
	}
	list := w.get(t, w.Client(), "/api/v1/bookings/"+id(25).String()+"/effects", "Authorization", w.token(t, access.Read))
	if list.StatusCode != http.StatusOK || !strings.Contains(list.body, got.ID.String()) || strings.Contains(list.body, "we are ill") {
		t.Errorf("effects: %d %s", list.StatusCode, list.body)
	}
	if res := w.get(t, w.Client(), "/api/v1/bookings/"+id(99).String()+"/effects", "Authorization", w.token(t, access.Read)); res.StatusCode != http.StatusNotFound {
		t.Errorf("effects of nothing: %d", res.StatusCode)
	}
}

func TestEffectMetrics(t *testing.T) {
	t.Parallel()
	w, _ := acting(t)
	w.metrics.EffectTried(booking.EffectCancel, booking.EffectDone)
	res := w.get(t, w.Client(), "/metrics", "Authorization", w.token(t, access.Read))
	for _, want := range []string{
		`slotkeeper_effects_total{kind="cancel_at_provider",status="done"} 1`,
		`slotkeeper_effects_open{kind="cancel_at_provider",status="dead"} 3`, `slotkeeper_effects_open{kind="cancel_at_provider",status="failed"} 0`,
	} {
		if !strings.Contains(res.body, want+"\n") {
			t.Error(fmt.Sprint("there is no ", want))
		}
	}
}

// Of each system that is told is measured what waits for it, for how long, whether it
// is off, and how each try ended; the label is our id, and nothing that anybody typed.
func TestEndpointMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	for _, cause := range []booking.AttemptCause{"", "", booking.AttemptTimeout} {
		w.metrics.EndpointTried(id(80), cause)
	}
	res := w.get(t, w.Client(), "/metrics", "Authorization", w.token(t, access.Read))
	told, off := `{endpoint="`+id(80).String()+`"}`, `{endpoint="`+id(81).String()+`"}`
	for _, want := range []string{
		"slotkeeper_endpoint_messages_waiting" + told + " 7", "slotkeeper_endpoint_messages_waiting" + off + " 0",
		"slotkeeper_endpoint_oldest_waiting_seconds" + told + " 1200", "slotkeeper_endpoint_oldest_waiting_seconds" + off + " 0",
		"slotkeeper_endpoint_off" + told + " 0", "slotkeeper_endpoint_off" + off + " 1",
		`slotkeeper_endpoint_attempts_total{endpoint="` + id(80).String() + `",result="taken"} 2`,
		`slotkeeper_endpoint_attempts_total{endpoint="` + id(80).String() + `",result="timeout"} 1`,
	} {
		if !strings.Contains(res.body, want+"\n") {
			t.Error(fmt.Sprint("there is no ", want))
		}
	}
}
