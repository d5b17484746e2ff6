package web_test

import (
	"testing"
	"time"

	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// What is the matter with a webhook stands on the account's page in words, since when,
// and what comes of it: not only that something is.
func TestWebhookInWords(t *testing.T) {
	t.Parallel()
	w, _ := connectWorld(t)
	admin := w.user(t, "ayu", access.Administrator)
	since := noon.Add(-2 * time.Hour)
	missing := []providers.HookKind{{Name: "it.was.canceled", Of: providers.TopicCanceled}}
	for name, tt := range map[string]struct {
		failure string
		en, id  []string
		lacks   string
	}{
		"narrowed": {
			providers.HookState{Trouble: providers.HookNarrowed, Missing: missing}.String() + ": the API answered 403: upgrade",
			[]string{"without: cancellations since", "upgrade", "is not whole and could not be registered again"},
			[]string{"tanpa: pembatalan sejak", "upgrade", "tidak utuh dan tidak dapat didaftarkan ulang"},
			"gone at the provider",
		},
		"not delivered to": {
			providers.HookState{Trouble: providers.HookFailing, FailingSince: &since}.String(),
			[]string{"not getting through; Calendly switches it off after 24 hours of that, since", "Calendly cannot deliver to this server", "registered again by itself"},
			[]string{"tidak sampai; Calendly mematikannya setelah 24 jam begitu, sejak", "Calendly tidak dapat mengirim ke server ini"},
			"Something unexpected",
		},
	} {
		w.records.change(t, id(9), func(c *providers.Connection) { c.Health = providers.Health{HookLostAt: &since, Failure: tt.failure} })
		for lang, want := range map[string][]string{"en": tt.en, "id": tt.id} {
			page := w.get(t, admin, connectionPath(9), "Accept-Language", lang)
			wholesome(t, page, lang)
			has(t, name+", "+lang, page.body, want...)
			hasNot(t, name+", "+lang, page.body, tt.lacks, "our webhook")
		}
	}
}

// A check that finds a webhook narrowed says what was missing once it is whole again;
// one that finds that posts do not get through does not say that all is well.
func TestCheckSaysWhatWasMissing(t *testing.T) {
	t.Parallel()
	w, k := connectWorld(t)
	admin := w.user(t, "ayu", access.Administrator)
	k.finding = account.Finding{Connection: mustConnection(t, w, 5), Remade: true, Hook: providers.HookState{
		Trouble: providers.HookNarrowed, Missing: []providers.HookKind{{Name: "it.was.canceled", Of: providers.TopicCanceled}},
	}}
	to := w.post(t, admin, connectionPath(5, "/check"), nil).Header.Get("Location")
	for lang, want := range map[string]string{"en": "It was without: cancellations.", "id": "Sebelumnya tanpa: pembatalan."} {
		page := w.get(t, admin, to, "Accept-Language", lang)
		wholesome(t, page, lang)
		has(t, lang, page.body, want)
	}
	forged := w.get(t, admin, connectionPath(5)+"?done=remade&was=planted&missing=planted")
	wholesome(t, forged, "en")
	hasNot(t, "an address that was changed by hand", forged.body, "planted", "It was")

	since := noon.Add(-time.Hour)
	k.finding.Remade, k.finding.Health.HookLostAt = false, &since
	to = w.post(t, admin, connectionPath(5, "/check"), nil).Header.Get("Location")
	page := w.get(t, admin, to)
	has(t, "not delivered to", page.body, "its posts do not get through")
	hasNot(t, "not delivered to", page.body, "it works")
}
