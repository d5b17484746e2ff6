package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/notify"
	"slotkeeper/providers"
	"slotkeeper/web"
)

// alerts is a store of alerts, and tries recipients.
type alerts struct {
	open, over   []booking.Alert
	recipients   []booking.AlertRecipient
	acknowledged []uuid.UUID
	tried        []uuid.UUID
	failing      error
	mails        bool
}

func (a *alerts) Alerts(_ context.Context, over bool, _ int) ([]booking.Alert, error) {
	if over {
		return a.over, nil
	}
	return a.open, nil
}

func (a *alerts) UnseenAlerts(context.Context) (int, error) { return len(a.open), nil }

func (a *alerts) AcknowledgeAlert(_ context.Context, id uuid.UUID, _ access.By, _ time.Time) error {
	a.acknowledged = append(a.acknowledged, id)
	return nil
}

func (a *alerts) Recipients(context.Context) ([]booking.AlertRecipient, error) {
	return a.recipients, nil
}

func (a *alerts) AddRecipient(_ context.Context, r booking.AlertRecipient, _ access.By) error {
	a.recipients = append(a.recipients, r)
	return nil
}

func (a *alerts) RemoveRecipient(_ context.Context, id uuid.UUID, _ access.By, _ time.Time) error {
	for i, r := range a.recipients {
		if r.ID == id {
			a.recipients = append(a.recipients[:i:i], a.recipients[i+1:]...)
			return nil
		}
	}
	return booking.ErrNotFound
}

func (a *alerts) Try(_ context.Context, id uuid.UUID) error {
	a.tried = append(a.tried, id)
	return a.failing
}

func (a *alerts) Mails() bool { return a.mails }

func oneAlert(kind booking.TroubleKind, subject, detail string) booking.Alert {
	return booking.Alert{
		ID: uuid.Must(uuid.NewV7()), Kind: kind, Subject: subject, Level: booking.LevelWarning, Detail: detail, Count: 7,
		Since: noon.Add(-time.Hour), OpenedAt: noon.Add(-time.Hour),
	}
}

