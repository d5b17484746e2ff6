package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// replays are *work.Replays without receipts: each is done at once, or under way
// until somebody stops it.
type replays struct {
	mu    sync.Mutex
	now   func() time.Time
	slow  bool
	found booking.ReplayCounts
	list  []booking.ReplayChange
	all   []booking.Replay
}

func (r *replays) Begin(_ context.Context, q booking.ReplayRequest, by access.By) (booking.Replay, error) {
	if err := q.Filter.Validate(); err != nil {
		return booking.Replay{}, err
	}
	if q.Filter.All() && !q.Everything {
		return booking.Replay{}, &booking.InvalidError{Detail: "name receipts"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, total := r.now(), 100
	out := booking.Replay{
		ID: id(byte(200 + len(r.all))), Filter: q.Filter, DryRun: q.DryRun, Refetch: q.Refetch, Status: booking.RunDone, Total: &total,
		ReplayCounts: r.found, Actor: by.Actor, StartedAt: now, MovedAt: now, FinishedAt: &now,
	}
	if r.slow {
		out.Status, out.FinishedAt = booking.RunRunning, nil
	}
	r.all = append(r.all, out)
	return out, nil
}

func (r *replays) Stop(_ context.Context, id uuid.UUID, _ access.By) (booking.Replay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.all, func(x booking.Replay) bool { return x.ID == id })
	if i < 0 {
		return booking.Replay{}, booking.ErrNotFound
	}
	if r.all[i].Status != booking.RunRunning {
		return r.all[i], &booking.ConflictError{Detail: "it has ended already"}
	}
	r.all[i].Status = booking.RunStopped
	return r.all[i], nil
}

func (r *replays) Replay(_ context.Context, id uuid.UUID) (booking.Replay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return find(r.all, func(x booking.Replay) bool { return x.ID == id })
}

func (r *replays) Newest(context.Context, int) ([]booking.Replay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all), nil
}

func (r *replays) Changes(context.Context, uuid.UUID) ([]booking.ReplayChange, error) {
	return r.list, nil
}

func (r *replays) last() booking.Replay {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

// An operator previews what a replay of chosen deliveries would change, replays them,
// and stops one that takes long; each page says where it is.
func TestReplayPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	w.replays.found = booking.ReplayCounts{Looked: 5, Changed: 2, Unchanged: 1, StillFailed: 1, NeedRefetch: 1, Transitions: 1}
	w.replays.list = []booking.ReplayChange{{
		ReceiptID: id(41), ConnectionID: id(1), Kind: booking.KindCreated, ReceivedAt: noon, Before: booking.StatusFailed, After: booking.StatusProcessed,
		Verdict: booking.StatusProcessed, Transitions: []booking.ReplayedTransition{
			{BookingID: id(21), Event: booking.Create, From: booking.New, To: booking.Active, Outcome: booking.Applied},
			{BookingID: id(99), Event: booking.Create, From: booking.Canceled, To: booking.Canceled, Outcome: booking.Rejected, Reason: booking.ReasonIllegal},
		},
	}, {ReceiptID: id(42), ConnectionID: id(1), Kind: booking.KindDetails, ReceivedAt: noon, Before: booking.StatusProcessed, After: booking.StatusProcessed}}
	ops := w.user(t, "ayu", access.Operator)
	viewer := w.user(t, "rani", access.Viewer)

	// Who may not replay is not offered it.
	if res := w.get(t, viewer, "/deliveries"); strings.Contains(res.body, "/deliveries/replay") {
		t.Error("a viewer is offered a replay")
	}
	for _, path := range []string{"/deliveries?range=all", "/deliveries/" + id(40).String()} {
		res := w.get(t, ops, path)
		has(t, path, res.body, `action="/deliveries/replay"`, id(40).String())
		wholesome(t, res, "en")
	}
	res := w.get(t, ops, "/deliveries/replay?status=dead&connection="+id(1).String()+"&from=2026-11-01")
	has(t, "the form", res.body, `<option value="dead" selected>`, `value="2026-11-01"`)
	// What must be chosen does not look as if it were: "all" is said by the box alone.
	has(t, "the form", res.body, "Choose at least one of these.", `<option value="">Choose…</option>`)
	hasNot(t, "the form", res.body, "All states", "All providers", ">Any<")
	wholesome(t, res, "en")

	for name, form := range map[string]url.Values{
		"nothing":            {},
		"none chosen":        {"chosen": {"1"}},
		"no day":             {"from": {"yesterday"}},
		"a day that is not":  {"to": {"2026-02-30"}},
		"days the wrong way": {"from": {"2026-11-02"}, "to": {"2026-11-01"}},
		"no receipt":         {"receipt": {"one"}},
		"no connection":      {"connection": {"one"}},
		"no status":          {"status": {"duplicate"}},
	} {
		res := w.post(t, ops, "/deliveries/replay", form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, `role="alert"`) {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
		wholesome(t, res, "en")
	}

	res = w.post(t, ops, "/deliveries/replay", url.Values{"chosen": {"1"}, "receipt": {id(41).String(), id(42).String()}})
	told := w.replays.last()
	if res.StatusCode != http.StatusSeeOther || !told.DryRun || !slices.Equal(told.Filter.IDs, []uuid.UUID{id(41), id(42)}) || !strings.HasPrefix(string(told.Actor), "user:") {
		t.Fatalf("%d %+v", res.StatusCode, told)
	}
	at := res.Header.Get("Location")
	res = w.get(t, ops, at)
	has(t, "the preview", res.body, "Would change", "/deliveries/"+id(41).String(), "/bookings/"+id(21).String(), `action="`+at+`/run"`, "2 chosen", "Only the provider knows")
	wholesome(t, res, "en")
	if res := w.get(t, viewer, at); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer sees it: %d", res.StatusCode)
	}

	res = w.post(t, ops, at+"/run", nil)
	done := w.replays.last()
	if res.StatusCode != http.StatusSeeOther || done.DryRun || !slices.Equal(done.Filter.IDs, told.Filter.IDs) || done.Filter.To == nil || !done.Filter.To.After(told.StartedAt) {
		t.Fatalf("%d %+v", res.StatusCode, done)
	}
	report := res.Header.Get("Location")
	res = w.get(t, ops, report)
	if strings.Contains(res.body, "/run\"") || strings.Contains(res.body, "Would change") {
		t.Error("what was done is offered again")
	}
	wholesome(t, res, "en")
	if res := w.post(t, ops, report+"/run", nil); res.StatusCode != http.StatusConflict {
		t.Errorf("a replay was taken for a preview: %d", res.StatusCode)
	}

	w.replays.slow = true
	res = w.post(t, ops, "/deliveries/replay", url.Values{"status": {"failed"}, "from": {"2026-11-01"}, "to": {"2026-11-01"}, "refetch": {"1"}})
	slow := w.replays.last()
	// The days are Jakarta's.
	if f := slow.Filter; !slow.Refetch || !f.From.Equal(time.Date(2026, 10, 31, 17, 0, 0, 0, time.UTC)) || f.To.Sub(*f.From) != 24*time.Hour {
		t.Errorf("asked for %+v", slow)
	}
	at = res.Header.Get("Location")
	res = w.get(t, ops, at)
	has(t, "under way", res.body, `data-live="`+at+`"`, "<progress", "5 of 100", `action="`+at+`/stop"`)
	wholesome(t, res, "en")
	if res := w.post(t, ops, at+"/run", nil); res.StatusCode != http.StatusConflict {
		t.Errorf("a preview that is not done: %d", res.StatusCode)
	}
	for range 2 { // the second time it has ended already
		if res := w.post(t, ops, at+"/stop", nil); res.StatusCode != http.StatusSeeOther || w.replays.last().Status != booking.RunStopped {
			t.Errorf("%d %+v", res.StatusCode, w.replays.last())
		}
	}
	wholesome(t, w.get(t, ops, at), "en")
	res = w.get(t, ops, "/deliveries/replay")
	has(t, "the list", res.body, at, "stopped")
	wholesome(t, res, "en")
	if res := w.get(t, ops, "/deliveries/replay/"+id(1).String()); res.StatusCode != http.StatusNotFound {
		t.Errorf("no replay: %d", res.StatusCode)
	}
}

func TestReplayAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	w.replays.found = booking.ReplayCounts{Looked: 1, Changed: 1, Transitions: 1}
	w.replays.list = []booking.ReplayChange{{ReceiptID: id(41), ConnectionID: id(1), Kind: booking.KindCreated, ReceivedAt: noon, Before: booking.StatusDead, After: booking.StatusProcessed, Transitions: []booking.ReplayedTransition{}}}
	token := func(scope access.Scope) string {
		secret, _, err := w.accounts.CreateToken(t.Context(), access.System, string(scope), scope)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	operate := token(access.Operate)
	post := func(secret, body string) (int, string) {
		res := w.do(t, w.Client(), w.request(t, http.MethodPost, "/api/v1/replays", strings.NewReader(body), "Authorization", "Bearer "+secret, "Content-Type", "application/json"))
		return res.StatusCode, res.body
	}
	if code, _ := post(token(access.Read), `{"status":["dead"]}`); code != http.StatusForbidden {
		t.Errorf("a reader: %d", code)
	}
	for _, body := range []string{`{}`, `{"status":["duplicate"]}`, `{"ids":["one"]}`, `{"from":"today"}`, `{"connection_id":"x"}`} {
		if code, text := post(operate, body); code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	code, text := post(operate, `{"status":["dead"],"dry_run":true,"kind":"invitee.created"}`)
	var got struct {
		ID     uuid.UUID `json:"id"`
		Status string    `json:"status"`
		DryRun bool      `json:"dry_run"`
		Looked int       `json:"looked"`
		Filter struct {
			Statuses []string `json:"statuses"`
		} `json:"filter"`
		Changes []struct {
			ReceiptID uuid.UUID `json:"receipt_id"`
			Before    string    `json:"before"`
			After     string    `json:"after"`
		} `json:"changes"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusAccepted || !got.DryRun || got.ID != w.replays.last().ID {
		t.Fatalf("%d %s %v", code, text, err)
	}
	if actor := w.replays.last().Actor; !strings.HasPrefix(string(actor), "token:") {
		t.Errorf("asked for by %s", actor)
	}
	res := w.get(t, w.Client(), "/api/v1/replays/"+got.ID.String(), "Authorization", "Bearer "+operate)
	if text = res.body; res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Looked != 1 || len(got.Changes) != 1 || got.Changes[0].Before != "dead" || got.Changes[0].After != "processed" {
		t.Errorf("%s, %v", text, err)
	}
}
