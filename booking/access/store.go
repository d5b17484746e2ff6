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
	Display
	// Limited narrows a viewer to Resources; of other roles it says nothing.
	Limited   bool
	Resources []uuid.UUID
	// Hidden is what the user's role does not see; filled in by Accounts.User.
	Hidden     Hidden
	CreatedAt  time.Time
	DisabledAt *time.Time
	// SignedOutAt ended all sessions that began before.
	SignedOutAt *time.Time
}

// Principal that the user is.
func (u User) Principal() Principal {
	return Principal{ID: u.ID, Name: u.Name, Role: u.Role, Scope: u.Scope()}
}

// Scope is how much of the bookings the user sees.
func (u User) Scope() booking.Scope {
	s := u.Hidden.scope()
	if u.Limited && u.Role == Viewer {
		s.Limited, s.Resources = true, u.Resources
	}
	return s
}

// Token lets a program use the API. The token itself is not kept.
type Token struct {
	ID         uuid.UUID
	Name       string
	Scope      Scope
	Hash       []byte // SHA-256
	CreatedBy  booking.Actor
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
	Subject string // "user:<id>", "token:<id>", "feed:<id>", "resource:<id>", "receipt:<id>" or ""
	Detail  Facts
	Remote  string // the client's address, "" for commands
}

// Facts are what an entry says beside its action and its subject, by name.
type Facts map[Fact]string

// Fact is the name of one of them; each stands in FactNames.
type Fact string

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

// FactNames are the facts that entries have, in the order of the alphabet: each has
// words in every language, so that nobody reads a name of ours in the log.
func FactNames() []Fact {
	return []Fact{
		"accepted", "action", "actor", "affected", "audit_intact", "because", "booking_id", "bookings", "connection", "connection_id", "dry_run",
		"effect", "effects", "event", "failed_at", "file", "first_by", "format", "forms", "found", "from", "head", "host", "identity", "intact", "into", "kind", "level", "limited",
		"name", "names", "ok", "outcome", "people", "phones", "provider", "purpose", "reason", "receipts", "refetch", "resource", "resource_id", "resources", "role", "run",
		"scope", "seats", "show", "skipped", "status", "text", "to", "transitions", "values", "webhook", "with", "within_provider", "zone",
	}
}

// Deeds are all actions that entries tell of, in the order of the constants.
func Deeds() []string {
	return []string{
		DidSignIn, DidFailSignIn, DidAddUser, DidSetPassword, DidDisableUser, DidEnableUser, DidSetRole, DidLimitUser, DidSetDisplay,
		DidSetPrivacy, DidEndSession, DidEndSessions, DidCreateToken, DidRevokeToken, DidAddFeed, DidRevokeFeed,
		DidAddRecipient, DidRemoveRecipient, DidAcknowledge,
		DidAddEndpoint, DidRemoveEndpoint, DidSwitchEndpointOn, DidSwitchEndpointOff, DidRotateEndpoint, DidFinishEndpointRotation, DidTestEndpoint,
		DidMakeLink, DidRefuseLink, DidAskCancel, DidRetryEffect, DidWithdrawEffect, DidAcceptOverlap,
		DidConnect, DidFailConnect, DidReconnect, DidDisconnect, DidCheckConnection, DidTestConnection, DidCompareConnection, DidImportConnection, DidStopRun, DidRotateSecret, DidFinishRotation, DidAbandonRotation, DidKeepForms, DidDropForms,
		DidMapIdentity, DidSplitIdentity, DidMergeResource, DidRenameResource, DidSetZone, DidSetOverlapRule,
		DidReadBody, DidReadForms, DidExportAudit, DidExportAdminLog, DidVerifyAudit, DidReplay, DidStopReplay,
		DidBackUp, DidRestore, DidRotateKey, DidErase, DidEraseAgain,
	}
}

