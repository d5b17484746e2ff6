package providers

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"
)

// Value is a JSON value of a scanned body, or nothing when the body has none
// there: every method then answers as for a value of another type, so that an
// adapter can ask for what may be absent, null or of an unexpected type. Names
// are matched exactly, as the providers' own senders write them.
type Value struct {
	scan  *scanner
	at    int32
	known bool
}

func (v Value) span() *span { return &v.scan.spans[v.at] }

func (v Value) is(k valueKind) bool { return v.known && v.span().kind == k }

// Present tells whether the body has the value at all, null included.
func (v Value) Present() bool { return v.known }

// Null tells whether the value is null. What is absent is not null.
func (v Value) Null() bool { return v.is(kindNull) }

// Said tells whether the body has a value that is not null.
func (v Value) Said() bool { return v.known && !v.Null() }

// Object tells whether the value is an object.
func (v Value) Object() bool { return v.is(kindObject) }

// Get is the member of that name; following several names in turn.
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		v = v.member(name)
	}
	return v
}

func (v Value) member(name string) Value {
	if !v.Object() {
		return Value{}
	}
	for i := v.span().child; i != 0; i = v.scan.spans[i].next {
		p := &v.scan.spans[i]
		if p.nameEscaped {
			if v.scan.name(i) == name {
				return Value{scan: v.scan, at: i, known: true}
			}
		} else if string(v.scan.body[p.nameStart:p.nameEnd]) == name {
			return Value{scan: v.scan, at: i, known: true}
		}
	}
	return Value{}
}

// Array tells whether the value is an array.
func (v Value) Array() bool { return v.is(kindArray) }

// Items are an array's values in order; of anything else there are none.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if !v.is(kindArray) {
			return
		}
		for i := v.span().child; i != 0; i = v.scan.spans[i].next {
			if !yield(Value{scan: v.scan, at: i, known: true}) {
				return
			}
		}
	}
}

// Text is a string's text; "" of anything else.
func (v Value) Text() string {
	if !v.is(kindString) {
		return ""
	}
	p := v.span()
	if p.escaped {
		return unquote(v.scan.body[p.start:p.end])
	}
	return string(v.scan.body[p.start+1 : p.end-1])
}

// Bool is a truth value; ok is false of anything else.
func (v Value) Bool() (b, ok bool) { return v.is(kindTrue), v.is(kindTrue) || v.is(kindFalse) }

// Number is a number's text as the body writes it; "" of anything else.
func (v Value) Number() string {
	if !v.is(kindNumber) {
		return ""
	}
	return v.raw()
}

// Whole is a number without a fraction; ok is false of anything else.
func (v Value) Whole() (n float64, ok bool) {
	if !v.is(kindNumber) {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.raw(), 64)
	return n, err == nil && math.Trunc(n) == n
}

// Scalar tells whether the value is a string, a number, a truth value or null.
func (v Value) Scalar() bool { return v.known && !v.is(kindArray) && !v.is(kindObject) }

func (v Value) raw() string {
	p := v.span()
	return string(v.scan.body[p.start:p.end])
}

// unquote decodes a string that the scanner has checked. Half a surrogate pair
// becomes U+FFFD: JavaScript senders cut strings anywhere, and a booking must
// not be lost to half an emoji.
func unquote(quoted []byte) string {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return ""
	}
	return s
}
