package web_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ical "github.com/emersion/go-ical"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

// feedShelf is the store of *access.Feeds in memory.
type feedShelf struct {
	accounts *accounts // which has the admin log

	mu  sync.Mutex
	all []access.Feed
}

func (s *feedShelf) AddFeed(ctx context.Context, f access.Feed, e access.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append([]access.Feed{f}, s.all...)
	return s.accounts.Apply(ctx, access.Change{Entry: e})
}

func (s *feedShelf) RevokeFeed(ctx context.Context, id uuid.UUID, e access.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(f access.Feed) bool { return f.ID == id && f.RevokedAt == nil })
	if i < 0 {
		return booking.ErrNotFound
	}
	s.all[i].RevokedAt = &e.At
	return s.accounts.Apply(ctx, access.Change{Entry: e})
}

func (s *feedShelf) Feeds(context.Context) ([]access.Feed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all), nil
}

func (s *feedShelf) FeedByHash(_ context.Context, hash []byte) (access.Feed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return find(s.all, func(f access.Feed) bool { return bytes.Equal(f.Hash, hash) })
}

func (s *feedShelf) TouchFeed(_ context.Context, id uuid.UUID, when time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.all {
		if s.all[i].ID == id {
			s.all[i].LastUsedAt = &when
		}
	}
	return nil
}

// revisions are as many for each chain as it has bookings, an hour ago.
func (r *records) revisions(_ context.Context, chains []uuid.UUID) (map[uuid.UUID]booking.Revision, error) {
	if err := r.failing(); err != nil {
		return nil, err
	}
	out := map[uuid.UUID]booking.Revision{}
	for _, b := range r.bookings {
		if slices.Contains(chains, b.ChainID) {
			v := out[b.ChainID]
			v.Members, v.Changes, v.Modified = append(v.Members, b.ID), v.Changes+1, noon.Add(-time.Hour)
			out[b.ChainID] = v
		}
	}
	return out, nil
}

func (w *world) addFeed(t *testing.T, owner *access.User, n access.NewFeed) string {
	t.Helper()
	if n.Name == "" {
		n.Name = "Desk"
	}
	secret, _, err := w.feeds.Add(t.Context(), access.System, owner, n)
	if err != nil {
		t.Fatal(err)
	}
	return web.FeedPath(secret)
}

// ask is what a program does that follows a feed: it has no cookie.
func (w *world) ask(t *testing.T, method, path string, header ...string) answer {
	t.Helper()
	return w.do(t, w.Client(), w.request(t, method, path, http.NoBody, header...))
}

// events are a feed's, by what they say in their summary.
func (w *world) events(t *testing.T, path string) (map[string]*ical.Component, string) {
	t.Helper()
	res := w.ask(t, http.MethodGet, path)
	body := res.body
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s", res.StatusCode, body)
	}
	cal, err := ical.NewDecoder(strings.NewReader(body)).Decode()
	if err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	out, uids := map[string]*ical.Component{}, map[string]bool{}
	for _, e := range cal.Events() {
		uid := e.Props.Get(ical.PropUID).Value
		if uids[uid] {
			t.Errorf("two events have the UID %s", uid)
		}
		uids[uid] = true
		summary, err := e.Props.Text(ical.PropSummary)
		if err != nil {
			t.Fatal(err)
		}
		out[summary] = e.Component
	}
	return out, body
}

