package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// settingsRoutes are the pages of a person's own profile, and those of users,
// tokens and sessions.
func (s *server) settingsRoutes(e *echo.Echo, signedIn []echo.MiddlewareFunc) {
	e.GET("/settings", s.settingsPage, signedIn...)
	e.POST("/settings/display", s.saveDisplay, signedIn...)
	e.POST("/settings/password", s.savePassword, signedIn...)
	e.GET("/settings/sessions", s.sessionsPage, signedIn...)
	e.POST("/settings/sessions/end", s.endSession, signedIn...)
	e.POST("/settings/sessions/end-all", s.endSessions, signedIn...)
	e.GET("/settings/feeds", s.feedsPage, signedIn...)
	e.POST("/settings/feeds", s.addFeed, signedIn...)
	e.POST("/settings/feeds/:id/revoke", s.revokeFeed, signedIn...)
	e.GET("/settings/users", s.usersPage, signedIn...)
	e.POST("/settings/users", s.addUser, signedIn...)
	e.GET("/settings/users/:id", s.userPage, signedIn...)
	e.POST("/settings/users/:id/role", s.setRole, signedIn...)
	e.POST("/settings/users/:id/limit", s.limitUser, signedIn...)
	e.POST("/settings/users/:id/disable", s.disableUser, signedIn...)
	e.POST("/settings/users/:id/enable", s.enableUser, signedIn...)
	e.POST("/settings/users/:id/link", s.linkUser, signedIn...)
	e.POST("/settings/users/:id/signout", s.signUserOut, signedIn...)
	e.POST("/settings/privacy", s.savePrivacy, signedIn...)
	e.GET(alertSettings, s.alertSettingsPage, signedIn...)
	e.POST(alertSettings, s.addRecipient, signedIn...)
	e.POST(alertSettings+"/:id/remove", s.removeRecipient, signedIn...)
	e.POST(alertSettings+"/:id/try", s.tryRecipient, signedIn...)
	e.GET(erasePath, s.erasePage, signedIn...)
	e.POST(erasePath, s.previewErase, signedIn...)
	e.POST(erasePath+"/confirm", s.runErase, signedIn...)
	s.endpointRoutes(e, signedIn)
	e.GET("/settings/tokens", s.tokensPage, signedIn...)
	e.POST("/settings/tokens", s.createToken, signedIn...)
	e.POST("/settings/tokens/:id/revoke", s.revokeToken, signedIn...)
}

// settingsTabs is the navigation that the settings' pages share.
type settingsTabs struct {
	Tab     string
	Manages bool // users and tokens
	Erases  bool // people
}

func (s *server) settingsTabs(c echo.Context, tab string) settingsTabs {
	who := s.viewer(c)
	return settingsTabs{Tab: tab, Manages: who.may(access.ManageAccounts), Erases: who.may(access.ErasePeople)}
}

