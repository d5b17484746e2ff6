package access

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// By is who makes a change, for the admin log: an actor, and the address that
// it came from ("" for commands).
type By struct {
	Actor  booking.Actor
	Remote string
}

// System is the process itself, or a command run on its machine.
var System = By{Actor: booking.ActorSystem}

// Accounts are the users, tokens and one-time links of an installation.
type Accounts struct {
	store    Store
	now      func() time.Time
	hasher   *hasher
	throttle *throttle
	seen     seenSessions
}

// NewAccounts keeps its accounts in store.
func NewAccounts(store Store, now func() time.Time) *Accounts {
	return &Accounts{store: store, now: now, hasher: newHasher(), throttle: newThrottle(), seen: seenSessions{times: newRecent[string, *time.Time](maxBuckets)}}
}

// AdminName is the user that SLOTKEEPER_ADMIN_PASSWORD makes.
const AdminName = "admin"

var nameRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

var errRole = &booking.InvalidError{Field: "role", Detail: "a role is viewer, operator or administrator"}

func normalizeName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// AddUser adds a user. An empty password makes one that signs in by link only.
func (a *Accounts) AddUser(ctx context.Context, by By, name string, role Role, password string) (User, error) {
	u, err := a.newUser(ctx, name, role, password)
	if err != nil {
		return User{}, err
	}
	err = a.store.Apply(ctx, Change{NewUser: &u, Entry: a.entry(by, DidAddUser, userSubject(u.ID), roleDetail(u))})
	if err != nil {
		return User{}, fmt.Errorf("add user: %w", err)
	}
	return u, nil
}

func (a *Accounts) newUser(ctx context.Context, name string, role Role, password string) (User, error) {
	u := User{ID: uuid.New(), Name: normalizeName(name), Role: role, Display: NewDisplay(), CreatedAt: a.at()}
	if !nameRule.MatchString(u.Name) {
		return User{}, &booking.InvalidError{Field: "username", Detail: "a name has 1 to 64 letters, digits and . _ @ + -, a letter or digit first"}
	}
	if !slices.Contains(Roles(), role) {
		return User{}, errRole
	}
	if password == "" {
		return u, nil
	}
	if err := checkPassword(u.Name, password); err != nil {
		return User{}, err
	}
	var err error
	u.PasswordHash, err = a.hasher.hash(ctx, password)
	return u, err
}

// SetPassword gives a user a new password. Sessions of the old one end, for
// Stamp changes, and so do one-time links.
func (a *Accounts) SetPassword(ctx context.Context, by By, name, password string) error {
	u, err := a.userByName(ctx, name)
	if err != nil {
		return err
	}
	if err := checkPassword(u.Name, password); err != nil {
		return err
	}
	hash, err := a.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	return a.changeUser(ctx, by, DidSetPassword, nil, UserChange{ID: u.ID, PasswordHash: &hash})
}

// DisableUser keeps a user from signing in and ends its sessions and one-time
// links. The last administrator cannot be disabled.
func (a *Accounts) DisableUser(ctx context.Context, by By, name string) error {
	u, err := a.userByName(ctx, name)
	if err != nil {
		return err
	}
	if u.DisabledAt != nil {
		return &booking.ConflictError{Code: "user_disabled", Detail: "the user is disabled already"}
	}
	at := a.at()
	return a.changeUser(ctx, by, DidDisableUser, nil, UserChange{ID: u.ID, DisabledAt: &at, KeepAdministrator: true})
}

// EnableUser lets a user sign in again. Sessions and links from before stay over.
func (a *Accounts) EnableUser(ctx context.Context, by By, name string) error {
	u, err := a.userByName(ctx, name)
	if err != nil {
		return err
	}
	if u.DisabledAt == nil {
		return &booking.ConflictError{Code: "user_enabled", Detail: "the user is not disabled"}
	}
	return a.changeUser(ctx, by, DidEnableUser, nil, UserChange{ID: u.ID, DisabledAt: &time.Time{}})
}

