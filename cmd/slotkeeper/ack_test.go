package main

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestAckContract posts what leads to every status and every code that there is,
// and compares the whole answer: senders decide by it.
func TestAckContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) {
		all := s.connectAll(t)
		t.Run("statuses", func(t *testing.T) { everyStatus(t, s, all) })
		t.Run("fixtures", func(t *testing.T) { everyFixture(t, s) })
		// After what connects: whoever tries many ids holds up, for a second, that new
		// ones are known.
		t.Run("refusals", func(t *testing.T) { everyRefusal(t, s, all) })
		t.Run("bad input", func(t *testing.T) { everyFault(t, s) })
	})
}

// verdict is what an acknowledged post must be answered.
type verdict struct {
	http   int
	status string
	error  string // up to its ": " where the rest is for people
}

var (
	processed = verdict{http.StatusOK, "processed", ""}
	unchanged = verdict{http.StatusOK, "unchanged", ""}
	ignored   = verdict{http.StatusOK, "ignored", ""}
	waiting   = verdict{http.StatusAccepted, "waiting", ""}
	pending   = verdict{http.StatusAccepted, "pending", ""}
)

func conflict(reason string) verdict { return verdict{http.StatusOK, "conflict", reason} }
func rejected(reason string) verdict { return verdict{http.StatusOK, "rejected", reason} }
func failed(code string) verdict     { return verdict{http.StatusOK, "failed", code + ": "} }

// acked compares an answer with what is due, member by member.
func acked(t *testing.T, a connected, got answer, want verdict, original string) {
	t.Helper()
	keys := []string{"ack_timestamp", "event_id", "status"}
	if want.error != "" {
		keys = append(keys, "error")
	}
	if original != "" {
		keys = append(keys, "original_status")
	}
	if a.Name() == "generic" {
		keys = append(keys, "source_event_id")
	}
	slices.Sort(keys)
	if got.status != want.http || got.text("status") != want.status || got.text("original_status") != original || !slices.Equal(got.keys(), keys) {
		t.Fatalf("answered %d %s, want %d %s of %q with %v", got.status, got.body, want.http, want.status, original, keys)
	}
	text, code := got.text("error"), strings.HasSuffix(want.error, ": ")
	if !code && text != want.error || code && (!strings.HasPrefix(text, want.error) || len(text) < len(want.error)+20) {
		t.Errorf("the error is %q, want %q", text, want.error)
	}
	if c := got.header.Get("Content-Type"); c != "application/json" {
		t.Errorf("the content type is %q", c)
	}
	if _, err := uuid.Parse(got.text("event_id")); err != nil {
		t.Errorf("the event id is %q", got.text("event_id"))
	}
	at, err := time.Parse(time.RFC3339Nano, got.text("ack_timestamp"))
	if err != nil || at.Location() != time.UTC || time.Since(at).Abs() > time.Minute {
		t.Errorf("the time is %q", got.text("ack_timestamp"))
	}
}

// settled delivers a body and a copy of it, which is 200 whatever the first was,
// under the same id.
func settled(t *testing.T, a connected, body []byte, want verdict) answer {
	t.Helper()
	first := a.deliver(t, body)
	acked(t, a, first, want, "")
	copied := verdict{http.StatusOK, "duplicate", ""}
	if want.status == "failed" {
		copied.error = want.error
	}
	header := a.signed(body)
	if a.Name() == "generic" {
		header.Set("X-Event-ID", "evt_of_the_copy") // it is outside the signature
	}
	again := ask(t, http.MethodPost, a.webhook(), body, header)
	acked(t, a, again, copied, want.status)
	if again.text("event_id") != first.text("event_id") {
		t.Errorf("a copy got the id %s, the first %s", again.text("event_id"), first.text("event_id"))
	}
	if a.Name() == "generic" &&
		(first.text("source_event_id") != a.signed(body).Get("X-Event-ID") || again.text("source_event_id") != "evt_of_the_copy") {
		t.Errorf("the sender's ids came back as %q and %q", first.text("source_event_id"), again.text("source_event_id"))
	}
	return first
}

