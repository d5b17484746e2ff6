package web_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/alexedwards/scs/v2/memstore"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// accounts is the store of *access.Accounts: users and so on in memory.
type accounts struct {
	mu     sync.Mutex
	users  map[uuid.UUID]access.User
	tokens []access.Token
	links  map[string]access.Link
	log    []access.Entry

	privacy map[access.Role]access.Hidden
	shelf   shelf
}

func newAccounts() *accounts {
	return &accounts{
		users: map[uuid.UUID]access.User{}, links: map[string]access.Link{}, privacy: map[access.Role]access.Hidden{},
		shelf: shelf{memstore.NewWithCleanupInterval(0), &succession{heirs: map[string]string{}}},
	}
}

// shelf keeps the sessions of the pages.
type shelf struct {
	*memstore.MemStore
	*succession
}

// succession leads from the tokens that sessions had before to those that they have.
type succession struct {
	mu    sync.Mutex
	heirs map[string]string
	made  int
}

// lapse forgets the tokens from before, as time does.
func (s *succession) lapse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.heirs)
}

func (s *succession) successions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

func (s shelf) heir(token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.heirs[token] != "" {
		token = s.heirs[token]
	}
	return token
}

func (s shelf) SucceedCtx(_ context.Context, old, token string, data []byte, expiry time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found, err := s.Find(old); !found || err != nil {
		return false, err
	}
	s.heirs[old] = token
	s.made++
	return true, errors.Join(s.Delete(old), s.Commit(token, data, expiry))
}

func (s shelf) FindCtx(_ context.Context, token string) ([]byte, bool, error) {
	return s.Find(s.heir(token))
}

func (s shelf) CommitCtx(_ context.Context, token string, data []byte, expiry time.Time) error {
	return s.Commit(s.heir(token), data, expiry)
}

func (s shelf) DeleteCtx(_ context.Context, token string) error { return s.Delete(s.heir(token)) }

func (s shelf) list() ([]access.Session, error) {
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	var out []access.Session
	for token, data := range all {
		expiry, values, err := scs.GobCodec{}.Decode(data)
		if err != nil {
			return nil, err
		}
		text := func(key string) string { v, _ := values[key].(string); return v }
		user, err := uuid.Parse(text(access.SessionUser))
		if err != nil {
			continue
		}
		began, err := time.Parse(time.RFC3339Nano, text(access.SessionBegan))
		if err != nil {
			return nil, err
		}
		out = append(out, access.Session{
			ID: access.SessionID(token), UserID: user, Agent: text(access.SessionAgent), Remote: text(access.SessionRemote),
			BeganAt: began, SeenAt: began, ExpiresAt: expiry,
		})
	}
	return out, nil
}

func (s shelf) end(id string) error {
	all, err := s.All()
	if err != nil {
		return err
	}
	for token := range all {
		if access.SessionID(token) == id {
			return s.Delete(token)
		}
	}
	return booking.ErrNotFound
}

func (a *accounts) Sessions(_ context.Context, user *uuid.UUID, _ time.Time) ([]access.Session, error) {
	all, err := a.shelf.list()
	return slices.DeleteFunc(all, func(s access.Session) bool { return user != nil && s.UserID != *user }), err
}

func (a *accounts) TouchSession(context.Context, string, string, time.Time) error { return nil }

func (a *accounts) Privacy(context.Context) (map[access.Role]access.Hidden, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.privacy), nil
}

// logged is the newest entry of the admin log.
func (a *accounts) logged() access.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log[len(a.log)-1]
}

func (a *accounts) entries() []access.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.log)
}

// forget empties the admin log.
func (a *accounts) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = nil
}