// Every kind is told in every language, in words that say what happened, what it means
// and what to do, with a link to where that is done; messages name nobody who booked.
func TestAlertTexts(t *testing.T) {
	t.Parallel()
	r := full()
	c, held := r.connections[0], r.bookings[0]
	texts, err := web.NewAlertTexts(r, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, lang := range []string{"en", "id"} {
		for _, kind := range booking.TroubleKinds() {
			for _, detail := range []string{"", "needs_sign_in", "hook_lost", "undelivered", "failing", booking.UnprovenSome} {
				subject := c.ID.String()
				switch kind { //nolint:exhaustive // the rest is about connections
				case booking.TroubleConflict:
					subject = held.ID.String()
				case booking.TroubleDead, booking.TroubleOpen:
					subject = ""
				}
				a := oneAlert(kind, subject, detail)
				for _, e := range []booking.AlertEvent{booking.AlertOpened, booking.AlertWorse, booking.AlertRecovered, booking.AlertReturned} {
					got, err := texts.Text(t.Context(), lang, a, booking.Notice{AlertID: a.ID, Event: e, Level: a.Level, Count: a.Count, Detail: detail, At: noon})
					if err != nil {
						t.Fatal(err)
					}
					all := strings.Join([]string{got.Subject, got.Happened, got.Means, got.Do}, "|")
					if strings.Contains(all, "alert.") || strings.Contains(all, "<no value>") || got.Happened == "" || !strings.HasPrefix(got.Link, "/") {
						t.Errorf("%s %s %q %s: %+v", lang, kind, detail, e, got)
					}
					if (got.Means == "" || got.Do == "") != (e == booking.AlertRecovered) {
						t.Errorf("%s %s %s says %+v", lang, kind, e, got)
					}
					for _, person := range []string{held.Invitee.Name, held.Invitee.Email, held.Title} {
						if person != "" && strings.Contains(all, person) {
							t.Errorf("%s %s names %q: %s", lang, kind, person, all)
						}
					}
					said[all] = true
				}
			}
		}
	}
	if len(said) < 2*3*len(booking.TroubleKinds()) {
		t.Errorf("only %d texts differ", len(said))
	}
}

func TestAlertsPage(t *testing.T) {
	t.Parallel()
	r := full()
	w := newWorld(t, r, nil)
	who := w.user(t, "op", access.Operator)
	says(t, w.get(t, who, "/alerts"), "Nothing is wrong")
	w.alerts.open = []booking.Alert{oneAlert(booking.TroubleConnection, r.connections[0].ID.String(), "needs_sign_in"), oneAlert(booking.TroubleDead, "", "")}
	done := noon
	w.alerts.over = []booking.Alert{oneAlert(booking.TroubleDrift, r.connections[0].ID.String(), "")}
	w.alerts.over[0].ClosedAt, w.alerts.over[0].GoneAt = &done, &done
	calm := oneAlert(booking.TroubleUnproven, r.connections[0].ID.String(), booking.UnprovenAll)
	calm.GoneAt = &done
	w.alerts.open = append(w.alerts.open, calm)
	says(t, w.get(t, who, "/alerts"), "Clinic (Calendly) needs a new sign-in", "connects the account again", "7 deliveries were given up", "/deliveries?", "I&#39;ll take care of it", "7 bookings differ at Clinic", "nothing has been wrong since", "it is over if that lasts until")
	page := w.get(t, who, "/alerts")
	wholesome(t, page, "en")
	has(t, "ways on", page.body, `>See the account<span class="hidden">`, `>See these deliveries<span class="hidden">`)
	// Nothing is left to be done of one that has calmed down.
	open, calming, found := strings.Cut(page.body, `<h2 id="calm">Getting better</h2>`)
	calming, _, _ = strings.Cut(calming, "</section>")
	if !found || strings.Contains(open, "nothing has been wrong since") || strings.Contains(calming, "What to do") || strings.Contains(calming, "/acknowledge") {
		t.Errorf("what has calmed down stands among what lasts, or asks for something: %s", calming)
	}
	if got := strings.Count(open, "/acknowledge"); got != 2 {
		t.Errorf("%d alerts can be taken care of", got)
	}
	w.alerts.open[1].Count = 1
	says(t, w.get(t, who, "/alerts"), "1 delivery was given up", "1 delivery was tried for hours")
	for role, sees := range map[string]bool{"op": false, "admin": true} {
		browser := who
		if sees {
			browser = w.user(t, role, access.Administrator)
		}
		if body := says(t, w.get(t, browser, "/alerts"), "Nobody is told yet"); strings.Contains(body, "Choose who is told") != sees {
			t.Errorf("%s is led to who is told: %t", role, !sees)
		}
	}
	resp := w.post(t, who, "/alerts/"+w.alerts.open[0].ID.String()+"/acknowledge", url.Values{})
	if resp.StatusCode != http.StatusSeeOther || len(w.alerts.acknowledged) != 1 || w.alerts.acknowledged[0] != w.alerts.open[0].ID {
		t.Errorf("answered %d, acknowledged %v", resp.StatusCode, w.alerts.acknowledged)
	}
}

func TestAlertRecipients(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	rooms := w.records.resources
	who := w.user(t, "admin", access.Administrator)
	says(t, w.get(t, who, "/settings/alerts"), "Nobody is told yet", "no mail server is set", `<option value="slack" selected>`)
	const hook = "https://hooks.chat.example/services/planted-secret"
	for name, tt := range map[string]struct {
		form url.Values
		want string // what is wrong with it
	}{
		"mail":       {url.Values{"channel": {"mail"}, "address": {"night@harbourclinic.example"}, "least": {"page"}, "language": {"en"}}, ""},
		"webhook":    {url.Values{"channel": {"slack"}, "address": {hook}, "least": {"notice"}, "language": {"id"}, "resource": {rooms[0].ID.String(), rooms[1].ID.String(), rooms[0].ID.String()}}, ""},
		"no id":      {url.Values{"channel": {"slack"}, "address": {hook}, "least": {"notice"}, "language": {"id"}, "resource": {"room"}}, "resource"},
		"no address": {url.Values{"channel": {"mail"}, "address": {"night"}, "least": {"page"}, "language": {"en"}}, "desk@clinic.example"},
		"two":        {url.Values{"channel": {"mail"}, "address": {"a@x.example, b@x.example"}, "least": {"page"}, "language": {"en"}}, "desk@clinic.example"},
		"a name":     {url.Values{"channel": {"mail"}, "address": {"A <a@x.example>\r\nBcc: b@x.example"}, "least": {"page"}, "language": {"en"}}, "desk@clinic.example"},
		"a file":     {url.Values{"channel": {"slack"}, "address": {"file:///etc/passwd"}, "least": {"page"}, "language": {"en"}}, "beginning with https://"},
		"no channel": {url.Values{"channel": {"pigeon"}, "address": {hook}, "least": {"page"}, "language": {"en"}}, "Choose how to tell"},
		"no level":   {url.Values{"channel": {"mail"}, "address": {"night@harbourclinic.example"}, "least": {"panic"}, "language": {"en"}}, `id="least-error">Choose a level`},
		"no words":   {url.Values{"channel": {"mail"}, "address": {"night@harbourclinic.example"}, "least": {"page"}, "language": {"tlh"}}, `id="language-error">There are no texts`},
	} {
		before := len(w.alerts.recipients)
		resp := w.post(t, who, "/settings/alerts", tt.form)
		if tt.want == "" {
			if resp.StatusCode != http.StatusSeeOther || len(w.alerts.recipients) != before+1 {
				t.Errorf("%s: answered %d", name, resp.StatusCode)
			}
			continue
		}
		if resp.StatusCode != http.StatusUnprocessableEntity || len(w.alerts.recipients) != before || !strings.Contains(resp.body, tt.want) {
			t.Errorf("%s: answered %d", name, resp.StatusCode)
		}
		if tt.form.Get("channel") == "mail" { // others give back the secret that was typed
			wholesome(t, resp, "en")
		}
	}
	page := says(t, w.get(t, who, "/settings/alerts"), "night@harbourclinic.example", "hooks.chat.example", "Emergency", "not sent: no mail server", "Bahasa Indonesia")
	if !strings.Contains(page, rooms[0].Name) || !strings.Contains(page, rooms[1].Name) || !slices.ContainsFunc(w.alerts.recipients, func(r booking.AlertRecipient) bool {
		return slices.Equal(r.Resources, []uuid.UUID{rooms[0].ID, rooms[1].ID})
	}) {
		t.Errorf("told of resources are %+v", w.alerts.recipients)
	}
	if strings.Contains(page, "planted-secret") {
		t.Error("the page shows a webhook's URL")
	}
	if strings.Count(page, "not sent: no mail server") != 1 {
		t.Error("a chat is said to need a mail server")
	}
	w.alerts.mails = true
	if page := says(t, w.get(t, who, "/settings/alerts"), `<option value="mail">`); strings.Contains(page, "no mail server") || strings.Contains(page, `value="slack" selected`) {
		t.Error("with a mail server, e-mail is said not to go out")
	}
	w.alerts.mails = false
	id := w.alerts.recipients[0].ID.String()
	if resp := w.post(t, who, "/settings/alerts/"+id+"/try", url.Values{}); resp.StatusCode != http.StatusSeeOther || len(w.alerts.tried) != 1 {
		t.Errorf("a test is answered %d", resp.StatusCode)
	}
	w.alerts.failing = notify.ErrNoMail
	if resp := w.post(t, who, "/settings/alerts/"+id+"/try", url.Values{}); resp.StatusCode != http.StatusBadGateway || !strings.Contains(resp.body, "SLOTKEEPER_SMTP_URL") {
		t.Errorf("a test without a mail server is answered %d", resp.StatusCode)
	}
	for why, failing := range map[string]error{
		"does not take messages": fmt.Errorf("%w: 550 no such mailbox", notify.ErrRefused),
		"no_service":             fmt.Errorf("%w: %w", notify.ErrRefused, &providers.AnswerError{Status: http.StatusNotFound, Message: "no_service"}),
		"No answer came.":        context.DeadlineExceeded,
	} {
		w.alerts.failing = failing
		resp := w.post(t, who, "/settings/alerts/"+id+"/try", url.Values{})
		if !strings.Contains(resp.body, why) || strings.Contains(resp.body, failing.Error()) {
			t.Errorf("a test that failed by %v is answered %d", failing, resp.StatusCode)
		}
	}
	if resp := w.post(t, who, "/settings/alerts/"+id+"/remove", url.Values{}); resp.StatusCode != http.StatusSeeOther || len(w.alerts.recipients) != 1 {
		t.Errorf("removing is answered %d", resp.StatusCode)
	}
}

// says wants texts on a page, and gives it.
func says(t *testing.T, got answer, texts ...string) string {
	t.Helper()
	if got.StatusCode != http.StatusOK {
		t.Errorf("answered %d", got.StatusCode)
	}
	for _, want := range texts {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not say %q:\n%s", want, got.body)
		}
	}
	return got.body
}
