package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Feeds are the calendars that programs read; *access.Feeds.
type Feeds interface {
	Add(ctx context.Context, by access.By, owner *access.User, n access.NewFeed) (string, access.Feed, error)
	Of(ctx context.Context, owner uuid.UUID) ([]access.Feed, error)
	All(ctx context.Context) ([]access.Feed, error)
	Revoke(ctx context.Context, by access.By, id uuid.UUID) error
	// Open gives access.ErrBadFeed for a secret of none.
	Open(ctx context.Context, secret string) (access.OpenedFeed, error)
}

const feedRoute = "/feeds/:token"

// FeedPath is the path of the feed of a secret.
func FeedPath(secret string) string { return "/feeds/" + secret + feedSuffix }

const (
	feedSuffix = ".ics"
	// feedRefresh is what programs are told to wait before they look again. Most look
	// as seldom as they like, whatever they are told.
	feedRefresh = 15 * time.Minute
	// maxFeedKept is how much of a feed is kept in memory. A longer one is read twice:
	// once for its mark, and once to be sent.
	maxFeedKept = 1 << 20
)

// feed serves a calendar to whoever has its address: programs that follow calendars
// have no session and send no token. A wrong address looks like any other, whether
// the feed was revoked or never was.
func (s *server) feed(c echo.Context) error {
	ctx := c.Request().Context()
	opened, err := s.openFeed(c)
	if err != nil {
		return err
	}
	now := s.Now()
	ctx = withScope(ctx, opened.Scope)
	kept := &keptFeed{sum: sha256.New()}
	if err := s.writeFeed(ctx, kept, opened, now); err != nil {
		return err
	}
	mark := kept.mark()
	h := c.Response().Header()
	h.Set("ETag", mark)
	// What is in it is one person's business; whoever keeps it asks before using it.
	h.Set(echo.HeaderCacheControl, "private, no-cache")
	if marked(c.Request().Header.Values("If-None-Match"), mark) {
		return c.NoContent(http.StatusNotModified)
	}
	h.Set(echo.HeaderContentType, "text/calendar; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, `inline; filename="slotkeeper.ics"`)
	if c.Request().Method == http.MethodHead {
		return c.NoContent(http.StatusOK)
	}
	if !kept.over {
		return c.Blob(http.StatusOK, h.Get(echo.HeaderContentType), kept.body.Bytes())
	}
	return s.streamFeed(ctx, c, opened, now)
}

// openFeed finds the feed of a request. Only who is wrong is held back: a program
// that has the right address shares its own with many others, at a provider of
// calendars for instance.
func (s *server) openFeed(c echo.Context) (access.OpenedFeed, error) {
	secret, whole := strings.CutSuffix(c.Param("token"), feedSuffix)
	opened, err := access.OpenedFeed{}, access.ErrBadFeed
	if whole {
		opened, err = s.Feeds.Open(c.Request().Context(), secret)
	}
	key, limits := opened.ID.String(), s.feedReads
	if errors.Is(err, access.ErrBadFeed) {
		key, limits, err = client(c), s.feedMisses, booking.ErrNotFound
	} else if err != nil {
		return opened, err
	}
	if wait := limits.take(key, s.Now()); wait > 0 {
		return opened, &refusal{status: http.StatusTooManyRequests, code: "rate_limited", retry: wait}
	}
	return opened, err
}

// streamFeed sends a feed that is too long to be kept, as it is read. Between the
// two readings something may have changed: then the mark is not that of what is sent,
// and the next question is answered anew.
func (s *server) streamFeed(ctx context.Context, c echo.Context, opened access.OpenedFeed, now time.Time) error {
	out := http.NewResponseController(c.Response())
	// The server's own limit is for short answers.
	if err := ignoreUnsupported(out.SetWriteDeadline(time.Now().Add(exportPause))); err != nil { //nolint:forbidigo // deadlines are by the machine's clock
		return err
	}
	c.Response().WriteHeader(http.StatusOK)
	w := bufio.NewWriterSize(c.Response(), 64<<10)
	err := s.writeFeed(ctx, w, opened, now)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		return nil
	}
	// A feed that was cut must not look whole.
	s.Log.LogAttrs(ctx, slog.LevelInfo, "feed cut", slog.String("request_id", requestIDOf(ctx)), slog.String("feed", opened.ID.String()), slog.Any("err", err))
	panic(http.ErrAbortHandler)
}

// keptFeed marks what is written to it, and keeps it while it is short.
type keptFeed struct {
	sum  hash.Hash
	body bytes.Buffer
	over bool
}

func (k *keptFeed) Write(p []byte) (int, error) {
	if k.over = k.over || k.body.Len()+len(p) > maxFeedKept; k.over {
		k.body = bytes.Buffer{}
	} else {
		k.body.Write(p)
	}
	return k.sum.Write(p)
}

func (k *keptFeed) mark() string { return `"` + hex.EncodeToString(k.sum.Sum(nil)[:16]) + `"` }

// marked tells whether one of the marks that a client has is this one (RFC 9110,
// section 13.1.2: compared weakly).
func marked(headers []string, mark string) bool {
	for _, h := range headers {
		for tag := range strings.SplitSeq(h, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == mark {
				return true
			}
		}
	}
	return false
}
