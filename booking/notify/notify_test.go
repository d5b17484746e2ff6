package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/notify"
	"slotkeeper/providers"
)

var at = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// house is a store with one alert and its recipients.
type house struct {
	alert      booking.Alert
	recipients []booking.AlertRecipient
}

func (h *house) Alert(context.Context, uuid.UUID) (booking.Alert, error) { return h.alert, nil }

func (h *house) Recipient(_ context.Context, id uuid.UUID) (booking.AlertRecipient, error) {
	for _, r := range h.recipients {
		if r.ID == id {
			return r, nil
		}
	}
	return booking.AlertRecipient{}, booking.ErrNotFound
}

func (h *house) effect(t *testing.T, to uuid.UUID, event booking.AlertEvent) booking.Effect {
	t.Helper()
	payload, err := json.Marshal(booking.Notice{AlertID: h.alert.ID, Recipient: to, Event: event, Level: booking.LevelPage, Count: 3, At: at})
	if err != nil {
		t.Fatal(err)
	}
	return booking.Effect{ID: uuid.NewSHA1(h.alert.Told(event), to[:]), Payload: payload}
}

func (h *house) teller(t *testing.T, mail *notify.Mailer) *notify.Teller {
	t.Helper()
	hosts, err := providers.ParseAllowedHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client := providers.NewClient(providers.Outbound{Allowed: hosts, Tempo: 1000, Now: time.Now})
	t.Cleanup(client.CloseIdleConnections)
	return notify.New(notify.Options{
		Store: h, Mail: mail, Client: client, PublicURL: &url.URL{Scheme: "https", Host: "slots.example", Path: "/"},
		Words: func(_ context.Context, language string, _ booking.Alert, n booking.Notice) (notify.Text, error) {
			return notify.Text{Subject: string(n.Event) + " in " + language, Happened: "A < B & it hurts", Means: "badly", Do: "mend", Link: "/alerts"}, nil
		},
		Sample: func(string) notify.Text {
			return notify.Text{Subject: "a test", Happened: "asked for", Link: "/alerts"}
		},
	})
}

func to(channel booking.AlertChannel, address string) booking.AlertRecipient {
	return booking.AlertRecipient{ID: uuid.New(), Channel: channel, Address: address, Language: "id"}
}

// One outage is one thread, and a mail that is sent again is the same mail.
func TestMailThread(t *testing.T) {
	t.Parallel()
	server := newMailServer(t)
	mail, err := notify.NewMailer("smtp://"+server.Addr().String()+"?tls=none", "Slotkeeper <slots@harbourclinic.example>", func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	night := to(booking.ChannelMail, "night@harbourclinic.example")
	h := &house{alert: booking.Alert{ID: uuid.New(), Level: booking.LevelPage}, recipients: []booking.AlertRecipient{night}}
	teller := h.teller(t, mail)
	first := "Message-ID: <" + h.alert.ID.String() + "@slots.example>"
	for i, event := range []booking.AlertEvent{booking.AlertOpened, booking.AlertOpened, booking.AlertWorse, booking.AlertRecovered} {
		if err := teller.Tell(t.Context(), h.effect(t, night.ID, event)); err != nil {
			t.Fatal(err)
		}
		got := server.received()[i]
		if opened := event == booking.AlertOpened; strings.Contains(got, first) != opened ||
			strings.Contains(got, "In-Reply-To: <"+h.alert.ID.String()+"@slots.example>") == opened {
			t.Errorf("%s is %s", event, got)
		}
		for _, want := range []string{
			"To: <night@harbourclinic.example>", "Subject: " + string(event) + " in id", "Auto-Submitted: auto-generated",
			"A < B & it hurts", "mend", "https://slots.example/alerts", "Date: Mon, 02 Nov 2026 09:00:00 +0000",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q: %s", event, want, got)
			}
		}
	}
	if err := teller.Try(t.Context(), night.ID); err != nil || !strings.Contains(server.received()[4], "Subject: a test") {
		t.Errorf("a test: %v", err)
	}
}

