package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"slotkeeper/providers/apitest"
)

// pairMore are booked for the comparison that is killed.
const pairMore = 15

// comparesThoughKilled: one compares, is killed amid it, and the other begins that
// comparison anew and brings it to its end.
func (p *pair) comparesThoughKilled(t *testing.T) {
	p.Set(apitest.Slow, "/invitees")
	var booked []string
	for n := range pairMore {
		n += pairNear
		booked = append(booked, p.book(t, pairFar+n, firstHour().Add(time.Duration(n)*time.Hour)))
	}
	p.asks(t, p.first, "compare")
	read := func() (n int) {
		all := p.read()
		for _, event := range booked {
			n += min(all[event], 1)
		}
		return n
	}
	waitFor(t, "the second page to be read", func() error {
		if n := read(); n <= pairMore/2 {
			return fmt.Errorf("%d events were read", n)
		}
		return nil
	})
	works, other := p.worker(t)
	works.kill(t)
	crashed := read()
	var run string
	must(t, p.db.QueryRowContext(t.Context(), "SELECT id FROM runs WHERE kind = 'reconcile' AND status = 'running'").Scan(&run))
	p.Set(apitest.Healthy)
	began := time.Now()
	waitFor(t, "the other to finish", func() error {
		var status, failure string
		err := p.db.QueryRowContext(t.Context(), "SELECT status, error FROM runs WHERE id = $1", run).Scan(&status, &failure)
		if err == nil && status != "done" {
			err = fmt.Errorf("the run is %s: %s", status, failure)
		}
		return err
	})
	t.Logf("killed with %d of %d events read; the other finished after %s", crashed, pairMore, time.Since(began).Round(10*time.Millisecond))
	if crashed == pairMore {
		t.Error("it was killed at its end: this proves nothing")
	}
	p.survives(t, other, works)
	p.nothingDoubled(t, pairFar+pairNear+pairMore)
	p.second.start(t)
}

// refreshesThoughKilled: the one that renews the token is killed while Calendly has
// not done it yet. The other does it then, with the token that still serves.
func (p *pair) refreshesThoughKilled(t *testing.T) {
	before := len(p.renewals())
	p.killedWhileItRenews(t, apitest.Hanging)
	p.asks(t, p.first, "check")
	if got := p.renewals()[before:]; !slices.Equal(got, []int{0, http.StatusOK}) {
		t.Errorf("requests for a token were answered %v", got)
	}
	p.isCalled(t, "working")
	p.together(t, 1)
	p.second.start(t)
}

// asksForASignIn: the one that renews the token is killed when Calendly has done it and
// before it hears so. The old token is spent and nobody knows the new one: that is
// said, and whoever gives another key finds everything as it was.
func (p *pair) asksForASignIn(t *testing.T) {
	before := len(p.renewals())
	p.killedWhileItRenews(t, apitest.Unheard)
	p.asks(t, p.first, "check")
	if got := p.renewals()[before:]; !slices.Equal(got, []int{0, http.StatusBadRequest}) {
		t.Errorf("requests for a token were answered %v", got)
	}
	p.isCalled(t, "needs_sign_in")
	var again connectionItem
	decode(t, p.first.run(t, "connect", "calendly", "--reconnect", p.id.String(), "--api-token", calendlyFirstToken), &again)
	if again.ID != p.id || again.State != "working" {
		t.Errorf("connected again as %+v", again)
	}
	p.settles(t)
	p.isCalled(t, "working")
	p.nothingDoubled(t, pairFar+pairNear+pairMore)
}

// killedWhileItRenews has the token end, the second process ask for another one at an
// endpoint in trouble, and kills it meanwhile.
func (p *pair) killedWhileItRenews(t *testing.T, trouble apitest.Trouble) {
	t.Helper()
	p.together(t, 1) // so that no comparison is due soon, for which the first would ask
	before := len(p.renewals())
	p.Set(trouble, "/oauth/token")
	_, err := p.db.ExecContext(t.Context(), "UPDATE connections SET api_expires_at = now(), next_check_at = now() + interval '1 hour'")
	must(t, err)
	v := p.second.signedIn(t)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := v.PostForm(v.url+"/connections/"+p.id.String()+"/check", url.Values{}); err == nil {
			_ = resp.Body.Close()
			t.Errorf("whoever asked the one that was killed is answered %s", resp.Status)
		}
	}()
	waitFor(t, "the token to be asked for", func() error {
		if len(p.renewals()) == before {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	p.second.kill(t)
	<-gone
	p.Set(apitest.Healthy)
	// The dead one keeps the right to renew it for half a minute, which passes here.
	var left float64
	must(t, p.db.QueryRowContext(t.Context(), "SELECT extract(epoch FROM refreshing_until - now()) FROM connections").Scan(&left))
	if left <= 0 || left > 30 {
		t.Errorf("the one that was killed has the right to renew the token for %.1f s", left)
	}
	_, err = p.db.ExecContext(t.Context(), "UPDATE connections SET refreshing_until = now()")
	must(t, err)
}

// asks presses a button of the connection's page at one of the two.
func (p *pair) asks(t *testing.T, s *server, button string) {
	t.Helper()
	v := s.signedIn(t)
	resp, err := v.PostForm(s.url+"/connections/"+p.id.String()+"/"+button, url.Values{})
	must(t, err)
	must(t, resp.Body.Close())
}

// renewals are what the requests for a token were answered, in order; 0 is nothing.
func (p *pair) renewals() []int {
	var out []int
	for _, r := range p.Requests() {
		if r.Path == "/oauth/token" {
			out = append(out, r.Status)
		}
	}
	return out
}

// isCalled waits until the connection is in a state, as the API says.
func (p *pair) isCalled(t *testing.T, state string) {
	t.Helper()
	waitFor(t, "the connection to be "+state, func() error {
		var c connectionItem
		decode(t, p.first.get(t, "/api/v1/connections/"+p.id.String(), p.token), &c)
		if c.State != state {
			return fmt.Errorf("it is %s", c.State)
		}
		return nil
	})
}
