package web

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
)

// signingIn is a sign-in at a provider that was begun here. It works once, for a
// short time, and only in the session that began it.
type signingIn struct {
	Form     connectForm
	State    string
	Verifier string
	Until    time.Time
}

// How long somebody may take at the provider, and how long a secret waits to be
// shown.
const (
	signInTime = 10 * time.Minute
	revealTime = 10 * time.Minute
)

const (
	sessionSigningIn = "signing_in"
	sessionReveal    = "reveal"
)

// errSignInSpent is what somebody is told who comes back from a provider with
// what was not begun here, or too late.
var errSignInSpent = &refusal{status: http.StatusBadRequest, code: "provider_signin_spent"}

func (s *server) redirectURL() string { return s.PublicURL.JoinPath("connections", "oauth").String() }

type leavingView struct {
	Provider string
	URL      string
}

// signInAtProvider begins a sign-in at a provider. Browsers do not let a form's
// answer lead to another site under our policy, so a page does.
func (s *server) signInAtProvider(c echo.Context) error {
	ctx := c.Request().Context()
	f, err := s.connectTyped(c, c.FormValue("provider"))
	if err != nil {
		return err
	}
	if !s.Connect.Authorizable(f.Provider) {
		return booking.ErrNotFound
	}
	if f.Provider == acuity && f.Key == "" {
		return s.connectFailed(c, f, &booking.InvalidError{Field: "key", Detail: "is missing"})
	}
	if f.Provider != acuity {
		f.Key = "" // the sign-in takes its place
	}
	if _, err := s.requestOf(c, f); err != nil {
		return s.connectFailed(c, f, err)
	}
	begun := signingIn{Form: f, State: account.NewSecret(), Verifier: account.NewSecret(), Until: s.Now().Add(signInTime)}
	to, err := s.Connect.AuthURL(f.Provider, s.redirectURL(), begun.State, begun.Verifier)
	if err != nil {
		return err
	}
	if err := s.sessions.putSignIn(ctx, begun); err != nil {
		return err
	}
	c.Response().Header().Set("Refresh", "0; url="+to)
	return s.page(c, http.StatusOK, "connectleave", page{Title: "connect.leave.title", Section: "connections", Data: leavingView{f.Provider, to}})
}

// signedInAtProvider is where the provider sends whoever signed in there.
func (s *server) signedInAtProvider(c echo.Context) error {
	ctx := c.Request().Context()
	begun, found := s.sessions.takeSignIn(ctx)
	if !found || !s.Now().Before(begun.Until) || subtle.ConstantTimeCompare([]byte(begun.State), []byte(c.QueryParam("state"))) != 1 {
		return errSignInSpent
	}
	f := begun.Form
	old := ""
	if f.ID != uuid.Nil {
		old = f.ID.String()
	}
	if _, err := s.connectStart(c, f.Provider, old); err != nil { // he may have lost the role meanwhile
		return err
	}
	switch code, refused := c.QueryParam("code"), c.QueryParam("error"); {
	case refused == "access_denied":
		return s.showConnect(c, http.StatusUnprocessableEntity, connectView{connectForm: f, Denied: true})
	case refused != "" || code == "":
		text := cmp.Or(c.QueryParam("error_description"), refused)
		return s.showConnect(c, http.StatusUnprocessableEntity, connectView{
			connectForm: f, Trouble: &trouble{Cause: account.CauseUnknown, Said: text},
		})
	default:
		return s.redeem(c, begun, code)
	}
}

// redeem gets the credentials and connects with them.
func (s *server) redeem(c echo.Context, begun signingIn, code string) error {
	f := begun.Form
	r, err := s.requestOf(c, f)
	if err != nil {
		return s.connectFailed(c, f, err)
	}
	if r.API, r.Secret, err = s.Connect.Redeem(c.Request().Context(), f.Provider, s.redirectURL(), code, begun.Verifier); err != nil {
		return s.connectFailed(c, f, err)
	}
	if f.Provider == acuity {
		r.API.User, r.Secret = f.User, f.Key
	}
	return s.connect(c, f, r)
}

// putSignIn keeps what was begun in the session. It is sealed with a key that
// only the browser has: the database knows the session's token by its hash.
func (s *sessions) putSignIn(ctx context.Context, v signingIn) error {
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	seal, err := s.sealer(ctx)
	if err != nil {
		return err
	}
	nonce := make([]byte, seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails; it ends the process rather
	s.manager.Put(ctx, sessionSigningIn, seal.Seal(nonce, nonce, plain, nil))
	return nil
}

// takeSignIn gives what was begun, once.
func (s *sessions) takeSignIn(ctx context.Context) (v signingIn, found bool) {
	sealed := s.manager.PopBytes(ctx, sessionSigningIn)
	seal, err := s.sealer(ctx)
	if err != nil || len(sealed) < seal.NonceSize() {
		return v, false
	}
	plain, err := seal.Open(nil, sealed[:seal.NonceSize()], sealed[seal.NonceSize():], nil)
	return v, err == nil && json.Unmarshal(plain, &v) == nil
}

func (s *sessions) sealer(ctx context.Context) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(s.manager.Token(ctx)), nil, sessionSigningIn, sha256.Size)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// reveal says what a connection's page may show once more, to whoever made it. The
// secret itself is not in the session.
type reveal struct {
	ID     uuid.UUID
	Secret bool   // was made just now, and has to be entered at the provider
	Unable bool   // the provider let us register no webhook
	Why    string // in its own words
	Until  time.Time
}

// putReveal has the connection's page show it the next time.
func (s *sessions) putReveal(ctx context.Context, r reveal, now time.Time) {
	r.Until = now.Add(revealTime)
	if b, err := json.Marshal(r); err == nil {
		s.manager.Put(ctx, sessionReveal, b)
	}
}

// takeReveal is what may be shown of a connection, once.
func (s *sessions) takeReveal(ctx context.Context, id uuid.UUID, now time.Time) reveal {
	var r reveal
	b := s.manager.GetBytes(ctx, sessionReveal)
	if b == nil || json.Unmarshal(b, &r) != nil || r.ID != id {
		return reveal{}
	}
	s.manager.Remove(ctx, sessionReveal)
	if !now.Before(r.Until) {
		return reveal{}
	}
	return r
}