func everyStatus(t *testing.T, s *server, all map[string]connected) {
	calendly, calcom, generic := all["calendly"], all["calcom"], all["generic"]
	day := func(n int) time.Time { return monday.AddDate(0, 0, n) }
	before, at, after := day(-9), day(-8), day(-7)
	class := func(limit int) changes {
		const event = "https://api.calendly.com/scheduled_events/class"
		return changes{
			"payload.event": event, "payload.scheduled_event.uri": event, "payload.scheduled_event.invitees_counter.limit": limit,
		}
	}
	noShow := func(uid string, at time.Time, absent bool) []byte {
		return sample(t, "calcom", "booking_no_show_updated.json", changes{
			"payload.bookingUid": uid, "createdAt": at.Format(time.RFC3339Nano), "payload.attendees.0.noShow": absent,
		})
	}
	for _, step := range []struct {
		name string
		a    connected
		body []byte
		want verdict
	}{
		{"created", calendly, calendly.body(t, said{"create", "c1", day(0), at, nil}), processed},
		{"created, said again", calendly, calendly.body(t, said{"create", "c1", day(0), after, nil}), unchanged},
		{"the same hour", calendly, calendly.body(t, said{"create", "c2", day(0), at, nil}), conflict("slot_taken")},
		{"an overlap", calendly, calendly.body(t, said{"create", "c3", day(0).Add(15 * time.Minute), at, nil}), conflict("overlap")},
		{"a seat", calendly, calendly.body(t, said{"create", "c4", day(1), at, class(2)}), processed},
		{"the last seat", calendly, calendly.body(t, said{"create", "c5", day(1), at, class(2)}), processed},
		{"no seat left", calendly, calendly.body(t, said{"create", "c6", day(1), at, class(2)}), conflict("capacity_full")},
		{"canceled", calendly, calendly.body(t, said{"cancel", "c1", day(0), after, nil}), processed},
		{"canceled again", calendly, calendly.body(t, said{"cancel", "c1", day(0), day(-6), nil}), unchanged},
		{"created after its cancel", calendly, calendly.body(t, said{"create", "c1", day(0), before, nil}), rejected("illegal_transition")},
		{"a kind without use", calendly, sample(t, "calendly", "11_routing_form_submission_created.json", nil), ignored},
		{"a no-show of a booking to come", calendly, sample(t, "calendly", "10_no_show_created.json", nil), waiting},
		{"a body that does not say when", calendly, sample(t, "calendly", "90_legacy_v2_2022_invitee_created_no_scheduled_event.json", nil), pending},
		{"a body of old", calendly, sample(t, "calendly", "92_legacy_v1_invitee_created_retired_2025_08_27.json", nil), failed("body_retired")},

		{"requested", calcom, calcom.body(t, said{"request", "m1", day(0), at, nil}), processed},
		{"confirmed", calcom, calcom.body(t, said{"create", "m1", day(0), after, nil}), processed},
		{"a second subscription's", s.connect(t, "calcom"), calcom.body(t, said{"create", "m1", day(0), after.Add(3 * time.Millisecond), nil}), unchanged},
		{"moved", calcom, calcom.body(t, said{"move", "m1", day(2), day(-6), nil}), processed},
		{"moved before that", calcom, calcom.body(t, said{"move", "m1", day(3), after, nil}), rejected("stale")},
		{"absent", calcom, noShow("m1", day(4), true), processed},
		{"present before that", calcom, noShow("m1", day(3), false), rejected("stale")},
		{"a no-show of a uid to come", calcom, noShow("m2", day(4), true), waiting},
		{"a ping", calcom, sample(t, "calcom", "ping.json", nil), ignored},
		{"another's template", calcom, sample(t, "calcom", "custom_template_json.json", nil), failed("template_changed")},

		{"asked for", generic, generic.body(t, said{"request", "g1", day(0), at, nil}), processed},
		{"asked for another hour", generic, generic.body(t, said{"move", "g1", day(1), after, nil}), processed},
		{"booked", generic, generic.body(t, said{"create", "g1", day(0), at, nil}), processed},
		{"in another's hour", generic, generic.body(t, said{"create", "g2", day(1), at, nil}), conflict("slot_taken")},
		{"moved late", generic, generic.body(t, said{"move", "g1", day(5), before, nil}), rejected("stale")},
		{"asked for after its cancel", generic, generic.body(t, said{"cancel", "g3", day(6), at, nil}), processed},
		{"a request of what is canceled", generic, generic.body(t, said{"request", "g3", day(6), at, nil}), rejected("illegal_transition")},
		{"a self-test", generic, sample(t, "generic", "selftest.json", nil), ignored},
		{"no kind", generic, sample(t, "generic", genericCreated, changes{"type": gone}), failed("kind_missing")},
	} {
		t.Run(step.a.Name()+", "+step.name, func(t *testing.T) { settled(t, step.a, step.body, step.want) })
	}

	// The other form in which a generic sender may sign.
	w, err := standardwebhooks.NewWebhookRaw([]byte(generic.secret))
	if err != nil {
		t.Fatal(err)
	}
	body := generic.body(t, said{"create", "g9", day(9), at, nil})
	got := ask(t, http.MethodPost, generic.webhook(), body, standardHeader(t, w, time.Now(), body))
	acked(t, generic, got, processed, "")
	if id := got.text("source_event_id"); id != "msg_1" {
		t.Errorf("the sender's id came back as %q", id)
	}
	for name, a := range all {
		body := a.body(t, said{"create", "odd-headers", day(9).Add(time.Hour), at, nil})
		header := a.signed(body)
		header.Set("X-Event-ID", "evt_\xff"+strings.Repeat("é", 5000)) // only a generic sender is given it back
		header.Set("User-Agent", "node\xff\xfe")
		header.Set("X-Cal-Webhook-Version", strings.Repeat("2", 20_000))
		got := ask(t, http.MethodPost, a.webhook(), body, header)
		acked(t, a, got, processed, "")
		if id := got.text("source_event_id"); (id != "") != (name == "generic") || len(id) > 1000 {
			t.Errorf("the sender's id came back as %q", id)
		}
	}
}

