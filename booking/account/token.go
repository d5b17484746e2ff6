package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// How early a token is refreshed, how long a refresh may take, of that the asking,
// and how often somebody looks who waits for it. Keeping what came begins and ends
// before another may refresh.
const (
	refreshBefore = 5 * time.Minute
	refreshTime   = 30 * time.Second
	askTime       = refreshTime / 2
	keepTime      = refreshTime * 2 / 3
	refreshPoll   = 250 * time.Millisecond
)

// errNoRefresh says that a token has ended and there is no other.
var errNoRefresh = &providers.AnswerError{Status: http.StatusUnauthorized, Message: "the access has ended and cannot be renewed"}

// fresh gives the connection a token that is good for a while. A refresh token
// works once (Calendly's), so one process refreshes while the others wait for
// what it stores, and the new one is stored before it is used.
func (a *Accounts) fresh(ctx context.Context, c providers.Connection, api providers.Account) (providers.Connection, error) {
	for !a.good(c) {
		if c.API.Refresh == "" {
			return c, errNoRefresh
		}
		now := a.opts.Now()
		h := booking.Hold{By: uuid.New(), Until: now.Add(refreshTime)}
		mine, err := a.opts.Store.BeginRefresh(ctx, c.ID, now, h)
		if err != nil {
			return c, err
		}
		if mine {
			// Somebody may give other credentials meanwhile: they are looked at, too.
			if c, err = a.refresh(ctx, c, api, h.By); !errors.Is(err, booking.ErrNotHeld) {
				return c, err
			}
		}
		timer := time.NewTimer(refreshPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return c, fmt.Errorf("wait for the token: %w", context.Cause(ctx))
		}
		if c, err = a.opts.Store.Connection(ctx, c.ID); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (a *Accounts) good(c providers.Connection) bool {
	return c.API.ExpiresAt == nil || a.opts.Now().Add(refreshBefore).Before(*c.API.ExpiresAt)
}

// refresh gets a token, keeps it, and gives the right to do so back.
func (a *Accounts) refresh(ctx context.Context, c providers.Connection, api providers.Account, by uuid.UUID) (providers.Connection, error) {
	// Whoever asked may go: once it is asked for, the old token may be spent, and the
	// new one must not be lost with him.
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer done()
	defer func() {
		if err := a.opts.Store.EndRefresh(keep, c.ID, by); err != nil {
			a.opts.Log.WarnContext(ctx, "the right to renew a token is held in vain for a while", "connection", c.ID, "err", err)
		}
	}()
	// What the process before us stored may be newer than what we read.
	current, err := a.opts.Store.Connection(keep, c.ID)
	if err != nil || a.good(current) {
		return current, err
	}
	config, err := a.oauth(api, "")
	if err != nil {
		return current, err
	}
	within, cancel := context.WithTimeout(a.withClient(keep), askTime)
	defer cancel()
	token, err := config.TokenSource(within, &oauth2.Token{RefreshToken: current.API.Refresh}).Token()
	if err != nil {
		return current, grantError(err, config.ClientSecret, current.API.Refresh, current.API.Token)
	}
	current.API = credentials(current.API, token)
	return current, a.keepToken(keep, current, by)
}

// keepToken keeps a token, again while the database is away: there is no other.
func (a *Accounts) keepToken(ctx context.Context, c providers.Connection, by uuid.UUID) error {
	again := time.NewTicker(refreshPoll)
	defer again.Stop()
	for {
		err := a.opts.Store.KeepToken(ctx, c.ID, by, c.Generation, c.API)
		if !errors.Is(err, booking.ErrUnavailable) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

func credentials(old providers.Credentials, t *oauth2.Token) providers.Credentials {
	old.Token = t.AccessToken
	if t.RefreshToken != "" {
		old.Refresh = t.RefreshToken
	}
	old.ExpiresAt = nil
	if !t.Expiry.IsZero() {
		end := t.Expiry.UTC()
		old.ExpiresAt = &end
	}
	return old
}

func (a *Accounts) withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, a.opts.Client)
}

// grantError is a token endpoint's refusal as an API's; secrets are what was sent to it.
func grantError(err error, secrets ...string) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return fmt.Errorf("renew the access: %w", err)
	}
	return providers.GrantRefused(refused.Response, refused.Body, refused.ErrorCode, refused.ErrorDescription, secrets...)
}
