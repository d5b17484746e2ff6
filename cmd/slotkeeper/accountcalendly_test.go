package main

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calendly/calendlytest"
)

const (
	calendlyFirstToken = "calendly-token-0123456789abcdef"
	calendlyNextToken  = "calendly-token-fedcba9876543210"
	calendlyAuditToken = "calendly-token-of-an-auditor-01"
)

var (
	calendlyOwner = calendlytest.Host{ID: "7d1b0f3e-0000-4000-8000-000000000001", Name: "Mara Lindqvist", Email: "mara.lindqvist@harbourclinic.example"}
	calendlyTheo  = calendlytest.Host{ID: "7d1b0f3e-0000-4000-8000-000000000002", Name: "Theo Okonkwo", Email: "theo.okonkwo@harbourclinic.example"}
)

// calendlyOffice is an organization at Calendly with two hosts.
type calendlyOffice struct {
	*calendlytest.Server
	dates
	token  string
	open   []string // the invitees of singles that stand
	group  string   // an event with free seats
	seated []string // who has one of them
	chain  []string
	emails map[string]string
	gone   []standing // what Calendly knows no more
}

func newCalendlyOffice(t *testing.T) office {
	t.Helper()
	c := calendlytest.New(calendlytest.Options{
		Token: calendlyFirstToken, Owner: calendlyOwner, PageSize: 10, Tempo: accountTempo, Now: time.Now,
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.AddUser(calendlyTheo, calendlytest.Member)
	auditor := calendlytest.Host{ID: "7d1b0f3e-0000-4000-8000-000000000003", Name: "Ida Blum", Email: "ida.blum@harbourclinic.example"}
	c.AddUser(auditor, calendlytest.Admin)
	must(t, c.AddToken(calendlyAuditToken, auditor.ID))
	return &calendlyOffice{Server: c, token: calendlyFirstToken, emails: map[string]string{}}
}

func (*calendlyOffice) Name() string            { return "calendly" }
func (*calendlyOffice) listPath() string        { return "/scheduled_events" }
func (o *calendlyOffice) credentials() []string { return []string{"--api-token", o.token} }
func (o *calendlyOffice) revoke()               { o.Revoke(o.token) }

func (o *calendlyOffice) renew() {
	o.token = calendlyNextToken
	if err := o.AddToken(o.token, calendlyOwner.ID); err != nil {
		panic(err)
	}
}

func (o *calendlyOffice) hooks(_ *testing.T, target string) int {
	return len(slices.DeleteFunc(o.Subscribed(), func(u string) bool { return u != target }))
}

func (o *calendlyOffice) dropHooks(_ *testing.T, target string) { o.Unsubscribe(target) }
func (o *calendlyOffice) chains() [][]string                    { return [][]string{o.chain} }

// book makes a single meeting at an hour.
func (o *calendlyOffice) book(t *testing.T, at time.Time, hosts ...calendlytest.Host) (string, []apitest.Post) {
	t.Helper()
	event := o.Open(calendlytest.Session{Name: "First visit", Hosts: hosts, Start: at, End: at.Add(30 * time.Minute), Limit: 1})
	return o.join(t, event)
}

func (o *calendlyOffice) join(t *testing.T, event string) (string, []apitest.Post) {
	t.Helper()
	o.n++
	name, email := visitorNamed(o.n)
	path, posts, err := o.Join(event, name, email)
	must(t, err)
	o.emails[path] = email
	return path, posts
}

func (o *calendlyOffice) move(t *testing.T, path string) (string, []apitest.Post) {
	t.Helper()
	at := o.hour()
	next, posts, err := o.Move(path, at, at.Add(30*time.Minute))
	must(t, err)
	o.emails[next] = o.emails[path]
	return next, posts
}

func (o *calendlyOffice) before(t *testing.T) {
	for i := range 12 {
		path, _ := o.book(t, o.hour(), []calendlytest.Host{calendlyOwner, calendlyTheo}[i%2])
		o.open = append(o.open, path)
	}
	at := o.hour()
	o.group = o.Open(calendlytest.Session{Name: "Back school", Start: at, End: at.Add(50 * time.Minute), Limit: 60})
	for range 4 {
		path, _ := o.join(t, o.group)
		o.seated = append(o.seated, path)
	}
	first, _ := o.book(t, o.hour(), calendlyOwner)
	second, _ := o.move(t, first)
	third, _ := o.move(t, second)
	o.chain = []string{first, second, third}
	canceled, _ := o.book(t, o.hour(), calendlyOwner)
	_, err := o.Cancel(canceled)
	must(t, err)
	byHost, _ := o.book(t, o.hour(), calendlyTheo)
	event, _, _ := strings.Cut(byHost, "/invitees/")
	_, err = o.CancelEvent(event, "The clinic is closed")
	must(t, err)
	o.book(t, o.hour(), calendlyOwner, calendlyTheo) // both are needed
	absent, _ := o.book(t, o.hour().AddDate(0, 0, -8), calendlyTheo)
	_, err = o.MarkNoShow(absent, true)
	must(t, err)
}

func (o *calendlyOffice) meanwhile(t *testing.T) []apitest.Post {
	var all []apitest.Post
	take := func(posts []apitest.Post) { all = append(all, posts...) }
	for range 4 {
		_, posts := o.book(t, o.hour(), calendlyTheo)
		take(posts)
	}
	moved, posts := o.move(t, o.chain[len(o.chain)-1])
	o.chain = append(o.chain, moved)
	take(posts)
	posts, err := o.Cancel(o.open[0])
	must(t, err)
	take(posts)
	_, posts = o.join(t, o.group)
	take(posts)
	posts, err = o.Cancel(o.seated[0])
	must(t, err)
	take(posts)
	posts, err = o.MarkNoShow(o.open[1], true)
	must(t, err)
	take(posts)
	o.open, o.seated = o.open[2:], o.seated[1:]
	return all
}

// more books, moves and cancels, and has one join and one leave the group.
func (o *calendlyOffice) more(t *testing.T) []apitest.Post {
	path, all := o.book(t, o.hour(), calendlyOwner)
	moved, posts := o.move(t, path)
	all = append(all, posts...)
	posts, err := o.Cancel(o.open[0])
	must(t, err)
	all = append(all, posts...)
	o.open = append(o.open[1:], moved)
	seat, posts := o.join(t, o.group)
	all = append(all, posts...)
	posts, err = o.Cancel(o.seated[0])
	must(t, err)
	o.seated = append(o.seated[1:], seat)
	return append(all, posts...)
}

// silent has Calendly know no more of a meeting.
func (o *calendlyOffice) silent(t *testing.T) {
	event, _, _ := strings.Cut(o.open[0], "/invitees/")
	o.Forget(event)
	o.gone, o.open = append(o.gone, standing{id: o.open[0], email: o.emails[o.open[0]], status: "canceled"}), o.open[1:]
}

// standings asks the API, as another administrator, who has requests of his own.
func (o *calendlyOffice) standings(t *testing.T) []standing {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + calendlyAuditToken}}
	type page[T any] struct {
		Collection []T
		Pagination struct {
			Next *string `json:"next_page_token"`
		}
	}
	type event struct {
		URI         string
		Status      string
		Start       time.Time               `json:"start_time"`
		End         time.Time               `json:"end_time"`
		Memberships []struct{ User string } `json:"event_memberships"`
	}
	type invitee struct {
		URI, Email, Status string
		NoShow             *struct{ URI string } `json:"no_show"`
	}
	read := func(path string, query url.Values, each func(at string) *string) {
		for {
			next := each(o.APIBase() + path + "?" + query.Encode())
			if next == nil {
				return
			}
			query.Set("page_token", *next)
		}
	}
	var out []standing
	for _, status := range []string{"active", "canceled"} {
		var events []event
		read("/scheduled_events", url.Values{"organization": {calendlytest.Organization}, "status": {status}}, func(at string) *string {
			var p page[event]
			askStandIn(t, at, header, &p)
			events = append(events, p.Collection...)
			return p.Pagination.Next
		})
		for _, e := range events {
			var hosts []string
			for _, m := range e.Memberships {
				hosts = append(hosts, pathOf(t, m.User))
			}
			read(pathOf(t, e.URI)+"/invitees", url.Values{}, func(at string) *string {
				var p page[invitee]
				askStandIn(t, at, header, &p)
				for _, i := range p.Collection {
					st := standing{id: pathOf(t, i.URI), email: i.Email, status: i.Status, start: e.Start, end: e.End, hosts: hosts, noShow: i.NoShow != nil}
					out = append(out, st)
				}
				return p.Pagination.Next
			})
		}
	}
	return append(out, o.gone...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
