package web

import (
	"net/url"
	"strings"
	"unicode"
)

// What providers send as a phone number is what people typed. A link needs digits:
// of an international number all of it, of another what can be dialled where it was
// typed.
const (
	minDialled = 3 // an emergency number
	minE164    = 7
	maxE164    = 15
)

// dial is a phone number as tel: links have it, "" for what cannot be dialled.
func dial(phone string) string {
	if n := international(phone); n != "" {
		return "+" + n
	}
	if n := digits(withoutExtension(phone)); len(n) >= minDialled && len(n) <= maxE164 && !strings.HasPrefix(strings.TrimSpace(phone), "+") {
		return n
	}
	return ""
}

// international is the number after its plus (E.164), "" for one that does not say
// which country it is of: nobody could tell which that is.
func international(phone string) string {
	phone = strings.TrimSpace(withoutExtension(phone))
	rest, ok := strings.CutPrefix(phone, "+")
	if !ok {
		if rest, ok = strings.CutPrefix(phone, "00"); !ok {
			return ""
		}
	}
	// +44 (0)20 …: the zero is for those within the country.
	n := digits(strings.Replace(rest, "(0)", "", 1))
	if len(n) < minE164 || len(n) > maxE164 || n[0] == '0' {
		return ""
	}
	return n
}

// withoutExtension leaves out what is dialled once somebody has answered.
func withoutExtension(phone string) string {
	for _, mark := range []string{"ext", "x", "#"} {
		phone, _, _ = strings.Cut(strings.ToLower(phone), mark)
	}
	return phone
}

// digits are those of a number, "" where something stands between them that belongs
// to no number.
func digits(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			out.WriteRune(r)
		case unicode.IsSpace(r), strings.ContainsRune("-./()‐‑–", r):
		default:
			return ""
		}
	}
	return out.String()
}

// webPage is a text that is the address of a page, "" for any other. Only http and
// https lead to one: what else a body may call a link is not followed.
func webPage(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}
