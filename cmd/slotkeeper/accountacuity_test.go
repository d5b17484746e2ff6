package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
)

const acuityNextKey = "acuity-key-fedcba9876543210"

// The calendars and types of the office.
const (
	acuityMaren  = 1
	acuityRoom   = 2
	acuitySingle = 1
	acuityClass  = 2
)

// acuityOffice is an account at Acuity.
type acuityOffice struct {
	*acuitytest.Server
	dates
	key    string
	open   []int64   // singles that stand
	class  time.Time // when the class is
	seated []int64   // who has a seat of it
	gone   []standing
}

func newAcuityOffice(t *testing.T) office {
	t.Helper()
	ac := acuitytest.New(acuitytest.Options{
		UserID: acuityUser, APIKey: acuityKey, Name: "Harbour Clinic", Email: "desk@harbourclinic.example", Tempo: accountTempo, Now: time.Now, AnyTarget: true,
	})
	if err := ac.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ac.Close() })
	ac.AddCalendar(acuitytest.Calendar{ID: acuityMaren, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Timezone: "Europe/Berlin"})
	ac.AddCalendar(acuitytest.Calendar{ID: acuityRoom, Name: "Room 2", Email: "room.2@harbourclinic.example", Timezone: "Europe/Berlin"})
	ac.AddType(acuitytest.Type{ID: acuitySingle, Name: "First visit", Minutes: 30})
	ac.AddType(acuitytest.Type{ID: acuityClass, Name: "Back school", Minutes: 50, ClassSize: 60})
	return &acuityOffice{Server: ac, key: acuityKey}
}

func (*acuityOffice) Name() string     { return "acuity" }
func (*acuityOffice) listPath() string { return "/appointments" }

func (o *acuityOffice) credentials() []string {
	return []string{"--api-user", acuityUser, "--api-key", o.key}
}

func (o *acuityOffice) revoke()            { o.SetKey("") }
func (o *acuityOffice) renew()             { o.key = acuityNextKey; o.SetKey(o.key) }
func (o *acuityOffice) chains() [][]string { return nil } // a move keeps the id

func (o *acuityOffice) to(t *testing.T, target string) []int64 {
	t.Helper()
	var all []struct {
		ID     int64
		Target string
		Status string
	}
	header := http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(acuityUser+":"+o.key))}}
	askStandIn(t, o.APIBase()+"/webhooks", header, &all)
	var out []int64
	for _, h := range all {
		if h.Target == target && h.Status == "active" {
			out = append(out, h.ID)
		}
	}
	return out
}

func (o *acuityOffice) hooks(t *testing.T, target string) int {
	t.Helper()
	return len(o.to(t, target))
}

func (o *acuityOffice) dropHooks(t *testing.T, target string) {
	t.Helper()
	for _, id := range o.to(t, target) {
		o.RemoveHook(id)
	}
}

func (o *acuityOffice) book(t *testing.T, kind, calendar int64, at time.Time) (int64, []apitest.Post) {
	t.Helper()
	o.n++
	_, email := visitorNamed(o.n)
	id, posts, err := o.Book(acuitytest.Client{FirstName: "Priya", LastName: fmt.Sprintf("Raman %d", o.n), Email: email, Timezone: "Asia/Kolkata"}, kind, calendar, at)
	must(t, err)
	return id, posts
}

func (o *acuityOffice) sit(t *testing.T) []apitest.Post {
	t.Helper()
	id, posts := o.book(t, acuityClass, acuityRoom, o.class)
	o.seated = append(o.seated, id)
	return posts
}

func (o *acuityOffice) move(t *testing.T, id int64) []apitest.Post {
	t.Helper()
	posts, err := o.Move(id, 0, o.hour())
	must(t, err)
	return posts
}

func (o *acuityOffice) cancel(t *testing.T, id int64, noShow bool) []apitest.Post {
	t.Helper()
	posts, err := o.Cancel(id, noShow)
	must(t, err)
	return posts
}

