package account

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"slotkeeper/providers"
)

// Cancel cancels a booking at a connection's provider. Credentials that are no longer
// accepted are noted with the connection, which then asks everybody for new ones; the
// error says what to do.
func (a *Accounts) Cancel(ctx context.Context, id uuid.UUID, t providers.CancelTarget, message string) error {
	c, api, err := a.Ready(ctx, id)
	if err == nil {
		err = api.Cancel(ctx, a.opts.Client, c, t, message)
	}
	if providers.NeedsSignIn(err) {
		keep, done := keeping(ctx)
		defer done()
		a.note(keep, c, err)
	}
	switch CauseOf(err) { //nolint:exhaustive // the rest passes, or is about the booking alone
	case CauseCredentials, CauseForbidden, CausePrivate:
		return Remedied(c.Provider, err)
	}
	return err
}

// Remedied adds to an error of asking a provider what to do about it.
func Remedied(provider string, err error) error {
	if remedy := Remedy(provider, err); remedy != "" {
		return fmt.Errorf("%s (%w)", remedy, err)
	}
	return err
}
