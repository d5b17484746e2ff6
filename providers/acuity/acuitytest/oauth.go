package acuitytest

import (
	"crypto/rand"
	"net/http"
	"net/url"
)

// App is registered at Acuity and may be authorised for the account.
type App struct {
	ClientID, ClientSecret, RedirectURI string
}

// grants are what was given to the app. Tokens do not expire, and there is nothing
// to refresh them with (UNV; the official SDKs have none).
type grants struct {
	codes, tokens map[string]bool
}

func newGrants() grants {
	return grants{codes: map[string]bool{}, tokens: map[string]bool{}}
}

// authorize plays the owner who agrees at once: back to the app with a code. The
// only scope is api-v1 (OFF).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	query, app := r.URL.Query(), s.options.App
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil || app.ClientID == "" || query.Get("client_id") != app.ClientID || query.Get("redirect_uri") != app.RedirectURI ||
		query.Get("response_type") != "code" || query.Get("scope") != "api-v1" {
		refuse(w, "bad_request", "The authorization request is invalid.") // the text is UNV
		return
	}
	code := rand.Text()
	s.mu.Lock()
	s.grants.codes[code] = true
	s.mu.Unlock()
	values := back.Query()
	values.Set("code", code)
	values.Set("state", query.Get("state"))
	back.RawQuery = values.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token gives a token for a code and the app's secret, both in the form (OFF); a
// code is good once (INF).
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	app := s.options.App
	code := r.PostFormValue("code")
	s.mu.Lock()
	defer s.mu.Unlock()
	if app.ClientID == "" || r.PostFormValue("client_id") != app.ClientID || r.PostFormValue("client_secret") != app.ClientSecret ||
		r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != app.RedirectURI || !s.grants.codes[code] {
		write(w, http.StatusBadRequest, []byte(`{"error":"invalid_grant"}`))
		return
	}
	delete(s.grants.codes, code)
	token := rand.Text()
	s.grants.tokens[token] = true
	answer(w, map[string]string{"access_token": token, "token_type": "Bearer"})
}
