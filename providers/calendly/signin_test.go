package calendly_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers/calendly"
	"slotkeeper/providers/calendly/calendlytest"
)

var demoApp = calendlytest.App{ClientID: "demo-client", ClientSecret: "demo client/secret", RedirectURI: "https://slots.example/back", SigningKey: "the app's key"}

func withApp(o *calendlytest.Options) { o.App = demoApp }

// browse is a browser's request: redirects are looked at, not followed.
func browse(t *testing.T, address string) (int, *url.URL) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		return answer.StatusCode, nil
	}
	return answer.StatusCode, to
}

// consent goes to the authorize endpoint, and gives what the browser is sent back
// with.
func (a *account) consent(t *testing.T, more url.Values) url.Values {
	t.Helper()
	q := url.Values{"response_type": {"code"}, "client_id": {demoApp.ClientID}, "redirect_uri": {demoApp.RedirectURI}, "state": {"s"}}
	for name, values := range more {
		q[name] = values
	}
	status, to := browse(t, calendly.New(0).OAuth(a.APIBase()).AuthURL+"?"+q.Encode())
	if status != http.StatusFound || !strings.HasPrefix(to.String(), demoApp.RedirectURI+"?") || to.Query().Get("state") != "s" {
		t.Fatalf("sent back with %d to %s", status, to)
	}
	return to.Query()
}

// tokens asks the token endpoint.
func (a *account) tokens(t *testing.T, app calendlytest.App, form url.Values) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, calendly.New(0).OAuth(a.APIBase()).TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(app.ClientID), url.QueryEscape(app.ClientSecret))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return answer.StatusCode, out
}

func changeCode(code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {demoApp.RedirectURI}}
}

func renew(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}}
}

func (a *account) signIn(t *testing.T) (access, refresh string) {
	t.Helper()
	status, out := a.tokens(t, demoApp, changeCode(a.consent(t, nil).Get("code")))
	access, _ = out["access_token"].(string)
	refresh, _ = out["refresh_token"].(string)
	if status != http.StatusOK || access == "" || refresh == "" {
		t.Fatalf("%d %v", status, out)
	}
	return access, refresh
}

