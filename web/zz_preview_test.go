package web_test

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"testing"

	"slotkeeper/booking/access"
)

func TestPreview(t *testing.T) {
	if os.Getenv("PREVIEW") == "" {
		t.Skip()
	}
	serve := func(addr string, r *records, lang string, signedIn bool) {
		w := newWorld(t, r, nil)
		b := w.user(t, "ayu", access.Administrator)
		u, _ := url.Parse(w.URL)
		cookies := b.Jar.Cookies(u)
		p := httputil.NewSingleHostReverseProxy(u)
		d := p.Director
		p.Director = func(r *http.Request) {
			d(r)
			r.Header.Set("Accept-Language", lang)
			if signedIn {
				for _, c := range cookies {
					r.AddCookie(c)
				}
			}
		}
		go http.ListenAndServe(addr, p)
	}
	serve("127.0.0.1:18990", full(), "en", true)
	serve("127.0.0.1:18991", full(), "id", true)
	serve("127.0.0.1:18992", &records{}, "en", true)
	serve("127.0.0.1:18993", full(), "id", false)
	select {}
}
