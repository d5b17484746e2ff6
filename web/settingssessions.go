package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

type sessionsView struct {
	settingsTabs
	Mine   []sessionRow
	Others []sessionRow // of an administrator's page
	Done   string
}

type sessionRow struct {
	access.Session
	Browser string // what runs it, and on what; "" when it does not say
	This    bool
	User    string
	// UserLink is the page of its user.
	UserLink string
}

// sessionsPage lists one's own sessions, and to who manages accounts everybody's.
func (s *server) sessionsPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	v := sessionsView{settingsTabs: s.settingsTabs(c, "sessions"), Done: oneOfDone(c, "ended", "all")}
	mine, err := s.Accounts.Sessions(ctx, who.user.ID)
	if err != nil {
		return err
	}
	this := s.sessions.id(ctx)
	row := func(session access.Session) sessionRow {
		return sessionRow{Session: session, Browser: browserName(session.Agent, who.language), This: session.ID == this}
	}
	for _, session := range mine {
		v.Mine = append(v.Mine, row(session))
	}
	if v.Manages {
		if v.Others, err = s.othersSessions(c, row); err != nil {
			return err
		}
	}
	return s.page(c, http.StatusOK, "settingssessions", page{Title: "sessions.title", Section: "settings", Data: v})
}

func (s *server) othersSessions(c echo.Context, row func(access.Session) sessionRow) ([]sessionRow, error) {
	ctx, self := c.Request().Context(), s.viewer(c).user.ID
	all, err := s.Accounts.AllSessions(ctx)
	if err != nil {
		return nil, err
	}
	users, err := s.Accounts.Users(ctx)
	if err != nil {
		return nil, err
	}
	names := map[uuid.UUID]string{}
	for _, u := range users {
		names[u.ID] = u.Name
	}
	var out []sessionRow
	for _, session := range all {
		if session.UserID == self {
			continue
		}
		r := row(session)
		r.User, r.UserLink = names[session.UserID], userLink(session.UserID)
		out = append(out, r)
	}
	return out, nil
}

// endSession ends one of one's own sessions, or any for who manages accounts. Of
// another's it does not even say that it is there.
func (s *server) endSession(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	var all []access.Session
	var err error
	if who.may(access.ManageAccounts) {
		all, err = s.Accounts.AllSessions(ctx)
	} else {
		all, err = s.Accounts.Sessions(ctx, who.user.ID)
	}
	if err != nil {
		return err
	}
	id := c.FormValue("session")
	i := slices.IndexFunc(all, func(session access.Session) bool { return session.ID == id })
	if i < 0 {
		return booking.ErrNotFound
	}
	if id == s.sessions.id(ctx) {
		return s.signOut(c)
	}
	if err := s.Accounts.EndSession(ctx, s.by(c), all[i]); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings/sessions?done=ended")
}

// endSessions signs the viewer out everywhere but here.
func (s *server) endSessions(c echo.Context) error {
	if err := s.Accounts.EndSessions(c.Request().Context(), s.by(c), s.viewer(c).user.ID); err != nil {
		return err
	}
	if err := s.beginAgain(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings/sessions?done=all")
}

// Browsers and systems by a word in what a browser calls itself. The first that is
// in it counts: most call themselves several names.
var (
	browserWords = [][2]string{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS", "Firefox"},
		{"CriOS", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
	}
	systemWords = [][2]string{
		{"Windows", "Windows"},
		{"Android", "Android"},
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"CrOS", "ChromeOS"},
		{"Mac OS X", "macOS"},
		{"Linux", "Linux"},
	}
)

// browserName says what a session runs in, as far as it can be told: a person
// recognises "Firefox on Windows", not what browsers send.
func browserName(agent string, l *language) string {
	browser, system := wordIn(agent, browserWords), wordIn(agent, systemWords)
	if browser != "" && system != "" {
		return l.t("sessions.browser", "Browser", browser, "System", system)
	}
	return browser + system
}

func wordIn(text string, words [][2]string) string {
	for _, w := range words {
		if strings.Contains(text, w[0]) {
			return w[1]
		}
	}
	return ""
}
