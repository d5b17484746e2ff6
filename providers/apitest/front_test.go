package apitest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"slotkeeper/providers/apitest"
)

func errorText(status int) string { return fmt.Sprintf(`{"status":%d}`, status) }

func start(t *testing.T, api http.HandlerFunc, limits apitest.Limits) *apitest.Front {
	t.Helper()
	f := apitest.NewFront(api, limits, 1, time.Now, errorText)
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // nothing is kept
	return f
}

func status(t *testing.T, f *apitest.Front, path string) int {
	t.Helper()
	return statusOf(t, f, http.MethodGet, path)
}

func statusOf(t *testing.T, f *apitest.Front, method, path string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, f.URL()+path, http.NoBody)
	if err != nil {
		t.Error(err)
		return 0
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	return answer.StatusCode
}

func TestConnectionLimit(t *testing.T) {
	leave, arrived := make(chan struct{}), make(chan struct{}, 3)
	f := start(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-leave }, apitest.Limits{Connections: 3})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if got := status(t, f, "/"); got != http.StatusOK {
				t.Errorf("got %d within the limit", got)
			}
		})
	}
	for range 3 {
		<-arrived
	}
	if got := status(t, f, "/"); got != http.StatusTooManyRequests {
		t.Errorf("the fourth connection got %d", got)
	}
	close(leave)
	all.Wait()
	if f.MostConnections() != 4 || f.Count("/") != 4 {
		t.Errorf("%d connections, %d requests", f.MostConnections(), f.Count("/"))
	}
}

func TestTroubleOfOnePath(t *testing.T) {
	f := start(t, func(http.ResponseWriter, *http.Request) {}, apitest.Limits{})
	f.Set(apitest.Broken, "/calendars")
	if a, b := status(t, f, "/calendars"), status(t, f, "/appointments/1"); a != http.StatusInternalServerError || b != http.StatusOK {
		t.Errorf("got %d and %d", a, b)
	}
	f.Set(apitest.Healthy)
	if got := status(t, f, "/calendars"); got != http.StatusOK {
		t.Errorf("got %d afterwards", got)
	}
	log := f.Requests()
	if len(log) != 3 || log[0].Path != "/calendars" || log[0].Status != http.StatusInternalServerError || log[2].Status != http.StatusOK {
		t.Errorf("noted %+v", log)
	}
}

// What is replaced halfway is deleted, and nothing is made in its place.
func TestHalfway(t *testing.T) {
	f := start(t, func(http.ResponseWriter, *http.Request) {}, apitest.Limits{})
	f.Set(apitest.Halfway)
	for n, c := range []struct {
		method string
		status int
	}{
		{http.MethodPost, http.StatusOK},
		{http.MethodDelete, http.StatusOK},
		{http.MethodPost, http.StatusInternalServerError},
		{http.MethodGet, http.StatusOK},
		{http.MethodDelete, http.StatusOK},
	} {
		if got := statusOf(t, f, c.method, "/webhooks"); got != c.status {
			t.Errorf("request %d, a %s, got %d, want %d", n, c.method, got, c.status)
		}
	}
	f.Set(apitest.Halfway)
	if got := statusOf(t, f, http.MethodPost, "/webhooks"); got != http.StatusOK {
		t.Errorf("set anew, a POST got %d", got)
	}
}

// What hangs does until the stand-in ends, and does not keep it from ending.
func TestHangingEndsWithTheStandIn(t *testing.T) {
	f := start(t, func(http.ResponseWriter, *http.Request) { t.Error("a hanging API answered") }, apitest.Limits{})
	f.Set(apitest.Hanging)
	asked, done := make(chan struct{}), make(chan error)
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(asked) }})
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL(), http.NoBody)
		if err == nil {
			var answer *http.Response
			if answer, err = http.DefaultClient.Do(r); err == nil {
				err = answer.Body.Close()
			}
		}
		done <- err
	}()
	<-asked
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("a hanging API answered")
	}
}

// What goes unheard was done, and whoever asked for it is left without an answer.
func TestUnheardIsDone(t *testing.T) {
	did := make(chan struct{})
	f := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		close(did)
	}, apitest.Limits{})
	f.Set(apitest.Unheard)
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL()+"/tokens", http.NoBody)
		if err == nil {
			var answer *http.Response
			if answer, err = http.DefaultClient.Do(r); err == nil {
				err = answer.Body.Close()
			}
		}
		answered <- err
	}()
	<-did
	leave()
	if err := <-answered; err == nil {
		t.Error("what is unheard was answered")
	}
	if log := f.Requests(); len(log) != 1 || log[0].Status != 0 {
		t.Errorf("noted %+v", log)
	}
}
