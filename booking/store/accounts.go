package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Accounts keeps users, API tokens and one-time links for package access.
type Accounts struct{ s *Store }

var _ access.Store = (*Accounts)(nil)

// Accounts of this database.
func (s *Store) Accounts() *Accounts { return &Accounts{s} }

type userRow struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	Name         string
	Role         string
	PasswordHash *string
	Language     string
	Timezone     string
	DisabledAt   *stamp
	CreatedAt    stamp
}

func (userRow) TableName() string { return "users" }

func (r *userRow) toDomain() access.User {
	u := access.User{
		ID: r.ID, Name: r.Name, Role: access.Role(r.Role), Language: r.Language, Timezone: r.Timezone,
		CreatedAt: r.CreatedAt.time(), DisabledAt: r.DisabledAt.ptr(),
	}
	if r.PasswordHash != nil {
		u.PasswordHash = *r.PasswordHash
	}
	return u
}

func userFromDomain(u *access.User) *userRow {
	return &userRow{
		ID: u.ID, Name: u.Name, Role: string(u.Role), PasswordHash: textOrNull(u.PasswordHash),
		Language: storable(u.Language), Timezone: storable(u.Timezone), DisabledAt: atPtr(u.DisabledAt), CreatedAt: at(u.CreatedAt),
	}
}

type tokenRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	Name       string
	Scope      string
	Hash       []byte
	CreatedAt  stamp
	LastUsedAt *stamp
	RevokedAt  *stamp
}

func (tokenRow) TableName() string { return "api_tokens" }

func (r *tokenRow) toDomain() access.Token {
	return access.Token{
		ID: r.ID, Name: r.Name, Scope: access.Scope(r.Scope), Hash: r.Hash,
		CreatedAt: r.CreatedAt.time(), LastUsedAt: r.LastUsedAt.ptr(), RevokedAt: r.RevokedAt.ptr(),
	}
}

func tokenFromDomain(t *access.Token) *tokenRow {
	return &tokenRow{
		ID: t.ID, Name: storable(t.Name), Scope: string(t.Scope), Hash: t.Hash,
		CreatedAt: at(t.CreatedAt), LastUsedAt: atPtr(t.LastUsedAt), RevokedAt: atPtr(t.RevokedAt),
	}
}

type signInLinkRow struct {
	Hash      []byte `gorm:"primaryKey"`
	UserID    *uuid.UUID
	Purpose   string
	ExpiresAt stamp
	UsedAt    *stamp
}

func (signInLinkRow) TableName() string { return "signin_links" }

func (r *signInLinkRow) toDomain() access.Link {
	return access.Link{
		Hash: r.Hash, Purpose: access.Purpose(r.Purpose), UserID: r.UserID,
		ExpiresAt: r.ExpiresAt.time(), UsedAt: r.UsedAt.ptr(),
	}
}

func signInLinkFromDomain(l *access.Link) *signInLinkRow {
	return &signInLinkRow{
		Hash: l.Hash, Purpose: string(l.Purpose), UserID: l.UserID,
		ExpiresAt: at(l.ExpiresAt), UsedAt: atPtr(l.UsedAt),
	}
}

// Apply writes a change and the entry that tells of it in one transaction.
func (a *Accounts) Apply(ctx context.Context, c access.Change) error {
	err := a.s.inTx(ctx, func(tx *gorm.DB) error {
		for _, step := range []func(*gorm.DB, access.Change) error{useLink, addRows, changeUser, revokeToken} {
			if err := step(tx, c); err != nil {
				return err
			}
		}
		return appendAdminLog(tx, c.Entry)
	})
	var fence *booking.FenceError
	if errors.As(err, &fence) && fence.Constraint == "users_name" {
		return &booking.ConflictError{Detail: "a user of that name exists"}
	}
	if err != nil {
		return fmt.Errorf("store: accounts: %w", err)
	}
	return nil
}

// useLink is guarded: of two who use a link at once, one finds it used.
func useLink(tx *gorm.DB, c access.Change) error {
	if c.UseLink == nil {
		return nil
	}
	res := tx.Exec(`UPDATE signin_links SET used_at = ? WHERE hash = ? AND used_at IS NULL AND expires_at > ?`,
		at(c.Entry.At), c.UseLink, at(c.Entry.At))
	return oneRow(res, access.ErrLinkSpent)
}

