package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
)

const deliveriesPageSize = 50

// deliveriesView is the list of receipts, newest first, with what narrows it.
type deliveriesView struct {
	Status    string
	Provider  string
	Statuses  []booking.ReceiptStatus
	Providers []string
	Rows      []receiptRow
	Open      []counter // how many receipts something is left to be done about, by status
	Older     string
	First     string
}

type receiptRow struct {
	booking.ReceiptView
	Connection string
	Why        string
	Bookings   []entry // that it is about
}

// Bad is a receipt that came to nothing.
func (r receiptRow) Bad() bool {
	return r.Status == booking.StatusFailed || r.Status == booking.StatusDead
}

func (v deliveriesView) link(status, cursor string) string {
	q := url.Values{}
	for _, p := range [][2]string{{"status", status}, {"provider", v.Provider}, {"cursor", cursor}} {
		if p[1] != "" {
			q.Set(p[0], p[1])
		}
	}
	if len(q) == 0 {
		return "/deliveries"
	}
	return "/deliveries?" + q.Encode()
}

// deliveriesPage answers what came in and what became of it.
func (s *server) deliveriesPage(c echo.Context) error {
	ctx := c.Request().Context()
	v := deliveriesView{Status: c.QueryParam("status"), Provider: c.QueryParam("provider"), Statuses: booking.ReceiptStatuses()}
	for name := range s.Providers {
		v.Providers = append(v.Providers, name)
	}
	slices.Sort(v.Providers)
	if !slices.Contains(v.Statuses, booking.ReceiptStatus(v.Status)) {
		v.Status = ""
	}
	if !slices.Contains(v.Providers, v.Provider) {
		v.Provider = ""
	}
	f := booking.Filter{Provider: v.Provider}
	if v.Status != "" {
		f.Statuses = []string{v.Status}
	}
	cursor := c.QueryParam("cursor")
	rows, err := s.Records.Receipts(ctx, f, booking.Page{Limit: deliveriesPageSize, Cursor: cursor})
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return c.Redirect(http.StatusSeeOther, v.link(v.Status, ""))
	}
	if err != nil {
		return err
	}
	if v.Rows, err = s.receiptRows(ctx, rows.Items, s.viewer(c)); err != nil {
		return err
	}
	backlog, err := s.Records.Backlog(ctx)
	if err != nil {
		return err
	}
	for _, status := range []booking.ReceiptStatus{booking.StatusPending, booking.StatusFailed, booking.StatusDead} {
		if n := backlog.Open[status]; n > 0 {
			v.Open = append(v.Open, counter{Value: string(status), Count: n, Chosen: v.Status == string(status), Link: v.link(toggled(v.Status, string(status)), "")})
		}
	}
	if rows.Next != "" {
		v.Older = v.link(v.Status, rows.Next)
	}
	if cursor != "" {
		v.First = v.link(v.Status, "")
	}
	return s.page(c, http.StatusOK, "deliveries", page{Title: "deliveries.title", Section: "deliveries", Wide: true, Data: v})
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
			Why: explain(booking.Answer{Status: r.Status, Code: r.Code, Error: r.Error}),
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
	Payload     *payload
	Reveal      string // shows the body; "" for whoever may not, or when it shows
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
	v := deliveryView{receiptRow: rows[0], Transitions: transitions.Items}
	if v.Payload, v.Reveal, err = s.revealed(c, r); err != nil {
		return err
	}
	return s.page(c, http.StatusOK, "delivery", page{Title: "delivery.title", Section: "deliveries", Data: v})
}
