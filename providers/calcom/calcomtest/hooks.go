package calcomtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"slotkeeper/providers/apitest"
	"slotkeeper/providers/calcom"
)

// The triggers that the stand-in sends.
const (
	created       = "BOOKING_CREATED"
	requested     = "BOOKING_REQUESTED"
	rescheduled   = "BOOKING_RESCHEDULED"
	cancelled     = "BOOKING_CANCELLED"
	rejected      = "BOOKING_REJECTED"
	noShowUpdated = "BOOKING_NO_SHOW_UPDATED"
	outOfOffice   = "OOO_CREATED"
)

// allTriggers are those of late 2025 (B).
var allTriggers = []string{
	created, "BOOKING_PAYMENT_INITIATED", "BOOKING_PAID", rescheduled, requested, cancelled, rejected, noShowUpdated, "FORM_SUBMITTED",
	"MEETING_ENDED", "MEETING_STARTED", "RECORDING_READY", "INSTANT_MEETING", "RECORDING_TRANSCRIPTION_GENERATED", outOfOffice,
	"AFTER_HOSTS_CAL_VIDEO_NO_SHOW", "AFTER_GUESTS_CAL_VIDEO_NO_SHOW", "FORM_SUBMITTED_NO_EVENT",
}

// Webhook is a subscription. One with a Template sends what nobody can read.
type Webhook struct {
	ID       string
	URL      string
	Secret   string
	Triggers []string
	Active   bool
	Template string
}

// AddWebhook makes one as the pages do; its id is given.
func (s *Server) AddWebhook(h Webhook) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(h).ID
}

func (s *Server) add(h Webhook) Webhook {
	h.ID = fmt.Sprintf("a11e0000-0000-4000-8000-%012d", s.number())
	s.hooks = append(s.hooks, &h)
	return h
}

// ChangeWebhooks changes those to a URL as the pages do.
func (s *Server) ChangeWebhooks(target string, change func(h *Webhook)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hooks {
		if h.URL == target {
			change(h)
		}
	}
}

// RemoveWebhook deletes one as the pages do.
func (s *Server) RemoveWebhook(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = slices.DeleteFunc(s.hooks, func(h *Webhook) bool { return h.ID == id })
}

// Webhooks are all that there are.
func (s *Server) Webhooks() []Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Webhook, len(s.hooks))
	for i, h := range s.hooks {
		out[i] = *h
	}
	return out
}

// Outbox takes out what the API's own doings have left to send.
func (s *Server) Outbox() []apitest.Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.outbox
	s.outbox = nil
	return out
}

// Sender sends as Cal.com does: once (B).
func (s *Server) Sender(client *http.Client) apitest.Sender {
	return apitest.Sender{Client: client, Tempo: s.options.Tempo, Again: func(int) bool { return false }}
}

// posts are what every active webhook for the trigger is sent, each with a
// createdAt of its own (B).
func (s *Server) posts(trigger string, payload map[string]any) []apitest.Post {
	var out []apitest.Post
	for _, h := range s.hooks {
		if !h.Active || !slices.Contains(h.Triggers, trigger) {
			continue
		}
		at := s.now().Add(time.Duration(len(out)) * time.Millisecond)
		body, err := json.Marshal(map[string]any{"triggerEvent": trigger, "createdAt": at.Format(settledTime), "payload": payload})
		if err != nil || h.Template != "" {
			body = []byte("false") // what a template makes of a quotation mark (B)
		}
		header := calcom.New().Sign(body, h.Secret, at)
		if h.Secret == "" {
			header.Set("X-Cal-Signature-256", "no-secret-provided")
		}
		out = append(out, apitest.Post{URL: h.URL, Header: header, Body: body})
	}
	return out
}

func (s *Server) getWebhooks(w http.ResponseWriter, r *http.Request) {
	skip, take := number(r, "skip", 0), number(r, "take", 250)
	all := s.Webhooks()
	from := min(skip, len(all))
	out := make([]any, 0)
	for _, h := range all[from:min(from+take, len(all))] {
		out = append(out, s.wire(h))
	}
	s.answer(w, r, http.StatusOK, out)
}