func addRows(tx *gorm.DB, c access.Change) error {
	if c.NewUser != nil {
		if err := tx.Create(userFromDomain(c.NewUser)).Error; err != nil {
			return err
		}
	}
	if c.NewToken != nil {
		if err := tx.Create(tokenFromDomain(c.NewToken)).Error; err != nil {
			return err
		}
	}
	if c.NewLink != nil {
		return tx.Create(signInLinkFromDomain(c.NewLink)).Error
	}
	return nil
}

func changeUser(tx *gorm.DB, c access.Change) error {
	if c.ChangeUser == nil {
		return nil
	}
	columns := map[string]any{}
	if p := c.ChangeUser.PasswordHash; p != nil {
		columns["password_hash"] = textOrNull(*p)
	}
	if p := c.ChangeUser.DisabledAt; p != nil {
		columns["disabled_at"] = at(*p)
	}
	if p := c.ChangeUser.Language; p != nil {
		columns["language"] = storable(*p)
	}
	if p := c.ChangeUser.Timezone; p != nil {
		columns["timezone"] = storable(*p)
	}
	return oneRow(tx.Table("users").Where("id = ?", c.ChangeUser.ID).Updates(columns), booking.ErrNotFound)
}

func revokeToken(tx *gorm.DB, c access.Change) error {
	if c.RevokeToken == nil {
		return nil
	}
	res := tx.Exec(`UPDATE api_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`, at(c.Entry.At), *c.RevokeToken)
	return oneRow(res, booking.ErrNotFound)
}

func oneRow(res *gorm.DB, otherwise error) error {
	if res.Error == nil && res.RowsAffected != 1 {
		return otherwise
	}
	return res.Error
}

// User by id.
func (a *Accounts) User(ctx context.Context, id uuid.UUID) (access.User, error) {
	var r userRow
	err := a.s.reader(ctx).Take(&r, "id = ?", id).Error
	return r.toDomain(), accountsError(err)
}

// UserByName takes the name in lower case.
func (a *Accounts) UserByName(ctx context.Context, name string) (access.User, error) {
	var r userRow
	err := a.s.reader(ctx).Take(&r, "name = ?", storable(name)).Error
	return r.toDomain(), accountsError(err)
}

// Users by name, disabled ones too.
func (a *Accounts) Users(ctx context.Context) ([]access.User, error) {
	var rows []userRow
	err := a.s.reader(ctx).Order("name").Find(&rows).Error
	out := make([]access.User, len(rows))
	for i := range rows {
		out[i] = rows[i].toDomain()
	}
	return out, accountsError(err)
}

// Tokens newest first, revoked ones too.
func (a *Accounts) Tokens(ctx context.Context) ([]access.Token, error) {
	var rows []tokenRow
	err := a.s.reader(ctx).Order("created_at DESC, id").Find(&rows).Error
	out := make([]access.Token, len(rows))
	for i := range rows {
		out[i] = rows[i].toDomain()
	}
	return out, accountsError(err)
}

// TokenByHash by the SHA-256 of its text.
func (a *Accounts) TokenByHash(ctx context.Context, hash []byte) (access.Token, error) {
	var r tokenRow
	err := a.s.reader(ctx).Take(&r, "hash = ?", hash).Error
	return r.toDomain(), accountsError(err)
}

// TouchToken never moves the last use back.
func (a *Accounts) TouchToken(ctx context.Context, id uuid.UUID, when time.Time) error {
	return accountsError(a.s.write.WithContext(ctx).Exec(
		`UPDATE api_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)`,
		at(when), id, at(when)).Error)
}

// LinkByHash by the SHA-256 of its secret.
func (a *Accounts) LinkByHash(ctx context.Context, hash []byte) (access.Link, error) {
	var r signInLinkRow
	err := a.s.reader(ctx).Take(&r, "hash = ?", hash).Error
	return r.toDomain(), accountsError(err)
}

func accountsError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: accounts: %w", classify(err))
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
