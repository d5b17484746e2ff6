package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

type tokensView struct {
	settingsTabs
	Tokens []tokenRow
	Scopes []access.Scope
	Done   string
	// Secret is a token that was just made: it is shown now and never again.
	Secret string

	// What was typed, of a form that was refused.
	Name   string
	Scope  access.Scope
	Errors map[string]string
}

type tokenRow struct {
	access.Token
	Maker string // who made it; "" when nobody knows any more
}

func (s *server) tokensPage(c echo.Context) error {
	return s.showTokens(c, http.StatusOK, tokensView{Done: oneOfDone(c, "revoked"), Scope: access.Read})
}

func (s *server) showTokens(c echo.Context, status int, v tokensView) error {
	ctx, l := c.Request().Context(), s.viewer(c).language
	all, err := s.Accounts.Tokens(ctx)
	if err != nil {
		return err
	}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		row := tokenRow{Token: t, Maker: actors[t.CreatedBy]}
		if row.Maker == "" && t.CreatedBy != "" {
			row.Maker = l.actor(t.CreatedBy)
		}
		v.Tokens = append(v.Tokens, row)
	}
	v.settingsTabs, v.Scopes = s.settingsTabs(c, "tokens"), access.Scopes()
	return s.page(c, status, "settingstokens", page{Title: "tokens.title", Section: "settings", Data: v})
}

// createToken shows the token with its answer: nobody can read it anywhere later.
func (s *server) createToken(c echo.Context) error {
	v := tokensView{Name: c.FormValue("name"), Scope: access.Scope(c.FormValue("scope"))}
	secret, t, err := s.Accounts.CreateToken(c.Request().Context(), s.by(c), v.Name, v.Scope)
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		if invalid.Field == "name" {
			invalid = &booking.InvalidError{Field: "token_name"}
		}
		v.Errors = s.viewer(c).language.fieldErrors(invalid)
		return s.showTokens(c, http.StatusUnprocessableEntity, v)
	}
	if err != nil {
		return err
	}
	return s.showTokens(c, http.StatusCreated, tokensView{Secret: secret, Name: t.Name, Scope: access.Read})
}

// revokeToken ends a token; one that is revoked already stays so.
func (s *server) revokeToken(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	if err := s.Accounts.RevokeToken(c.Request().Context(), s.by(c), id); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings/tokens?done=revoked")
}
