package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Resources lists resources for people and changes them; *store.Store. Each
// change writes its entry with it. What cannot be is *booking.InvalidError.
type Resources interface {
	// FindResources are those that a text fits, by name.
	FindResources(ctx context.Context, text string, p booking.Page) (booking.List[booking.ResourceView], error)
	// Coming counts the bookings that end after a time, by resource.
	Coming(ctx context.Context, after time.Time) (map[uuid.UUID]int, error)
	Unmapped(ctx context.Context, after time.Time) ([]booking.UnmappedView, error)
	RenameResource(ctx context.Context, by access.By, id uuid.UUID, name string, now time.Time) error
	SetZone(ctx context.Context, by access.By, id uuid.UUID, zone string, now time.Time) error
	PreviewMerge(ctx context.Context, from, into uuid.UUID, now time.Time) (booking.Impact, error)
	// MergeResources fails with booking.ErrImpactChanged when it would do
	// something else than what was agreed to.
	MergeResources(ctx context.Context, by access.By, from, into uuid.UUID, agreed string, now time.Time) (booking.Impact, error)
	SplitIdentity(ctx context.Context, by access.By, key booking.IdentityKey, to booking.Resource, now time.Time) (booking.Impact, error)
	MapIdentity(ctx context.Context, by access.By, id booking.Identity, to booking.Resource, now time.Time) (booking.Resource, booking.Impact, error)
}

const resourcesPageSize = 50

type resourcesView struct {
	Query      string
	Rows       []resourceRow
	First      string // the list's beginning; "" when this is it
	Next       string
	Unmapped   []unmappedRow
	ServerZone string
}

type resourceRow struct {
	booking.ResourceView
	Coming int
	Known  []identityView
}

type unmappedRow struct {
	booking.UnmappedView
	Called string
	Link   string
}

// resourcesPage lists what can be booked, a page at a time and by name, and above
// it the identities that have no resource: their bookings hold no place.
func (s *server) resourcesPage(c echo.Context) error {
	ctx := c.Request().Context()
	v := resourcesView{Query: strings.TrimSpace(c.QueryParam("q")), ServerZone: s.Zone.String()}
	cursor := c.QueryParam("cursor")
	list, err := s.Resources.FindResources(ctx, v.Query, booking.Page{Limit: resourcesPageSize, Cursor: cursor})
	if err != nil {
		return err
	}
	coming, err := s.Resources.Coming(ctx, s.Now())
	if err != nil {
		return err
	}
	names, err := s.hostNames(ctx)
	if err != nil {
		return err
	}
	l := s.viewer(c).language
	for _, r := range list.Items {
		v.Rows = append(v.Rows, resourceRow{r, coming[r.ID], names.identities(r.Identities, l)})
	}
	if cursor != "" {
		v.First = v.link("")
	}
	if list.Next != "" {
		v.Next = v.link(list.Next)
	}
	unmapped, err := s.Resources.Unmapped(ctx, s.Now())
	if err != nil {
		return err
	}
	for _, u := range unmapped {
		v.Unmapped = append(v.Unmapped, unmappedRow{u, names.of(u.Source, u.ExternalID, l), unmappedLink(u.Identity)})
	}
	return s.page(c, http.StatusOK, "resources", page{Title: "resources.title", Section: "resources", Data: v})
}

