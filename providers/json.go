package providers

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Limits of a body. They keep what one signed post can cost in proportion to
// its size; no body seen of any provider comes near them.
const (
	MaxDepth  = 64
	MaxValues = 200_000
	// maxNumberDigits bounds a number's text: longer ones are no quantity.
	maxNumberDigits = 64
	// manyMembers is where looking for a duplicate name turns from comparing
	// with each earlier one to a set.
	manyMembers = 48
)

type valueKind uint8

const (
	kindNull valueKind = iota + 1
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindArray
	kindObject
)

// span is a value's place in the body. Strings keep their quotes.
type span struct {
	start, end         int32
	nameStart, nameEnd int32 // a member's name without its quotes
	child, next        int32 // 0 is none: the root is nobody's child
	kind               valueKind
	escaped            bool
	nameEscaped        bool
}

// scanner reads a body once, strictly: encoding/json would take the last of two
// equal names, match names without regard to case, and repair broken UTF-8,
// each of which lets two readers of one signed body disagree about it.
type scanner struct {
	body  []byte
	at    int
	spans []span
}

// Scan checks that the body is one JSON value within the limits and returns it.
// The error is a *Fault. Values lean on the body, which must not change.
func Scan(body []byte) (Value, *Fault) {
	if len(body) > maxBody {
		return Value{}, Faultf(CodeBodyTooLarge, "the body is larger than %d bytes", maxBody)
	}
	if len(bytes.TrimLeft(body, blanks)) == 0 {
		return Value{}, Faultf(CodeJSONInvalid, "the body is empty; a JSON object is due")
	}
	if i := bytes.IndexByte(body, 0); i >= 0 {
		return Value{}, Faultf(CodeEncodingInvalid, "the body has a NUL byte at %d; send JSON in UTF-8 without it", i)
	}
	if !utf8.Valid(body) {
		return Value{}, Faultf(CodeEncodingInvalid, "the body is not valid UTF-8; send JSON in UTF-8")
	}
	s := &scanner{body: body, spans: make([]span, 0, 8+len(body)/20)}
	s.space()
	if _, f := s.value(0); f != nil {
		return Value{}, f
	}
	s.space()
	if s.at != len(body) {
		return Value{}, s.broken("more follows after the JSON value")
	}
	return Value{scan: s, known: true}, nil
}

// ScanObject is Scan of a body that must be an object.
func ScanObject(body []byte) (Value, *Fault) {
	v, f := Scan(body)
	if f == nil && !v.Object() {
		f = Faultf(CodeJSONInvalid, "the body is JSON, but not an object")
	}
	if f != nil && f.Code == CodeJSONInvalid && NeverJSON(body) {
		f.Text += "; a JSON object is due, not a form or a text"
	}
	return v, f
}

// NeverJSON tells what was never meant as JSON, a form or a page, from JSON that
// is broken.
func NeverJSON(body []byte) bool {
	b := bytes.TrimLeft(body, blanks)
	return len(b) > 0 && b[0] != '{' && b[0] != '['
}

const blanks = " \t\r\n"

// maxBody keeps offsets inside an int32; intake caps bodies far below it.
const maxBody = 64 << 20

func (s *scanner) broken(what string) *Fault {
	return Faultf(CodeJSONInvalid, "the body is not JSON: %s at byte %d", what, s.at)
}

