package access_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"slotkeeper/booking/access"
)

// What is done and logged can be found in the log: no deed is forgotten in the
// list that the page offers.
func TestDeedsAreComplete(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "store.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Did") {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no text", spec.Names[0].Name)
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		declared = append(declared, value)
		return true
	})
	if listed := access.Deeds(); len(declared) == 0 || !slices.Equal(listed, declared) {
		t.Errorf("listed are %q, declared %q", listed, declared)
	}
}
