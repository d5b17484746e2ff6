package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"slotkeeper/providers"
)

// odd is what stands in a value's place, one after the other: what a sender may
// come to send, and what a forger with the key could.
var odd = []any{
	nil, "", "x", "  ", 0, -1, 1.5, 1e300, true,
	[]any{},
	map[string]any{},
	[]any{nil, 1, "x", map[string]any{"email": 7}},
	"2026-12-08T14:00:00Z", "9999-12-31T23:59:59-14:00", "Not/AZone", "https://api.example/%zz", "a@b", "a|b@c", "\u202e|\ufffd",
	strings.Repeat("y", 5000), strings.Repeat("é", 2000) + "@example",
}

// mutated changes each value of a fixture in turn, and leaves each out in turn.
func mutated(t *testing.T, p providers.Provider, body []byte) {
	t.Helper()
	o := Origin(p)
	parse := func(changed []byte) { CheckDelivery(t, p.Parse(providers.Request{Body: changed}, o)) }
	if takesForms(p) {
		changedForms(t, body, parse)
	} else {
		changedJSON(t, body, parse)
	}
}

// changedForms gives every form that differs from the body in one field.
func changedForms(t *testing.T, body []byte, use func([]byte)) {
	t.Helper()
	pairs := strings.Split(string(body), "&")
	try := func(pairs []string) {
		changed := strings.Join(pairs, "&")
		use([]byte(changed))
		if t.Failed() {
			t.Fatalf("the body was %s", changed)
		}
	}
	for i, pair := range pairs {
		try(slices.Delete(slices.Clone(pairs), i, i+1))
		name, _, _ := strings.Cut(pair, "=")
		for _, v := range odd {
			changed := slices.Clone(pairs)
			changed[i] = name + "=" + url.QueryEscape(fmt.Sprint(v))
			try(changed)
		}
	}
}

// changedJSON gives every text that differs from the body in one value.
func changedJSON(t *testing.T, body []byte, use func([]byte)) {
	t.Helper()
	var root any
	numbers := json.NewDecoder(bytes.NewReader(body))
	numbers.UseNumber()
	if numbers.Decode(&root) != nil {
		return // a fixture that is no JSON
	}
	try := func() {
		changed, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		use(changed)
		if t.Failed() {
			t.Fatalf("the body was %s", changed)
		}
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range names(v) {
				was := v[name]
				delete(v, name)
				try()
				for _, o := range odd {
					v[name] = o
					try()
				}
				v[name] = was
				walk(was)
			}
		case []any:
			for i, was := range v {
				for _, o := range odd {
					v[i] = o
					try()
				}
				v[i] = was
				walk(was)
			}
		}
	}
	walk(root)
}

func names(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
