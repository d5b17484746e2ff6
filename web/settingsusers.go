package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

type usersView struct {
	settingsTabs
	Users   []userRow
	Privacy []access.RolePrivacy
	Roles   []access.Role
	Done    string

	// What was typed, of a form that was refused.
	Name   string
	Role   access.Role
	With   string // link or password
	Errors map[string]string

	MinPassword int
}

type userRow struct {
	access.User
	Self bool
	// Only names the resources that a limited viewer sees.
	Only []string
}

func (s *server) usersPage(c echo.Context) error {
	v := usersView{Done: oneOfDone(c, "privacy"), Role: access.Viewer, With: "link"}
	return s.showUsers(c, http.StatusOK, v)
}

func (s *server) showUsers(c echo.Context, status int, v usersView) error {
	ctx := c.Request().Context()
	all, err := s.Accounts.Users(ctx)
	if err != nil {
		return err
	}
	hidden, err := s.Accounts.Privacy(ctx)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	self := s.viewer(c).user.ID
	for _, u := range all {
		v.Users = append(v.Users, newUserRow(u, self, names.resource))
	}
	v.settingsTabs = s.settingsTabs(c, "users")
	v.Privacy, v.Roles, v.MinPassword = s.hideable(hidden), access.Roles(), access.MinPassword
	return s.page(c, status, "settingsusers", page{Title: "users.title", Section: "settings", Data: v})
}

func newUserRow(u access.User, self uuid.UUID, names map[uuid.UUID]string) userRow {
	row := userRow{User: u, Self: u.ID == self}
	row.Limited = u.Scope().Limited
	for _, id := range u.Resources {
		row.Only = append(row.Only, cmp.Or(names[id], id.String()))
	}
	slices.Sort(row.Only)
	return row
}

// addUser adds somebody, with a one-time link to sign in by or with a password. The
// link is shown on the page that answers, and never again.
func (s *server) addUser(c echo.Context) error {
	ctx, l := c.Request().Context(), s.viewer(c).language
	v := usersView{Name: c.FormValue("name"), Role: access.Role(c.FormValue("role")), With: c.FormValue("with")}
	password := ""
	var err error
	if v.With == "password" {
		if password = c.FormValue("password"); password == "" {
			err = &booking.InvalidError{Field: "password"}
		}
	}
	var u access.User
	if err == nil {
		u, err = s.Accounts.AddUser(ctx, s.by(c), v.Name, v.Role, password)
	}
	var invalid *booking.InvalidError
	var taken *booking.ConflictError
	switch {
	case errors.As(err, &invalid):
		v.Errors = l.fieldErrors(invalid)
		return s.showUsers(c, http.StatusUnprocessableEntity, v)
	case errors.As(err, &taken):
		v.Errors = map[string]string{"username": l.t("users.taken")}
		return s.showUsers(c, http.StatusConflict, v)
	case err != nil:
		return err
	}
	if v.With == "password" {
		return c.Redirect(http.StatusSeeOther, userLink(u.ID)+"?done=added")
	}
	return s.showLink(c, u.ID, http.StatusCreated)
}

func userLink(id uuid.UUID) string { return "/settings/users/" + id.String() }

type userView struct {
	settingsTabs
	userRow
	Roles     []access.Role
	Resources []choiceBox
	Sessions  int
	// OnlyAdministrator says that nobody else is one who may sign in: this one must stay it.
	OnlyAdministrator bool
	Done              string
	// Link signs in once: it is shown now and never again.
	Link   string
	Hours  int
	Errors map[string]string
}

// choiceBox is a box to tick.
type choiceBox struct {
	option
	Chosen bool
}

// What a user's page tells of.
var userChanges = []string{"added", "role", "limit", "disabled", "enabled", "signout"}

func (s *server) userPage(c echo.Context) error {
	u, err := s.userOf(c)
	if err != nil {
		return err
	}
	return s.showUser(c, http.StatusOK, u, userView{Done: oneOfDone(c, userChanges...)})
}

// userOf is the user that the path names, a disabled one too.
func (s *server) userOf(c echo.Context) (access.User, error) {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return access.User{}, err
	}
	all, err := s.Accounts.Users(c.Request().Context())
	if err != nil {
		return access.User{}, err
	}
	i := slices.IndexFunc(all, func(u access.User) bool { return u.ID == id })
	if i < 0 {
		return access.User{}, booking.ErrNotFound
	}
	return all[i], nil
}

