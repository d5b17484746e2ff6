package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// ownerJSON is whose account a connection is to.
type ownerJSON struct {
	ExternalID   string     `json:"id,omitempty"`
	Name         string     `json:"name,omitempty"`
	Email        string     `json:"email,omitempty"`
	Timezone     string     `json:"timezone,omitempty"`
	Organization string     `json:"organization,omitempty"`
	Wide         bool       `json:"wide,omitempty"`
	Hosts        []hostJSON `json:"hosts,omitempty"`
}

func ownerFromDomain(p providers.Profile) ownerJSON {
	return ownerJSON{
		ExternalID: storable(p.ExternalID), Name: storable(p.Name), Email: storable(p.Email), Timezone: storable(p.Timezone),
		Organization: storable(p.Organization), Wide: p.Wide,
		Hosts: mapped(p.Hosts, func(h booking.Host) hostJSON {
			return hostJSON{ExternalID: storable(h.ExternalID), Email: storable(h.Email), Name: storable(h.Name), Named: h.Named}
		}),
	}
}

func (o ownerJSON) toDomain() providers.Profile {
	return providers.Profile{
		ExternalID: o.ExternalID, Name: o.Name, Email: o.Email, Timezone: o.Timezone, Organization: o.Organization, Wide: o.Wide,
		Hosts: mapped(o.Hosts, func(h hostJSON) booking.Host { return booking.Host(h) }),
	}
}

// UpdateAccount writes what a connection is called with, whose account it is, and
// how its posts come: all that connecting again may change. The id, the base and
// the history stay.
func (s *Store) UpdateAccount(ctx context.Context, c providers.Connection) error {
	if c.Secrets.Current == "" {
		return &booking.InvalidError{Field: "secret", Detail: "must not be empty"}
	}
	return s.changeConnection(ctx, c.ID, map[string]any{
		"name": storable(c.Name), "secret_current": s.seal(c.ID, c.Secrets.Current), "secret_previous": s.sealOrNull(c.ID, c.Secrets.Previous),
		"api_user": storable(c.API.User), "api_token": s.sealOrNull(c.ID, c.API.Token), "api_refresh": s.sealOrNull(c.ID, c.API.Refresh),
		"api_expires_at": atPtr(c.API.ExpiresAt), "owner": document[ownerJSON]{ownerFromDomain(c.Owner)}, "subscription": c.Subscription,
		"read_from": atPtr(c.ReadFrom), "disconnected_at": atPtr(c.DisconnectedAt),
	})
}

// DropConnection removes a connection that nothing refers to: one that was not
// made to the end. One with receipts stays, and the error says so.
func (s *Store) DropConnection(ctx context.Context, id uuid.UUID) error {
	return classify(s.write.WithContext(ctx).Exec("DELETE FROM connections WHERE id = ?", id).Error)
}

// NoteHealth writes how the last call to a connection's API went.
func (s *Store) NoteHealth(ctx context.Context, id uuid.UUID, h providers.Health) error {
	return s.changeConnection(ctx, id, map[string]any{
		"checked_at": atPtr(h.CheckedAt), "succeeded_at": atPtr(h.SucceededAt), "failing_since": atPtr(h.FailingSince), "failures": h.Failures,
		"failure": storable(h.Failure), "needs_sign_in": h.NeedsSignIn, "hook_lost_at": atPtr(h.HookLostAt), "next_check_at": atPtr(h.NextCheckAt),
	})
}

// BeginRefresh takes the right to refresh a connection's token, until a time. It
// is false when somebody else has it: a refresh token works once.
func (s *Store) BeginRefresh(ctx context.Context, id uuid.UUID, now, until time.Time) (bool, error) {
	res := s.write.WithContext(ctx).Table("connections").Where("id = ? AND (refreshing_until IS NULL OR refreshing_until < ?)", id, at(now)).
		Update("refreshing_until", at(until))
	return res.RowsAffected == 1, classify(res.Error)
}

// EndRefresh keeps the new token, or with none nothing, and gives back the right
// that was taken until a time. Whoever has the right by now keeps it.
func (s *Store) EndRefresh(ctx context.Context, id uuid.UUID, until time.Time, token *providers.Credentials) error {
	set := map[string]any{"refreshing_until": gorm.Expr("CASE WHEN refreshing_until = ? THEN NULL ELSE refreshing_until END", at(until))}
	if token != nil {
		set["api_token"], set["api_refresh"] = s.sealOrNull(id, token.Token), s.sealOrNull(id, token.Refresh)
		set["api_expires_at"] = atPtr(token.ExpiresAt)
	}
	return s.changeConnection(ctx, id, set)
}

// Ticket gives a time that is later than every ticket before, in a transaction of
// its own: the clock of what is read from now on (R2).
func (s *Store) Ticket(ctx context.Context, now time.Time) (time.Time, error) {
	var ticket time.Time
	err := s.inTx(ctx, func(tx *gorm.DB) (err error) {
		ticket, err = nextTicket(tx, now)
		return err
	})
	return ticket, err
}
