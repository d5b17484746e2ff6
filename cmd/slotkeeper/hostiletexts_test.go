package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// hostile are texts that would do something on a page, in a spreadsheet or to a
// reader's eyes, if one of the many places that show them forgot itself.
var hostile = []string{
	`<script>alert(1)</script>`,
	`"><img src=x onerror=alert(1)>`,
	`'><svg onload=alert(1)>`,
	`</title></textarea></select><iframe src="javascript:alert(1)">`,
	`{{.Secrets}} {{printf "%s" .}} ${7*7}`,
	`javascript:alert(1)//`,
	`=HYPERLINK("https://evil.example","click")`,
	"+1+cmd|' /C calc'!A0",
	"Priya \u202egnp.exe\u202c \u2066x\u2067",
	"NUL\x00 in between \u0007\u001b[31m",
	"👩🏽‍⚕️🏳️‍🌈 Zoë 名前 עברית",
	"line\r\nSet-Cookie: a=b\r\n\r\n<b>",
	strings.Repeat("long<b>", 1428) + "end", // 10,000 characters
}

// TestHostileTexts lets whoever signs a webhook put anything into every text that
// there is, and looks at it wherever it is shown.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic", "--name", `<b onclick=alert(1)>"desk"</b>`)
		kept := 0
		for i, text := range hostile {
			kept += tellHostile(t, a, i, text)
		}
		if kept < 2*len(hostile) {
			t.Fatalf("only %d bodies were applied", kept)
		}
		signedIn := s.signedIn(t)
		operator := s.token(t, "operate")
		paths := []string{
			"/calendar?date=2026-12-07&status=canceled&status=active&status=conflicted&status=pending", "/calendar?date=2026-12-07&view=week", "/calendar?date=2026-12-07&view=day",
			"/calendar?date=2026-12-07&view=month", "/calendar?date=2026-12-07&view=resources",
			"/audit?range=all&show=all", "/audit?view=admin", "/deliveries?range=all", "/conflicts?past=1", "/connections", "/resources",
			"/audit?q=" + url.QueryEscape(hostile[1]), "/deliveries?q=" + url.QueryEscape(hostile[0]) + "&kind=" + url.QueryEscape(hostile[2]),
		}
		var shown strings.Builder
		for _, b := range api[bookingItem](t, s, operator, "bookings") {
			paths = append(paths, "/bookings/"+b.ID.String())
		}
		for _, r := range api[struct{ ID string }](t, s, operator, "receipts") {
			paths = append(paths, "/deliveries/"+r.ID+"?body=1")
		}
		for _, x := range api[struct{ ID string }](t, s, operator, "transitions") {
			paths = append(paths, "/audit/"+x.ID+"?body=1")
		}
		for _, r := range api[struct{ ID string }](t, s, operator, "resources") {
			paths = append(paths, "/resources/"+r.ID)
		}
		for _, path := range paths {
			page := signedIn.page(t, path)
			inert(t, path, page)
			shown.WriteString(page)
		}
		// They are shown, not swallowed.
		for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "👩🏽‍⚕️🏳️‍🌈 Zoë 名前 עברית", "Priya \uFFFDgnp.exe"} {
			if !strings.Contains(shown.String(), want) {
				t.Errorf("no page shows %q", want)
			}
		}
		exports(t, signedIn)
		for _, list := range []string{"bookings", "transitions", "receipts", "resources", "slots"} {
			body := s.get(t, "/api/v1/"+list+"?limit=200", operator)
			if !json.Valid([]byte(body)) || strings.ContainsRune(body, 0) {
				t.Errorf("the API's %s are no JSON", list)
			}
		}
	})
}

