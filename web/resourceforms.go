package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
)

func (s *server) renameResource(c echo.Context) error {
	name := c.FormValue("name")
	return s.changeResource(c, "renamed", func(v *resourceView) (int, error) {
		v.NewName = name
		return 0, s.Resources.RenameResource(c.Request().Context(), s.by(c), v.ID, name, s.Now())
	})
}

func (s *server) setResourceZone(c echo.Context) error {
	zone := c.FormValue("zone")
	return s.changeResource(c, "zone", func(v *resourceView) (int, error) {
		v.Zone = zone
		return 0, s.Resources.SetZone(c.Request().Context(), s.by(c), v.ID, zone, s.Now())
	})
}

// splitResource moves an identity to another resource, or to one of its own.
func (s *server) splitResource(c echo.Context) error {
	return s.changeResource(c, "split", func(v *resourceView) (int, error) {
		n, err := strconv.Atoi(c.FormValue("identity"))
		if err != nil || n < 0 || n >= len(v.Identities) || v.Identities[n].ExternalID != c.FormValue("name-"+strconv.Itoa(n)) {
			// Somebody changed them since the page was made.
			return 0, &booking.InvalidError{Field: "identity", Detail: "is not of this resource any more"}
		}
		identity := v.Identities[n]
		v.Split, v.To = n, c.FormValue("to")
		names, err := s.hostNames(c.Request().Context())
		if err != nil {
			return 0, err
		}
		to := booking.Resource{ID: newID(), Name: names.of(identity.Source, identity.ExternalID, s.viewer(c).language)}
		if v.To != "" {
			if to.ID, err = uuid.Parse(v.To); err != nil {
				return 0, &booking.InvalidError{Field: "resource", Detail: "is none"}
			}
			if _, err := s.resourceByID(c.Request().Context(), to.ID); errors.Is(err, booking.ErrNotFound) {
				return 0, &booking.InvalidError{Field: "resource", Detail: "is none any more"}
			} else if err != nil {
				return 0, err
			}
		}
		key := booking.IdentityKey{Source: identity.Source, ExternalID: identity.ExternalID}
		impact, err := s.Resources.SplitIdentity(c.Request().Context(), s.by(c), key, to, s.Now())
		if err == nil {
			v.ID = to.ID
		}
		return len(impact.Open(s.Now())), err
	})
}

// changeResource runs a change of the resource that the path names. A change that
// is refused shows its form again, with why.
func (s *server) changeResource(c echo.Context, done string, change func(*resourceView) (made int, err error)) error {
	r, err := s.resourceOf(c)
	if err != nil {
		return err
	}
	v := resourceView{ResourceView: r, NewName: r.Name, Zone: r.Timezone}
	made, err := change(&v)
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		v.Errors = s.viewer(c).language.fieldErrors(invalid)
		return s.showResource(c, http.StatusUnprocessableEntity, v)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, doneLink(v.ID, done, made))
}

func doneLink(id uuid.UUID, done string, made int) string {
	q := url.Values{"done": {done}}
	if made > 0 {
		q.Set("made", strconv.Itoa(made))
	}
	return resourceLink(id) + "?" + q.Encode()
}

// maxAffected is how many bookings a preview lists of each kind.
const maxAffected = 100

type mergeView struct {
	From  booking.ResourceView
	Moves []identityView
	Into  booking.ResourceView
	// What they are called: of two of one name, which is which.
	FromCalled, IntoCalled string

	Impact  booking.Impact
	Open    affectedList // conflicts that are not over
	Over    int          // those that are
	Freed   affectedList
	Mark    string
	Changed bool // since it was shown
}

// affectedList is what is shown of many.
type affectedList struct {
	Shown    []booking.Affected
	Count    int
	Unlisted int
}

func newAffectedList(all []booking.Affected) affectedList {
	n := min(len(all), maxAffected)
	return affectedList{Shown: all[:n], Count: len(all), Unlisted: len(all) - n}
}

// mergePage says what merging would do, and lets that be agreed to.
func (s *server) mergePage(c echo.Context) error {
	return s.showMerge(c, http.StatusOK, c.QueryParam("into"), false)
}

