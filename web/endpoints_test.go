package web_test

import (
	"context"
	"encoding/json"
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
	"slotkeeper/web"
)

// endpoints keeps endpoints, and tests them.
type endpoints struct {
	all      []booking.Endpoint
	messages []booking.Effect // newest first
	tries    map[uuid.UUID][]booking.Attempt
	answer   booking.Attempt
	retried  []uuid.UUID
}

func (e *endpoints) Endpoints(context.Context) ([]booking.Endpoint, error) { return e.all, nil }

func (e *endpoints) at(id uuid.UUID) (*booking.Endpoint, error) {
	i := slices.IndexFunc(e.all, func(o booking.Endpoint) bool { return o.ID == id })
	if i < 0 {
		return nil, booking.ErrNotFound
	}
	return &e.all[i], nil
}

func (e *endpoints) Endpoint(_ context.Context, id uuid.UUID) (booking.Endpoint, error) {
	one, err := e.at(id)
	if err != nil {
		return booking.Endpoint{}, err
	}
	return *one, nil
}

func (e *endpoints) Webhooks(_ context.Context, _ uuid.UUID, status booking.EffectStatus, before int64, limit int) ([]booking.Effect, error) {
	var out []booking.Effect
	for _, m := range e.messages {
		if (status == "" || m.Status == status) && (before == 0 || m.Seq < before) && len(out) < limit {
			out = append(out, m)
		}
	}
	return out, nil
}

func (e *endpoints) Attempts(context.Context, []uuid.UUID) (map[uuid.UUID][]booking.Attempt, error) {
	return e.tries, nil
}

func (e *endpoints) AddEndpoint(_ context.Context, n booking.Endpoint, _ access.By) error {
	e.all = append(e.all, n)
	return nil
}

func (e *endpoints) RemoveEndpoint(_ context.Context, id uuid.UUID, _ access.By, _ time.Time) error {
	if _, err := e.at(id); err != nil {
		return err
	}
	e.all = slices.DeleteFunc(e.all, func(o booking.Endpoint) bool { return o.ID == id })
	return nil
}

func (e *endpoints) SwitchEndpoint(_ context.Context, id uuid.UUID, on, _ bool, _ access.By, now time.Time) error {
	one, err := e.at(id)
	if err != nil || on == (one.Off == "") {
		return booking.ErrNotFound
	}
	one.Off, one.OffAt = booking.OffByHand, &now
	if on {
		one.Off, one.OffAt = "", nil
	}
	return nil
}

func (e *endpoints) RotateEndpoint(_ context.Context, id uuid.UUID, secret string, _ access.By, _ time.Time) error {
	one, err := e.at(id)
	if err != nil {
		return err
	}
	if one.OldSecret != "" {
		return &booking.ConflictError{Code: "rotation_open"}
	}
	one.Secret, one.OldSecret = secret, one.Secret
	return nil
}

func (e *endpoints) FinishEndpointRotation(_ context.Context, id uuid.UUID, _ access.By, _ time.Time) error {
	one, err := e.at(id)
	if err == nil {
		one.OldSecret = ""
	}
	return err
}

func (e *endpoints) RetryWebhook(_ context.Context, endpoint, message uuid.UUID, _ access.Entry) error {
	if !slices.ContainsFunc(e.messages, func(m booking.Effect) bool { return m.ID == message && m.Target == booking.EndpointTarget(endpoint) }) {
		return booking.ErrNotFound
	}
	e.retried = append(e.retried, message)
	return nil
}

func (e *endpoints) Test(_ context.Context, id uuid.UUID, _ string, _ access.By) (booking.Attempt, error) {
	_, err := e.at(id)
	return e.answer, err
}

var secretShown = regexp.MustCompile(`whsec_[A-Za-z0-9+/=&#;]+`)

func TestEndpointPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	who := w.user(t, "citra", access.Administrator)
	says(t, w.get(t, who, "/settings/endpoints"), "No other system is told yet")
	const secretPath = "https://crm.clinic.example/hooks/planted-path"
	resource := full().resources[0].ID.String()
	for name, tt := range map[string]struct {
		form url.Values
		want string
	}{
		"no name":     {url.Values{"url": {secretPath}}, "at most 100 characters"},
		"no url":      {url.Values{"name": {"CRM"}, "url": {"crm"}}, "begins with https://"},
		"a file":      {url.Values{"name": {"CRM"}, "url": {"file:///etc/passwd"}}, "begins with https://"},
		"a password":  {url.Values{"name": {"CRM"}, "url": {"https://me:pass@crm.example/"}}, "no user name"},
		"an event":    {url.Values{"name": {"CRM"}, "url": {secretPath}, "event": {"booking.lost"}}, "Choose from the list"},
		"no resource": {url.Values{"name": {"CRM"}, "url": {secretPath}, "resource": {"7"}}, "Choose a resource"},
	} {
		res := w.post(t, who, "/settings/endpoints", tt.form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, tt.want) || len(w.endpoints.all) != 0 {
			t.Errorf("%s: answered %d, kept %d", name, res.StatusCode, len(w.endpoints.all))
		}
	}
	made := w.post(t, who, "/settings/endpoints", url.Values{"name": {"CRM"}, "url": {secretPath}, "event": {"booking.active", "booking.canceled"}, "resource": {resource}})
	if made.StatusCode != http.StatusCreated || len(w.endpoints.all) != 1 || len(secretShown.FindAllString(made.body, -1)) != 1 {
		t.Fatalf("answered %d with %q: %s", made.StatusCode, secretShown.FindAllString(made.body, -1), w.logs)
	}
	e := &w.endpoints.all[0]
	if len(e.Events) != 2 || len(e.Resources) != 1 || e.People || e.CreatedBy == "" {
		t.Errorf("kept is %+v", e)
	}
	at := "/settings/endpoints/" + e.ID.String()
	if page := says(t, w.get(t, who, at), "Booked, Canceled", secretPath, "There are none."); secretShown.MatchString(page) {
		t.Error("a secret is shown a second time")
	}
	if list := says(t, w.get(t, who, "/settings/endpoints"), "crm.clinic.example", "Booked, Canceled"); strings.Contains(list, "planted-path") {
		t.Error("the list shows a URL's path, which may be a secret")
	}

	w.endpoints.answer = booking.Attempt{Status: http.StatusOK}
	says(t, w.post(t, who, at+"/test", nil), "it answered 200")
	w.endpoints.answer = booking.Attempt{Status: http.StatusForbidden, Cause: booking.AttemptRefused, Error: "answered 403", Answer: "<script>no</script>"}
	if res := w.post(t, who, at+"/test", nil); res.StatusCode != http.StatusBadGateway || !strings.Contains(res.body, "&lt;script&gt;no") {
		t.Errorf("a test that is refused is answered %d", res.StatusCode)
	}
	rotated := w.post(t, who, at+"/rotate", nil)
	if len(secretShown.FindAllString(rotated.body, -1)) != 1 || !strings.Contains(rotated.body, "Two secrets sign") {
		t.Errorf("rotating is answered %d", rotated.StatusCode)
	}
	if res := w.post(t, who, at+"/rotate", nil); res.StatusCode != http.StatusConflict {
		t.Errorf("rotating twice is answered %d", res.StatusCode)
	}
	for _, tt := range []struct{ path, to, want string }{
		{"/finish", "", "Only the newest secret"}, {"/switch", "off", "Switch on and send what it missed"}, {"/switch", "off", "Switch on from now"}, {"/switch", "on", "Switched on"},
	} {
		res := w.post(t, who, at+tt.path, url.Values{"to": {tt.to}})
		if res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s is answered %d", tt.path, res.StatusCode)
		}
		says(t, w.get(t, who, res.Header.Get("Location")), tt.want)
	}
	if res := w.post(t, who, at+"/switch", nil); res.StatusCode != http.StatusBadRequest || w.endpoints.all[0].Off != "" {
		t.Errorf("a switch to nothing is answered %d", res.StatusCode)
	}
	if res := w.post(t, who, at+"/remove", nil); res.StatusCode != http.StatusSeeOther || len(w.endpoints.all) != 0 {
		t.Errorf("removing is answered %d", res.StatusCode)
	}
	for _, path := range []string{"/finish", "/test", "/rotate", "/remove"} {
		if res := w.post(t, who, at+path, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s of what is gone is answered %d", path, res.StatusCode)
		}
	}
}

