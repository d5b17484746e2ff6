package main

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"slotkeeper/booking/account"
)

// hops is what connections test prints.
type hops struct {
	selftestJSON
	err error // how the command ended
}

// selftest runs connections test with some settings changed.
func (s *server) selftest(t *testing.T, id uuid.UUID, env ...string) hops {
	t.Helper()
	other := *s
	other.env = append(slices.Clone(s.env), env...)
	out, err := other.try(t, "", "connections", "test", id.String(), "--json")
	h := hops{err: err}
	decode(t, out, &h.selftestJSON)
	if h.OK != (err == nil) || h.ConnectionID != id || h.SentFrom == "" {
		t.Errorf("it says %+v and ends with %v", h.selftestJSON, err)
	}
	for _, hop := range h.Hops {
		if hop.Detail == "" || !hop.OK && hop.Remedy == "" {
			t.Errorf("a hop says nothing of what was found, or what to do: %+v", hop)
		}
	}
	return h
}

func (h hops) names() []account.HopName {
	var out []account.HopName
	for _, hop := range h.Hops {
		out = append(out, account.HopName(hop.Name))
	}
	return out
}

// wants a hop that went so, and whose texts say something.
func (h hops) wants(t *testing.T, name account.HopName, ok bool, says string) {
	t.Helper()
	for _, hop := range h.Hops {
		if hop.Name == string(name) {
			if hop.OK != ok || !strings.Contains(hop.Detail+" "+hop.Remedy, says) {
				t.Errorf("%s is %t, want %t with %q: %s → %s", name, hop.OK, ok, says, hop.Detail, hop.Remedy)
			}
			return
		}
	}
	t.Errorf("no hop is called %s: %+v", name, h.Hops)
}

// ends with a hop that failed and whose texts say something.
func (h hops) ends(t *testing.T, name account.HopName, says string) {
	t.Helper()
	h.wants(t, name, false, says)
	if names := h.names(); len(names) == 0 || names[len(names)-1] != name {
		t.Errorf("after %s came %v", name, names)
	}
}

// TestConnectionsTest follows a selftest of each provider into the database, where
// it is ignored and makes no connection look alive.
func TestConnectionsTest(t *testing.T) {
	t.Parallel()
	long(t)
	onBoth(t, func(t *testing.T, s *server) {
		key := s.token(t, "operate")
		for _, args := range [][]string{
			{"generic"}, {"calendly"}, {"calcom"}, {"acuity", "--api-user", acuityUser, "--api-key", acuityKey, "--api-url", "http://127.0.0.1:1"},
		} {
			a := s.connect(t, args[0], args[1:]...)
			h := s.selftest(t, a.id)
			way := []account.HopName{account.HopAddress, account.HopConnect, account.HopPost, account.HopAnswer, account.HopReceipt}
			if names := h.names(); !slices.Equal(names[:min(len(way), len(names))], way) {
				t.Fatalf("%s went %v", args[0], names)
			}
			h.wants(t, account.HopAddress, true, "this machine alone")
			h.wants(t, account.HopPost, true, "not from the provider")
			h.wants(t, account.HopPost, true, "a firewall")
			if args[0] == "acuity" { // whose API cannot be reached
				h.ends(t, account.HopAPI, "")
			} else if len(h.Hops) != len(way) || !h.OK {
				t.Errorf("%s: %+v", args[0], h.Hops)
			}
			receipts := api[receiptItem](t, s, key, "receipts?connection_id="+a.id.String())
			if len(receipts) != 1 || receipts[0].Kind != "selftest" || receipts[0].Status != "ignored" {
				t.Errorf("%s left %+v", args[0], receipts)
			}
		}
		for _, k := range s.doctor(t).Checks {
			if strings.HasPrefix(k.Name, "connection ") && !strings.Contains(k.Detail, "nothing came yet") {
				t.Errorf("after a selftest %s is said to be alive: %s", k.Name, k.Detail)
			}
		}
		a := s.connect(t, "generic")
		if text := s.run(t, "connections", "test", a.id.String()); !strings.Contains(text, "ok       receipt: ") || strings.Contains(text, a.secret) {
			t.Errorf("for people it says\n%s", text)
		}
		s.refuses(t, "connections", "test", "0190a2b4-0000-7000-8000-000000000000")
		s.refuses(t, "connections", "test", "x")
		wrongWays(t, s, a)
		s.stop(t)
		s.selftest(t, a.id).ends(t, account.HopConnect, "nothing listens there")
		s.run(t, "connections", "disconnect", a.id.String())
		if complaint := s.refuses(t, "connections", "test", a.id.String()); !strings.Contains(complaint, "disconnected") {
			t.Errorf("a connection that was ended: %s", complaint)
		}
	})
}

// wrongWays leads the public URL where posts do not arrive as they were sent.
func wrongWays(t *testing.T, s *server, a connected) {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	through := func(change func(r *httputil.ProxyRequest)) http.Handler {
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			change(r)
		}}
	}
	for name, c := range map[string]struct {
		front http.Handler
		hop   account.HopName
		says  string
	}{
		"takes the signature away": {through(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Signature") }), account.HopAnswer, "takes the signature's header away"},
		"changes the signature":    {through(func(r *httputil.ProxyRequest) { r.Out.Header.Set("X-Signature", strings.Repeat("0", 64)) }), account.HopAnswer, "changes the body"},
		"changes the path":         {through(func(r *httputil.ProxyRequest) { r.Out.URL.Path = "/webhooks/generic/" + uuid.NewString() }), account.HopAnswer, "does not know the connection"},
		"answers by itself": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<h1>Welcome</h1>"))
		}), account.HopAnswer, "something else than Slotkeeper"},
		"wants a password": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), account.HopAnswer, "stands in front"},
		"sends elsewhere":  {http.RedirectHandler("https://bookings.example/elsewhere?key=planted", http.StatusMovedPermanently), account.HopAnswer, "https://bookings.example/elsewhere"},
	} {
		front := httptest.NewServer(c.front)
		h := s.selftest(t, a.id, "SLOTKEEPER_PUBLIC_URL="+front.URL)
		front.Close()
		h.ends(t, c.hop, c.says)
		if b, err := json.Marshal(h.Hops); err != nil || strings.Contains(string(b), "planted") {
			t.Errorf("%s: %s %v", name, b, err)
		}
	}
	s.selftest(t, a.id, "SLOTKEEPER_PUBLIC_URL=http://bookings.invalid").ends(t, account.HopAddress, "check the host")
	s.selftest(t, a.id, "SLOTKEEPER_PUBLIC_URL=http://127.0.0.1:1").ends(t, account.HopConnect, "nothing listens there")
	other := newServer(t, "")
	s.selftest(t, a.id, "SLOTKEEPER_PUBLIC_URL="+other.url).ends(t, account.HopAnswer, "another database")

	secure := httptest.NewUnstartedServer(through(func(*httputil.ProxyRequest) {}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it is refused on purpose
	secure.StartTLS()
	t.Cleanup(secure.Close)
	s.selftest(t, a.id, "SLOTKEEPER_PUBLIC_URL="+secure.URL).ends(t, account.HopTLS, "example.com")
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(trusted, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.selftest(t, a.id, "SLOTKEEPER_PUBLIC_URL="+secure.URL, "SSL_CERT_FILE="+trusted)
	h.wants(t, account.HopTLS, true, "127.0.0.1")
	h.wants(t, account.HopReceipt, true, "")
}
