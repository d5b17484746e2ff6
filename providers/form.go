package providers

import (
	"bytes"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Limits of a form. The longest one seen of any provider has 4 fields and 90
// bytes.
const (
	maxForm       = 64 << 10
	maxFormFields = 64
)

// Form is a body of the type application/x-www-form-urlencoded.
type Form struct {
	fields []formField
}

type formField struct{ name, value string }

// ScanForm reads a form strictly: net/url would skip what it cannot read and keep
// every one of several equal names, so that two readers of one signed body could
// disagree about it. The error is a *Fault.
func ScanForm(body []byte) (Form, *Fault) {
	if len(body) > maxForm {
		return Form{}, Faultf(CodeBodyTooLarge, "the form is larger than %d bytes", maxForm)
	}
	if f := checkText(body); f != nil {
		return Form{}, f
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return Form{}, Faultf(CodeFormInvalid, "the body is empty; a form is due")
	}
	var form Form
	seen := map[string]struct{}{}
	for pair := range strings.SplitSeq(string(body), "&") {
		if len(form.fields) == maxFormFields {
			return Form{}, Faultf(CodeTooManyValues, "the form has more than %d fields", maxFormFields)
		}
		field, f := scanField(pair)
		if f != nil {
			return Form{}, f
		}
		if _, again := seen[field.name]; again {
			return Form{}, Faultf(CodeDuplicateKey, "the form names field %d twice", len(form.fields)+1)
		}
		seen[field.name] = struct{}{}
		form.fields = append(form.fields, field)
	}
	return form, nil
}

func checkText(text []byte) *Fault {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return Faultf(CodeEncodingInvalid, "the form has a NUL byte; send UTF-8 without it")
	}
	if !utf8.Valid(text) {
		return Faultf(CodeEncodingInvalid, "the form is not valid UTF-8; send UTF-8")
	}
	return nil
}

func scanField(pair string) (formField, *Fault) {
	rawName, rawValue, found := strings.Cut(pair, "=")
	name, nameErr := url.QueryUnescape(rawName)
	value, valueErr := url.QueryUnescape(rawValue)
	if !found || nameErr != nil || valueErr != nil || !isFieldName(name) {
		return formField{}, Faultf(CodeFormInvalid, "the body is not a form; fields such as action=scheduled&id=1 are due, not JSON or a text")
	}
	if f := checkText([]byte(value)); f != nil {
		return formField{}, f
	}
	return formField{name: name, value: value}, nil
}

// isFieldName keeps a JSON text or a page with an equals sign in it from passing
// for a form.
func isFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("_-.[]", r)
	})
}

// Get is the field's value without the blanks around it; "" when there is none.
func (f Form) Get(name string) string {
	for _, field := range f.fields {
		if field.name == name {
			return strings.TrimSpace(field.value)
		}
	}
	return ""
}

// JSON is the form as an object of texts in the order of the fields, for people
// and for redaction.
func (f Form) JSON() []byte {
	var out Object
	for _, field := range f.fields {
		out.AddText(field.name, field.value)
	}
	return out.JSON()
}
