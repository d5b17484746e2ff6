package web

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/providers"
)

// withScope says for a request how much of the bookings may be seen.
func withScope(ctx context.Context, s booking.Scope) context.Context {
	return context.WithValue(ctx, keyScope, s)
}

// scopeOf is how much of the bookings a request may see: nothing, unless somebody
// was let in.
func scopeOf(ctx context.Context) booking.Scope {
	if s, ok := ctx.Value(keyScope).(booking.Scope); ok {
		return s
	}
	return booking.Nothing()
}

// guarded is Records as the request's scope shows them: what it does not reach is
// not found, not listed and not counted, and what it hides is masked. Pages, API,
// exports and live pages read through it and nothing else, so that none can forget.
//
// It embeds nothing: a read that is added to Records does not compile until it is
// said here what of it is seen.
type guarded struct{ all Records }

var _ Records = guarded{}

func scoped(ctx context.Context, f booking.Filter) booking.Filter {
	f.Scope = scopeOf(ctx)
	return f
}

func (g guarded) Bookings(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.View], error) {
	l, err := g.all.Bookings(ctx, scoped(ctx, f), p)
	if err != nil {
		return l, err
	}
	l.Items, err = g.mask(ctx, l.Items)
	return l, err
}

// mask masks bookings that are seen. What they overlap is named only as far as it
// is seen too.
func (g guarded) mask(ctx context.Context, all []booking.View) ([]booking.View, error) {
	scope := scopeOf(ctx)
	if !scope.Limited && !scope.Hides() {
		return all, nil
	}
	people, err := people(ctx, g.all, all, func(b booking.View) uuid.UUID { return b.ID })
	if err != nil {
		return nil, err
	}
	out := make([]booking.View, len(all))
	var rivals []uuid.UUID
	for i, b := range all {
		out[i] = scope.Booking(b, people[b.ID]...)
		rivals = append(rivals, b.ConflictsWith...)
	}
	if !scope.Limited || len(rivals) == 0 {
		return out, nil
	}
	found, err := g.all.BookingsByID(ctx, rivals)
	if err != nil {
		return nil, err
	}
	seen := map[uuid.UUID]bool{}
	for _, b := range found {
		seen[b.ID] = scope.Sees(b.ResourceIDs...)
	}
	for i := range out {
		out[i].ConflictsWith = slices.DeleteFunc(slices.Clone(out[i].ConflictsWith), func(id uuid.UUID) bool { return !seen[id] })
	}
	return out, nil
}

// maskSeen masks those bookings that are seen and leaves the others out.
func (g guarded) maskSeen(ctx context.Context, all []booking.View) ([]booking.View, error) {
	scope := scopeOf(ctx)
	if scope.Limited {
		all = slices.DeleteFunc(slices.Clone(all), func(b booking.View) bool { return !scope.Sees(b.ResourceIDs...) })
	}
	return g.mask(ctx, all)
}

func (g guarded) Booking(ctx context.Context, id uuid.UUID) (booking.View, error) {
	b, err := g.all.Booking(ctx, id)
	if err != nil {
		return booking.View{}, err
	}
	seen, err := g.maskSeen(ctx, []booking.View{b})
	if err != nil {
		return booking.View{}, err
	}
	if len(seen) == 0 {
		return booking.View{}, booking.ErrNotFound
	}
	return seen[0], nil
}

func (g guarded) BookingsByID(ctx context.Context, ids []uuid.UUID) ([]booking.View, error) {
	all, err := g.all.BookingsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	return g.maskSeen(ctx, all)
}

func (g guarded) Chain(ctx context.Context, chainID uuid.UUID) ([]booking.View, error) {
	all, err := g.all.Chain(ctx, chainID)
	if err != nil {
		return nil, err
	}
	return g.maskSeen(ctx, all)
}

// maxCountedConflicts is where the conflicts that somebody limited sees are no
// longer counted one by one.
const maxCountedConflicts = 10 * booking.MaxLimit

func (g guarded) OpenConflicts(ctx context.Context, after time.Time) (int, error) {
	if !scopeOf(ctx).Limited {
		return g.all.OpenConflicts(ctx, after)
	}
	n, p := 0, booking.Page{Limit: booking.MaxLimit}
	for n < maxCountedConflicts {
		l, err := g.all.Bookings(ctx, scoped(ctx, booking.Filter{From: &after, OpenConflicts: true}), p)
		if err != nil {
			return 0, err
		}
		n += len(l.Items)
		if l.Next == "" {
			break
		}
		p.Cursor = l.Next
	}
	return n, nil
}

func (g guarded) Slots(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.SlotView], error) {
	return g.all.Slots(ctx, scoped(ctx, f), p)
}

func (g guarded) Transitions(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.TransitionView], error) {
	l, err := g.all.Transitions(ctx, scoped(ctx, f), p)
	if err != nil {
		return l, err
	}
	l.Items, err = g.maskTransitions(ctx, l.Items)
	return l, err
}

