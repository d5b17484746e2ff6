// Package web is everything that speaks HTTP: the webhooks of the providers, the
// API, the pages, health and metrics. It decides nothing about bookings: a
// webhook is proven and handed to the intake, a page reads records and shows
// them.
//
// A request goes through, in this order: its id, the log line of its end, the
// guard against panics, the security headers, then the route. Pages add the
// check against cross-origin posts, the session and who is signed in; the API
// asks for a bearer token. Handlers return their errors; problem.go alone turns
// them into an answer, problem+json or a page, and never shows a cause that is
// not meant for the caller.
//
// Pages hold under "default-src 'self'": no inline script or style anywhere, so
// the grids of the calendar are placed by the classes of a stylesheet made in
// gridcss.go. They work without JavaScript. Every text stands in locales/.
//
// Open pages hear of changes over one stream of server-sent events (live.go), which
// tells no more than that something happened; what it was each page reads for
// itself, as its viewer may see it.
package web
