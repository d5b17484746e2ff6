package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// ErrBadCredentials says that name and password do not sign anybody in. It does
// not say why: unknown name, wrong password and disabled user look the same.
var ErrBadCredentials = errors.New("the name or the password is wrong")

// SignIn checks a name and a password that came from an address. It returns
// ErrBadCredentials, or *ThrottledError when there were too many attempts; a
// throttled attempt touches neither the password nor a table.
func (a *Accounts) SignIn(ctx context.Context, name, password, remote string) (User, error) {
	name = normalizeName(name)
	if err := a.throttle.attempt(name, remote, a.now()); err != nil {
		return User{}, err
	}
	u, err := a.store.UserByName(ctx, name)
	if err != nil && !errors.Is(err, booking.ErrNotFound) {
		return User{}, fmt.Errorf("sign in: %w", err)
	}
	if len(password) > maxPassword {
		password = "" // fails, after as long as any other
	}
	ok, err := a.hasher.matches(ctx, u.PasswordHash, password)
	if err != nil {
		return User{}, fmt.Errorf("sign in: %w", err)
	}
	if !ok || u.DisabledAt != nil {
		return User{}, a.signInFailed(ctx, u, remote)
	}
	by := By{Actor: u.Principal().Actor(), Remote: remote}
	err = a.store.Apply(ctx, Change{Entry: a.entry(by, DidSignIn, userSubject(u.ID), Facts{"with": "password"})})
	if err != nil {
		return User{}, fmt.Errorf("sign in: %w", err)
	}
	a.throttle.succeeded(name, remote)
	return u, nil
}

// signInFailed logs the attempt. The name is kept only when it is a user's:
// people type passwords into the wrong field.
func (a *Accounts) signInFailed(ctx context.Context, u User, remote string) error {
	subject, why := "", "unknown name"
	switch {
	case u.ID == uuid.Nil:
	case u.DisabledAt != nil:
		subject, why = userSubject(u.ID), "disabled"
	default:
		subject, why = userSubject(u.ID), "wrong password"
	}
	by := By{Actor: booking.ActorSystem, Remote: remote}
	if err := a.store.Apply(ctx, Change{Entry: a.entry(by, DidFailSignIn, subject, Facts{"reason": why})}); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return ErrBadCredentials
}

