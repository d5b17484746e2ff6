package providertest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Case is a post as the provider sends it.
type Case struct {
	// File of the body in testdata. Its golden delivery is
	// testdata/golden/<File>.delivery.json.
	File string
	// Header is what came with it. Nil: the adapter's Sign makes it.
	Header http.Header
	// SignatureHeader names the header that Sign must make alike, byte by byte,
	// when Header is given.
	SignatureHeader string
	// Secret that signed it; "" when nobody could verify it.
	Secret string
	// Now is when it arrives.
	Now time.Time
	// Hidden are texts in the body that Redact must take out.
	Hidden []string
	// Shown are texts in the body that Redact must leave.
	Shown []string
}

// Origin is where the suite's posts come in. Its e-mail keys are stable, so that
// golden files are.
func Origin(p providers.Provider) providers.Origin {
	id := uuid.MustParse("00000000-0000-4000-8000-00000000c0de")
	base := p.APIBase()
	if base == "" {
		base = id.String()
	}
	return providers.Origin{
		Source:       booking.Source{Provider: p.Name(), Base: base},
		ConnectionID: id,
		EmailKey: func(email string) string {
			m := hmac.New(sha256.New, []byte("pepper of the tests"))
			m.Write([]byte(email))
			return hex.EncodeToString(m.Sum(nil)[:12])
		},
	}
}

// Run is the suite.
func Run(t *testing.T, p providers.Provider, cases ...Case) {
	t.Helper()
	if len(cases) == 0 {
		t.Fatal("an adapter without fixtures is not tested")
	}
	mutate := map[booking.Kind]bool{}
	for _, c := range cases {
		t.Run(c.File, func(t *testing.T) {
			body := read(t, filepath.Join("testdata", c.File))
			if c.Secret == "" {
				refusesAll(t, p, c, body)
			} else {
				signatures(t, p, c, body)
			}
			d := golden(t, p, c, body)
			redacts(t, p, c, body)
			if (d.Event != nil || d.Block != nil || d.Status == booking.StatusPending) && !mutate[d.Kind] {
				mutate[d.Kind] = true
				mutated(t, p, body)
			}
		})
	}
	t.Run("junk", func(t *testing.T) { junk(t, p) })
	t.Run("another content type", func(t *testing.T) { contentType(t, p, cases[0]) })
	t.Run("selftest", func(t *testing.T) { selftest(t, p) })
	t.Run("cut short", func(t *testing.T) { cutShort(t, p, read(t, filepath.Join("testdata", cases[0].File))) })
}

// takesForms tells adapters whose posts are forms from those whose are JSON.
func takesForms(p providers.Provider) bool {
	return strings.HasPrefix(p.Sign(nil, "", time.Time{}).Get("Content-Type"), "application/x-www-form-urlencoded")
}