// SetRole changes what a user may do, from the next request on. The last
// administrator stays one.
func (a *Accounts) SetRole(ctx context.Context, by By, name string, role Role) error {
	u, err := a.userByName(ctx, name)
	if err != nil {
		return err
	}
	if !slices.Contains(Roles(), role) {
		return errRole
	}
	if u.Role == role {
		return nil
	}
	detail := Facts{"from": string(u.Role), "to": string(role)}
	return a.changeUser(ctx, by, DidSetRole, detail, UserChange{ID: u.ID, Role: &role, KeepAdministrator: role != Administrator})
}

// LimitUser narrows a viewer to resources, or with Limited false shows it all
// again. Limited to none it sees nothing.
func (a *Accounts) LimitUser(ctx context.Context, by By, name string, l Limit) error {
	u, err := a.userByName(ctx, name)
	if err != nil {
		return err
	}
	if l.Limited && u.Role != Viewer {
		return &booking.InvalidError{Field: "resources", Detail: "only a viewer can be limited to resources"}
	}
	if !l.Limited {
		l.Resources = nil
	}
	detail := Facts{"limited": strconv.FormatBool(l.Limited)}
	for i, id := range l.Resources {
		if i > 0 {
			detail["resources"] += " "
		}
		detail["resources"] += id.String()
	}
	err = a.changeUser(ctx, by, DidLimitUser, detail, UserChange{ID: u.ID, Limit: &l})
	if errors.Is(err, booking.ErrNotFound) {
		return &booking.InvalidError{Field: "resources", Detail: "one of the resources is not there any more"}
	}
	return err
}

func (a *Accounts) changeUser(ctx context.Context, by By, did string, detail Facts, c UserChange) error {
	err := a.store.Apply(ctx, Change{ChangeUser: &c, Entry: a.entry(by, did, userSubject(c.ID), detail)})
	if errors.Is(err, ErrLastAdministrator) {
		return &booking.ConflictError{Code: "last_administrator", Detail: ErrLastAdministrator.Error()}
	}
	if err != nil {
		return fmt.Errorf("change user: %w", err)
	}
	return nil
}

// Users are all users, by name.
func (a *Accounts) Users(ctx context.Context) ([]User, error) { return a.store.Users(ctx) }

// User that may use the pages now; booking.ErrNotFound when it was disabled
// meanwhile. Ask for it with every request: a session outlives the decision.
func (a *Accounts) User(ctx context.Context, id uuid.UUID) (User, error) {
	u, err := a.store.User(ctx, id)
	if err != nil {
		return User{}, err
	}
	if u.DisabledAt != nil {
		return User{}, booking.ErrNotFound
	}
	hidden, err := a.store.Privacy(ctx)
	u.Hidden = hidden[u.Role]
	return u, err
}

func (a *Accounts) userByName(ctx context.Context, name string) (User, error) {
	u, err := a.store.UserByName(ctx, normalizeName(name))
	if errors.Is(err, booking.ErrNotFound) {
		return User{}, fmt.Errorf("user %q: %w", name, err)
	}
	return u, err
}

func (a *Accounts) at() time.Time { return a.now().UTC().Truncate(time.Microsecond) }

func (a *Accounts) entry(by By, action, subject string, detail Facts) Entry {
	return Entry{At: a.at(), Actor: by.Actor, Action: action, Subject: subject, Detail: detail, Remote: by.Remote}
}

// Note keeps in the admin log what was done elsewhere, and to what. detail holds no
// secret and nothing that a stranger typed.
func (a *Accounts) Note(ctx context.Context, by By, action, subject string, detail Facts) error {
	if err := a.store.Apply(ctx, Change{Entry: a.entry(by, action, subject, detail)}); err != nil {
		return fmt.Errorf("admin log: %w", err)
	}
	return nil
}

func userSubject(id uuid.UUID) string { return "user:" + id.String() }

func roleDetail(u User) Facts {
	return Facts{"name": u.Name, "role": string(u.Role)}
}
