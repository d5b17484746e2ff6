package web

import (
	"net/http"
	"slices"

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
	e.GET("/bookings/:id", s.bookingPage, signedIn...)
	e.GET("/audit", s.auditPage, signedIn...)
	e.GET("/audit/:id", s.transitionPage, signedIn...)
	e.GET("/deliveries", s.deliveriesPage, signedIn...)
	e.GET("/deliveries/:id", s.deliveryPage, signedIn...)
	e.GET("/connections", s.connectionsPage, signedIn...)
	e.GET("/resources", s.resourcesPage, signedIn...)
	e.GET("/settings", s.settingsPage, signedIn...)
	e.POST("/settings/display", s.saveDisplay, signedIn...)
	e.POST("/settings/password", s.savePassword, signedIn...)

	return s.api(e)
}
