package notify_test

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/notify"
)

// Whoever asks for TLS gets it, or no mail: neither the password nor a word of the mail
// goes in the clear, whatever the server offers or leaves out, and to nobody who cannot
// show who he is.
func TestMailOverTLS(t *testing.T) {
	t.Parallel()
	const user, password = "slots", "planted-password"
	for name, tt := range map[string]struct {
		scheme           string
		implicit, starts *tls.Config
		sent             bool
	}{
		"TLS from the start":                 {"smtps", known.shows(t, "127.0.0.1"), nil, true},
		"TLS from the start, plain server":   {"smtps", nil, nil, false},
		"TLS from the start, stranger":       {"smtps", stranger.shows(t, "127.0.0.1"), nil, false},
		"TLS from the start, another's name": {"smtps", known.shows(t, "mail.other.example"), nil, false},
		"STARTTLS":                           {"smtp", nil, known.shows(t, "127.0.0.1"), true},
		"STARTTLS that is not offered":       {"smtp", nil, nil, false},
		"STARTTLS, stranger":                 {"smtp", nil, stranger.shows(t, "127.0.0.1"), false},
		"STARTTLS, another's name":           {"smtp", nil, known.shows(t, "mail.other.example"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveMail(t, tt.implicit, tt.starts)
			mail, err := notify.NewMailer(tt.scheme+"://"+user+":"+password+"@"+server.Addr().String(), "slots@harbourclinic.example", func() time.Time { return at })
			if err != nil {
				t.Fatal(err)
			}
			night := to(booking.ChannelMail, "night@harbourclinic.example")
			h := &house{alert: booking.Alert{ID: uuid.New(), Level: booking.LevelPage}, recipients: []booking.AlertRecipient{night}}
			err = h.teller(t, mail).Tell(t.Context(), h.effect(t, night.ID, booking.AlertOpened))
			if (err == nil) != tt.sent || len(server.received()) == 1 != tt.sent {
				t.Errorf("%d mails came, %v", len(server.received()), err)
			}
			if err != nil && (errors.Is(err, notify.ErrRefused) || strings.Contains(err.Error(), password)) {
				t.Errorf("a server that may be mended is given up, or the password told: %v", err)
			}
			all, clear := server.heard()
			secret := base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + password))
			if tt.sent != strings.Contains(all, secret) {
				t.Errorf("the server heard %q", all)
			}
			for _, word := range []string{"AUTH", password, secret, "MAIL FROM", "night@", "it hurts"} {
				if strings.Contains(clear, word) {
					t.Errorf("%q went in the clear: %q", word, clear)
				}
			}
		})
	}
}
