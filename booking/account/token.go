package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"slotkeeper/providers"
)

// How early a token is refreshed, how long a refresh may take, and how often
// somebody looks who waits for it.
const (
	refreshBefore = 5 * time.Minute
	refreshTime   = 30 * time.Second
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
		until := now.Add(refreshTime)
		mine, err := a.opts.Store.BeginRefresh(ctx, c.ID, now, until)
		if err != nil {
			return c, err
		}
		if mine {
			return a.refresh(ctx, c, api, until)
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

func (a *Accounts) refresh(ctx context.Context, c providers.Connection, api providers.Account, until time.Time) (providers.Connection, error) {
	// What the process before us stored may be newer than what we read.
	c, err := a.opts.Store.Connection(ctx, c.ID)
	if err != nil || a.good(c) {
		return c, errors.Join(err, a.opts.Store.EndRefresh(ctx, c.ID, until, nil))
	}
	config, err := a.oauth(api, "")
	if err != nil {
		return c, errors.Join(err, a.opts.Store.EndRefresh(ctx, c.ID, until, nil))
	}
	// Whoever asked may go: once it is asked for, the old token may be spent, and the
	// new one must not be lost with him.
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
	defer done()
	within, cancel := context.WithTimeout(a.withClient(keep), refreshTime/2)
	defer cancel()
	token, err := config.TokenSource(within, &oauth2.Token{RefreshToken: c.API.Refresh}).Token()
	if err != nil {
		return c, errors.Join(grantError(err), a.opts.Store.EndRefresh(keep, c.ID, until, nil))
	}
	c.API = credentials(c.API, token)
	return c, a.opts.Store.EndRefresh(keep, c.ID, until, &c.API)
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

// grantError is a token endpoint's refusal as an API's: the grant is no longer
// accepted, which only signing in again mends.
func grantError(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return fmt.Errorf("renew the access: %w", err)
	}
	status := refused.Response.StatusCode
	if refused.ErrorCode == "invalid_grant" {
		status = http.StatusUnauthorized
	}
	return &providers.AnswerError{Status: status, Message: refused.ErrorDescription}
}
