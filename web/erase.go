package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Eraser removes a person from everything that is kept; *store.Store. With dry it only
// counts.
type Eraser interface {
	Erase(ctx context.Context, who booking.Whom, by access.By, now time.Time, dry bool) (booking.Erasure, error)
}

const erasePath = "/settings/erase"

// By what a person is found.
const (
	whomEmail = "email"
	whomPhone = "phone"
)

// eraseView is the page before, between and after: asking who, showing what was found,
// and telling what was done. Whoever is meant is in no address and in no log.
type eraseView struct {
	settingsTabs
	By, Who string
	Ways    []string
	Errors  map[string]string
	// Found is what would be removed, or with Done was; nil while nobody is named.
	Found *booking.Erasure
	// Counts say it in words; none where there is nothing.
	Counts []string
	Done   bool
	// Traces says that the database's files still have some of it.
	Traces bool
	// Trouble is why nobody can be erased.
	Trouble string
}

func (v eraseView) whom() booking.Whom {
	if v.By == whomPhone {
		return booking.Whom{Phone: v.Who}
	}
	return booking.Whom{Email: v.Who}
}

// confirmed tells whether somebody typed the same again, however it is spelt.
func (v eraseView) confirmed(typed string) bool {
	if v.By == whomPhone {
		return digitsOf(typed) == digitsOf(v.Who)
	}
	return booking.NormalizeEmail(typed) == booking.NormalizeEmail(v.Who)
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

func (s *server) erasePage(c echo.Context) error {
	return s.showErase(c, http.StatusOK, eraseView{By: whomEmail})
}

func (s *server) showErase(c echo.Context, status int, v eraseView) error {
	v.settingsTabs, v.Ways = s.settingsTabs(c, "erase"), []string{whomEmail, whomPhone}
	if l := s.viewer(c).language; v.Found != nil {
		for _, c := range []struct {
			key string
			n   int64
		}{
			{"erase.bookings", v.Found.Bookings},
			{"erase.seats", v.Found.Attendances},
			{"erase.receipts", v.Found.Receipts},
			{"erase.forms", v.Found.Forms},
			{"erase.effects", v.Found.Effects},
		} {
			if c.n > 0 {
				v.Counts = append(v.Counts, l.n(c.key, int(c.n)))
			}
		}
	}
	return s.page(c, status, "settingserase", page{Title: "erase.title", Section: "settings", Data: v})
}

// erasing is whom a form names.
func erasing(c echo.Context) eraseView {
	v := eraseView{By: whomEmail, Who: strings.TrimSpace(c.FormValue("who"))}
	if c.FormValue("by") == whomPhone {
		v.By = whomPhone
	}
	return v
}

// previewErase shows what would be removed.
func (s *server) previewErase(c echo.Context) error {
	v := erasing(c)
	found, err := s.Eraser.Erase(c.Request().Context(), v.whom(), s.by(c), s.Now(), true)
	if err != nil {
		return s.eraseRefused(c, v, err)
	}
	v.Found = &found
	return s.showErase(c, http.StatusOK, v)
}

// runErase removes a person for good, once the same was typed again. It goes on when
// the browser leaves: half of it helps nobody.
func (s *server) runErase(c echo.Context) error {
	v := erasing(c)
	ctx := context.WithoutCancel(c.Request().Context())
	if !v.confirmed(c.FormValue("again")) {
		found, err := s.Eraser.Erase(ctx, v.whom(), s.by(c), s.Now(), true)
		if err != nil {
			return s.eraseRefused(c, v, err)
		}
		v.Found, v.Errors = &found, map[string]string{"again": s.viewer(c).language.t("erase.again.differs")}
		return s.showErase(c, http.StatusUnprocessableEntity, v)
	}
	found, err := s.Eraser.Erase(ctx, v.whom(), s.by(c), s.Now(), false)
	traces := errors.Is(err, booking.ErrTracesLeft)
	if err != nil && !traces {
		return s.eraseRefused(c, v, err)
	}
	return s.showErase(c, http.StatusOK, eraseView{By: whomEmail, Found: &found, Done: true, Traces: traces})
}

// eraseRefused says on the page what is wrong with who was named.
func (s *server) eraseRefused(c echo.Context, v eraseView, err error) error {
	l := s.viewer(c).language
	var invalid *booking.InvalidError
	var conflict *booking.ConflictError
	switch {
	case errors.As(err, &invalid):
		v.Errors = map[string]string{"who": l.named("erase.who.invalid", v.By)}
		return s.showErase(c, http.StatusUnprocessableEntity, v)
	case errors.As(err, &conflict):
		v.Trouble = l.t("erase.host")
		return s.showErase(c, http.StatusConflict, v)
	}
	return err
}
