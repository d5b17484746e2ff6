package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// Whoever tried to connect an account in vain stands in the log with the provider and
// the reason, so that tries at the keys of others are seen; what was typed does not,
// nor a form that was only not filled in right, and nothing is connected.
func TestFailedConnectIsLogged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fails  error
		en, id string // "" where nothing is logged
	}{
		"wrong key":        {&providers.AnswerError{Status: 401, Message: "Invalid typed-token"}, "The key or token is not accepted.", "Kunci atau token tidak diterima."},
		"forbidden":        {&providers.AnswerError{Status: 403}, "The key or token is right, but may not do this.", "Kunci atau token benar, tetapi tidak berhak atas ini."},
		"away":             {context.DeadlineExceeded, "No answer came.", "Tidak ada jawaban."},
		"later":            {&providers.LaterError{After: time.Minute, Err: errors.New("429")}, "The provider asks to come back later.", "Penyedia meminta untuk kembali nanti."},
		"trouble":          {&providers.AnswerError{Status: 500}, "The provider has trouble of its own.", "Penyedia sendiri sedang bermasalah."},
		"private":          {&providers.AddressError{Host: "typed-token.local"}, "That address is on a private network", "Alamat itu di jaringan pribadi"},
		"no API":           {providers.ErrGone, "There is no such API at that address.", "Tidak ada API seperti itu di alamat tersebut."},
		"a surprise":       {errors.New("typed-token is odd"), "Something unexpected happened.", "Terjadi sesuatu yang tak terduga."},
		"a wrong entry":    {&booking.InvalidError{Field: "account", Detail: "x"}, "", ""},
		"our own database": {booking.ErrUnavailable, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := connectWorld(t)
			k.fails = tt.fails
			admin, had := w.user(t, "ayu", access.Administrator), len(w.records.connections)
			form := url.Values{"key": {"typed-token"}, "connection_name": {"typed-name"}, "day": {"2026-11-01"}}
			if res := w.post(t, admin, "/connections/new/calcom", form); res.StatusCode < http.StatusBadRequest {
				t.Fatalf("status %d", res.StatusCode)
			}
			if got := len(w.records.connections); got != had {
				t.Errorf("there are %d accounts, there were %d", got, had)
			}
			var logged []access.Entry
			for _, e := range w.store.entries() {
				if e.Action == access.DidFailConnect || e.Action == access.DidConnect {
					logged = append(logged, e)
				}
			}
			if tt.en == "" {
				if len(logged) > 0 {
					t.Errorf("it is logged as %+v", logged)
				}
				return
			}
			if len(logged) != 1 || logged[0].Action != access.DidFailConnect || logged[0].Subject != "" || logged[0].Remote == "" {
				t.Fatalf("logged %+v", logged)
			}
			for language, want := range map[string][]string{
				"en": {"ayu tried to connect an account and failed: Cal.com", tt.en}, "id": {"ayu mencoba menghubungkan akun tetapi gagal: Cal.com", tt.id},
			} {
				for _, path := range []string{"/audit?view=admin", "/audit?view=admin&action=" + access.DidFailConnect} {
					res := w.get(t, admin, path, "Accept-Language", language)
					wholesome(t, res, language)
					has(t, path, strings.Join(shows(t, res, "adminlog"), " "), want...)
					hasNot(t, path, res.body, "typed-token", "typed-name")
				}
			}
		})
	}
}

// What a check of an account found stands in the log in words: that all is well, that
// it works again, that its webhook was made anew, or what is wrong.
func TestCheckIsLoggedWithWhatItFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		finding account.Finding
		fails   error
		found   string
		en, id  string
	}{
		"well":      {found: "ok", en: "all is well", id: "semuanya baik"},
		"recovered": {finding: account.Finding{Recovered: true}, found: "recovered", en: "works again", id: "berfungsi lagi"},
		"remade":    {finding: account.Finding{Remade: true}, found: "remade", en: "the provider's notices were set up again", id: "pemberitahuan penyedia dipasang lagi"},
		"both":      {finding: account.Finding{Recovered: true, Remade: true}, found: "remade", en: "the provider's notices were set up again", id: "pemberitahuan penyedia dipasang lagi"},
		"wrong key": {finding: account.Finding{Err: &providers.AnswerError{Status: 401}}, found: "credentials", en: "The key or token is not accepted.", id: "Kunci atau token tidak diterima."},
		"away":      {fails: context.DeadlineExceeded, found: "unreachable", en: "No answer came.", id: "Tidak ada jawaban."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := connectWorld(t)
			k.finding, k.fails = tt.finding, tt.fails
			k.finding.Connection = mustConnection(t, w, 5)
			operator := w.user(t, "rani", access.Operator)
			w.post(t, operator, connectionPath(5, "/check"), nil)
			var found []string
			for _, e := range w.store.entries() {
				if e.Action == access.DidCheckConnection {
					found = append(found, e.Subject+" "+e.Detail["found"])
				}
			}
			if want := "connection:" + id(5).String() + " " + tt.found; len(found) != 1 || found[0] != want {
				t.Errorf("logged %q, want %q", found, want)
			}
			for language, want := range map[string]string{"en": tt.en, "id": tt.id} {
				res := w.get(t, operator, "/audit?view=admin&action="+access.DidCheckConnection, "Accept-Language", language)
				has(t, language, strings.Join(shows(t, res, "adminlog"), " "), want, "rani", k.finding.Name)
			}
		})
	}
}
