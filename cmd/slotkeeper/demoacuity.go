package main

import (
	"context"
	"net/http"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
)

// The demo's Acuity: a stand-in of ours, since Acuity's posts say nothing until
// its API is asked.
const (
	demoAcuityUser = "12345678"
	demoAcuityKey  = "demo-acuity-key-0123456789"
	// demoTold is how soon Acuity tells of what was changed through its API.
	demoTold = time.Second
)

// playAcuity serves the stand-in.
func (c *cli) playAcuity(ctx context.Context, zone string) (*acuitytest.Server, error) {
	ac := acuitytest.New(acuitytest.Options{UserID: demoAcuityUser, APIKey: demoAcuityKey, Timezone: zone, Now: c.now})
	if err := ac.Start(ctx); err != nil {
		return nil, err
	}
	return ac, nil
}

// tellAcuity connects the stand-in and books at it: an hour that is moved, a
// class of two, and one that is canceled. It returns when all was fetched.
func (c *cli) tellAcuity(ctx context.Context, inst *installation, ac *acuitytest.Server, day demoDay) error {
	conn, _, err := c.newConnection(acuity.Name, "Harbour Clinic on Acuity", ac.APIBase(), func(conn *providers.Connection) error {
		conn.API.User, conn.Secrets.Current = demoAcuityUser, demoAcuityKey
		return nil
	})
	if err != nil {
		return err
	}
	if err := inst.store.CreateConnection(ctx, conn); err != nil {
		return err
	}
	ac.AddHook(acuitytest.Hook{URL: conn.WebhookURL(c.cfg.publicURL), Key: demoAcuityKey})
	posts, err := bookAtAcuity(ac, day)
	if err != nil {
		return err
	}
	if _, err := ac.Sender(http.DefaultClient).Send(ctx, posts...); err != nil {
		return err
	}
	return untilSettled(ctx, inst)
}

// keepTelling sends what the stand-in has to tell of what is done through its API,
// until ctx ends: a booking that is canceled there changes here by its webhook.
func keepTelling(ctx context.Context, ac *acuitytest.Server) {
	tick := time.NewTicker(demoTold)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if due := ac.Due(); len(due) > 0 {
			// What cannot be delivered is lost, as with a provider that gives up.
			_, _ = ac.Sender(http.DefaultClient).Send(ctx, due...)
		}
	}
}

func bookAtAcuity(ac *acuitytest.Server, d demoDay) ([]apitest.Post, error) {
	ac.AddCalendar(acuitytest.Calendar{ID: 1, Name: theo.name, Email: theo.email, Timezone: d.zone()})
	ac.AddType(acuitytest.Type{ID: 1, Name: "Physiotherapy", Minutes: 50})
	ac.AddType(acuitytest.Type{ID: 2, Name: "Pilates", Minutes: 60, ClassSize: 8})
	var out []apitest.Post
	add := func(posts []apitest.Post, err error) error {
		out = append(out, posts...)
		return err
	}
	book := func(first, last string, typeID int64, at time.Time) (int64, error) {
		who := acuitytest.Client{FirstName: first, LastName: last, Email: person(first + " " + last), Timezone: d.zone()}
		id, posts, err := ac.Book(who, typeID, 1, at)
		return id, add(posts, err)
	}
	moved, err := book("Elif", "Kaya", 1, d.at(13, 0))
	if err != nil {
		return nil, err
	}
	if err := add(ac.Move(moved, 0, d.at(13, 30))); err != nil {
		return nil, err
	}
	for _, name := range []string{"Hana", "Tomas"} {
		if _, err := book(name, "Novak", 2, d.at(17, 0)); err != nil {
			return nil, err
		}
	}
	// Another is booked into this hour elsewhere.
	if _, err := book("Nadia", "Rahman", 1, d.at(11, 0)); err != nil {
		return nil, err
	}
	gone, err := book("Ama", "Owusu", 1, d.at(15, 0))
	if err != nil {
		return nil, err
	}
	return out, add(ac.Cancel(gone, false))
}

// untilSettled waits until nothing of the demo is queued, but not for long: the
// calendar shows what comes later when it comes.
func untilSettled(ctx context.Context, inst *installation) error {
	enough := time.NewTimer(20 * time.Second)
	defer enough.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		backlog, err := inst.store.Backlog(ctx)
		if err != nil || backlog.Open[booking.StatusPending] == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-enough.C:
			return nil
		case <-tick.C:
		}
	}
}
