package endpoint_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/endpoint"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations/migratetest"
)

// A double booking from its beginning to its end, told in order, each once, signed,
// with the delivery's request id and no more of people than was chosen.
func TestTellsWhatHappens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		plain, full := newReceiver(t), newReceiver(t)
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "before", 0, bt.When("07:00", "08:00"), bt.With("putri"), bt.For("dewi"))) // before anybody was to be told
		h.add(t, plain)
		h.add(t, full, func(e *booking.Endpoint) { e.People = true })
		run(t, dispatcher(t, h.Store, host(plain), host(full)))
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 1, bt.When("09:00", "10:00"), bt.With("putri"), bt.For("dewi")))
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "b", 2, bt.When("09:30", "10:30"), bt.With("putri"), bt.For("dewi")))
		h.Apply(t, bt.New(bt.Calendly, booking.KindCanceled, "a", 3, bt.When("09:00", "10:00"), bt.With("putri"), bt.For("dewi")))
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 4, bt.When("09:00", "10:00"), bt.With("putri"), bt.For("dewi")))
		want := []string{"booking.active", "booking.conflicted", "booking.canceled", "booking.released", "transition.rejected"}
		for _, r := range []*receiver{plain, full} {
			eventually(t, "five messages", func() bool { return len(r.all()) >= len(want) })
			byBooking, seen := map[string]int64{}, map[string]bool{}
			var types []string
			for _, m := range r.all() {
				if byBooking[m.Booking] >= m.Seq || seen[m.ID] || !strings.HasPrefix(m.Trace, "00-") || len(m.Trace) != 55 {
					t.Errorf("out of order, twice or without a trace: %+v", m)
				}
				byBooking[m.Booking], seen[m.ID] = m.Seq, true
				types = append(types, m.Type)
				if named := strings.Contains(m.Body, "@"); named != (r == full) {
					t.Errorf("people are told of: %v in %s", named, m.Body)
				}
			}
			slices.Sort(types)
			slices.Sort(want)
			if !slices.Equal(types, want) {
				t.Errorf("told are %q", types)
			}
		}
	})
}

// What is not taken is sent again under the same id, later messages about the booking
// wait for it and others do not; what is never taken is given up, and the next goes
// out.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		r := newReceiver(t)
		e := h.add(t, r)
		var stuck string
		r.answers(func(w http.ResponseWriter, m message, times int) int {
			switch {
			case m.Type == "booking.active" && times < 4:
				w.Header().Set("Retry-After", "1")
				return []int{0, 500, 429, 302}[times]
			case m.Type == "booking.moved":
				return http.StatusTeapot
			}
			return http.StatusOK
		})
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 1, bt.When("09:00", "10:00")))
		h.Apply(t, bt.New(bt.Calendly, booking.KindMoved, "a", 2, bt.When("11:00", "12:00")))
		h.Apply(t, bt.New(bt.Calendly, booking.KindCanceled, "a", 3, bt.When("11:00", "12:00")))
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "b", 4, bt.When("14:00", "15:00")))
		run(t, dispatcher(t, h.Store, host(r)))
		eventually(t, "the cancel", func() bool {
			return slices.ContainsFunc(r.took(), func(m message) bool { return m.Type == "booking.canceled" })
		})
		for _, m := range r.all() {
			if m.Type == "booking.moved" {
				stuck = cmp.Or(stuck, m.ID)
				if m.ID != stuck {
					t.Errorf("one message has the ids %s and %s", stuck, m.ID)
				}
			}
		}
		eventually(t, "the log", func() bool { return len(h.log(t, e.ID)) == 4 && h.log(t, e.ID)[2].Status == booking.EffectDone })
		log := h.log(t, e.ID)
		if log[0].Attempts != 4 || log[0].Status != booking.EffectDone || log[1].Attempts != 10 || log[1].Status != booking.EffectDead || log[1].Error != "answered 418" {
			t.Errorf("the log is %+v", log)
		}
		tries, err := h.Attempts(t.Context(), []uuid.UUID{log[0].ID})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, a := range tries[log[0].ID] {
			said = append(said, fmt.Sprintf("%d %d %q", a.Number, a.Status, a.Error))
		}
		if got := strings.Join(said, "; "); got != `1 500 "answered 500"; 2 429 "answered 429"; 3 302 "answered 302: redirects are not followed, give the URL that it leads to"; 4 200 ""` {
			t.Errorf("the tries are %s", got)
		}
		// Nothing about the booking overtook what was tried before it.
		last := map[string]int64{}
		for _, m := range r.all() {
			if m.Seq < last[m.Booking] {
				t.Errorf("%s came after a later one", m.Type)
			}
			last[m.Booking] = m.Seq
		}

		// A person has it sent again, also what got through.
		r.answers(nil)
		for _, m := range log[:2] {
			entry := access.Entry{At: now(), Actor: operator.Actor}
			if _, err := h.RetryEffect(t.Context(), m.ID, entry); !errors.Is(err, booking.ErrNothingToRetry) {
				t.Errorf("whoever acts at providers has a message sent: %v", err)
			}
			if _, err := h.WithdrawEffect(t.Context(), m.ID, entry); !errors.Is(err, booking.ErrNothingToWithdraw) {
				t.Errorf("whoever acts at providers takes a message back: %v", err)
			}
			if err := h.RetryWebhook(t.Context(), e.ID, m.ID, entry); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "both again", func() bool {
			l := h.log(t, e.ID)
			return l[0].Attempts == 5 && l[0].Status == booking.EffectDone && l[1].Attempts == 11 && l[1].Status == booking.EffectDone
		})
	})
}