// What entries tell of. Each stands in Deeds and has a name in every language.
const (
	DidSignIn      = "user.signed_in"
	DidFailSignIn  = "user.sign_in_failed"
	DidAddUser     = "user.added"
	DidSetPassword = "user.password_set"
	DidDisableUser = "user.disabled"
	DidEnableUser  = "user.enabled"
	DidSetRole     = "user.role_set"
	DidLimitUser   = "user.limited"
	DidSetDisplay  = "user.display_set"
	DidSetPrivacy  = "role.privacy_set"
	DidEndSession  = "session.ended"
	DidEndSessions = "session.all_ended"
	DidCreateToken = "token.created"
	DidRevokeToken = "token.revoked"
	DidAddFeed     = "feed.added"
	DidRevokeFeed  = "feed.revoked"

	DidAddRecipient    = "alerts.recipient_added"
	DidRemoveRecipient = "alerts.recipient_removed"
	DidAcknowledge     = "alert.acknowledged"

	DidAddEndpoint            = "endpoint.added"
	DidRemoveEndpoint         = "endpoint.removed"
	DidSwitchEndpointOn       = "endpoint.switched_on"
	DidSwitchEndpointOff      = "endpoint.switched_off"
	DidRotateEndpoint         = "endpoint.secret_rotated"
	DidFinishEndpointRotation = "endpoint.rotation_finished"
	DidTestEndpoint           = "endpoint.tested"

	DidMakeLink    = "link.made"
	DidRefuseLink  = "link.refused"
	DidAskCancel   = "booking.cancel_asked"
	DidRetryEffect = "effect.retried"
	// DidWithdrawEffect took back what was asked for and not done yet.
	DidWithdrawEffect = "effect.withdrawn"
	// The entry has the reason that its author gave.
	DidAcceptOverlap = "booking.overlap_accepted"

	DidConnect           = "connection.connected"
	DidFailConnect       = "connection.connect_failed"
	DidReconnect         = "connection.reconnected"
	DidDisconnect        = "connection.disconnected"
	DidCheckConnection   = "connection.checked"
	DidTestConnection    = "connection.tested"
	DidCompareConnection = "connection.compared"
	DidImportConnection  = "connection.imported"
	DidStopRun           = "connection.run_stopped"
	DidRotateSecret      = "connection.secret_rotated"
	DidFinishRotation    = "connection.rotation_finished"
	DidAbandonRotation   = "connection.rotation_abandoned"
	// DidKeepForms and DidDropForms say whether intake forms and notes, which are of
	// health, are kept.
	DidKeepForms = "connection.forms_kept"
	DidDropForms = "connection.forms_dropped"

	DidMapIdentity    = "identity.mapped"
	DidSplitIdentity  = "identity.split"
	DidMergeResource  = "resource.merged"
	DidRenameResource = "resource.renamed"
	DidSetZone        = "resource.zone_set"
	DidSetOverlapRule = "resource.overlap_rule_set"

	DidReadBody    = "receipt.body_read"
	DidReadForms   = "booking.forms_read"
	DidExportAudit = "audit.exported"
	// DidExportAdminLog wrote what stands here into a file.
	DidExportAdminLog = "admin_log.exported"
	DidVerifyAudit    = "audit.verified"
	DidReplay         = "replay.asked"
	DidStopReplay     = "replay.stopped"

	DidBackUp    = "installation.backed_up"
	DidRestore   = "installation.restored"
	DidRotateKey = "installation.key_rotated"
	DidErase     = "person.erased"
	// DidEraseAgain erased who had been erased before and was here again, as after a
	// restore.
	DidEraseAgain = "person.erased_again"
)

// UserChange names what changes of a stored user; nil leaves it. Only these
// columns are written, so that two changes at once do not undo each other.
type UserChange struct {
	ID           uuid.UUID
	PasswordHash *string
	Role         *Role
	Display      *Display
	// DisabledAt is a time to disable it, and the zero time to enable it again.
	DisabledAt *time.Time
	// Limit replaces what the user is limited to.
	Limit *Limit
	// SignOut ends all its sessions and one-time links at Entry.At. A new password
	// and a user that is disabled or enabled do so anyway.
	SignOut bool
	// KeepAdministrator lets the change happen only while another administrator
	// may sign in: it fails with ErrLastAdministrator.
	KeepAdministrator bool
}

// Limit narrows a viewer to resources; nil Resources to none at all.
type Limit struct {
	Limited   bool
	Resources []uuid.UUID
}

// Change is what one transaction writes: any of the rows, and always the entry.
type Change struct {
	NewUser    *User
	ChangeUser *UserChange
	// EndSession is the id of one to be ended.
	EndSession string
	SetPrivacy *RolePrivacy
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
	// already), or a session or resource that is not there, booking.ErrNotFound,
	// a link that was used ErrLinkSpent.
	Apply(ctx context.Context, c Change) error
	User(ctx context.Context, id uuid.UUID) (User, error)
	UserByName(ctx context.Context, name string) (User, error)
	Users(ctx context.Context) ([]User, error)
	Tokens(ctx context.Context) ([]Token, error)
	TokenByHash(ctx context.Context, hash []byte) (Token, error)
	// TouchToken moves a token's last use forward; it is no change to log.
	TouchToken(ctx context.Context, id uuid.UUID, at time.Time) error
	LinkByHash(ctx context.Context, hash []byte) (Link, error)
	// Privacy is what each role does not see; a role that is not in it sees all.
	Privacy(ctx context.Context) (map[Role]Hidden, error)
	// Sessions are those that have not expired at a time, of one user or of all,
	// the last seen first.
	Sessions(ctx context.Context, user *uuid.UUID, at time.Time) ([]Session, error)
	// TouchSession moves the time that a session was last seen forward, and says
	// from where; it is no change to log.
	TouchSession(ctx context.Context, id, remote string, at time.Time) error
}

// ErrLinkSpent says that a one-time link was used, has expired, or never was.
var ErrLinkSpent = errors.New("the link was used, has expired, or is not one of ours")
