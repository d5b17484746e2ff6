package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// WebSessions keeps the sessions of the pages. It stores the SHA-256 of a
// session's token: who reads the table cannot take a session over.
type WebSessions struct {
	s   *Store
	now func() time.Time
}

var _ scs.CtxStore = (*WebSessions)(nil)

// WebSessions of this database.
func (s *Store) WebSessions(now func() time.Time) *WebSessions { return &WebSessions{s: s, now: now} }

// webSessionRow is a session. Token is its access.SessionID. What is known of the
// user and the browser is in Data too; it stands apart so that it can be searched.
type webSessionRow struct {
	Token   string `gorm:"primaryKey"`
	Data    []byte
	Expiry  stamp
	UserID  *uuid.UUID
	Agent   string
	Remote  string
	BeganAt *stamp
	SeenAt  *stamp
}

func (webSessionRow) TableName() string { return "web_sessions" }

// FindCtx finds a session that has not expired, by its token or by one that it had
// until a moment ago.
func (w *WebSessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	r, err := sessionOf(w.s.reader(ctx), access.SessionID(token), w.now())
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, false, nil
	}
	return r.Data, err == nil, sessionsError(err)
}

// CommitCtx makes the session or overwrites it.
func (w *WebSessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	id := access.SessionID(token)
	if r, err := sessionOf(w.s.reader(ctx), id, w.now()); err == nil {
		id = r.Token
	} else if !errors.Is(err, gorm.ErrRecordNotFound) {
		return sessionsError(err)
	}
	return sessionsError(w.s.write.WithContext(ctx).
		Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "token"}},
			DoUpdates: clause.AssignmentColumns([]string{"data", "expiry", "user_id", "agent", "remote", "began_at", "seen_at"}),
		}).
		Create(w.row(id, data, expiry)).Error)
}

// row takes out of the session's data what it is listed by. Data that is not the
// session manager's is kept all the same.
func (w *WebSessions) row(id string, data []byte, expiry time.Time) *webSessionRow {
	r := &webSessionRow{Token: id, Data: data, Expiry: at(expiry)}
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return r
	}
	text := func(key string) string { s, _ := values[key].(string); return storable(s) }
	user, err := uuid.Parse(text(access.SessionUser))
	if err != nil {
		return r
	}
	seen := at(w.now())
	r.UserID, r.Agent, r.Remote, r.SeenAt = &user, text(access.SessionAgent), text(access.SessionRemote), &seen
	if began, err := time.Parse(time.RFC3339Nano, text(access.SessionBegan)); err == nil {
		r.BeganAt = atOrNull(began)
	}
	return r
}

// Sessions are those of people who are signed in at a time, the last seen first.
func (a *Accounts) Sessions(ctx context.Context, user *uuid.UUID, when time.Time) ([]access.Session, error) {
	q := a.s.reader(ctx).Where("user_id IS NOT NULL AND expiry > ?", at(when)).Omit("data").Order("seen_at DESC, token")
	if user != nil {
		q = q.Where("user_id = ?", *user)
	}
	var rows []webSessionRow
	err := q.Find(&rows).Error
	out := make([]access.Session, len(rows))
	for i, r := range rows {
		out[i] = access.Session{
			ID: r.Token, UserID: *r.UserID, Agent: r.Agent, Remote: r.Remote,
			BeganAt: r.BeganAt.time(), SeenAt: r.SeenAt.time(), ExpiresAt: r.Expiry.time(),
		}
	}
	return out, sessionsError(err)
}

// TouchSession writes at most once in access.SessionGrain.
func (a *Accounts) TouchSession(ctx context.Context, id, remote string, when time.Time) error {
	return sessionsError(a.s.write.WithContext(ctx).Exec(
		`UPDATE web_sessions SET seen_at = ?, remote = ? WHERE token = ? AND seen_at <= ?`,
		at(when), storable(remote), id, at(when.Add(-access.SessionGrain))).Error)
}

// DeleteCtx ends a session; one that is not there is no error.
func (w *WebSessions) DeleteCtx(ctx context.Context, token string) error {
	err := w.s.inTx(ctx, func(tx *gorm.DB) error { return deleteSession(tx, access.SessionID(token), w.now()) })
	if errors.Is(err, booking.ErrNotFound) {
		return nil
	}
	return sessionsError(err)
}

// DeleteExpired removes what FindCtx would not find any more, and says how much
// that was. Call it now and then.
func (w *WebSessions) DeleteExpired(ctx context.Context) (int64, error) {
	res := w.s.write.WithContext(ctx).Exec(`DELETE FROM web_sessions WHERE expiry <= ?`, at(w.now()))
	return res.RowsAffected, sessionsError(res.Error)
}

// Find is FindCtx for whoever has no context; the session manager has one.
func (w *WebSessions) Find(token string) (data []byte, found bool, err error) {
	return w.FindCtx(context.Background(), token)
}

// Commit is CommitCtx for whoever has no context.
func (w *WebSessions) Commit(token string, data []byte, expiry time.Time) error {
	return w.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx for whoever has no context.
func (w *WebSessions) Delete(token string) error { return w.DeleteCtx(context.Background(), token) }

func sessionsError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: web sessions: %w", classify(err))
}
