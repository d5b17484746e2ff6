package main

import (
	"slices"
	"testing"
	"time"

	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom/calcomtest"
)

const calcomFirstKey, calcomNextKey = "cal_live_0123456789abcdef01234567", "cal_live_fedcba987654321001234567"

var (
	calcomOwner = calcomtest.Host{ID: 11, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Username: "maren", Timezone: "Europe/Berlin"}
	calcomBeate = calcomtest.Host{ID: 12, Name: "Beate Kranz", Email: "beate.kranz@harbourclinic.example", Username: "beate", Timezone: "Europe/Berlin"}
)

// The types of event that can be booked.
const (
	calcomSingle = iota + 1
	calcomSeats
	calcomAsked
	calcomTeam
)

// calcomOffice is an account at Cal.com.
type calcomOffice struct {
	*calcomtest.Server
	dates
	key    string
	open   []string  // singles that stand
	asked  []string  // that wait for the host
	class  time.Time // when the one with seats is
	shared string
	seated []string // who has a seat of it
	chain  []string
	gone   []standing
}

func newCalcomOffice(t *testing.T) office {
	t.Helper()
	c := calcomtest.New(calcomtest.Options{Key: calcomFirstKey, User: calcomOwner, Tempo: accountTempo, Now: time.Now})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, kind := range []calcomtest.EventType{
		{ID: calcomSingle, Slug: "first", Title: "First visit", Minutes: 30, Location: "Room 1"},
		{ID: calcomSeats, Slug: "class", Title: "Back school", Minutes: 50, Seats: 60},
		{ID: calcomAsked, Slug: "asked", Title: "Long visit", Minutes: 45, Confirm: true},
		{ID: calcomTeam, Slug: "team", Title: "Joint visit", Minutes: 30, Team: []calcomtest.Host{calcomBeate}},
	} {
		c.AddEventType(kind)
	}
	return &calcomOffice{Server: c, key: calcomFirstKey}
}

func (*calcomOffice) Name() string            { return "calcom" }
func (*calcomOffice) listPath() string        { return "/bookings" }
func (o *calcomOffice) credentials() []string { return []string{"--api-token", o.key} }
func (o *calcomOffice) revoke()               { o.SetKey("cal_live_of_nobody_at_all") }
func (o *calcomOffice) renew()                { o.key = calcomNextKey; o.SetKey(o.key) }
func (o *calcomOffice) chains() [][]string    { return [][]string{o.chain} }

func (o *calcomOffice) to(target string) []calcomtest.Webhook {
	return slices.DeleteFunc(o.Webhooks(), func(h calcomtest.Webhook) bool { return h.URL != target })
}

func (o *calcomOffice) hooks(_ *testing.T, target string) int { return len(o.to(target)) }

func (o *calcomOffice) dropHooks(_ *testing.T, target string) {
	for _, h := range o.to(target) {
		o.RemoveWebhook(h.ID)
	}
}

func (o *calcomOffice) next() calcomtest.Person {
	o.n++
	name, email := visitorNamed(o.n)
	return calcomtest.Person{Name: name, Email: email, Timezone: "Europe/Berlin"}
}

func (o *calcomOffice) book(t *testing.T, kind int, at time.Time, guests ...calcomtest.Person) (string, []apitest.Post) {
	t.Helper()
	uid, posts, err := o.Book(kind, o.next(), at, guests...)
	must(t, err)
	return uid, posts
}

// sit takes a seat of the class.
func (o *calcomOffice) sit(t *testing.T) []apitest.Post {
	t.Helper()
	who := o.next()
	uid, posts, err := o.Book(calcomSeats, who, o.class)
	must(t, err)
	o.shared, o.seated = uid, append(o.seated, who.Email)
	return posts
}

// rise gives the first seat of the class back.
func (o *calcomOffice) rise(t *testing.T) []apitest.Post {
	t.Helper()
	posts, done, err := o.CancelSeat(o.shared, o.seated[0])
	must(t, err)
	done()
	o.seated = o.seated[1:]
	return posts
}

func (o *calcomOffice) cancel(t *testing.T, uid string) []apitest.Post {
	t.Helper()
	posts, done, err := o.Cancel(uid, "cannot come")
	must(t, err)
	done()
	return posts
}

func (o *calcomOffice) move(t *testing.T, uid string) (string, []apitest.Post) {
	t.Helper()
	next, posts, err := o.Reschedule(uid, o.hour())
	must(t, err)
	return next, posts
}

