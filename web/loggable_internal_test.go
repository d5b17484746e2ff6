package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
)

func TestLoggable(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"invitee.created":               "invitee.created",
		"a b\nlevel=ERROR":              "a?b?level=ERROR",
		"\x1b[31m\u202e\xff":            "??31m??",
		strings.Repeat("é", 1<<20):      strings.Repeat("?", mostLogged) + "...",
		strings.Repeat("k", mostLogged): strings.Repeat("k", mostLogged),
	} {
		if got := loggable(sent); got != want {
			t.Errorf("%.40q is logged as %q, not %q", sent, got, want)
		}
	}
}

func TestWaitInWords(t *testing.T) {
	t.Parallel()
	all, err := loadLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for wait, want := range map[time.Duration][2]string{
		0: {"1 minute", "1 menit"}, time.Millisecond: {"1 second", "1 detik"}, 11 * time.Second: {"20 seconds", "20 detik"},
		61 * time.Second: {"2 minutes", "2 menit"}, 30 * 24 * time.Hour: {"an hour or more", "satu jam atau lebih"},
	} {
		if en, id := all.of("en", "").wait(wait), all.of("id", "").wait(wait); en != want[0] || id != want[1] {
			t.Errorf("%v: %q, %q", wait, en, id)
		}
	}
}

// Whatever is wrong with a form's field is said in the page's language.
func TestFieldErrorsInIndonesian(t *testing.T) {
	t.Parallel()
	all, err := loadLanguages()
	if err != nil {
		t.Fatal(err)
	}
	en, id, seen := all.of("en", ""), all.of("id", ""), 0
	for _, folder := range []string{".", "../booking", "../booking/access", "../booking/account", "../booking/store"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				pair, ok := n.(*ast.KeyValueExpr)
				if !ok {
					return true
				}
				key, isName := pair.Key.(*ast.Ident)
				value, isText := pair.Value.(*ast.BasicLit)
				if !isName || !isText || key.Name != "Field" {
					return true
				}
				field, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Error(err)
				}
				seen++
				wrong := &booking.InvalidError{Field: field, Detail: "English, for programs"}
				here, there := id.fieldErrors(wrong)[field], en.fieldErrors(wrong)[field]
				if here == "" || here == wrong.Detail || here == there || there == wrong.Detail {
					t.Errorf("%s: %s: %q, in English %q", file, field, here, there)
				}
				return true
			})
		}
	}
	if seen < 30 {
		t.Errorf("only %d errors were found", seen)
	}
}
