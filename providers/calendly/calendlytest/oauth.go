package calendlytest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// The lives of what an app is given (OFF), and how often it may ask: by user, in a
// minute (OFF).
const (
	codeLife         = 10 * time.Minute
	tokenLife        = 2 * time.Hour
	tokensPerMinute  = 8
	grantTypeCode    = "authorization_code"
	grantTypeRefresh = "refresh_token"
)

// App is an OAuth app of the web: it proves itself with its secret in the header
// (OFF). Its SigningKey signs what its subscriptions are sent (OFF).
type App struct{ ClientID, ClientSecret, RedirectURI, SigningKey string }

// code was given to the app to be changed for tokens.
type code struct {
	of        *person
	redirect  string
	scope     string
	challenge string // of PKCE, S256; "" for none
	expires   time.Time
}

// renewal is a refresh token: it serves once (OFF).
type renewal struct {
	of    *person
	scope string
	used  bool
}

// Approve says who is at the authorize endpoint, and whether he consents.
func (s *Server) Approve(userID string, consents bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approver, s.denies = userID, !consents
}

// authorize sends the browser back with a code, as if the user had consented at
// once. What it answers to a wrong app is UNV.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, app := r.URL.Query(), s.options.App
	if app.ClientID == "" || q.Get("client_id") != app.ClientID || q.Get("redirect_uri") != app.RedirectURI || q.Get("response_type") != "code" {
		oauthError(w, http.StatusBadRequest, "invalid_request", "The request is missing a required parameter or has an invalid one.")
		return
	}
	back := url.Values{}
	if state := q.Get("state"); state != "" {
		back.Set("state", state)
	}
	approver := s.people[0]
	if p := s.find(s.approver); p != nil {
		approver = p
	}
	if s.denies {
		back.Set("error", "access_denied")
	} else {
		s.next++
		name := fmt.Sprintf("demo-code-%d", s.next)
		s.codes[name] = &code{
			of: approver, redirect: app.RedirectURI, scope: q.Get("scope"), challenge: q.Get("code_challenge"), expires: s.now().Add(codeLife),
		}
		back.Set("code", name)
	}
	http.Redirect(w, r, app.RedirectURI+"?"+back.Encode(), http.StatusFound)
}

// token changes a code or a refresh token for new tokens. Errors have error and
// error_description (OFF).
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isApp(r) {
		oauthError(w, http.StatusUnauthorized, "invalid_client", "Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.")
		return
	}
	of, scope, revive := s.granted(r)
	switch kind := r.PostFormValue("grant_type"); {
	case kind != grantTypeCode && kind != grantTypeRefresh:
		oauthError(w, http.StatusBadRequest, "unsupported_grant_type", "The authorization grant type is not supported by the authorization server.")
		return
	case of == nil:
		oauthError(w, http.StatusBadRequest, "invalid_grant", "The provided authorization grant is not valid any more.")
		return
	}
	if !s.maySignIn(of) {
		revive()
		oauthError(w, http.StatusTooManyRequests, "too_many_requests", "Too many token requests.") // its words are UNV
		return
	}
	s.next++
	access, refresh := fmt.Sprintf("demo-access-token-%d", s.next), fmt.Sprintf("demo-refresh-token-%d", s.next)
	s.grants[access] = &grant{of: of, expires: s.now().Add(tokenLife), app: true}
	s.renewals[refresh] = &renewal{of: of, scope: scope}
	write(w, http.StatusOK, map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": int(tokenLife / time.Second),
		"created_at": s.now().Unix(), "scope": scope, "owner": uri(of.path()), "organization": Organization,
	})
}

// meter counts requests in a minute of the API's time.
type meter struct {
	ends time.Time
	n    int
}

func (s *Server) maySignIn(p *person) bool {
	now := s.now()
	m := s.signedIn[p.ID]
	if m == nil || !m.ends.After(now) {
		m = &meter{ends: now.Add(s.options.Tempo.Wait(time.Minute))}
		s.signedIn[p.ID] = m
	}
	m.n++
	return m.n <= tokensPerMinute
}

// isApp: HTTP Basic with the client's id and secret, both form-encoded as RFC 6749
// has it.
func (s *Server) isApp(r *http.Request) bool {
	id, secret, _ := r.BasicAuth()
	id, idErr := url.QueryUnescape(id)
	secret, secretErr := url.QueryUnescape(secret)
	app := s.options.App
	return idErr == nil && secretErr == nil && app.ClientID != "" && id == app.ClientID && secret == app.ClientSecret
}

// granted uses up what the request offers; revive takes that back, for a request
// that is refused after all.
func (s *Server) granted(r *http.Request) (of *person, scope string, revive func()) {
	switch r.PostFormValue("grant_type") {
	case grantTypeCode:
		name := r.PostFormValue("code")
		c := s.codes[name]
		if c == nil || !s.now().Before(c.expires) || r.PostFormValue("redirect_uri") != c.redirect || !c.proves(r.PostFormValue("code_verifier")) {
			return nil, "", nil
		}
		delete(s.codes, name)
		return c.of, c.scope, func() { s.codes[name] = c }
	case grantTypeRefresh:
		n := s.renewals[r.PostFormValue("refresh_token")]
		if n == nil || n.used {
			return nil, "", nil
		}
		n.used = true
		return n.of, n.scope, func() { n.used = false }
	}
	return nil, "", nil
}

// proves: PKCE is asked for only of who began with it (TP).
func (c *code) proves(verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return c.challenge == "" || c.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
}

// revoke ends a token; client and token are in the form (OFF).
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	app := s.options.App
	if app.ClientID == "" || r.PostFormValue("client_id") != app.ClientID || r.PostFormValue("client_secret") != app.ClientSecret {
		oauthError(w, http.StatusForbidden, "unauthorized_client", "You are not authorized to revoke this token")
		return
	}
	s.end(r.PostFormValue("token"))
	write(w, http.StatusOK, map[string]any{})
}

func oauthError(w http.ResponseWriter, status int, name, text string) {
	write(w, status, map[string]any{"error": name, "error_description": text})
}
