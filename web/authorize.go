package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking/access"
)

// Actions that no role is asked for, beside those of package access.
const (
	// anybody may: what comes before a sign-in, and what proves itself in another
	// way, as a signed post does.
	anybody access.Action = "anybody"
)

// actions says of every way in what whoever comes by it must be allowed to do, for
// pages and API alike; who may do what stands in package access, in one table. A
// route that is not here keeps the server from starting. Where a page shows more to
// some (buttons, raw bodies) it asks the same table.
var actions = map[string]access.Action{
	"POST " + webhookRoute: anybody, // the signature decides
	"GET /healthz":         anybody,
	"HEAD /healthz":        anybody,
	"GET /readyz":          anybody,
	"HEAD /readyz":         anybody,
	"GET /metrics":         access.ScrapeMetrics,
	"GET /static/:name":    anybody,
	"GET " + feedRoute:     anybody, // the secret in the address decides
	"HEAD " + feedRoute:    anybody,
	"GET /":                anybody, // leads to the sign-in or the calendar
	"GET /signin":          anybody,
	"POST /signin":         anybody,
	"POST /signout":        anybody,
	"GET /link/:secret":    anybody, // the secret decides
	"POST /link/:secret":   anybody,

	"GET /calendar":                         access.View,
	"GET /keys":                             access.View,
	"GET /live":                             anybody, // only who is signed in is told anything
	"GET /bookings/:id":                     access.View,
	"GET /bookings/:id/cancel-at-provider":  access.ActAtProvider,
	"POST /bookings/:id/cancel-at-provider": access.ActAtProvider,
	"POST /effects/:id/retry":               access.ActAtProvider,
	"POST /effects/:id/withdraw":            access.ActAtProvider,
	"GET /conflicts":                        access.View,
	"POST /conflicts/accept":                access.AcceptOverlaps,
	"GET /audit":                            access.View, // the admin log in it: access.ReadAdminLog
	"GET /audit/:id":                        access.View,
	"GET /audit/export.csv":                 access.ExportAudit,
	"GET /audit/export.jsonl":               access.ExportAudit,
	"GET /deliveries":                       access.ViewAll,
	"GET /deliveries/:id":                   access.View, // with a raw body: access.ReadRawBodies
	"GET /deliveries/replay":                access.ReplayDeliveries,
	"POST /deliveries/replay":               access.ReplayDeliveries,
	"GET /deliveries/replay/:id":            access.ReplayDeliveries,
	"POST /deliveries/replay/:id/run":       access.ReplayDeliveries,
	"POST /deliveries/replay/:id/stop":      access.ReplayDeliveries,

	"GET /alerts":                  access.ViewAll,
	"POST /alerts/:id/acknowledge": access.SyncConnections,

	"GET /settings/alerts":             access.ManageConnections,
	"POST /settings/alerts":            access.ManageConnections,
	"POST /settings/alerts/:id/remove": access.ManageConnections,
	"POST /settings/alerts/:id/try":    access.ManageConnections,

	"GET /settings/endpoints":                              access.ManageConnections,
	"POST /settings/endpoints":                             access.ManageConnections,
	"GET /settings/endpoints/:id":                          access.ManageConnections,
	"POST /settings/endpoints/:id/test":                    access.ManageConnections,
	"POST /settings/endpoints/:id/rotate":                  access.ManageConnections,
	"POST /settings/endpoints/:id/finish":                  access.ManageConnections,
	"POST /settings/endpoints/:id/switch":                  access.ManageConnections,
	"POST /settings/endpoints/:id/remove":                  access.ManageConnections,
	"POST /settings/endpoints/:id/messages/:message/retry": access.ManageConnections,

	"GET /connections":                access.ViewAll,
	"GET /connections/:id":            access.ViewAll,
	"GET /connections/new/:provider":  access.ManageConnections,
	"POST /connections/new/:provider": access.ManageConnections,
	"POST /connections/oauth":         access.ManageConnections,
	"GET /connections/oauth":          access.ManageConnections,
	"POST /connections/:id/check":     access.SyncConnections,
	"POST /connections/:id/compare":   access.SyncConnections,
	"POST /connections/:id/test":      access.SyncConnections,

	"POST /connections/:id/runs/:run/stop": access.SyncConnections,

	"POST /connections/:id/import":     access.SyncConnections,
	"POST /connections/:id/rotate":     access.ManageConnections,
	"POST /connections/:id/finish":     access.ManageConnections,
	"POST /connections/:id/abandon":    access.ManageConnections,
	"POST /connections/:id/forms":      access.ManageConnections,
	"GET /connections/:id/disconnect":  access.ManageConnections,
	"POST /connections/:id/disconnect": access.ManageConnections,

	"GET /resources":               access.View,
	"GET /resources/:id":           access.View,
	"GET /resources/unmapped":      access.ViewAll,
	"POST /resources/unmapped":     access.MapResources,
	"POST /resources/:id/name":     access.MapResources,
	"POST /resources/:id/zone":     access.MapResources,
	"POST /resources/:id/overlaps": access.AcceptOverlaps,
	"POST /resources/:id/split":    access.MapResources,
	"GET /resources/:id/merge":     access.MapResources,
	"POST /resources/:id/merge":    access.MapResources,

	"GET /settings":                    access.ManageSelf,
	"POST /settings/display":           access.ManageSelf,
	"POST /settings/password":          access.ManageSelf,
	"GET /settings/sessions":           access.ManageSelf, // everybody's: access.ManageAccounts
	"POST /settings/sessions/end":      access.ManageSelf,
	"POST /settings/sessions/end-all":  access.ManageSelf,
	"GET /settings/feeds":              access.View, // everybody's: access.ManageAccounts
	"POST /settings/feeds":             access.View, // no feed tells more than its maker sees
	"POST /settings/feeds/:id/revoke":  access.View,
	"GET /settings/users":              access.ManageAccounts,
	"POST /settings/users":             access.ManageAccounts,
	"GET /settings/users/:id":          access.ManageAccounts,
	"POST /settings/users/:id/role":    access.ManageAccounts,
	"POST /settings/users/:id/limit":   access.ManageAccounts,
	"POST /settings/users/:id/disable": access.ManageAccounts,
	"POST /settings/users/:id/enable":  access.ManageAccounts,
	"POST /settings/users/:id/link":    access.ManageAccounts,
	"POST /settings/users/:id/signout": access.ManageAccounts,
	"POST /settings/privacy":           access.ManageAccounts,
	"GET /settings/erase":              access.ErasePeople,
	"POST /settings/erase":             access.ErasePeople,
	"POST /settings/erase/confirm":     access.ErasePeople,
	"GET /settings/tokens":             access.ManageAccounts,
	"POST /settings/tokens":            access.ManageAccounts,
	"POST /settings/tokens/:id/revoke": access.ManageAccounts,

	"GET /api/v1/openapi.json":                     anybody,
	"GET /api/v1/openapi.yaml":                     anybody,
	"GET /api/v1/openapi-3.0.json":                 anybody,
	"GET /api/v1/openapi-3.0.yaml":                 anybody,
	"GET /api/v1/bookings":                         access.View,
	"GET /api/v1/bookings/:id":                     access.View,
	"GET /api/v1/bookings/:id/effects":             access.View,
	"POST /api/v1/bookings/:id/accept-overlap":     access.AcceptOverlaps,
	"POST /api/v1/bookings/:id/cancel-at-provider": access.ActAtProvider,
	"POST /api/v1/effects/:id/retry":               access.ActAtProvider,
	"POST /api/v1/effects/:id/withdraw":            access.ActAtProvider,
	"GET /api/v1/slots":                            access.View,
	"GET /api/v1/transitions":                      access.View,
	"GET /api/v1/transitions/:id":                  access.View,
	"GET /api/v1/receipts":                         access.ViewAll,
	"GET /api/v1/receipts/:id":                     access.ViewAll,
	"POST /api/v1/replays":                         access.ReplayDeliveries,
	"GET /api/v1/replays/:id":                      access.ReplayDeliveries,
	"GET /api/v1/connections":                      access.ViewAll,
	"GET /api/v1/connections/:id":                  access.ViewAll,
	"GET /api/v1/resources":                        access.View,
}

// routeAction is what a route takes. One that is not in the table takes what nobody
// may.
func routeAction(method, route string) access.Action {
	// huma writes {id} where echo writes :id.
	route = strings.NewReplacer("{", ":", "}", "").Replace(route)
	return actions[method+" "+route]
}

// checkRoutes refuses a route that the table does not know, and an entry that no
// route has.
func (s *server) checkRoutes(e *echo.Echo) error {
	seen := map[string]bool{}
	for _, r := range e.Routes() {
		if r.Method == echo.RouteNotFound {
			continue
		}
		key := r.Method + " " + r.Path
		seen[key] = true
		if _, known := actions[key]; !known {
			return fmt.Errorf("web: %s is not in the table of actions: say in authorize.go who may come by it", key)
		}
	}
	if s.MetricsElsewhere {
		seen[http.MethodGet+" /metrics"] = true
	}
	for key := range actions {
		if !seen[key] {
			return fmt.Errorf("web: %s is in the table of actions and is no route", key)
		}
	}
	return nil
}