func (v resourcesView) link(cursor string) string {
	q := url.Values{}
	if v.Query != "" {
		q.Set("q", v.Query)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if len(q) == 0 {
		return "/resources"
	}
	return "/resources?" + q.Encode()
}

func unmappedLink(i booking.Identity) string {
	q := url.Values{"provider": {i.Source.Provider}, "base": {i.Source.Base}, "identity": {i.ExternalID}}
	return "/resources/unmapped?" + q.Encode()
}

func resourceLink(id uuid.UUID) string { return "/resources/" + id.String() }

type resourceView struct {
	booking.ResourceView
	Known      []identityView
	Coming     int
	Others     []option // what it can be merged into, and its identities moved to
	Zones      []zoneGroup
	ServerZone string

	// What was done just now, and how many conflicts that made or accepted.
	Done     string
	Made     int
	Accepted int

	// What was typed, of a form that was refused.
	NewName string
	Zone    string
	Into    string
	Split   int // which identity
	To      string
	Errors  map[string]string
}

// The changes that a resource's page tells of.
var resourceChanges = []string{"renamed", "zone", "merged", "split", "mapped", "ruled", "unruled"}

func (s *server) resourcePage(c echo.Context) error {
	r, err := s.resourceOf(c)
	if err != nil {
		return err
	}
	v := resourceView{ResourceView: r, NewName: r.Name, Zone: r.Timezone}
	if done := c.QueryParam("done"); slices.Contains(resourceChanges, done) {
		v.Done = done
		v.Made, _ = strconv.Atoi(c.QueryParam("made")) // 0 when it is no number
		v.Accepted, _ = strconv.Atoi(c.QueryParam("accepted"))
	}
	return s.showResource(c, http.StatusOK, v)
}

func (s *server) showResource(c echo.Context, status int, v resourceView) error {
	ctx := c.Request().Context()
	coming, err := s.Resources.Coming(ctx, s.Now())
	if err != nil {
		return err
	}
	names, err := s.hostNames(ctx)
	if err != nil {
		return err
	}
	v.Known = names.identities(v.Identities, s.viewer(c).language)
	v.Coming, v.ServerZone = coming[v.ID], s.Zone.String()
	if s.viewer(c).may(access.MapResources) {
		all, err := s.names(ctx)
		if err != nil {
			return err
		}
		v.Others = slices.DeleteFunc(all.resources, func(o option) bool { return o.Value == v.ID.String() })
		v.Zones = zoneGroups(v.Zone)
	}
	return s.page(c, status, "resource", page{Title: "resource.title", Section: "resources", Data: v})
}

// resourceOf is the resource that the path names.
func (s *server) resourceOf(c echo.Context) (booking.ResourceView, error) {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return booking.ResourceView{}, err
	}
	return s.resourceByID(c.Request().Context(), id)
}

func (s *server) resourceByID(ctx context.Context, id uuid.UUID) (booking.ResourceView, error) {
	list, err := s.Records.Resources(ctx, booking.Filter{ResourceID: &id}, booking.Page{Limit: 1})
	if err != nil {
		return booking.ResourceView{}, err
	}
	if len(list.Items) == 0 {
		return booking.ResourceView{}, booking.ErrNotFound
	}
	return list.Items[0], nil
}

// unmappedView is an identity that has no resource.
type unmappedView struct {
	booking.UnmappedView
	Called    string
	Shown     []booking.View
	More      bool   // than are shown
	Past      bool   // those that are over are shown too
	Other     string // the same with or without them
	Resources []option

	Resource string
	Name     string
	Errors   map[string]string
}

// unmappedPage shows the bookings of an identity without a resource, and lets it
// be mapped.
func (s *server) unmappedPage(c echo.Context) error {
	u, err := s.unmappedOf(c)
	if err != nil {
		return err
	}
	return s.showUnmapped(c, http.StatusOK, unmappedView{UnmappedView: u})
}

func (s *server) unmappedOf(c echo.Context) (booking.UnmappedView, error) {
	all, err := s.Resources.Unmapped(c.Request().Context(), s.Now())
	if err != nil {
		return booking.UnmappedView{}, err
	}
	for _, u := range all {
		if u.Source.Provider == c.FormValue("provider") && u.Source.Base == c.FormValue("base") && u.ExternalID == c.FormValue("identity") {
			return u, nil
		}
	}
	return booking.UnmappedView{}, booking.ErrNotFound
}

func (s *server) showUnmapped(c echo.Context, status int, v unmappedView) error {
	ctx, now := c.Request().Context(), s.Now()
	f := booking.Filter{
		Host: &booking.IdentityKey{Source: v.Source, ExternalID: v.ExternalID}, From: &now,
		Statuses: []string{string(booking.Active), string(booking.Pending), string(booking.Conflicted)},
	}
	v.Other = unmappedLink(v.Identity) + "&past=1"
	if v.Past = c.QueryParam("past") != ""; v.Past {
		f.From, v.Other = nil, unmappedLink(v.Identity)
	}
	list, err := s.Records.Bookings(ctx, f, booking.Page{Limit: resourcesPageSize})
	if err != nil {
		return err
	}
	v.Shown, v.More = list.Items, list.Next != ""
	names, err := s.hostNames(ctx)
	if err != nil {
		return err
	}
	if v.Called = names.of(v.Source, v.ExternalID, s.viewer(c).language); v.Name == "" && status == http.StatusOK {
		v.Name = v.Called
	}
	if s.viewer(c).may(access.MapResources) {
		all, err := s.names(ctx)
		if err != nil {
			return err
		}
		v.Resources = all.resources
	}
	return s.page(c, status, "unmapped", page{Title: "unmapped.title", Section: "resources", Data: v})
}
