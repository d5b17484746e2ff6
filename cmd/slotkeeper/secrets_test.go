package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSecretsStaySecret plants secrets of the installation, of its connections
// and inside bodies, and people's data, lets all of it pass through every verdict
// that there is, and then looks wherever somebody else might.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		signIn := s.withApp(t)
		h := &hiding{server: s, token: s.token(t, "read"), accounts: map[string]connected{}}
		h.plantOurs(t)
		h.plantAccounts(t, signIn)
		h.plantBodies(t)
		db := s.database(t)

		for where, text := range h.shown(t) {
			absent(t, where, text, h.secrets)
			absent(t, where, text, h.inBodies)
		}
		quiet := []string{s.get(t, "/metrics", h.token), s.get(t, "/api/v1/openapi.json", h.token)}
		absent(t, "the metrics", quiet[0], append(h.people, h.unkept...))
		absent(t, "the API's description", quiet[1], append(h.people, h.unkept...))

		for table, text := range s.dump(t, db) {
			absent(t, "the table "+table, text, h.secrets)
			absent(t, "the table "+table, text, h.inBodies)
			absent(t, "the table "+table, text, h.unkept)
			// Who is invited stands where bookings do, and nowhere else.
			if table != "bookings" && table != "attendances" {
				absent(t, "the table "+table, text, h.people)
			}
			if table == "webhook_receipts" && strings.Contains(text, `{"`+"event") {
				t.Error("a body is kept in clear")
			}
		}
		h.files(t, "beside the running server")
		s.stop(t)
		h.files(t, "after it ended")
		log := s.log.String()
		absent(t, "the log", log, slices.Concat(h.secrets, h.inBodies, h.people, h.unkept))
		for _, msg := range []string{"delivery", "delivery refused", "transition refused", "request"} {
			if len(s.logged(t, msg)) == 0 {
				t.Errorf("the log has no %q: nothing was proven of it", msg)
			}
		}
	})
}

// hiding is an installation with things in it that must not be seen.
type hiding struct {
	*server
	token    string
	operator string // the cookie's value
	accounts map[string]connected

	secrets  []planted // ours and the connections': nowhere
	inBodies []planted // what a body's holder could use: in clear nowhere
	people   []planted // who is invited: where bookings are shown and kept
	unkept   []planted // what is in bodies and not wanted of them: shown to operators only
}

// plantOurs makes every secret that there is, and uses it.
func (h *hiding) plantOurs(t *testing.T) {
	t.Helper()
	hide := func(name, value string) {
		if len(value) < 8 {
			t.Fatalf("%s is %q", name, value)
		}
		h.secrets = append(h.secrets, planted{name, value})
	}
	hide("the key", secretKey)
	hide("the administrator's password", adminPassword)
	hide("a token", h.token)
	for _, scope := range []string{"operate", "admin"} {
		hide("a token", h.server.token(t, scope))
	}
	var feed struct {
		URL string `json:"url"`
	}
	decode(t, h.run(t, "feeds", "add", "--name", "desk", "--level", "busy"), &feed)
	address := strings.TrimPrefix(feed.URL, h.url)
	hide("a feed's secret", strings.TrimSuffix(strings.TrimPrefix(address, "/feeds/"), ".ics"))
	for _, path := range []string{address, address + "x", strings.TrimSuffix(address, ".ics")} {
		h.status(t, path, "")
	}
	for name, a := range h.connectAll(t) {
		hide("the previous signing secret of "+name, a.secret)
		a.must(t, a.body(t, said{"create", "before-" + name, monday.AddDate(0, 1, 0), monday, nil}))
		var out struct {
			Secret string `json:"signing_secret"`
		}
		decode(t, h.run(t, "connections", "rotate", a.id.String()), &out)
		a.secret = out.Secret
		hide("the signing secret of "+name, a.secret)
		// The server may believe for a second what it knew before.
		waitFor(t, "the new key to be known", func() error {
			if got := a.deliver(t, a.body(t, said{"create", "after-" + name, monday.AddDate(0, 1, 1), monday, nil})); got.status != http.StatusOK {
				return errors.New(string(got.body))
			}
			return nil
		})
		h.accounts[name] = a
	}

	const operatorPassword = "the operator's own password"
	hide("a one-time link", h.linkFor(t, "unused", "viewer"))
	link := h.linkFor(t, "operator", "operator")
	hide("a used one-time link", link)
	ask(t, http.MethodGet, h.url+"/link/"+link, nil, http.Header{})
	first := h.cookie(t, ask(t, http.MethodPost, h.url+"/link/"+link, nil, http.Header{}))
	hide("a session", first)
	changed := h.form(t, "/settings/password", first, url.Values{"current": {""}, "password": {operatorPassword}})
	hide("the operator's password", operatorPassword)
	hide("a session after the password changed", h.cookie(t, changed))
	h.operator = h.cookie(t, h.form(t, "/signin", "", url.Values{"username": {"operator"}, "password": {operatorPassword}}))
	hide("the operator's session", h.operator)
	hide("the administrator's session", h.cookie(t, h.form(t, "/signin", "", url.Values{"username": {"admin"}, "password": {adminPassword}})))

	// What people do with secrets.
	const mistyped = "an almost right password"
	hide("a mistyped password", mistyped)
	h.form(t, "/signin", "", url.Values{"username": {"admin"}, "password": {mistyped}})
	h.form(t, "/signin", "", url.Values{"username": {mistyped}, "password": {"admin"}})
	h.page(t, "/link/"+link, "", http.StatusNotFound)
	h.page(t, "/calendar", mistyped, http.StatusSeeOther)
	ask(t, http.MethodGet, h.url+"/api/v1/bookings", nil, http.Header{"Authorization": {"Bearer " + mistyped}})
}

