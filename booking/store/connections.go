package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// connectionRow is a row of connections.
type connectionRow struct {
	ID             uuid.UUID
	Provider       string
	APIBase        string
	Name           string
	SecretCurrent  []byte // sealed
	SecretPrevious []byte // sealed
	APIUser        string
	APIToken       []byte // sealed
	APIRefresh     []byte // sealed
	APIExpiresAt   *stamp
	Owner          document[ownerJSON]
	Subscription   providers.Subscription
	ReadFrom       *stamp
	CheckedAt      *stamp
	SucceededAt    *stamp
	FailingSince   *stamp
	Failures       int
	Failure        string
	NeedsSignIn    bool
	HookLostAt     *stamp
	NextCheckAt    *stamp
	CreatedAt      stamp
	DisconnectedAt *stamp
}

func (connectionRow) TableName() string { return "connections" }

// connectionViewRow is a connection with the time of its newest delivery.
type connectionViewRow struct {
	Row            connectionRow `gorm:"embedded"`
	LastDeliveryAt *stamp
}

// toDomain leaves the secrets sealed, that is, out.
func (r connectionViewRow) toDomain() providers.Connection {
	return providers.Connection{
		ID: r.Row.ID, Provider: r.Row.Provider, APIBase: r.Row.APIBase, Name: r.Row.Name, CreatedAt: r.Row.CreatedAt.t,
		DisconnectedAt: r.Row.DisconnectedAt.ptr(), LastDeliveryAt: r.LastDeliveryAt.ptr(),
		Owner: r.Row.Owner.v.toDomain(), Subscription: r.Row.Subscription, ReadFrom: r.Row.ReadFrom.ptr(),
		Health: providers.Health{
			CheckedAt: r.Row.CheckedAt.ptr(), SucceededAt: r.Row.SucceededAt.ptr(), NextCheckAt: r.Row.NextCheckAt.ptr(),
			FailingSince: r.Row.FailingSince.ptr(), Failures: r.Row.Failures, Failure: r.Row.Failure,
			NeedsSignIn: r.Row.NeedsSignIn, HookLostAt: r.Row.HookLostAt.ptr(),
		},
	}
}

// secretContext binds a secret to its connection, not to its column: rotating
// moves it from the one to the other.
func secretContext(connection uuid.UUID) string { return "connections.secret:" + connection.String() }

func connectionViews(tx *gorm.DB) *gorm.DB {
	// A selftest is sent by us: it must not make a connection look alive.
	return tx.Table("connections c").
		Select(`c.*, (SELECT d.received_at FROM deliveries d JOIN webhook_receipts r ON r.id = d.receipt_id
			WHERE d.connection_id = c.id AND r.kind <> ? ORDER BY d.received_at DESC LIMIT 1) AS last_delivery_at`, booking.KindSelftest)
}

// CreateConnection keeps a new connection. Its current secret is required: a
// connection without one could verify nothing.
func (s *Store) CreateConnection(ctx context.Context, c providers.Connection) error {
	if c.Secrets.Current == "" {
		return &booking.InvalidError{Field: "secret", Detail: "must not be empty"}
	}
	row := connectionRow{
		ID: c.ID, Provider: c.Provider, APIBase: c.APIBase, Name: storable(c.Name), CreatedAt: at(c.CreatedAt),
		DisconnectedAt: atPtr(c.DisconnectedAt), SecretCurrent: s.seal(c.ID, c.Secrets.Current), SecretPrevious: s.sealOrNull(c.ID, c.Secrets.Previous),
		APIUser: storable(c.API.User), APIToken: s.sealOrNull(c.ID, c.API.Token), APIRefresh: s.sealOrNull(c.ID, c.API.Refresh),
		APIExpiresAt: atPtr(c.API.ExpiresAt), Owner: document[ownerJSON]{ownerFromDomain(c.Owner)}, Subscription: c.Subscription, ReadFrom: atPtr(c.ReadFrom),
	}
	return classify(s.write.WithContext(ctx).Create(&row).Error)
}

func (s *Store) seal(connection uuid.UUID, secret string) []byte {
	return s.vault.Seal([]byte(secret), secretContext(connection))
}

func (s *Store) sealOrNull(connection uuid.UUID, secret string) []byte {
	if secret == "" {
		return nil
	}
	return s.seal(connection, secret)
}

