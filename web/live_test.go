package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/web"
)

// lively is a world whose pages are told of changes when the test says so.
type lively struct {
	*world
	tick chan time.Time
	stop context.CancelFunc
	done chan error
}

func newLively(t *testing.T, r *records) *lively {
	t.Helper()
	live := web.NewLive(r, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	l := &lively{tick: make(chan time.Time), stop: stop, done: make(chan error, 1)}
	go func() { l.done <- live.Run(ctx, l.tick) }()
	t.Cleanup(func() { stop(); <-l.done; l.done <- nil })
	l.world = newWorld(t, r, nil, func(d *web.Deps) { d.Live = live })
	return l
}

// look has the server look, and waits until it has.
func (l *lively) look() {
	l.tick <- time.Time{}
	l.tick <- time.Time{} // taken once the first is done
}

// follow opens the stream of somebody's pages.
func (l *lively) follow(t *testing.T, browser *http.Client) *bufio.Scanner {
	t.Helper()
	res, err := browser.Do(l.request(t, http.MethodGet, "/live", nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("answered %s, %q", res.Status, res.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "retry: ") {
		t.Fatalf("begins with %q", lines.Text())
	}
	return lines
}

// next is the data of the next event; "" at the stream's end.
func next(lines *bufio.Scanner) string {
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

// One reading serves all who watch, nothing is read while nobody does, and what
// happens between two readings is told as one.
func TestLive(t *testing.T) {
	t.Parallel()
	r := full()
	l := newLively(t, r)
	l.look()
	if n := r.looks(); n != 0 {
		t.Errorf("nobody watches and it was read %d times", n)
	}
	r.happens(7)
	one, other := l.follow(t, l.user(t, "ayu", access.Operator)), l.follow(t, l.user(t, "budi", access.Viewer))
	l.look()
	for _, lines := range []*bufio.Scanner{one, other} {
		if got := next(lines); got != `{"seq":7,"conflicts":1}` {
			t.Errorf("told %q", got)
		}
	}
	before := r.looks()
	r.happens(1)
	r.happens(2)
	l.look()
	for _, lines := range []*bufio.Scanner{one, other} {
		if got := next(lines); got != `{"seq":10,"conflicts":1}` {
			t.Errorf("told %q", got)
		}
	}
	// Each look, and one reading for all who watch.
	if n := r.looks() - before; n > 3 {
		t.Errorf("two looks, of which one saw a change, read %d times for two who watch", n)
	}
}

// A database that is away ends no stream and says nothing; when it is back pages
// hear of what they missed.
func TestLiveWithoutDatabase(t *testing.T) {
	t.Parallel()
	r := full()
	l := newLively(t, r)
	lines := l.follow(t, l.user(t, "ayu", access.Viewer))
	l.look()
	next(lines)
	r.fail(booking.ErrUnavailable)
	l.look()
	r.fail(nil)
	r.happens(3)
	l.look()
	if got := next(lines); got != `{"seq":3,"conflicts":1}` {
		t.Errorf("told %q", got)
	}
}

// Open pages do not keep the server from ending.
func TestLiveEndsWithTheServer(t *testing.T) {
	t.Parallel()
	l := newLively(t, full())
	browser := l.user(t, "ayu", access.Viewer)
	lines := l.follow(t, browser)
	l.stop()
	if got := next(lines); got != "" {
		t.Errorf("after the end it tells %q", got)
	}
	if res := l.get(t, browser, "/live"); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("afterwards it is answered %s", res.Status)
	}
}

// Who is not signed in is told so and nothing else, and without an error in the
// console of a tab that was left open.
func TestLiveNeedsASession(t *testing.T) {
	t.Parallel()
	l := newLively(t, full())
	if got := l.follow(t, l.browser(t)); event(got) != "over" || next(got) != "{}" || got.Scan() && next(got) != "" {
		t.Error("the stream of nobody goes on")
	}
}

// event is the name of the next event; "" at the stream's end.
func event(lines *bufio.Scanner) string {
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			return name
		}
	}
	return ""
}

// Whose session is over hears of nothing that happens after, and whose rights were
// changed begins anew, with the page.
func TestLiveEndsWithTheSession(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(*testing.T, *lively, *http.Client) error
		want string
	}{
		"signed out": {func(t *testing.T, l *lively, browser *http.Client) error {
			t.Helper()
			l.post(t, browser, "/signout", nil)
			return nil
		}, `{"changed":false}`},
		"signed out everywhere": {func(t *testing.T, l *lively, _ *http.Client) error {
			t.Helper()
			return l.accounts.EndSessions(t.Context(), access.System, l.userNamed(t, "ayu").ID)
		}, `{"changed":false}`},
		"disabled": {func(t *testing.T, l *lively, _ *http.Client) error {
			t.Helper()
			return l.accounts.DisableUser(t.Context(), access.System, "ayu")
		}, `{"changed":false}`},
		"another role": {func(t *testing.T, l *lively, _ *http.Client) error {
			t.Helper()
			return l.accounts.SetRole(t.Context(), access.System, "ayu", access.Operator)
		}, `{"changed":true}`},
		"limited": {func(t *testing.T, l *lively, _ *http.Client) error {
			t.Helper()
			return l.accounts.LimitUser(t.Context(), access.System, "ayu", access.Limit{Limited: true})
		}, `{"changed":true}`},
		"names hidden": {func(t *testing.T, l *lively, _ *http.Client) error {
			t.Helper()
			return l.accounts.SetPrivacy(t.Context(), access.System, access.RolePrivacy{Role: access.Viewer, Hidden: access.Hidden{Names: true}})
		}, `{"changed":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := full()
			l := newLively(t, r)
			browser := l.user(t, "ayu", access.Viewer)
			lines := l.follow(t, browser)
			l.look()
			next(lines)
			if err := tt.end(t, l, browser); err != nil {
				t.Fatal(err)
			}
			r.happens(1)
			l.look()
			if e, data := event(lines), next(lines); e != "end" || data != tt.want {
				t.Errorf("told %q %s, want the end and %s", e, data, tt.want)
			}
			if e := event(lines); e != "" {
				t.Errorf("after the end it tells %q", e)
			}
		})
	}
}

// However many pages the same few people have open, a change is read once for each
// kind of viewer; and no one person takes all the room.
func TestLiveIsShared(t *testing.T) {
	t.Parallel()
	r := full()
	l := newLively(t, r)
	var all []*bufio.Scanner
	for _, name := range []string{"ayu", "budi"} {
		browser := l.limited(t, name, 10)
		for range 20 {
			all = append(all, l.follow(t, browser))
		}
		if res := l.get(t, browser, "/live"); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("one more for %s is answered %s", name, res.Status)
		}
	}
	l.look()
	for _, lines := range all {
		next(lines)
	}
	reads := r.counted()
	r.changes(200)
	l.look()
	for _, lines := range all {
		next(lines)
	}
	// The newest change, and a page of conflicts.
	if n := r.counted() - reads; n != 2 {
		t.Errorf("a change was read %d times for 40 pages of one kind", n)
	}
}

// Who sees some resources only is not told how much happens besides: their numbers
// move with what they see, and are not those of all.
func TestLiveNumbersOfTheLimited(t *testing.T) {
	t.Parallel()
	r := full()
	l := newLively(t, r)
	browser := l.limited(t, "ayu", 10)
	lines := l.follow(t, browser)
	told := func() float64 {
		t.Helper()
		var news struct{ Seq float64 }
		if err := json.Unmarshal([]byte(next(lines)), &news); err != nil {
			t.Fatal(err)
		}
		return news.Seq
	}
	l.look()
	first := told()
	page := l.get(t, browser, "/calendar").body
	if !strings.Contains(page, fmt.Sprintf(`data-seq="%.0f"`, first)) {
		t.Error("the calendar has another number than the stream")
	}
	r.happens(5) // to others
	l.look()
	r.changes(200)
	l.look()
	if second := told(); second == first || math.Abs(second-first) < 1000 {
		t.Errorf("told %.0f after %.0f", second, first)
	}
}
