package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/calendly/calendlytest"
)

// world is an installation that has been in use for a while: all providers, four
// weeks of six rooms, conflicts, a group, chains, refusals, an account that works and
// one that lost its key, hosts whom nobody mapped, people of every role.
type world struct {
	*server
	*desk
	// works is the account whose provider can be asked, dead the other.
	works, dead connectionItem
	// group is a session of three, whose hour lone wants; rival wants another's.
	group, lone, rival bookingItem
	// accepted overlaps with a reason, moved has a predecessor.
	accepted, moved bookingItem
	// replay is the page of what doing all again would change.
	replay string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	calendly, acuity := officeAs[*calendlyOffice](t, newCalendlyOffice(t)), officeAs[*acuityOffice](t, newAcuityOffice(t))
	s := newServer(t, "", "TZ=Europe/Berlin", "SLOTKEEPER_TEMPO="+strconv.Itoa(accountTempo),
		"SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+hostOf(t, calendly)+","+hostOf(t, acuity))
	w := &world{server: s}
	w.desk = furnish(t, s)
	w.bookAt(t, calendly, acuity)
	w.hearsOddThings(t)
	w.works, w.dead = w.opens(t, calendly), w.opens(t, acuity)
	who := s.signedIn(t)
	w.settles(t, who, w.works.ID)
	w.settles(t, who, w.dead.ID)
	// What nobody told of is found, and shown as found.
	calendly.silent(t)
	w.run(t, "connections", "sync", w.works.ID.String(), "--json")
	acuity.revoke()
	token := w.token(t, "read")
	waitFor(t, "the account's loss to be seen", func() error {
		var c connectionItem
		if decode(t, w.get(t, "/api/v1/connections/"+w.dead.ID.String(), token), &c); c.State != "needs_sign_in" {
			return fmt.Errorf("it is %s", c.State)
		}
		return nil
	})
	w.tellsOthers(t)
	w.remembers(t)
	w.isWorkedIn(t, who)
	w.employs(t, who)
	return w
}

func hostOf(t *testing.T, o office) string {
	t.Helper()
	at, err := url.Parse(o.APIBase())
	must(t, err)
	return at.Host
}

// bookAt fills the accounts before anybody connects them.
func (*world) bookAt(t *testing.T, calendly *calendlyOffice, acuity *acuityOffice) {
	t.Helper()
	calendly.before(t)
	at := calendly.hour()
	class := calendly.Open(calendlytest.Session{Name: "Parents' evening", Hosts: []calendlytest.Host{calendlyTheo}, Start: at, End: at.Add(time.Hour), Limit: 8})
	for range 3 {
		calendly.join(t, class)
	}
	calendly.book(t, at.Add(15*time.Minute), calendlyTheo)

	acuity.n = 60 // hours of its own
	acuity.before(t)
	acuity.AddCalendar(acuitytest.Calendar{ID: 3, Name: "Garden house", Timezone: "Europe/Berlin"}) // no e-mail: nobody's
	taken := acuity.hour()
	acuity.book(t, acuitySingle, 3, taken)
	acuity.book(t, acuitySingle, acuityMaren, taken)
	acuity.AddBlock(acuitytest.Block{CalendarID: acuityMaren, Start: taken.Add(-time.Hour), End: taken.Add(2 * time.Hour), Notes: "Training"})
}

// opens connects an account and begins to bring in what is booked.
func (w *world) opens(t *testing.T, o office) connectionItem {
	t.Helper()
	var c connectionItem
	args := slices.Concat([]string{"connect", o.Name(), "--name", map[string]string{"calendly": "Harbour Clinic", "acuity": "Massage rooms"}[o.Name()], "--api-url", o.APIBase()}, o.credentials(), []string{"--subscribe", "--backfill", firstDay()})
	decode(t, w.run(t, args...), &c)
	return c
}

// tellsOthers has two systems told: one that nobody may reach, and one that is off.
func (w *world) tellsOthers(t *testing.T) {
	t.Helper()
	for _, name := range []string{"Customer database", "Door"} {
		var made endpointJSON
		decode(t, w.run(t, "endpoints", "add", "--name", name, "--url", "https://127.0.0.1:9/hooks/slotkeeper", "--event", "booking.active", "--event", "booking.canceled"), &made)
		if _, err := w.try(t, "", "endpoints", "test", made.ID.String()); err == nil {
			t.Errorf("the %s takes a test", name)
		}
		if name == "Door" {
			w.run(t, "endpoints", "switch", made.ID.String(), "--off")
		}
	}
}

// settles waits until an account's page has nothing more to wait for.
func (w *world) settles(t *testing.T, who *signedIn, id uuid.UUID) {
	t.Helper()
	waitFor(t, "all that is booked to be here", func() error {
		if page := who.page(t, "/connections/"+id.String()); strings.Contains(page, "data-live") {
			return errors.New("it is still brought in")
		}
		return nil
	})
}

// hearsOddThings takes what is neither a booking nor known: a request that waits for
// its host, a no-show of somebody unknown, a kind of no use, and copies.
func (w *world) hearsOddThings(t *testing.T) {
	t.Helper()
	d := demoDay{day: clinicDay.AddDate(0, 0, 1), now: time.Now()}
	calcom := w.connect(t, "calcom", "--name", "Second office")
	for _, body := range []map[string]any{
		d.calcom("BOOKING_REQUESTED", "world-1", "PENDING", 50, "Consultation", theo, "Mira Santoso", d.at(9, 0), d.at(9, 45)),
		{"triggerEvent": "BOOKING_NO_SHOW_UPDATED", "createdAt": iso(d.ago(30)), "payload": map[string]any{
			"message": "x", "bookingUid": "world-9", "attendees": []any{map[string]any{"email": "unknown.guest@mail.example", "noShow": true}},
		}},
		{"triggerEvent": "RECORDING_READY", "createdAt": iso(d.ago(20)), "payload": map[string]any{"uid": "world-1"}},
	} {
		raw, err := json.Marshal(body)
		must(t, err)
		for range 2 {
			calcom.must(t, raw)
		}
	}
}

// remembers finds the bookings that pages are opened of.
func (w *world) remembers(t *testing.T) {
	t.Helper()
	all := api[struct {
		bookingItem
		Title        string     `json:"title"`
		SupersedesOf *uuid.UUID `json:"supersedes"`
	}](t, w.server, w.token(t, "read"), "bookings")
	for _, b := range all {
		switch {
		case b.Status == "active" && b.Title == "Parents' evening":
			w.group = b.bookingItem
		case b.Status == "conflicted" && b.Title == "First visit" && w.lone.ID == uuid.Nil:
			w.lone = b.bookingItem
		case b.Status == "conflicted" && strings.HasPrefix(b.ExternalID, "b-"):
			w.rival = b.bookingItem
		case b.SupersedesOf != nil:
			w.moved = b.bookingItem
		}
	}
	for name, b := range map[string]bookingItem{"group": w.group, "lone": w.lone, "rival": w.rival, "moved": w.moved} {
		if b.ID == uuid.Nil {
			t.Fatalf("there is no %s", name)
		}
	}
}

// isWorkedIn leaves the traces of people at work: an overlap accepted, an export, a raw
// body looked at, a replay tried.
func (w *world) isWorkedIn(t *testing.T, who *signedIn) {
	t.Helper()
	operator := w.token(t, "operate")
	at := clinicDay.AddDate(0, 0, 3).Add(18 * time.Hour)
	w.books(t, "Room 2", at, time.Hour)
	if ack := w.books(t, "Room 2", at, time.Hour); ack.Status != "conflict" {
		t.Fatalf("answered %+v", ack)
	}
	for _, b := range api[bookingItem](t, w.server, operator, "bookings") {
		if b.ExternalID == fmt.Sprint("b-", w.n) {
			w.accepted = b
		}
	}
	w.posts(t, operator, "/bookings/"+w.accepted.ID.String()+"/accept-overlap", map[string]any{"reason": "Two therapists share the room on Thursdays"}, http.StatusOK)
	who.page(t, "/audit/export.csv?range=all&show=all")
	receipts := api[receiptItem](t, w.server, operator, "receipts")
	who.page(t, "/deliveries/"+receipts[0].ID.String()+"?body=1")
	resp, err := who.PostForm(w.url+"/deliveries/replay", url.Values{"all": {"1"}})
	must(t, err)
	defer resp.Body.Close()
	w.replay = resp.Request.URL.Path
	waitFor(t, "the replay to be told of", func() error {
		if strings.Contains(who.page(t, w.replay), "data-live") {
			return errors.New("it goes on")
		}
		return nil
	})
}

func (w *world) posts(t *testing.T, token, path string, body map[string]any, want int) {
	t.Helper()
	raw, err := json.Marshal(body)
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/v1"+path, bytes.NewReader(raw))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != want {
		t.Fatalf("%s was answered %s\n%s", path, resp.Status, w.log)
	}
}

// employs adds people: a viewer of one room, an operator, one who left.
func (w *world) employs(t *testing.T, who *signedIn) {
	t.Helper()
	for _, u := range [][2]string{{"front.desk", "viewer"}, {"lena.fischer", "operator"}, {"former.intern", "viewer"}} {
		if _, err := w.try(t, adminPassword, "user", "add", u[0], "--role", u[1], "--password-file", "-"); err != nil {
			t.Fatal(err)
		}
	}
	w.run(t, "user", "disable", "former.intern")
	users := who.page(t, "/settings/users")
	found := regexp.MustCompile(`href="(/settings/users/[0-9a-f-]+)">front\.desk<`).FindStringSubmatch(users)
	if found == nil {
		t.Fatal("front.desk is not listed")
	}
	rooms := api[struct{ ID, Name string }](t, w.server, w.token(t, "read"), "resources")
	resp, err := who.PostForm(w.url+found[1]+"/limit", url.Values{"sees": {"chosen"}, "resource": {rooms[0].ID, rooms[1].ID}})
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("limiting was answered %s", resp.Status)
	}
}
