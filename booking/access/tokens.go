package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// ErrBadToken says that a bearer token is none of ours or was revoked.
var ErrBadToken = errors.New("the token is not valid")

// CreateToken makes an API token. The returned text is the only copy of it.
func (a *Accounts) CreateToken(ctx context.Context, by By, name string, scope Scope) (string, Token, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > 100 {
		return "", Token{}, &booking.InvalidError{Field: "name", Detail: "a token has a name of at most 100 bytes"}
	}
	if !slices.Contains(Scopes(), scope) {
		return "", Token{}, &booking.InvalidError{Field: "scope", Detail: "a scope is read, operate or admin"}
	}
	text := newSecret(tokenPrefix)
	t := Token{ID: uuid.New(), Name: name, Scope: scope, Hash: hashSecret(text), CreatedBy: by.Actor, CreatedAt: a.at()}
	detail := Facts{"name": t.Name, "scope": string(t.Scope)}
	if err := a.store.Apply(ctx, Change{NewToken: &t, Entry: a.entry(by, DidCreateToken, tokenSubject(t.ID), detail)}); err != nil {
		return "", Token{}, err
	}
	return text, t, nil
}

// RevokeToken ends a token at once. One that is revoked already, or never was,
// is booking.ErrNotFound.
func (a *Accounts) RevokeToken(ctx context.Context, by By, id uuid.UUID) error {
	return a.store.Apply(ctx, Change{RevokeToken: &id, Entry: a.entry(by, DidRevokeToken, tokenSubject(id), nil)})
}

// Tokens are all tokens, newest first, revoked ones too.
func (a *Accounts) Tokens(ctx context.Context) ([]Token, error) { return a.store.Tokens(ctx) }

// lastUseGrain is how exactly a token's last use is kept: not every call to the
// API is worth a write.
const lastUseGrain = time.Minute

// Authenticate says who holds a bearer token, or ErrBadToken.
func (a *Accounts) Authenticate(ctx context.Context, bearer string) (Principal, error) {
	if !strings.HasPrefix(bearer, tokenPrefix) {
		return Principal{}, ErrBadToken
	}
	t, err := a.store.TokenByHash(ctx, hashSecret(bearer))
	switch {
	case errors.Is(err, booking.ErrNotFound):
		return Principal{}, ErrBadToken
	case err != nil:
		return Principal{}, err
	case t.RevokedAt != nil:
		return Principal{}, ErrBadToken
	}
	if now := a.at(); t.LastUsedAt == nil || now.Sub(*t.LastUsedAt) >= lastUseGrain {
		// A database that can be read but not written still serves readers.
		if err := a.store.TouchToken(ctx, t.ID, now); err != nil && !errors.Is(err, booking.ErrUnavailable) {
			return Principal{}, err
		}
	}
	hidden, err := a.store.Privacy(ctx)
	if err != nil {
		return Principal{}, err
	}
	role := t.Scope.Role()
	return Principal{ID: t.ID, Name: t.Name, Role: role, Token: true, Scope: hidden[role].scope()}, nil
}

func tokenSubject(id uuid.UUID) string { return "token:" + id.String() }
