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
		marens := add(booking.AlertRecipient{Least: booking.LevelWarning, Resources: views["a"].ResourceIDs})
		both := add(booking.AlertRecipient{Least: booking.LevelWarning, Resources: append(slices.Clone(views["x"].ResourceIDs), views["a"].ResourceIDs...)})
		theos := add(booking.AlertRecipient{Least: booking.LevelWarning, Resources: views["x"].ResourceIDs})
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
		// The account's may come back, and is over when it did not for a while; what a
		// person ended is over at once.
		if got := follow(t, b, now.Add(3*time.Hour)); got != "connection:page:2" {
			t.Errorf("wrong are still %s", got)
		}
		if n, err := b.UnseenAlerts(ctx); n != 0 || err != nil {
			t.Errorf("%d are unseen, %v", n, err)
		}
		if got := follow(t, b, now.Add(3*time.Hour+10*time.Minute)); got != "" {
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
			"two resources": {both, []string{"conflict-opened-warning", "conflict-recovered-warning"}},
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

// An account that fails and answers again each minute for an hour is one alert, told
// once and once over.
func TestFlappingIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		r := booking.AlertRecipient{
			ID: uuid.New(), Channel: booking.ChannelMail, Address: "night@harbourclinic.example", Label: "night", Least: booking.LevelNotice, Language: "en", CreatedAt: now,
		}
		if err := b.AddRecipient(ctx, r, operator); err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			at := now.Add(time.Duration(i) * time.Minute)
			health := providers.Health{}
			if i%2 == 0 {
				health = providers.Health{Failures: 1, FailingSince: &at, Failure: "the API answered 503"}
			}
			b.Change(t, b.Conn["calendly"], providers.Change{Health: &health})
			if got := follow(t, b, at); got != "connection:notice:1" {
				t.Fatalf("after %d minutes wrong is %q", i, got)
			}
		}
		if got := follow(t, b, now.Add(70*time.Minute)); got != "" {
			t.Errorf("wrong is still %s", got)
		}
		// Back within the hour: the alert from before.
		at := now.Add(80 * time.Minute)
		b.Change(t, b.Conn["calendly"], providers.Change{Health: &providers.Health{Failures: 1, FailingSince: &at}})
		if got := follow(t, b, at); got != "connection:notice:1" {
			t.Errorf("wrong is %q", got)
		}
		over, err := b.Alerts(ctx, true, 50)
		if err != nil || len(over) != 0 {
			t.Errorf("%+v, %v", over, err)
		}
		if got := told(t, b, r.ID); got != "connection-opened-notice connection-recovered-notice connection-returned-notice" {
			t.Errorf("told is %q", got)
		}
	})
}

// Who hears of a resource that is merged into another hears of that.
func TestRecipientsFollowMerges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		b.Apply(t, generic("a", 0, "10:00", "10:30", "maren"), generic("x", 1, "12:00", "12:30", "theo"))
		resource := func(id string) uuid.UUID {
			v, err := b.Booking(ctx, booking.ID(bt.Generic, id, ""))
			if err != nil {
				t.Fatal(err)
			}
			return v.ResourceIDs[0]
		}
		maren, theo := resource("a"), resource("x")
		r := booking.AlertRecipient{
			ID: uuid.New(), Channel: booking.ChannelMail, Address: "night@harbourclinic.example", Label: "night", Least: booking.LevelNotice, Language: "en",
			Resources: []uuid.UUID{maren, theo}, CreatedAt: storetest.Now,
		}
		if err := b.AddRecipient(ctx, r, operator); err != nil {
			t.Fatal(err)
		}
		if _, err := b.MergeResources(ctx, operator, theo, maren, "", storetest.Now); err != nil {
			t.Fatal(err)
		}
		if all, err := b.Recipients(ctx); err != nil || len(all) != 1 || !slices.Equal(all[0].Resources, []uuid.UUID{maren}) {
			t.Errorf("%+v, %v", all, err)
		}
		r.ID, r.Resources = uuid.New(), []uuid.UUID{uuid.New()}
		if err := b.AddRecipient(ctx, r, operator); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("a resource that is not there: %v", err)
		}
	})
}

// What strangers post makes no more than one row of a connection and part of an hour.
// A secret that is wrong is a warning while nothing is proven; a test of ours, which
// is signed with it, proves nothing.
func TestUnprovenPosts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx, now := t.Context(), storetest.Now
		c := b.Conn["calendly"]
		add := func(posts int, at time.Time) {
			t.Helper()
			if err := b.AddUnproven(ctx, map[uuid.UUID]int{c: posts}, at); err != nil {
				t.Fatal(err)
			}
		}
		rows := func(want int) {
			t.Helper()
			var n int
			if err := b.SQL.QueryRowContext(ctx, "SELECT count(*) FROM unproven_posts").Scan(&n); err != nil || n != want {
				t.Errorf("%d rows, not %d, %v", n, want, err)
			}
		}
		add(2, now)
		if got := follow(t, b, now); got != "" {
			t.Errorf("two posts are %s", got)
		}
		add(1, now.Add(time.Second))
		add(2, now.Add(2*time.Second))
		rows(1)
		own := b.Post(generic("test", 0, "10:00", "10:30", "maren"))
		own.ConnectionID, own.Kind, own.Event, own.Status, own.ReceivedAt = c, booking.KindSelftest, nil, booking.StatusIgnored, now.Add(time.Minute)
		b.ApplyPosts(t, own)
		if got := follow(t, b, now.Add(time.Minute)); got != "unproven:warning:5" {
			t.Errorf("five posts are %q", got)
		}
		proven := b.Post(bt.New(bt.Calendly, cre, "one", 1, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")))
		proven.ReceivedAt = now.Add(2 * time.Minute)
		b.ApplyPosts(t, proven)
		if got := follow(t, b, now.Add(3*time.Minute)); got != "unproven:warning:5" { // may come back
			t.Errorf("wrong is %q", got)
		}
		if got := follow(t, b, now.Add(13*time.Minute)); got != "" {
			t.Errorf("wrong is %q", got)
		}
		late := b.Post(bt.New(bt.Calendly, cre, "two", 1, bt.When("11:00", "11:30"), bt.With("maren"), bt.For("priya")))
		late.ReceivedAt = now.Add(16 * time.Minute)
		b.ApplyPosts(t, late)
		add(1_000_000, now.Add(14*time.Minute))
		if got := follow(t, b, now.Add(17*time.Minute)); got != "unproven:notice:1000005" {
			t.Errorf("wrong is %q", got)
		}
		add(1, now.Add(4*time.Hour))
		rows(1)
	})
}