// tickedResources are those of a form's boxes, each once.
func tickedResources(boxes []string) ([]uuid.UUID, error) {
	var out []uuid.UUID
	for _, text := range boxes {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, &booking.InvalidError{Field: "resource"}
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

type settingsView struct {
	settingsTabs
	Username string
	Role     access.Role
	Display  access.Display
	// What can be chosen.
	Languages   []option
	Zones       []zoneGroup
	ServerZone  string
	Weekdays    []option
	Weekday     string
	Appearances []access.Appearance

	HasPassword bool
	MinPassword int
	Saved       string
	Errors      map[string]string
}

func (s *server) settingsPage(c echo.Context) error {
	return s.showSettings(c, http.StatusOK, settingsView{Display: s.viewer(c).user.Display, Saved: c.QueryParam("saved")})
}

func (s *server) showSettings(c echo.Context, status int, v settingsView) error {
	who := s.viewer(c)
	v.settingsTabs = s.settingsTabs(c, "profile")
	v.Username, v.Role, v.HasPassword = who.user.Name, who.user.Role, who.user.PasswordHash != ""
	v.MinPassword, v.ServerZone = access.MinPassword, s.Zone.String()
	v.Languages = append([]option{{Value: "", Label: who.language.t("settings.language.browser")}}, s.languages.options()...)
	v.Zones = zoneGroups(v.Display.Timezone)
	for _, day := range access.FirstWeekdays() {
		v.Weekdays = append(v.Weekdays, option{Value: strconv.Itoa(int(day)), Label: who.language.dates.weekdays[day]})
	}
	v.Weekday, v.Appearances = strconv.Itoa(int(v.Display.FirstWeekday)), access.Appearances()
	return s.page(c, status, "settings", page{Title: "settings.title", Section: "settings", Data: v})
}

func (s *server) by(c echo.Context) access.By {
	return access.By{Actor: s.viewer(c).user.Principal().Actor(), Remote: c.RealIP()}
}

func (s *server) saveDisplay(c echo.Context) error {
	who := s.viewer(c)
	day, err := strconv.Atoi(c.FormValue("first_weekday"))
	if err != nil {
		day = int(who.user.FirstWeekday) // who does not say leaves it
	}
	d := access.Display{
		Language: c.FormValue("language"), Timezone: c.FormValue("zone"), FirstWeekday: time.Weekday(day),
		// A box that is not ticked is not sent.
		ShortcutsOff: c.FormValue("shortcuts") == "", Sound: c.FormValue("sound") != "",
		Appearance: access.Appearance(c.FormValue("appearance")),
	}
	err = s.languages.check(d.Language)
	if err == nil {
		err = s.Accounts.SetDisplay(c.Request().Context(), s.by(c), who.user.ID, d)
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showSettings(c, http.StatusUnprocessableEntity, settingsView{Display: d, Errors: who.language.fieldErrors(invalid)})
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
			return s.passwordRefused(c, http.StatusTooManyRequests, "current", who.language.t("signin.throttled", "Wait", who.language.wait(throttled.RetryAfter)))
		case errors.Is(err, access.ErrBadCredentials):
			text := who.language.t("settings.password.wrong")
			if !who.may(access.ManageAccounts) {
				text += " " + who.language.t("settings.password.ask")
			}
			return s.passwordRefused(c, http.StatusUnprocessableEntity, "current", text)
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
	if err := s.beginAgain(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings?saved=password")
}

// beginAgain keeps this browser signed in where all sessions of its user ended.
func (s *server) beginAgain(c echo.Context) error {
	ctx := c.Request().Context()
	u, err := s.Accounts.User(ctx, s.viewer(c).user.ID)
	if err != nil {
		return err
	}
	return s.sessions.begin(ctx, u, c.Request(), c.RealIP())
}

func (s *server) passwordRefused(c echo.Context, status int, field, text string) error {
	return s.showSettings(c, status, settingsView{Display: s.viewer(c).user.Display, Errors: map[string]string{field: text}})
}

// hideable are the roles that something can be hidden from, with what is.
func (s *server) hideable(hidden map[access.Role]access.Hidden) []access.RolePrivacy {
	var out []access.RolePrivacy
	for _, r := range access.HideableRoles() {
		out = append(out, access.RolePrivacy{Role: r, Hidden: hidden[r]})
	}
	return out
}

// savePrivacy takes the boxes of all roles at once.
func (s *server) savePrivacy(c echo.Context) error {
	// Without any box a form is empty, as is a request that is no form of ours.
	if c.FormValue("form") != "privacy" {
		return &booking.InvalidError{Field: "form", Detail: "is not that of the settings' page"}
	}
	ctx := c.Request().Context()
	now, err := s.Accounts.Privacy(ctx)
	if err != nil {
		return err
	}
	for _, r := range access.HideableRoles() {
		wanted := access.Hidden{Names: c.FormValue(string(r)+"_names") != "", Phones: c.FormValue(string(r)+"_phones") != ""}
		if wanted == now[r] {
			continue
		}
		if err := s.Accounts.SetPrivacy(ctx, s.by(c), access.RolePrivacy{Role: r, Hidden: wanted}); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, "/settings/users?done=privacy")
}

// oneOfDone takes what was done just now from the query, if it is something that
// the page tells of.
func oneOfDone(c echo.Context, known ...string) string {
	if done := c.QueryParam("done"); slices.Contains(known, done) {
		return done
	}
	return ""
}
