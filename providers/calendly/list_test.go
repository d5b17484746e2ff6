package calendly_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
	"slotkeeper/providers/providertest"
)

func (a *account) page(t *testing.T, w providers.Window, cursor string) (providers.Page, error) {
	t.Helper()
	before := a.Count("/")
	page, err := calendly.New(0).List(context.Background(), a.client, a.conn, origin, w, cursor, a.at)
	if asked := a.Count("/") - before; page.Requests != asked {
		t.Errorf("the page says that it took %d requests, it took %d", page.Requests, asked)
	}
	return page, err
}

// list reads all pages and gives the standings by external id, those without one by
// their code.
func (a *account) list(t *testing.T, w providers.Window) (map[string]providers.Standing, int) {
	t.Helper()
	out, cursor := map[string]providers.Standing{}, ""
	for pages := 1; ; pages++ {
		page, err := a.page(t, w, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Standings {
			id := s.Code
			if s.Event != nil {
				id = s.Event.ExternalID
			}
			if _, again := out[id]; again && s.Event != nil {
				t.Errorf("%s is listed twice", id)
			}
			checkStanding(t, s)
			out[id] = s
		}
		if cursor = page.Next; cursor == "" {
			return out, pages
		}
		if pages > 100 {
			t.Fatal("the list does not end")
		}
	}
}

func checkStanding(t *testing.T, s providers.Standing) {
	t.Helper()
	providertest.CheckFetched(t, s.Delivery, s.Kind, s.EventKey)
	p := calendly.New(0)
	providertest.CheckRedaction(t, p, s.Body)
	if !bytes.Equal(p.Redact(s.Body), s.Body) {
		t.Errorf("Redact takes more out of\n%s", s.Body)
	}
	for _, secret := range []string{calendlytest.JoinSecret, "https://calendly.com/cancellations", "https://calendly.com/reschedulings", "ext0001demo"} {
		if strings.Contains(string(s.Body), secret) {
			t.Errorf("%q is kept", secret)
		}
	}
	again := p.Read(s.Body, origin, monday, booking.KindDetails, "the receipt's")
	providertest.CheckFetched(t, again, booking.KindDetails, "the receipt's")
	if s.Event == nil {
		return
	}
	want := *s.Event
	want.Key = "the receipt's"
	if again.Event == nil || !reflect.DeepEqual(*again.Event, want) {
		t.Errorf("the body means %+v, it was read as %+v", again.Event, want)
	}
}

// story is what happens in an account, with the last post about each invitee.
type story struct {
	last  map[string]apitest.Post
	gone  []string // who does not come, by path
	moved map[string]string
}

func (a *account) tell(t *testing.T) story {
	t.Helper()
	st := story{last: map[string]apitest.Post{}, moved: map[string]string{}}
	noted := func(posts []apitest.Post, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range posts {
			st.last[parse(string(p.Body)).Event.ExternalID] = p
		}
		a.at = a.at.Add(time.Minute + time.Microsecond)
	}
	made := func(path string, posts []apitest.Post, err error) string {
		noted(posts, err)
		return path
	}
	day := func(n int) time.Time { return monday.AddDate(0, 0, n) }
	mail := func(name string) string {
		return strings.ToLower(strings.ReplaceAll(name, " ", ".")) + "@fieldmark.example"
	}

	made(a.Book("Jonas Whitfield", mail("Jonas Whitfield"), mara, day(1), day(1).Add(time.Hour)))
	clinic := a.Open(calendlytest.Session{Name: "Open clinic", Hosts: []calendlytest.Host{ines}, Start: day(2), End: day(2).Add(time.Hour), Limit: 10})
	var group []string
	for _, name := range []string{"Dara Okonjo", "Lucian Petrescu", "Priya Raman", "Wen Li", "Aiko Tanaka"} {
		group = append(group, made(a.Join(clinic, name, mail(name))))
	}
	noted(a.Cancel(group[0]))
	panel := a.Open(calendlytest.Session{Name: "Panel review", Hosts: []calendlytest.Host{mara, theo}, Start: day(3), End: day(3).Add(45 * time.Minute), Limit: 1})
	made(a.Join(panel, "Odalys Ferrer", mail("Odalys Ferrer")))
	first := made(a.Book("Sanne Visser", mail("Sanne Visser"), theo, day(4), day(4).Add(time.Hour)))
	second := made(a.Move(first, day(5), day(5).Add(time.Hour)))
	third := made(a.MoveTo(second, clinic))
	st.moved[first], st.moved[second] = second, third
	absent := made(a.Book("Tomas Novak", mail("Tomas Novak"), mara, day(-2), day(-2).Add(time.Hour)))
	noted(a.MarkNoShow(absent, true))
	back := made(a.Book("Uma Iyer", mail("Uma Iyer"), mara, day(-1), day(-1).Add(time.Hour)))
	noted(a.MarkNoShow(back, true))
	noted(a.MarkNoShow(back, false))
	st.gone = []string{absent}
	whole := a.Open(calendlytest.Session{Name: "Evening class", Hosts: []calendlytest.Host{ines}, Start: day(6), End: day(6).Add(time.Hour), Limit: 5})
	for _, name := range []string{"Victor Hale", "Zoe Marsh"} {
		made(a.Join(whole, name, mail(name)))
	}
	noted(a.CancelEvent(whole, "Venue closed"))
	return st
}

// What is listed and looked at of a booking is what the webhook said of it.
func TestListIsWhatWebhooksSay(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3} {
		t.Run(fmt.Sprintf("pages of %d", size), func(t *testing.T) {
			a := newTeam(t, func(o *calendlytest.Options) { o.PageSize = size })
			a.subscribe(t)
			st := a.tell(t)
			listed, pages := a.list(t, window)
			if len(listed) != len(st.last) {
				t.Errorf("%d are listed of %d", len(listed), len(st.last))
			}
			if size == 0 && pages != 2 || size > 0 && pages < 3 {
				t.Errorf("%d pages", pages)
			}
			for id, post := range st.last {
				said := *parse(string(post.Body)).Event
				got := listed[id]
				if got.Event == nil {
					t.Fatalf("%s is not listed: %+v", id, got.Delivery)
				}
				absent := got.Event.Attendees[0].NoShow
				if absent == nil || *absent != slices.Contains(st.gone, id) {
					t.Errorf("%s: no-show %v", id, absent)
				}
				if got.Event.Kind != booking.KindSnapshot && (got.Event.Kind != booking.KindCanceled || said.Kind != booking.KindCanceled) || got.Kind != got.Event.Kind {
					t.Errorf("%s: a %s is listed as a %s", id, said.Kind, got.Event.Kind)
				}
				looked, err := calendly.New(0).Look(context.Background(), a.client, a.conn, origin, id, a.at)
				if err != nil || !reflect.DeepEqual(looked, got) {
					t.Errorf("%s: looked at %+v (%v), listed %+v", id, looked, err, got)
				}
				if got, want := plain(*got.Event), plain(said); !reflect.DeepEqual(got, want) {
					t.Errorf("%s:\nlisted %+v\nposted %+v", id, got, want)
				}
			}
			for old, next := range st.moved {
				if o, n := listed[old].Event, listed[next].Event; o.Successor != next || o.Reason != booking.ReasonRescheduled || n.Predecessor != old {
					t.Errorf("%+v moved to %+v", o, n)
				}
			}
		})
	}
}