func TestMailTrouble(t *testing.T) {
	t.Parallel()
	server := newMailServer(t)
	mail, err := notify.NewMailer("smtp://"+server.Addr().String()+"?tls=none", "slots@harbourclinic.example", func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	night := to(booking.ChannelMail, "night@harbourclinic.example")
	h := &house{alert: booking.Alert{ID: uuid.New()}, recipients: []booking.AlertRecipient{night}}
	for name, tt := range map[string]struct {
		say     string
		refused bool
	}{
		"no such mailbox": {"550 5.1.1 no such user", true},
		"greylisted":      {"450 4.7.1 come back in five minutes", false},
		"full":            {"452 4.2.2 over quota", false},
	} {
		server.answers(tt.say)
		err := h.teller(t, mail).Tell(t.Context(), h.effect(t, night.ID, booking.AlertOpened))
		if err == nil || errors.Is(err, notify.ErrRefused) != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = server.Close()
	if err := h.teller(t, mail).Tell(t.Context(), h.effect(t, night.ID, booking.AlertOpened)); err == nil || errors.Is(err, notify.ErrRefused) {
		t.Errorf("a server that is away: %v", err)
	}
	if err := h.teller(t, nil).Tell(t.Context(), h.effect(t, night.ID, booking.AlertOpened)); !errors.Is(err, notify.ErrNoMail) {
		t.Errorf("without a server: %v", err)
	}
	// Who was removed meanwhile is told nothing, and that is no failure.
	if err := h.teller(t, mail).Tell(t.Context(), h.effect(t, uuid.New(), booking.AlertOpened)); err != nil {
		t.Errorf("nobody: %v", err)
	}
}

func TestMailerSettings(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"smtp://user:planted@mail.example:587": true, "smtps://mail.example": true, "smtp://mail.example?tls=none": true,
		"http://mail.example": false, "mail.example:25": false, "smtp://": false, "smtp://user:planted@mail.example/inbox": false,
	} {
		_, err := notify.NewMailer(address, "slots@harbourclinic.example", time.Now)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := notify.NewMailer("smtps://mail.example", "nobody", time.Now); err == nil {
		t.Error("a sender that is no address is taken")
	}
}

// A webhook's URL is a secret: no error repeats it.
func TestSlack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status  int
		refused bool
		after   time.Duration
	}{
		"taken":       {http.StatusOK, false, 0},
		"too many":    {http.StatusTooManyRequests, false, 30 * time.Second},
		"away":        {http.StatusServiceUnavailable, false, 0},
		"removed":     {http.StatusNotFound, true, 0},
		"not allowed": {http.StatusForbidden, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var posted map[string]string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&posted); err != nil || r.URL.Path != "/services/planted-secret" {
					t.Errorf("posted to %s: %v", r.URL, err)
				}
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, "said so")
			}))
			t.Cleanup(server.Close)
			team := to(booking.ChannelSlack, server.URL+"/services/planted-secret")
			h := &house{alert: booking.Alert{ID: uuid.New()}, recipients: []booking.AlertRecipient{team}}
			err := h.teller(t, nil).Tell(t.Context(), h.effect(t, team.ID, booking.AlertOpened))
			if (err == nil) != (tt.status == http.StatusOK) || errors.Is(err, notify.ErrRefused) != tt.refused {
				t.Errorf("%v", err)
			}
			var later *providers.LaterError
			if errors.As(err, &later) != (tt.after > 0) || later != nil && later.After != tt.after {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "planted") {
				t.Errorf("the error tells the URL: %v", err)
			}
			if text := posted["text"]; !strings.Contains(text, "*opened in id*") || !strings.Contains(text, "A &lt; B &amp; it hurts") || !strings.Contains(text, "<https://slots.example/alerts>") {
				t.Errorf("posted %q", text)
			}
		})
	}
	team := to(booking.ChannelSlack, "http://127.0.0.1:1/services/planted-secret")
	h := &house{recipients: []booking.AlertRecipient{team}}
	if err := h.teller(t, nil).Try(t.Context(), team.ID); err == nil || strings.Contains(err.Error(), "planted") {
		t.Errorf("a host that is away: %v", err)
	}
	// Nothing on the private network can be reached by an address that somebody enters.
	private := to(booking.ChannelSlack, "http://10.0.0.1/services/planted-secret")
	h.recipients = append(h.recipients, private)
	if err := h.teller(t, nil).Try(t.Context(), private.ID); err == nil || strings.Contains(err.Error(), "planted") {
		t.Errorf("a private address: %v", err)
	}
}
