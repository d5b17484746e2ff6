package booking

import (
	"math"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// hidden stands for what was taken out of a text.
const hidden = "—"

// What people put between the digits of a phone number; more is another number.
const between = `(?:[\s\p{Z}\p{Pd}\p{Cf}().\-/\x{2212}·•_*+]{0,4}|,)`

var (
	emailInText = regexp.MustCompile(`[^\s<>()"',;:]+[@＠][^\s<>()"',;:]+`)
	wordInText  = regexp.MustCompile(`[\p{L}\p{M}\p{N}\p{Cf}]+`)
	numbers     = regexp.MustCompile(`[+＋]?\(?\p{Nd}(?:` + between + `\p{Nd})*`)
	// Whatever follows is a number, or a part of one, however short.
	dialed = regexp.MustCompile(`(?i)\b(tel|telp|callto|sms|smsto|whatsapp|facetime)\s*[:：][\s\p{Z}]*[^\s\p{Z}]*(?:[^\p{L}\n]*\p{Nd})*`)
	// An address of the web ends where a space of any kind is.
	webAddress = regexp.MustCompile(`(?i)https?://[^\s\p{Z}<>"]+`)
	// Addresses that are there to have a number called.
	dialing = regexp.MustCompile(`(?i)^https?://([a-z0-9-]+\.)*(wa\.me|whatsapp\.com|signal\.me|t\.me/\+)|[?&;/](phone|phone_?number|tel|mobile|msisdn|number)=`)
)

// How many digits make a number.
const (
	// phoneDigits is from when on digits are a phone number, whoever's.
	phoneDigits = 7
	// ownDigits is from when on they are the invitee's, when they are in it.
	ownDigits = 4
	// surelyOwn is from when on an id or an address has the invitee's number in it,
	// and not some digits that are there as well.
	surelyOwn = 6
	// nationalDigits are those at a number's end that it has with and without the
	// country's code.
	nationalDigits = 8
)

// masker takes out of texts what a scope hides of some people. It rather takes too
// much: what it leaves is on pages of who must not see it.
type masker struct {
	scope  Scope
	words  []string // of names, folded
	phones []string // digits
}

func (s Scope) masker(who ...Person) masker {
	m := masker{scope: s}
	for _, p := range who {
		if s.HideNames {
			local, _, _ := strings.Cut(p.Email, "@")
			m.named(p.Name, 1)
			m.named(local, leastPart)
		}
		if d := strings.TrimLeft(digits(p.Phone), "0"); s.HidePhones && len(d) >= ownDigits {
			m.phones = append(m.phones, d)
		}
	}
	return m
}

// named adds the words of a name that have so many letters, and all in one.
func (m *masker) named(name string, least int) {
	words := wordInText.FindAllString(name, -1)
	if len(words) > 1 {
		words = append(words, strings.Join(words, ""))
	}
	for _, w := range words {
		if w = fold(w); utf8.RuneCountInString(w) >= least && w != "" {
			m.words = append(m.words, w)
		}
	}
}

// text takes out of a provider's text what is hidden: Cal.com writes an invitee's
// name into every title, and a phone number is the place of a call.
func (m masker) text(text string) string {
	if m.scope.HidePhones {
		text = m.withoutNumbers(text)
	}
	return m.withoutNames(text)
}

// id is an id that may have been made of a name, an address or a number.
func (m masker) id(id string) string {
	if m.carries(id) {
		return hidden
	}
	return m.withoutNames(id)
}

func (m masker) withoutNames(text string) string {
	if !m.scope.HideNames || text == "" {
		return text
	}
	text = emailInText.ReplaceAllString(text, hidden)
	return wordInText.ReplaceAllStringFunc(text, func(w string) string {
		if m.isName(fold(w)) {
			return hidden
		}
		return w
	})
}

// leastPart is how many letters of a name another word must have in it to be taken
// for it: "Heinzmanns" is Heinzmann's, and "Bob" not Bo's.
const leastPart = 3

// isName tells whether a folded word has a name in it or is a part of one.
func (m masker) isName(word string) bool {
	long := utf8.RuneCountInString(word)
	for _, name := range m.words {
		letters := utf8.RuneCountInString(name)
		switch {
		case word == name,
			letters >= leastPart && strings.Contains(word, name),
			letters > leastPart && strings.Contains(word, stem(name)),
			long >= leastPart && (strings.HasPrefix(name, word) || strings.HasSuffix(name, word)),
			long > leastPart && strings.Contains(name, word),
			unspaced(name) && shares(word, name):
			return true
		}
	}
	return false
}

// stem is what stays of a word when its end is another: Kennedy, the Kennedies.
func stem(word string) string {
	_, last := utf8.DecodeLastRuneInString(word)
	if utf8.RuneCountInString(word) <= leastPart+1 {
		return word
	}
	return word[:len(word)-last]
}

// unspaced tells that a word is of a script that puts no spaces between words.
func unspaced(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	})
}

