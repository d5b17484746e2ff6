package web

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

type feedsView struct {
	settingsTabs
	Feeds []feedRow
	Done  string
	// Address is that of a feed that was just made: it is shown now and never again.
	Address string
	// Hidden says that names or numbers are hidden from the viewer, and so from the
	// feeds.
	Hidden bool

	// What can be chosen.
	Levels    []booking.FeedLevel
	Resources []choiceBox
	Providers []option
	Statuses  []choiceBox

	// What was typed, of a form that was refused.
	Name     string
	Level    booking.FeedLevel
	Provider string
	Errors   map[string]string
}

type feedRow struct {
	access.Feed
	// What it is narrowed to, in words; none is all.
	What []string
	// Whose it is, on an administrator's page; "" of the installation's.
	Whose string
}

func (s *server) feedsPage(c echo.Context) error {
	return s.showFeeds(c, http.StatusOK, feedsView{Done: oneOfDone(c, "revoked"), Level: booking.FeedBusy}, booking.FeedFilter{})
}

// showFeeds lists one's own feeds, and to who manages accounts everybody's: what
// shows bookings outside must be found and ended by them.
func (s *server) showFeeds(c echo.Context, status int, v feedsView, chosen booking.FeedFilter) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	v.settingsTabs = s.settingsTabs(c, "feeds")
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	all, err := s.feedsOf(c)
	if err != nil {
		return err
	}
	var actors map[booking.Actor]string
	if v.Manages {
		if actors, err = s.Records.Actors(ctx); err != nil {
			return err
		}
	}
	for _, f := range all {
		row := feedRow{Feed: f, What: feedParts(f.Filter, names.resource, who.language)}
		if f.Owner != nil {
			row.Whose = actors[booking.Actor("user:"+f.Owner.String())]
		}
		v.Feeds = append(v.Feeds, row)
	}
	v.Hidden, v.Levels, v.Provider = who.user.Scope().Hides(), booking.FeedLevels(), chosen.Provider
	v.Resources = names.resourceBoxes(chosen.Resources)
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		v.Providers = append(v.Providers, option{Value: name, Label: who.language.named("provider", name)})
	}
	for _, st := range booking.FeedStatuses() {
		v.Statuses = append(v.Statuses, choiceBox{option{Value: string(st), Label: who.language.named("status", string(st))}, slices.Contains(chosen.Statuses, st)})
	}
	return s.page(c, status, "settingsfeeds", page{Title: "feeds.title", Section: "settings", Data: v})
}

func (s *server) feedsOf(c echo.Context) ([]access.Feed, error) {
	ctx, who := c.Request().Context(), s.viewer(c)
	if who.may(access.ManageAccounts) {
		return s.Feeds.All(ctx)
	}
	return s.Feeds.Of(ctx, who.user.ID)
}

// feedParts says what a feed is narrowed to. A resource that is not seen any more has
// no name to its viewer.
func feedParts(f booking.FeedFilter, names map[uuid.UUID]string, l *language) []string {
	var out []string
	for _, id := range f.Resources {
		out = append(out, cmp.Or(names[id], l.t("feeds.resource.unseen")))
	}
	slices.Sort(out)
	if f.Provider != "" {
		out = append(out, l.named("provider", f.Provider))
	}
	for _, st := range f.Statuses {
		out = append(out, l.named("status", string(st)))
	}
	return out
}

// addFeed shows the feed's address with its answer: nobody can read it anywhere later.
func (s *server) addFeed(c echo.Context) error {
	who := s.viewer(c)
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	wanted := access.NewFeed{
		Name: form.Get("name"), Level: booking.FeedLevel(form.Get("level")), Filter: booking.FeedFilter{Provider: form.Get("provider")},
	}
	for _, st := range form["status"] {
		wanted.Filter.Statuses = append(wanted.Filter.Statuses, booking.Status(st))
	}
	wanted.Filter.Resources, err = tickedResources(form["resource"])
	if _, known := s.Providers[wanted.Filter.Provider]; wanted.Filter.Provider != "" && !known {
		err = &booking.InvalidError{Field: "provider"}
	}
	var secret string
	var feed access.Feed
	if err == nil {
		secret, feed, err = s.Feeds.Add(c.Request().Context(), s.by(c), who.user, wanted)
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		if invalid.Field == "name" {
			invalid = &booking.InvalidError{Field: "feed_name"}
		}
		v := feedsView{Name: wanted.Name, Level: wanted.Level, Errors: who.language.fieldErrors(invalid)}
		return s.showFeeds(c, http.StatusUnprocessableEntity, v, wanted.Filter)
	}
	if err != nil {
		return err
	}
	v := feedsView{Address: s.PublicURL.JoinPath(FeedPath(secret)).String(), Name: feed.Name, Level: booking.FeedBusy}
	return s.showFeeds(c, http.StatusCreated, v, booking.FeedFilter{})
}

// revokeFeed ends one of one's own feeds, or any for who manages accounts. Of
// another's it does not even say that it is there.
func (s *server) revokeFeed(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	all, err := s.feedsOf(c)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(f access.Feed) bool { return f.ID == id }) {
		return booking.ErrNotFound
	}
	if err := s.Feeds.Revoke(c.Request().Context(), s.by(c), id); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/settings/feeds?done=revoked")
}
