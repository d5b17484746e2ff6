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

// TakeConnection takes the right to change a connection. It is false when somebody
// else has it.
func (s *Store) TakeConnection(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (bool, error) {
	res := s.write.WithContext(ctx).Table("connections").
		Where("id = ? AND (changing_by IS NULL OR changing_by = ? OR changing_until < ?)", id, h.By, at(now)).
		Updates(map[string]any{"changing_by": h.By, "changing_until": at(h.Until)})
	if res.Error != nil || res.RowsAffected == 1 {
		return res.Error == nil, classify(res.Error)
	}
	var there int64
	err := s.write.WithContext(ctx).Table("connections").Where("id = ?", id).Count(&there).Error
	if err == nil && there == 0 {
		err = booking.ErrNotFound
	}
	return false, classify(err)
}

// RenewConnection keeps the right for longer; booking.ErrNotHeld says that another
// took it.
func (s *Store) RenewConnection(ctx context.Context, id uuid.UUID, h booking.Hold) error {
	return s.whileHeld(ctx, id, h.By, map[string]any{"changing_until": at(h.Until)})
}

// LeaveConnection gives the right back, if its holder still has it.
func (s *Store) LeaveConnection(ctx context.Context, id, by uuid.UUID) error {
	return classify(s.write.WithContext(ctx).Table("connections").Where("id = ? AND changing_by = ?", id, by).
		Updates(map[string]any{"changing_by": nil, "changing_until": nil}).Error)
}

// ChangeConnection writes what its holder changes of a connection, and nothing else.
// booking.ErrNotHeld says that another has it by now, providers.ErrConnected that
// another connection has the account.
func (s *Store) ChangeConnection(ctx context.Context, id, by uuid.UUID, c providers.Change) error {
	set := map[string]any{}
	if c.Name != nil {
		set["name"] = storable(*c.Name)
	}
	if c.Secrets != nil {
		if c.Secrets.Current == "" {
			return errNoSecret
		}
		set["secret_current"] = s.seal(id, c.Secrets.Current)
		set["secret_previous"], set["secret_older"] = s.sealOrNull(id, c.Secrets.Previous), s.sealOrNull(id, c.Secrets.Older)
	}
	if c.API != nil {
		for column, value := range s.tokens(id, *c.API) {
			set[column] = value
		}
		set["api_user"] = storable(c.API.User)
	}
	if c.Owner != nil {
		set["owner"], set["account"] = document[ownerJSON]{ownerFromDomain(*c.Owner)}, storable(c.Owner.ExternalID)
	}
	if c.Subscription != nil {
		set["subscription"] = *c.Subscription
	}
	if c.ReadFrom != nil {
		set["read_from"] = at(*c.ReadFrom)
	}
	if c.Health != nil {
		for column, value := range health(*c.Health) {
			set[column] = value
		}
	}
	if c.Disconnected != nil || c.Reopened {
		set["disconnected_at"] = atPtr(c.Disconnected)
	}
	if c.Connected {
		set["connecting_since"] = nil
	}
	if c.API != nil || c.Disconnected != nil || c.Reopened {
		set["generation"] = gorm.Expr("generation + 1")
	}
	return s.whileHeld(ctx, id, by, set)
}

// DropConnection removes a connection that nothing refers to: one that was not
// connected to the end. One with receipts stays, and the error says so.
func (s *Store) DropConnection(ctx context.Context, id, by uuid.UUID) error {
	res := s.write.WithContext(ctx).Exec("DELETE FROM connections WHERE id = ? AND changing_by = ?", id, by)
	return classify(oneRow(res, booking.ErrNotHeld))
}

// whileHeld writes columns of a connection if its holder still has it.
func (s *Store) whileHeld(ctx context.Context, id, by uuid.UUID, set map[string]any) error {
	res := s.write.WithContext(ctx).Table("connections").Where("id = ? AND changing_by = ?", id, by).Updates(set)
	return connected(classify(oneRow(res, booking.ErrNotHeld)))
}

// NoteHealth writes how the last call to a connection's API went, unless it was made
// with credentials of an earlier generation.
func (s *Store) NoteHealth(ctx context.Context, id uuid.UUID, generation int, h providers.Health) error {
	return classify(s.write.WithContext(ctx).Table("connections").Where("id = ? AND generation = ?", id, generation).Updates(health(h)).Error)
}

func health(h providers.Health) map[string]any {
	return map[string]any{
		"checked_at": atPtr(h.CheckedAt), "succeeded_at": atPtr(h.SucceededAt), "failing_since": atPtr(h.FailingSince), "failures": h.Failures,
		"failure": storable(h.Failure), "needs_sign_in": h.NeedsSignIn, "hook_lost_at": atPtr(h.HookLostAt), "next_check_at": atPtr(h.NextCheckAt),
	}
}

// BeginRefresh takes the right to refresh a connection's token. It is false when
// somebody else has it: a refresh token works once.
func (s *Store) BeginRefresh(ctx context.Context, id uuid.UUID, now time.Time, h booking.Hold) (bool, error) {
	res := s.write.WithContext(ctx).Table("connections").
		Where("id = ? AND (refreshing_until IS NULL OR refreshing_by = ? OR refreshing_until < ?)", id, h.By, at(now)).
		Updates(map[string]any{"refreshing_by": h.By, "refreshing_until": at(h.Until)})
	return res.RowsAffected == 1, classify(res.Error)
}

// KeepToken keeps what a refresh brought; written twice it is the same.
// booking.ErrNotHeld says that another refreshes by now, or that somebody gave other
// credentials meanwhile.
func (s *Store) KeepToken(ctx context.Context, id, by uuid.UUID, generation int, token providers.Credentials) error {
	res := s.write.WithContext(ctx).Table("connections").Where("id = ? AND refreshing_by = ? AND generation = ?", id, by, generation).
		Updates(s.tokens(id, token))
	return classify(oneRow(res, booking.ErrNotHeld))
}

func (s *Store) tokens(id uuid.UUID, c providers.Credentials) map[string]any {
	return map[string]any{
		"api_token": s.sealOrNull(id, c.Token), "api_refresh": s.sealOrNull(id, c.Refresh), "api_expires_at": atPtr(c.ExpiresAt),
	}
}

// EndRefresh gives the right back, if its holder still has it.
func (s *Store) EndRefresh(ctx context.Context, id, by uuid.UUID) error {
	return classify(s.write.WithContext(ctx).Table("connections").Where("id = ? AND refreshing_by = ?", id, by).
		Updates(map[string]any{"refreshing_by": nil, "refreshing_until": nil}).Error)
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
