package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/alexedwards/scs/v2"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
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

type webSessionRow struct {
	Token  string `gorm:"primaryKey"`
	Data   []byte
	Expiry stamp
}

func (webSessionRow) TableName() string { return "web_sessions" }

// FindCtx finds a session that has not expired.
func (w *WebSessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	var r webSessionRow
	err = w.s.reader(ctx).Take(&r, "token = ? AND expiry > ?", hashToken(token), at(w.now())).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, false, nil
	}
	return r.Data, err == nil, sessionsError(err)
}

// CommitCtx makes the session or overwrites it.
func (w *WebSessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	return sessionsError(w.s.write.WithContext(ctx).
		Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "token"}},
			DoUpdates: clause.AssignmentColumns([]string{"data", "expiry"}),
		}).
		Create(&webSessionRow{Token: hashToken(token), Data: data, Expiry: at(expiry)}).Error)
}

// DeleteCtx ends a session; one that is not there is no error.
func (w *WebSessions) DeleteCtx(ctx context.Context, token string) error {
	return sessionsError(w.s.write.WithContext(ctx).Exec(`DELETE FROM web_sessions WHERE token = ?`, hashToken(token)).Error)
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

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func sessionsError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: web sessions: %w", classify(err))
}
