package acuity

import (
	"strings"
	"unicode/utf8"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// How much is kept of an appointment's forms, in bytes of text: a long intake form
// has some ten thousand.
const (
	maxFormText = 16 << 10 // of one answer
	maxForms    = 128 << 10
	maxFields   = 500
)

// TellsForms says that appointments come with their intake forms.
func (*Provider) TellsForms() {}

// formsOf are an appointment's intake forms and notes; nil where the connection does
// not have them kept, or the answer does not say any.
func formsOf(answer providers.Value, c providers.Connection) *booking.Forms {
	if !c.KeepForms || !answer.Get("forms").Array() && !answer.Get("notes").Said() {
		return nil
	}
	r := formReader{left: maxForms, fields: maxFields}
	r.out.Notes = r.text(answer.Get("notes"))
	for form := range answer.Get("forms").Items() {
		one := booking.Form{Name: r.text(form.Get("name"))}
		for v := range form.Get("values").Items() {
			if r.fields--; r.fields < 0 {
				r.out.Cut = true
				break
			}
			one.Fields = append(one.Fields, booking.FormField{Name: r.text(v.Get("name")), Value: r.text(v.Get("value"))})
		}
		if one.Name != "" || len(one.Fields) > 0 {
			r.out.Filled = append(r.out.Filled, one)
		}
	}
	return &r.out
}

// formReader takes texts until there are too many.
type formReader struct {
	out          booking.Forms
	left, fields int
}

// text is a text with its lines, or a number as it is written.
func (r *formReader) text(v providers.Value) string {
	s := strings.TrimSpace(strings.ReplaceAll(v.Text(), "\r\n", "\n"))
	if s == "" {
		s = v.Number()
	}
	if most := min(maxFormText, r.left); len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s, r.out.Cut = s[:most], true
	}
	r.left -= len(s)
	return s
}