// The log pages, filters, and says of each message how often it was tried and what
// was answered.
func TestEndpointLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	who := w.user(t, "citra", access.Administrator)
	e := booking.Endpoint{ID: id(70), Name: "CRM", URL: "https://crm.example/", CreatedAt: noon, CreatedBy: booking.ActorSystem}
	w.endpoints.all = []booking.Endpoint{e}
	w.endpoints.tries = map[uuid.UUID][]booking.Attempt{}
	for n := int64(60); n > 0; n-- {
		m := booking.Effect{
			Seq: n, ID: uuid.NewSHA1(id(71), []byte{byte(n)}), Kind: booking.EffectWebhook, Event: booking.EventActive, Status: booking.EffectDone, Attempts: 1,
			Lane: booking.Lane{BookingID: full().bookings[0].ID, Target: e.Target()}, CreatedAt: noon, DueAt: noon,
		}
		if n == 60 {
			m.Status, m.Attempts, m.Event = booking.EffectFailed, 2, booking.EventConflicted
			w.endpoints.tries[m.ID] = []booking.Attempt{{Number: 1, At: noon, Status: 500, Cause: booking.AttemptRefused, Error: "answered 500", Answer: "try later"}, {Number: 2, At: noon, Cause: booking.AttemptTimeout, Error: "no answer: timeout"}}
		}
		w.endpoints.messages = append(w.endpoints.messages, m)
	}
	at := "/settings/endpoints/" + e.ID.String()
	first := says(t, w.get(t, who, at), "Double booked", "2 attempts", "It answered 500.", "try later", "It did not answer within 15 seconds.", "did not get through yet", "before=11#log")
	if n := strings.Count(first, "/retry"); n != 50 {
		t.Errorf("%d messages can be sent again", n)
	}
	if older := says(t, w.get(t, who, at+"?before=11"), "got through"); strings.Count(older, "/retry") != 10 || strings.Contains(older, "Older messages") {
		t.Errorf("the second page has %d messages", strings.Count(older, "/retry"))
	}
	if failed := says(t, w.get(t, who, at+"?status=failed"), "Double booked"); strings.Count(failed, "/retry") != 1 {
		t.Error("the filter does not filter")
	}
	says(t, w.get(t, who, at+"?status=nonsense&before=x"), "Double booked")
	if list := w.get(t, who, "/settings/endpoints").body; strings.Contains(list, "15 seconds") {
		t.Error("the list tells of a trouble that is over")
	}
	w.endpoints.all[0].FailingSince = &e.CreatedAt
	says(t, w.get(t, who, "/settings/endpoints"), "nothing has got through since", "It did not answer within 15 seconds.")
	says(t, w.get(t, who, at+"?status=done"), "nothing has got through since", "It did not answer within 15 seconds.")
	again := at + "/messages/" + w.endpoints.messages[3].ID.String() + "/retry"
	if res := w.post(t, who, again, nil); res.StatusCode != http.StatusSeeOther || len(w.endpoints.retried) != 1 || w.endpoints.retried[0] != w.endpoints.messages[3].ID {
		t.Errorf("sending again is answered %d", res.StatusCode)
	}
	if res := w.post(t, who, at+"/messages/"+id(99).String()+"/retry", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("sending again what is not there is answered %d", res.StatusCode)
	}
}

