package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// endpointRow is a row of endpoints.
type endpointRow struct {
	ID           uuid.UUID
	Name         string
	URL          []byte // sealed
	Events       string
	People       bool
	Secret       []byte // sealed
	OldSecret    []byte // sealed
	Told         int64
	FailingSince *stamp
	Off          booking.EndpointOff
	OffAt        *stamp
	CreatedBy    booking.Actor
	CreatedAt    stamp
	RemovedAt    *stamp
}

func (endpointRow) TableName() string { return "endpoints" }

func endpointContext(column string, id uuid.UUID) string {
	return "endpoints." + column + ":" + id.String()
}

func (s *Store) endpointFromDomain(e booking.Endpoint) endpointRow {
	events := make([]string, len(e.Events))
	for i, v := range e.Events {
		events[i] = string(v)
	}
	return endpointRow{
		ID: e.ID, Name: storable(e.Name), URL: s.vault.Seal([]byte(e.URL), endpointContext("url", e.ID)), Events: strings.Join(events, ","), People: e.People,
		Secret: s.vault.Seal([]byte(e.Secret), endpointContext("secret", e.ID)), Told: e.Cursor, CreatedBy: e.CreatedBy, CreatedAt: at(e.CreatedAt),
	}
}

func (s *Store) endpointToDomain(r endpointRow, resources []uuid.UUID) (booking.Endpoint, error) {
	out := booking.Endpoint{
		ID: r.ID, Name: r.Name, Resources: resources, People: r.People, Cursor: r.Told, FailingSince: r.FailingSince.ptr(), Off: r.Off, OffAt: r.OffAt.ptr(),
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt.t,
	}
	if r.Events != "" {
		for name := range strings.SplitSeq(r.Events, ",") {
			out.Events = append(out.Events, booking.EndpointEvent(name))
		}
	}
	for _, c := range []struct {
		name   string
		sealed []byte
		into   *string
	}{{"url", r.URL, &out.URL}, {"secret", r.Secret, &out.Secret}, {"old_secret", r.OldSecret, &out.OldSecret}} {
		if len(c.sealed) == 0 {
			continue
		}
		plain, err := s.vault.Open(c.sealed, endpointContext(c.name, r.ID))
		if err != nil {
			return out, fmt.Errorf("store: the %s of endpoint %s: %w", c.name, r.ID, err)
		}
		*c.into = string(plain)
	}
	return out, nil
}

// Endpoints are those that were not removed, oldest first, with their secrets: what
// shows them leaves those out.
func (s *Store) Endpoints(ctx context.Context) ([]booking.Endpoint, error) {
	return s.endpoints(s.reader(ctx).Session(fresh))
}

// EndpointNames are the names of all that there are or were, by id.
func (s *Store) EndpointNames(ctx context.Context) (map[uuid.UUID]string, error) {
	var rows []endpointRow
	if err := s.reader(ctx).Select("id, name").Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	out := make(map[uuid.UUID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, nil
}

// EndpointQueues are how those that were not removed are, and what waits for them,
// without their secrets: a row for each, and an index of what is open alone.
func (s *Store) EndpointQueues(ctx context.Context) ([]booking.EndpointQueue, error) {
	var rows []endpointRow
	if err := s.reader(ctx).Select("id, off").Where("removed_at IS NULL").Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	targets := rowsOf(rows, func(r endpointRow) string { return booking.EndpointTarget(r.ID) })
	var open []struct {
		Target  string
		Waiting int
		Oldest  stamp
	}
	err := s.reader(ctx).Table("effects").Select("target, count(*) AS waiting, min(created_at) AS oldest").
		Where("target IN ? AND "+openEffects, targets).Group("target").Find(&open).Error
	if err != nil {
		return nil, classify(err)
	}
	out := make([]booking.EndpointQueue, len(rows))
	for i, r := range rows {
		out[i] = booking.EndpointQueue{ID: r.ID, Off: r.Off}
		for _, o := range open {
			if o.Target == targets[i] {
				out[i].Waiting, out[i].Oldest = o.Waiting, &o.Oldest.t
			}
		}
	}
	return out, nil
}

// Endpoint is one of them, or booking.ErrNotFound.
func (s *Store) Endpoint(ctx context.Context, id uuid.UUID) (booking.Endpoint, error) {
	all, err := s.endpoints(s.reader(ctx).Session(fresh), id)
	if err == nil && len(all) == 0 {
		err = booking.ErrNotFound
	}
	if err != nil {
		return booking.Endpoint{}, err
	}
	return all[0], nil
}

func (s *Store) endpoints(tx *gorm.DB, only ...uuid.UUID) ([]booking.Endpoint, error) {
	q := tx.Where("removed_at IS NULL").Order("created_at, id")
	if len(only) > 0 {
		q = q.Where("id IN ?", only)
	}
	var rows []endpointRow
	if err := q.Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	resources, err := narrowed(tx, "endpoint_resources", "endpoint_id", "")
	if err != nil {
		return nil, err
	}
	out := make([]booking.Endpoint, len(rows))
	for i, r := range rows {
		if out[i], err = s.endpointToDomain(r, resources[r.ID]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AddEndpoint keeps an endpoint, which is told of what happens from now on, with the
// entry that tells of it.
func (s *Store) AddEndpoint(ctx context.Context, e booking.Endpoint, by access.By) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		// Two who add one at once do so one after the other.
		if err := standInLine(tx, s.dialect); err != nil {
			return err
		}
		var others int64
		if err := tx.Table("endpoints").Where("removed_at IS NULL").Count(&others).Error; err != nil {
			return err
		}
		if others >= booking.MaxEndpoints {
			return booking.ErrManyEndpoints
		}
		if err := tx.Table("ledger").Where("id = 1").Pluck("seq", &e.Cursor).Error; err != nil {
			return err
		}
		row := s.endpointFromDomain(e)
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if err := narrow(tx, "endpoint_resources", "endpoint_id", e.ID, e.Resources); err != nil {
			return err
		}
		return appendAdminLog(tx, access.Entry{
			At: e.CreatedAt, Actor: by.Actor, Remote: by.Remote, Action: access.DidAddEndpoint, Subject: endpointSubject(e.ID),
			Detail: access.Facts{"name": e.Name, "host": e.Host(), "people": strconv.FormatBool(e.People)},
		})
	})
}

func endpointSubject(id uuid.UUID) string { return booking.EndpointTarget(id) }

// changeEndpoint writes columns of an endpoint that is there and, where a condition
// is given, in a state, with the entry that tells of it.
func (s *Store) changeEndpoint(tx *gorm.DB, id uuid.UUID, columns map[string]any, did string, detail access.Facts, by access.By, now time.Time, where string) error {
	q := tx.Table("endpoints").Where("id = ? AND removed_at IS NULL", id)
	if where != "" {
		q = q.Where(where)
	}
	if err := oneRow(q.Updates(columns), booking.ErrNotFound); err != nil {
		return err
	}
	return appendAdminLog(tx, access.Entry{At: now, Actor: by.Actor, Remote: by.Remote, Action: did, Subject: endpointSubject(id), Detail: detail})
}

// RemoveEndpoint has an endpoint told nothing any more, not even what is queued. Its
// URL and its secrets are of no use any more and are not kept.
func (s *Store) RemoveEndpoint(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		columns := map[string]any{"removed_at": at(now), "url": []byte{}, "secret": []byte{}, "old_secret": nil}
		if err := s.changeEndpoint(tx, id, columns, access.DidRemoveEndpoint, nil, by, now, ""); err != nil {
			return err
		}
		// Nobody is to see to what was given up, either.
		return withdrawWebhooks(tx, id, now, booking.EffectPending, booking.EffectFailed, booking.EffectDead)
	})
}

