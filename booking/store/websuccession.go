package store

import (
	"context"
	"regexp"
	"time"

	"gorm.io/gorm"

	"slotkeeper/booking/access"
)

// successionGrace is how long a session is found by the token that it had before.
// A browser sends several requests at once: those under way must not be taken for
// strangers. Longer would keep the old token worth stealing.
const successionGrace = 10 * time.Second

// A session that got another token leaves a row under the old one, which holds
// only the id of its successor. No data of the session manager's looks like it.
const successorMark = "successor:"

var successorRule = regexp.MustCompile(`^` + successorMark + `[0-9a-f]{64}$`)

// SucceedCtx gives a session another token, with new data. Of several who try at
// once one succeeds: for the others it is false, and the session is found by the
// old token for a few seconds more. It is false, too, for a session that is over.
func (w *WebSessions) SucceedCtx(ctx context.Context, old, token string, data []byte, expiry time.Time) (succeeded bool, err error) {
	id, now := access.SessionID(token), w.now()
	err = w.s.inTx(ctx, func(tx *gorm.DB) error {
		// Whoever waits for the row's lock finds that it has no user any more.
		res := tx.Exec(`UPDATE web_sessions SET data = ?, expiry = ?, user_id = NULL WHERE token = ? AND user_id IS NOT NULL AND expiry > ?`,
			[]byte(successorMark+id), at(now.Add(successionGrace)), access.SessionID(old), at(now))
		succeeded = res.RowsAffected == 1
		if res.Error != nil || !succeeded {
			return res.Error
		}
		return tx.Create(w.row(id, data, expiry)).Error
	})
	return succeeded && err == nil, sessionsError(err)
}

// maxSuccessions bounds how far a session is followed.
const maxSuccessions = 8

// sessionOf is the session that has an id, or had it a moment ago.
func sessionOf(tx *gorm.DB, id string, now time.Time) (webSessionRow, error) {
	for range maxSuccessions {
		var r webSessionRow
		if err := tx.Take(&r, "token = ? AND expiry > ?", id, at(now)).Error; err != nil {
			return webSessionRow{}, err
		}
		if !successorRule.Match(r.Data) {
			return r, nil
		}
		id = string(r.Data[len(successorMark):])
	}
	return webSessionRow{}, gorm.ErrRecordNotFound
}

// deleteSession ends the session that has an id, or had it a moment ago: what leads
// to it leads nowhere then.
func deleteSession(tx *gorm.DB, id string, now time.Time) error {
	r, err := sessionOf(tx, id, now)
	if err != nil {
		return err
	}
	return oneRow(tx.Exec(`DELETE FROM web_sessions WHERE token = ?`, r.Token), gorm.ErrRecordNotFound)
}
