package web_test

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/BurntSushi/toml"
	"golang.org/x/net/html"
)

const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// wholesome checks what must hold of every page: the policy and nothing that it
// would block, structure that assistive technology needs, texts for every key.
func wholesome(t *testing.T, res answer, lang string) {
	t.Helper()
	if got := res.Header.Get("Content-Security-Policy"); got != policy {
		t.Errorf("policy is %q", got)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		"Content-Type": "text/html; charset=UTF-8",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	doc, err := html.Parse(strings.NewReader(res.body))
	if err != nil {
		t.Fatal(err)
	}
	p := &inspection{t: t, ids: map[string]int{}}
	p.walk(doc)
	p.finish(lang)
	for key := range messages(t, "en") {
		if strings.Contains(p.text.String(), key) {
			t.Errorf("the key %s shows", key)
		}
	}
	for _, bad := range []string{"ZgotmplZ", "<no value>", "%!", "0001-01-01", "hunter2", "planted-secret", "<b>bold</b>"} {
		if strings.Contains(res.body, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

type inspection struct {
	t        *testing.T
	text     strings.Builder
	ids      map[string]int
	refs     []string
	links    []string
	headings []int
	mains    int
	lang     string
	labels   []string
	fields   []string
}

func attr(n *html.Node, name string) (string, bool) {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if i < 0 {
		return "", false
	}
	return n.Attr[i].Val, true
}

func (p *inspection) walk(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		p.text.WriteString(n.Data + "\n")
	case html.ElementNode:
		p.element(n)
	default:
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		p.walk(c)
	}
}

func (p *inspection) element(n *html.Node) {
	for _, a := range n.Attr {
		if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
			p.t.Errorf("<%s> has the attribute %s, which the policy blocks", n.Data, a.Key)
		}
		if slices.Contains([]string{"href", "src", "action"}, a.Key) {
			// A link may lead elsewhere that tells nobody where it was clicked.
			rel, _ := attr(n, "rel")
			out := n.Data == "a" && rel == "noopener noreferrer" && strings.HasPrefix(a.Val, "https://")
			if u, err := url.Parse(a.Val); !out && (err != nil || u.Scheme != "" && u.Scheme != "mailto" && u.Scheme != "tel") {
				p.t.Errorf("<%s %s=%q> leaves the site", n.Data, a.Key, a.Val)
			}
			if strings.HasPrefix(a.Val, "/") && a.Key == "href" {
				p.links = append(p.links, a.Val)
			}
		}
		if a.Key == "id" {
			p.ids[a.Val]++
		}
		if strings.HasPrefix(a.Key, "aria-labelledby") || strings.HasPrefix(a.Key, "aria-describedby") {
			p.refs = append(p.refs, strings.Fields(a.Val)...)
		}
	}
	switch n.Data {
	case "html":
		p.lang, _ = attr(n, "lang")
	case "script":
		if _, external := attr(n, "src"); !external {
			p.t.Error("there is an inline script")
		}
	case "style":
		p.t.Error("there is an inline style sheet")
	case "main":
		p.mains++
	case "h1", "h2", "h3", "h4":
		p.headings = append(p.headings, int(n.Data[1]-'0'))
	case "img":
		if _, ok := attr(n, "alt"); !ok {
			p.t.Error("an image has no alt")
		}
	case "label":
		if id, ok := attr(n, "for"); ok {
			p.labels = append(p.labels, id)
		}
	case "input", "select", "textarea":
		kind, _ := attr(n, "type")
		id, _ := attr(n, "id")
		if kind != "hidden" && kind != "checkbox" {
			p.fields = append(p.fields, id)
		}
	}
}

func (p *inspection) finish(lang string) {
	if p.lang != lang {
		p.t.Errorf("the page is in %q, want %q", p.lang, lang)
	}
	if p.mains != 1 {
		p.t.Errorf("%d main elements", p.mains)
	}
	ones := 0
	for i, h := range p.headings {
		if h == 1 {
			ones++
		}
		if i > 0 && h > p.headings[i-1]+1 {
			p.t.Errorf("headings jump from h%d to h%d", p.headings[i-1], h)
		}
	}
	if ones != 1 {
		p.t.Errorf("%d h1 elements", ones)
	}
	for id, n := range p.ids {
		if n > 1 {
			p.t.Errorf("the id %s stands %d times", id, n)
		}
	}
	for _, id := range append(p.refs, p.labels...) {
		if p.ids[id] == 0 {
			p.t.Errorf("nothing has the id %s", id)
		}
	}
	for _, id := range p.fields {
		if !slices.Contains(p.labels, id) {
			p.t.Errorf("the field %q has no label", id)
		}
	}
}

// links of a page to pages of ours.
func links(t *testing.T, res answer) []string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(res.body))
	if err != nil {
		t.Fatal(err)
	}
	p := &inspection{t: t, ids: map[string]int{}}
	p.walk(doc)
	return p.links
}

// messages are a language's texts: by key, all plural forms in one.
func messages(t *testing.T, lang string) map[string]string {
	t.Helper()
	messagesRead.Lock()
	defer messagesRead.Unlock()
	if messagesRead.of[lang] == nil {
		messagesRead.of[lang] = readMessages(t, lang)
	}
	return messagesRead.of[lang]
}

// messagesRead is by language: every page that is looked at asks.
var messagesRead = struct {
	sync.Mutex
	of map[string]map[string]string
}{of: map[string]map[string]string{}}

func readMessages(t *testing.T, lang string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("locales/active." + lang + ".toml")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := toml.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for key, v := range all {
		switch v := v.(type) {
		case string:
			out[key] = v
		case map[string]any:
			for _, form := range []string{"one", "other"} {
				text, _ := v[form].(string)
				out[key] += text + "\n"
			}
		}
	}
	return out
}

var placeholder = regexp.MustCompile(`\{\{\.\w+\}\}`)
