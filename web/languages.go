package web

import (
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	xlanguage "golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"slotkeeper/booking"
	"slotkeeper/calendar"
)

//go:embed locales/*.toml
var localeFiles embed.FS

// language is one of the languages of the pages: its texts and its dates.
type language struct {
	tag       string
	localizer *i18n.Localizer
	dates     *dates
}

// languages are all of them; the first is the fallback.
type languages struct {
	all     []*language
	matcher xlanguage.Matcher
}

func loadLanguages() (*languages, error) {
	bundle := i18n.NewBundle(xlanguage.English)
	bundle.RegisterUnmarshalFunc("toml", toml.Unmarshal)
	var out languages
	var tags []xlanguage.Tag
	for _, l := range []struct {
		tag   xlanguage.Tag
		dates *dates
	}{{xlanguage.English, &englishDates}, {xlanguage.Indonesian, &indonesianDates}} {
		name := l.tag.String()
		if _, err := bundle.LoadMessageFileFS(localeFiles, "locales/active."+name+".toml"); err != nil {
			return nil, fmt.Errorf("web: messages of %s: %w", name, err)
		}
		tags = append(tags, l.tag)
		out.all = append(out.all, &language{tag: name, dates: l.dates, localizer: i18n.NewLocalizer(bundle, name)})
	}
	out.matcher = xlanguage.NewMatcher(tags)
	return &out, nil
}

// of is the language that a user chose, or the one that the browser asks for.
func (l *languages) of(chosen, accept string) *language {
	for _, have := range l.all {
		if have.tag == chosen {
			return have
		}
	}
	wanted, _, err := xlanguage.ParseAcceptLanguage(accept)
	if err != nil {
		return l.all[0]
	}
	_, i, _ := l.matcher.Match(wanted...)
	return l.all[i]
}

// check refuses a language that there are no texts for; "" is the browser's.
func (l *languages) check(tag string) error {
	for _, have := range l.all {
		if tag == "" || have.tag == tag {
			return nil
		}
	}
	return &booking.InvalidError{Field: "language", Detail: "there are no texts in that language"}
}

// options names each language in itself.
func (l *languages) options() []option {
	out := make([]option, len(l.all))
	for i, have := range l.all {
		out[i] = option{Value: have.tag, Label: have.t("language.name")}
	}
	return out
}

// t is the text under a key, with the values of name, value, … in it. A key that
// is missing shows itself; the tests see to it that none is.
func (l *language) t(key string, pairs ...any) string {
	return l.localize(&i18n.LocalizeConfig{MessageID: key, TemplateData: dataOf(pairs)}, key)
}

// n is the text under a key for a number of things, .Count in the text.
func (l *language) n(key string, count int, pairs ...any) string {
	data := dataOf(pairs)
	data["Count"] = count
	return l.localize(&i18n.LocalizeConfig{MessageID: key, TemplateData: data, PluralCount: count}, key)
}

// counted is n where the text has a form for one thing, and t of any other text.
func (l *language) counted(key string, count int, pairs ...any) string {
	data := dataOf(pairs)
	data["Count"] = count
	text, err := l.localizer.Localize(&i18n.LocalizeConfig{MessageID: key, TemplateData: data, PluralCount: count})
	if err != nil {
		return l.t(key, pairs...)
	}
	return text
}

func (l *language) localize(c *i18n.LocalizeConfig, key string) string {
	text, err := l.localizer.Localize(c)
	if err != nil && text == "" {
		return key
	}
	return text
}

func dataOf(pairs []any) map[string]any {
	data := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		data[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return data
}

// has tells whether there is a text under the key.
func (l *language) has(key string) bool {
	_, err := l.localizer.Localize(&i18n.LocalizeConfig{MessageID: key})
	return err == nil
}

// fieldErrors says in the viewer's language what is wrong with a field: of one that has
// no words of its own, that it is not valid. The error's own detail is English, and
// for programs.
func (l *language) fieldErrors(e *booking.InvalidError) map[string]string {
	key := "invalid." + e.Field
	if e.Field != "" && l.has(key) {
		return map[string]string{e.Field: l.t(key)}
	}
	return map[string]string{e.Field: l.t("invalid.other")}
}

// named is the text of a value of a set; what is not in the set shows as it is, in
// the set's words for others where it has them, as for a provider's own name of a
// kind.
func (l *language) named(set, value string) string {
	if value == "" {
		value = "none"
	}
	if key := set + "." + value; l.has(key) {
		return l.t(key)
	}
	if key := set + ".other"; l.has(key) {
		return l.t(key, "Name", value)
	}
	return value
}

// actor names who made a transition.
func (l *language) actor(a booking.Actor) string {
	kind, _, _ := strings.Cut(string(a), ":")
	return l.named("actor", kind)
}

// number is a whole number with the language's groups of three.
func (l *language) number(n int) string {
	return message.NewPrinter(xlanguage.Make(l.tag)).Sprint(number.Decimal(n))
}

// wait is how long to wait, in words: rounded up, so that whoever waits so long has
// waited long enough.
func (l *language) wait(d time.Duration) string {
	switch {
	case d <= 0:
		d = time.Minute
	case d > 59*time.Minute:
		return l.t("wait.while")
	}
	if seconds := int((d + time.Second - 1) / time.Second); seconds <= 10 {
		return l.n("wait.seconds", seconds)
	} else if seconds < 60 {
		return l.n("wait.seconds", (seconds+9)/10*10)
	}
	return l.n("wait.minutes", int((d+time.Minute-1)/time.Minute))
}

// zonesOf names the zone of a period: both, where clocks are changed in it.
func zonesOf(days []calendar.Day) string {
	first, last := zoneName(days[0].Start), zoneName(days[len(days)-1].End.Add(-time.Nanosecond))
	if first == last {
		return first
	}
	return first + "/" + last
}

// zoneName is the zone's abbreviation at an instant, or its distance from UTC
// where it has none.
func zoneName(t time.Time) string {
	name, _ := t.Zone()
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		if len(name) == len("+0545") {
			name = name[:3] + ":" + name[3:]
		}
		return "UTC" + name
	}
	return name
}