// contentType: proxies and senders get it wrong, and the signature does not cover
// it, so that it must not change what a body means.
func contentType(t *testing.T, p providers.Provider, c Case) {
	t.Helper()
	body := read(t, filepath.Join("testdata", c.File))
	want := p.Parse(providers.Request{Header: p.Sign(body, c.Secret, c.Now), Body: body}, Origin(p))
	for _, name := range []string{"", "text/plain", "application/json", "application/x-www-form-urlencoded; charset=utf-8", "multipart/form-data"} {
		header := p.Sign(body, c.Secret, c.Now)
		header.Set("Content-Type", name)
		got := p.Parse(providers.Request{Header: header, Body: body}, Origin(p))
		if got.EventKey != want.EventKey || got.Kind != want.Kind || got.Status != want.Status {
			t.Errorf("as %q the body is a %s %s, as itself a %s %s", name, got.Status, got.Kind, want.Status, want.Kind)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func refusesAll(t *testing.T, p providers.Provider, c Case, body []byte) {
	t.Helper()
	for _, s := range []providers.Secrets{{}, {Current: "a secret"}, {Current: "no-secret-provided"}} {
		if by, err := p.Verify(providers.Request{Header: c.Header, Body: body}, s, c.Now); err == nil {
			t.Errorf("a post that nobody signed was verified by %q", by)
		}
	}
}

func signatures(t *testing.T, p providers.Provider, c Case, body []byte) {
	t.Helper()
	signed := p.Sign(body, c.Secret, c.Now)
	header := c.Header
	if header == nil {
		header = signed
	} else if got, want := signed.Get(c.SignatureHeader), header.Get(c.SignatureHeader); got != want {
		t.Errorf("Sign made %s: %q, the provider sent %q", c.SignatureHeader, got, want)
	}
	altered := bytes.Clone(body)
	altered[len(altered)/2] ^= 1
	unsigned := http.Header{"Content-Type": signed["Content-Type"]}

	for _, v := range []struct {
		name    string
		header  http.Header
		body    []byte
		secrets providers.Secrets
		by      string
		err     error
	}{
		{"right", header, body, providers.Secrets{Current: c.Secret}, providers.ByCurrent, nil},
		{"right, rotating, the new one", header, body, providers.Secrets{Current: c.Secret, Previous: "the one before"}, providers.ByCurrent, nil},
		{"right, rotating, the old one", header, body, providers.Secrets{Current: "the one after", Previous: c.Secret}, providers.ByPrevious, nil},
		{"altered", header, altered, providers.Secrets{Current: c.Secret}, "", providers.ErrSignatureInvalid},
		{"longer", header, append(bytes.Clone(body), ' '), providers.Secrets{Current: c.Secret}, "", providers.ErrSignatureInvalid},
		{"empty body", header, nil, providers.Secrets{Current: c.Secret}, "", providers.ErrSignatureInvalid},
		{"unsigned", unsigned, body, providers.Secrets{Current: c.Secret}, "", providers.ErrSignatureMissing},
		{"wrong key", header, body, providers.Secrets{Current: c.Secret + "x", Previous: "x" + c.Secret}, "", providers.ErrSignatureInvalid},
		{"no key", header, body, providers.Secrets{}, "", providers.ErrSignatureInvalid},
		{"signed with an empty key", p.Sign(body, "", c.Now), body, providers.Secrets{}, "", providers.ErrSignatureInvalid},
		{"signed with an empty key beside a real one", p.Sign(body, "", c.Now), body, providers.Secrets{Current: c.Secret}, "", providers.ErrSignatureInvalid},
	} {
		by, err := p.Verify(providers.Request{Header: v.header, Body: v.body}, v.secrets, c.Now)
		if by != v.by || !errors.Is(err, v.err) {
			t.Errorf("%s: verified by %q (%v), want %q (%v)", v.name, by, err, v.by, v.err)
		}
	}
}

// golden compares the delivery with the one that was judged right, and gives it.
func golden(t *testing.T, p providers.Provider, c Case, body []byte) booking.Delivery {
	t.Helper()
	header := c.Header
	if header == nil {
		header = p.Sign(body, c.Secret, c.Now)
	}
	d := p.Parse(providers.Request{Header: header, Body: body}, Origin(p))
	CheckDelivery(t, d)
	if again := p.Parse(providers.Request{Header: header, Body: body}, Origin(p)); again.EventKey != d.EventKey {
		t.Errorf("a copy got another key: %s, then %s", d.EventKey, again.EventKey)
	}
	compare(t, filepath.Join("testdata", "golden", c.File+".delivery.json"), indented(t, d))
	return d
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// compare compares with a golden file, or writes it.
func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := read(t, file); !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", file, firstDifference(got, want))
	}
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			other := "(nothing)"
			if i < len(w) {
				other = w[i]
			}
			return "got  " + g[i] + "\nwant " + other
		}
	}
	return "the golden file is longer"
}

func redacts(t *testing.T, p providers.Provider, c Case, body []byte) {
	t.Helper()
	out := p.Redact(body)
	CheckRedaction(t, p, body)
	for _, secret := range c.Hidden {
		if !bytes.Contains(body, []byte(secret)) {
			t.Errorf("the fixture has no %q", secret)
		}
		if bytes.Contains(out, []byte(secret)) {
			t.Errorf("%q is still in the redacted body", secret)
		}
	}
	for _, text := range c.Shown {
		if !bytes.Contains(out, []byte(text)) {
			t.Errorf("%q was taken out of the redacted body", text)
		}
	}
}