func (s *Store) open(connection uuid.UUID, sealed []byte) (string, error) {
	if sealed == nil {
		return "", nil
	}
	plain, err := s.vault.Open(sealed, secretContext(connection))
	if err != nil {
		return "", fmt.Errorf("store: a secret of connection %s: %w", connection, err)
	}
	return string(plain), nil
}

// Connection is one connection with its secrets, or booking.ErrNotFound.
func (s *Store) Connection(ctx context.Context, id uuid.UUID) (providers.Connection, error) {
	var none providers.Connection
	var rows []connectionViewRow
	if err := connectionViews(s.reader(ctx)).Where("c.id = ?", id).Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	if len(rows) == 0 {
		return none, booking.ErrNotFound
	}
	c := rows[0].toDomain()
	err := s.unseal(&c, rows[0].Row)
	return c, err
}

// Credentials are all connections with their secrets: what proves posts.
func (s *Store) Credentials(ctx context.Context) ([]providers.Connection, error) {
	var rows []connectionRow
	if err := s.reader(ctx).Find(&rows).Error; err != nil {
		return nil, classify(err)
	}
	out := make([]providers.Connection, 0, len(rows))
	for _, r := range rows {
		c := connectionViewRow{Row: r}.toDomain()
		if err := s.unseal(&c, r); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// unseal opens what is secret of a connection.
func (s *Store) unseal(c *providers.Connection, r connectionRow) (err error) {
	c.API.User, c.API.ExpiresAt = r.APIUser, r.APIExpiresAt.ptr()
	for _, secret := range []struct {
		sealed []byte
		to     *string
	}{{r.SecretCurrent, &c.Secrets.Current}, {r.SecretPrevious, &c.Secrets.Previous}, {r.APIToken, &c.API.Token}, {r.APIRefresh, &c.API.Refresh}} {
		if *secret.to, err = s.open(r.ID, secret.sealed); err != nil {
			return err
		}
	}
	return nil
}

const listConnections = "connections"

// Connections lists connections, oldest first, without their secrets.
func (s *Store) Connections(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[providers.Connection], error) {
	var none booking.List[providers.Connection]
	limit, err := limitOf(p)
	if err != nil {
		return none, err
	}
	after, err := readTimeAndID(p, listConnections)
	if err != nil {
		return none, err
	}
	q := connectionViews(s.reader(ctx)).Order("c.created_at, c.id").Limit(limit + 1)
	if f.Provider != "" {
		q = q.Where("c.provider = ?", f.Provider)
	}
	if f.ConnectionID != nil {
		q = q.Where("c.id = ?", *f.ConnectionID)
	}
	if after != nil {
		q = q.Where("c.created_at >= ? AND (c.created_at > ? OR c.id > ?)", at(after.at), at(after.at), after.id)
	}
	var rows []connectionViewRow
	if err := q.Find(&rows).Error; err != nil {
		return none, classify(err)
	}
	return pageOf(rows, limit, connectionViewRow.toDomain,
		func(r connectionViewRow) string {
			return timeAndID{r.Row.CreatedAt.t, r.Row.ID}.cursor(listConnections)
		}), nil
}

// RotateSecret makes secret the current one and keeps the one that it was as
// the previous, so that posts signed by either are accepted meanwhile.
func (s *Store) RotateSecret(ctx context.Context, id uuid.UUID, secret string) error {
	if secret == "" {
		return &booking.InvalidError{Field: "secret", Detail: "must not be empty"}
	}
	return s.changeConnection(ctx, id, map[string]any{
		"secret_previous": gorm.Expr("secret_current"), "secret_current": s.seal(id, secret),
	})
}

// DropPreviousSecret ends a rotation: posts signed by the old secret are refused.
func (s *Store) DropPreviousSecret(ctx context.Context, id uuid.UUID) error {
	return s.changeConnection(ctx, id, map[string]any{"secret_previous": nil})
}

// Disconnect marks a connection as ended. Its receipts and bookings stay.
func (s *Store) Disconnect(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.changeConnection(ctx, id, map[string]any{"disconnected_at": at(now)})
}

func (s *Store) changeConnection(ctx context.Context, id uuid.UUID, set map[string]any) error {
	res := s.write.WithContext(ctx).Table("connections").Where("id = ?", id).Updates(set)
	if res.Error == nil && res.RowsAffected == 0 {
		return booking.ErrNotFound
	}
	return classify(res.Error)
}
