package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

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
	conns, err := everything(ctx, s.Records.Connections)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, conn := range conns {
		names[conn.ID.String()] = conn.Name
	}
	for _, r := range rows.Items {
		why := explain(booking.Answer{Status: r.Status, Code: r.Code, Error: r.Error})
		v.Rows = append(v.Rows, receiptRow{r, names[r.ConnectionID.String()], why})
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