func standardHeader(t *testing.T, w *standardwebhooks.Webhook, at time.Time, body []byte) http.Header {
	t.Helper()
	signature, err := w.Sign("msg_1", at, body)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	h.Set(standardwebhooks.HeaderWebhookID, "msg_1")
	h.Set(standardwebhooks.HeaderWebhookTimestamp, fmt.Sprint(at.Unix()))
	h.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return h
}

// everyRefusal posts what is not taken.
func everyRefusal(t *testing.T, s *server, all map[string]connected) {
	generic, calendly := all["generic"], all["calendly"]
	body := generic.body(t, said{"create", "refused", monday.AddDate(0, 0, 20), monday, nil})
	without := func(h http.Header, name string) http.Header { h = h.Clone(); h.Del(name); return h }
	w, err := standardwebhooks.NewWebhookRaw([]byte(generic.secret))
	if err != nil {
		t.Fatal(err)
	}
	calendlyBody := calendly.body(t, said{"create", "refused", monday.AddDate(0, 0, 20), monday, nil})
	huge := append(bytes.Clone(body), bytes.Repeat([]byte(" "), 1<<20+1-len(body))...)
	nobody := uuid.NewString()

	type refusal struct {
		name   string
		url    string
		body   []byte
		header http.Header
		status int
		code   string
	}
	cases := []refusal{
		{"no event id", generic.webhook(), body, without(generic.signed(body), "X-Event-ID"), 400, "event_id_missing"},
		{"no event id and a wrong key", generic.webhook(), body, without(generic.Sign(body, "another key", time.Now()), "X-Event-ID"), 401, "signature_invalid"},
		{"an old time stamp", calendly.webhook(), calendlyBody, calendly.Sign(calendlyBody, calendly.secret, time.Now().Add(-26*time.Hour)), 401, "signature_too_old"},
		{"an old Standard Webhooks time stamp", generic.webhook(), body, standardHeader(t, w, time.Now().Add(-10*time.Minute), body), 401, "signature_too_old"},
		{"an unknown connection", s.url + "/webhooks/generic/" + nobody, body, generic.signed(body), 404, "connection_unknown"},
		{"no id", s.url + "/webhooks/generic/mine", body, generic.signed(body), 404, "connection_unknown"},
		{"an unknown provider", s.url + "/webhooks/doodle/" + generic.id.String(), body, generic.signed(body), 404, "connection_unknown"},
		{"another provider's connection", s.url + "/webhooks/calcom/" + generic.id.String(), body, generic.signed(body), 404, "connection_unknown"},
		{"no connection", s.url + "/webhooks/generic", body, generic.signed(body), 404, "not_found"},
	}
	for _, a := range all {
		cases = append(cases,
			refusal{a.Name() + ", unsigned", a.webhook(), body, http.Header{}, 401, "signature_missing"},
			refusal{a.Name() + ", wrong key", a.webhook(), body, a.Sign(body, "another key", time.Now()), 401, "signature_invalid"},
			refusal{a.Name() + ", over 1 MiB", a.webhook(), huge, a.signed(huge), 413, "body_too_large"},
			refusal{a.Name() + ", over 1 MiB, unsigned", a.webhook(), huge, http.Header{}, 413, "body_too_large"})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refusedWith(t, ask(t, http.MethodPost, c.url, c.body, c.header), c.status, c.code)
		})
	}
	t.Run("read instead of posted", func(t *testing.T) {
		refusedWith(t, ask(t, http.MethodGet, generic.webhook(), nil, http.Header{}), 405, "method_not_allowed")
	})
	t.Run("too often", func(t *testing.T) {
		url := s.url + "/webhooks/generic/" + uuid.NewString()
		for range 200 {
			got := ask(t, http.MethodPost, url, body, http.Header{})
			if got.status == http.StatusNotFound {
				continue
			}
			refusedWith(t, got, 429, "rate_limited")
			if got.header.Get("Retry-After") == "" {
				t.Error("not told when to come back")
			}
			return
		}
		t.Error("nobody was told to slow down")
	})
	t.Run("exactly 1 MiB", func(t *testing.T) {
		for name, a := range all {
			body := a.body(t, said{"create", "largest", monday.AddDate(0, 0, 21), monday, nil})
			body = append(body, bytes.Repeat([]byte("\n"), 1<<20-len(body))...)
			if got := a.deliver(t, body); got.text("status") != "processed" {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
	})
}

// refusedWith compares a refusal with what is due, member by member.
func refusedWith(t *testing.T, got answer, status int, code string) {
	t.Helper()
	keys := []string{"code", "request_id", "status", "title", "type"}
	if got.status != status || got.text("code") != code || !slices.Equal(got.keys(), keys) {
		t.Fatalf("answered %d %s, want %d %s with %v", got.status, got.body, status, code, keys)
	}
	if c := got.header.Get("Content-Type"); c != "application/problem+json" {
		t.Errorf("the content type is %q", c)
	}
	if got.fields["status"] != float64(status) || got.text("type") != "urn:slotkeeper:problem:"+code || got.text("title") == "" ||
		got.text("request_id") != got.header.Get("X-Request-Id") || got.text("request_id") == "" {
		t.Errorf("answered %s to request %q", got.body, got.header.Get("X-Request-Id"))
	}
}

// everyFixture posts what providers send, in an order in which they could.
func everyFixture(t *testing.T, s *server) {
	for _, f := range []struct {
		provider string
		steps    []step
	}{
		{"calendly", []step{
			{"01_one_on_one_invitee_created.json", processed},
			{"02_one_on_one_invitee_canceled_by_invitee.json", processed},
			{"03_one_on_one_invitee_canceled_by_host_empty_reason.json", unchanged},
			{"04_reschedule_00_original_created.json", processed},
			{"04_reschedule_01_invitee_canceled_old_half.json", processed},
			{"04_reschedule_02_invitee_created_new_half.json", processed},
			{"06_group_01_invitee_a_created.json", processed},
			{"06_group_02_invitee_b_created_same_event.json", processed},
			{"06_group_03_invitee_a_canceled_event_still_active.json", processed},
			{"08_collective_two_hosts_invitee_created.json", processed},
			{"10_no_show_created.json", waiting},
			{"10_no_show_deleted.json", waiting},
			{"11_routing_form_submission_created.json", ignored},
			// The same event as the first, in the form of 2022: a copy of it.
			{"90_legacy_v2_2022_invitee_created_no_scheduled_event.json", verdict{http.StatusOK, "duplicate", ""}},
			{"92_legacy_v1_invitee_created_retired_2025_08_27.json", failed("body_retired")},
		}},
		{"calcom", []step{
			{"booking_created_1to1.json", processed},
			{"booking_created_1to1_second_subscription.json", unchanged},
			{"booking_rescheduled.json", processed},
			{"booking_cancelled.json", processed},
			{"booking_cancelled_no_secret.json", unchanged}, // signed by us: the same cancel, a moment later
			{"booking_requested.json", processed},
			{"booking_created_after_confirmation.json", processed},
			{"booking_requested_same_slot.json", processed},
			{"booking_rejected.json", processed},
			{"booking_requested_reschedule.json", processed},
			{"booking_cancelled_request_reschedule.json", unchanged}, // of one that was rescheduled
			{"booking_created_seat_first.json", processed},
			{"booking_created_seat_second.json", processed},
			{"booking_cancelled_one_seat.json", processed},
			{"booking_rescheduled_one_seat.json", processed},
			{"booking_created_recurring_1of3.json", processed},
			{"booking_created_recurring_2of3.json", processed},
			{"booking_created_recurring_3of3.json", processed},
			{"booking_cancelled_recurring_all_remaining.json", processed},
			{"booking_payment_initiated.json", processed},
			{"booking_created_after_payment.json", processed},
			{"booking_paid.json", ignored},
			{"ping.json", ignored},
			{"booking_no_show_updated.json", processed},
			{"booking_no_show_undone.json", processed},
			{"meeting_started.json", ignored},
			{"meeting_ended.json", ignored},
			{"ooo_created.json", processed},
			{"instant_meeting.json", ignored},
			{"form_submitted.json", ignored},
			{"custom_template_json.json", failed("template_changed")},
			{"custom_template_form.txt", failed("template_changed")},
		}},
		{"generic", []step{
			{"created_in_a_room.json", processed},
			{"created_with_a_host.json", processed},
			{"requested.json", processed},
			{"moved.json", processed},
			{"moved_to_a_successor.json", processed},
			{"canceled.json", processed},
			{"selftest.json", ignored},
			{"unknown_kind.json", ignored},
		}},
	} {
		t.Run(f.provider, func(t *testing.T) { inOrder(t, s.connect(t, f.provider), f.steps) })
	}
}

type step struct {
	file string
	want verdict
}

func inOrder(t *testing.T, a connected, steps []step) {
	var posted []string
	for _, st := range steps {
		posted = append(posted, st.file)
		got := a.deliver(t, sample(t, a.Name(), st.file, nil))
		original := ""
		if st.want.status == "duplicate" {
			original = "processed"
		}
		t.Run(st.file, func(t *testing.T) { acked(t, a, got, st.want, original) })
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "providers", a.Name(), "testdata", "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if !slices.Contains(posted, name) && name != "index.json" && name != "signatures.json" {
			t.Errorf("%s was not posted", name)
		}
	}
}
