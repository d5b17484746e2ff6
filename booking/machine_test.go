package booking_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"slotkeeper/booking"
)

var update = flag.Bool("update", false, "write golden files")

func TestTransitionTable(t *testing.T) {
	type cell struct {
		from  booking.Status
		event booking.Action
		guard booking.Guard
	}
	const n, p, a, c, x = booking.New, booking.Pending, booking.Active, booking.Conflicted, booking.Canceled
	want := map[cell]booking.Status{}
	row := func(e booking.Action, g booking.Guard, to booking.Status, from ...booking.Status) {
		for _, f := range from {
			want[cell{f, e, g}] = to
		}
	}
	row(booking.Request, booking.Free, p, n, p)
	row(booking.Create, booking.Free, a, n, p, a, c)
	row(booking.Create, booking.Held, c, n, p, a, c)
	row(booking.Move, booking.Free, a, n, p, a, c)
	row(booking.Move, booking.Held, c, n, p, a, c)
	row(booking.Move, booking.Unconfirmed, p, n, p)
	row(booking.Cancel, booking.Free, x, n, p, a, c, x)
	row(booking.Release, booking.Free, a, c)
	row(booking.AcceptOverlap, booking.Free, c, c)
	for _, s := range []booking.Status{p, a, c, x} {
		row(booking.Details, booking.Free, s, s)
		row(booking.NoShow, booking.Free, s, s)
	}
	for _, from := range append(booking.Statuses(), booking.New) {
		for _, e := range booking.Actions() {
			for _, g := range []booking.Guard{booking.Free, booking.Held, booking.Unconfirmed} {
				got, err := booking.Next(from, e, g)
				to, legal := want[cell{from, e, g}]
				var illegal *booking.IllegalTransitionError
				switch {
				case legal && (err != nil || got != to):
					t.Errorf("%q %s [%s] leads to %q, %v; want %q", from, e, g, got, err, to)
				case !legal && !errors.As(err, &illegal):
					t.Errorf("%q %s [%s] leads to %q; want it refused", from, e, g, got)
				}
			}
		}
	}
}

func TestNothingLeadsOutOfCanceled(t *testing.T) {
	if got := booking.Allowed(booking.Canceled); !slices.Equal(got, []booking.Action{booking.Cancel, booking.Details, booking.NoShow}) {
		t.Errorf("from canceled: %v", got)
	}
}

// The diagram in docs/ is drawn from the table: -update writes it.
func TestDiagram(t *testing.T) {
	got, err := booking.Diagram()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "docs", "booking-states.mmd")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("docs/booking-states.mmd differs from the table; run: go test ./booking -run TestDiagram -update\n%s", got)
	}
}
