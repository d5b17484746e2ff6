package storetest

import (
	"sync"
	"testing"
	"time"

	"slotkeeper/booking"
)

// testLooks: who looks after the accounts finds out that nobody did, once, and all who
// look later know when that ended.
func testLooks(t *testing.T, b *Bench) {
	const most = 150 * time.Second
	look := func(after time.Duration) (away, back time.Duration) {
		t.Helper()
		found, err := b.LookAfter(t.Context(), Now.Add(after), most)
		if err != nil {
			t.Fatal(err)
		}
		since := func(at *time.Time) time.Duration {
			if at == nil {
				return -1
			}
			return at.Sub(Now)
		}
		return since(found.Away), since(found.BackAt)
	}
	for _, c := range []struct {
		why              string
		after, away, end time.Duration
	}{
		{"nobody ever looked", time.Hour, -1, -1},
		{"one look was missed", time.Hour + 2*time.Minute, -1, -1},
		{"as late as it may be", time.Hour + 2*time.Minute + most, -1, -1},
		{"nobody looked for an hour", 3 * time.Hour, time.Hour + 2*time.Minute + most, 3 * time.Hour},
		{"the next look", 3*time.Hour + time.Minute, -1, 3 * time.Hour},
		{"the clock was set back", 2 * time.Hour, -1, 3 * time.Hour},
		{"and goes on", 2*time.Hour + time.Minute, -1, 3 * time.Hour},
	} {
		if away, back := look(c.after); away != c.away || back != c.end {
			t.Errorf("%s: away since %s, back at %s; want %s and %s", c.why, away, back, c.away, c.end)
		}
	}

	other := Open(t, b.URL)
	var all sync.WaitGroup
	found := make([]booking.Look, 8)
	for i := range found {
		s := b.Store
		if i%2 == 1 {
			s = other
		}
		all.Go(func() {
			var err error
			if found[i], err = s.LookAfter(t.Context(), Now.Add(4*time.Hour), most); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	told := 0
	for _, f := range found {
		if f.Away != nil {
			told++
		}
		if f.BackAt == nil || !f.BackAt.Equal(Now.Add(4*time.Hour)) {
			t.Errorf("one who looks at once knows of %v", f.BackAt)
		}
	}
	if told != 1 {
		t.Errorf("%d of %d who look at once are told", told, len(found))
	}
	if err := b.exec(t, "DELETE FROM heartbeat"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.LookAfter(t.Context(), Now, most); err == nil {
		t.Error("looked without a row to note it in")
	}
}