// CheckDelivery checks what holds of every delivery that an adapter makes.
func CheckDelivery(t testing.TB, d booking.Delivery) {
	t.Helper()
	if d.Kind == "" || d.EventKey == "" {
		t.Errorf("kind %q and key %q must be set", d.Kind, d.EventKey)
	}
	if strings.Contains(d.EventKey, "@") {
		t.Errorf("an e-mail may stand in the key %q", d.EventKey)
	}
	if len(d.EventKey) > 1000 {
		t.Errorf("the key is %d bytes long", len(d.EventKey))
	}
	if (d.Event != nil || d.Block != nil) != (d.Status == "") || d.Event != nil && d.Block != nil {
		t.Errorf("status %q with event %v, block %v", d.Status, d.Event, d.Block)
	}
	if (d.Status == booking.StatusFailed) != (d.Code != "" && d.Error != "") {
		t.Errorf("status %q with code %q and text %q", d.Status, d.Code, d.Error)
	}
	if (d.Status == booking.StatusPending) != (d.Subject != "") || d.Poke && d.Status != booking.StatusPending {
		t.Errorf("status %q with subject %q, poke %t", d.Status, d.Subject, d.Poke)
	}
	switch d.Status {
	case "", booking.StatusFailed, booking.StatusIgnored, booking.StatusPending:
	default:
		t.Errorf("status %q is not an adapter's to give", d.Status)
	}
	if d.Event != nil {
		if d.Event.Kind != d.Kind || d.Event.Action() == "" {
			t.Errorf("event %s of delivery %s", d.Event.Kind, d.Kind)
		}
		checkEvent(t, d, false)
	}
	if d.Block != nil {
		checkBlock(t, d)
	}
}

func checkBlock(t testing.TB, d booking.Delivery) {
	t.Helper()
	b := d.Block
	if b.ExternalID == "" || b.Source.Provider == "" || b.Host.ExternalID == "" || b.At.Key != d.EventKey {
		t.Errorf("block %+v of delivery %q", b, d.EventKey)
	}
	checkTime(t, "At", &b.At.At)
	checkTime(t, "StartsAt", &b.StartsAt)
	checkTime(t, "EndsAt", &b.EndsAt)
	if !b.EndsAt.After(b.StartsAt) {
		t.Errorf("a block of no time: %s to %s", b.StartsAt, b.EndsAt)
	}
}

// checkEvent: what was fetched may tell of a no-show beside the rest.
func checkEvent(t testing.TB, d booking.Delivery, fetched bool) {
	t.Helper()
	e := d.Event
	if e.Key != d.EventKey {
		t.Errorf("event %q of delivery %q", e.Key, d.EventKey)
	}
	if e.ExternalID == "" || e.Session.ExternalID == "" || e.Source.Provider == "" {
		t.Errorf("no identity: %q in session %q of %s", e.ExternalID, e.Session.ExternalID, e.Source)
	}
	if e.Predecessor == e.ExternalID || e.Successor == e.ExternalID {
		t.Errorf("a booking follows itself: %q", e.ExternalID)
	}
	checkTime(t, "At", &e.At)
	checkTime(t, "BookedAt", e.BookedAt)
	checkTime(t, "StartsAt", e.Session.StartsAt)
	checkTime(t, "EndsAt", e.Session.EndsAt)
	if from, to := e.Session.StartsAt, e.Session.EndsAt; (from == nil) != (to == nil) {
		t.Errorf("half a window: %v to %v", from, to)
	} else if from != nil && (!to.After(*from) || to.Sub(*from) > booking.MaxLength) {
		t.Errorf("window %s to %s", from, to)
	}
	needTime := []booking.Kind{booking.KindCreated, booking.KindRequested, booking.KindMoved, booking.KindSnapshot}
	if e.Session.StartsAt == nil && slices.Contains(needTime, e.Kind) {
		t.Errorf("a %s without its time", e.Kind)
	}
	if e.Session.Capacity != nil && *e.Session.Capacity < 1 || e.Seats != nil && *e.Seats < 1 {
		t.Error("no seat at all")
	}
	if (e.Reason != booking.NoReason) != (e.Kind == booking.KindCanceled) {
		t.Errorf("reason %q of %s", e.Reason, e.Kind)
	}
	if !e.Shared && len(e.Attendees) > 1 || len(e.Attendees) > providers.MaxAttendees {
		t.Errorf("%d attendees", len(e.Attendees))
	}
	for _, a := range e.Attendees {
		if a.Email != booking.NormalizeEmail(a.Email) || (a.Email == "") != (a.Key == "") {
			t.Errorf("an attendee's e-mail is not in its one spelling, or has no key")
		}
		if (a.NoShow != nil) != (e.Kind == booking.KindNoShow) && !fetched {
			t.Errorf("no-show %v of %s", a.NoShow, e.Kind)
		}
	}
	for _, h := range e.Session.Hosts {
		if h.ExternalID == "" || h.Email != booking.NormalizeEmail(h.Email) || h.Named && h.Email != "" {
			t.Errorf("host %+v", h)
		}
	}
}

func checkTime(t testing.TB, name string, at *time.Time) {
	t.Helper()
	if at == nil {
		return
	}
	if at.IsZero() || at.Location() != time.UTC || !at.Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("%s is %s: not UTC in microseconds", name, at)
	}
}
