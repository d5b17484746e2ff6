package acuity_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/providertest"
)

// get is a plain client's question and the list that comes.
func (p *place) get(t *testing.T, path string) []map[string]any {
	t.Helper()
	status, body := p.put(t, http.MethodGet, path, "")
	var out []map[string]any
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %.300s", path, status, body)
	}
	return out
}

func listed(all []map[string]any) []string {
	out := []string{}
	for _, a := range all {
		id, _ := a["id"].(float64)
		out = append(out, strconv.FormatInt(int64(id), 10))
	}
	return out
}

func TestStandInListFilters(t *testing.T) {
	p := newPlace(t)
	hana := acuitytest.Client{FirstName: "Hana", LastName: "Brightwater", Email: "hana+brightwater@example.org", Phone: "+12125550145"}
	book := func(c acuitytest.Client, typeID, calendarID int64, at time.Time) string {
		id, _, err := p.Book(c, typeID, calendarID, at)
		if err != nil {
			t.Fatal(err)
		}
		return number(id)
	}
	first := book(mirela, consult, doctor, noon)
	second := book(hana, mobility, studio, noon.Add(time.Hour))
	next := book(mirela, consult, doctor, noon.Add(day))
	late := book(mirela, consult, doctor, time.Date(2026, 9, 18, 3, 0, 0, 0, time.UTC)) // the 17th of the account
	gone := book(mirela, consult, studio, noon.Add(2*time.Hour))
	if _, err := p.Cancel(toInt(t, gone), true); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Tell(toInt(t, second), "", acuitytest.Answer{Question: "Is this your first visit?", Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"":                                            {late, next, second, first}, // the last first
		"direction=DESC":                              {late, next, second, first},
		"direction=ASC":                               {first, second, next, late},
		"canceled=true":                               {gone},
		"canceled=false":                              {late, next, second, first},
		"showall=true&direction=ASC":                  {first, second, gone, next, late},
		"max=2":                                       {late, next},
		"max=2&direction=ASC":                         {first, second},
		"minDate=2026-09-15&maxDate=2026-09-15":       {second, first},
		"minDate=2026-09-17":                          {late},
		"maxDate=2026-09-15&direction=ASC":            {first, second},
		"maxDate=2026-09-14":                          {},
		"calendarID=9120052":                          {second},
		"appointmentTypeID=71500012":                  {late, next, first},
		"firstName=Hana":                              {second},
		"lastName=okonjo&max=1":                       {late},
		"email=hana%2bbrightwater@example.org":        {second},
		"phone=%2b12125550145":                        {second},
		"field:15200330=yes":                          {second},
		"field:15200330=no":                           {},
		"page=2":                                      {late, next, second, first}, // there are no pages
		"calendarID=9120052&appointmentTypeID=1":      {},
		"showall=true&calendarID=9120052&direction=x": {gone, second},
	} {
		if got := listed(p.get(t, "/appointments?"+query)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	// Forms are left out when that is asked for.
	if _, body := p.put(t, http.MethodGet, "/appointments?firstName=Hana", ""); !strings.Contains(body, `"value":"yes"`) || !strings.Contains(body, "first visit?: yes") {
		t.Errorf("%s", body)
	}
	if _, body := p.put(t, http.MethodGet, "/appointments?firstName=Hana&excludeForms=true", ""); !strings.Contains(body, `"forms":[]`) || strings.Contains(body, "first visit") {
		t.Errorf("%s", body)
	}
	for _, query := range []string{"minDate=yesterday", "max=-1", "max=many"} {
		if status, body := p.put(t, http.MethodGet, "/appointments?"+query, ""); status != http.StatusBadRequest || !strings.Contains(body, `"bad_request"`) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	// A hundred, unless fewer are asked for; those of one time by their ids.
	at := noon.Add(10 * day)
	for range 110 {
		book(mirela, mobility, studio, at)
	}
	for _, query := range []string{"", "&max=500", "&max=100", "&direction=ASC"} {
		got := listed(p.get(t, "/appointments?minDate="+at.Format(time.DateOnly)+query))
		if len(got) != 100 || !slices.IsSorted(got) {
			t.Errorf("%q: %d, sorted %v", query, len(got), slices.IsSorted(got))
		}
	}
}

func TestStandInListsAsRecorded(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	p.subscribe(t)
	p.AddBlock(acuitytest.Block{CalendarID: doctor, Start: noon, End: noon.Add(time.Hour)})
	names := func(all []map[string]any) []string {
		var out []string
		for name := range all[0] {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	compare := func(path, recorded string) {
		t.Helper()
		var all []map[string]any
		if err := json.Unmarshal([]byte(file(t, recorded)), &all); err != nil {
			t.Fatal(err)
		}
		if got, want := names(p.get(t, path)), names(all); !slices.Equal(got, want) {
			t.Errorf("%s has\n%v, recorded\n%v", path, got, want)
		}
	}
	compare("/appointment-types", "support/appointment_types.json")
	compare("/webhooks", "support/webhooks_list.json")
	compare("/blocks", "support/blocks.json")
	if _, err := p.Cancel(toInt(t, id), false); err != nil {
		t.Fatal(err)
	}
	compare("/appointments?canceled=true", "appointments/list_canceled_true.json")
	b := p.get(t, "/blocks")[0]
	if b["start"] != "2026-09-15T08:00:00-0400" || b["calendarTimezone"] != "America/New_York" || b["recurring"] != nil || b["description"] != "Tuesday, September 15, 2026 8:00am - 9:00am" {
		t.Errorf("%v", b)
	}
}

func TestStandInAccount(t *testing.T) {
	p := placeWith(t, acuitytest.Options{Tempo: tempo, Timezone: "Europe/Lisbon"})
	_, body, _ := p.ask(t, http.MethodGet, "/me", apiKey)
	for _, want := range []string{`"id":90000001`, `"timezone":"Europe/Lisbon"`, `"can_use_api":false`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	types := p.get(t, "/appointment-types")
	if len(types) != 2 || types[0]["type"] != "service" || types[0]["classSize"] != nil || types[1]["type"] != "class" || types[1]["classSize"] != 12.0 {
		t.Errorf("%v", types)
	}
	p.DropCalendar(studio)
	if got := listed(p.get(t, "/calendars")); !slices.Equal(got, []string{"9120041"}) {
		t.Errorf("%v", got)
	}
}

func TestStandInKeys(t *testing.T) {
	p := newPlace(t)
	asks := func(key string, want int) {
		t.Helper()
		if status, _, _ := p.ask(t, http.MethodGet, "/me", key); status != want {
			t.Errorf("%q: %d, want %d", key, status, want)
		}
	}
	asks(apiKey, http.StatusOK)
	p.SetKey("another")
	asks(apiKey, http.StatusUnauthorized)
	asks("another", http.StatusOK)
	p.SetKey("")
	asks("another", http.StatusUnauthorized)
	asks("", http.StatusUnauthorized)
	for _, header := range []string{"Bearer ", "Bearer x", "Basic x", ""} {
		if status, _, _ := send(t, http.MethodGet, p.APIBase()+"/me", "", http.Header{"Authorization": {header}}); status != http.StatusUnauthorized {
			t.Errorf("%q: %d", header, status)
		}
	}
}

func TestStandInHooks(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		name, event, target string
		status              int
	}{
		{"an event of no appointment", "order.completed", target, http.StatusOK},
		{"port 443", "appointment.changed", "https://bookings.example:443/a", http.StatusOK},
		{"port 80", "appointment.changed", "http://bookings.example/a", http.StatusOK},
		{"another port", "appointment.changed", "https://bookings.example:8443/a", http.StatusBadRequest},
		{"another scheme", "appointment.changed", "ftp://bookings.example/a", http.StatusBadRequest},
		{"no host", "appointment.changed", "/a", http.StatusBadRequest},
		{"the short name", "changed", target, http.StatusBadRequest},
		{"no event", "", target, http.StatusBadRequest},
	} {
		if status, body := p.makeHook(t, c.event, c.target); status != c.status {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	if status, _ := p.put(t, http.MethodPost, "/webhooks", "event=appointment.changed"); status != http.StatusBadRequest {
		t.Errorf("a form: %d", status)
	}
	status, body := p.makeHook(t, "appointment.scheduled", target)
	var made struct {
		ID                    int64
		Event, Target, Status string
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusOK || made.Event != "appointment.scheduled" || made.Target != target || made.Status != "active" {
		t.Errorf("%d %s", status, body)
	}
	if all := p.get(t, "/webhooks"); len(all) != 4 || all[3]["id"] != float64(made.ID) {
		t.Errorf("%v", all)
	}

	// A disabled one is told of, and gets nothing.
	sent := func() int {
		t.Helper()
		_, posts, err := p.Book(mirela, consult, doctor, noon)
		if err != nil {
			t.Fatal(err)
		}
		return len(posts)
	}
	if n := sent(); n != 3 { // scheduled, and changed twice
		t.Errorf("%d posts", n)
	}
	p.DisableHooks(target)
	if all := p.get(t, "/webhooks"); all[3]["status"] != "disabled" || all[1]["status"] != "active" {
		t.Errorf("%v", all)
	}
	if n := sent(); n != 2 {
		t.Errorf("%d posts when one is disabled", n)
	}
	path := "/webhooks/" + number(made.ID)
	if status, body := p.put(t, http.MethodDelete, path, ""); status != http.StatusNoContent || body != "" {
		t.Errorf("removed: %d %s", status, body)
	}
	if status, _ := p.put(t, http.MethodDelete, path, ""); status != http.StatusNotFound {
		t.Errorf("removed twice: %d", status)
	}
	for range 22 {
		if status, body := p.makeHook(t, "appointment.changed", target); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	}
	if status, body := p.makeHook(t, "appointment.changed", target); status != http.StatusBadRequest || !strings.Contains(body, `"bad_request"`) {
		t.Errorf("the 26th: %d %s", status, body)
	}
	free := placeWith(t, acuitytest.Options{Tempo: tempo, AnyTarget: true})
	if status, _ := free.makeHook(t, "appointment.changed", "http://127.0.0.1:41234/a"); status != http.StatusOK {
		t.Errorf("any port: %d", status)
	}
}

// Static hooks and those made over the API add up, each with its own spelling and
// key, and a new key signs what hooks made before send.
func TestStandInHooksAddUp(t *testing.T) {
	p := newPlace(t)
	p.subscribe(t)
	p.AddHook(acuitytest.Hook{URL: target, Key: "main"})
	p.SetKey("another")
	id, posts, err := p.Book(mirela, consult, doctor, noon)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"scheduled": "main", "changed": "main", "appointment.scheduled": "another", "appointment.changed": "another"}
	var actions []string
	for _, post := range posts {
		form, err := url.ParseQuery(string(post.Body))
		action := form.Get("action")
		if err != nil || form.Get("id") != number(id) {
			t.Errorf("%s", post.Body)
		}
		if _, err := p.provider.Verify(providers.Request{Header: post.Header, Body: post.Body}, providers.Secrets{Current: keys[action]}, noon); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		actions = append(actions, action)
	}
	if !slices.Equal(actions, []string{"scheduled", "appointment.scheduled", "changed", "appointment.changed"}) {
		t.Errorf("%v", actions)
	}

	// In any order and number, but none is lost and none is new.
	random := rand.New(rand.NewPCG(1, 2))
	orders := map[string]bool{}
	for range 20 {
		var got []string
		for _, post := range acuitytest.Scatter(random, posts) {
			got = append(got, string(post.Body))
		}
		orders[strings.Join(got, "\n")] = true
		if n := len(got); n < len(posts) || n > 3*len(posts) {
			t.Errorf("%d of %d", n, len(posts))
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != len(posts) {
			t.Errorf("%v", got)
		}
	}
	if len(orders) < 2 {
		t.Error("always the same")
	}
}

func TestStandInCancels(t *testing.T) {
	p := newPlace(t)
	soon := func() string {
		t.Helper()
		id, _, err := p.Book(mirela, consult, doctor, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return number(id)
	}
	p.SetNotice(day)
	a, b, locked := soon(), soon(), soon()
	p.Lock(toInt(t, locked), acuitytest.ErrCancelNotAllowed)
	p.subscribe(t)
	for _, c := range []struct {
		name, id, query, body string
		status                int
		text                  string
	}{
		{"a client, too late", a, "", "{}", http.StatusBadRequest, recordedError(t, "400_cancel_too_close").text},
		{"no object", a, "?admin=true", "", http.StatusBadRequest, recordedError(t, "400_bad_request").text},
		{"null", a, "?admin=true", "null", http.StatusBadRequest, recordedError(t, "400_bad_request").text},
		{"an administrator", a, "?admin=true", `{"cancelNote":"ill","noShow":true}`, http.StatusOK, `"canceled":true`},
		{"again", a, "?admin=true", "{}", http.StatusBadRequest, `"error":"cancel_not_allowed"`},
		{"what Acuity refuses", locked, "?admin=true", "{}", http.StatusBadRequest, `"error":"cancel_not_allowed"`},
		{"unknown", "17", "?admin=true", "{}", http.StatusNotFound, recordedError(t, "404_not_found").text},
		{"no number", "x", "?admin=true", "{}", http.StatusNotFound, ""},
	} {
		if status, body := p.put(t, http.MethodPut, "/appointments/"+c.id+"/cancel"+c.query, c.body); status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s: %d %s, want %s", c.name, status, body, c.text)
		}
	}
	if got, _ := p.Appointment(toInt(t, a)); !got.NoShow || got.CancelNote != "ill" {
		t.Errorf("%+v", got)
	}
	if due := p.Due(); len(due) != 2 {
		t.Errorf("%d posts", len(due))
	}
	// A client in time may, but cannot say that nobody came.
	p.SetNotice(0)
	if status, body := p.put(t, http.MethodPut, "/appointments/"+b+"/cancel", `{"noShow":true}`); status != http.StatusOK || !strings.Contains(body, `"noShow":false`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestStandInBlocks(t *testing.T) {
	p := newPlace(t)
	var ids []string
	for i, calendar := range []int64{doctor, studio, doctor} {
		start := noon.Add(time.Duration(2-i) * day)
		ids = append(ids, number(p.AddBlock(acuitytest.Block{CalendarID: calendar, Start: start, End: start.Add(2 * day)})))
	}
	for query, want := range map[string][]string{
		"":                                      {ids[2], ids[1], ids[0]},
		"max=1":                                 {ids[2]},
		"calendarID=9120052":                    {ids[1]},
		"minDate=2026-09-16":                    {ids[1], ids[0]}, // by their beginning
		"minDate=2026-09-16&maxDate=2026-09-16": {ids[1]},
	} {
		if got := listed(p.get(t, "/blocks?"+query)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	if status, _ := p.put(t, http.MethodGet, "/blocks?max=x", ""); status != http.StatusBadRequest {
		t.Errorf("%d", status)
	}
}

func TestStandInOAuthRefuses(t *testing.T) {
	app := acuitytest.App{ClientID: "app", ClientSecret: "app secret", RedirectURI: "https://bookings.example/oauth/callback"}
	p := placeWith(t, acuitytest.Options{Tempo: tempo, App: app})
	none := newPlace(t)
	good := url.Values{"response_type": {"code"}, "scope": {"api-v1"}, "client_id": {app.ClientID}, "redirect_uri": {app.RedirectURI}}
	for name, value := range map[string]string{"scope": "api", "client_id": "x", "redirect_uri": "https://elsewhere.example/", "response_type": "token"} {
		bad := url.Values{}
		for k, v := range good {
			bad[k] = v
		}
		bad.Set(name, value)
		if status, header, _ := send(t, http.MethodGet, p.URL()+"/oauth2/authorize?"+bad.Encode(), "", nil); status != http.StatusBadRequest || header.Get("Location") != "" {
			t.Errorf("%s=%s: %d", name, value, status)
		}
	}
	if status, _, _ := send(t, http.MethodGet, none.URL()+"/oauth2/authorize?"+good.Encode(), "", nil); status != http.StatusBadRequest {
		t.Errorf("without an app: %d", status)
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {"x"}, "redirect_uri": {app.RedirectURI}, "client_id": {app.ClientID}, "client_secret": {app.ClientSecret},
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if status, _, body := send(t, http.MethodPost, p.URL()+"/oauth2/token", form.Encode(), header); status != http.StatusBadRequest || !strings.Contains(body, "invalid_grant") {
		t.Errorf("%d %s", status, body)
	}
}

// What was recorded of the real API reads as what the stand-in says.
func TestRecordedLists(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(file(t, map[string]string{ // the client sees what is missing
			"/appointments": "appointments/list_showall_true.json", "/calendars": "support/calendars.json",
			"/blocks": "support/blocks.json", "/webhooks": "support/webhooks_list.json",
		}[r.URL.Path])))
	}))
	t.Cleanup(s.Close)
	p := adapter()
	c := providers.Connection{Provider: acuity.Name, APIBase: s.URL, API: providers.Credentials{User: "1"}, Secrets: providers.Secrets{Current: "key"}}
	w := providers.Window{From: noon.Add(-14 * day), To: noon.Add(14 * day)}
	page, err := p.List(t.Context(), s.Client(), c, providertest.Origin(p), w, "2026-09-17", noon)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1841200301", "1841200302", "1841200303", "1841200305"}
	if got := externalIDs(t, page.Standings); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for _, standing := range page.Standings {
		providertest.CheckFetched(t, standing.Delivery, standing.Kind, "")
		if body := string(standing.Body); strings.Contains(body, "running") || strings.Contains(body, "confirmationPage") {
			t.Errorf("kept: %s", body)
		}
	}
	blocks, err := p.Blocks(t.Context(), s.Client(), c, w)
	start := time.Date(2026, 9, 23, 16, 0, 0, 0, time.UTC)
	if err != nil || len(blocks) != 1 || blocks[0].ExternalID != "9990000618" || !blocks[0].StartsAt.Equal(start) || !blocks[0].EndsAt.Equal(start.Add(time.Hour)) || blocks[0].Note != "" || blocks[0].Host.Name != "Dr. Ines Falk" {
		t.Errorf("%+v (%v)", blocks, err)
	}
	hooks, err := p.Hooks(t.Context(), s.Client(), c, "https://bookings.example.com/hooks/acuity/t_7f3a")
	if err != nil || !slices.Equal(ids(hooks), []string{"501", "502"}) || !hooks[0].Active || hooks[1].Kinds[0] != "appointment.changed" {
		t.Errorf("%+v (%v)", hooks, err)
	}
}