// What is told is the booking as the API has it; people are told of where that was
// chosen, and nowhere else.
func TestWebhookBodies(t *testing.T) {
	t.Parallel()
	r := full()
	bodies := web.NewWebhookBodies(r)
	tr := r.transitions[0]
	i := slices.IndexFunc(r.bookings, func(b booking.View) bool { return b.ID == tr.BookingID })
	b := r.bookings[i]
	for _, people := range []bool{false, true} {
		e := booking.Endpoint{ID: id(70), People: people}
		body, err := bodies.Body(t.Context(), e, e.WebhookOf(&tr.Transition, "", noon))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Type      string
			Timestamp time.Time
			Data      struct {
				Booking struct {
					ID      uuid.UUID
					Status  string
					Invitee struct{ Name, Email, Phone *string }
				}
				Transition struct {
					Seq   int64
					ID    uuid.UUID
					Event string
				}
			}
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if got.Type != string(tr.EndpointEvent()) || !got.Timestamp.Equal(tr.RecordedAt) || got.Data.Booking.ID != b.ID || got.Data.Booking.Status != string(b.Status) ||
			got.Data.Transition.ID != tr.ID || got.Data.Transition.Seq != tr.Seq || got.Data.Transition.Event != string(tr.Event) {
			t.Errorf("told is %s", body)
		}
		for _, text := range []string{b.Invitee.Name, b.Invitee.Email, b.Invitee.Phone} {
			if text != "" && strings.Contains(string(body), text) != people {
				t.Errorf("people %v: %s", people, body)
			}
		}
	}
	if _, err := bodies.Body(t.Context(), booking.Endpoint{}, booking.Effect{Event: booking.EventActive, Action: id(99)}); err == nil {
		t.Error("what is not there is told")
	}
}

func (r *records) EndpointNames(context.Context) (map[uuid.UUID]string, error) {
	return map[uuid.UUID]string{id(70): "CRM"}, nil
}

// Whoever asks "does the customer database know?" finds it on the booking's page; it is
// nobody's business who sees some resources alone.
func TestBookingSaysWhoWasTold(t *testing.T) {
	t.Parallel()
	r := full()
	i := slices.IndexFunc(r.bookings, func(b booking.View) bool { return slices.Contains(b.ResourceIDs, id(10)) })
	b := r.bookings[i]
	done := noon
	e := booking.Endpoint{ID: id(70)}
	w := newWorld(t, r, nil, func(d *web.Deps) {
		d.Effects = &effects{records: r, list: []booking.Effect{
			{ID: id(72), Kind: booking.EffectWebhook, Event: booking.EventActive, Lane: booking.Lane{BookingID: b.ID, Target: e.Target()}, Status: booking.EffectDone, Attempts: 3, CreatedAt: noon, DoneAt: &done},
			{ID: id(73), Kind: booking.EffectWebhook, Event: booking.EventMoved, Lane: booking.Lane{BookingID: b.ID, Target: e.Target()}, Status: booking.EffectFailed, Attempts: 1, CreatedAt: noon, DueAt: noon},
		}}
	})
	at := "/bookings/" + b.ID.String()
	page := says(t, w.get(t, w.user(t, "ayu", access.Viewer), at), "Told to other systems", "CRM", "Booked", "got through", "3 attempts", "did not get through yet")
	if strings.Contains(page, "Asked of the provider") {
		t.Error("what another system is told is shown as asked of the provider")
	}
	limited := w.get(t, w.limited(t, "dewi", 10), at)
	if limited.StatusCode != http.StatusOK || strings.Contains(limited.body, "Told to other systems") {
		t.Errorf("a limited viewer is answered %d, with other systems: %v", limited.StatusCode, strings.Contains(limited.body, "CRM"))
	}
}