// plain is an event without what a webhook and the API say each in its own way.
func plain(e booking.Event) booking.Event {
	e.Key, e.Kind = "", ""
	e.Attendees = slices.Clone(e.Attendees)
	for i := range e.Attendees {
		e.Attendees[i].NoShow = nil
	}
	return e
}

func TestListIsOfWhomTheTokenSees(t *testing.T) {
	a := newTeam(t, withSmallPages)
	a.subscribe(t)
	st := a.tell(t)
	for _, as := range []calendlytest.Host{mara, ines, theo} {
		a.as(t, as)
		listed, _ := a.list(t, window)
		for id, post := range st.last {
			_, got := listed[id]
			hosted := slices.ContainsFunc(parse(string(post.Body)).Event.Session.Hosts, func(h booking.Host) bool { return h.ExternalID == "/users/"+as.ID })
			if want := as != theo || hosted; got != want {
				t.Errorf("%s reads %s: %t, want %t", as.Name, id, got, want)
			}
		}
	}
}

func TestListKeepsToTheWindow(t *testing.T) {
	a := newTeam(t)
	var in []string
	for _, start := range []time.Time{monday.Add(-time.Microsecond), monday, monday.Add(time.Hour), monday.Add(2*time.Hour - time.Microsecond), monday.Add(2 * time.Hour)} {
		path, _, err := a.Book("Jonas Whitfield", "jonas.whitfield@brightfen.example", mara, start, start.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, path)
	}
	listed, _ := a.list(t, providers.Window{From: monday, To: monday.Add(2 * time.Hour)})
	for n, path := range in {
		if _, got := listed[path]; got != (n > 0 && n < 4) {
			t.Errorf("number %d is listed: %t", n, got)
		}
	}
}