func (h *hiding) linkFor(t *testing.T, name, role string) string {
	t.Helper()
	_, link, ok := strings.Cut(h.run(t, "user", "add", name, "--role", role), "/link/")
	if !ok {
		t.Fatal("no link was printed")
	}
	return strings.TrimSpace(link)
}

func (h *hiding) form(t *testing.T, path, cookie string, values url.Values) answer {
	t.Helper()
	return h.visit(t, http.MethodPost, path, values.Encode(), cookie)
}

func (h *hiding) page(t *testing.T, path, cookie string, status int) string {
	t.Helper()
	got := h.visit(t, http.MethodGet, path, "", cookie)
	if got.status != status {
		t.Fatalf("%s answered %d %s", path, got.status, got.body)
	}
	return string(got.body)
}

// visit asks as a browser does, with a session's cookie.
func (h *hiding) visit(t *testing.T, method, path, form, cookie string) answer {
	t.Helper()
	header := http.Header{}
	if form != "" {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		header.Set("Cookie", "slotkeeper_session="+cookie)
	}
	return ask(t, method, h.url+path, []byte(form), header)
}

// cookie is the session that an answer began.
func (h *hiding) cookie(t *testing.T, got answer) string {
	t.Helper()
	for _, line := range got.header["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == "slotkeeper_session" && c.Value != "" {
			return c.Value
		}
	}
	t.Fatalf("no session began: %d %v", got.status, got.header)
	return ""
}

