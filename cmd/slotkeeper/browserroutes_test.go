package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// noPages are ways in that answer with no page of their own.
var noPages = map[string]string{
	"/":                  "leads to the calendar",
	"/live":              "a stream",
	"/metrics":           "for machines",
	"/static/:name":      "files",
	"/connections/oauth": "where providers send people back to; it leads on",
}

// coversEveryRoute fails the test for a page that the server has and that is not
// looked at: a new one would be seen by nobody before its users.
func coversEveryRoute(t *testing.T, pages []photo) {
	t.Helper()
	seen := map[string]bool{}
	routes := pageRoutes(t)
	for _, p := range pages {
		seen[routeOf(p.path, routes)] = true
	}
	for _, r := range routes {
		if !seen[r] && noPages[r] == "" {
			t.Errorf("no picture is taken of %s: add it to pages", r)
		}
	}
}

// routeOf is the route that a path goes by: the one with the most of it said.
func routeOf(path string, routes []string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	best, most := "", -1
	for _, r := range routes {
		said, of := 0, strings.Split(r, "/")
		for i := 0; i < len(of) && len(of) == len(parts); i++ {
			switch {
			case of[i] == parts[i]:
				said++
			case !strings.HasPrefix(of[i], ":"):
				said = -len(of) * 2
			}
		}
		if len(of) == len(parts) && said >= 0 && said > most {
			best, most = r, said
		}
	}
	return best
}

// pageRoutes are the routes that the pages' package opens to GET, as it writes them
// down.
func pageRoutes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../web/*.go")
	must(t, err)
	set, texts := token.NewFileSet(), map[string]string{}
	var parsed []*ast.File
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		must(t, err)
		parsed = append(parsed, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				for i := range min(len(v.Names), len(v.Values)) {
					texts[v.Names[i].Name] = spelled(v.Values[i], texts)
				}
			}
			return true
		})
	}
	var out []string
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "GET" {
				return true
			}
			if e, ok := s.X.(*ast.Ident); !ok || e.Name != "e" {
				return true
			}
			if route := spelled(call.Args[0], texts); strings.HasPrefix(route, "/") {
				out = append(out, route)
			}
			return true
		})
	}
	if len(out) < 20 {
		t.Fatalf("only %d routes are found: %q", len(out), out)
	}
	return out
}

// spelled is what an expression of texts says; "" of any other.
func spelled(e ast.Expr, texts map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value) // "" of a number
		return text
	case *ast.Ident:
		return texts[e.Name]
	case *ast.BinaryExpr:
		return spelled(e.X, texts) + spelled(e.Y, texts)
	}
	return ""
}
