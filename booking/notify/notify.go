// Package notify tells people of alerts: by e-mail, and over incoming webhooks of
// Slack's format. What is told, to whom, and how often it is tried, is decided
// elsewhere; here a message goes out, or an error says why it did not.
package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// ErrRefused says that a message is not taken, and that trying again would not help:
// the mailbox does not exist, or the webhook was removed.
var ErrRefused = errors.New("the message is refused for good")

// ErrNoMail says that no mail server is set.
var ErrNoMail = errors.New("no mail server is set: give SLOTKEEPER_SMTP_URL and SLOTKEEPER_ALERT_FROM")

// Text is what a message says.
type Text struct {
	Subject string
	// Happened, Means and Do are what happened, what it means for people, and what to
	// do.
	Happened, Means, Do string
	// Link leads to the page where that is done.
	Link string
}

// Store is what telling needs of booking/store.
type Store interface {
	Alert(ctx context.Context, id uuid.UUID) (booking.Alert, error)
	Recipient(ctx context.Context, id uuid.UUID) (booking.AlertRecipient, error)
}

// Options are what telling needs.
type Options struct {
	Store Store
	// Words says it in a recipient's language.
	Words func(ctx context.Context, language string, a booking.Alert, n booking.Notice) (Text, error)
	// Sample is what a test says.
	Sample func(language string) Text
	// Mail is nil where no mail server is set.
	Mail *Mailer
	// Client posts to incoming webhooks, of which the URLs are people's.
	Client    *http.Client
	PublicURL *url.URL
}

// Teller tells of alerts.
type Teller struct{ o Options }

// New makes a Teller.
func New(o Options) *Teller { return &Teller{o} }

// Tell sends what an effect says. Whoever is no longer to be told is not, without an
// error. Other errors are ErrRefused, ErrNoMail, a *providers.AnswerError, a
// *providers.LaterError, or those of the way there.
func (t *Teller) Tell(ctx context.Context, e booking.Effect) error {
	var n booking.Notice
	if err := json.Unmarshal(e.Payload, &n); err != nil {
		return fmt.Errorf("notify: the payload of effect %s: %w", e.ID, err)
	}
	to, err := t.o.Store.Recipient(ctx, n.Recipient)
	if errors.Is(err, booking.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	a, err := t.o.Store.Alert(ctx, n.AlertID)
	if err != nil {
		return err
	}
	text, err := t.o.Words(ctx, to.Language, a, n)
	if err != nil {
		return err
	}
	text.Link = t.link(text.Link)
	if to.Channel == booking.ChannelSlack {
		return t.slack(ctx, to.Address, text, n)
	}
	if t.o.Mail == nil {
		return ErrNoMail
	}
	host := t.o.PublicURL.Hostname()
	m := message{to: to.Address, text: text, id: e.ID.String() + "@" + host, level: n.Level}
	// One outage is one thread: what is told later answers what was told first.
	if first := a.ID.String() + "@" + host; n.Event == booking.AlertOpened {
		m.id = first
	} else {
		m.answers = first
	}
	return t.o.Mail.send(ctx, m)
}

// Mails tells whether a mail server is set.
func (t *Teller) Mails() bool { return t.o.Mail != nil }

// Try sends a recipient a sample at once. Its errors are Tell's, and
// booking.ErrNotFound.
func (t *Teller) Try(ctx context.Context, recipient uuid.UUID) error {
	to, err := t.o.Store.Recipient(ctx, recipient)
	if err != nil {
		return err
	}
	text := t.o.Sample(to.Language)
	text.Link = t.link(text.Link)
	if to.Channel == booking.ChannelSlack {
		return t.slack(ctx, to.Address, text, booking.Notice{Level: booking.LevelNotice})
	}
	if t.o.Mail == nil {
		return ErrNoMail
	}
	return t.o.Mail.send(ctx, message{to: to.Address, text: text, id: uuid.NewString() + "@" + t.o.PublicURL.Hostname(), level: booking.LevelNotice})
}

func (t *Teller) link(path string) string {
	return strings.TrimSuffix(t.o.PublicURL.String(), "/") + path
}
