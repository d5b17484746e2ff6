package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// Feed is a calendar that programs read by an address with a secret in it. The
// secret itself is not kept.
type Feed struct {
	ID     uuid.UUID
	Name   string
	Level  booking.FeedLevel
	Filter booking.FeedFilter
	Hash   []byte // SHA-256
	// Owner is the user who made it: the feed never tells more than its owner may see
	// when it is read, and nothing once the owner may not sign in. Without one, made by
	// a command, it is the installation's.
	Owner      *uuid.UUID
	CreatedBy  booking.Actor
	CreatedAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
}

// FeedStore keeps feeds. Reads give booking.ErrNotFound for what is not there.
type FeedStore interface {
	// AddFeed keeps a feed with the entry that tells of it. A resource that is not
	// there gives booking.ErrNotFound.
	AddFeed(ctx context.Context, f Feed, e Entry) error
	// RevokeFeed marks one as revoked at e.At; one that is already, or never was, gives
	// booking.ErrNotFound.
	RevokeFeed(ctx context.Context, id uuid.UUID, e Entry) error
	// Feeds come newest first, revoked ones too.
	Feeds(ctx context.Context) ([]Feed, error)
	FeedByHash(ctx context.Context, hash []byte) (Feed, error)
	// TouchFeed moves a feed's last use forward; it is no change to log.
	TouchFeed(ctx context.Context, id uuid.UUID, at time.Time) error
}

// Feeds are the calendar feeds of an installation.
type Feeds struct {
	store    FeedStore
	accounts *Accounts
}

// NewFeeds keeps feeds in store. accounts says what their owners may see.
func NewFeeds(store FeedStore, accounts *Accounts) *Feeds {
	return &Feeds{store: store, accounts: accounts}
}

// NewFeed is what somebody asks for.
type NewFeed struct {
	Name   string
	Level  booking.FeedLevel
	Filter booking.FeedFilter
}

// feedPrefix lets scanners find the addresses of feeds that were committed or pasted
// by mistake.
const feedPrefix = "slf_"

// feedSecret is how long a secret is: what is not of that length needs no look-up.
const feedSecret = len(feedPrefix) + 43

// ErrBadFeed says that a secret is no feed's: none ever had it, the feed was revoked,
// or its owner may not sign in any more.
var ErrBadFeed = errors.New("there is no such feed")

// Add makes a feed for a user, or with a nil owner the installation's own. The
// returned text is the only copy of its secret. A feed of resources that its owner
// does not see is refused as if they did not exist.
func (f *Feeds) Add(ctx context.Context, by By, owner *User, n NewFeed) (string, Feed, error) {
	out := Feed{ID: uuid.New(), Name: strings.TrimSpace(n.Name), Level: n.Level, Filter: n.Filter, CreatedBy: by.Actor, CreatedAt: f.accounts.at()}
	out.Filter.Resources = distinct(n.Filter.Resources)
	if err := out.check(); err != nil {
		return "", Feed{}, err
	}
	if owner != nil {
		out.Owner = &owner.ID
		scope := owner.Scope()
		for _, id := range out.Filter.Resources {
			if !scope.Sees(id) {
				return "", Feed{}, errFeedResource
			}
		}
	}
	secret := newSecret(feedPrefix)
	out.Hash = hashSecret(secret)
	detail := Facts{"name": out.Name, "level": string(out.Level)}
	err := f.store.AddFeed(ctx, out, f.accounts.entry(by, DidAddFeed, feedSubject(out.ID), detail))
	if errors.Is(err, booking.ErrNotFound) {
		return "", Feed{}, errFeedResource
	}
	if err != nil {
		return "", Feed{}, fmt.Errorf("add feed: %w", err)
	}
	return secret, out, nil
}

var errFeedResource = &booking.InvalidError{Field: "resource", Detail: "there is no such resource"}

// maxFeedResources is more than one calendar can be read with.
const maxFeedResources = 50

