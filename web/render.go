package web

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/calendar"
)

//go:embed templates
var templateFiles embed.FS

// renderer holds every page in every language, parsed at start: a template that
// does not parse keeps the server from starting.
type renderer struct {
	pages map[string]map[string]*template.Template // language, page
}

// embedded are the pages, texts and files that the program carries. Nothing changes
// them, so that all servers of a process share one reading.
type embedded struct {
	render    *renderer
	languages *languages
	assets    assets
}

var embeddedFiles = sync.OnceValues(func() (embedded, error) {
	l, err := loadLanguages()
	if err != nil {
		return embedded{}, err
	}
	a := loadAssets()
	r, err := loadTemplates(l, a)
	return embedded{render: r, languages: l, assets: a}, err
})

func loadTemplates(l *languages, a assets) (*renderer, error) {
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		return nil, fmt.Errorf("web: templates: %w", err)
	}
	r := &renderer{pages: map[string]map[string]*template.Template{}}
	for _, lang := range l.all {
		pages := map[string]*template.Template{}
		frame, err := template.New("layout.html").Funcs(functions(lang, a)).ParseFS(templateFiles, "templates/layout.html", "templates/partials/*.html")
		if err != nil {
			return nil, fmt.Errorf("web: templates: %w", err)
		}
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
			if e.IsDir() || name == "layout" {
				continue
			}
			t, err := frame.Clone()
			if err == nil {
				t, err = t.ParseFS(templateFiles, "templates/"+e.Name())
			}
			if err != nil {
				return nil, fmt.Errorf("web: template %s: %w", name, err)
			}
			pages[name] = t
		}
		r.pages[lang.tag] = pages
	}
	return r, nil
}

// functions are what templates may call. Text is never put together in a
// template: each sentence is one message.
func functions(l *language, a assets) template.FuncMap {
	return template.FuncMap{
		"t":      l.t,
		"n":      l.n,
		"named":  func(set string, value any) string { return l.named(set, fmt.Sprint(value)) },
		"actor":  l.actor,
		"number": l.number,
		"asset":  a.address,
		"stamp":  func(t time.Time, zone *time.Location) string { return l.dates.stamp(t.In(zone)) },
		"exact":  func(t time.Time, zone *time.Location) string { return l.dates.exact(t.In(zone)) },
		"span":   func(from, to time.Time, zone *time.Location) string { return l.dates.span(from.In(zone), to.In(zone)) },
		"period": func(from, to time.Time, zone *time.Location) string {
			return l.dates.period(calendar.DateOf(from, zone), calendar.DateOf(to, zone))
		},
		"kept":     l.kept,
		"undone":   l.undone,
		"unusable": func(r *booking.ReceiptView) *errorText { return l.unusable(*r) },
		"hop":      l.hop,
		"called":   l.called,
		"dial":     dial,
		"whatsapp": international,
		"webpage":  webPage,
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"icon":     icon,
		"aim":      aim,
		"troubled": troubled,
		"summary":  summary,
		"dict":     func(pairs ...any) map[string]any { return dataOf(pairs) }, // several values for a partial
	}
}

// aim is the state that a transition would have led to: a refused one is stored
// with the state that it left alone.
func aim(t booking.Transition) booking.Status {
	if t.Outcome == booking.Rejected && t.From == booking.Canceled {
		switch t.Event {
		case booking.Request:
			return booking.Pending
		case booking.Create, booking.Move, booking.Release:
			return booking.Active
		case booking.Cancel, booking.Details, booking.NoShow, booking.AcceptOverlap:
		}
	}
	return t.To
}

// icon is the sign that stands before a state's name, so that colour is never
// alone.
func icon(s booking.Status) string {
	switch s {
	case booking.Active:
		return "✓"
	case booking.Pending:
		return "◌"
	case booking.Conflicted:
		return "⚠"
	case booking.Canceled:
		return "×"
	case booking.New:
		return "•"
	}
	return "•"
}

// page is what the layout needs of every page. Title is a message's key.
type page struct {
	Title   string
	Section string
	Wide    bool
	Data    any
	// Conflicts is how many are open, for the navigation; page counts them unless
	// the page did.
	Conflicts int
	// Alerts are those that nobody sees to.
	Alerts  int
	counted bool
	// Down are the connections that do not work, filled in by page.
	Down []downConnection
	// DownTold says that the page itself tells of them.
	DownTold bool

	// Filled in by page.
	Lang     string
	User     *access.User
	Operator bool
	// Bodies says that the viewer may see what providers sent.
	Bodies bool
	// All says that the viewer sees what is about the whole installation.
	All     bool
	Zone    *time.Location
	Version string
}

// Theme is what the viewer chose of light and dark; "" is the system's.
func (p page) Theme() access.Appearance {
	if p.User == nil {
		return access.AppearanceSystem
	}
	return p.User.Appearance
}

// wrong is something that is wrong with a form, and the id of its field.
type wrong struct {
	Field string
	Text  string
}

