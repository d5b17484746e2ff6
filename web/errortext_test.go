package web_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// pageErrors are the errors that a page may end in, as their packages declare them. A
// sentinel or an error type that is neither here nor in elsewhere fails the test: what
// somebody reads of it has to be decided.
var pageErrors = map[string]error{
	"booking.ErrNotFound":            booking.ErrNotFound,
	"booking.ErrUnavailable":         booking.ErrUnavailable,
	"booking.ErrAlreadyCanceled":     booking.ErrAlreadyCanceled,
	"booking.ErrAlreadyAsked":        booking.ErrAlreadyAsked,
	"booking.ErrNothingToWithdraw":   booking.ErrNothingToWithdraw,
	"booking.ErrBeingTried":          booking.ErrBeingTried,
	"booking.ErrNothingToRetry":      booking.ErrNothingToRetry,
	"booking.InvalidError":           &booking.InvalidError{Field: "name", Detail: "must not be empty"},
	"booking.ConflictError":          &booking.ConflictError{Code: "busy", Detail: "the connection is being changed just now"},
	"booking.CannotCancelError":      &booking.CannotCancelError{Code: booking.CannotSeatless, Detail: "what is meant is not clear"},
	"booking.UnconfirmedError":       &booking.UnconfirmedError{Affected: 7},
	"booking.IllegalTransitionError": &booking.IllegalTransitionError{Action: booking.Create, From: booking.Canceled},
	"access.ThrottledError":          &access.ThrottledError{RetryAfter: time.Minute},
	"access.ErrLinkSpent":            access.ErrLinkSpent,
}

// elsewhere says where the other errors end.
var elsewhere = map[string]string{
	"booking.ErrImpactChanged":      "the page of a merge is shown again",
	"booking.ErrNotHeld":            "of one process to another",
	"booking.ErrReplayOutdated":     "a replay reads again",
	"booking.ErrEndpointRemoved":    "of the store to whoever sends",
	"booking.ErrSkipped":            "of the store to whoever sends",
	"booking.ErrJoined":             "kept with the effect: undone",
	"booking.ErrAcceptedMeanwhile":  "kept with the effect: undone",
	"booking.ErrMovedAway":          "kept with the effect: undone",
	"providers.errUnreadable":       "of a chat or another system: untold, or the cause of a try",
	"booking.ErrTracesLeft":         "the page of erasing says so beside what was done",
	"booking.FenceError":            "a fault of ours: 500, and logged",
	"booking.NotDueError":           "of the store to the queue",
	"access.ErrBadCredentials":      "the sign-in says so in its form",
	"access.ErrBadToken":            "programs alone have tokens",
	"access.ErrBadFeed":             "calendars alone read feeds",
	"access.ErrLastAdministrator":   "the text of a conflict",
	"access.errPasswordHash":        "a fault of ours: 500, and logged",
	"account.ErrCannotAsk":          "a cause: trouble",
	"account.errNotOurs":            "what a hop found",
	"account.hookError":             "around a cause",
	"account.errUnchanged":          "a cause that nobody knows: trouble",
	"providers.ErrSignatureMissing": "senders of webhooks alone",
	"providers.ErrSignatureInvalid": "senders of webhooks alone",
	"providers.ErrSignatureTooOld":  "senders of webhooks alone",
	"providers.ErrEventIDMissing":   "senders of webhooks alone",
	"providers.ErrGone":             "a cause: trouble",
	"providers.ErrNoCredentials":    "a cause: trouble",
	"providers.ErrBadAnswer":        "a cause: trouble",
	"providers.ErrRedirected":       "a cause: trouble",
	"providers.ErrAnswerTooLarge":   "a cause: trouble",
	"providers.ErrPaused":           "a cause: trouble",
	"providers.ErrSpent":            "a cause: trouble",
	"providers.errNoTime":           "never leaves its call",
	"providers.errUnanswered":       "around a cause",
	"providers.ErrConnected":        "becomes an invalid account",
	"providers.AnswerError":         "a cause: trouble",
	"providers.KeyError":            "a cause: trouble",
	"providers.AppError":            "a cause: trouble",
	"providers.LaterError":          "a cause: trouble",
	"providers.AddressError":        "a cause: trouble",
	"providers.UnhookedError":       "around a cause: its account is checked at once, and says that no posts come",
	"providers.ManualError":         "the page says what is to be entered by hand",
	"notify.ErrRefused":             "alerts.try.refused",
	"notify.ErrNoMail":              "alerts.nomail",
}

// declaring are the packages whose errors can come to a page.
var declaring = []string{"../booking", "../booking/access", "../booking/account", "../booking/notify", "../providers"}

// A new error has words in both languages, or a reason to need none: what stands in its
// text is English, and for logs and programs.
func TestEveryErrorHasWords(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	for _, dir := range declaring {
		for _, name := range errorsDeclared(t, dir) {
			declared[name] = true
			if _, shown := pageErrors[name]; shown == (elsewhere[name] != "") {
				t.Errorf("%s must stand in one of the tables of this test: what does a page say of it?", name)
			}
		}
	}
	for name := range maps.Keys(pageErrors) {
		if !declared[name] {
			t.Errorf("there is no %s any more", name)
		}
	}
	for name := range maps.Keys(elsewhere) {
		if !declared[name] {
			t.Errorf("there is no %s any more", name)
		}
	}
	w := newWorld(t, full(), nil)
	browser := w.user(t, "ayu", access.Viewer)
	for name, err := range pageErrors {
		for _, lang := range []string{"en", "id"} {
			w.records.fail(fmt.Errorf("what was done: %w", err))
			res := w.get(t, browser, "/calendar", "Accept-Language", lang)
			wholesome(t, res, lang)
			if res.StatusCode == http.StatusOK || strings.Contains(res.body, messages(t, lang)["problem.internal.title"]) {
				t.Errorf("%s, %s: nothing is said of it, status %d", name, lang, res.StatusCode)
			}
			for _, english := range []string{err.Error(), "what was done", "must not be empty", "being changed just now", "confirm that number"} {
				if strings.Contains(res.body, english) {
					t.Errorf("%s, %s: the page has its text for logs, %q", name, lang, english)
				}
			}
		}
	}
}

