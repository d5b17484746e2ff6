package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	netmail "net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Alerts are what somebody has to see to, and who is told of it; *store.Store.
type Alerts interface {
	Alerts(ctx context.Context, over bool, limit int) ([]booking.Alert, error)
	// UnseenAlerts counts those that last and that nobody sees to.
	UnseenAlerts(ctx context.Context) (int, error)
	AcknowledgeAlert(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error
	Recipients(ctx context.Context) ([]booking.AlertRecipient, error)
	AddRecipient(ctx context.Context, r booking.AlertRecipient, by access.By) error
	RemoveRecipient(ctx context.Context, id uuid.UUID, by access.By, now time.Time) error
}

// Trier sends a recipient a message at once, as a test; *notify.Teller.
type Trier interface {
	Try(ctx context.Context, recipient uuid.UUID) error
	// Mails tells whether a mail server is set.
	Mails() bool
}

const (
	alertsPath    = "/alerts"
	alertSettings = "/settings/alerts"
	shownAlerts   = 500
	shownOver     = 50
	maxAddress    = 500
)

// alertRow is an alert as the page has it.
type alertRow struct {
	booking.Alert
	alertSaid
	By string // who sees to it
	// OverAt is when it is over, if nothing is wrong until then.
	OverAt *time.Time
}

type alertsView struct {
	// Open are those that last, Calm those of which nothing is wrong any more: they
	// are over when it stays so.
	Open, Calm, Over []alertRow
	May              bool // say that one sees to it
	Manages          bool
	Told             bool // there is somebody who is told
	Done             string
}

func (s *server) alertsPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	v := alertsView{May: who.may(access.SyncConnections), Manages: who.may(access.ManageConnections), Done: oneOfDone(c, "acknowledged")}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		over  bool
		limit int
		into  *[]alertRow
	}{{false, shownAlerts, &v.Open}, {true, shownOver, &v.Over}} {
		all, err := s.Alerts.Alerts(ctx, part.over, part.limit)
		if err != nil {
			return err
		}
		said, err := sayAlerts(ctx, who.language, s.Records, who.zone, all...)
		if err != nil {
			return err
		}
		for i, a := range all {
			row := alertRow{Alert: a, alertSaid: said[i]}
			if a.GoneAt != nil {
				at := a.GoneAt.Add(a.Calm())
				row.OverAt = &at
			}
			if a.AcknowledgedBy != "" {
				row.By = cmp.Or(actors[a.AcknowledgedBy], who.language.actor(a.AcknowledgedBy))
			}
			into := part.into
			if row.OverAt != nil && !part.over {
				into = &v.Calm
			}
			*into = append(*into, row)
		}
	}
	told, err := s.Alerts.Recipients(ctx)
	if err != nil {
		return err
	}
	v.Told = len(told) > 0
	return s.page(c, http.StatusOK, "alerts", page{Title: "alerts.title", Section: "alerts", Data: v})
}

func (s *server) acknowledgeAlert(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	if err := s.Alerts.AcknowledgeAlert(c.Request().Context(), id, s.by(c), s.Now()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, alertsPath+"?done=acknowledged")
}

// recipientRow is somebody who is told, as the page has it.
type recipientRow struct {
	booking.AlertRecipient
	About  []string // the names of its resources; none is everything
	Spoken string   // the language that it is told in
	Unsent bool     // no mail server is set, and it is told by e-mail
}

type alertSettingsView struct {
	settingsTabs
	Recipients []recipientRow
	Mails      bool
	Form       recipientForm
	Channels   []booking.AlertChannel
	Levels     []booking.AlertLevel
	Languages  []option
	Resources  []choiceBox
	Errors     map[string]string
	Done       string
	Trouble    *errorText // why a test was not sent
}

type recipientForm struct {
	Channel, Address, Least, Language string
	Resources                         []string
}

func (s *server) alertSettingsPage(c echo.Context) error {
	return s.showAlertSettings(c, http.StatusOK, alertSettingsView{Done: oneOfDone(c, "added", "removed", "tried")})
}

