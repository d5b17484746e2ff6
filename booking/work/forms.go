package work

import (
	"context"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// FormStore is what Forms need of booking/store.
type FormStore interface {
	Connection(ctx context.Context, id uuid.UUID) (providers.Connection, error)
	KeepForms(ctx context.Context, connection uuid.UUID, keep bool, by access.By, now time.Time, between func(context.Context) error) (removed int64, err error)
}

// Forms says of which connections intake forms and notes are kept.
type Forms struct {
	Store     FormStore
	Providers map[string]providers.Provider
	Now       func() time.Time
	Tempo     providers.Tempo
}

// KeepForms has the forms and notes of a connection's bookings kept from now on, or no
// longer: then all that are kept are removed, as gently as retention does, and it
// tells how many those were. Only of an adapter that tells forms they can be kept.
func (f *Forms) KeepForms(ctx context.Context, connection uuid.UUID, keep bool, by access.By) (removed int64, err error) {
	c, err := f.Store.Connection(ctx, connection)
	if err != nil {
		return 0, err
	}
	if _, tells := f.Providers[c.Provider].(providers.FormKeeper); keep && !tells {
		return 0, &booking.InvalidError{Field: "connection", Detail: c.Provider + " tells of no intake forms"}
	}
	return f.Store.KeepForms(ctx, connection, keep, by, f.Now(), breathe(f.Tempo))
}