// Stamp changes with the user's password, and when all its sessions are ended. A
// session that keeps the stamp of its sign-in ends when the two differ.
func (u User) Stamp() string {
	text := u.ID.String() + u.PasswordHash
	if u.SignedOutAt != nil {
		text += u.SignedOutAt.UTC().Format(time.RFC3339Nano)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// How long one-time links work.
const (
	AdministratorLinkLife = 24 * time.Hour
	SignInLinkLife        = time.Hour
)

// Begin readies an installation that has no user: with a password it makes the
// administrator AdminName, else it returns the secret of a one-time link with
// which one is made. It does nothing, and returns "", once there is a user.
func (a *Accounts) Begin(ctx context.Context, adminPassword string) (link string, err error) {
	none, err := a.nobodyYet(ctx)
	if err != nil || !none {
		return "", err
	}
	if adminPassword == "" {
		return a.makeLink(ctx, System, Link{Purpose: LinkAdministrator}, AdministratorLinkLife)
	}
	_, err = a.AddUser(ctx, System, AdminName, Administrator, adminPassword)
	var taken *booking.ConflictError
	if errors.As(err, &taken) { // another instance was first
		return "", nil
	}
	return "", err
}

func (a *Accounts) nobodyYet(ctx context.Context) (bool, error) {
	all, err := a.store.Users(ctx)
	return len(all) == 0, err
}

// SignInLink makes a link that signs in once as the user, and returns its secret.
func (a *Accounts) SignInLink(ctx context.Context, by By, id uuid.UUID) (string, error) {
	if _, err := a.User(ctx, id); err != nil {
		return "", err
	}
	return a.makeLink(ctx, by, Link{Purpose: LinkSignIn, UserID: &id}, SignInLinkLife)
}

func (a *Accounts) makeLink(ctx context.Context, by By, l Link, life time.Duration) (string, error) {
	secret := newSecret("")
	l.Hash, l.ExpiresAt = hashSecret(secret), a.at().Add(life)
	subject := ""
	if l.UserID != nil {
		subject = userSubject(*l.UserID)
	}
	err := a.store.Apply(ctx, Change{NewLink: &l, Entry: a.entry(by, DidMakeLink, subject, Facts{"purpose": string(l.Purpose)})})
	if err != nil {
		return "", fmt.Errorf("make a one-time link: %w", err)
	}
	return secret, nil
}

// Link tells what a link's secret is good for without using it up, and whom it signs
// in, so that a GET may show a form: mail scanners and browsers fetch links in advance.
// A link to make the first administrator has no user yet.
func (a *Accounts) Link(ctx context.Context, secret string) (Purpose, User, error) {
	l, err := a.link(ctx, secret)
	if err != nil || l.Purpose != LinkSignIn {
		return l.Purpose, User{}, err
	}
	u, err := a.linkUser(ctx, l)
	return l.Purpose, u, err
}

// linkUser is whom a link signs in. Who was disabled since has none that works.
func (a *Accounts) linkUser(ctx context.Context, l Link) (User, error) {
	if l.Purpose != LinkSignIn || l.UserID == nil {
		return User{}, ErrLinkSpent
	}
	u, err := a.User(ctx, *l.UserID)
	if errors.Is(err, booking.ErrNotFound) {
		return User{}, ErrLinkSpent
	}
	return u, err
}

func (a *Accounts) link(ctx context.Context, secret string) (Link, error) {
	l, err := a.store.LinkByHash(ctx, hashSecret(secret))
	switch {
	case errors.Is(err, booking.ErrNotFound):
		return Link{}, ErrLinkSpent
	case err != nil:
		return Link{}, err
	case l.UsedAt != nil || !a.now().Before(l.ExpiresAt):
		return Link{}, ErrLinkSpent
	}
	if l.Purpose == LinkAdministrator {
		if none, err := a.nobodyYet(ctx); err != nil || !none {
			return Link{}, errors.Join(ErrLinkSpent, err)
		}
	}
	return l, nil
}

// SignInByLink uses up a link of purpose LinkSignIn.
func (a *Accounts) SignInByLink(ctx context.Context, secret, remote string) (User, error) {
	l, err := a.link(ctx, secret)
	if err != nil {
		return User{}, a.linkRefused(ctx, err, remote)
	}
	u, err := a.linkUser(ctx, l)
	if err != nil {
		return User{}, err
	}
	by := By{Actor: u.Principal().Actor(), Remote: remote}
	err = a.store.Apply(ctx, Change{UseLink: l.Hash, Entry: a.entry(by, DidSignIn, userSubject(u.ID), Facts{"with": "link"})})
	if err != nil {
		return User{}, a.linkRefused(ctx, err, remote)
	}
	a.throttle.succeeded(u.Name, remote)
	return u, nil
}

// FirstAdministrator uses up a link of purpose LinkAdministrator.
func (a *Accounts) FirstAdministrator(ctx context.Context, secret, name, password, remote string) (User, error) {
	l, err := a.link(ctx, secret)
	if err != nil {
		return User{}, a.linkRefused(ctx, err, remote)
	}
	if l.Purpose != LinkAdministrator {
		return User{}, ErrLinkSpent
	}
	if password == "" {
		return User{}, checkPassword(name, password)
	}
	u, err := a.newUser(ctx, name, Administrator, password)
	if err != nil {
		return User{}, err
	}
	by := By{Actor: u.Principal().Actor(), Remote: remote}
	detail := roleDetail(u)
	detail["with"] = "link"
	err = a.store.Apply(ctx, Change{NewUser: &u, UseLink: l.Hash, Entry: a.entry(by, DidAddUser, userSubject(u.ID), detail)})
	if err != nil {
		return User{}, a.linkRefused(ctx, err, remote)
	}
	return u, nil
}

// linkRefused logs a link that was tried in vain. Other errors pass.
func (a *Accounts) linkRefused(ctx context.Context, err error, remote string) error {
	if !errors.Is(err, ErrLinkSpent) || !a.throttle.worthLogging(remote, a.now()) {
		return err
	}
	by := By{Actor: booking.ActorSystem, Remote: remote}
	return errors.Join(err, a.store.Apply(ctx, Change{Entry: a.entry(by, DidRefuseLink, "", nil)}))
}