func (g guarded) Transition(ctx context.Context, id uuid.UUID) (booking.TransitionView, error) {
	t, err := g.all.Transition(ctx, id)
	if err != nil {
		return t, err
	}
	if !scopeOf(ctx).Sees(t.ResourceIDs...) {
		return booking.TransitionView{}, booking.ErrNotFound
	}
	masked, err := g.maskTransitions(ctx, []booking.TransitionView{t})
	if err != nil {
		return booking.TransitionView{}, err
	}
	return masked[0], nil
}

func (g guarded) Tally(ctx context.Context, f booking.Filter) ([]booking.Tally, error) {
	return g.all.Tally(ctx, scoped(ctx, f))
}

// AdminLog and Actors tell of people of the house: of these, who is limited sees
// those who did something that is seen.

func (g guarded) AdminLog(ctx context.Context, f access.EntryFilter, p booking.Page) (booking.List[access.LoggedEntry], error) {
	if scopeOf(ctx).Limited {
		return booking.List[access.LoggedEntry]{}, nil
	}
	return g.all.AdminLog(ctx, f, p)
}

func (g guarded) Actors(ctx context.Context) (map[booking.Actor]string, error) {
	all, err := g.all.Actors(ctx)
	if err != nil || !scopeOf(ctx).Limited {
		return all, err
	}
	out := map[booking.Actor]string{}
	for actor, name := range all {
		l, err := g.all.Transitions(ctx, scoped(ctx, booking.Filter{Actor: string(actor)}), booking.Page{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(l.Items) > 0 {
			out[actor] = name
		}
	}
	return out, nil
}

// Receipts about a booking that is seen are seen; those of the whole installation
// only by who is not limited.
func (g guarded) Receipts(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ReceiptView], error) {
	if scopeOf(ctx).Limited {
		if f.BookingID == nil {
			return booking.List[booking.ReceiptView]{}, nil
		}
		if _, err := g.Booking(ctx, *f.BookingID); err != nil {
			return booking.List[booking.ReceiptView]{}, notOthers(err)
		}
	}
	l, err := g.all.Receipts(ctx, scoped(ctx, f), p)
	if err != nil {
		return l, err
	}
	l.Items, err = g.maskReceipts(ctx, l.Items)
	return l, err
}

// seesReceipt gives booking.ErrNotFound for a receipt that is about nothing seen.
func (g guarded) seesReceipt(ctx context.Context, id uuid.UUID) error {
	if !scopeOf(ctx).Limited {
		return nil
	}
	about, err := g.BookingsOfReceipts(ctx, []uuid.UUID{id})
	if err == nil && len(about[id]) == 0 {
		return booking.ErrNotFound
	}
	return err
}

func (g guarded) Receipt(ctx context.Context, id uuid.UUID) (booking.ReceiptView, error) {
	if err := g.seesReceipt(ctx, id); err != nil {
		return booking.ReceiptView{}, err
	}
	r, err := g.all.Receipt(ctx, id)
	if err != nil {
		return r, err
	}
	masked, err := g.maskReceipts(ctx, []booking.ReceiptView{r})
	if err != nil {
		return booking.ReceiptView{}, err
	}
	return masked[0], nil
}

// ReceiptBody has names and numbers in it that nothing takes out.
func (g guarded) ReceiptBody(ctx context.Context, id uuid.UUID) ([]byte, error) {
	if scope := scopeOf(ctx); scope.Limited || scope.Hides() {
		return nil, booking.ErrNotFound
	}
	return g.all.ReceiptBody(ctx, id)
}

// Forms tell of people in ways that nothing takes out.
func (g guarded) Forms(ctx context.Context, bookingID uuid.UUID) (booking.KeptForms, error) {
	if scope := scopeOf(ctx); scope.Limited || scope.Hides() {
		return booking.KeptForms{}, booking.ErrNotFound
	}
	return g.all.Forms(ctx, bookingID)
}

func (g guarded) Copies(ctx context.Context, receiptID uuid.UUID) ([]booking.Copy, error) {
	if err := g.seesReceipt(ctx, receiptID); err != nil {
		return nil, err
	}
	return g.all.Copies(ctx, receiptID)
}

func (g guarded) BookingsOfReceipts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	all, err := g.all.BookingsOfReceipts(ctx, ids)
	if err != nil || !scopeOf(ctx).Limited {
		return all, err
	}
	var named []uuid.UUID
	for _, list := range all {
		named = append(named, list...)
	}
	found, err := g.BookingsByID(ctx, named)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]uuid.UUID{}
	for receipt, list := range all {
		for _, id := range list {
			if slices.ContainsFunc(found, func(b booking.View) bool { return b.ID == id }) {
				out[receipt] = append(out[receipt], id)
			}
		}
	}
	return out, nil
}

