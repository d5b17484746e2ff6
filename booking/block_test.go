package booking_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
)

// away is a delivery that tells of an absence, said at a minute of an hour.
func away(id, said, from, to string) booking.Delivery {
	key := "OOO_CREATED|" + id + "|" + said
	return booking.Delivery{
		ReceiptID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(key)), ConnectionID: uuid.NewSHA1(uuid.NameSpaceURL, []byte("connection")),
		EventKey: key, Kind: "OOO_CREATED", Actor: booking.ActorWebhook,
		Block: &booking.Block{
			Source: bt.Calcom, ExternalID: id, At: booking.Clock{At: bt.At(said), Key: key}, Host: booking.Host{ExternalID: "a@b.example", Email: "a@b.example"},
			StartsAt: bt.At(from), EndsAt: bt.At(to),
		},
	}
}

func TestBlocksPassThrough(t *testing.T) {
	t.Parallel()
	now := bt.At("12:00")
	first, second := away("one", "09:00", "10:00", "11:00"), away("one", "09:30", "10:00", "13:00")
	other := away("two", "09:10", "10:00", "11:00")
	for name, set := range map[string][]booking.Delivery{
		"in order":             {first, second, other},
		"the other way round":  {second, other, first},
		"with copies":          {second, first, second, first, other, other},
		"among bookings":       {first, bt.Deliver(bt.New(bt.Calcom, booking.KindCreated, "b", 1, bt.When("10:00", "10:30"), bt.With("putri"), bt.For("agus")), 7), second, other},
		"a member that panics": {first, {ReceiptID: uuid.New(), EventKey: "broken", Event: &booking.Event{Kind: "no such kind"}}, second, other},
	} {
		ch := booking.Decide(booking.NewState(), set, now)
		var got string
		for _, b := range ch.Blocks {
			got += fmt.Sprintf("%s until %s by %s; ", b.ExternalID, b.EndsAt.Format("15:04"), b.At.Key)
			if b.ConnectionID != first.ConnectionID || b.ReceiptID == uuid.Nil {
				t.Errorf("%s: %+v does not say who told of it", name, b)
			}
		}
		if want := "one until 13:00 by OOO_CREATED|one|09:30; two until 11:00 by OOO_CREATED|two|09:10; "; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for i, a := range ch.Answers {
			if d := set[i]; d.Block != nil && a.Status != booking.StatusProcessed && (a.Status != booking.StatusDuplicate || a.Original != booking.StatusProcessed) {
				t.Errorf("%s: answer %d is %+v", name, i, a)
			}
		}
	}
	ch := booking.Decide(booking.NewState(), []booking.Delivery{first, second}, now)
	if len(ch.Receipts) != 2 || len(ch.Transitions) != 0 || len(ch.Bookings)+len(ch.Sessions)+len(ch.Slots)+len(ch.Resources)+len(ch.Identities) != 0 {
		t.Errorf("an absence changed more than itself: %+v", ch)
	}
}

func TestLongBlock(t *testing.T) {
	t.Parallel()
	b := booking.Block{StartsAt: bt.At("10:00"), EndsAt: bt.At("10:00").Add(booking.LongBlock)}
	if b.Long() {
		t.Error("two days are long")
	}
	b.EndsAt = b.EndsAt.Add(time.Microsecond)
	if !b.Long() {
		t.Error("more is not")
	}
}
