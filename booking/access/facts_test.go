package access_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"slotkeeper/booking/access"
)

// factsOf finds the names that a file's facts have: the keys of every literal that is
// keyed by facts, and of what is put into such a map afterwards. A name that is made of
// any text is refused: nobody could say which words it needs.
type factsOf struct {
	t    *testing.T
	set  *token.FileSet
	file string
	// facts are the variables that hold them, in the function that is looked at.
	facts map[string]bool
	names map[access.Fact]token.Position
}

// isFacts tells whether a type is Facts, or a map by Fact.
func isFacts(e ast.Expr) bool {
	if m, ok := e.(*ast.MapType); ok {
		return called(m.Key, "Fact")
	}
	return called(e, "Facts")
}

func called(e ast.Expr, name string) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		e = s.Sel
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func (f *factsOf) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.facts = map[string]bool{}
	case *ast.Field:
		if isFacts(n.Type) {
			for _, id := range n.Names {
				f.facts[id.Name] = true
			}
		}
	case *ast.CompositeLit:
		if isFacts(n.Type) {
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					f.name(pair.Key)
				}
			}
		}
	case *ast.AssignStmt:
		f.assigned(n)
	case *ast.CallExpr:
		if called(n.Fun, "Fact") && !strings.HasSuffix(f.file, "store/adminlog.go") {
			f.t.Errorf("%s makes a fact's name of a text: write it out", f.set.Position(n.Pos()))
		}
	}
	return f
}

func (f *factsOf) assigned(n *ast.AssignStmt) {
	for i, left := range n.Lhs {
		if id, ok := left.(*ast.Ident); ok && i < len(n.Rhs) {
			if made, ok := n.Rhs[i].(*ast.CompositeLit); ok && isFacts(made.Type) {
				f.facts[id.Name] = true
			}
		}
		at, ok := left.(*ast.IndexExpr)
		if !ok {
			continue
		}
		of := at.X
		if s, ok := of.(*ast.SelectorExpr); ok {
			of = s.Sel
		}
		if id, ok := of.(*ast.Ident); ok && (f.facts[id.Name] || strings.EqualFold(id.Name, "detail")) {
			f.name(at.Index)
		}
	}
}

// name keeps a name that is written out; a variable's is found where it is set.
func (f *factsOf) name(e ast.Expr) {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, err := strconv.Unquote(l.Value)
		if err != nil {
			f.t.Fatal(err)
		}
		f.names[access.Fact(text)] = f.set.Position(l.Pos())
	}
}

// What entries say beside their action has words: every fact that code writes stands
// in the list that the languages are held to, and no other.
func TestFactsAreComplete(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	written := map[access.Fact]token.Position{}
	for _, dir := range []string{"booking", "web", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
			// What is read has words of its own: web's tables of them are no facts.
			read := strings.HasSuffix(file, "web/adminlogtold.go")
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "storetest") || read {
				return err
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, file, nil, 0)
			if err == nil {
				ast.Walk(&factsOf{t: t, set: set, file: filepath.ToSlash(file), facts: map[string]bool{}, names: written}, tree)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	listed := access.FactNames()
	if !slices.IsSorted(listed) || len(written) == 0 {
		t.Errorf("the list is %q", listed)
	}
	for name, at := range written {
		if !slices.Contains(listed, name) {
			t.Errorf("%s writes the fact %q, which is not listed", at, name)
		}
	}
	for _, name := range listed {
		if _, ok := written[name]; !ok {
			t.Errorf("the fact %q is listed, and nothing writes it", name)
		}
	}
}