// What follows counts and lists for the whole installation: who is limited gets
// none of it, and no page of theirs asks.

func (g guarded) Failing(ctx context.Context, connection uuid.UUID) (booking.Failing, error) {
	if scopeOf(ctx).Limited {
		return booking.Failing{}, nil
	}
	return g.all.Failing(ctx, connection)
}

func (g guarded) Backlog(ctx context.Context) (booking.Backlog, error) {
	if scopeOf(ctx).Limited {
		return booking.Backlog{}, nil
	}
	return g.all.Backlog(ctx)
}

func (g guarded) CountReceipts(ctx context.Context, f booking.CountFilter, now time.Time) (booking.ReceiptCounts, error) {
	if scopeOf(ctx).Limited {
		return booking.ReceiptCounts{Parts: make([]map[booking.ReceiptStatus]int, len(f.Parts))}, nil
	}
	return g.all.CountReceipts(ctx, f, now)
}

func (g guarded) UndoneEffects(ctx context.Context) ([]booking.EffectCount, error) {
	if scopeOf(ctx).Limited {
		return nil, nil
	}
	return g.all.UndoneEffects(ctx)
}

func (g guarded) Runs(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Run, error) {
	if scopeOf(ctx).Limited {
		return nil, nil
	}
	return g.all.Runs(ctx, connection, limit)
}

func (g guarded) OpenRuns(ctx context.Context) ([]booking.Run, error) {
	if scopeOf(ctx).Limited {
		return nil, nil
	}
	return g.all.OpenRuns(ctx)
}

func (g guarded) Drifts(ctx context.Context, connection uuid.UUID, limit int) ([]booking.Drift, error) {
	if scopeOf(ctx).Limited {
		return nil, nil
	}
	return g.all.Drifts(ctx, connection, limit)
}

// Connections are seen by who is limited as far as their resources are booked
// there: the calendar says of which the bookings are stale.
func (g guarded) Connections(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[providers.Connection], error) {
	l, err := g.all.Connections(ctx, f, p)
	if err != nil || !scopeOf(ctx).Limited {
		return l, err
	}
	seen, err := g.sources(ctx)
	if err != nil {
		return booking.List[providers.Connection]{}, err
	}
	l.Items = slices.DeleteFunc(slices.Clone(l.Items), func(c providers.Connection) bool { return !seen(c) })
	return l, nil
}

func (g guarded) Connection(ctx context.Context, id uuid.UUID) (providers.Connection, error) {
	c, err := g.all.Connection(ctx, id)
	if err != nil || !scopeOf(ctx).Limited {
		return c, err
	}
	seen, err := g.sources(ctx)
	if err != nil {
		return providers.Connection{}, err
	}
	if !seen(c) {
		return providers.Connection{}, booking.ErrNotFound
	}
	return c, nil
}

// sources tells whether a connection tells of a resource that is seen. Whether
// another shares its source is asked of all.
func (g guarded) sources(ctx context.Context) (func(providers.Connection) bool, error) {
	resources, err := booking.Everything(ctx, g.Resources)
	if err != nil {
		return nil, err
	}
	accounts, err := booking.Everything(ctx, g.all.Connections)
	if err != nil {
		return nil, err
	}
	told, err := g.ConnectionsOf(ctx, scopeOf(ctx).Resources)
	if err != nil {
		return nil, err
	}
	return func(c providers.Connection) bool {
		return slices.Contains(told, c.ID) ||
			slices.ContainsFunc(resources, func(r booking.ResourceView) bool { return tellsOf(accounts, c, r) })
	}, nil
}

func (g guarded) Resources(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[booking.ResourceView], error) {
	return g.all.Resources(ctx, scoped(ctx, f), p)
}

// Blocks of no resources in particular are those of all that are seen.
func (g guarded) Blocks(ctx context.Context, from, to time.Time, resources []uuid.UUID) ([]booking.BlockView, error) {
	scope := scopeOf(ctx)
	if !scope.Limited {
		return g.all.Blocks(ctx, from, to, resources)
	}
	if len(resources) == 0 {
		resources = scope.Resources
	}
	resources = slices.DeleteFunc(slices.Clone(resources), func(id uuid.UUID) bool { return !scope.Sees(id) })
	if len(resources) == 0 {
		return nil, nil
	}
	return g.all.Blocks(ctx, from, to, resources)
}

func (g guarded) Ready(ctx context.Context) error { return g.all.Ready(ctx) }

// notOthers makes an empty list of what is not there.
func notOthers(err error) error {
	if errors.Is(err, booking.ErrNotFound) {
		return nil
	}
	return err
}

// EndpointNames tell of no booking.
func (g guarded) EndpointNames(ctx context.Context) (map[uuid.UUID]string, error) {
	return g.all.EndpointNames(ctx)
}
