package web

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

type settingsView struct {
	Username    string
	Role        access.Role
	Language    string
	Languages   []option
	Zones       []zoneGroup
	Zone        string
	ServerZone  string
	HasPassword bool
	MinPassword int
	Saved       string
	Errors      map[string]string
}

func (s *server) settingsPage(c echo.Context) error {
	return s.showSettings(c, http.StatusOK, settingsView{Saved: c.QueryParam("saved")})
}

func (s *server) showSettings(c echo.Context, status int, v settingsView) error {
	who := s.viewer(c)
	v.Username, v.Role, v.HasPassword = who.user.Name, who.user.Role, who.user.PasswordHash != ""
	v.MinPassword, v.ServerZone = access.MinPassword, s.Zone.String()
	if v.Errors == nil {
		v.Language, v.Zone = who.user.Language, who.user.Timezone
	}
	v.Languages = append([]option{{Value: "", Label: who.language.t("settings.language.browser")}}, s.languages.options()...)
	v.Zones = zoneGroups(v.Zone)
	return s.page(c, status, "settings", page{Title: "settings.title", Section: "settings", Data: v})
}

func (s *server) by(c echo.Context) access.By {
	return access.By{Actor: s.viewer(c).user.Principal().Actor(), Remote: c.RealIP()}
}

func (s *server) saveDisplay(c echo.Context) error {
	who := s.viewer(c)
	chosen, zone := c.FormValue("language"), c.FormValue("zone")
	err := s.languages.check(chosen)
	if err == nil {
		err = s.Accounts.SetDisplay(c.Request().Context(), s.by(c), who.user.ID, chosen, zone)
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showSettings(c, http.StatusUnprocessableEntity, settingsView{
			Language: chosen, Zone: zone, Errors: who.language.fieldErrors(invalid),
		})
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings?saved=display")
}

// savePassword asks for the current password first: an unlocked screen is not
// enough to take an account over. All other sessions of the user end with the
// old password.
func (s *server) savePassword(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	if who.user.PasswordHash != "" {
		_, err := s.Accounts.SignIn(ctx, who.user.Name, c.FormValue("current"), c.RealIP())
		var throttled *access.ThrottledError
		switch {
		case errors.As(err, &throttled):
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(throttled.Seconds()))
			return s.passwordRefused(c, http.StatusTooManyRequests, "current", who.language.n("signin.throttled", throttled.Seconds()))
		case errors.Is(err, access.ErrBadCredentials):
			return s.passwordRefused(c, http.StatusUnprocessableEntity, "current", who.language.t("settings.password.wrong"))
		case err != nil:
			return err
		}
	}
	err := s.Accounts.SetPassword(ctx, s.by(c), who.user.Name, c.FormValue("password"))
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.passwordRefused(c, http.StatusUnprocessableEntity, "password", who.language.fieldErrors(invalid)["password"])
	}
	if err != nil {
		return err
	}
	u, err := s.Accounts.User(ctx, who.user.ID)
	if err != nil {
		return err
	}
	if err := s.sessions.begin(ctx, u); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings?saved=password")
}

func (s *server) passwordRefused(c echo.Context, status int, field, text string) error {
	who := s.viewer(c)
	return s.showSettings(c, status, settingsView{
		Language: who.user.Language, Zone: who.user.Timezone, Errors: map[string]string{field: text},
	})
}
