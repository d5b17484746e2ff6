package store

import (
	"context"
	"errors"
	"fmt"

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
	SecretOlder    []byte // sealed
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
	// Account is the owner's id, of which there is one connection at a time.
	Account         string
	ConnectingSince *stamp
	ChangingBy      *uuid.UUID
	ChangingUntil   *stamp
	Generation      int
	KeepForms       bool
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
		ConnectingSince: r.Row.ConnectingSince.ptr(), Generation: r.Row.Generation,
		Owner: r.Row.Owner.v.toDomain(), Subscription: r.Row.Subscription, ReadFrom: r.Row.ReadFrom.ptr(), KeepForms: r.Row.KeepForms,
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
// connection without one could verify nothing. An account that another connection
// has is providers.ErrConnected.
func (s *Store) CreateConnection(ctx context.Context, c providers.Connection) error {
	return s.createConnection(ctx, c, booking.Hold{})
}

// BeginConnection keeps a new connection, as CreateConnection does, that its holder
// has not connected to the end yet.
func (s *Store) BeginConnection(ctx context.Context, c providers.Connection, h booking.Hold) error {
	return s.createConnection(ctx, c, h)
}

func (s *Store) createConnection(ctx context.Context, c providers.Connection, h booking.Hold) error {
	if c.Secrets.Current == "" {
		return errNoSecret
	}
	row := connectionRow{
		ID: c.ID, Provider: c.Provider, APIBase: c.APIBase, Name: storable(c.Name), CreatedAt: at(c.CreatedAt),
		DisconnectedAt: atPtr(c.DisconnectedAt), SecretCurrent: s.seal(c.ID, c.Secrets.Current), SecretPrevious: s.sealOrNull(c.ID, c.Secrets.Previous),
		SecretOlder: s.sealOrNull(c.ID, c.Secrets.Older),
		APIUser:     storable(c.API.User), APIToken: s.sealOrNull(c.ID, c.API.Token), APIRefresh: s.sealOrNull(c.ID, c.API.Refresh),
		APIExpiresAt: atPtr(c.API.ExpiresAt), Owner: document[ownerJSON]{ownerFromDomain(c.Owner)}, Subscription: c.Subscription, ReadFrom: atPtr(c.ReadFrom),
		Account: storable(c.Owner.ExternalID), ConnectingSince: atPtr(c.ConnectingSince), Generation: 1,
		ChangingBy: idOrNull(h.By), ChangingUntil: atOrNull(h.Until),
	}
	return connected(classify(s.write.WithContext(ctx).Create(&row).Error))
}

// errNoSecret refuses a connection that could verify nothing.
var errNoSecret = &booking.InvalidError{Field: "secret", Detail: "must not be empty"}

// constraintOneConnection lets one connection have an account at a time.
const constraintOneConnection = "one_connection_per_account"

// connected says what it means that another was faster.
func connected(err error) error {
	var fence *booking.FenceError
	if errors.As(err, &fence) && fence.Constraint == constraintOneConnection {
		return fmt.Errorf("%w: %w", providers.ErrConnected, err)
	}
	return err
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
	}{
		{r.SecretCurrent, &c.Secrets.Current},
		{r.SecretPrevious, &c.Secrets.Previous},
		{r.SecretOlder, &c.Secrets.Older},
		{r.APIToken, &c.API.Token},
		{r.APIRefresh, &c.API.Refresh},
	} {
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
