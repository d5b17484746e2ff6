package providers_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slotkeeper/providers"
)

func client(t testing.TB, allowed string, tempo providers.Tempo) *http.Client {
	t.Helper()
	hosts, err := providers.ParseAllowedHosts(allowed)
	if err != nil {
		t.Fatal(err)
	}
	c := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: tempo, Now: time.Now})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(c *http.Client, address string) (providers.Value, error) {
	v, _, err := providers.Call{
		Method: http.MethodGet, URL: address, Header: http.Header{"Authorization": {"Bearer the key"}}, MaxAnswer: 1 << 10, Secrets: []string{"the key"},
	}.Do(context.Background(), c)
	return v, err
}

func TestPublicAddresses(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "52.13.160.248", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"} {
		if !providers.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.8.9.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.192", "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "168.63.129.16", "192.0.2.1", "203.0.113.9",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1",
		"169.254.170.2", "169.254.0.1", "100.127.255.255", "::ffff:0.0.0.0", "::ffff:169.254.169.254", "::ffff:100.64.0.1", "::ffff:168.63.129.16",
		"::ffff:0:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::6440:1", "fd20:ce::254", "febf::1", "5f00::1", "2001:0:7f00:1::", "3fff::1", "ff0e::1",
	} {
		if providers.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	var reached atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = w.Write([]byte(`{}`)) // the client sees what is missing
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, allowed string
		ok            bool
	}{
		{"127.0.0.1", "", false},
		{"localhost", "", false}, // a name, resolved when it is dialed
		{"[::ffff:127.0.0.1]", "", false},
		{"0.0.0.0", "", false},
		{"127.0.0.1", "localhost", false},
		{"localhost", "127.0.0.1", false},
		{"127.0.0.1", "127.0.0.1:1", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "other.example 127.0.0.1:" + port, true},
		{"localhost", "LocalHost.", true},
		{"localhost", "a.example,localhost:" + port, true},
		{"LOCALHOST", "localhost", true},
	} {
		reached.Store(0)
		_, err := get(client(t, c.allowed, 1), "http://"+c.host+":"+port+"/")
		var refused *providers.AddressError
		if (err == nil) != c.ok || (reached.Load() > 0) != c.ok || !c.ok && !errors.As(err, &refused) {
			t.Errorf("%s with %q allowed: %v", c.host, c.allowed, err)
		}
		if !c.ok && !strings.Contains(err.Error(), "SLOTKEEPER_ALLOW_PRIVATE_HOSTS") {
			t.Errorf("the error does not name the setting: %v", err)
		}
	}
}

func TestAllowedHostsAreChecked(t *testing.T) {
	for _, list := range []string{"http://a.example", "10.0.0.0/8", "a.example:0", "a.example:http", "a.example:99999", "*.example", "user@a.example", ":8080"} {
		if _, err := providers.ParseAllowedHosts(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
	for _, list := range []string{"", " , ", "a.example", "a.example:8443, [fd00::7]:443 fd00::8"} {
		if _, err := providers.ParseAllowedHosts(list); err != nil {
			t.Errorf("%q: %v", list, err)
		}
	}
}

func TestRedirectsStayAtTheHost(t *testing.T) {
	var secret atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		secret.Store(r.Header.Get("Authorization") != "")
	}))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/there", http.StatusMovedPermanently)
		default:
			_, _ = w.Write([]byte(`{"here":1}`)) // the client sees what is missing
		}
	}))
	t.Cleanup(s.Close)
	c := client(t, "127.0.0.1", 100)
	for path, want := range map[string]error{"/away": providers.ErrRedirected, "/round": providers.ErrRedirected, "/here": nil} {
		if _, err := get(c, s.URL+path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if secret.Load() {
		t.Error("the other host was given the credentials")
	}
}

func TestAnswers(t *testing.T) {
	var status int
	var header http.Header
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client sees what is missing
	}))
	t.Cleanup(s.Close)
	html := http.Header{"Content-Type": {"text/html"}}
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		gone   bool
		after  time.Duration // of a LaterError
		text   string
	}{
		{name: "right", status: 200, body: `{"a":1}`},
		{name: "no JSON", status: 200, body: `OK`, text: "not what it documents"},
		{name: "a page", status: 200, header: html, body: `<p>Welcome`, text: "not what it documents"},
		{name: "nothing", status: 200, text: "not what it documents"},
		{name: "too much", status: 200, body: `{"a":"` + strings.Repeat("a", 2000) + `"}`, text: "too large"},
		{name: "created", status: 201, body: `{"a":1}`},
		{name: "204", status: 204},
		{name: "accepted, for later", status: 202, body: `{"a":1}`, text: "202"},
		{name: "404", status: 404, body: `{"status_code":404,"message":"Not Found","error":"not_found"}`, gone: true, text: "Not Found"},
		{name: "404 in words", status: 404, header: http.Header{"Content-Type": {"text/plain"}}, body: "not found", gone: true},
		{name: "404 with a page", status: 404, header: html, body: "<html>", text: "404"},
		{name: "404 with a page that calls itself JSON", status: 404, body: "<html>", text: "404"},
		{name: "429", status: 429, body: `{"message":"Rate limit reached."}`, after: providers.FirstBackoff, text: "Rate limit reached."},
		{name: "429 with a time", status: 429, header: http.Header{"Retry-After": {"30"}}, after: 30 * time.Second},
		{name: "429 with a date", status: 429, header: http.Header{"Date": {"Tue, 15 Sep 2026 12:00:00 GMT"}, "Retry-After": {"Tue, 15 Sep 2026 12:02:00 GMT"}}, after: 2 * time.Minute},
		{name: "429 with a time that is none", status: 429, header: http.Header{"Retry-After": {"soon"}}, after: providers.FirstBackoff},
		{name: "429 with a time without end", status: 429, header: http.Header{"Retry-After": {"999999999"}}, after: time.Hour},
		{name: "429 of Calendly", status: 429, header: http.Header{"X-Ratelimit-Reset": {"60"}}, after: time.Minute},
		{name: "403 with a page", status: 403, header: html, body: `<html>Forbidden`, after: providers.FirstBackoff},
		{name: "403 of the API", status: 403, body: `{"message":"Forbidden"}`, text: "403: Forbidden"},
		{name: "401", status: 401, body: `{"message":"Unauthorized for the key"}`, text: "401: Unauthorized for [redacted]"},
		{name: "a long text", status: 400, body: `{"message":"` + strings.Repeat("é", 300) + `"}`, text: strings.Repeat("é", 200) + "…"},
		{name: "500", status: 500, body: `oops`, text: "500"},
		{name: "503", status: 503, header: http.Header{"Retry-After": {"30"}}, text: "503"},
	} {
		status, header, body = c.status, c.header, c.body
		_, err := get(client(t, "127.0.0.1", 1000), s.URL)
		var later *providers.LaterError
		isLater := errors.As(err, &later)
		fails := c.gone || c.after > 0 || c.text != ""
		if (err != nil) != fails || errors.Is(err, providers.ErrGone) != c.gone || isLater != (c.after > 0) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if isLater && later.After != c.after {
			t.Errorf("%s: later by %s, want %s", c.name, later.After, c.after)
		}
		if err != nil && (!strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "the key")) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.text)
		}
	}
}

