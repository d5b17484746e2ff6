package access

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// User of the pages.
type User struct {
	ID   uuid.UUID
	Name string // lower case, unique
	Role Role
	// PasswordHash is a PHC string; "" cannot sign in by password.
	PasswordHash string
	Language     string // of the message files; "" is the browser's choice
	Timezone     string // IANA; "" is the browser's or installation's
	CreatedAt    time.Time
	DisabledAt   *time.Time
}

// Principal that the user is.
func (u User) Principal() Principal { return Principal{ID: u.ID, Name: u.Name, Role: u.Role} }

// Token lets a program use the API. The token itself is not kept.
type Token struct {
	ID         uuid.UUID
	Name       string
	Scope      Scope
	Hash       []byte // SHA-256
	CreatedAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
}

// Purpose of a one-time link.
type Purpose string

// LinkAdministrator lets its holder make the first administrator; LinkSignIn
// signs in as a user that exists.
const (
	LinkAdministrator Purpose = "administrator"
	LinkSignIn        Purpose = "sign_in"
)

// Link works once, until it expires. The link itself is not kept.
type Link struct {
	Hash      []byte // SHA-256
	Purpose   Purpose
	UserID    *uuid.UUID // of LinkSignIn
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// Entry is a row of admin_log: who did what to whom, from where. It holds no
// secret and nothing that a stranger typed.
type Entry struct {
	At      time.Time
	Actor   booking.Actor
	Action  string
	Subject string // "user:<id>", "token:<id>", "resource:<id>", "receipt:<id>" or ""
	Detail  map[string]string
	Remote  string // the client's address, "" for commands
}

// LoggedEntry is an entry as it stands in the admin log.
type LoggedEntry struct {
	Entry
	Seq int64
}

// EntryFilter narrows the admin log. Zero fields do not filter; the window is
// [From, To).
type EntryFilter struct {
	From   *time.Time
	To     *time.Time
	Actor  booking.Actor
	Action string
}

// Deeds are all actions that entries tell of, in the order of the constants.
func Deeds() []string {
	return []string{
		DidSignIn, DidFailSignIn, DidAddUser, DidSetPassword, DidDisableUser, DidSetDisplay, DidCreateToken, DidRevokeToken,
		DidMakeLink, DidRefuseLink, DidAskCancel, DidRetryEffect, DidAcceptOverlap,
		DidConnect, DidReconnect, DidDisconnect, DidCheckConnection, DidCompareConnection, DidImportConnection, DidRotateSecret, DidFinishRotation,
		DidMapIdentity, DidSplitIdentity, DidMergeResource, DidRenameResource, DidSetZone, DidSetOverlapRule,
		DidReadBody, DidExportAudit,
	}
}

// What entries tell of. Each stands in Deeds and has a name in every language.
const (
	DidSignIn      = "user.signed_in"
	DidFailSignIn  = "user.sign_in_failed"
	DidAddUser     = "user.added"
	DidSetPassword = "user.password_set"
	DidDisableUser = "user.disabled"
	DidSetDisplay  = "user.display_set"
	DidCreateToken = "token.created"
	DidRevokeToken = "token.revoked"
	DidMakeLink    = "link.made"
	DidRefuseLink  = "link.refused"
	DidAskCancel   = "booking.cancel_asked"
	DidRetryEffect = "effect.retried"
	// The entry has the reason that its author gave.
	DidAcceptOverlap = "booking.overlap_accepted"

	DidConnect           = "connection.connected"
	DidReconnect         = "connection.reconnected"
	DidDisconnect        = "connection.disconnected"
	DidCheckConnection   = "connection.checked"
	DidCompareConnection = "connection.compared"
	DidImportConnection  = "connection.imported"
	DidRotateSecret      = "connection.secret_rotated"
	DidFinishRotation    = "connection.rotation_finished"

	DidMapIdentity    = "identity.mapped"
	DidSplitIdentity  = "identity.split"
	DidMergeResource  = "resource.merged"
	DidRenameResource = "resource.renamed"
	DidSetZone        = "resource.zone_set"
	DidSetOverlapRule = "resource.overlap_rule_set"

	DidReadBody    = "receipt.body_read"
	DidExportAudit = "audit.exported"
)

// UserChange names what changes of a stored user; nil leaves it. Only these
// columns are written, so that two changes at once do not undo each other.
type UserChange struct {
	ID           uuid.UUID
	PasswordHash *string
	DisabledAt   *time.Time
	Language     *string
	Timezone     *string
}

// Change is what one transaction writes: any of the rows, and always the entry.
type Change struct {
	NewUser    *User
	ChangeUser *UserChange
	NewToken   *Token
	// RevokeToken marks one as revoked at Entry.At.
	RevokeToken *uuid.UUID
	NewLink     *Link
	// UseLink is the hash of one to be used up at Entry.At: the change fails
	// with ErrLinkSpent unless it is unused and not expired at that moment.
	UseLink []byte
	Entry   Entry
}

// Store keeps accounts. Reads give booking.ErrNotFound for what is not there.
type Store interface {
	// Apply writes a change in one transaction. A name that is taken gives
	// *booking.ConflictError, a user or token that is not there (or is revoked
	// already) booking.ErrNotFound, a link that was used ErrLinkSpent.
	Apply(ctx context.Context, c Change) error
	User(ctx context.Context, id uuid.UUID) (User, error)
	UserByName(ctx context.Context, name string) (User, error)
	Users(ctx context.Context) ([]User, error)
	Tokens(ctx context.Context) ([]Token, error)
	TokenByHash(ctx context.Context, hash []byte) (Token, error)
	// TouchToken moves a token's last use forward; it is no change to log.
	TouchToken(ctx context.Context, id uuid.UUID, at time.Time) error
	LinkByHash(ctx context.Context, hash []byte) (Link, error)
}

// ErrLinkSpent says that a one-time link was used, has expired, or never was.
var ErrLinkSpent = errors.New("the link was used, has expired, or is not one of ours")
