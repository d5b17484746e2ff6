package providertest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// Fetched is an answer of a provider's API after Fetch.
type Fetched struct {
	// Name of its golden files, testdata/golden/<Name>.snapshot.json and
	// <Name>.event.json.
	Name     string
	Snapshot []byte
	// Kind and EventKey are those of the receipt.
	Kind     booking.Kind
	EventKey string
	// Ticket of the fetch.
	Ticket time.Time
	// Hidden are texts of the answer that must not be kept at all.
	Hidden []string
}

// RunFetched is the suite for what an adapter keeps of answers and reads in them.
func RunFetched(t *testing.T, p providers.Fetcher, cases ...Fetched) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var pretty bytes.Buffer
			if len(c.Snapshot) > providers.MaxSnapshot || json.Indent(&pretty, c.Snapshot, "", "  ") != nil {
				t.Fatalf("%d bytes that are no snapshot: %.200s", len(c.Snapshot), c.Snapshot)
			}
			compare(t, filepath.Join("testdata", "golden", c.Name+".snapshot.json"), append(pretty.Bytes(), '\n'))
			for _, secret := range c.Hidden {
				if bytes.Contains(c.Snapshot, []byte(secret)) {
					t.Errorf("%q is kept", secret)
				}
			}
			CheckRedaction(t, p, c.Snapshot)

			read := func(snapshot []byte) booking.Delivery {
				d := p.Read(snapshot, Origin(p), c.Ticket, c.Kind, c.EventKey)
				CheckFetched(t, d, c.Kind, c.EventKey)
				return d
			}
			d := read(c.Snapshot)
			compare(t, filepath.Join("testdata", "golden", c.Name+".event.json"), indented(t, d))
			for n := range len(c.Snapshot) {
				if d := read(c.Snapshot[:n]); d.Status != booking.StatusFailed {
					t.Fatalf("the first %d of %d bytes: status %q", n, len(c.Snapshot), d.Status)
				}
			}
			changedJSON(t, c.Snapshot, func(changed []byte) { read(changed) })
			for _, u := range jsonJunk() {
				if d := read([]byte(u.body)); d.Status != booking.StatusFailed || u.code != anyCode && d.Code != u.code {
					t.Errorf("%s: status %q, code %q, want failed, %q", u.name, d.Status, d.Code, u.code)
				}
			}
		})
	}
}

// CheckFetched checks what holds of every delivery that Read makes.
func CheckFetched(t testing.TB, d booking.Delivery, kind booking.Kind, eventKey string) {
	t.Helper()
	if d.Kind != kind || d.EventKey != eventKey {
		t.Errorf("kind %q and key %q, of a receipt with %q and %q", d.Kind, d.EventKey, kind, eventKey)
	}
	if (d.Event != nil) != (d.Status == "") || d.Status != "" && d.Status != booking.StatusFailed {
		t.Errorf("status %q with event %v", d.Status, d.Event)
	}
	if (d.Status == booking.StatusFailed) != (d.Code != "" && d.Error != "") {
		t.Errorf("status %q with code %q and text %q", d.Status, d.Code, d.Error)
	}
	if d.Event != nil {
		checkEvent(t, d, true)
	}
}