// plantBodies posts bodies with secrets and people in them, to every verdict.
func (h *hiding) plantBodies(t *testing.T) {
	t.Helper()
	const (
		name, email, phone = "Zuleika Quillfeather", "zuleika.quillfeather@mail.example", "+44 20 7946 0123"
		title, note        = "Sleepwalking consultation", "remember the blue folder"
	)
	h.people = []planted{
		{"a name", name},
		{"a name", "Quillfeather"},
		{"an e-mail", email},
		{"an e-mail", "Zuleika.Quillfeather@Mail.example"},
		{"a phone number", phone},
		{"a title", title},
	}
	h.unkept = []planted{{"what a body says besides", note}}
	hide := func(name, value string) string {
		h.inBodies = append(h.inBodies, planted{name, value})
		return value
	}
	video := hide("a video password", "eyJhbGci.planted.videotoken")
	join := "https://zoom.example/j/981?pwd=" + hide("a join link", "plantedJoinLink1")
	withs := map[string]changes{
		"calendly": {
			"payload.name": name, "payload.email": email, "payload.text_reminder_number": phone, "payload.scheduled_event.name": title,
			"payload.cancel_url":     "https://calendly.com/cancellations/" + hide("a cancel URL", "plantedCancel1"),
			"payload.reschedule_url": "https://calendly.com/reschedulings/" + hide("a reschedule URL", "plantedReschedule1"),
			"payload.scheduled_event.location": map[string]any{
				"type": "zoom_conference", "status": "pushed", "join_url": join, "data": map[string]any{"password": video, "id": hide("a meeting's id", "plantedMeeting1")},
			},
			"payload.questions_and_answers": []any{
				map[string]any{"question": "Notes", "answer": note, "position": 0},
				map[string]any{"question": "Link", "answer": "use https://call.example/" + hide("a link in an answer", "plantedAnswer1"), "position": 1},
			},
		},
		"calcom": {
			"payload.attendees.0.name": name, "payload.attendees.0.email": email, "payload.attendees.0.phoneNumber": phone,
			"payload.responses": map[string]any{"name": map[string]any{"value": name}, "email": map[string]any{"value": email}},
			"payload.title":     title, "payload.additionalNotes": note,
			"payload.oneTimePassword": hide("a one-time password", "planted-0000-4000-otp"),
			"payload.location":        join,
			"payload.videoCallData":   map[string]any{"type": "daily_video", "id": hide("a video call's id", "planted-cal-video"), "password": video, "url": join},
			"payload.metadata":        map[string]any{"videoCallUrl": join},
			"payload.conferenceData":  map[string]any{"entryPoints": hide("conference data", "plantedConference1")},
			"payload.paymentData":     map[string]any{"externalId": hide("a payment's id", "pi_planted_1")},
		},
		"generic": {
			"booking.invitee.name": name, "booking.invitee.email": email, "booking.invitee.phone": phone,
			"booking.title": title, "booking.location": join, "note": note,
			"api_token": hide("a token in a body", "tok_planted_generic"),
			"door":      map[string]any{"password": hide("a password in a body", "planted-door-1234")},
		},
	}
	for _, provider := range slices.Sorted(maps.Keys(h.accounts)) {
		h.throughEveryVerdict(t, h.accounts[provider], withs[provider])
	}
	// Whose ids are people's e-mails.
	a := h.accounts["generic"]
	const client = "client.quillfeather@mail.example"
	body := a.body(t, said{"create", client, monday.AddDate(0, 2, 0), monday, nil})
	var r receiptItem
	decode(t, h.get(t, "/api/v1/receipts/"+a.deliver(t, body).text("event_id"), h.token), &r)
	absent(t, "an event key", r.EventKey, []planted{{"an e-mail", client}})
}

// throughEveryVerdict posts bodies that all say the same secrets.
func (h *hiding) throughEveryVerdict(t *testing.T, a connected, with changes) {
	t.Helper()
	day := func(n int) time.Time { return monday.AddDate(0, 0, n) }
	body := func(kind, id string, n int, more changes) []byte {
		c := maps.Clone(with)
		maps.Copy(c, more)
		return a.body(t, said{kind, a.Name() + "-" + id, day(n), monday, c})
	}
	f := fieldsOf[a.Name()]
	held := body("create", "held", 0, nil)
	type post struct {
		body   []byte
		status string
	}
	posts := []post{
		{held, "processed"},
		{held, "duplicate"},
		{body("create", "rival", 0, nil), "conflict"},
		{body("cancel", "gone", 2, nil), "processed"},
		{body("create", "gone", 2, nil), "rejected"},
		{body("create", "kind", 3, changes{f.kind: "something.else"}), "ignored"},
		{body("create", "zone", 3, changes{f.zone: "Europe/Atlantis"}), "failed"},
		{held[:len(held)-9], "failed"},
		{append(body("create", "nul", 4, nil), 0), "failed"},
	}
	switch a.Name() {
	case "calendly":
		noShow := sample(t, "calendly", "10_no_show_created.json", changes{
			"payload.name": with["payload.name"], "payload.email": with["payload.email"], "payload.cancel_url": with["payload.cancel_url"],
			"payload.scheduled_event.location": with["payload.scheduled_event.location"],
		})
		posts = append(posts, post{noShow, "waiting"})
		unsaid := maps.Clone(with)
		for path := range unsaid {
			if strings.HasPrefix(path, "payload.scheduled_event.") {
				delete(unsaid, path)
			}
		}
		posts = append(posts, post{sample(t, "calendly", "90_legacy_v2_2022_invitee_created_no_scheduled_event.json", unsaid), "pending"})
	case "calcom":
		posts = append(posts,
			post{sample(t, "calcom", "booking_no_show_updated.json", changes{"payload.bookingUid": "to-come", "payload.attendees.0.email": with["payload.attendees.0.email"]}), "waiting"},
			post{body("create", "template", 5, changes{"triggerEvent": gone}), "failed"},
			post{body("request", "asked", 6, nil), "processed"})
	}
	for i, p := range posts {
		if got := a.deliver(t, p.body); got.text("status") != p.status {
			t.Fatalf("post %d of %s is %d %s, want %s", i, a.Name(), got.status, got.body, p.status)
		}
		// Forged, it is not even kept.
		forged := a.Sign(p.body, "a key that was guessed", time.Now())
		if got := ask(t, http.MethodPost, a.webhook(), p.body, forged); got.status != http.StatusUnauthorized {
			t.Errorf("forged, it got %d", got.status)
		}
	}
}

