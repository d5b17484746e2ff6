package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

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
	FirstWeekday int
	ShortcutsOff bool
	Sound        bool
	Appearance   string
	Limited      bool
	DisabledAt   *stamp
	SignedOutAt  *stamp
	CreatedAt    stamp
}

func (userRow) TableName() string { return "users" }

func (r *userRow) toDomain() access.User {
	u := access.User{
		ID: r.ID, Name: r.Name, Role: access.Role(r.Role), Limited: r.Limited,
		Display: access.Display{
			Language: r.Language, Timezone: r.Timezone, FirstWeekday: time.Weekday(r.FirstWeekday),
			ShortcutsOff: r.ShortcutsOff, Sound: r.Sound, Appearance: access.Appearance(r.Appearance),
		},
		CreatedAt: r.CreatedAt.time(), DisabledAt: r.DisabledAt.ptr(), SignedOutAt: r.SignedOutAt.ptr(),
	}
	if r.PasswordHash != nil {
		u.PasswordHash = *r.PasswordHash
	}
	return u
}

func userFromDomain(u *access.User) *userRow {
	return &userRow{
		ID: u.ID, Name: u.Name, Role: string(u.Role), PasswordHash: textOrNull(u.PasswordHash), Limited: u.Limited,
		Language: storable(u.Language), Timezone: storable(u.Timezone), FirstWeekday: int(u.FirstWeekday),
		ShortcutsOff: u.ShortcutsOff, Sound: u.Sound, Appearance: string(u.Appearance),
		DisabledAt: atPtr(u.DisabledAt), SignedOutAt: atPtr(u.SignedOutAt), CreatedAt: at(u.CreatedAt),
	}
}

type tokenRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	Name       string
	Scope      string
	Hash       []byte
	CreatedBy  string
	CreatedAt  stamp
	LastUsedAt *stamp
	RevokedAt  *stamp
}

func (tokenRow) TableName() string { return "api_tokens" }

func (r *tokenRow) toDomain() access.Token {
	return access.Token{
		ID: r.ID, Name: r.Name, Scope: access.Scope(r.Scope), Hash: r.Hash, CreatedBy: booking.Actor(r.CreatedBy),
		CreatedAt: r.CreatedAt.time(), LastUsedAt: r.LastUsedAt.ptr(), RevokedAt: r.RevokedAt.ptr(),
	}
}

func tokenFromDomain(t *access.Token) *tokenRow {
	return &tokenRow{
		ID: t.ID, Name: storable(t.Name), Scope: string(t.Scope), Hash: t.Hash, CreatedBy: string(t.CreatedBy),
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
		for _, step := range []func(*gorm.DB, access.Change) error{useLink, addRows, changeUser, endSession, setPrivacy, revokeToken} {
			if err := step(tx, c); err != nil {
				return err
			}
		}
		return appendAdminLog(tx, c.Entry)
	})
	var fence *booking.FenceError
	if errors.As(err, &fence) && fence.Constraint == "users_name" {
		return &booking.ConflictError{Code: "user_exists", Detail: "a user of that name exists"}
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
	if err := keepAdministrator(tx, c.ChangeUser); err != nil {
		return err
	}
	columns := map[string]any{}
	if p := c.ChangeUser.PasswordHash; p != nil {
		columns["password_hash"] = textOrNull(*p)
	}
	out := c.ChangeUser.SignOut || c.ChangeUser.PasswordHash != nil
	if p := c.ChangeUser.DisabledAt; p != nil {
		columns["disabled_at"] = atOrNull(*p)
		out = true
	}
	if p := c.ChangeUser.Role; p != nil {
		columns["role"] = string(*p)
	}
	if p := c.ChangeUser.Display; p != nil {
		columns["language"], columns["timezone"] = storable(p.Language), storable(p.Timezone)
		columns["first_weekday"], columns["shortcuts_off"] = int(p.FirstWeekday), p.ShortcutsOff
		columns["sound"], columns["appearance"] = p.Sound, string(p.Appearance)
	}
	if p := c.ChangeUser.Limit; p != nil {
		columns["limited"] = p.Limited
	}
	if out {
		columns["signed_out_at"] = at(c.Entry.At)
	}
	if err := oneRow(tx.Table("users").Where("id = ?", c.ChangeUser.ID).Updates(columns), booking.ErrNotFound); err != nil {
		return err
	}
	if out {
		if err := endAll(tx, c); err != nil {
			return err
		}
	}
	return setLimit(tx, c.ChangeUser)
}

// endAll ends what a user is signed in with, and what would sign in without a
// password: a link that somebody still holds is as good as a session.
func endAll(tx *gorm.DB, c access.Change) error {
	if err := tx.Exec(`DELETE FROM web_sessions WHERE user_id = ?`, c.ChangeUser.ID).Error; err != nil {
		return err
	}
	return tx.Exec(`UPDATE signin_links SET used_at = ? WHERE user_id = ? AND used_at IS NULL`, at(c.Entry.At), c.ChangeUser.ID).Error
}