func (o *acuityOffice) before(t *testing.T) {
	for i := range 12 {
		id, _ := o.book(t, acuitySingle, int64(i%2+1), o.hour())
		o.open = append(o.open, id)
	}
	o.class = o.hour()
	for range 4 {
		o.sit(t)
	}
	o.move(t, o.open[0])
	for _, noShow := range []bool{false, true} {
		id, _ := o.book(t, acuitySingle, acuityMaren, o.hour())
		o.cancel(t, id, noShow)
	}
	o.book(t, acuitySingle, acuityMaren, o.hour().AddDate(0, 0, -8))
	o.book(t, acuitySingle, acuityMaren, o.hour().AddDate(0, 10, 0)) // which only a backfill finds
}

// TestBackfillGoesOn revokes the key while a year is brought in: with the next key
// it goes on, and ends.
func TestBackfillGoesOn(t *testing.T) {
	t.Parallel()
	long(t)
	o := newAcuityOffice(t)
	o.before(t)
	l := newLife(t, "", o)
	o.Set(apitest.Slow, o.listPath())
	var out connectionItem
	decode(t, l.run(t, l.connectArgs(o.credentials(), "--subscribe", "--backfill", firstDay())...), &out)
	l.id, l.target = out.ID, out.WebhookURL
	o.revoke()
	o.Set(apitest.Healthy)
	l.awaits(t, "needs_sign_in")
	o.renew()
	if got, err := l.try(t, "", "connections", "backfill", l.id.String(), "--from", firstDay()); err == nil || !strings.Contains(err.Error(), "--reconnect") {
		t.Errorf("without a key it ended as %s %v", got, err)
	}
	l.run(t, slices.Concat([]string{"connect", o.Name(), "--reconnect", l.id.String()}, o.credentials())...)
	l.same(t)
	if ended := len(l.logged(t, "run waits until somebody has signed in again")); ended == 0 {
		t.Error("the key was revoked too late to prove anything")
	}
}

func (o *acuityOffice) meanwhile(t *testing.T) []apitest.Post {
	var all []apitest.Post
	for range 4 {
		_, posts := o.book(t, acuitySingle, acuityMaren, o.hour())
		all = append(all, posts...)
	}
	all = append(all, o.move(t, o.open[0])...)
	all = append(all, o.cancel(t, o.open[1], false)...)
	all = append(all, o.cancel(t, o.open[2], true)...)
	all = append(all, o.sit(t)...)
	all = append(all, o.cancel(t, o.seated[0], false)...)
	o.open, o.seated = o.open[3:], o.seated[1:]
	return all
}

// more books, moves and cancels, and has one join and one leave the class.
func (o *acuityOffice) more(t *testing.T) []apitest.Post {
	id, all := o.book(t, acuitySingle, acuityMaren, o.hour())
	all = append(all, o.move(t, id)...)
	all = append(all, o.cancel(t, o.open[0], false)...)
	o.open = append(o.open[1:], id)
	all = append(all, o.sit(t)...)
	all = append(all, o.cancel(t, o.seated[0], false)...)
	o.seated = o.seated[1:]
	return all
}

// silent is an appointment that is no more. Acuity deletes none; it may (INF).
func (o *acuityOffice) silent(t *testing.T) {
	t.Helper()
	a, ok := o.Appointment(o.open[0])
	if !ok {
		t.Fatal("there is no appointment")
	}
	o.gone = append(o.gone, standing{id: strconv.FormatInt(a.ID, 10), email: a.Client.Email, status: "canceled"})
	o.Remove(a.ID)
	o.open = o.open[1:]
}

func (o *acuityOffice) standings(t *testing.T) []standing {
	t.Helper()
	var out []standing
	for _, id := range o.Appointments() {
		a, _ := o.Appointment(id)
		status := "active"
		if a.Canceled {
			status = "canceled"
		}
		out = append(out, standing{
			id: strconv.FormatInt(id, 10), email: a.Client.Email, status: status, start: a.Start, end: a.Start.Add(time.Duration(a.Type.Minutes) * time.Minute),
			hosts: []string{"calendar|" + strconv.FormatInt(a.Calendar.ID, 10)}, noShow: a.NoShow,
		})
	}
	return append(out, o.gone...)
}
