package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Whoever tests an endpoint reads what it answered, and no log.
func TestEndpointsTestIsForPeople(t *testing.T) {
	t.Parallel()
	var answers atomic.Int32
	answers.Store(http.StatusNoContent)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(answers.Load())) }))
	t.Cleanup(other.Close)
	s := newServer(t, "", "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(other.URL, "http://"))
	var made endpointJSON
	decode(t, s.run(t, "endpoints", "add", "--name", "Door", "--url", other.URL), &made)
	if out := s.run(t, "endpoints", "test", made.ID.String()); !strings.HasPrefix(out, "told: it answered 204 in ") || strings.Count(out, "\n") != 1 {
		t.Errorf("it prints %q", out)
	}
	for status, want := range map[int32][]string{
		http.StatusInternalServerError: {"the endpoint was not told: answered 500"},
		http.StatusGone:                {"is switched off: endpoints switch --on", "the endpoint was not told: answered 410"},
	} {
		answers.Store(status)
		out, err := s.try(t, "", "endpoints", "test", made.ID.String())
		if err == nil || out != "" || strings.Contains(err.Error(), `"level":`) {
			t.Errorf("%d prints %q and ends with %v", status, out, err)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%d is told as %v, not %q", status, err, text)
			}
		}
	}
}
