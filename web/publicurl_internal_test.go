package web

import (
	"net/url"
	"testing"
)

func TestReachOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]reach{
		"https://slots.example.org": reachPublic, "https://8.8.8.8": reachPublic, "https://[2606:4700::1111]:8443": reachPublic, "https://local.example.org": reachPublic,
		"http://slots.example.org": reachPlain, "http://8.8.8.8": reachPlain,
		"http://localhost:8080": reachLocal, "https://app.localhost": reachLocal, "http://127.0.0.1:8080": reachLocal, "https://127.8.0.1": reachLocal,
		"https://[::1]": reachLocal, "https://[::ffff:127.0.0.1]": reachLocal, "http://0.0.0.0:8080": reachLocal,
		"https://192.168.1.4": reachPrivate, "https://10.0.0.4:8443": reachPrivate, "https://[fd00::1]": reachPrivate, "https://169.254.1.1": reachPrivate,
		"https://slots": reachPrivate, "https://slots.local": reachPrivate, "https://slots.lan": reachPrivate, "https://SLOTS.Internal.": reachPrivate,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachOf(u); got != want {
			t.Errorf("%s is %q, want %q", address, got, want)
		}
	}
}
