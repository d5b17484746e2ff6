package store_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
)

func TestFeeds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		b.Apply(t, calcom("a", 0, "10:00", "10:30", "maya"), calcom("b", 1, "10:00", "10:30", "maren"))
		maya, maren := resourceOf("maya"), resourceOf("maren")
		accounts := access.NewAccounts(b.Accounts(), func() time.Time { return storetest.Now })
		owner, err := accounts.AddUser(ctx, operator, "maya", access.Viewer, "")
		if err != nil {
			t.Fatal(err)
		}
		feeds := b.Feeds()
		feed := func(word string, change func(*access.Feed)) access.Feed {
			hash := sha256.Sum256([]byte(word))
			f := access.Feed{ID: uuid.New(), Name: word, Level: booking.FeedBusy, Hash: hash[:], CreatedBy: "system", CreatedAt: storetest.Now}
			if change != nil {
				change(&f)
			}
			return f
		}
		say := func(action string, f access.Feed, when time.Time) access.Entry {
			return access.Entry{At: when, Actor: operator.Actor, Action: action, Subject: "feed:" + f.ID.String(), Remote: operator.Remote}
		}
		plain := feed("plain", nil)
		full := feed("full", func(f *access.Feed) {
			f.Level, f.Owner, f.CreatedAt = booking.FeedFull, &owner.ID, storetest.Now.Add(time.Second)
			f.Filter = booking.FeedFilter{Resources: []uuid.UUID{maya}, Provider: "calcom", Statuses: []booking.Status{booking.Active, booking.Pending}}
		})
		for _, f := range []access.Feed{plain, full} {
			if err := feeds.AddFeed(ctx, f, say(access.DidAddFeed, f, storetest.Now)); err != nil {
				t.Fatal(err)
			}
		}
		wrong := feed("wrong", func(f *access.Feed) { f.Filter.Resources = []uuid.UUID{maya, uuid.New()} })
		if err := feeds.AddFeed(ctx, wrong, say(access.DidAddFeed, wrong, storetest.Now)); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("a feed of a resource that is not there: %v", err)
		}

		all, err := feeds.Feeds(ctx)
		if err != nil || len(all) != 2 || all[0].ID != full.ID || all[1].ID != plain.ID {
			t.Fatalf("feeds %+v: %v", all, err)
		}
		got, err := feeds.FeedByHash(ctx, full.Hash)
		if err != nil || got.Level != full.Level || *got.Owner != owner.ID || !slices.Equal(got.Filter.Resources, full.Filter.Resources) ||
			got.Filter.Provider != "calcom" || !slices.Equal(got.Filter.Statuses, full.Filter.Statuses) || !got.CreatedAt.Equal(full.CreatedAt) {
			t.Errorf("stored %+v: %v", got, err)
		}
		if _, err := feeds.FeedByHash(ctx, wrong.Hash); !errors.Is(err, booking.ErrNotFound) {
			t.Errorf("what was refused is there: %v", err)
		}

		// A use moves forward only.
		later := storetest.Now.Add(time.Hour)
		for _, when := range []time.Time{later, storetest.Now} {
			if err := feeds.TouchFeed(ctx, plain.ID, when); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := feeds.FeedByHash(ctx, plain.Hash); err != nil || got.LastUsedAt == nil || !got.LastUsedAt.Equal(later) {
			t.Errorf("last used %v: %v", got.LastUsedAt, err)
		}

		// A merged resource's bookings are with the other: so is its feed.
		seen, err := b.PreviewMerge(ctx, maya, maren, storetest.Now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.MergeResources(ctx, operator, maya, maren, seen.Mark(), storetest.Now); err != nil {
			t.Fatal(err)
		}
		if got, err := feeds.FeedByHash(ctx, full.Hash); err != nil || !slices.Equal(got.Filter.Resources, []uuid.UUID{maren}) {
			t.Errorf("after the merge it is of %v: %v", got.Filter.Resources, err)
		}

		for i, want := range []error{nil, booking.ErrNotFound} {
			if err := feeds.RevokeFeed(ctx, plain.ID, say(access.DidRevokeFeed, plain, later)); !errors.Is(err, want) {
				t.Errorf("revoked %d times: %v", i+1, err)
			}
		}
		if got, err := feeds.FeedByHash(ctx, plain.Hash); err != nil || got.RevokedAt == nil || !got.RevokedAt.Equal(later) {
			t.Errorf("revoked at %v: %v", got.RevokedAt, err)
		}
		told := 0
		for _, l := range log(t, b) {
			if strings.Contains(l, "feed:"+plain.ID.String()) || strings.Contains(l, "feed:"+full.ID.String()) {
				told++
			}
		}
		if told != 3 {
			t.Errorf("the admin log tells of %d changes, not of 3", told)
		}
	})
}

// What a calendar is told of a booking's changes rises with each of them, whatever
// changed, and stays when nothing did.
func TestRevisions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		chain := booking.ID(bt.Calcom, "a", "")
		last := booking.Revision{}
		step := func(what string, rises bool, members int, events ...*booking.Event) {
			t.Helper()
			b.Apply(t, events...) //nolint:contextcheck // the bench has the test's
			all, err := b.Revisions(ctx, []uuid.UUID{chain, chain, uuid.New()})
			if err != nil {
				t.Fatal(err)
			}
			got := all[chain]
			if len(all) != 1 || len(got.Members) != members {
				t.Errorf("%s: %+v", what, all)
			}
			if rises && got.Changes <= last.Changes || !rises && got.Changes != last.Changes {
				t.Errorf("%s: %d changes after %d", what, got.Changes, last.Changes)
			}
			if got.Modified.Before(last.Modified) || got.Modified.IsZero() {
				t.Errorf("%s: changed at %s after %s", what, got.Modified, last.Modified)
			}
			last = got
		}
		create := calcom("a", 0, "10:00", "10:30", "maya")
		step("a create", true, 1, create)
		step("a copy", false, 1, create)
		step("a move", true, 1, bt.New(bt.Calcom, booking.KindMoved, "a", 10, bt.When("11:00", "11:30"), bt.With("maya"), bt.For("priya")))
		step("another's create", false, 1, calcom("other", 15, "15:00", "15:30", "maya"))
		step("a new title", true, 1, bt.New(bt.Calcom, booking.KindDetails, "a", 20, bt.When("11:00", "11:30"), bt.With("maya"), bt.For("priya"), bt.Title("Review")))
		step("a reschedule", true, 2, bt.New(bt.Calcom, booking.KindCreated, "a2", 30, bt.When("12:00", "12:30"), bt.With("maya"), bt.For("priya"), bt.From("a")))
		step("a cancel", true, 2, bt.New(bt.Calcom, booking.KindCanceled, "a2", 40))
		if none, err := b.Revisions(ctx, nil); err != nil || len(none) != 0 {
			t.Errorf("of no chain: %v: %v", none, err)
		}
	})
}
