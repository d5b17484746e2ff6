package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

const deliveriesPageSize = 50

// deliveriesView is the dashboard and the list of receipts, newest first.
type deliveriesView struct {
	Query       deliveriesQuery
	Board       board
	Statuses    []booking.ReceiptStatus
	Providers   []string
	Connections []option
	Kinds       []option
	Rows        []receiptRow
	Periods     []periodLink
	Older       string
	First       string
	Clear       string
	// Replay is where what is listed may be replayed; "" for whoever may not.
	Replay string
	// Wider is the same without a period, of one that shows nothing.
	Wider  string
	Partly bool // the page is not full, since the search goes on further back
	Error  string
}

type periodLink struct {
	Name   string
	Link   string
	Chosen bool
}

type receiptRow struct {
	booking.ReceiptView
	Connection string
	Why        *errorText
	Bookings   []entry // that it is about
}

// Bad is a receipt that came to nothing.
func (r receiptRow) Bad() bool {
	return r.Status == booking.StatusFailed || r.Status == booking.StatusDead
}

// Waits tells that it is applied when its booking has come.
func (r receiptRow) Waits() bool { return r.Status == booking.StatusWaiting }

// Read tells that it came by no post: it was read from the provider's API.
func (r receiptRow) Read() bool { return r.Deliveries == 0 }

// deliveriesPage answers what came in and what became of it: the numbers by account
// and kind, held against what the provider says, then each one.
func (s *server) deliveriesPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	v := deliveriesView{Query: readDeliveriesQuery(c.QueryParams()), Statuses: booking.ReceiptStatuses()}
	v.Clear = deliveriesQuery{Period: v.Query.Period}.Link()
	if who.may(access.ReplayDeliveries) {
		v.Replay = v.Query.replayLink(who.zone, s.Now())
	}
	for _, name := range periods() {
		v.Periods = append(v.Periods, periodLink{
			Name: name, Chosen: v.Query.Period == name, Link: v.Query.with(func(q *deliveriesQuery) { q.Period = name }),
		})
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	v.Providers, v.Connections, v.Kinds = names.providers, names.connectionOptions(who.language), kindOptions(v.Query.Kind, who.language)
	status := http.StatusOK
	err = s.fillDeliveries(ctx, &v, who)
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		v.Error, status = who.language.t("audit.invalid"), http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	return s.page(c, status, "deliveries", page{Title: "deliveries.title", Section: "deliveries", Wide: true, Data: v})
}

// kindOptions are the kinds to choose from; one that was asked for by its provider's
// own name stands there too.
func kindOptions(chosen string, l *language) []option {
	kinds := []booking.Kind{
		booking.KindRequested, booking.KindCreated, booking.KindMoved, booking.KindCanceled, booking.KindDetails, booking.KindNoShow, booking.KindSelftest,
	}
	if chosen != "" && !slices.Contains(kinds, booking.Kind(chosen)) {
		kinds = append(kinds, booking.Kind(chosen))
	}
	out := make([]option, len(kinds))
	for i, k := range kinds {
		out[i] = option{Value: string(k), Label: l.named("kind", string(k))}
	}
	return out
}

func (s *server) fillDeliveries(ctx context.Context, v *deliveriesView, who viewer) error {
	f, err := v.Query.filter(who.zone, s.Now())
	if err != nil {
		return err
	}
	rows, err := s.Records.Receipts(ctx, f, booking.Page{Limit: deliveriesPageSize, Cursor: v.Query.Cursor})
	if err != nil {
		return err
	}
	if v.Rows, err = s.receiptRows(ctx, rows.Items, who); err != nil {
		return err
	}
	if rows.Next != "" {
		v.Older = v.Query.with(func(q *deliveriesQuery) { q.Cursor = rows.Next }) + "#list"
		v.Partly = len(rows.Items) < deliveriesPageSize
	}
	if v.Query.Cursor != "" {
		v.First = v.Query.with(func(*deliveriesQuery) {}) + "#list"
	}
	if len(v.Rows) == 0 && v.Query.Period != periodAll {
		v.Wider = v.Query.with(func(q *deliveriesQuery) { q.Period = periodAll })
	}
	v.Board, err = s.board(ctx, v.Query, who)
	return err
}

// receiptRows adds to receipts what they are about.
func (s *server) receiptRows(ctx context.Context, all []booking.ReceiptView, who viewer) ([]receiptRow, error) {
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	about, err := s.Records.BookingsOfReceipts(ctx, ids)
	if err != nil {
		return nil, err
	}
	found, err := s.byID(ctx, slices.Concat(slices.Collect(maps.Values(about))...))
	if err != nil {
		return nil, err
	}
	q := readCalendarQuery(url.Values{}, who.zone, s.Now())
	out := make([]receiptRow, len(all))
	for i, r := range all {
		out[i] = receiptRow{
			ReceiptView: r, Connection: names.connection[r.ConnectionID],
			Why: who.language.explain(r),
		}
		for _, id := range about[r.ID] {
			if b, ok := found[id]; ok {
				out[i].Bookings = append(out[i].Bookings, newEntry(b, q, names, who.language))
			}
		}
	}
	return out, nil
}

// deliveryView is a receipt with everything about it.
type deliveryView struct {
	receiptRow
	Transitions []booking.TransitionView
	Copies      []booking.Copy
	Payload     *payload
	// Because is in a few words why it was refused or is in conflict, Ruled the reason.
	Because string
	Ruled   booking.Reason
	// Decide is where the conflict is decided that it led to; "" when it is over.
	Decide string
	Replay bool   // it may be replayed
	Reveal string // shows the body; "" for whoever may not, or when it shows
}

// deliveryPage answers what one receipt was and did, and to operators what came.
func (s *server) deliveryPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	r, err := s.Records.Receipt(ctx, id)
	if err != nil {
		return err
	}
	rows, err := s.receiptRows(ctx, []booking.ReceiptView{r}, who)
	if err != nil {
		return err
	}
	transitions, err := s.Records.Transitions(ctx, booking.Filter{ReceiptID: &id}, booking.Page{Limit: booking.MaxLimit})
	if err != nil {
		return err
	}
	v := deliveryView{receiptRow: rows[0], Transitions: transitions.Items, Replay: who.may(access.ReplayDeliveries) && !rows[0].Read()}
	if v.Why != nil && who.language.unusable(r) == nil {
		v.Because, v.Ruled, v.Why = v.Why.Text, r.Reason, nil
	}
	if r.Status == booking.StatusConflict {
		for _, t := range transitions.Items {
			for _, b := range v.Bookings {
				if b.ID == t.BookingID {
					v.Decide = cmp.Or(v.Decide, undecided(t.Transition, b.View))
				}
			}
		}
	}
	if v.Copies, err = s.Records.Copies(ctx, id); err != nil {
		return err
	}
	if v.Payload, v.Reveal, err = s.revealed(c, r); err != nil {
		return err
	}
	return s.page(c, http.StatusOK, "delivery", page{Title: "delivery.title", Section: "deliveries", Data: v})
}