// A host that asks to be left alone is, by all who use the client, and the pauses
// grow while it goes on asking.
func TestPause(t *testing.T) {
	var asked, good atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if good.Load() == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write([]byte(`{}`)) // the client sees what is missing
	}))
	t.Cleanup(s.Close)
	var mu sync.Mutex
	now := time.Date(2026, 9, 15, 12, 0, 0, 0, time.UTC)
	pass := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	const tempo = 100
	c := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: tempo, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	t.Cleanup(c.CloseIdleConnections)
	later := func(want time.Duration) {
		t.Helper()
		_, err := get(c, s.URL)
		var l *providers.LaterError
		if !errors.As(err, &l) || l.After != want {
			t.Fatalf("got %v, want later by %s", err, want)
		}
	}
	later(providers.FirstBackoff)
	later(providers.FirstBackoff) // of the pause
	pass(providers.FirstBackoff / tempo / 2)
	later(providers.FirstBackoff / 2)
	if asked.Load() != 1 {
		t.Errorf("%d requests during the pause", asked.Load()-1)
	}
	pass(providers.FirstBackoff / tempo / 2)
	later(providers.FirstBackoff) // the API's own answer again
	later(2 * providers.FirstBackoff)
	for range 10 {
		pass(time.Minute / tempo)
		later(providers.FirstBackoff)
	}
	later(time.Minute)
	pass(time.Minute / tempo)
	good.Store(1)
	if _, err := get(c, s.URL); err != nil {
		t.Fatal(err)
	}
	good.Store(0)
	later(providers.FirstBackoff)
	later(providers.FirstBackoff)
}

// Requests wait for their turn as long as their context lasts, and no longer.
func TestTurns(t *testing.T) {
	leave, arrived := make(chan struct{}), make(chan struct{}, 100)
	var open, most atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := open.Add(1); n > most.Load() {
			most.Store(n)
		}
		arrived <- struct{}{}
		<-leave
		open.Add(-1)
		_, _ = w.Write([]byte(`{}`)) // the client sees what is missing
	}))
	t.Cleanup(s.Close)
	c := client(t, "127.0.0.1", 10)
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			if _, err := get(c, s.URL); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		<-arrived
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := (providers.Call{URL: s.URL}).Do(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request that cannot wait: %v", err)
	}
	close(leave)
	all.Wait()
	if most.Load() != 20 {
		t.Errorf("%d connections at once", most.Load())
	}
}

func TestHangingHostsTimeOut(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(s.Close)
	began := time.Now()
	if _, err := get(client(t, "127.0.0.1", 1000), s.URL); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}