func TestFeedLevels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	busy, body := w.events(t, w.addFeed(t, nil, access.NewFeed{Level: booking.FeedBusy}))
	if len(busy) != 1 || busy["Busy"] == nil {
		t.Errorf("summaries of busy: %v", busy)
	}
	for _, word := range []string{"Intake", "Rani", "Wijaya", "Jonas", "example.com", "Room", "slots.example", "LOCATION", "DESCRIPTION", "URL", "calendly", "Consulting"} {
		if strings.Contains(body, word) {
			t.Errorf("busy tells %q:\n%s", word, body)
		}
	}
	if n := strings.Count(body, "BEGIN:VEVENT"); n != 8+3 {
		t.Errorf("%d events, not 8 bookings that stand and 3 blocks:\n%s", n, body)
	}

	names, body := w.events(t, w.addFeed(t, nil, access.NewFeed{Level: booking.FeedNames}))
	for _, want := range []string{
		"Intake call – Rani Wijaya", "Conflict: Intake call – Jonas Keller", "Review – Siti Rahma", "Requested: House visit – Budi Santoso",
		"Prenatal class <b>bold</b> – Maya Putri", "Retreat", "Ayu Lestari is unavailable", "Unavailable",
	} {
		if names[want] == nil {
			t.Errorf("names lacks %q: %v", want, names)
		}
	}
	for _, word := range []string{"someone@example.com", "Room 2", "slots.example", "LOCATION", "URL"} {
		if strings.Contains(body, word) {
			t.Errorf("names tells %q", word)
		}
	}
	for summary, want := range map[string][3]string{
		"Intake call – Rani Wijaya": {"CONFIRMED", "OPAQUE", "20261130T070000Z"}, "Requested: House visit – Budi Santoso": {"TENTATIVE", "OPAQUE", "20261201T030000Z"},
	} {
		e := names[summary]
		if got := [3]string{e.Props.Get("STATUS").Value, e.Props.Get("TRANSP").Value, e.Props.Get("DTSTART").Value}; got != want {
			t.Errorf("%s: %v, not %v", summary, got, want)
		}
	}
	// A reschedule moved one event and made no other.
	moved := names["Review – Siti Rahma"]
	if uid := moved.Props.Get(ical.PropUID).Value; uid != id(23).String()+"@slotkeeper" || moved.Props.Get("SEQUENCE").Value != "1" || moved.Props.Get("DTSTART").Value != "20261130T021500Z" {
		t.Errorf("the rescheduled event is %v", moved.Props)
	}

	all, _ := w.events(t, w.addFeed(t, nil, access.NewFeed{Level: booking.FeedFull}))
	group := all["Prenatal class <b>bold</b> – Maya Putri"]
	if location, err := group.Props.Text("LOCATION"); err != nil || location != "Room 2 & garden" {
		t.Errorf("location %q: %v", location, err)
	}
	text, err := group.Props.Text("DESCRIPTION")
	if want := "Invitee: Maya Putri\nE-mail: someone@example.com\nWith: Consulting room, Ayu Lestari\nBooked through: Calendly"; err != nil || text != want {
		t.Errorf("description %q: %v", text, err)
	}
	if link := group.Props.Get("URL").Value; link != "http://slots.example/bookings/"+id(25).String() {
		t.Errorf("link %q", link)
	}
}

func TestFeedFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	for name, c := range map[string]struct {
		filter booking.FeedFilter
		want   []string
	}{
		"a resource": {
			booking.FeedFilter{Resources: []uuid.UUID{id(10)}},
			[]string{"Conflict: Intake call – Jonas Keller", "Intake call – Rani Wijaya", "Prenatal class <b>bold</b> – Maya Putri"},
		},
		"a resource at a provider": {
			booking.FeedFilter{Resources: []uuid.UUID{id(10)}, Provider: "calcom"}, []string{"Conflict: Intake call – Jonas Keller"},
		},
		"a state": {
			booking.FeedFilter{Resources: []uuid.UUID{id(11)}, Statuses: []booking.Status{booking.Pending}},
			[]string{"Requested: House visit – Budi Santoso", "Unavailable", "Canceled: Review – Siti Rahma"},
		},
	} {
		got, body := w.events(t, w.addFeed(t, nil, access.NewFeed{Level: booking.FeedNames, Filter: c.filter}))
		if len(got) != len(c.want) {
			t.Errorf("%s: %v\n%s", name, got, body)
		}
		for _, s := range c.want {
			if got[s] == nil {
				t.Errorf("%s: %q is missing in %v", name, s, got)
			}
		}
	}
}