// summary lists what is wrong with a form in the order of its fields: fields are
// pairs of an error's name and the id of what it is about.
func summary(errs map[string]string, fields ...string) []wrong {
	var out []wrong
	listed := map[string]bool{}
	for i := 0; i+1 < len(fields); i += 2 {
		if text := errs[fields[i]]; text != "" {
			out = append(out, wrong{Field: fields[i+1], Text: text})
		}
		listed[fields[i]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		if !listed[name] && errs[name] != "" {
			out = append(out, wrong{Text: errs[name]})
		}
	}
	return out
}

// page renders into a buffer first, so that a template that fails never sends
// half a page.
func (s *server) page(c echo.Context, status int, name string, p page) error {
	who := s.viewer(c)
	p.Lang, p.User, p.Operator, p.Version = who.language.tag, who.user, who.operator(), s.Version
	p.All, p.Bodies = who.may(access.ViewAll), who.may(access.ReadRawBodies)
	if p.Zone == nil {
		p.Zone = who.zone
	}
	if err := s.countConflicts(c.Request().Context(), status, &p); err != nil {
		return err
	}
	if err := s.findDown(c.Request().Context(), status, who, &p); err != nil {
		return err
	}
	if err := s.countAlerts(c.Request().Context(), status, &p); err != nil {
		return err
	}
	t, ok := s.render.pages[p.Lang][name]
	if !ok {
		return fmt.Errorf("web: there is no page %q", name)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("web: render %s: %w", name, err)
	}
	c.Response().Header().Set("Content-Language", p.Lang)
	c.Response().Header().Set("Vary", "Cookie, Accept-Language")
	return c.HTMLBlob(status, straight(b.Bytes()))
}

// countConflicts counts what the navigation warns of. A page that says what went
// wrong is not kept back by it, nor does it ask a database that is away again.
func (s *server) countConflicts(ctx context.Context, status int, p *page) (err error) {
	if p.User == nil || p.counted || status >= http.StatusInternalServerError {
		return nil
	}
	p.Conflicts, err = s.Records.OpenConflicts(ctx, s.Now())
	if status >= http.StatusBadRequest {
		return nil
	}
	return err
}

// countAlerts counts those that nobody sees to, for whoever sees the installation.
// Like the conflicts they keep no page back that says what went wrong.
func (s *server) countAlerts(ctx context.Context, status int, p *page) (err error) {
	if p.User == nil || !p.All || status >= http.StatusInternalServerError {
		return nil
	}
	p.Alerts, err = s.Alerts.UnseenAlerts(ctx)
	if status >= http.StatusBadRequest {
		return nil
	}
	return err
}

// findDown finds the connections that the frame warns of. Like the conflicts they
// keep no page back that says what went wrong.
func (s *server) findDown(ctx context.Context, status int, who viewer, p *page) (err error) {
	if p.User == nil || status >= http.StatusInternalServerError {
		return nil
	}
	p.Down, err = s.downConnections(ctx, who)
	for i := range p.Down {
		if !p.All {
			p.Down[i].Link = "" // its page tells of other resources, too
		}
	}
	if status >= http.StatusBadRequest {
		return nil
	}
	return err
}

type problemView struct {
	Problem *Problem
	Title   string
	Help    string
	Said    string // what exactly does not go together
	Way     way    // on from here
	// Reported says that somebody may want to report it. Of what is merely not there
	// nobody does.
	Reported bool
}

// way leads on from a page.
type way struct {
	Link  string
	Label string
}

// problemPage says what happened and what to do. To whoever is signed in it does so in
// the frame that they know; of paths that lead nowhere nobody has asked yet who looks.
func (s *server) problemPage(c echo.Context, p *Problem) error {
	_, known := c.Request().Context().Value(keyViewer).(viewer)
	if known || c.Request().Method != http.MethodGet || p.Status >= http.StatusInternalServerError {
		return s.showProblem(c, p)
	}
	err := s.sessions.load(s.identify(func(c echo.Context) error { return s.showProblem(c, p) }))(c)
	if err != nil && !c.Response().Committed {
		return s.showProblem(c, p) // who looks cannot be read
	}
	return err
}

func (s *server) showProblem(c echo.Context, p *Problem) error {
	who := s.viewer(c)
	l := who.language
	code := p.Code
	if !l.has("problem." + code + ".title") {
		code = codeInternal
		if p.Status < http.StatusInternalServerError {
			code = "bad_request"
		}
	}
	to := way{Link: "/", Label: l.t("problem.home")}
	if who.user == nil && p.Status < http.StatusInternalServerError {
		to = way{Link: "/signin", Label: l.t("signin.submit")}
	}
	if code == "not_found" && who.user != nil && strings.HasPrefix(c.Path(), "/bookings/:id") {
		code = "not_found.booking"
		to = way{Link: "/calendar#q", Label: l.t("problem.search")}
	}
	view := problemView{
		Problem: p, Title: l.t("problem." + code + ".title"), Help: l.t("problem."+code+".help", "Wait", l.wait(p.retryAfter)),
		Said: l.refused(p.cause), Way: to, Reported: p.Status != http.StatusNotFound,
	}
	if code == "link_spent" && who.user != nil {
		view.Help = l.t("problem.link_spent.signed_in", "Name", who.user.Name)
	}
	return s.page(c, p.Status, "problem", page{Title: "problem." + code + ".title", Data: view})
}
