package web

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

func (s *server) home(c echo.Context) error {
	if s.viewer(c).user == nil {
		return c.Redirect(http.StatusSeeOther, "/signin")
	}
	return c.Redirect(http.StatusSeeOther, "/calendar")
}

type signInForm struct {
	Username string
	Next     string
	Error    string
}

func (s *server) signInPage(c echo.Context) error {
	if s.viewer(c).user != nil {
		return c.Redirect(http.StatusSeeOther, localPath(c.QueryParam("next")))
	}
	return s.page(c, http.StatusOK, "signin", page{Title: "signin.title", Data: signInForm{Next: c.QueryParam("next")}})
}

func (s *server) signIn(c echo.Context) error {
	ctx := c.Request().Context()
	form := signInForm{Username: c.FormValue("username"), Next: c.FormValue("next")}
	u, err := s.Accounts.SignIn(ctx, form.Username, c.FormValue("password"), c.RealIP())
	var throttled *access.ThrottledError
	status := http.StatusUnprocessableEntity
	switch {
	case errors.As(err, &throttled):
		status = http.StatusTooManyRequests
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(throttled.Seconds()))
		form.Error = s.viewer(c).language.t("signin.throttled", "Wait", s.viewer(c).language.wait(throttled.RetryAfter))
	case errors.Is(err, access.ErrBadCredentials):
		form.Error = s.viewer(c).language.t("signin.wrong")
	case err != nil:
		return err
	default:
		if err := s.sessions.begin(ctx, u, c.Request(), c.RealIP()); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, localPath(form.Next))
	}
	return s.page(c, status, "signin", page{Title: "signin.title", Data: form})
}

func (s *server) signOut(c echo.Context) error {
	if err := s.sessions.end(c.Request().Context()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/signin")
}

// LinkPath is where a one-time link is used, below the public URL.
func LinkPath(secret string) string { return "/link/" + secret }

type linkForm struct {
	Purpose access.Purpose
	// Name is whom the link signs in, and Now who is signed in already: "" for nobody
	// else.
	Name, Now string

	Path     string
	Username string
	Errors   map[string]string
}

// linkPage only shows what the link is for: mail scanners and browsers follow
// links in advance, and must not use it up.
func (s *server) linkPage(c echo.Context) error {
	purpose, whose, err := s.Accounts.Link(c.Request().Context(), c.Param("secret"))
	if err != nil {
		return err
	}
	form := linkForm{Purpose: purpose, Name: whose.Name, Username: access.AdminName}
	if u := s.viewer(c).user; u != nil && u.ID != whose.ID {
		form.Now = u.Name
	}
	return s.linkForm(c, http.StatusOK, form)
}

func (s *server) linkForm(c echo.Context, status int, form linkForm) error {
	form.Path = LinkPath(c.Param("secret"))
	title := "link.signin.title"
	if form.Purpose == access.LinkAdministrator {
		title = "link.administrator.title"
	}
	return s.page(c, status, "link", page{Title: title, Data: form})
}

func (s *server) useLink(c echo.Context) error {
	ctx, secret := c.Request().Context(), c.Param("secret")
	purpose, _, err := s.Accounts.Link(ctx, secret)
	if err != nil {
		return err
	}
	var u access.User
	if purpose == access.LinkAdministrator {
		u, err = s.Accounts.FirstAdministrator(ctx, secret, c.FormValue("username"), c.FormValue("password"), c.RealIP())
	} else {
		u, err = s.Accounts.SignInByLink(ctx, secret, c.RealIP())
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.linkForm(c, http.StatusUnprocessableEntity, linkForm{
			Purpose: purpose, Username: c.FormValue("username"), Errors: s.viewer(c).language.fieldErrors(invalid),
		})
	}
	if err != nil {
		return err
	}
	if err := s.sessions.begin(ctx, u, c.Request(), c.RealIP()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/calendar")
}