// formless are fields of invalid inputs that no form has: what a page would say of
// them is only that something is not valid.
var formless = map[string]string{
	"cursor": "an address that was changed by hand", "limit": "an address that was changed by hand",
	"ids": "the API's", "person": "a command's", "email": "the page of erasing has words of its own", "phone": "the page of erasing has words of its own", "secret": "a command's", "booking": "the API's", "form": "a form that is not ours",
	"kind": "of a list that a command reads", "connection": "pages offer none of it", "to": "has a text",
}

// Every code of a conflict, every reason against a cancel and every field of a form has
// words in both languages.
func TestEveryRefusalHasWords(t *testing.T) {
	t.Parallel()
	en, id := messages(t, "en"), messages(t, "id")
	said := func(key string) bool { return en[key] != "" && id[key] != "" }
	src := sources(t, append(slices.Clone(declaring), "../booking/store", "../booking/work", "../booking/intake", "."))
	src.literals(func(kind string, fields map[string]string, at string) {
		switch kind {
		case "ConflictError":
			if !said("conflict." + fields["Code"]) {
				t.Errorf("%s: a conflict of the code %q has no text", at, fields["Code"])
			}
		case "CannotCancelError":
			if !said("undone." + fields["Code"]) {
				t.Errorf("%s: a cancel that is not possible, %q, has no text", at, fields["Code"])
			}
		case "InvalidError":
			if f := fields["Field"]; f != "" && !said("invalid."+f) && formless[f] == "" {
				t.Errorf("%s: an invalid %q has no text", at, f)
			}
		}
	})
}

// Nobody puts the text of an error on a page: problem.go does for programs, and
// errortext.go knows kept errors by it.
func TestNoTextOfAnErrorOnAPage(t *testing.T) {
	t.Parallel()
	src := sources(t, []string{"."})
	for file, f := range src.files {
		if slices.Contains([]string{"problem.go", "errortext.go"}, path.Base(file)) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 0 {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Error" {
				t.Errorf("%s: the text of an error is English; errortext.go says it in the viewer's language", src.set.Position(n.Pos()))
			}
			return true
		})
	}
}

// source are packages as they are written.
type source struct {
	set   *token.FileSet
	files map[string]*ast.File
	// texts are the constants of text, by name.
	texts map[string]string
}

func sources(t *testing.T, dirs []string) source {
	t.Helper()
	src := source{token.NewFileSet(), map[string]*ast.File{}, map[string]string{}}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no Go files: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			if src.files[file], err = parser.ParseFile(src.set, file, nil, parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range src.files {
		specs(f, token.CONST, func(v *ast.ValueSpec, name string, value ast.Expr) { src.texts[name] = src.text(value) })
	}
	return src
}

// specs calls each with every constant or variable of a package's own.
func specs(f *ast.File, kind token.Token, each func(spec *ast.ValueSpec, name string, value ast.Expr)) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != kind {
			continue
		}
		for _, s := range g.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, name := range v.Names {
				if i < len(v.Values) {
					each(v, name.Name, v.Values[i])
				}
			}
		}
	}
}

// text is what an expression says, as far as it is a text or the name of one.
func (s source) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.Ident:
		return s.texts[e.Name]
	case *ast.SelectorExpr:
		return s.texts[e.Sel.Name]
	}
	return ""
}

// literals calls each with every literal of a type, and what its fields say.
func (s source) literals(each func(kind string, fields map[string]string, at string)) {
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			kind := ""
			switch of := lit.Type.(type) {
			case *ast.Ident:
				kind = of.Name
			case *ast.SelectorExpr:
				kind = of.Sel.Name
			}
			fields := map[string]string{}
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if name, ok := kv.Key.(*ast.Ident); ok {
						fields[name.Name] = s.text(kv.Value)
					}
				}
			}
			each(kind, fields, s.set.Position(n.Pos()).String())
			return true
		})
	}
}

// errorsDeclared are a package's sentinels and its types that are errors.
func errorsDeclared(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for _, f := range sources(t, []string{dir}).files {
		specs(f, token.VAR, func(_ *ast.ValueSpec, name string, value ast.Expr) {
			if call, ok := value.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok && fmt.Sprint(s.X) == "errors" && s.Sel.Name == "New" {
					out = append(out, f.Name.Name+"."+name)
				}
			}
		})
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || m.Name.Name != "Error" || len(m.Type.Params.List) != 0 {
				continue
			}
			if star, ok := m.Recv.List[0].Type.(*ast.StarExpr); ok {
				out = append(out, f.Name.Name+"."+fmt.Sprint(star.X))
			}
		}
	}
	return out
}

// constants are the values of a package's constants of a type, or whose names begin so.
func constants(t *testing.T, dir, kind, prefix string) []string {
	t.Helper()
	src := sources(t, []string{dir})
	var out []string
	for _, f := range src.files {
		specs(f, token.CONST, func(v *ast.ValueSpec, name string, value ast.Expr) {
			if (kind == "" && v.Type == nil || fmt.Sprint(v.Type) == kind) && strings.HasPrefix(name, prefix) {
				out = append(out, src.text(value))
			}
		})
	}
	return out
}
