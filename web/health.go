package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
)

// How long an answer about readiness holds, so that whoever asks costs a write a
// second at most, and how long the database may take to give one.
const (
	readyLasts   = time.Second
	readyTimeout = 2 * time.Second
)

type health struct {
	ready func(context.Context) error
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	asked time.Time
	last  error
}

type healthAnswer struct {
	Status string `json:"status"`
}

// alive says that the process serves; nothing more.
func (h *health) alive(c echo.Context) error {
	return c.JSON(http.StatusOK, healthAnswer{"ok"})
}

// readyz says whether deliveries can be stored now.
func (h *health) readyz(c echo.Context) error {
	if err := h.check(c.Request().Context()); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, healthAnswer{"ready"})
}

func (h *health) check(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.asked.IsZero() || now.Sub(h.asked) >= readyLasts {
		// The answer is everybody's, so it does not end with one who left.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer stop()
		h.last = h.ready(ctx)
		h.asked = h.now()
	}
	if h.last == nil {
		return nil
	}
	return errors.Join(booking.ErrUnavailable, h.last)
}
