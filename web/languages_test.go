package web_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// sameInBoth are the texts that are right to be equal in English and Indonesian:
// names, and words that Indonesian has taken over.
var sameInBoth = []string{
	"nav.audit", "booking.whatsapp", "audit.title", "audit.heading", "calendar.view.agenda", "keys.agenda", "transition.hash",
	"kind.none", "actor.none", "provider.none", "provider.calendly", "provider.calcom", "provider.acuity", "role.operator", "role.administrator",
}

func TestMessages(t *testing.T) {
	t.Parallel()
	en, id := messages(t, "en"), messages(t, "id")
	for _, key := range slices.Sorted(maps.Keys(en)) {
		text, ok := id[key]
		if !ok {
			t.Errorf("Indonesian has no %s", key)
			continue
		}
		if strings.TrimSpace(en[key]) == "" || strings.TrimSpace(text) == "" {
			t.Errorf("%s is empty", key)
		}
		if same := strings.TrimSpace(text) == strings.TrimSpace(en[key]); same != slices.Contains(sameInBoth, key) {
			t.Errorf("%s: is equal to English: %v", key, same)
		}
		if a, b := placeholders(en[key]), placeholders(text); !slices.Equal(a, b) {
			t.Errorf("%s has %v in English and %v in Indonesian", key, a, b)
		}
	}
	for key := range id {
		if _, ok := en[key]; !ok {
			t.Errorf("English has no %s", key)
		}
	}
}