func (s *server) showAlertSettings(c echo.Context, status int, v alertSettingsView) error {
	ctx, l := c.Request().Context(), s.viewer(c).language
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	all, err := s.Alerts.Recipients(ctx)
	if err != nil {
		return err
	}
	v.settingsTabs, v.Mails = s.settingsTabs(c, "alerts"), s.Trier.Mails()
	v.Channels, v.Levels, v.Languages = booking.AlertChannels(), booking.AlertLevels(), s.languages.options()
	for _, r := range all {
		row := recipientRow{AlertRecipient: r, Unsent: r.Channel == booking.ChannelMail && !v.Mails}
		for _, o := range v.Languages {
			if o.Value == r.Language {
				row.Spoken = o.Label
			}
		}
		for _, id := range r.Resources {
			row.About = append(row.About, names.resource[id])
		}
		slices.Sort(row.About)
		v.Recipients = append(v.Recipients, row)
	}
	for _, o := range names.resources {
		v.Resources = append(v.Resources, choiceBox{o, slices.Contains(v.Form.Resources, o.Value)})
	}
	if v.Form.Channel == "" && !v.Mails {
		v.Form.Channel = string(booking.ChannelSlack) // the other way sends nothing
	}
	if v.Form.Language == "" {
		v.Form.Language = l.tag
	}
	if v.Form.Least == "" {
		v.Form.Least = string(booking.LevelWarning)
	}
	return s.page(c, status, "settingsalerts", page{Title: "alerts.settings.title", Section: "settings", Data: v})
}

// recipient reads the form. Its errors are by field.
func (s *server) recipient(f recipientForm) (booking.AlertRecipient, error) {
	r := booking.AlertRecipient{
		ID: uuid.Must(uuid.NewV7()), Channel: booking.AlertChannel(f.Channel), Least: booking.AlertLevel(f.Least), Language: f.Language, CreatedAt: s.Now(),
	}
	if err := s.languages.check(f.Language); err != nil {
		return r, err
	}
	if !r.Least.Reaches(booking.LevelNotice) {
		return r, &booking.InvalidError{Field: "least"}
	}
	var err error
	if r.Resources, err = tickedResources(f.Resources); err != nil {
		return r, err
	}
	address := strings.TrimSpace(f.Address)
	switch r.Channel {
	case booking.ChannelMail:
		at, err := netmail.ParseAddress(address)
		if err != nil || len(address) > maxAddress || at.Name != "" {
			return r, &booking.InvalidError{Field: "alert_mail"}
		}
		r.Address, r.Label = at.Address, at.Address
	case booking.ChannelSlack:
		u, err := url.Parse(address)
		if err != nil || len(address) > maxAddress || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
			return r, &booking.InvalidError{Field: "alert_slack"}
		}
		r.Address, r.Label = address, u.Host // the path is the secret
	default:
		return r, &booking.InvalidError{Field: "channel"}
	}
	return r, nil
}

func (s *server) addRecipient(c echo.Context) error {
	form, err := c.FormParams()
	if err != nil {
		return err
	}
	f := recipientForm{form.Get("channel"), form.Get("address"), form.Get("least"), form.Get("language"), form["resource"]}
	r, err := s.recipient(f)
	if err == nil {
		err = s.Alerts.AddRecipient(c.Request().Context(), r, s.by(c))
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showAlertSettings(c, http.StatusUnprocessableEntity, alertSettingsView{Form: f, Errors: s.viewer(c).language.fieldErrors(invalid)})
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, alertSettings+"?done=added")
}

func (s *server) removeRecipient(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	if err := s.Alerts.RemoveRecipient(c.Request().Context(), id, s.by(c), s.Now()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, alertSettings+"?done=removed")
}

func (s *server) tryRecipient(c echo.Context) error {
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	err = s.Trier.Try(c.Request().Context(), id)
	if errors.Is(err, booking.ErrNotFound) || errors.Is(err, booking.ErrUnavailable) {
		return err
	}
	if err != nil {
		ctx := c.Request().Context()
		s.Log.WarnContext(ctx, "a test of an alert failed", slog.String("request_id", requestIDOf(ctx)), slog.Any("error", err))
		return s.showAlertSettings(c, http.StatusBadGateway, alertSettingsView{Trouble: s.viewer(c).language.untold(err)})
	}
	return c.Redirect(http.StatusSeeOther, alertSettings+"?done=tried")
}