func (s *server) showMerge(c echo.Context, status int, into string, changed bool) error {
	ctx := c.Request().Context()
	from, err := s.resourceOf(c)
	if err != nil {
		return err
	}
	refuse := func(why *booking.InvalidError) error {
		return s.showResource(c, http.StatusUnprocessableEntity, resourceView{
			ResourceView: from, NewName: from.Name, Zone: from.Timezone, Into: into, Errors: s.viewer(c).language.fieldErrors(why),
		})
	}
	id, err := uuid.Parse(into)
	if err != nil {
		return refuse(&booking.InvalidError{Field: "into", Detail: "is no resource"})
	}
	hosts, err := s.hostNames(ctx)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	v := mergeView{
		From: from, Moves: hosts.identities(from.Identities, s.viewer(c).language), Changed: changed,
		FromCalled: names.resource[from.ID], IntoCalled: names.resource[id],
	}
	if v.Into, err = s.resourceByID(ctx, id); errors.Is(err, booking.ErrNotFound) {
		return refuse(&booking.InvalidError{Field: "into", Detail: "is no resource any more"})
	} else if err != nil {
		return err
	}
	v.Impact, err = s.Resources.PreviewMerge(ctx, from.ID, id, s.Now())
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return refuse(invalid)
	}
	if err != nil {
		return err
	}
	open := v.Impact.Open(s.Now())
	v.Open, v.Over = newAffectedList(open), len(v.Impact.Conflicts)-len(open)
	v.Freed, v.Mark = newAffectedList(v.Impact.Released), v.Impact.Mark()
	return s.page(c, status, "merge", page{Title: "merge.title", Section: "resources", Data: v})
}

// mergeResource does what the preview said. What would be another by now is shown
// anew.
func (s *server) mergeResource(c echo.Context) error {
	from, err := s.resourceOf(c)
	if err != nil {
		return err
	}
	// Without the mark of what was seen nothing was agreed to.
	into, err := uuid.Parse(c.FormValue("into"))
	if err != nil || c.FormValue("agreed") == "" {
		return s.showMerge(c, http.StatusUnprocessableEntity, c.FormValue("into"), false)
	}
	impact, err := s.Resources.MergeResources(c.Request().Context(), s.by(c), from.ID, into, c.FormValue("agreed"), s.Now())
	var invalid *booking.InvalidError
	switch {
	case errors.Is(err, booking.ErrImpactChanged):
		return s.showMerge(c, http.StatusConflict, into.String(), true)
	case errors.As(err, &invalid):
		return s.showMerge(c, http.StatusUnprocessableEntity, into.String(), false)
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, doneLink(into, "merged", len(impact.Open(s.Now()))))
}

// mapIdentity maps an identity that has no resource.
func (s *server) mapIdentity(c echo.Context) error {
	u, err := s.unmappedOf(c)
	if err != nil {
		return err
	}
	v := unmappedView{UnmappedView: u, Resource: c.FormValue("resource"), Name: c.FormValue("name")}
	to := booking.Resource{ID: newID(), Name: v.Name, NameGiven: true}
	if v.Resource != "" {
		id, parseErr := uuid.Parse(v.Resource)
		known, findErr := s.resourceByID(c.Request().Context(), id)
		if parseErr != nil || errors.Is(findErr, booking.ErrNotFound) {
			v.Errors = s.viewer(c).language.fieldErrors(&booking.InvalidError{Field: "resource", Detail: "is none any more"})
			return s.showUnmapped(c, http.StatusUnprocessableEntity, v)
		}
		if findErr != nil {
			return findErr
		}
		to = known.Resource
	}
	to, impact, err := s.Resources.MapIdentity(c.Request().Context(), s.by(c), u.Identity, to, s.Now())
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		v.Errors = s.viewer(c).language.fieldErrors(invalid)
		return s.showUnmapped(c, http.StatusUnprocessableEntity, v)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, doneLink(to.ID, "mapped", len(impact.Open(s.Now()))))
}