func placeholders(text string) []string {
	all := placeholder.FindAllString(text, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

var (
	inTemplate = regexp.MustCompile(`\b[tn] "([a-z_.0-9]+)"`)
	inSet      = regexp.MustCompile(`named "([a-z.]+)"`)
	inGo       = regexp.MustCompile(`"([a-z_]+(?:\.[a-z_0-9]+)+)"`)
)

// Every key that templates or code ask for has a text, and every text is asked
// for by something.
func TestMessagesAreUsed(t *testing.T) {
	t.Parallel()
	en := messages(t, "en")
	used := map[string]bool{}
	need := func(key, by string) {
		used[key] = true
		if _, ok := en[key]; !ok {
			t.Errorf("%s asks for %s, which has no text", by, key)
		}
	}
	sets := map[string]bool{"deed": true, "did": true, "fault": true, "trouble": true, "remedy": true, "undone": true, "kept": true, "hop.found": true, "signed": true, "signed.failed": true, "purpose": true, "notices": true, "found": true, "because": true, "erase.who.invalid": true, "asked": true, "conflict": true, "user.refused": true, "actor": true, "provider": true, "reason": true, "booking.ended": true, "party": true, "hook.wrong": true, "topic": true}
	for _, pattern := range []string{"templates/*.html", "templates/partials/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text := read(t, file)
			for _, m := range inTemplate.FindAllStringSubmatch(text, -1) {
				need(m[1], file)
			}
			for _, m := range inSet.FindAllStringSubmatch(text, -1) {
				sets[m[1]] = true
			}
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range inGo.FindAllStringSubmatch(read(t, file), -1) {
			if _, ok := en[m[1]]; ok {
				used[m[1]] = true
			}
		}
	}
	values := closedSets()
	values["fault"] = append(constants(t, "../providers", "", "Code"), booking.CodeApplyFailed, "other")
	values["hop.found"] = slices.DeleteFunc(constants(t, "../booking/account", "HopFinding", ""), func(f string) bool { return f == string(account.FoundTrouble) })
	for set := range sets {
		if len(values[set]) == 0 {
			t.Errorf("the values of the set %s are not listed in this test", set)
		}
		for _, v := range values[set] {
			need(set+"."+v, "the set "+set)
		}
	}
	for _, code := range []string{
		"bad_request", "forbidden", "cross_origin", "not_found", "not_found.booking", "link_spent", "method_not_allowed", "conflict", "body_too_large",
		"illegal_transition", "unconfirmed", "already_canceled", "already_asked", "provider_signin_spent", "cannot_cancel", "nothing_to_retry", "nothing_to_withdraw", "being_tried",
		"invalid", "rate_limited", "unavailable", "internal",
	} {
		need("problem."+code+".title", "the error page")
		need("problem."+code+".help", "the error page")
	}
	for _, field := range []string{
		"username", "password", "timezone", "language", "message", "name", "zone", "into", "from", "identity", "resource", "connection_name", "day", "key", "user", "api_url", "account", "reason",
		"first_weekday", "appearance", "role", "resources", "sees", "token_name", "scope",
		"feed_name", "level", "status", "provider", "other", "to", "channel", "least", "alert_mail", "alert_slack", "endpoint_name", "endpoint_url", "endpoints", "event", "understood", "keep",
	} {
		need("invalid."+field, "a form")
	}
	alerts := []string{"connection.needs_sign_in", "connection.hook_lost", "connection.undelivered", "unproven." + booking.UnprovenSome, "endpoint.off_" + string(booking.OffGone), "endpoint.off_" + string(booking.OffFailing)}
	for _, kind := range booking.TroubleKinds() {
		alerts = append(alerts, string(kind))
	}
	for _, alert := range alerts {
		for _, part := range []string{"title", "happened", "means", "do"} {
			need("alert."+alert+"."+part, "an alert")
		}
	}
	for _, there := range []string{"account", "conflict", "conflicts", "deliveries", "system"} {
		need("alerts.go."+there, "an alert")
	}
	for _, event := range []booking.AlertEvent{booking.AlertOpened, booking.AlertWorse, booking.AlertRecovered, booking.AlertReturned} {
		need("alert.subject."+string(event), "an alert")
	}
	for _, done := range []string{"added", "removed", "tried"} {
		need("alerts.done."+done, "who is told of alerts")
	}
	for _, cause := range booking.AttemptCauses() {
		need("endpoints.why."+string(cause), "the pages of endpoints")
	}
	for _, done := range []string{"added", "removed", "rotated", "finished", "on", "off", "retried"} {
		need("endpoints.done."+done, "the pages of endpoints")
	}
	for _, cause := range booking.HeldCauses() {
		need("held."+string(cause), "a conflict")
	}
	for _, more := range []string{"later", "together", "later.together"} {
		need("held.first."+more, "a conflict")
	}
	for key := range en {
		if !used[key] {
			t.Errorf("nothing uses %s", key)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// closedSets are the values of the sets that have texts.
func closedSets() map[string][]string {
	text := func(values ...any) []string {
		var out []string
		for _, v := range values {
			out = append(out, fmt.Sprint(v))
		}
		return out
	}
	reasons := text(booking.ReasonCanceled, booking.ReasonRemoved, booking.ReasonDeclined, booking.ReasonRescheduled, booking.ReasonSlotTaken,
		booking.ReasonOverlap, booking.ReasonCapacityFull, booking.ReasonUnmapped, booking.ReasonIllegal, booking.ReasonStale)
	out := map[string][]string{
		"reason": reasons, "why": reasons,
		"told": append(text(booking.EventTest), text(booking.EventActive, booking.EventCanceled, booking.EventMoved, booking.EventConflicted, booking.EventReleased,
			booking.EventRejected, booking.EventFailing, booking.EventRecovered)...),
		"webhook":       text(booking.EffectPending, booking.EffectFailed, booking.EffectDone, booking.EffectDead, booking.EffectWithdrawn),
		"endpoints.off": text(booking.OffByHand, booking.OffGone, booking.OffFailing), "endpoints.off.help": text(booking.OffByHand, booking.OffGone, booking.OffFailing),
		"booking.ended": {
			"canceled", "canceled.by", "canceled.undated", "rescheduled", "rescheduled.by", "rescheduled.undated",
			"declined", "declined.by", "declined.undated", "removed", "removed.undated",
		},
		"party":         {"host", "host.named", "invitee", "invitee.named"},
		"outcome":       text(booking.Applied, booking.Rejected),
		"actor":         {"none", "webhook", "backfill", "reconcile", "replay", "system", "user", "token"},
		"provider":      {"none", "calendly", "calcom", "acuity", "generic"},
		"calendar.view": {"agenda", "day", "week", "month", "resources"},
		"user.done":     {"added", "role", "limit", "disabled", "enabled", "signout"},
		"user.refused":  {"role", "disabled", "enabled"},
		"sessions.done": {"ended", "all"},
		"appearance":    text(access.AppearanceLight, access.AppearanceDark),
		"scope":         text(access.Read, access.Operate, access.Admin),
		"privacy":       text(access.Viewer, access.Operator),
		"audit.range":   {"24h", "7d", "30d", "90d", "all", "custom"},
		"deed":          access.Deeds(),
		"did":           access.Deeds(),
		"signed":        {"password", "link"},
		"signed.failed": {"wrong_password", "unknown_name", "disabled"},
		"purpose":       text(access.LinkSignIn, access.LinkAdministrator),
		"hook.wrong":    text(providers.HookGone, providers.HookOff, providers.HookForeign, providers.HookTemplated, providers.HookNarrowed, providers.HookPartlyOff, providers.HookDated, providers.HookFailing),
		"topic": text(providers.TopicBooked, providers.TopicRequested, providers.TopicMoved, providers.TopicCanceled, providers.TopicDeclined, providers.TopicChanged,
			providers.TopicUnpaid, providers.TopicNoShow, providers.TopicAbsence),
		"notices": {"removed", "left", "registered", "manual"},
		"found":   {"ok", "recovered", "remade"},
		"kept":    text(account.CauseCredentials, account.CauseForbidden, account.CauseLimited, account.CauseProvider, account.CauseUnreachable),
		"undone":  {booking.UndoneJoined, booking.UndoneAccepted, booking.UndoneMoved, booking.CannotKeyless, booking.CannotSeatless, booking.CannotUnconnected, booking.CannotNoAPI, booking.CannotSeatsHidden, booking.CannotUnnamed, "gone", "refused"},
		"conflict": {
			"disconnected", "rotating", "secret_given", "not_rotating", "ended", "importing", "no_preview", "key_not_ours", "busy", "accepted",
			"user_disabled", "user_enabled", "last_administrator", "user_exists", "request_used", "host_email", "other_installation", "rotation_open",
		},
		"level":       text(booking.LevelNotice, booking.LevelWarning, booking.LevelPage),
		"channel":     text(booking.ChannelMail, booking.ChannelSlack),
		"feeds.level": text(booking.FeedBusy, booking.FeedNames, booking.FeedFull),
		"erase.by":    {"email", "phone"},
		"erase.again": {"email", "phone"}, "erase.who.invalid": {"email", "phone"},
		"feeds.level.help": text(booking.FeedBusy, booking.FeedNames, booking.FeedFull),
		"resource.done":    {"renamed", "zone", "merged", "split", "mapped", "ruled", "unruled"},
		"kind": text("none", booking.KindRequested, booking.KindCreated, booking.KindMoved, booking.KindCanceled, booking.KindDetails,
			booking.KindNoShow, booking.KindSelftest, "other", "unknown", "OOO_CREATED", "BOOKING_PAYMENT_INITIATED", "BOOKING_PAID", "BOOKING_NO_SHOW_UPDATED",
			"MEETING_STARTED", "MEETING_ENDED", "RECORDING_READY", "FORM_SUBMITTED", "PING", "routing_form_submission.created", "order.completed"),
		"because":          {"asked_for", "the_overlap_was_accepted", "a_backup_was_restored", "a_list_of_them_was_given"},
		"asked":            text(booking.EffectCancel, booking.EffectAlertMail, booking.EffectAlertSlack, booking.EffectWebhook),
		"replay.count":     {"changed", "wouldchange", "unchanged", "still_failed", "asked", "need_refetch", "open", "gone"},
		"replay.help":      {"changed", "wouldchange", "unchanged", "still_failed", "asked", "need_refetch", "open", "gone"},
		"deliveries.range": {"today", "24h", "7d", "30d", "all"}, "deliveries.chart": {"day", "month"},
		"deliveries.series": {"settled", "copies", "open", "refused", "failed"},
		"status":            {"none"}, "receipt": text(booking.StatusDuplicate),
	}
	// A kind of what was asked for is called so; ids of what stands on no page are not
	// shown.
	out["fact"] = []string{"asked"}
	for _, f := range access.FactNames() {
		if f != "effect" && f != "run" {
			out["fact"] = append(out["fact"], string(f))
		}
	}
	for _, s := range booking.Statuses() {
		out["status"] = append(out["status"], string(s))
	}
	for _, a := range booking.Actions() {
		out["event"] = append(out["event"], string(a))
	}
	for _, s := range booking.ReceiptStatuses() {
		out["receipt"] = append(out["receipt"], string(s))
	}
	for _, s := range booking.EffectStatuses() {
		out["effect"] = append(out["effect"], string(s))
	}
	for _, s := range booking.RunStatuses() {
		out["run.status"] = append(out["run.status"], string(s))
	}
	for _, k := range booking.RunKinds() {
		out["run.kind"] = append(out["run.kind"], string(k))
	}
	for _, k := range booking.DriftKinds() {
		out["drift"] = append(out["drift"], string(k))
	}
	for set, values := range connecting() {
		out[set] = values
	}
	for _, r := range access.Roles() {
		out["role"] = append(out["role"], string(r))
	}
	return out
}

func TestLanguageOfTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, full(), nil)
	for accept, want := range map[string]string{
		"": "en", "id": "id", "id-ID,id;q=0.9,en;q=0.8": "id", "en-GB": "en", "de": "en", "de,id;q=0.5": "id", "in": "id", ";;;": "en",
	} {
		res := w.get(t, w.browser(t), "/signin", "Accept-Language", accept)
		if got := res.Header.Get("Content-Language"); res.StatusCode != http.StatusOK || got != want {
			t.Errorf("%q gives %q", accept, got)
		}
	}
}

// The glossary says what the pages say: each word of a state stands in both message
// files, under one key.
func TestGlossary(t *testing.T) {
	t.Parallel()
	_, states, found := strings.Cut(read(t, "../docs/glossary.md"), "## States\n")
	states, _, _ = strings.Cut(states, "\n## ")
	if !found {
		t.Fatal("there are no states in the glossary")
	}
	en, id := messages(t, "en"), messages(t, "id")
	rows := 0
	for row := range strings.Lines(states) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "| "), " | ")
		if len(cells) != 2 || strings.HasPrefix(cells[0], "--") || cells[0] == "English" {
			continue
		}
		rows++
		said := false
		for key, text := range en {
			said = said || text == cells[0] && id[key] == cells[1]
		}
		if !said {
			t.Errorf("no message is %q in English and %q in Indonesian", cells[0], cells[1])
		}
	}
	if rows < 7 {
		t.Errorf("only %d states", rows)
	}
}
