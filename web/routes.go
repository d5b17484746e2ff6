package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking/auditfile"
)

const webhookRoute = "/webhooks/:provider/:connection"

// routes lists every way in.
func (s *server) routes(e *echo.Echo) error {
	e.POST(webhookRoute, s.webhooks.receive)

	e.Match([]string{http.MethodGet, http.MethodHead}, "/healthz", s.health.alive)
	e.Match([]string{http.MethodGet, http.MethodHead}, "/readyz", s.health.readyz)
	if !s.MetricsElsewhere {
		e.GET("/metrics", s.metrics)
	}
	e.GET("/static/:name", s.assets.serve)
	e.Match([]string{http.MethodGet, http.MethodHead}, feedRoute, s.feed)

	// Not groups: echo gives a group with middleware a catch-all of its own, and
	// every unknown path would lead to the sign-in page.
	open := []echo.MiddlewareFunc{s.sameOrigin, s.sessions.load, s.identify}
	e.GET("/", s.home, open...)
	e.GET("/signin", s.signInPage, open...)
	e.POST("/signin", s.signIn, open...)
	e.POST("/signout", s.signOut, open...)
	e.GET("/link/:secret", s.linkPage, open...)
	e.POST("/link/:secret", s.useLink, open...)

	signedIn := append(slices.Clone(open), s.requireUser)
	e.GET("/calendar", s.calendarPage, signedIn...)
	e.GET("/keys", s.keysPage, signedIn...)
	e.GET(liveRoute, s.live, open...)
	e.GET("/bookings/:id", s.bookingPage, signedIn...)
	e.GET("/bookings/:id/cancel-at-provider", s.cancelPage, signedIn...)
	e.POST("/bookings/:id/cancel-at-provider", s.cancelBooking, signedIn...)
	e.POST("/effects/:id/retry", s.retryEffect, signedIn...)
	e.POST("/effects/:id/withdraw", s.withdrawEffect, signedIn...)
	e.GET("/conflicts", s.conflictsPage, signedIn...)
	e.POST("/conflicts/accept", s.acceptConflicts, signedIn...)
	e.GET("/audit", s.auditPage, signedIn...)
	e.GET(exportPath(auditfile.CSV), s.exportCSV, signedIn...)
	e.GET(exportPath(auditfile.JSONL), s.exportJSONL, signedIn...)
	e.GET("/audit/:id", s.transitionPage, signedIn...)
	e.GET(alertsPath, s.alertsPage, signedIn...)
	e.POST(alertsPath+"/:id/acknowledge", s.acknowledgeAlert, signedIn...)
	e.GET("/deliveries", s.deliveriesPage, signedIn...)
	e.GET("/deliveries/:id", s.deliveryPage, signedIn...)
	e.GET(replaysPath, s.replaysPage, signedIn...)
	e.POST(replaysPath, s.previewReplay, signedIn...)
	e.GET(replaysPath+"/:id", s.replayPage, signedIn...)
	e.POST(replaysPath+"/:id/run", s.runReplay, signedIn...)
	e.POST(replaysPath+"/:id/stop", s.stopReplay, signedIn...)
	e.GET("/connections", s.connectionsPage, signedIn...)
	e.GET("/connections/new/:provider", s.connectPage, signedIn...)
	e.POST("/connections/new/:provider", s.connectAccount, signedIn...)
	e.POST("/connections/oauth", s.signInAtProvider, signedIn...)
	e.GET("/connections/oauth", s.signedInAtProvider, signedIn...)
	e.GET("/connections/:id", s.connectionPage, signedIn...)
	e.POST("/connections/:id/check", s.checkConnection, signedIn...)
	e.POST("/connections/:id/test", s.testConnection, signedIn...)
	e.POST("/connections/:id/compare", s.compareConnection, signedIn...)
	e.POST("/connections/:id/runs/:run/stop", s.stopRun, signedIn...)
	e.POST("/connections/:id/import", s.importConnection, signedIn...)
	e.POST("/connections/:id/rotate", s.rotateConnection, signedIn...)
	e.POST("/connections/:id/finish", s.finishRotation, signedIn...)
	e.POST("/connections/:id/abandon", s.abandonRotation, signedIn...)
	e.POST("/connections/:id/forms", s.keepForms, signedIn...)
	e.GET("/connections/:id/disconnect", s.disconnectPage, signedIn...)
	e.POST("/connections/:id/disconnect", s.disconnectConnection, signedIn...)
	e.GET("/resources", s.resourcesPage, signedIn...)
	e.GET("/resources/unmapped", s.unmappedPage, signedIn...)
	e.GET("/resources/:id", s.resourcePage, signedIn...)
	e.POST("/resources/unmapped", s.mapIdentity, signedIn...)
	e.POST("/resources/:id/name", s.renameResource, signedIn...)
	e.POST("/resources/:id/zone", s.setResourceZone, signedIn...)
	e.POST("/resources/:id/overlaps", s.setOverlapRule, signedIn...)
	e.POST("/resources/:id/split", s.splitResource, signedIn...)
	e.GET("/resources/:id/merge", s.mergePage, signedIn...)
	e.POST("/resources/:id/merge", s.mergeResource, signedIn...)
	s.settingsRoutes(e, signedIn)

	return s.api(e)
}
