package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

const (
	liveRoute = "/live"
	// liveCheck is how often a stream looks whether its viewer is still signed in.
	// It says that it is alive then, too, so that proxies do not take it for dead, and
	// pages notice when it is: they wait three times as long.
	liveCheck = 10 * time.Second
	// liveWrite is how long a browser may take what is written to it.
	liveWrite = 10 * time.Second
	// liveRetry is when a browser comes back after a stream broke off.
	liveRetry = 3 * time.Second
	// liveRetryOut is when one comes back that nobody is signed in with.
	liveRetryOut = time.Minute
)

// liveNews is what a page is told: no more than that something happened, and what
// stands in the frame of every page. What changed it reads itself, as its viewer
// may see it.
type liveNews struct {
	Seq       int64 `json:"seq"`
	Conflicts int   `json:"conflicts"`
}

// liveEnd is the last that a stream says of itself. A page begins another one.
type liveEnd struct {
	// Changed says that the page was made for somebody who may see something else.
	Changed bool `json:"changed"`
}

// live is the stream of server-sent events that pages follow. It ends with the
// server, with the connection, and with the session.
func (s *server) live(c echo.Context) error {
	who := s.viewer(c)
	if who.user == nil {
		// Neither a redirect to a page nor a refusal: the browser would tell the page
		// only that something is wrong, and write an error into its console.
		out, err := beginStream(c, liveRetryOut)
		if err == nil {
			_ = out.send("over", 0, struct{}{}) // or the browser is gone
		}
		return err
	}
	w, err := s.Live.watch(who.user.ID)
	if err != nil {
		c.Response().Header().Set(echo.HeaderRetryAfter, "60")
		return &refusal{status: http.StatusServiceUnavailable, code: "unavailable", cause: err}
	}
	defer s.Live.leave(w)
	out, err := beginStream(c, liveRetry)
	if err != nil {
		return err
	}
	s.follow(c, w, out)
	return nil
}

// follow writes news until the stream ends. What cannot be written ends it: the
// browser is gone.
func (s *server) follow(c echo.Context, w *watch, out *eventStream) {
	ctx := c.Request().Context()
	check := time.NewTicker(liveCheck)
	defer check.Stop()
	told := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.ended:
			return
		case g := <-w.news:
			if over, err := s.ends(c, g, out); over || err != nil {
				return
			}
			n, err := share(ctx, g, "news "+scopeKey(scopeOf(ctx)), s.liveNews)
			if err != nil {
				return // it comes back and is told then
			}
			if n.Seq == told {
				continue // nothing that this viewer sees
			}
			told = n.Seq
			if out.send("news", n.Seq, n) != nil {
				return
			}
		case <-check.C:
			// While the session cannot be read nobody is signed out, nor told anything.
			over, _ := s.ends(c, newGlance(), out)
			if over || out.send("alive", 0, struct{}{}) != nil {
				return
			}
		}
	}
}

// scopeKey is the same for those who read the same news.
func scopeKey(scope booking.Scope) string {
	if !scope.Limited {
		return "of all"
	}
	ids := make([]string, len(scope.Resources))
	for i, id := range scope.Resources {
		ids[i] = id.String()
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (s *server) liveNews(ctx context.Context) (liveNews, error) {
	seq, err := s.Records.LastSeq(ctx)
	if err != nil {
		return liveNews{}, err
	}
	n, err := s.Records.OpenConflicts(ctx, s.Now())
	return liveNews{Seq: seq, Conflicts: n}, err
}

// ends looks at the session as it is now, not as it was when the stream began, before
// anything is told. A stream that ends says so, lest its page stand there as if it
// were live.
func (s *server) ends(c echo.Context, g *glance, out *eventStream) (bool, error) {
	ctx := c.Request().Context()
	id, stamp, err := s.sessions.current(ctx, c)
	if err != nil {
		return false, err
	}
	u, err := share(ctx, g, "user "+id.String(), func(ctx context.Context) (access.User, error) { return s.Accounts.User(ctx, id) })
	if err != nil && !errors.Is(err, booking.ErrNotFound) {
		return false, err
	}
	over := err != nil || u.Stamp() != stamp
	changed := !over && (u.Role != s.viewer(c).user.Role || !reflect.DeepEqual(u.Scope(), scopeOf(ctx)))
	if over || changed {
		_ = out.send("end", 0, liveEnd{Changed: changed}) // it is over, read or not
	}
	return over || changed, nil
}

// current is what the stored session of a request says now; nobody when it is over.
func (s *sessions) current(ctx context.Context, c echo.Context) (id uuid.UUID, stamp string, err error) {
	cookie, err := c.Cookie(s.manager.Cookie.Name)
	if err != nil {
		return uuid.Nil, "", nil //nolint:nilerr // a request without a session
	}
	stored, found, err := s.store.FindCtx(ctx, cookie.Value)
	if err != nil || !found {
		return uuid.Nil, "", err
	}
	_, values, err := s.manager.Codec.Decode(stored)
	if err != nil {
		return uuid.Nil, "", err
	}
	user, _ := values[access.SessionUser].(string)
	stamp, _ = values[access.SessionStamp].(string)
	if id, err = uuid.Parse(user); err != nil {
		return uuid.Nil, "", nil //nolint:nilerr // a session of nobody
	}
	return id, stamp, nil
}

// eventStream writes server-sent events.
type eventStream struct {
	response http.ResponseWriter
	control  *http.ResponseController
}

// beginStream answers with a stream that the browser begins again after a while, when
// it breaks off.
func beginStream(c echo.Context, again time.Duration) (*eventStream, error) {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would keep it back
	out := &eventStream{response: c.Response(), control: http.NewResponseController(c.Response())}
	// The time limits of the listener are those of pages.
	if err := out.control.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("web: a stream without end: %w", err)
	}
	c.Response().WriteHeader(http.StatusOK)
	_ = out.write(fmt.Sprintf("retry: %d\n\n", again.Milliseconds())) // else the browser is gone, and the next write says so
	return out, nil
}

func (e *eventStream) send(event string, id int64, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return e.write(fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", event, id, b))
}

func (e *eventStream) write(text string) error {
	// A browser that stopped reading does not hold the stream for ever.
	if err := e.control.SetWriteDeadline(time.Now().Add(liveWrite)); err != nil { //nolint:forbidigo // a deadline of the network's, not of our clock
		return err
	}
	if _, err := e.response.Write([]byte(text)); err != nil {
		return err
	}
	return e.control.Flush()
}