func (f *Feed) check() error {
	if f.Name == "" || len(f.Name) > 100 || strings.ContainsAny(f.Name, "\r\n\x00") {
		return &booking.InvalidError{Field: "name", Detail: "a feed has a name of at most 100 bytes, on one line"}
	}
	if !slices.Contains(booking.FeedLevels(), f.Level) {
		return &booking.InvalidError{Field: "level", Detail: "a level is busy, names or full"}
	}
	for _, s := range f.Filter.Statuses {
		if !slices.Contains(booking.FeedStatuses(), s) {
			return &booking.InvalidError{Field: "status", Detail: "a feed can be narrowed to active, pending and conflicted bookings"}
		}
	}
	if len(f.Filter.Resources) > maxFeedResources {
		return &booking.InvalidError{Field: "resource", Detail: fmt.Sprintf("a feed has at most %d resources: leave them out for all", maxFeedResources)}
	}
	return nil
}

func distinct(ids []uuid.UUID) []uuid.UUID {
	var out []uuid.UUID
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Of are the feeds of one user, newest first, revoked ones too; All are everybody's.
func (f *Feeds) Of(ctx context.Context, owner uuid.UUID) ([]Feed, error) {
	all, err := f.store.Feeds(ctx)
	return slices.DeleteFunc(all, func(feed Feed) bool { return feed.Owner == nil || *feed.Owner != owner }), err
}

// All are all feeds, newest first, revoked ones too.
func (f *Feeds) All(ctx context.Context) ([]Feed, error) { return f.store.Feeds(ctx) }

// Revoke ends a feed at once. One that is revoked already, or never was, is
// booking.ErrNotFound.
func (f *Feeds) Revoke(ctx context.Context, by By, id uuid.UUID) error {
	return f.store.RevokeFeed(ctx, id, f.accounts.entry(by, DidRevokeFeed, feedSubject(id), nil))
}

// OpenedFeed is a feed that somebody reads.
type OpenedFeed struct {
	Feed
	// Scope is how much of the bookings it may show now: as much as its owner sees, of
	// the resources that it is narrowed to.
	Scope booking.Scope
	// Language of its owner; "" where nobody chose one.
	Language string
}

// Open gives the feed of a secret, or ErrBadFeed. A secret has 256 random bits and is
// looked up by its hash, so that how long the answer takes tells nothing of the
// secrets that exist.
func (f *Feeds) Open(ctx context.Context, secret string) (OpenedFeed, error) {
	if !strings.HasPrefix(secret, feedPrefix) || len(secret) != feedSecret {
		return OpenedFeed{}, ErrBadFeed
	}
	hash := hashSecret(secret)
	feed, err := f.store.FeedByHash(ctx, hash)
	switch {
	case errors.Is(err, booking.ErrNotFound):
		return OpenedFeed{}, ErrBadFeed
	case err != nil:
		return OpenedFeed{}, err
	case subtle.ConstantTimeCompare(feed.Hash, hash) != 1 || feed.RevokedAt != nil:
		return OpenedFeed{}, ErrBadFeed
	}
	out := OpenedFeed{Feed: feed}
	if feed.Owner != nil {
		owner, err := f.accounts.User(ctx, *feed.Owner)
		if errors.Is(err, booking.ErrNotFound) {
			return OpenedFeed{}, ErrBadFeed
		}
		if err != nil {
			return OpenedFeed{}, err
		}
		out.Scope, out.Language = owner.Scope(), owner.Language
	}
	out.Scope = feed.Filter.Within(out.Scope)
	return out, f.touch(ctx, feed)
}

func (f *Feeds) touch(ctx context.Context, feed Feed) error {
	now := f.accounts.at()
	if feed.LastUsedAt != nil && now.Sub(*feed.LastUsedAt) < lastUseGrain {
		return nil
	}
	// A database that can be read but not written still serves readers.
	if err := f.store.TouchFeed(ctx, feed.ID, now); err != nil && !errors.Is(err, booking.ErrUnavailable) {
		return err
	}
	return nil
}

func feedSubject(id uuid.UUID) string { return "feed:" + id.String() }