// 410 switches an endpoint off at once. What happens meanwhile waits, and is told in
// order once it is switched on; with skip it is not.
func TestGone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		r := newReceiver(t)
		e := h.add(t, r)
		r.answers(func(http.ResponseWriter, message, int) int { return http.StatusGone })
		run(t, dispatcher(t, h.Store, host(r)))
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 1, bt.When("09:00", "10:00")))
		eventually(t, "it to be off", func() bool { return h.endpoint(t, e.ID).Off == booking.OffGone })
		r.answers(nil)
		h.Apply(t, bt.New(bt.Calendly, booking.KindCanceled, "a", 2, bt.When("09:00", "10:00")))
		if err := h.SwitchEndpoint(t.Context(), e.ID, true, false, operator, now()); err != nil {
			t.Fatal(err)
		}
		// What met the 410 is not lost either.
		eventually(t, "what it missed", func() bool { return len(r.took()) == 2 })
		if got := r.took(); got[0].Type != "booking.active" || got[1].Type != "booking.canceled" || len(r.all()) != 3 {
			t.Errorf("told is %+v", r.all())
		}
		if err := h.SwitchEndpoint(t.Context(), e.ID, false, false, operator, now()); err != nil {
			t.Fatal(err)
		}
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "b", 3, bt.When("09:00", "10:00")))
		if err := h.SwitchEndpoint(t.Context(), e.ID, true, true, operator, now()); err != nil {
			t.Fatal(err)
		}
		h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "c", 4, bt.When("11:00", "12:00")))
		eventually(t, "what came after", func() bool { return len(r.took()) == 3 })
		if got := h.log(t, e.ID); len(got) != 3 {
			t.Errorf("the log has %d messages", len(got))
		}
	})
}

// An endpoint that hangs, and one whose address leads into our own network, hold up
// nobody else, and a redirect into our network is not followed.
func TestSlowAndPrivate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		hanging, good, inside, leading := newReceiver(t), newReceiver(t), newReceiver(t), newReceiver(t)
		let := make(chan struct{})
		t.Cleanup(func() { close(let) })
		hanging.answers(func(http.ResponseWriter, message, int) int { <-let; return 0 })
		leading.answers(func(w http.ResponseWriter, _ message, _ int) int {
			w.Header().Set("Location", inside.URL)
			return http.StatusTemporaryRedirect
		})
		h.add(t, hanging)
		h.add(t, good)
		private := h.add(t, inside)
		h.add(t, leading)
		run(t, dispatcher(t, h.Store, host(hanging), host(good), host(leading)))
		for i := range 12 {
			h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, fmt.Sprint("a", i), 1+i, bt.When(fmt.Sprintf("%02d:00", 6+i), fmt.Sprintf("%02d:30", 6+i))))
		}
		eventually(t, "the good one to be told", func() bool { return len(good.took()) == 12 })
		eventually(t, "the private one to be refused", func() bool {
			l := h.log(t, private.ID)
			return len(l) == 12 && strings.Contains(l[0].Error, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS")
		})
		eventually(t, "the redirect", func() bool { return len(leading.all()) > 0 })
		if len(inside.all()) != 0 || len(hanging.took()) != 0 {
			t.Errorf("%d posts reached a private host", len(inside.all()))
		}
		for _, m := range h.log(t, private.ID) {
			if strings.Contains(m.Error, "planted") {
				t.Errorf("an error has the URL: %s", m.Error)
			}
		}
	})
}