// shown is all that the server shows to whoever may look: the API's answers, the
// pages as an operator sees them, and what the commands print.
func (h *hiding) shown(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, list := range []string{"bookings", "slots", "transitions", "receipts", "connections", "resources"} {
		path := "/api/v1/" + list
		out[path] = h.get(t, path+"?limit=200", h.token)
		if list == "slots" || list == "resources" {
			continue // have no items of their own
		}
		for _, item := range api[struct {
			ID string `json:"id"`
		}](t, h.server, h.token, list) {
			out[path+"/"+item.ID] = h.get(t, path+"/"+item.ID, h.token)
		}
	}
	wrong := ask(t, http.MethodGet, h.url+"/api/v1/bookings?from=soon", nil, http.Header{"Authorization": {"Bearer " + h.token}})
	out["an error of the API"] = string(wrong.body)
	for _, path := range []string{"/metrics", "/api/v1/openapi.json"} {
		out[path] = h.get(t, path, h.token)
	}
	for _, command := range [][]string{
		{"connections", "list", "--json"},
		{"connections", "list"},
		{"resources", "list", "--json"},
		{"token", "list", "--json"},
		{"token", "list"},
		{"migrate", "status"},
	} {
		out[strings.Join(command, " ")] = h.run(t, command...)
	}
	maps.Copy(out, h.pages(t))
	return out
}

func (h *hiding) pages(t *testing.T) map[string]string {
	t.Helper()
	date := monday.Format(time.DateOnly)
	paths := []string{
		"/calendar?date=" + date, "/calendar?view=week&date=" + date, "/calendar?view=week&status=canceled&status=conflicted&date=" + date,
		"/audit", "/audit?show=all", "/connections", "/resources", "/settings",
	}
	for _, b := range api[bookingItem](t, h.server, h.token, "bookings") {
		page := "/bookings/" + b.ID.String()
		paths = append(paths, page)
		for _, r := range api[receiptItem](t, h.server, h.token, "receipts?booking_id="+b.ID.String()) {
			paths = append(paths, page+"?receipt="+r.ID.String())
		}
	}
	for _, tr := range api[struct {
		ID string `json:"id"`
	}](t, h.server, h.token, "transitions") {
		paths = append(paths, "/audit/"+tr.ID)
	}
	out := map[string]string{}
	bodies := 0
	for _, path := range paths {
		out[path] = h.page(t, path, h.operator, http.StatusOK)
		if strings.Contains(out[path], h.unkept[0].value) && strings.Contains(out[path], "[redacted]") {
			bodies++
		}
	}
	out["a page that is not there"] = h.page(t, "/bookings/nothing", h.operator, http.StatusNotFound)
	out["the door"] = h.page(t, "/signin", "", http.StatusOK)
	// An operator is shown what was sent, but for the secrets in it.
	if bodies < 10 {
		t.Errorf("only %d pages show a body: little was proven of them", bodies)
	}
	if all := strings.Join(slices.Collect(maps.Values(out)), ""); !strings.Contains(all, "Quillfeather") {
		t.Error("no page says who is invited")
	}
	return out
}

// files looks into what lies in the data directory: the embedded database, its
// write-ahead log and its index.
func (h *hiding) files(t *testing.T, when string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(h.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(name)
		seen[base] = len(b) > 0
		for _, values := range [][]planted{h.secrets, h.inBodies, h.unkept} {
			absent(t, fmt.Sprintf("%s %s", base, when), string(b), values)
		}
	}
	if h.db == "" && (!seen["slotkeeper.db"] || h.cmd != nil && !seen["slotkeeper.db-wal"]) {
		t.Errorf("the files are %v %s", seen, when)
	}
}
