package providers

import "strings"

const (
	// Redacted stands where a secret was.
	Redacted = "[redacted]"
	// Withheld stands for a body in which secrets cannot be found.
	Withheld = `{"withheld":"this body cannot be read, so that secrets in it cannot be found; it is kept, but not shown"}`
)

// secretWords in a member's name make its value a secret, whoever sends it.
var secretWords = []string{"password", "passwd", "passcode", "secret", "token", "apikey", "api_key", "private_key"}

// Redaction is what an adapter's bodies hold that nobody may be shown.
type Redaction struct {
	// Names of members whose value goes, whatever it is and at any depth. A dot
	// asks for the parent too: "location.data".
	Names []string
	// Links says that every text with a link in it goes, wherever it stands: who
	// has a meeting's link can join it.
	Links bool
	// Harmless are the beginnings of links that stay: the provider's own names
	// for things.
	Harmless []string
}

// Apply replaces the secrets in a body and leaves every other byte as it is.
// A body that Scan refuses is withheld.
func (r Redaction) Apply(body []byte) []byte {
	v, f := Scan(body)
	if f != nil {
		return []byte(Withheld)
	}
	return r.ApplyValue(v)
}

// ApplyValue is Apply for a body that was scanned.
func (r Redaction) ApplyValue(v Value) []byte {
	w := &redactor{rules: r, out: make([]byte, 0, len(v.scan.body))}
	for _, n := range r.Names {
		w.paths = append(w.paths, strings.Split(strings.ToLower(n), "."))
	}
	w.walk(v.scan, v.at)
	return append(w.out, v.scan.body[w.copied:]...)
}

type redactor struct {
	rules  Redaction
	paths  [][]string
	names  []string // of the members around, lower case
	out    []byte
	copied int32
}

func (w *redactor) walk(s *scanner, i int32) {
	p := &s.spans[i]
	if p.nameEnd > 0 {
		w.names = append(w.names, strings.ToLower(s.name(i)))
		defer func() { w.names = w.names[:len(w.names)-1] }()
		if p.kind != kindNull && w.secretName() {
			w.replace(s, p)
			return
		}
	}
	switch p.kind {
	case kindString:
		if w.rules.Links && w.secretLink(Value{scan: s, at: i, known: true}.Text()) {
			w.replace(s, p)
		}
	case kindObject, kindArray:
		for c := p.child; c != 0; c = s.spans[c].next {
			w.walk(s, c)
		}
	case kindNull, kindFalse, kindTrue, kindNumber:
	}
}

func (w *redactor) replace(s *scanner, p *span) {
	w.out = append(w.out, s.body[w.copied:p.start]...)
	w.out = append(w.out, '"')
	w.out = append(w.out, Redacted...)
	w.out = append(w.out, '"')
	w.copied = p.end
}

func (w *redactor) secretName() bool {
	name := w.names[len(w.names)-1]
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	for _, path := range w.paths {
		if len(path) <= len(w.names) && equalTail(w.names, path) {
			return true
		}
	}
	return false
}

func equalTail(names, path []string) bool {
	tail := names[len(names)-len(path):]
	for i := range path {
		if tail[i] != path[i] {
			return false
		}
	}
	return true
}

func (w *redactor) secretLink(text string) bool {
	if !HasLink(text) {
		return false
	}
	for _, h := range w.rules.Harmless {
		if strings.HasPrefix(text, h) && !strings.ContainsAny(text, " \t\r\n?#") && strings.Count(text, "://") == 1 {
			return false
		}
	}
	return true
}
