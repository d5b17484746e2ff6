package work_test

import (
	"testing"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
)

// A key that no longer opens what a post hints at is known to everybody at once: until
// the next check by the clock, a calendar without it would look like one without
// bookings.
func TestRefusedKeyIsCheckedAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const key = "acuity-key-0123456789"
		a := acuitytest.New(acuitytest.Options{UserID: "4711", APIKey: key, Tempo: tempo, Now: now})
		serve(t, a)
		q, _ := d.queue(t, d.Store, hostOf(t, a.APIBase()))
		start(t, q)
		conn := d.connect(t, providers.Connection{
			Provider: "acuity", APIBase: a.APIBase(), API: providers.Credentials{User: "4711"}, Secrets: providers.Secrets{Current: key},
		})
		a.AddHook(acuitytest.Hook{URL: "https://slots.example/x", Key: key, Events: []string{"scheduled"}})
		a.AddCalendar(acuitytest.Calendar{ID: 11, Name: "Ines Duarte", Email: "ines.duarte@harbourclinic.example", Timezone: "Europe/Lisbon"})
		a.AddType(acuitytest.Type{ID: 21, Name: "First visit", Minutes: 60})
		for _, trouble := range []apitest.Trouble{apitest.Broken, apitest.Unauthorized} {
			a.Set(trouble)
			_, posts, err := a.Book(acuitytest.Client{FirstName: "Lena", Email: "lena.brandt@mail.example"}, 21, 11, tomorrow)
			if err != nil {
				t.Fatal(err)
			}
			d.receive(t, conn, posts...)
			if trouble == apitest.Broken {
				before := a.Count("/appointments")
				until(t, "it is asked for twice", func() bool { return a.Count("/appointments") > before+1 })
				if len(d.checked) > 0 {
					t.Error("an API that fails is no reason to doubt the key")
				}
			}
		}
		select {
		case id := <-d.checked:
			if id != conn.ID {
				t.Errorf("%s was checked", id)
			}
		case <-time.After(30 * time.Second):
			t.Error("nobody checked the connection")
		}
	})
}