// A refusal in the middle of a page ends the page, and the next begins there: a free
// plan allows fewer requests a minute than a page needs.
func TestListGoesOnWhereItWasRefused(t *testing.T) {
	for _, c := range []struct{ perMinute, bookings int }{{7, 30}, {calendlytest.FreePlan, 60}} {
		t.Run(fmt.Sprintf("%d a minute", c.perMinute), func(t *testing.T) { listWithin(t, c.perMinute, c.bookings) })
	}
}

func listWithin(t *testing.T, perMinute, bookings int) {
	t.Helper()
	const fast = 6000
	a := newTeam(t, func(o *calendlytest.Options) { o.PerMinute, o.Tempo = perMinute, fast })
	for n := range bookings {
		start := monday.Add(time.Duration(n) * 12 * time.Hour)
		if _, _, err := a.Book("Jonas Whitfield", fmt.Sprintf("jonas.%d@brightfen.example", n), mara, start, start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	seen, cursor, refused := map[string]bool{}, "", 0
	for tries := 0; ; tries++ {
		page, err := calendly.New(0).List(context.Background(), a.client, a.conn, origin, window, cursor, monday)
		var later *providers.LaterError
		switch {
		case errors.As(err, &later):
			refused++
			a.at = a.at.Add(time.Minute) // theirs passes when ours is told to wait
			<-time.NewTimer(later.After/fast + time.Millisecond).C
			continue
		case err != nil:
			t.Fatal(err)
		}
		for _, s := range page.Standings {
			if seen[s.Event.ExternalID] {
				t.Errorf("%s is listed twice", s.Event.ExternalID)
			}
			seen[s.Event.ExternalID] = true
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if tries > 1000 {
			t.Fatal("the list does not end")
		}
	}
	if len(seen) != bookings || refused == 0 {
		t.Errorf("%d are listed, after %d refusals", len(seen), refused)
	}
}

// What changed between two calls costs no booking: a page whose last event read is
// no longer in it is read from its beginning.
func TestListForgivesWhatChanges(t *testing.T) {
	a := newTeam(t)
	var paths []string
	for n := range 4 {
		path, _, err := a.Book("Jonas Whitfield", fmt.Sprintf("jonas.%d@brightfen.example", n), mara, monday.AddDate(0, 0, n), monday.AddDate(0, 0, n).Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	third := strings.Split(paths[2], "/invitees/")[0]
	a.Set(apitest.Forbidden, third+"/invitees")
	page, err := a.page(t, window, "")
	if err != nil || len(page.Standings) != 2 || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	if _, err := a.page(t, window, page.Next); err == nil {
		t.Error("a trouble that lasts is not told")
	}
	a.Set(apitest.Healthy)
	if _, err := a.Cancel(paths[1]); err != nil {
		t.Fatal(err)
	}
	seen := map[string]booking.Kind{}
	for cursor := page.Next; cursor != ""; {
		page, err := a.page(t, window, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Standings {
			seen[s.Event.ExternalID] = s.Kind
		}
		cursor = page.Next
	}
	want := map[string]booking.Kind{paths[0]: booking.KindSnapshot, paths[1]: booking.KindCanceled, paths[2]: booking.KindSnapshot, paths[3]: booking.KindSnapshot}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	a.Set(apitest.Missing, third+"/invitees") // deleted since it was listed
	if listed, _ := a.list(t, window); len(listed) != 3 {
		t.Errorf("%d are listed", len(listed))
	}
}

func TestListRefusesOthersCursors(t *testing.T) {
	a := newTeam(t)
	for _, cursor := range []string{
		"tok-2", "%zz", "status=active", "status=active&of=%2Fusers%2F..%2Fme", "status=active&of=%2Fevent_types%2F1",
		"status=gone&of=%2Fusers%2F1", "status=active&of=%2Fusers%2F1&after=%2Fusers%2Fme",
	} {
		if _, err := a.page(t, window, cursor); err == nil || a.Count("/") > 0 {
			t.Errorf("%s was taken (%v)", cursor, err)
		}
	}
}

// api answers by path, in the real one's shapes.
type api map[string]any

func (a api) RoundTrip(r *http.Request) (*http.Response, error) {
	found, ok := a[r.URL.Path+"?"+r.URL.Query().Get("status")]
	if !ok {
		found = a[r.URL.Path]
	}
	body, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	return answering(body).RoundTrip(r)
}

func collection(items ...any) map[string]any {
	return map[string]any{"collection": append([]any{}, items...), "pagination": map[string]any{"next_page_token": nil}}
}

// at gives what a recorded answer has under the names and numbers.
func at[T any](t *testing.T, root any, steps ...any) T {
	t.Helper()
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			m, _ := root.(map[string]any)
			root = m[step]
		case int:
			list, _ := root.([]any)
			if step >= len(list) {
				t.Fatalf("nothing at %v", steps)
			}
			root = list[step]
		}
	}
	found, ok := root.(T)
	if !ok {
		t.Fatalf("%v is a %T", steps, root)
	}
	return found
}

// recorded is a fixture of the API's answers.
func recorded(t *testing.T, file string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(fixture(t, "api/"+file)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Invitees that cannot be read are told of, and the others are listed all the same.
func TestListTellsWhatItCannotRead(t *testing.T) {
	group := at[[]any](t, recorded(t, "event_invitees_group_200.json"), "collection")
	event := at[map[string]any](t, recorded(t, "scheduled_events_page1_200.json"), "collection", 1)
	const path = "/scheduled_events/a5c0de05-0000-4000-8000-000000000005"
	broken := func(name string, value any) any {
		body, err := json.Marshal(group[1])
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := json.Unmarshal(body, &out); err != nil {
			t.Fatal(err)
		}
		if out[name] = value; value == nil {
			delete(out, name)
		}
		return out
	}
	for _, c := range []struct {
		name  string
		value any
		code  string
	}{
		{"uri", nil, providers.CodeIDMissing},
		{"uri", 7, providers.CodeIDMissing},
		{"updated_at", nil, providers.CodeTimeMissing},
		{"updated_at", "yesterday", providers.CodeTimeInvalid},
		{"status", "new in 2027", providers.CodeKindMissing},
		{"status", nil, providers.CodeKindMissing},
		{"timezone", "Europe/Atlantis", providers.CodeZoneUnknown},
		{"email", strings.Repeat("a", 400) + "@fieldmark.example", providers.CodeFieldTooLong},
		{"text_reminder_number", strings.Repeat("7", providers.MaxSnapshot), providers.CodeBodyTooLarge},
	} {
		a := newTeam(t)
		a.client = &http.Client{Transport: api{
			"/users/me":                  recorded(t, "users_me_200.json"),
			"/scheduled_events?active":   collection(event, map[string]any{"start_time": "2026-12-08T14:00:00Z"}),
			"/scheduled_events?canceled": collection(),
			path + "/invitees":           collection(group[0], broken(c.name, c.value), group[1]),
		}}
		w := providers.Window{From: monday.AddDate(0, 0, -30), To: monday.AddDate(0, 0, 60)}
		page, err := calendly.New(0).List(context.Background(), a.client, a.conn, origin, w, "", monday)
		if err != nil || len(page.Standings) != 4 {
			t.Fatalf("%s: %d standings, %v", c.name, len(page.Standings), err)
		}
		for _, s := range page.Standings {
			providertest.CheckFetched(t, s.Delivery, s.Kind, "")
		}
		got := page.Standings
		if got[0].Kind != booking.KindCanceled || got[1].Code != c.code || got[2].Kind != booking.KindSnapshot || *got[2].Event.Session.Capacity != 10 || got[3].Code != providers.CodeIDInvalid {
			t.Errorf("%s %v: %s, %s (%s), %s, %s", c.name, c.value, got[0].Kind, got[1].Code, got[1].Error, got[2].Kind, got[3].Code)
		}
		if strings.Contains(got[1].Error, "Lucian") || strings.Contains(got[1].Error, "Atlantis") || len(got[1].Body) == 0 || !json.Valid(got[1].Body) {
			t.Errorf("%s: %s, kept %s", c.name, got[1].Error, got[1].Body)
		}
	}
}