func (s *scanner) space() {
	for s.at < len(s.body) {
		switch s.body[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.at < len(s.body) {
		return s.body[s.at]
	}
	return 0
}

// value scans the value that begins here and returns its index.
func (s *scanner) value(depth int) (int32, *Fault) {
	if depth > MaxDepth {
		return 0, Faultf(CodeNestingTooDeep, "the body is nested deeper than %d levels", MaxDepth)
	}
	if len(s.spans) >= MaxValues {
		return 0, Faultf(CodeTooManyValues, "the body has more than %d values", MaxValues)
	}
	i := int32(len(s.spans)) //nolint:gosec // at most MaxValues
	s.spans = append(s.spans, span{start: s.offset()})
	var f *Fault
	switch c := s.peek(); {
	case c == '{':
		s.spans[i].kind = kindObject
		f = s.object(i, depth)
	case c == '[':
		s.spans[i].kind = kindArray
		f = s.array(i, depth)
	case c == '"':
		s.spans[i].kind = kindString
		s.spans[i].escaped, f = s.text()
	case c == '-' || c >= '0' && c <= '9':
		s.spans[i].kind = kindNumber
		f = s.number()
	default:
		s.spans[i].kind, f = s.literal()
	}
	s.spans[i].end = s.offset()
	return i, f
}

func (s *scanner) offset() int32 { return int32(s.at) } //nolint:gosec // at most maxBody

func (s *scanner) object(parent int32, depth int) *Fault {
	s.at++
	s.space()
	if s.peek() == '}' {
		s.at++
		return nil
	}
	var last int32
	names := nameSet{s: s, parent: parent}
	for {
		if s.peek() != '"' {
			return s.broken("a member's name is due")
		}
		nameAt := s.at
		escaped, f := s.text()
		if f != nil {
			return f
		}
		from, to := int32(nameAt)+1, s.offset()-1 //nolint:gosec // at most maxBody
		s.space()
		if s.peek() != ':' {
			return s.broken("a colon is due")
		}
		s.at++
		s.space()
		i, f := s.value(depth + 1)
		if f != nil {
			return f
		}
		s.spans[i].nameStart, s.spans[i].nameEnd, s.spans[i].nameEscaped = from, to, escaped
		if names.repeats(i) {
			return Faultf(CodeDuplicateKey, "an object names the same member twice, the second time at byte %d", nameAt)
		}
		s.link(parent, &last, i)
		s.space()
		switch s.peek() {
		case ',':
			s.at++
			s.space()
		case '}':
			s.at++
			return nil
		default:
			return s.broken("a comma or the end of an object is due")
		}
	}
}

func (s *scanner) array(parent int32, depth int) *Fault {
	s.at++
	s.space()
	if s.peek() == ']' {
		s.at++
		return nil
	}
	var last int32
	for {
		i, f := s.value(depth + 1)
		if f != nil {
			return f
		}
		s.link(parent, &last, i)
		s.space()
		switch s.peek() {
		case ',':
			s.at++
			s.space()
		case ']':
			s.at++
			return nil
		default:
			return s.broken("a comma or the end of an array is due")
		}
	}
}

func (s *scanner) link(parent int32, last *int32, i int32) {
	if *last == 0 {
		s.spans[parent].child = i
	} else {
		s.spans[*last].next = i
	}
	*last = i
}

// text scans a string and tells whether it has escapes.
func (s *scanner) text() (escaped bool, f *Fault) {
	s.at++
	for s.at < len(s.body) {
		switch c := s.body[s.at]; {
		case c == '"':
			s.at++
			return escaped, nil
		case c == '\\':
			escaped = true
			if f := s.escape(); f != nil {
				return escaped, f
			}
		case c < 0x20:
			return escaped, s.broken("a bare control character in a string")
		default:
			s.at++
		}
	}
	return escaped, s.broken("a string without an end")
}

func (s *scanner) escape() *Fault {
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return nil
	case 'u':
		if s.at+5 > len(s.body) {
			return s.broken("a short \\u escape")
		}
		n, err := strconv.ParseUint(string(s.body[s.at+1:s.at+5]), 16, 16)
		if err != nil {
			return s.broken("a wrong \\u escape")
		}
		if n == 0 {
			return Faultf(CodeEncodingInvalid, "a string has a NUL character at byte %d; leave it out", s.at-1)
		}
		s.at += 5
		return nil
	}
	return s.broken("a wrong escape")
}

func (s *scanner) digits() bool {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

func (s *scanner) number() *Fault {
	from := s.at
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return s.broken("a digit is due")
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return s.broken("a digit is due")
		}
	}
	power := false
	if c := s.peek(); c == 'e' || c == 'E' {
		power = true
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return s.broken("a digit is due")
		}
	}
	tooLarge := s.at-from > maxNumberDigits
	if power && !tooLarge {
		_, err := strconv.ParseFloat(string(s.body[from:s.at]), 64)
		tooLarge = err != nil
	}
	if tooLarge {
		return Faultf(CodeNumberTooLarge, "a number at byte %d is too large", from)
	}
	return nil
}

func (s *scanner) literal() (valueKind, *Fault) {
	for _, l := range []struct {
		text string
		kind valueKind
	}{{"null", kindNull}, {"true", kindTrue}, {"false", kindFalse}} {
		if bytes.HasPrefix(s.body[s.at:], []byte(l.text)) {
			s.at += len(l.text)
			return l.kind, nil
		}
	}
	return 0, s.broken("a value is due")
}

// nameSet finds a name that an object has already.
type nameSet struct {
	s      *scanner
	parent int32
	seen   int
	many   map[string]struct{}
}

func (n *nameSet) repeats(i int32) bool {
	n.seen++
	if n.seen <= manyMembers {
		for j := n.s.spans[n.parent].child; j != 0; j = n.s.spans[j].next {
			if n.s.sameName(i, j) {
				return true
			}
		}
		return false
	}
	if n.many == nil {
		n.many = make(map[string]struct{}, 2*manyMembers)
		for j := n.s.spans[n.parent].child; j != 0; j = n.s.spans[j].next {
			n.many[n.s.name(j)] = struct{}{}
		}
	}
	name := n.s.name(i)
	_, found := n.many[name]
	n.many[name] = struct{}{}
	return found
}

func (s *scanner) sameName(i, j int32) bool {
	a, b := &s.spans[i], &s.spans[j]
	if a.nameEscaped || b.nameEscaped {
		return s.name(i) == s.name(j)
	}
	return bytes.Equal(s.body[a.nameStart:a.nameEnd], s.body[b.nameStart:b.nameEnd])
}

func (s *scanner) name(i int32) string {
	p := &s.spans[i]
	if p.nameEscaped {
		return unquote(s.body[p.nameStart-1 : p.nameEnd+1])
	}
	return string(s.body[p.nameStart:p.nameEnd])
}