func (a *accounts) Apply(_ context.Context, c access.Change) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.UseLink != nil {
		l, found := a.links[string(c.UseLink)]
		if !found || l.UsedAt != nil {
			return access.ErrLinkSpent
		}
		l.UsedAt = &c.Entry.At
		a.links[string(c.UseLink)] = l
	}
	for _, u := range a.users {
		if c.NewUser != nil && u.Name == c.NewUser.Name {
			return &booking.ConflictError{Detail: "a user of that name exists"}
		}
	}
	a.log = append(a.log, c.Entry)
	if c.NewUser != nil {
		a.users[c.NewUser.ID] = *c.NewUser
	}
	if u := c.ChangeUser; u != nil {
		stored, found := a.users[u.ID]
		if !found {
			return booking.ErrNotFound
		}
		if u.PasswordHash != nil {
			stored.PasswordHash = *u.PasswordHash
		}
		if u.Display != nil {
			stored.Display = *u.Display
		}
		if u.Role != nil {
			stored.Role = *u.Role
		}
		if u.Limit != nil {
			stored.Limited, stored.Resources = u.Limit.Limited, u.Limit.Resources
		}
		if u.DisabledAt != nil {
			stored.DisabledAt = u.DisabledAt
			if u.DisabledAt.IsZero() {
				stored.DisabledAt = nil
			}
		}
		if u.SignOut || u.PasswordHash != nil || u.DisabledAt != nil {
			stored.SignedOutAt = &c.Entry.At
			for hash, l := range a.links {
				if l.UsedAt == nil && l.UserID != nil && *l.UserID == u.ID {
					l.UsedAt = &c.Entry.At
					a.links[hash] = l
				}
			}
		}
		a.users[u.ID] = stored
	}
	if c.SetPrivacy != nil {
		a.privacy[c.SetPrivacy.Role] = c.SetPrivacy.Hidden
	}
	if c.EndSession != "" {
		if err := a.shelf.end(c.EndSession); err != nil {
			return err
		}
	}
	if c.RevokeToken != nil {
		i := slices.IndexFunc(a.tokens, func(t access.Token) bool { return t.ID == *c.RevokeToken && t.RevokedAt == nil })
		if i < 0 {
			return booking.ErrNotFound
		}
		a.tokens[i].RevokedAt = &c.Entry.At
	}
	if c.NewToken != nil {
		a.tokens = append(a.tokens, *c.NewToken)
	}
	if c.NewLink != nil {
		a.links[string(c.NewLink.Hash)] = *c.NewLink
	}
	return nil
}

func (a *accounts) User(_ context.Context, id uuid.UUID) (access.User, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u, ok := a.users[id]; ok {
		return u, nil
	}
	return access.User{}, booking.ErrNotFound
}

func (a *accounts) Users(context.Context) ([]access.User, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []access.User
	for _, u := range a.users {
		out = append(out, u)
	}
	return out, nil
}

func (a *accounts) UserByName(ctx context.Context, name string) (access.User, error) {
	all, _ := a.Users(ctx)
	return find(all, func(u access.User) bool { return u.Name == name })
}

func (a *accounts) Tokens(context.Context) ([]access.Token, error) { return a.tokens, nil }

func (a *accounts) TokenByHash(_ context.Context, hash []byte) (access.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return find(a.tokens, func(t access.Token) bool { return bytes.Equal(t.Hash, hash) })
}

func (a *accounts) TouchToken(context.Context, uuid.UUID, time.Time) error { return nil }

func (a *accounts) LinkByHash(_ context.Context, hash []byte) (access.Link, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l, ok := a.links[string(hash)]; ok {
		return l, nil
	}
	return access.Link{}, booking.ErrNotFound
}

// intake takes posts with a function.
type intake func(context.Context, booking.Post) (booking.Answer, error)

func (f intake) Take(ctx context.Context, p booking.Post) (booking.Answer, error) { return f(ctx, p) }

// house is an adapter that signs with the secret itself.
type house struct{ panics bool }

func (house) Name() string    { return "generic" }
func (house) APIBase() string { return "" }

func (house) Verify(r providers.Request, s providers.Secrets, _ time.Time) (string, error) {
	signature := r.Header.Get("X-Signature")
	switch {
	case signature == "":
		return "", providers.ErrSignatureMissing
	case signature == "old":
		return "", providers.ErrSignatureTooOld
	case signature == s.Current:
	case s.Previous != "" && signature == s.Previous:
		return providers.ByPrevious, nil
	default:
		return "", providers.ErrSignatureInvalid
	}
	if r.Header.Get("X-Event-ID") == "" {
		return "", providers.ErrEventIDMissing
	}
	return providers.ByCurrent, nil
}

func (h house) Parse(r providers.Request, o providers.Origin) booking.Delivery {
	if h.panics {
		panic("no")
	}
	return booking.Delivery{
		EventKey: "key|" + o.EmailKey("x"), Kind: booking.Kind(r.Header.Get("X-Kind")), SourceEventID: r.Header.Get("X-Event-ID"),
	}
}

func (house) Redact(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[redacted]"))
}

func (house) Sign([]byte, string, time.Time) http.Header { return nil }

func (house) Selftest(id string) []byte { return []byte(id) }