// tellHostile posts bodies with the text in every place, and says how many became
// something: two bookings that want one slot, a cancel that came first, and an event
// of an unknown kind.
func tellHostile(t *testing.T, a connected, i int, text string) (kept int) {
	t.Helper()
	from := monday.Add(time.Duration(i) * time.Hour)
	send := func(kind, id string, said time.Time, change func(b map[string]any)) {
		t.Helper()
		var body map[string]any
		decode(t, string(genericBody(kind, id, "desk "+text, said, from, from.Add(30*time.Minute))), &body)
		b, ok := body["booking"].(map[string]any)
		if !ok {
			t.Fatalf("%v has no booking", body)
		}
		b["title"], b["location"] = text, text
		b["invitee"] = map[string]any{"name": text, "email": "priya.raman@mail.example", "phone": "+1" + text}
		if change != nil {
			change(b)
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		ack := a.must(t, raw)
		if slices.Contains([]string{"processed", "conflict", "rejected"}, ack.Status) {
			kept++
		}
	}
	id := "h" + string(rune('a'+i))
	said := time.Now().Add(-time.Hour)
	send("invitee.created", id+"1", said, nil)
	send("invitee.created", id+"2", said, func(b map[string]any) { b["location"] = "https://meet.example/" + text })
	send("invitee.canceled", id+"3", said.Add(time.Minute), nil)
	send("invitee.created", id+"3", said, nil)
	send(text, id+"4", said, nil)
	send("invitee.created", text, said, func(b map[string]any) { b["resource"] = "other " + id })
	return kept
}

// inert fails the test for whatever of a page would act, or turn what stands beside it.
func inert(t *testing.T, path, page string) {
	t.Helper()
	if strings.ContainsAny(page, "\x00\x07\x1b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") || !utf8.ValidString(page) {
		t.Errorf("%s has characters that do something to its reader", path)
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Errorf("%s has a value that the template refused", path)
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"iframe", "object", "embed", "base", "b"}, n.Data) || n.Data == "script" && n.FirstChild != nil {
			t.Errorf("%s has <%s>", path, n.Data)
		}
		for _, attr := range n.Attr {
			value := strings.ToLower(strings.TrimSpace(attr.Val))
			switch {
			case strings.HasPrefix(attr.Key, "on"), attr.Key == "style", attr.Key == "srcdoc":
				t.Errorf("%s has <%s %s>", path, n.Data, attr.Key)
			case attr.Key == "href" || attr.Key == "src" || attr.Key == "action" || attr.Key == "formaction":
				u, err := url.Parse(value)
				if err != nil || !slices.Contains([]string{"", "mailto", "tel", "https"}, u.Scheme) || u.Scheme == "https" && n.Data != "a" {
					t.Errorf("%s links to %q", path, attr.Val)
				}
			}
		}
	}
}

// exports are read as a spreadsheet and a program would.
func exports(t *testing.T, v *signedIn) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(v.page(t, "/audit/export.csv?range=all&show=all"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 2*len(hostile) {
		t.Errorf("the export has %d rows", len(rows))
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") || strings.ContainsRune(cell, 0) {
				t.Errorf("a spreadsheet would run %q", cell)
			}
		}
	}
	for line := range strings.Lines(v.page(t, "/audit/export.jsonl?range=all&show=all")) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil || strings.ContainsAny(line, "<>\x00") {
			t.Errorf("a line of the export is %q: %v", line, err)
		}
	}
}

// signedIn is somebody who is signed in without a browser.
type signedIn struct {
	*server
	http.Client
}

func (s *server) signedIn(t *testing.T) *signedIn {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &signedIn{s, http.Client{Jar: jar, Timeout: time.Minute}}
	resp, err := v.PostForm(s.url+"/signin", url.Values{"username": {"admin"}, "password": {adminPassword}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Request.URL.Path == "/signin" {
		t.Fatalf("signing in was answered %s", resp.Status)
	}
	return v
}

func (v *signedIn) page(t *testing.T, path string) string {
	t.Helper()
	resp, err := v.Get(v.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, resp.Body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s was answered %s\n%s", path, resp.Status, v.log)
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s has the policy %q", path, policy)
	}
	return b.String()
}