func (s *server) showUser(c echo.Context, status int, u access.User, v userView) error {
	ctx := c.Request().Context()
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	all, err := s.Accounts.Users(ctx)
	if err != nil {
		return err
	}
	v.OnlyAdministrator = u.Role == access.Administrator && !slices.ContainsFunc(all, func(o access.User) bool {
		return o.ID != u.ID && o.Role == access.Administrator && o.DisabledAt == nil
	})
	open, err := s.Accounts.Sessions(ctx, u.ID)
	if err != nil {
		return err
	}
	v.settingsTabs, v.Roles, v.Sessions = s.settingsTabs(c, "users"), access.Roles(), len(open)
	v.userRow = newUserRow(u, s.viewer(c).user.ID, names.resource)
	v.Resources = names.resourceBoxes(u.Resources)
	return s.page(c, status, "settingsuser", page{Title: "user.title", Section: "settings", Data: v})
}

// changeUser does something to the user of the path and says so on their page.
func (s *server) changeUser(c echo.Context, done string, change func(access.User) error) error {
	u, err := s.userOf(c)
	if err != nil {
		return err
	}
	l := s.viewer(c).language
	err = change(u)
	var invalid *booking.InvalidError
	var refused *booking.ConflictError
	switch {
	case errors.As(err, &invalid):
		return s.showUser(c, http.StatusUnprocessableEntity, u, userView{Errors: l.fieldErrors(invalid)})
	case errors.As(err, &refused):
		return s.showUser(c, http.StatusConflict, u, userView{Errors: map[string]string{"": l.t("user.refused." + done)}})
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, userLink(u.ID)+"?done="+done)
}

func (s *server) setRole(c echo.Context) error {
	return s.changeUser(c, "role", func(u access.User) error {
		return s.Accounts.SetRole(c.Request().Context(), s.by(c), u.Name, access.Role(c.FormValue("role")))
	})
}

func (s *server) limitUser(c echo.Context) error {
	return s.changeUser(c, "limit", func(u access.User) error {
		form, err := c.FormParams()
		if err != nil {
			return err
		}
		var limit access.Limit
		switch sees := form.Get("sees"); {
		case sees == "chosen":
			limit.Limited = true
		case sees != "all", len(form["resource"]) > 0:
			// Whoever ticked a resource and left "all" would be shown to see less than
			// he does.
			return &booking.InvalidError{Field: "sees", Detail: "is not said, or says all beside some"}
		}
		for _, text := range form["resource"] {
			id, err := uuid.Parse(text)
			if err != nil {
				return &booking.InvalidError{Field: "resources"}
			}
			if !slices.Contains(limit.Resources, id) {
				limit.Resources = append(limit.Resources, id)
			}
		}
		if limit.Limited && len(limit.Resources) == 0 {
			return &booking.InvalidError{Field: "resources"}
		}
		return s.Accounts.LimitUser(c.Request().Context(), s.by(c), u.Name, limit)
	})
}

func (s *server) disableUser(c echo.Context) error {
	return s.changeUser(c, "disabled", func(u access.User) error {
		return s.Accounts.DisableUser(c.Request().Context(), s.by(c), u.Name)
	})
}

func (s *server) enableUser(c echo.Context) error {
	return s.changeUser(c, "enabled", func(u access.User) error {
		return s.Accounts.EnableUser(c.Request().Context(), s.by(c), u.Name)
	})
}

// signUserOut ends all sessions of a user; whoever does it to themselves stays in.
func (s *server) signUserOut(c echo.Context) error {
	return s.changeUser(c, "signout", func(u access.User) error {
		if err := s.Accounts.EndSessions(c.Request().Context(), s.by(c), u.ID); err != nil {
			return err
		}
		if u.ID != s.viewer(c).user.ID {
			return nil
		}
		return s.beginAgain(c)
	})
}

func (s *server) linkUser(c echo.Context) error {
	u, err := s.userOf(c)
	if err != nil {
		return err
	}
	return s.showLink(c, u.ID, http.StatusOK)
}

// showLink makes a one-time link and shows it with the answer: an address would
// keep it in the browser's history.
func (s *server) showLink(c echo.Context, id uuid.UUID, status int) error {
	ctx := c.Request().Context()
	u, err := s.Accounts.User(ctx, id)
	if err != nil {
		return err
	}
	secret, err := s.Accounts.SignInLink(ctx, s.by(c), id)
	if err != nil {
		return err
	}
	return s.showUser(c, status, u, userView{
		Link: s.PublicURL.JoinPath(LinkPath(secret)).String(), Hours: int(access.SignInLinkLife.Hours()),
	})
}