func (o *calcomOffice) before(t *testing.T) {
	for range 110 { // more than a page
		uid, _ := o.book(t, calcomSingle, o.hour())
		o.open = append(o.open, uid)
	}
	o.book(t, calcomSingle, o.hour(), o.next()) // who brings a guest
	o.class = o.hour()
	for range 4 {
		o.sit(t)
	}
	_, err := o.MarkNoShow(o.shared, o.seated[3], true)
	must(t, err)
	first, _ := o.book(t, calcomSingle, o.hour())
	second, _ := o.move(t, first)
	third, _ := o.move(t, second)
	o.chain = []string{first, second, third}
	canceled, _ := o.book(t, calcomSingle, o.hour())
	o.cancel(t, canceled)
	o.book(t, calcomTeam, o.hour())
	_, _, _, err = o.BookSeries(calcomSingle, o.next(), o.hour().Add(10*time.Minute), 7*24*time.Hour, 4)
	must(t, err)
	for range 3 {
		uid, _ := o.book(t, calcomAsked, o.hour())
		o.asked = append(o.asked, uid)
	}
	past, _ := o.book(t, calcomSingle, o.hour().AddDate(0, 0, -12))
	_ = past
}

func (o *calcomOffice) meanwhile(t *testing.T) []apitest.Post {
	var all []apitest.Post
	take := func(posts []apitest.Post) { all = append(all, posts...) }
	for range 4 {
		_, posts := o.book(t, calcomSingle, o.hour())
		take(posts)
	}
	moved, posts := o.move(t, o.chain[len(o.chain)-1])
	o.chain = append(o.chain, moved)
	take(posts)
	take(o.cancel(t, o.open[0]))
	take(o.sit(t))
	take(o.rise(t))
	posts, err := o.Confirm(o.asked[0])
	must(t, err)
	take(posts)
	posts, err = o.Reject(o.asked[1], "fully booked")
	must(t, err)
	take(posts)
	posts, err = o.MarkNoShow(o.open[1], o.seat(t, o.open[1]).Email, true)
	must(t, err)
	take(posts)
	o.open = o.open[2:]
	return all
}

func (o *calcomOffice) seat(t *testing.T, uid string) calcomtest.Seat {
	t.Helper()
	b, ok := o.Booking(uid)
	if !ok || len(b.Seats) == 0 {
		t.Fatalf("%s has no attendee", uid)
	}
	return b.Seats[0]
}

// more books, moves and cancels, asks, and has one take a seat and one give one
// back.
func (o *calcomOffice) more(t *testing.T) []apitest.Post {
	uid, all := o.book(t, calcomSingle, o.hour())
	moved, posts := o.move(t, uid)
	all = append(all, posts...)
	all = append(all, o.cancel(t, o.open[0])...)
	o.open = append(o.open[1:], moved)
	all = append(all, o.sit(t)...)
	all = append(all, o.rise(t)...)
	_, posts = o.book(t, calcomAsked, o.hour())
	return append(all, posts...)
}

// silent is what Cal.com never tells: another host, another place, and a booking
// that is no more.
func (o *calcomOffice) silent(t *testing.T) {
	must(t, o.Reassign(o.open[0], calcomBeate))
	must(t, o.Relocate(o.open[1], "Room 2"))
	gone := o.open[2]
	o.gone = append(o.gone, standing{id: gone, email: o.seat(t, gone).Email, status: "canceled"})
	o.Remove(gone)
	o.open = append(slices.Clone(o.open[:2]), o.open[3:]...)
}

func (o *calcomOffice) standings(t *testing.T) []standing {
	t.Helper()
	states := map[string]string{
		calcomtest.Accepted: "active", calcomtest.Pending: "pending", calcomtest.Cancelled: "canceled", calcomtest.Rejected: "canceled",
	}
	var out []standing
	for _, uid := range o.Bookings() {
		b, _ := o.Booking(uid)
		hosts := []string{b.Host.Email}
		for _, h := range b.Type.Team {
			hosts = append(hosts, h.Email)
		}
		seats := b.Seats
		if b.Type.Seats == 0 {
			seats = seats[:1]
		}
		for _, who := range seats {
			out = append(out, standing{
				id: uid, email: who.Email, status: states[b.Status], start: b.Start, end: b.End, hosts: hosts, noShow: who.Absent,
			})
		}
	}
	return append(out, o.gone...)
}
