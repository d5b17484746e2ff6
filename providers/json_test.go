package providers

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// plain turns a value into what encoding/json would make of it.
func plain(v Value) any {
	switch {
	case v.is(kindObject):
		out := map[string]any{}
		for i := v.span().child; i != 0; i = v.scan.spans[i].next {
			out[v.scan.name(i)] = plain(Value{scan: v.scan, at: i, known: true})
		}
		return out
	case v.is(kindArray):
		out := []any{}
		for item := range v.Items() {
			out = append(out, plain(item))
		}
		return out
	case v.is(kindString):
		return v.Text()
	case v.is(kindNumber):
		return json.Number(v.Number())
	case v.Null():
		return nil
	}
	b, _ := v.Bool()
	return b
}

// FuzzScan compares the scanner with encoding/json: it must read what that reads
// alike, and refuse what that refuses.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+3,"x\u00e9\n\"",true,false,null,{}],"b":{"c":[]}}`, ` [ ] `, `"\ud83d\ude00 \ud83d"`, `-`, `01`, `1.`, `1e`, `{"a":1,"a":2}`, "\"\x7f\"", `{"A":1,"a":2}`, `nul`, `[1,]`, `{,}`, `"\x"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, fault := Scan(body)
		valid := json.Valid(body)
		if fault != nil {
			if fault.Code == CodeJSONInvalid && valid {
				t.Fatalf("refused JSON: %s", fault.Text)
			}
			return
		}
		if !valid {
			t.Fatal("took what is no JSON")
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := plain(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("read %#v, encoding/json %#v", got, want)
		}
	})
}

func TestScanLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	members := func(n int, last string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"m` + strings.Repeat("x", i) + `":0,`)
		}
		return "{" + b.String() + last + "}"
	}
	for _, c := range []struct{ name, body, code string }{
		{"as deep as may be", nest(MaxDepth + 1), ""},
		{"deeper", nest(MaxDepth + 2), CodeNestingTooDeep},
		{"many members", members(300, `"z":1`), ""},
		{"many members, the first again", members(300, `"m":1`), CodeDuplicateKey},
		{"many members, one of the last again", members(300, `"m`+strings.Repeat("x", 299)+`":1`), CodeDuplicateKey},
		{"many members, one again by an escape", members(300, `"\u006d":1`), CodeDuplicateKey},
		{"names that differ in case", `{"email":1,"Email":2}`, ""},
		{"one name in two objects", `[{"a":1},{"a":{"a":1}}]`, ""},
		{"a number as long as may be", strings.Repeat("9", 64), ""},
		{"a longer one", strings.Repeat("9", 65), CodeNumberTooLarge},
		{"the largest power", "1.7e308", ""},
		{"a larger one", "1.8e308", CodeNumberTooLarge},
		{"a vanishing power", "1e-999", ""},
		{"too large to read", strings.Repeat(" ", maxBody) + "1", CodeBodyTooLarge},
	} {
		_, f := Scan([]byte(c.body))
		if got := code(f); got != c.code {
			t.Errorf("%s: code %q, want %q", c.name, got, c.code)
		}
	}
}

func code(f *Fault) string {
	if f == nil {
		return ""
	}
	return f.Code
}

func TestValueOfAnythingElseIsNothing(t *testing.T) {
	v, f := Scan([]byte(`{"n":null,"s":"x","i":7,"h":1.5,"b":true,"a":[1,2]}`))
	if f != nil {
		t.Fatal(f)
	}
	for _, name := range []string{"n", "s", "i", "h", "b", "a", "absent"} {
		x := v.Get(name)
		if x.Get("deeper", "still").Present() {
			t.Errorf("%s has members", name)
		}
		if (x.Text() != "") != (name == "s") || (x.Number() != "") != (name == "i" || name == "h") {
			t.Errorf("%s: text %q, number %q", name, x.Text(), x.Number())
		}
		if _, ok := x.Whole(); ok != (name == "i") {
			t.Errorf("%s is a whole number: %t", name, ok)
		}
		if _, ok := x.Bool(); ok != (name == "b") {
			t.Errorf("%s is a truth value: %t", name, ok)
		}
		if x.Present() == (name == "absent") || x.Null() != (name == "n") || x.Said() == (name == "n" || name == "absent") {
			t.Errorf("%s: present %t, null %t, said %t", name, x.Present(), x.Null(), x.Said())
		}
		n := 0
		for range x.Items() {
			n++
		}
		if (n == 2) != (name == "a") {
			t.Errorf("%s has %d items", name, n)
		}
	}
}
