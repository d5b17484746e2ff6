package work_test

import (
	"testing"
	"time"

	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
)

// A key that no longer opens what a post hints at is known to everybody at once: until
// the next check by the clock, a calendar without it would look like one without
// bookings.
func TestRefusedKeyIsCheckedAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		a, conn := newClasses(t, d)
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