// keepAdministrator locks all administrators, so that two who disable each other
// at once do not both succeed.
func keepAdministrator(tx *gorm.DB, c *access.UserChange) error {
	if !c.KeepAdministrator {
		return nil
	}
	var rows []userRow
	err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("role = ?", string(access.Administrator)).Order("id").Find(&rows).Error
	if err != nil {
		return err
	}
	is, others := false, false
	for _, r := range rows {
		is = is || r.ID == c.ID && r.DisabledAt == nil
		others = others || r.ID != c.ID && r.DisabledAt == nil
	}
	if is && !others {
		return access.ErrLastAdministrator
	}
	return nil
}

type userResourceRow struct {
	UserID     uuid.UUID
	ResourceID uuid.UUID
}

func (userResourceRow) TableName() string { return "user_resources" }

func setLimit(tx *gorm.DB, c *access.UserChange) error {
	if c.Limit == nil {
		return nil
	}
	if err := tx.Exec(`DELETE FROM user_resources WHERE user_id = ?`, c.ID).Error; err != nil {
		return err
	}
	if len(c.Limit.Resources) == 0 {
		return nil
	}
	var known int64
	if err := tx.Table("resources").Where("id IN ?", c.Limit.Resources).Count(&known).Error; err != nil {
		return err
	}
	if int(known) != len(c.Limit.Resources) {
		return booking.ErrNotFound
	}
	rows := make([]userResourceRow, len(c.Limit.Resources))
	for i, id := range c.Limit.Resources {
		rows[i] = userResourceRow{c.ID, id}
	}
	return tx.Create(&rows).Error
}

func endSession(tx *gorm.DB, c access.Change) error {
	if c.EndSession == "" {
		return nil
	}
	return deleteSession(tx, storable(c.EndSession), c.Entry.At)
}

type privacyRow struct {
	Role       string `gorm:"primaryKey"`
	HideNames  bool
	HidePhones bool
}

func (privacyRow) TableName() string { return "role_privacy" }

func setPrivacy(tx *gorm.DB, c access.Change) error {
	if c.SetPrivacy == nil {
		return nil
	}
	return tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "role"}},
		DoUpdates: clause.AssignmentColumns([]string{"hide_names", "hide_phones"}),
	}).Create(&privacyRow{string(c.SetPrivacy.Role), c.SetPrivacy.Hidden.Names, c.SetPrivacy.Hidden.Phones}).Error
}

// Privacy is what each role does not see.
func (a *Accounts) Privacy(ctx context.Context) (map[access.Role]access.Hidden, error) {
	var rows []privacyRow
	err := a.s.reader(ctx).Find(&rows).Error
	out := map[access.Role]access.Hidden{}
	for _, r := range rows {
		out[access.Role(r.Role)] = access.Hidden{Names: r.HideNames, Phones: r.HidePhones}
	}
	return out, accountsError(err)
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
	return a.user(ctx, "id = ?", id)
}

func (a *Accounts) user(ctx context.Context, where string, value any) (access.User, error) {
	var r userRow
	if err := a.s.reader(ctx).Take(&r, where, value).Error; err != nil {
		return access.User{}, accountsError(err)
	}
	u := r.toDomain()
	if !r.Limited {
		return u, nil
	}
	limits, err := a.limits(ctx, "WHERE user_id = ?", r.ID)
	u.Resources = limits[r.ID]
	return u, err
}

// limits are the resources of users that are limited. Of one that was merged into
// another, the other: they are the same to whoever merged them.
func (a *Accounts) limits(ctx context.Context, where string, values ...any) (map[uuid.UUID][]uuid.UUID, error) {
	var rows []userResourceRow
	err := a.s.reader(ctx).Raw(`WITH RECURSIVE seen (user_id, resource_id) AS (
			SELECT user_id, resource_id FROM user_resources `+where+`
			UNION
			SELECT s.user_id, r.merged_into FROM seen s JOIN resources r ON r.id = s.resource_id WHERE r.merged_into IS NOT NULL)
		SELECT s.user_id, s.resource_id FROM seen s JOIN resources r ON r.id = s.resource_id
		WHERE r.merged_into IS NULL ORDER BY s.resource_id`, values...).Scan(&rows).Error
	out := map[uuid.UUID][]uuid.UUID{}
	for _, r := range rows {
		out[r.UserID] = append(out[r.UserID], r.ResourceID)
	}
	return out, accountsError(err)
}

// UserByName takes the name in lower case.
func (a *Accounts) UserByName(ctx context.Context, name string) (access.User, error) {
	return a.user(ctx, "name = ?", storable(name))
}

// Users by name, disabled ones too.
func (a *Accounts) Users(ctx context.Context) ([]access.User, error) {
	var rows []userRow
	if err := a.s.reader(ctx).Order("name").Find(&rows).Error; err != nil {
		return nil, accountsError(err)
	}
	limits, err := a.limits(ctx, "")
	out := make([]access.User, len(rows))
	for i := range rows {
		out[i] = rows[i].toDomain()
		out[i].Resources = limits[rows[i].ID]
	}
	return out, err
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