// withdrawWebhooks takes back an endpoint's messages of some states. One that is being
// sent may get through all the same.
func withdrawWebhooks(tx *gorm.DB, endpoint uuid.UUID, now time.Time, of ...booking.EffectStatus) error {
	return tx.Exec(`UPDATE effects SET status = ?, done_at = ?, claimed_until = NULL, payload = NULL WHERE target = ? AND status IN ?`,
		booking.EffectWithdrawn, at(now), booking.EndpointTarget(endpoint), of).Error
}

// SwitchEndpoint switches an endpoint off, or on again. One that is switched on is
// told what it missed, in order, or with skip only what happens from now on. One that
// is in that state already is booking.ErrNotFound.
func (s *Store) SwitchEndpoint(ctx context.Context, id uuid.UUID, on, skip bool, by access.By, now time.Time) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		if !on {
			return s.changeEndpoint(tx, id, map[string]any{"off": booking.OffByHand, "off_at": at(now)}, access.DidSwitchEndpointOff, nil, by, now, "off = ''")
		}
		columns := map[string]any{"off": "", "off_at": nil, "failing_since": nil}
		if skip {
			if err := withdrawWebhooks(tx, id, now, booking.EffectPending, booking.EffectFailed); err != nil {
				return err
			}
			columns["told"] = gorm.Expr("(SELECT seq FROM ledger WHERE id = 1)")
		} else if err := tx.Exec("UPDATE effects SET due_at = ? WHERE target = ? AND status IN ('pending', 'failed')", at(now), booking.EndpointTarget(id)).Error; err != nil {
			return err
		}
		return s.changeEndpoint(tx, id, columns, access.DidSwitchEndpointOn, access.Facts{"skipped": strconv.FormatBool(skip)}, by, now, "off <> ''")
	})
}

// RotateEndpoint gives an endpoint a new secret; the one of before signs besides until
// FinishEndpointRotation. One whose rotation is under way is a *booking.ConflictError.
func (s *Store) RotateEndpoint(ctx context.Context, id uuid.UUID, secret string, by access.By, now time.Time) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		var row endpointRow
		if err := tx.Where("id = ? AND removed_at IS NULL", id).Take(&row).Error; err != nil {
			return err
		}
		if row.OldSecret != nil {
			return &booking.ConflictError{Code: "rotation_open", Detail: "two secrets sign already: finish that rotation first"}
		}
		old, err := s.vault.Open(row.Secret, endpointContext("secret", id))
		if err != nil {
			return fmt.Errorf("store: the secret of endpoint %s: %w", id, err)
		}
		columns := map[string]any{
			"secret":     s.vault.Seal([]byte(secret), endpointContext("secret", id)),
			"old_secret": s.vault.Seal(old, endpointContext("old_secret", id)),
		}
		return s.changeEndpoint(tx, id, columns, access.DidRotateEndpoint, nil, by, now, "old_secret IS NULL")
	})
}

// FinishEndpointRotation has the newest secret alone sign. One that is not under way
// is booking.ErrNotFound.
func (s *Store) FinishEndpointRotation(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error {
	return s.inTx(ctx, func(tx *gorm.DB) error {
		return s.changeEndpoint(tx, id, map[string]any{"old_secret": nil}, access.DidFinishEndpointRotation, nil, by, now, "old_secret IS NOT NULL")
	})
}