// Two processes tell together, and nothing twice; while a secret is rotated both sign.
func TestTwoTellTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		r := newReceiver(t)
		e := h.add(t, r)
		fresh := endpoint.NewSecret()
		if err := h.RotateEndpoint(t.Context(), e.ID, fresh, operator, now()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			run(t, dispatcher(t, storetest.Open(t, h.URL), host(r)))
		}
		const n = 40
		for i := range n {
			id := fmt.Sprint("a", i)
			h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, id, 1+3*i, bt.When("09:00", "10:00")))
			h.Apply(t, bt.New(bt.Calendly, booking.KindCanceled, id, 2+3*i, bt.When("09:00", "10:00")))
			if i == n/2 { // from now on the receiver knows the new secret alone
				r.mu.Lock()
				r.keys = nil
				r.mu.Unlock()
				r.trust(t, fresh)
			}
		}
		eventually(t, "all of it", func() bool { return len(r.took()) == 2*n })
		last, seen := map[string]int64{}, map[string]bool{}
		for _, m := range r.all() {
			if seen[m.ID] || m.Seq < last[m.Booking] {
				t.Errorf("twice or out of order: %s %s", m.Type, m.ID)
			}
			seen[m.ID], last[m.Booking] = true, m.Seq
		}
		if err := h.FinishEndpointRotation(t.Context(), e.ID, operator, now()); err != nil {
			t.Fatal(err)
		}
		if got := h.endpoint(t, e.ID); got.Secret != fresh || got.Rotating() {
			t.Errorf("after the rotation it is %+v", got)
		}
	})
}

// A test says at once what came of it, is in the log, and is not tried again.
func TestTest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		r := newReceiver(t)
		e := h.add(t, r)
		d := dispatcher(t, h.Store, host(r))
		a, err := d.Test(t.Context(), e.ID, "req-1", operator)
		if err != nil || a.Error != "" || a.Status != http.StatusNoContent {
			t.Errorf("tried %+v: %v", a, err)
		}
		r.answers(func(w http.ResponseWriter, _ message, _ int) int {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, strings.Repeat("no ", 2000))
			return 0
		})
		a, err = d.Test(t.Context(), e.ID, "req-2", operator)
		if err != nil || a.Error != "answered 403" || len(a.Answer) != 1024 {
			t.Errorf("tried %+v: %v", a, err)
		}
		if _, err := d.Test(t.Context(), uuid.New(), "", operator); err == nil {
			t.Error("an unknown endpoint is tested")
		}
		l := h.log(t, e.ID)
		if len(l) != 2 || l[0].Status != booking.EffectDone || l[1].Status != booking.EffectDead || h.endpoint(t, e.ID).FailingSince != nil {
			t.Errorf("the log is %+v", l)
		}
		if got := r.all(); got[0].Type != "endpoint.test" || got[0].ID == got[1].ID {
			t.Errorf("told is %+v", got)
		}
	})
}

// A message that was taken back while it was being sent is nobody else's: the log says
// why nothing of it is kept.
func TestTakenBackMeanwhile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *house) {
		r := newReceiver(t)
		e := h.add(t, r)
		var said lines
		o := optionsAt(t, tempo, h.Store, host(r))
		o.Log = slog.New(slog.NewTextHandler(&said, nil))
		r.answers(func(_ http.ResponseWriter, m message, _ int) int {
			var err error
			if m.Type == "booking.active" {
				err = errors.Join(h.SwitchEndpoint(t.Context(), e.ID, false, false, operator, now()), h.SwitchEndpoint(t.Context(), e.ID, true, true, operator, now()))
			} else {
				err = h.RemoveEndpoint(t.Context(), e.ID, operator, now())
			}
			if err != nil {
				t.Error(err)
			}
			return http.StatusInternalServerError
		})
		tried := make(chan booking.AttemptCause, 8)
		o.Tried = func(id uuid.UUID, cause booking.AttemptCause) {
			if id == e.ID {
				tried <- cause
			}
		}
		run(t, endpoint.NewDispatcher(o))
		for _, step := range []struct {
			change *booking.Event
			why    string
		}{
			{bt.New(bt.Calendly, booking.KindCreated, "a", 1, bt.When("09:00", "10:00")), booking.ErrSkipped.Error()},
			{bt.New(bt.Calendly, booking.KindCanceled, "a", 2, bt.When("09:00", "10:00")), booking.ErrEndpointRemoved.Error()},
		} {
			h.Apply(t, step.change)
			eventually(t, step.why, func() bool { return strings.Contains(said.String(), step.why) })
		}
		if text := said.String(); strings.Contains(text, "taken up by another") || strings.Contains(text, "level=ERROR") {
			t.Errorf("the log is %s", text)
		}
		if got := r.all(); len(got) != 2 {
			t.Errorf("told are %+v", got)
		}
		// They were tried all the same.
		for range 2 {
			if cause := <-tried; cause != booking.AttemptRefused {
				t.Errorf("a try is counted as %q", cause)
			}
		}
	})
}

