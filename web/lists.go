package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

type connectionsView struct {
	Connections []connectionRow
	Providers   []string
}

type connectionRow struct {
	providers.Connection
	WebhookURL string
	Account    string // where its API is; "" of one that has none
	Failing    booking.Failing
	Failed     string // the deliveries that Failing counts
}

// connectionsPage lists the accounts. Connecting one is a command's work; the
// page says which.
func (s *server) connectionsPage(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := booking.Everything(ctx, s.Records.Connections)
	if err != nil {
		return err
	}
	var v connectionsView
	for _, conn := range all {
		row := connectionRow{Connection: conn, WebhookURL: s.webhookURL(conn)}
		if conn.APIBase != conn.ID.String() {
			row.Account = conn.APIBase
		}
		if conn.DisconnectedAt == nil {
			if row.Failing, err = s.Records.Failing(ctx, conn.ID); err != nil {
				return err
			}
			row.Failed = deliveriesView{Provider: conn.Provider}.link(string(row.Failing.Newest), "")
		}
		v.Connections = append(v.Connections, row)
	}
	for name := range s.Providers {
		v.Providers = append(v.Providers, name)
	}
	slices.Sort(v.Providers)
	return s.page(c, http.StatusOK, "connections", page{Title: "connections.title", Section: "connections", Data: v})
}

type resourcesView struct {
	Resources []booking.ResourceView
}

func (s *server) resourcesPage(c echo.Context) error {
	all, err := booking.Everything(c.Request().Context(), s.Records.Resources)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b booking.ResourceView) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return s.page(c, http.StatusOK, "resources", page{Title: "resources.title", Section: "resources", Data: resourcesView{all}})
}
