package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// shortcut is what keys do, in the order of the sheet. What they do is in
// calendar.js; the sheet is a page of its own too, so that it can be read before
// anything is pressed, and without a script.
type shortcut struct {
	Keys []string
	Does string // a message's key
}

// shortcutGroup are those that do the same sort of thing.
type shortcutGroup struct {
	Name      string // a message's key
	Shortcuts []shortcut
}

var shortcuts = []shortcutGroup{
	{"keys.group.period", []shortcut{
		{[]string{"T"}, "keys.today"},
		{[]string{"P", "K"}, "keys.previous"},
		{[]string{"N", "J"}, "keys.next"},
	}},
	{"keys.group.view", []shortcut{
		{[]string{"A"}, "keys.agenda"},
		{[]string{"D"}, "keys.day"},
		{[]string{"W"}, "keys.week"},
		{[]string{"M"}, "keys.month"},
		{[]string{"R"}, "keys.resources"},
	}},
	{"keys.group.rest", []shortcut{
		{[]string{"/"}, "keys.search"},
		{[]string{"F"}, "keys.filters"},
		{[]string{"Z"}, "keys.zone"},
		{[]string{"?"}, "keys.help"},
		{[]string{"Esc"}, "keys.close"},
	}},
}

type keysView struct {
	Groups []shortcutGroup
	Off    bool
}

func (s *server) keysPage(c echo.Context) error {
	return s.page(c, http.StatusOK, "keys", page{
		Title: "keys.title", Section: "keys", Data: keysView{Groups: shortcuts, Off: s.viewer(c).user.ShortcutsOff},
	})
}
