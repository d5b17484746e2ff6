package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/booking/vault"
)

// clinic is a bench whose Calendly connection stands for one with forms.
type clinic struct {
	*storetest.Bench
	connection uuid.UUID
}

func onClinics(t *testing.T, f func(*testing.T, *clinic)) {
	t.Helper()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			f(t, &clinic{b, b.Conn["calendly"]})
		})
	}
}

// said is what a client told.
func said(text string) *booking.Forms {
	return &booking.Forms{Notes: "Bring the X-ray", Filled: []booking.Form{{Name: "Intake", Fields: []booking.FormField{{Name: "Medication", Value: text}}}}}
}

// told is a post about a booking, as of a minute, with what was told.
func (c *clinic) told(name string, minute int, f *booking.Forms) booking.Post {
	p := c.Post(bt.New(bt.Calendly, cre, name, minute, bt.In(name), bt.When("10:00", "10:30"), bt.With(name), bt.For("priya")))
	p.Forms = f
	return p
}

func idOf(name string) uuid.UUID { return booking.ID(bt.Calendly, name, "") }

// kept are a booking's forms, nil for none.
func (c *clinic) kept(t *testing.T, name string) *booking.KeptForms {
	t.Helper()
	f, err := c.Forms(t.Context(), idOf(name))
	if errors.Is(err, booking.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

func (c *clinic) keep(t *testing.T, keep bool) int64 {
	t.Helper()
	removed, err := c.KeepForms(t.Context(), c.connection, keep, access.System, storetest.Now, inTurn)
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

// rows is how many rows there are, shown or not.
func (c *clinic) rows(t *testing.T) (n int) {
	t.Helper()
	if err := c.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM booking_forms").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (c *clinic) deeds(t *testing.T, want ...string) {
	t.Helper()
	l, err := c.AdminLog(t.Context(), access.EntryFilter{}, booking.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, e := range slices.Backward(l.Items) {
		did = append(did, e.Action)
		if strings.HasPrefix(e.Action, "connection.forms") && e.Subject != "connection:"+c.connection.String() {
			t.Errorf("%s is about %s", e.Action, e.Subject)
		}
	}
	if !slices.Equal(did, want) {
		t.Errorf("the admin log has %v, want %v", did, want)
	}
}

// What clients tell is kept of connections alone for which somebody asked: sealed,
// the newest of a booking, and nothing of what was told before.
func TestFormsAreKeptOnRequest(t *testing.T) {
	t.Parallel()
	onClinics(t, func(t *testing.T, c *clinic) {
		c.ApplyPosts(t, c.told("first", 1, said("ibuprofen")))
		if n := c.rows(t); n != 0 {
			t.Fatalf("%d are kept although nobody asked", n)
		}
		c.keep(t, true)
		c.keep(t, true) // is so already
		c.deeds(t, access.DidKeepForms)
		if conn, err := c.Connection(t.Context(), c.connection); err != nil || !conn.KeepForms {
			t.Errorf("%+v, %v", conn, err)
		}
		if c.kept(t, "first") != nil {
			t.Error("what was told before is there")
		}
		c.ApplyPosts(t, c.told("first", 3, said("warfarin")))
		got := c.kept(t, "first")
		if got == nil || got.Notes != "Bring the X-ray" || got.Filled[0].Fields[0] != (booking.FormField{Name: "Medication", Value: "warfarin"}) || got.ToldAt.IsZero() {
			t.Fatalf("kept is %+v", got)
		}
		var sealed []byte
		if err := c.SQL.QueryRowContext(t.Context(), "SELECT forms FROM booking_forms").Scan(&sealed); err != nil || bytes.Contains(sealed, []byte("warfarin")) {
			t.Errorf("it is kept in clear (%v)", err)
		}
		// Asked earlier and come later: it is older.
		c.ApplyPosts(t, c.told("first", 2, said("aspirin")))
		if got := c.kept(t, "first"); got.Filled[0].Fields[0].Value != "warfarin" {
			t.Errorf("an older answer made it %+v", got)
		}
		// Nothing said is not the same as nothing told.
		c.ApplyPosts(t, c.told("first", 4, nil))
		if c.kept(t, "first") == nil {
			t.Error("who says nothing of them had them removed")
		}
		// A read that changes nothing else makes no receipt, and is kept all the same.
		read := c.told("first", 5, said("none"))
		read.Read = true
		c.ApplyPosts(t, read)
		if got := c.kept(t, "first"); got.Filled[0].Fields[0].Value != "none" {
			t.Errorf("a reading made it %+v", got)
		}
		c.ApplyPosts(t, c.told("first", 6, &booking.Forms{}))
		if n := c.rows(t); n != 0 {
			t.Error("emptied at the provider, it is still here")
		}
		if _, err := c.KeepForms(t.Context(), uuid.New(), true, access.System, storetest.Now, inTurn); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("of a connection that there is not: %v", err)
		}
	})
}

// Switched off, all goes at once, in batches; what is left when that is cut off is
// shown to nobody, and goes with the next run of retention.
func TestFormsAreRemovedWhenSwitchedOff(t *testing.T) {
	t.Parallel()
	onClinics(t, func(t *testing.T, c *clinic) {
		const many = 520 // more than a batch
		fill := func(minute int) {
			c.keep(t, true)
			var set []booking.Post
			for n := range many {
				set = append(set, c.told(fmt.Sprint("n", n), minute, said("warfarin")))
			}
			for part := range slices.Chunk(set, 64) {
				c.ApplyPosts(t, part...)
			}
			if n := c.rows(t); n != many {
				t.Fatalf("%d are kept", n)
			}
		}
		fill(1)
		batches := 0
		removed, err := c.KeepForms(t.Context(), c.connection, false, access.System, storetest.Now, func(context.Context) error { batches++; return nil })
		if err != nil || removed != many || batches != 1 || c.rows(t) != 0 {
			t.Errorf("%d removed with %d breaks, %d left: %v", removed, batches, c.rows(t), err)
		}
		c.ApplyPosts(t, c.told("n1", 2, said("warfarin")))
		if n := c.rows(t); n != 0 {
			t.Errorf("%d are kept afterwards", n)
		}
		fill(3)
		cut := errors.New("cut off")
		if _, err := c.KeepForms(t.Context(), c.connection, false, access.System, storetest.Now, func(context.Context) error { return cut }); !errors.Is(err, cut) {
			t.Errorf("it was cut off, and says %v", err)
		}
		left := c.rows(t)
		for n := range many {
			if c.kept(t, fmt.Sprint("n", n)) != nil {
				t.Fatal("what is to be removed is shown")
			}
		}
		run, err := c.Retain(t.Context(), booking.Keep{}, storetest.Now, inTurn)
		if err != nil || left == 0 || run.Forms != int64(left) || c.rows(t) != 0 {
			t.Errorf("retention removed %d of %d: %v", run.Forms, left, err)
		}
		if last, err := c.LastRetention(t.Context()); err != nil || last.Forms != run.Forms {
			t.Errorf("the last run is %+v, %v", last, err)
		}
		c.deeds(t, access.DidKeepForms, access.DidDropForms, access.DidKeepForms, access.DidDropForms)
	})
}

// Whoever applies what was told while somebody ends the keeping leaves nothing behind.
func TestFormsToldWhileSwitchedOff(t *testing.T) {
	t.Parallel()
	onClinics(t, func(t *testing.T, c *clinic) {
		for round := range 5 {
			c.keep(t, true)
			var busy sync.WaitGroup
			begun := make(chan struct{}, 8)
			for n := range 8 {
				busy.Go(func() {
					for i := range 5 {
						if _, err := c.Store.Apply(t.Context(), []booking.Post{c.told(fmt.Sprint("r", n), 10*round+i+1, said("warfarin"))}, storetest.Now); err != nil {
							t.Error(err)
						}
						if i == 0 {
							begun <- struct{}{}
						}
					}
				})
			}
			<-begun
			c.keep(t, false)
			busy.Wait()
			if n := c.rows(t); n != 0 {
				t.Fatalf("round %d: %d are left behind", round, n)
			}
		}
	})
}

// What was told goes as long after it was told last as bodies do.
func TestFormsGoWithTheirTime(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	onClinics(t, func(t *testing.T, c *clinic) {
		c.keep(t, true)
		c.ApplyPosts(t, c.told("old", 1, said("warfarin")), c.told("young", 1, said("warfarin")))
		at := c.kept(t, "old").ToldAt
		c.ApplyPosts(t, c.told("young", 5, said("warfarin"))) // told again
		for _, s := range []struct {
			keep time.Duration
			now  time.Time
			want int64
		}{
			{0, at.Add(1000 * day), 0}, // for ever
			{90 * day, at.Add(90*day - time.Minute), 0},
			{90 * day, at.Add(90*day + time.Minute), 1},
		} {
			run, err := c.Retain(t.Context(), booking.Keep{Bodies: s.keep}, s.now, inTurn)
			if err != nil || run.Forms != s.want {
				t.Errorf("kept for %s, at %s: %d removed, want %d (%v)", s.keep, s.now, run.Forms, s.want, err)
			}
		}
		if c.kept(t, "old") != nil || c.kept(t, "young") == nil {
			t.Error("the wrong ones went")
		}
	})
}

// Who is erased has told nothing, neither in own forms nor by name of an address in
// others', and tells nothing any more.
func TestEraseForms(t *testing.T) {
	t.Parallel()
	const email = "priya@mail.example"
	onClinics(t, func(t *testing.T, c *clinic) {
		pepper, err := c.Installation(t.Context(), storetest.Now)
		if err != nil {
			t.Fatal(err)
		}
		c.keep(t, true)
		other := func(name string, minute int, f *booking.Forms) booking.Post {
			p := c.Post(bt.New(bt.Calendly, cre, name, minute, bt.In(name), bt.When("10:00", "10:30"), bt.With(name), bt.For("lena")))
			p.Forms = f
			return p
		}
		own := func(minute int) booking.Post {
			p := c.told("own", minute, said("warfarin"))
			for i := range p.Event.Attendees {
				p.Event.Attendees[i].Email, p.Event.Attendees[i].Key = email, vault.EmailKey(pepper, email)
			}
			return p
		}
		naming := said("write to my sister:\n" + strings.ToUpper(email))
		c.ApplyPosts(t, own(1), other("naming", 1, naming), other("silent", 1, said("none")))
		for _, dry := range []bool{true, false} {
			found, err := c.Erase(t.Context(), booking.Whom{Email: email}, access.System, storetest.Now, dry)
			if err != nil || found.Forms != 2 {
				t.Fatalf("%+v, %v", found, err)
			}
			if there := c.kept(t, "own") != nil && c.kept(t, "naming") != nil; there != dry || c.kept(t, "silent") == nil {
				t.Errorf("dry %t: they are there: %t", dry, there)
			}
		}
		c.ApplyPosts(t, own(5), other("naming", 5, naming), other("silent", 5, said("none")))
		if c.kept(t, "own") != nil || c.kept(t, "naming") != nil || c.kept(t, "silent") == nil {
			t.Error("what was erased came back")
		}
	})
}