// Codes serve once, for ten minutes, at their own redirect URI (OFF), and for who
// began (PKCE, TP).
func TestStandInCodes(t *testing.T) {
	a := newTeam(t, withApp)
	a.Approve(theo.ID, true)
	verifier := "a verifier of the tests, long enough for RFC 7636"
	sum := sha256.Sum256([]byte(verifier))
	pkce := url.Values{"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "scope": {"users:read"}}
	code := a.consent(t, pkce).Get("code")
	for _, form := range []url.Values{changeCode("none"), changeCode(code), {"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {"https://evil.example"}, "code_verifier": {verifier}}} {
		if status, out := a.tokens(t, demoApp, form); status != http.StatusBadRequest || out["error"] != "invalid_grant" {
			t.Errorf("%v: %d %v", form, status, out)
		}
	}
	form := changeCode(code)
	form.Set("code_verifier", verifier)
	status, out := a.tokens(t, demoApp, form)
	if status != http.StatusOK || out["token_type"] != "Bearer" || out["expires_in"] != 7200.0 || out["created_at"] != float64(a.at.Unix()) ||
		out["owner"] != "https://api.calendly.com/users/"+theo.ID || out["organization"] != calendlytest.Organization || out["scope"] != "users:read" {
		t.Errorf("%d %v", status, out)
	}
	if status, out := a.tokens(t, demoApp, form); status != http.StatusBadRequest || out["error"] != "invalid_grant" {
		t.Errorf("a second time: %d %v", status, out)
	}
	code = a.consent(t, nil).Get("code")
	a.at = a.at.Add(10 * time.Minute)
	if status, out := a.tokens(t, demoApp, changeCode(code)); status != http.StatusBadRequest || out["error"] != "invalid_grant" {
		t.Errorf("after ten minutes: %d %v", status, out)
	}
}

func TestStandInRefusesApps(t *testing.T) {
	a := newTeam(t, withApp)
	a.Approve(theo.ID, false)
	if back := a.consent(t, nil); back.Get("error") != "access_denied" || back.Has("code") {
		t.Errorf("who does not consent is sent back with %v", back)
	}
	for _, other := range []string{"response_type=token", "client_id=another", "redirect_uri=https://evil.example"} {
		q, err := url.ParseQuery("response_type=code&client_id=" + demoApp.ClientID + "&redirect_uri=" + url.QueryEscape(demoApp.RedirectURI))
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(other, "=")
		q.Set(name, value)
		if status, to := browse(t, a.APIBase()+"/oauth/authorize?"+q.Encode()); status != http.StatusBadRequest || to != nil {
			t.Errorf("%s: %d to %v", other, status, to)
		}
	}
	wrong := demoApp
	wrong.ClientSecret = "another"
	if status, out := a.tokens(t, wrong, renew("x")); status != http.StatusUnauthorized || out["error"] != "invalid_client" {
		t.Errorf("%d %v", status, out)
	}
	if status, out := a.tokens(t, demoApp, url.Values{"grant_type": {"password"}}); status != http.StatusBadRequest || out["error"] != "unsupported_grant_type" {
		t.Errorf("%d %v", status, out)
	}
}

// A refresh token serves once; each answer brings a new one (OFF).
func TestStandInRotatesRefreshTokens(t *testing.T) {
	a := newTeam(t, withApp)
	_, first := a.signIn(t)
	status, out := a.tokens(t, demoApp, renew(first))
	second, _ := out["refresh_token"].(string)
	if status != http.StatusOK || second == "" || second == first {
		t.Fatalf("%d %v", status, out)
	}
	if status, out := a.tokens(t, demoApp, renew(first)); status != http.StatusBadRequest || out["error"] != "invalid_grant" {
		t.Errorf("used again: %d %v", status, out)
	}
	if status, _ := a.tokens(t, demoApp, renew(second)); status != http.StatusOK {
		t.Errorf("the new one: %d", status)
	}
}

// Eight token requests a minute for each user (OFF); what is refused uses nothing up.
func TestStandInLimitsTokenRequests(t *testing.T) {
	a := newTeam(t, withApp)
	_, refresh := a.signIn(t)
	for n := range 8 {
		status, out := a.tokens(t, demoApp, renew(refresh))
		if want := n == 7; (status == http.StatusTooManyRequests) != want {
			t.Fatalf("number %d: %d %v", n+2, status, out)
		}
		if next, ok := out["refresh_token"].(string); ok {
			refresh = next
		}
	}
	a.Approve(theo.ID, true)
	a.signIn(t)
	a.at = a.at.Add(time.Minute)
	if status, out := a.tokens(t, demoApp, renew(refresh)); status != http.StatusOK {
		t.Errorf("a minute later: %d %v", status, out)
	}
}

func TestStandInRevokes(t *testing.T) {
	a := newTeam(t, withApp)
	access, refresh := a.signIn(t)
	revoke := func(secret, token string) int {
		form := url.Values{"client_id": {demoApp.ClientID}, "client_secret": {secret}, "token": {token}}
		answer, err := http.PostForm(a.APIBase()+"/oauth/revoke", form)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	if status := revoke("another", access); status != http.StatusForbidden {
		t.Errorf("with another's secret: %d", status)
	}
	if status, _, _ := a.ask(t, "/users/me", access); status != http.StatusOK {
		t.Errorf("before: %d", status)
	}
	for _, token := range []string{access, refresh} {
		if status := revoke(demoApp.ClientSecret, token); status != http.StatusOK {
			t.Errorf("revoked with %d", status)
		}
	}
	if status, body, _ := a.ask(t, "/users/me", access); status != http.StatusUnauthorized || body["message"] != "The access token was revoked" {
		t.Errorf("after: %d %v", status, body)
	}
	if status, out := a.tokens(t, demoApp, renew(refresh)); status != http.StatusBadRequest || out["error"] != "invalid_grant" {
		t.Errorf("the refresh token: %d %v", status, out)
	}
}