// shares tells whether two letters follow one another in both words.
func shares(word, name string) bool {
	letters := []rune(name)
	if len(letters) == 1 {
		return strings.Contains(word, name)
	}
	for i := range len(letters) - 1 {
		if strings.Contains(word, string(letters[i:i+2])) {
			return true
		}
	}
	return false
}

// sameLetters are letters that people write for others.
var sameLetters = strings.NewReplacer("ß", "ss", "ς", "σ", "ı", "i", "ł", "l", "đ", "d", "ø", "o", "œ", "o", "æ", "a", "ae", "a", "oe", "o", "ue", "u")

// fold is a word as it is compared: without case, marks, and what does not show.
// Providers send one name composed and another time decomposed.
func fold(word string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(norm.NFKC.String(word))) {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			out.WriteRune(r)
		}
	}
	return sameLetters.Replace(norm.NFC.String(out.String()))
}

// withoutNumbers leaves the addresses of meetings, which have numbers too.
func (m masker) withoutNumbers(text string) string {
	text = dialed.ReplaceAllString(text, "$1:"+hidden)
	var out strings.Builder
	last := 0
	for _, at := range webAddress.FindAllStringIndex(text, -1) {
		out.WriteString(m.withoutRuns(text[last:at[0]]))
		if address := text[at[0]:at[1]]; dialing.MatchString(address) || m.carries(address) {
			out.WriteString(hidden)
		} else {
			out.WriteString(address)
		}
		last = at[1]
	}
	out.WriteString(m.withoutRuns(text[last:]))
	return out.String()
}

func (m masker) withoutRuns(text string) string {
	whole := false
	out := numbers.ReplaceAllStringFunc(text, func(run string) string {
		if d := digits(run); len(d) >= phoneDigits || m.own(d) {
			whole = whole || m.carries(run)
			return hidden
		}
		return run
	})
	if !whole && m.carries(text) { // with something between that nobody thought of
		return hidden
	}
	return out
}

// own tells whether digits are of an invitee's number: all of it, or some of it.
func (m masker) own(d string) bool {
	if len(d) < ownDigits {
		return false
	}
	abroad := strings.TrimLeft(d, "0")
	for _, p := range m.phones {
		if strings.Contains(p, d) || len(abroad) >= ownDigits && strings.Contains(p, abroad) || strings.Contains(d, national(p)) {
			return true
		}
	}
	return false
}

// carries tells whether an invitee's number is in a text, whatever stands between
// its digits.
func (m masker) carries(text string) bool {
	if len(m.phones) == 0 {
		return false
	}
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	all := digits(text)
	for _, p := range m.phones {
		n := national(p)
		if len(n) >= surelyOwn && strings.Contains(all, n) {
			return true
		}
		for _, run := range numbers.FindAllString(text, -1) {
			if strings.TrimLeft(digits(run), "0") == p {
				return true
			}
		}
	}
	return false
}

func national(number string) string { return number[max(0, len(number)-nationalDigits):] }

// digits are those of a text, of whatever script, as ASCII.
func digits(text string) string {
	var out strings.Builder
	for _, r := range norm.NFKC.String(text) {
		if r < utf8.RuneSelf {
			if '0' <= r && r <= '9' {
				out.WriteRune(r)
			}
			continue
		}
		if d, ok := digit(r); ok {
			out.WriteByte(d)
		}
	}
	return out.String()
}

// digit finds what a digit of another script is worth: in Unicode the ten of each
// follow one another.
func digit(r rune) (byte, bool) {
	if r <= math.MaxUint16 {
		for _, ten := range unicode.Nd.R16 {
			if rune(ten.Lo) <= r && r <= rune(ten.Hi) {
				return "0123456789"[(r-rune(ten.Lo))%10], true
			}
		}
		return 0, false
	}
	for _, ten := range unicode.Nd.R32 {
		if rune(ten.Lo) <= r && r <= rune(ten.Hi) { //nolint:gosec // code points fit
			return "0123456789"[(r-rune(ten.Lo))%10], true //nolint:gosec // code points fit
		}
	}
	return 0, false
}
