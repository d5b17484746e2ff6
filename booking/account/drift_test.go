package account_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers/calendly/calendlytest"
)

// TestWhatAnImportFoundStays: a booking that the rules refuse, and that lies where no
// comparison looks, is for a person to see to. The comparison a quarter of an hour
// later does not make it vanish; an import that finds it set right does.
func TestWhatAnImportFoundStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		p := d.first
		start := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, 100)
		event := d.Open(calendlytest.Session{Name: "First visit", Start: start, End: start.Add(30 * time.Minute), Limit: 1})
		far, _, err := d.Join(event, "Tomas Okafor", "tomas.okafor@mail.example")
		if err != nil {
			t.Fatal(err)
		}
		read := func(kind booking.RunKind, want int) {
			t.Helper()
			d.begin(t, kind)
			d.ends(t, p)
			drifts, err := d.Drifts(t.Context(), d.conn.ID, 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(drifts) != want || want > 0 && (drifts[0].ExternalID != far || drifts[0].StartsAt == nil || !drifts[0].StartsAt.Equal(start)) {
				t.Errorf("after a %s they are %+v, want %d", kind, drifts, want)
			}
		}
		read(booking.RunBackfill, 0)
		e := &booking.Event{
			Kind: booking.KindCanceled, Source: d.conn.Source(), At: p.now(), Key: "a cancel that was made up", ExternalID: far, Reason: booking.ReasonCanceled,
		}
		if _, err := p.store.Apply(t.Context(), []booking.Post{{
			Delivery:   booking.Delivery{ReceiptID: uuid.New(), ConnectionID: d.conn.ID, Actor: booking.ActorWebhook, EventKey: e.Key, Kind: e.Kind, Event: e},
			ReceivedAt: p.now(),
		}}, p.now()); err != nil {
			t.Fatal(err)
		}
		p.wind(10 * time.Second) // until then a read is not believed
		read(booking.RunBackfill, 1)
		p.wind(10 * time.Second)
		read(booking.RunReconcile, 1)
		p.wind(10 * time.Second)
		read(booking.RunBackfill, 1)
		if _, err := d.Cancel(far); err != nil {
			t.Fatal(err)
		}
		p.wind(10 * time.Second)
		read(booking.RunReconcile, 1)
		p.wind(10 * time.Second)
		read(booking.RunBackfill, 0)
	})
}
