package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
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

	open := e.Group("", s.sameOrigin, s.sessions.load, s.identify)
	open.GET("/", s.home)
	open.GET("/signin", s.signInPage)
	open.POST("/signin", s.signIn)
	open.POST("/signout", s.signOut)
	open.GET("/link/:secret", s.linkPage)
	open.POST("/link/:secret", s.useLink)

	pages := open.Group("", s.requireUser)
	pages.GET("/calendar", s.calendarPage)
	pages.GET("/bookings/:id", s.bookingPage)
	pages.GET("/audit", s.auditPage)
	pages.GET("/audit/:id", s.transitionPage)
	pages.GET("/connections", s.connectionsPage)
	pages.GET("/resources", s.resourcesPage)
	pages.GET("/settings", s.settingsPage)
	pages.POST("/settings/display", s.saveDisplay)
	pages.POST("/settings/password", s.savePassword)

	return s.api(e)
}
