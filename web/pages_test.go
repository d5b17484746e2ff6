package web_test

import (
	"net/http"
	"testing"

	"slotkeeper/booking/access"
)

// paths are all pages of a signed-in person.
var paths = []string{
	"/calendar", "/calendar?view=week", "/calendar?view=week&date=2026-11-30&zone=Europe/Berlin", "/calendar?status=canceled",
	"/calendar?resource=" + id(10).String(), "/calendar?provider=acuity", "/calendar?date=2030-01-01", "/calendar?zone=Nowhere/Land",
	"/conflicts", "/conflicts?show=accepted", "/conflicts?past=1&provider=calcom", "/audit", "/audit?show=all&range=all", "/audit?reason=stale", "/audit?provider=acuity", "/audit?from=2020-01-01&to=2020-01-02",
	"/audit?q=nobody", "/audit?q=rani&connection=" + id(1).String() + "&resource=" + id(10).String() + "&actor=webhook",
	"/audit?view=admin", "/audit?view=admin&action=user.signed_in&actor=system", "/audit?view=admin&from=2020-01-01&to=2020-01-02",
	"/deliveries", "/deliveries?status=failed&provider=calendly", "/connections", "/resources", "/resources?q=nobody", "/settings/sessions", "/settings/sessions?done=all", "/settings/users", "/settings/users?done=privacy", "/alerts", "/alerts?done=acknowledged", "/settings/alerts", "/settings/alerts?done=added", "/settings/endpoints", "/settings/endpoints?done=removed", "/settings/tokens", "/settings/tokens?done=revoked", "/settings/feeds", "/settings/feeds?done=revoked", "/settings", "/settings?saved=display", "/settings?saved=password",
}

func TestEveryPage(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]*records{"empty": {}, "full": full()} {
		w := newWorld(t, data, nil)
		browser := w.user(t, "ayu", access.Administrator)
		all := paths
		for _, b := range data.bookings {
			all = append(all, "/bookings/"+b.ID.String(), "/bookings/"+b.ID.String()+"?zone=America/New_York&receipt="+id(40).String())
		}
		for _, tr := range data.transitions {
			all = append(all, "/audit/"+tr.ID.String(), "/audit/"+tr.ID.String()+"?body=1")
		}
		for _, r := range data.receipts {
			all = append(all, "/deliveries/"+r.ID.String())
		}
		for _, lang := range []string{"en", "id"} {
			for _, path := range all {
				t.Run(name+" "+lang+" "+path, func(t *testing.T) {
					t.Parallel()
					res := w.get(t, browser, path, "Accept-Language", lang)
					if res.StatusCode != http.StatusOK {
						t.Fatalf("status %d: %s", res.StatusCode, res.body)
					}
					wholesome(t, res, lang)
				})
			}
		}
	}
}
