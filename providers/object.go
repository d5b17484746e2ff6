package providers

import (
	"bytes"
	"encoding/json"
)

// MaxSnapshot is the most that a fetched answer may leave to keep.
const MaxSnapshot = 1 << 20

// Object writes a JSON object, member by member: of an answer only what is kept,
// and as it was written, so that a number keeps its digits and null stays null.
type Object struct{ out bytes.Buffer }

// Add writes a member whose value is JSON already.
func (o *Object) Add(name string, value []byte) {
	o.out.WriteByte("{,"[min(o.out.Len(), 1)])
	o.out.Write(quote(name))
	o.out.WriteByte(':')
	o.out.Write(value)
}

// AddText writes a member that is a text.
func (o *Object) AddText(name, text string) { o.Add(name, quote(text)) }

// Copy writes the members of those names that hold a plain value. What from does
// not have is not written either.
func (o *Object) Copy(from Value, names ...string) {
	for _, name := range names {
		if v := from.Get(name); v.Scalar() {
			o.Add(name, []byte(v.raw()))
		}
	}
}

// JSON is the object; nothing can be added afterwards.
func (o *Object) JSON() []byte {
	if o.out.Len() == 0 {
		return []byte("{}")
	}
	o.out.WriteByte('}')
	return o.out.Bytes()
}

func quote(text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // no string fails to marshal
		return []byte(`""`)
	}
	return quoted
}
