package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/providers"
)

// follow looks at what is wrong, and gives the alerts that last.
func follow(t *testing.T, b *storetest.Bench, now time.Time) string {
	t.Helper()
	troubles, err := b.Troubles(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.FollowAlerts(t.Context(), troubles, now); err != nil {
		t.Fatal(err)
	}
	all, err := b.Alerts(t.Context(), false, 50)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprintf("%s:%s:%d", a.Kind, a.Level, a.Count))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// told is what a recipient is told, oldest first.
func told(t *testing.T, b *storetest.Bench, recipient uuid.UUID) string {
	t.Helper()
	var out []string
	for {
		e, err := b.ClaimEffect(t.Context(), booking.Lane{Target: recipient.String()}, storetest.Now.AddDate(1, 0, 0), storetest.Now.AddDate(1, 0, 1))
		if errors.Is(err, booking.ErrNotFound) {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		var n booking.Notice
		if err := json.Unmarshal(e.Payload, &n); err != nil {
			t.Fatal(err)
		}
		a, err := b.Alert(t.Context(), n.AlertID)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s-%s-%s", a.Kind, n.Event, n.Level))
		e.Status = booking.EffectDone
		if err := b.SettleEffect(t.Context(), e, storetest.Now); err != nil {
			t.Fatal(err)
		}
	}
}

// An outage is one alert however often it is looked at; who wants to know is told
// when it begins, becomes worse and is over, and nobody else is.
func TestAlertsFollowTroubles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		add := func(r booking.AlertRecipient) uuid.UUID {
			r.ID, r.Channel, r.Address, r.Label, r.Language, r.CreatedAt = uuid.New(), booking.ChannelMail, "night@harbourclinic.example", "night", "en", now
			if err := b.AddRecipient(ctx, r, operator); err != nil {
				t.Fatal(err)
			}
			return r.ID
		}
		b.Apply(t, generic("a", 0, "10:00", "10:30", "maren"), generic("x", 1, "12:00", "12:30", "theo"))
		views := map[string]booking.View{}
		for _, id := range []string{"a", "x"} {
			v, err := b.Booking(ctx, booking.ID(bt.Generic, id, ""))
			if err != nil {
				t.Fatal(err)
			}
			views[id] = v
		}
		desk, night := add(booking.AlertRecipient{Least: booking.LevelNotice}), add(booking.AlertRecipient{Least: booking.LevelPage})
		marens := add(booking.AlertRecipient{Least: booking.LevelWarning, ResourceID: views["a"].ResourceIDs[0]})
		theos := add(booking.AlertRecipient{Least: booking.LevelWarning, ResourceID: views["x"].ResourceIDs[0]})
		if got := follow(t, b, now); got != "" {
			t.Fatalf("wrong are %s", got)
		}

		// A double booking, and an account that does not answer.
		b.Apply(t, generic("c", 1, "10:15", "10:45", "maren"))
		c := b.Conn["calendly"]
		b.Change(t, c, providers.Change{Health: &providers.Health{Failures: 2, FailingSince: &now, Failure: "the API answered 503"}})
		for range 3 {
			if got := follow(t, b, now); got != "conflict:warning:1 connection:notice:2" {
				t.Fatalf("wrong are %s", got)
			}
		}
		if got := follow(t, b, now.Add(2*time.Hour)); got != "conflict:warning:1 connection:page:2" {
			t.Fatalf("wrong are %s", got)
		}
		all, err := b.Alerts(ctx, false, 50)
		if err != nil || all[0].Kind != booking.TroubleConnection {
			t.Fatalf("%+v, %v", all, err)
		}
		if n, err := b.UnseenAlerts(ctx); n != 2 || err != nil {
			t.Errorf("%d are unseen, %v", n, err)
		}
		for range 2 { // the first counts
			if err := b.AcknowledgeAlert(ctx, all[0].ID, operator, now); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := b.UnseenAlerts(ctx); n != 1 || err != nil {
			t.Errorf("%d are unseen, %v", n, err)
		}
		b.Change(t, c, providers.Change{Health: &providers.Health{}})
		if _, err := b.AcceptOverlaps(ctx, operator, []uuid.UUID{booking.ID(bt.Generic, "c", "")}, "Two rooms", now); err != nil {
			t.Fatal(err)
		}
		if got := follow(t, b, now.Add(3*time.Hour)); got != "" {
			t.Errorf("wrong are still %s", got)
		}
		if err := b.AcknowledgeAlert(ctx, all[0].ID, operator, now); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("one that is over is acknowledged: %v", err)
		}
		over, err := b.Alerts(ctx, true, 50)
		if err != nil || len(over) != 2 {
			t.Errorf("%+v, %v", over, err)
		}
		for name, tt := range map[string]struct {
			id   uuid.UUID
			want []string
		}{
			"everything": {desk, []string{
				"conflict-opened-warning", "connection-opened-notice", "connection-worse-page", "conflict-recovered-warning", "connection-recovered-page",
			}},
			"pages":         {night, []string{"connection-worse-page", "connection-recovered-page"}},
			"Maren's":       {marens, []string{"conflict-opened-warning", "conflict-recovered-warning"}},
			"somebody else": {theos, nil},
		} {
			got := strings.Fields(told(t, b, tt.id))
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s hears %q, want %q", name, got, tt.want)
			}
		}
	})
}

// An address is kept sealed, and gone with its recipient.
func TestRecipients(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		r := booking.AlertRecipient{
			ID: uuid.New(), Channel: booking.ChannelSlack, Address: "https://hooks.chat.example/planted-secret", Label: "hooks.chat.example",
			Least: booking.LevelNotice, Language: "id", CreatedAt: storetest.Now,
		}
		if err := b.AddRecipient(ctx, r, operator); err != nil {
			t.Fatal(err)
		}
		var sealed string
		if err := b.SQL.QueryRowContext(ctx, "SELECT address FROM alert_recipients").Scan(&sealed); err != nil || strings.Contains(sealed, "planted") {
			t.Errorf("%q, %v", sealed, err)
		}
		if got, err := b.Recipient(ctx, r.ID); err != nil || got.Address != r.Address {
			t.Errorf("%+v, %v", got, err)
		}
		if all, err := b.Recipients(ctx); err != nil || len(all) != 1 || all[0].Address != "" || all[0].Label != r.Label {
			t.Errorf("%+v, %v", all, err)
		}
		if err := b.RemoveRecipient(ctx, r.ID, operator, storetest.Now); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Recipient(ctx, r.ID); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("it is still told: %v", err)
		}
		if err := b.RemoveRecipient(ctx, r.ID, operator, storetest.Now); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("it is removed twice: %v", err)
		}
		if got := strings.Join(log(t, b), "\n"); !strings.Contains(got, "alerts.recipient_added") || !strings.Contains(got, "alerts.recipient_removed") || strings.Contains(got, "planted") {
			t.Errorf("the log says %s", got)
		}
	})
}