// When a message is sent again, in the time of a clock on the wall: by the schedule, and
// later where the endpoint asks for it.
func TestSchedule(t *testing.T) {
	t.Parallel()
	h := &house{Bench: storetest.NewBench(t, migratetest.SQLite(t))}
	type asks struct {
		header      http.Header
		least, most time.Duration
	}
	all := map[string]asks{
		"nothing":      {nil, 5 * time.Second, 6 * time.Second},
		"nonsense":     {http.Header{"Retry-After": {"soon"}}, 5 * time.Second, 6 * time.Second},
		"a second":     {http.Header{"Retry-After": {"1"}}, 5 * time.Second, 6 * time.Second},
		"two hours":    {http.Header{"Retry-After": {"7200"}}, 2 * time.Hour, 2*time.Hour + 13*time.Minute},
		"a month":      {http.Header{"Retry-After": {"2592000"}}, 24 * time.Hour, 27 * time.Hour},
		"for ever":     {http.Header{"Retry-After": {"92233720368547758"}}, 24 * time.Hour, 27 * time.Hour},
		"a date":       {http.Header{"Date": {"Mon, 30 Nov 2026 10:00:00 GMT"}, "Retry-After": {"Mon, 30 Nov 2026 11:00:00 GMT"}}, time.Hour, 67 * time.Minute},
		"what is left": {http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"3000"}}, 5 * time.Second, 6 * time.Second},
	}
	var hosts []string
	ids := map[string]uuid.UUID{}
	for name, a := range all {
		r := newReceiver(t)
		r.answers(func(w http.ResponseWriter, _ message, _ int) int {
			for k, v := range a.header {
				w.Header()[k] = v
			}
			return http.StatusInternalServerError
		})
		ids[name], hosts = h.add(t, r).ID, append(hosts, host(r))
	}
	h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 1, bt.When("09:00", "10:00")))
	run(t, dispatcherAt(t, 1, h.Store, hosts...))
	for name, a := range all {
		eventually(t, name, func() bool { l := h.log(t, ids[name]); return len(l) == 1 && l[0].Status == booking.EffectFailed })
		m := h.log(t, ids[name])[0]
		tries, err := h.Attempts(t.Context(), []uuid.UUID{m.ID})
		if err != nil {
			t.Fatal(err)
		}
		if wait := m.DueAt.Sub(tries[m.ID][0].At); wait < a.least || wait > a.most {
			t.Errorf("%s: sent again after %s, want %s to %s", name, wait, a.least, a.most)
		}
	}
}

// What breaks HTTP, and what is said to whom people are told of, is kept and logged in
// words of ours: it may repeat the URL, which is a secret, or a person.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	h := &house{Bench: storetest.NewBench(t, migratetest.SQLite(t))}
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = echo.Close() })
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4096)
				n, _ := c.Read(b)
				_, _ = c.Write(b[:n])
			}()
		}
	}()
	people := newReceiver(t)
	people.answers(func(w http.ResponseWriter, m message, _ int) int {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, m.Body)
		return 0
	})
	raw := &receiver{Server: &httptest.Server{URL: "http://" + echo.Addr().String()}}
	ids := []uuid.UUID{h.add(t, raw).ID, h.add(t, people, func(e *booking.Endpoint) { e.People = true }).ID}
	var log strings.Builder
	d := dispatcherAt(t, 1, h.Store, echo.Addr().String(), host(people))
	h.Apply(t, bt.New(bt.Calendly, booking.KindCreated, "a", 1, bt.When("09:00", "10:00"), bt.For("dewi")))
	run(t, d)
	for _, id := range ids {
		eventually(t, "a refusal", func() bool {
			l := h.log(t, id)
			return len(l) == 1 && l[0].Attempts > 0 && l[0].Status == booking.EffectFailed
		})
		m := h.log(t, id)[0]
		tries, err := h.Attempts(t.Context(), []uuid.UUID{m.ID})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&log, m.Error, tries[m.ID][0].Error, tries[m.ID][0].Answer)
	}
	if strings.Contains(log.String(), "planted") || strings.Contains(strings.ToLower(log.String()), "dewi") {
		t.Errorf("kept is %s", log.String())
	}
}
