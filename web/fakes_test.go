package web_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

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
		if u.Language != nil {
			stored.Language, stored.Timezone = *u.Language, *u.Timezone
		}
		if u.DisabledAt != nil {
			stored.DisabledAt = u.DisabledAt
		}
		a.users[u.ID] = stored
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
