package notify

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"slotkeeper/booking"
)

const mailTimeout = 30 * time.Second

// Mailer sends mail over one server.
type Mailer struct {
	host string
	from string
	opts []mail.Option
	now  func() time.Time
}

// NewMailer reads where mail goes and who sends it: smtp://user:password@host:587 speaks
// STARTTLS, or nothing without ?tls=none; smtps://host:465 speaks TLS at once. Its
// errors repeat no password.
func NewMailer(address, from string, now func() time.Time) (*Mailer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return nil, errors.New("must be smtp://user:password@host:port or smtps://…")
	}
	if _, err := netmail.ParseAddress(from); err != nil {
		return nil, errors.New("the sender must be an e-mail address")
	}
	m := &Mailer{host: u.Hostname(), from: from, now: now, opts: []mail.Option{mail.WithTimeout(mailTimeout)}}
	var port int
	switch {
	case u.Scheme == "smtps":
		m.opts, port = append(m.opts, mail.WithSSL()), 465
	case u.Scheme == "smtp" && u.Query().Get("tls") == "none":
		m.opts, port = append(m.opts, mail.WithTLSPolicy(mail.NoTLS)), 25
	case u.Scheme == "smtp":
		m.opts, port = append(m.opts, mail.WithTLSPolicy(mail.TLSMandatory)), 587
	default:
		return nil, errors.New("must begin with smtp:// or smtps://")
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil {
			return nil, errors.New("the port must be a number")
		}
	}
	m.opts = append(m.opts, mail.WithPort(port))
	if u.User != nil {
		password, _ := u.User.Password()
		m.opts = append(m.opts, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()), mail.WithPassword(password))
	}
	return m, nil
}

// message is a mail about an alert.
type message struct {
	to   string
	text Text
	// id is the message's own, answers that of the one that it follows; "" for none.
	id, answers string
	level       booking.AlertLevel
}

// send gives a message to the server. A refusal of the 500s is ErrRefused.
func (m *Mailer) send(ctx context.Context, msg message) error {
	out := mail.NewMsg()
	if err := errors.Join(out.From(m.from), out.To(msg.to)); err != nil {
		return fmt.Errorf("notify: %w: %w", ErrRefused, err)
	}
	out.Subject(msg.text.Subject)
	out.SetMessageIDWithValue(msg.id)
	out.SetDateWithValue(m.now())
	out.SetGenHeader(mail.Header("Auto-Submitted"), "auto-generated")
	if msg.answers != "" {
		out.SetGenHeader(mail.HeaderInReplyTo, "<"+msg.answers+">")
		out.SetGenHeader(mail.HeaderReferences, "<"+msg.answers+">")
	}
	if msg.level == booking.LevelPage {
		out.SetImportance(mail.ImportanceHigh)
	}
	var parts []string
	for _, s := range []string{msg.text.Happened, msg.text.Means, msg.text.Do, msg.text.Link} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	out.SetBodyString(mail.TypeTextPlain, strings.Join(parts, "\n\n")+"\n")
	client, err := mail.NewClient(m.host, m.opts...)
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, out)
	var failed *mail.SendError
	if errors.As(err, &failed) && failed.ErrorCode() >= 500 {
		return fmt.Errorf("notify: %w: %w", ErrRefused, err)
	}
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}