func number(r *http.Request, name string, fallback int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil || n < 0 {
		return fallback
	}
	return n
}

func (s *Server) getWebhook(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(s.Webhooks(), func(h Webhook) bool { return h.ID == r.PathValue("id") })
	if i < 0 {
		s.noWebhook(w, r)
		return
	}
	s.answer(w, r, http.StatusOK, s.wire(s.Webhooks()[i]))
}

func (s *Server) noWebhook(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, http.StatusNotFound, "Webhook ("+r.PathValue("id")+") not found")
}

// hookInput is the body of POST and, with what it leaves out unchanged, of PATCH.
type hookInput struct {
	SubscriberURL   *string         `json:"subscriberUrl"`
	Triggers        *[]string       `json:"triggers"`
	Active          *bool           `json:"active"`
	Secret          *string         `json:"secret"`
	PayloadTemplate json.RawMessage `json:"payloadTemplate"`
}

func (s *Server) readHook(w http.ResponseWriter, r *http.Request) (hookInput, bool) {
	var in hookInput
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &in) != nil {
		s.fail(w, r, http.StatusBadRequest, "Bad Request Exception")
		return in, false
	}
	known := s.options.Triggers
	if known == nil {
		known = allTriggers
	}
	if in.Triggers != nil {
		for _, t := range *in.Triggers {
			if !slices.Contains(known, t) {
				s.fail(w, r, http.StatusBadRequest, "Bad Request Exception") // the validator's own message stands in the details (R)
				return in, false
			}
		}
	}
	return in, true
}

func (in hookInput) into(h *Webhook) {
	set(in.SubscriberURL, &h.URL)
	set(in.Triggers, &h.Triggers)
	set(in.Active, &h.Active)
	set(in.Secret, &h.Secret)
	if in.PayloadTemplate != nil {
		h.Template = ""
		_ = json.Unmarshal(in.PayloadTemplate, &h.Template) // null is none
	}
}

func set[T any](from, to *T) {
	if from != nil {
		*to = *from
	}
}

func (s *Server) postWebhook(w http.ResponseWriter, r *http.Request) {
	in, ok := s.readHook(w, r)
	if !ok {
		return
	}
	if in.SubscriberURL == nil || in.Triggers == nil || in.Active == nil {
		s.fail(w, r, http.StatusBadRequest, "Bad Request Exception")
		return
	}
	var h Webhook
	in.into(&h)
	s.mu.Lock()
	taken := slices.ContainsFunc(s.hooks, func(h *Webhook) bool { return h.URL == *in.SubscriberURL })
	if !taken {
		h = s.add(h)
	}
	s.mu.Unlock()
	if taken {
		s.fail(w, r, http.StatusConflict, "Webhook with this subscriber url already exists for this user")
		return
	}
	s.answer(w, r, http.StatusCreated, s.wire(h))
}

func (s *Server) patchWebhook(w http.ResponseWriter, r *http.Request) {
	in, ok := s.readHook(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.hooks, func(h *Webhook) bool { return h.ID == r.PathValue("id") })
	var h Webhook
	if i >= 0 {
		in.into(s.hooks[i])
		h = *s.hooks[i]
	}
	s.mu.Unlock()
	if i < 0 {
		s.noWebhook(w, r)
		return
	}
	s.answer(w, r, http.StatusOK, s.wire(h))
}

func (s *Server) deleteWebhook(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(s.Webhooks(), func(h Webhook) bool { return h.ID == r.PathValue("id") })
	if i < 0 {
		s.noWebhook(w, r)
		return
	}
	h := s.Webhooks()[i]
	s.RemoveWebhook(h.ID)
	s.answer(w, r, http.StatusOK, s.wire(h))
}

func (s *Server) wire(h Webhook) map[string]any {
	out := map[string]any{
		"id": h.ID, "userId": s.options.User.ID, "subscriberUrl": h.URL, "triggers": h.Triggers, "active": h.Active,
		"payloadTemplate": textOrNull(h.Template),
	}
	if !s.options.HideSecrets {
		out["secret"] = textOrNull(h.Secret)
	}
	return out
}
