package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// Session of a browser that is signed in.
type Session struct {
	// ID is SessionID of its token: it can be shown, for nobody gets the token
	// back from it.
	ID        string
	UserID    uuid.UUID
	Agent     string // what the browser calls itself
	Remote    string // the address that it was last seen from
	BeganAt   time.Time
	SeenAt    time.Time // to SessionGrain
	ExpiresAt time.Time
}

// What a session holds, by the keys of its values. The store reads them too, so
// that sessions can be listed.
const (
	SessionUser   = "user"  // whose it is
	SessionStamp  = "stamp" // User.Stamp of the sign-in
	SessionRole   = "role"  // of the sign-in, or of its last change
	SessionAgent  = "agent"
	SessionRemote = "remote"
	SessionBegan  = "began" // RFC 3339
	SessionSelf   = "self"  // its own SessionID: of a token that it had before, it is another
)

// MaxAgent is how much of a browser's name for itself is kept.
const MaxAgent = 300

// SessionID is how a session is named and stored: who reads it cannot take the
// session over.
func SessionID(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// SessionGrain is how exactly it is kept when a session was last seen: not every
// page is worth a write.
const SessionGrain = 5 * time.Minute

// Sessions are a user's, the last seen first.
func (a *Accounts) Sessions(ctx context.Context, user uuid.UUID) ([]Session, error) {
	return a.store.Sessions(ctx, &user, a.at())
}

// AllSessions are everybody's, the last seen first.
func (a *Accounts) AllSessions(ctx context.Context) ([]Session, error) {
	return a.store.Sessions(ctx, nil, a.at())
}

// SawSession keeps that a session is in use. Most times it does nothing: it
// remembers when it last wrote.
func (a *Accounts) SawSession(ctx context.Context, id, remote string) error {
	now := a.at()
	if !a.seen.due(id, now) {
		return nil
	}
	err := a.store.TouchSession(ctx, id, remote, now)
	if errors.Is(err, booking.ErrUnavailable) { // one that can be read but not written serves readers
		return nil
	}
	return err
}

// seenSessions remembers when sessions were last written as seen.
type seenSessions struct {
	mu    sync.Mutex
	times *recent[string, *time.Time]
}

func (s *seenSessions) due(id string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := false
	last := s.times.get(id, func() *time.Time { fresh = true; return &now })
	if !fresh && now.Sub(*last) < SessionGrain {
		return false
	}
	*last = now
	return true
}

// EndSession signs one browser out. One that is over already is
// booking.ErrNotFound.
func (a *Accounts) EndSession(ctx context.Context, by By, s Session) error {
	return a.store.Apply(ctx, Change{EndSession: s.ID, Entry: a.entry(by, DidEndSession, userSubject(s.UserID), nil)})
}

// EndSessions signs a user out everywhere. One-time links that were made for the
// user end too: whoever holds one would be back in.
func (a *Accounts) EndSessions(ctx context.Context, by By, user uuid.UUID) error {
	return a.changeUser(ctx, by, DidEndSessions, nil, UserChange{ID: user, SignOut: true})
}
