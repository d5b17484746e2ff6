package booking

import (
	"testing"
	"time"
)

// A member that panics is kept as failed and takes no other with it.
func TestPanicFailsOneMember(t *testing.T) {
	now := time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC)
	source := Source{Provider: "generic", Base: "x"}
	deliver := func(id string) Delivery {
		from, to := now.Add(10*time.Hour), now.Add(11*time.Hour)
		return Delivery{
			EventKey: id, Kind: KindCreated, Actor: ActorWebhook,
			Event: &Event{
				Kind: KindCreated, Source: source, Key: id, At: now, ExternalID: id,
				Session: SessionFacts{ExternalID: id, StartsAt: &from, EndsAt: &to},
			},
		}
	}
	w := newWork(NewState(), now)
	answers := []Answer{w.member(deliver("a"))}
	refs := w.index.refs
	w.index.refs = nil // a write to it panics
	answers = append(answers, w.member(deliver("b")))
	w.index.refs = refs
	answers = append(answers, w.member(deliver("c")))

	for i, want := range []ReceiptStatus{StatusProcessed, StatusFailed, StatusProcessed} {
		if answers[i].Status != want {
			t.Errorf("member %d was answered %+v, want %s", i, answers[i], want)
		}
	}
	ch := w.changes(answers)
	if len(ch.Receipts) != 3 || len(ch.Bookings) != 2 || len(ch.Transitions) != 2 || ch.Ledger.Seq != 2 {
		t.Errorf("%d receipts, %d bookings, %d transitions, seq %d", len(ch.Receipts), len(ch.Bookings), len(ch.Transitions), ch.Ledger.Seq)
	}
	if ch.Receipts[1].Code != CodeApplyFailed {
		t.Errorf("code %q", ch.Receipts[1].Code)
	}
}