// Programs ask for a feed again and again: what did not change is not sent again, and
// what is kept on the way is kept for one person alone.
func TestFeedMarks(t *testing.T) {
	t.Parallel()
	r := full()
	w := newWorld(t, r, nil)
	path := w.addFeed(t, nil, access.NewFeed{Level: booking.FeedFull})
	res := w.ask(t, http.MethodGet, path)
	body := res.body
	mark := res.Header.Get("ETag")
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/calendar; charset=utf-8" || !strings.HasPrefix(mark, `"`) || body == "" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	if got := res.Header.Get("Cache-Control"); !strings.Contains(got, "private") || strings.Contains(got, "public") {
		t.Errorf("Cache-Control %q", got)
	}
	for _, header := range []string{mark, "W/" + mark, `"other", ` + mark, "*"} {
		res := w.ask(t, http.MethodGet, path, "If-None-Match", header)
		if res.StatusCode != http.StatusNotModified || res.body != "" || res.Header.Get("ETag") != mark {
			t.Errorf("If-None-Match %s: %d %v %q", header, res.StatusCode, res.Header, res.body)
		}
	}
	if res := w.ask(t, http.MethodGet, path, "If-None-Match", `"other"`); res.StatusCode != http.StatusOK {
		t.Errorf("another mark: %d", res.StatusCode)
	}
	res = w.ask(t, http.MethodHead, path)
	body = res.body
	if res.StatusCode != http.StatusOK || res.Header.Get("ETag") != mark || body != "" || res.Header.Get("Content-Type") != "text/calendar; charset=utf-8" {
		t.Errorf("HEAD: %d %v", res.StatusCode, res.Header)
	}
	// The same for the rest of the day, and another when something changed.
	w.clock.pass(time.Hour)
	if res := w.ask(t, http.MethodGet, path, "If-None-Match", mark); res.StatusCode != http.StatusNotModified {
		t.Errorf("an hour later: %d", res.StatusCode)
	}
	r.bookings[2].Title = "Second intake"
	if res := w.ask(t, http.MethodGet, path, "If-None-Match", mark); res.StatusCode != http.StatusOK || res.Header.Get("ETag") == mark {
		t.Errorf("after a change: %d %s", res.StatusCode, res.Header.Get("ETag"))
	}
	if res := w.ask(t, http.MethodPost, path); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", res.StatusCode)
	}
}

// Many bookings are sent as they are read, whole and under the same mark.
func TestFeedOfMany(t *testing.T) {
	t.Parallel()
	r := full()
	for i := range 4000 {
		from := noon.Add(time.Duration(i) * time.Hour / 12)
		to := from.Add(5 * time.Minute)
		one := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i))
		r.bookings = append(r.bookings, booking.View{
			ID: one, ChainID: one, Provider: "calendly", Status: booking.Active, StartsAt: &from, EndsAt: &to,
			Title: strings.Repeat("A long title ", 10), Location: strings.Repeat("far, far away; ", 8), ResourceIDs: []uuid.UUID{id(10)},
		})
	}
	w := newWorld(t, r, nil)
	path := w.addFeed(t, nil, access.NewFeed{Level: booking.FeedFull})
	res := w.ask(t, http.MethodGet, path)
	body := res.body
	if res.StatusCode != http.StatusOK || len(body) < 2<<20 || res.ContentLength >= 0 || !strings.HasSuffix(body, "END:VCALENDAR\r\n") {
		t.Fatalf("%d, %d bytes, length %d", res.StatusCode, len(body), res.ContentLength)
	}
	if n := strings.Count(body, "BEGIN:VEVENT\r\n"); n != 4000+8+3 {
		t.Errorf("%d events", n)
	}
	if _, err := ical.NewDecoder(strings.NewReader(body)).Decode(); err != nil {
		t.Error(err)
	}
	if res := w.ask(t, http.MethodGet, path, "If-None-Match", res.Header.Get("ETag")); res.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %d", res.StatusCode)
	}
}

// A feed tells no more than its owner may see at that moment, and its address
// nothing to who does not have all of it.
func TestFeedSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	ctx := t.Context()
	u, err := w.accounts.AddUser(ctx, access.System, "maya", access.Viewer, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.feeds.Add(ctx, access.System, limitedTo(u, id(10)), access.NewFeed{Name: "x", Level: booking.FeedBusy, Filter: booking.FeedFilter{Resources: []uuid.UUID{id(11)}}}); err == nil {
		t.Error("a viewer made a feed of a resource that is not theirs")
	}
	path := w.addFeed(t, &u, access.NewFeed{Level: booking.FeedFull})
	if got, _ := w.events(t, path); got["Review – Siti Rahma"] == nil || got["Intake call – Rani Wijaya"] == nil {
		t.Errorf("a viewer's feed: %v", got)
	}
	if err := w.accounts.LimitUser(ctx, access.System, "maya", access.Limit{Limited: true, Resources: []uuid.UUID{id(10)}}); err != nil {
		t.Fatal(err)
	}
	if got, body := w.events(t, path); got["Review – Siti Rahma"] != nil || got["Intake call – Rani Wijaya"] == nil || strings.Contains(body, "Ayu Lestari") {
		t.Errorf("of a viewer who was limited since: %v\n%s", got, body)
	}
	if err := w.accounts.SetPrivacy(ctx, access.System, access.RolePrivacy{Role: access.Viewer, Hidden: access.Hidden{Names: true, Phones: true}}); err != nil {
		t.Fatal(err)
	}
	if got, body := w.events(t, path); got["Intake call – R.W."] == nil || strings.Contains(body, "Wijaya") || strings.Contains(body, "someone@example.com") {
		t.Errorf("of a viewer from whom names are hidden since: %v\n%s", got, body)
	}

	secret := strings.TrimSuffix(strings.TrimPrefix(path, "/feeds/"), ".ics")
	other := secret[:len(secret)-1] + "A"
	if other == secret {
		other = secret[:len(secret)-1] + "B"
	}
	wrong := []string{"/feeds/" + secret, "/feeds/.ics", "/feeds/" + other + ".ics", "/feeds/" + secret[:20] + ".ics", "/feeds/" + strings.ToUpper(secret) + ".ics", "/feeds/" + secret + "%20.ics", "/feeds/slk_" + secret[4:] + ".ics"}
	first := ""
	for _, p := range wrong {
		res := w.ask(t, http.MethodGet, p)
		body := res.body
		body = strings.ReplaceAll(body, res.Header.Get("X-Request-Id"), "")
		if res.StatusCode != http.StatusNotFound || res.Header.Get("ETag") != "" {
			t.Errorf("%s: %d", p, res.StatusCode)
		}
		if first == "" {
			first = body
		}
		if body != first {
			t.Errorf("%s says something else than other wrong addresses: %s", p, body)
		}
	}
	if err := w.accounts.DisableUser(ctx, access.System, "maya"); err != nil {
		t.Fatal(err)
	}
	if res := w.ask(t, http.MethodGet, path); res.StatusCode != http.StatusNotFound {
		t.Errorf("of a user who is locked out: %d", res.StatusCode)
	}
	if logged := w.logs.String(); strings.Contains(logged, secret) || strings.Contains(logged, secret[4:20]) {
		t.Errorf("the log has the secret:\n%s", logged)
	}
}

func limitedTo(u access.User, resources ...uuid.UUID) *access.User {
	u.Limited, u.Resources = true, resources
	return &u
}

// A stranger who tries addresses is held back; whoever has the right one is not,
// even from the stranger's address.
func TestFeedLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	path := w.addFeed(t, nil, access.NewFeed{Level: booking.FeedBusy})
	held := 0
	for i := range 40 {
		res := w.ask(t, http.MethodGet, fmt.Sprintf("/feeds/slf_%043d.ics", i))
		switch res.StatusCode {
		case http.StatusTooManyRequests:
			held++
			if res.Header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
		case http.StatusNotFound:
		default:
			t.Fatalf("%d", res.StatusCode)
		}
	}
	if held != 10 {
		t.Errorf("%d of 40 wrong addresses were held back", held)
	}
	if res := w.ask(t, http.MethodGet, path); res.StatusCode != http.StatusOK {
		t.Errorf("the right address: %d", res.StatusCode)
	}
	w.clock.pass(10 * time.Second)
	if res := w.ask(t, http.MethodGet, "/feeds/x.ics"); res.StatusCode != http.StatusNotFound {
		t.Errorf("ten seconds later: %d", res.StatusCode)
	}
	// A feed whose address got about keeps the database busy for so long only.
	last := 0
	for range 70 {
		res := w.ask(t, http.MethodHead, path)
		last = res.StatusCode
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("read 70 times at once: %d", last)
	}
}

// A database that fails is no empty calendar: programs would take all events out.
func TestFeedFailure(t *testing.T) {
	t.Parallel()
	r := full()
	w := newWorld(t, r, nil)
	path := w.addFeed(t, nil, access.NewFeed{Level: booking.FeedBusy})
	r.fail(booking.ErrUnavailable)
	res := w.ask(t, http.MethodGet, path)
	body := res.body
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || strings.Contains(body, "VCALENDAR") {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
}

func TestFeedsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	viewer, admin := w.user(t, "maya", access.Viewer), w.user(t, "boss", access.Administrator)
	other := w.user(t, "ayu", access.Viewer)
	res := w.post(t, viewer, "/settings/feeds", url.Values{"name": {"My phone"}, "level": {"names"}, "resource": {id(10).String()}, "status": {"active"}, "provider": {"calendly"}})
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("%d\n%s", res.StatusCode, res.body)
	}
	at := strings.Index(res.body, "http://slots.example/feeds/slf_")
	if at < 0 {
		t.Fatalf("the address is not shown:\n%s", res.body)
	}
	address := res.body[at : at+strings.Index(res.body[at:], "<")]
	if got, _ := w.events(t, strings.TrimPrefix(address, "http://slots.example")); len(got) != 2 {
		t.Errorf("the feed has %v", got)
	}
	if e := w.store.logged(); e.Action != access.DidAddFeed || strings.Contains(fmt.Sprint(e), address[30:60]) {
		t.Errorf("the admin log says %+v", e)
	}
	made := w.shelved.all[0]
	if made.Owner == nil || made.Level != booking.FeedNames || bytes.Contains(made.Hash, []byte(address[30:60])) {
		t.Errorf("kept %+v", made)
	}

	for name, c := range map[string]struct {
		browser *http.Client
		sees    bool
	}{"its owner": {viewer, true}, "another viewer": {other, false}, "an administrator": {admin, true}} {
		page := w.get(t, c.browser, "/settings/feeds")
		if page.StatusCode != http.StatusOK || strings.Contains(page.body, "My phone") != c.sees || strings.Contains(page.body, address[30:60]) {
			t.Errorf("%s: %d\n%s", name, page.StatusCode, page.body)
		}
	}
	revoke := "/settings/feeds/" + made.ID.String() + "/revoke"
	if res := w.post(t, other, revoke, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("another's feed was revoked: %d", res.StatusCode)
	}
	if res := w.post(t, admin, revoke, nil); res.StatusCode != http.StatusSeeOther {
		t.Errorf("an administrator revokes: %d", res.StatusCode)
	}
	if res := w.ask(t, http.MethodGet, strings.TrimPrefix(address, "http://slots.example")); res.StatusCode != http.StatusNotFound {
		t.Errorf("revoked, it answers %d", res.StatusCode)
	}
	if e := w.store.logged(); e.Action != access.DidRevokeFeed {
		t.Errorf("the admin log says %+v", e)
	}

	for field, form := range map[string]url.Values{
		"name-error":     {"name": {" "}, "level": {"busy"}},
		"level-error":    {"name": {"x"}, "level": {"all"}},
		"status-error":   {"name": {"x"}, "level": {"busy"}, "status": {"canceled"}},
		"provider-error": {"name": {"x"}, "level": {"busy"}, "provider": {"nobody"}},
		"resource-error": {"name": {"x"}, "level": {"busy"}, "resource": {"x"}},
	} {
		before := len(w.shelved.all)
		res := w.post(t, viewer, "/settings/feeds", form)
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(res.body, `id="`+field+`"`) || len(w.shelved.all) != before {
			t.Errorf("%s: %d\n%s", field, res.StatusCode, res.body)
		}
	}
}
