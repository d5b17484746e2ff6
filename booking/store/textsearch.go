package store

import (
	"strings"
	"unicode"

	"slotkeeper/booking"
)

// inBooking is the condition that a booking has a text in it, in whatever case, as
// far as whoever asks sees it: what is hidden must not be found, or who searches
// often enough reads it. SQLite lowers ASCII only: there any other letter is found as
// it was typed.
func inBooking(text string, scope booking.Scope) condition {
	const shown = "b.title || ' ' || b.invitee_name || ' ' || b.invitee_email"
	text = storable(text)
	switch {
	case scope.HideNames: // a title may have a name in it, and so may a part of an id
		return withID(text, scope)
	case !scope.HidePhones:
		return contains(shown+" || ' ' || b.external_id", text)
	}
	// A part of an id may be a part of a number.
	found := []condition{withID(text, scope), contains(shown, text)}
	if strings.ContainsFunc(text, unicode.IsNumber) {
		found[1].sql += " AND " + digitsIn(shown) + " < ?"
		found[1].args = append(found[1].args, ownDigits)
		whole := notTheNumber(text)
		found = append(found, condition{"lower(b.invitee_email) = ? AND " + whole.sql, append([]any{strings.ToLower(text)}, whole.args...)})
	}
	var out condition
	for _, c := range found {
		out.sql += " OR (" + c.sql + ")"
		out.args = append(out.args, c.args...)
	}
	out.sql = "(" + strings.TrimPrefix(out.sql, " OR ") + ")"
	return out
}

// What is masked as a number: see booking.Scope.
const (
	// ownDigits is how many digits are masked at least: a text that has fewer shows
	// all of them, and may be found by them.
	ownDigits = 4
	// endDigits at a number's end are enough to tell it.
	endDigits = 6
)

// withID is the condition that a text is a booking's id.
func withID(text string, scope booking.Scope) condition {
	c := condition{"b.external_id = ?", []any{text}}
	if scope.HidePhones {
		not := notTheNumber(text)
		c = condition{c.sql + " AND " + not.sql, append(c.args, not.args...)}
	}
	return c
}

// notTheNumber is the condition that a text does not say the invitee's number, or a
// part of it.
func notTheNumber(text string) condition {
	digits := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
	if len(digits) < ownDigits {
		return condition{"1 = 1", nil}
	}
	abroad := strings.TrimLeft(digits, "0") // with the country's code it has none
	if len(abroad) < ownDigits {
		abroad = digits
	}
	number := "b.invitee_phone"
	for _, c := range "+ -()./" {
		number = "replace(" + number + ", '" + string(c) + "', '')"
	}
	return condition{
		"(" + number + " NOT LIKE ? AND (length(" + number + ") < ? OR ? NOT LIKE '%' || substr(" + number + ", length(" + number + ") - 5) || '%'))",
		[]any{pattern(abroad), endDigits, digits},
	}
}

func contains(in, text string) condition {
	return condition{
		`(lower(` + in + `) LIKE ? ESCAPE '\' OR ` + in + ` LIKE ? ESCAPE '\')`,
		[]any{pattern(strings.ToLower(text)), pattern(text)},
	}
}

// digitsIn counts the digits of a text.
func digitsIn(text string) string {
	without := text
	for _, d := range "0123456789" {
		without = "replace(" + without + ", '" + string(d) + "', '')"
	}
	return "length(" + text + ") - length(" + without + ")"
}

// pattern finds a text anywhere, whatever is in it.
func pattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
