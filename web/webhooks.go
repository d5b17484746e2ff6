package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// maxBody is the largest webhook that is read.
const maxBody = 1 << 20

// webhooks receives the providers' posts.
type webhooks struct {
	log         *slog.Logger
	now         func() time.Time
	intake      Intake
	metrics     *Metrics
	unproven    *Unproven
	providers   map[string]providers.Provider
	emailKey    func(string) string
	connections *connectionCache
	refusals    *refusals
}

func newWebhooks(d Deps) *webhooks {
	return &webhooks{
		log: d.Log, now: d.Now, intake: d.Intake, metrics: d.Metrics, unproven: d.Unproven, providers: d.Providers, emailKey: d.EmailKey,
		connections: newConnectionCache(d.Records, d.Now, d.Log),
		refusals:    newRefusals(d.Log, d.Now),
	}
}

// acknowledgement is what a provider is answered. Whatever became of the
// delivery, the status is 2xx: it is stored, and a provider that tried again
// could not help.
type acknowledgement struct {
	EventID  uuid.UUID             `json:"event_id"`
	Status   booking.ReceiptStatus `json:"status"`
	At       time.Time             `json:"ack_timestamp"`
	Original booking.ReceiptStatus `json:"original_status,omitempty"`
	Error    string                `json:"error,omitempty"`
	SourceID string                `json:"source_event_id,omitempty"`
}

// receive takes one post: it is proven over the raw bytes before anything is
// parsed, and answered after it is committed.
func (w *webhooks) receive(c echo.Context) error {
	began := w.now()
	name := c.Param("provider")
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, maxBody))
	if err != nil {
		return w.refuse(c, name, unreadable(err))
	}
	request := providers.Request{Header: c.Request().Header, Body: body}
	provider, conn, by, err := w.prove(c.Request().Context(), name, c.Param("connection"), request)
	if err != nil {
		return w.refuse(c, name, err)
	}
	post := booking.Post{
		Delivery: w.parse(c.Request().Context(), provider, request, conn),
		Body:     body, Header: keptHeader(request.Header), Signature: signatureHeader(request.Header),
		VerifiedBy: by, RequestID: requestIDOf(c.Request().Context()), ReceivedAt: began,
	}
	// Whoever closed its half of the connection still reads the answer: it is told
	// what became of the post, never that all is well before it is committed.
	answer, err := w.intake.Take(context.WithoutCancel(c.Request().Context()), post)
	if err != nil {
		w.metrics.Refused(name, problemOf(err).Code)
		w.logFailure(c.Request().Context(), post, name, err, began)
		return err
	}
	w.told(c.Request().Context(), post, name, answer, began)
	return c.JSON(statusOf(answer), acknowledgement{
		EventID: answer.ReceiptID, Status: answer.Status, At: w.now().UTC(), Original: answer.Original,
		Error: explain(answer), SourceID: post.SourceEventID,
	})
}

// statusOf is 202 while something is left to be done.
func statusOf(a booking.Answer) int {
	if a.Status == booking.StatusPending || a.Status == booking.StatusWaiting {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// explain says in one line why a delivery did not simply become a booking.
func explain(a booking.Answer) string {
	switch {
	case a.Code != "" && a.Error != "":
		return a.Code + ": " + a.Error
	case a.Code != "" || a.Error != "":
		return a.Code + a.Error
	case a.Status == booking.StatusRejected || a.Status == booking.StatusConflict:
		return string(a.Reason)
	}
	return ""
}

// unreadable says why a body did not come whole.
func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return &refusal{status: http.StatusBadRequest, code: "bad_request", cause: err}
}

var errConnectionUnknown = &refusal{status: http.StatusNotFound, code: "connection_unknown"}

// prove finds the connection and verifies the post. A provider or connection
// that is unknown, disconnected or of another provider look the same.
func (w *webhooks) prove(ctx context.Context, name, id string, r providers.Request) (providers.Provider, providers.Connection, string, error) {
	none := providers.Connection{}
	provider, known := w.providers[name]
	connID, err := uuid.Parse(id)
	if !known || err != nil {
		return nil, none, "", errConnectionUnknown
	}
	conn, found, err := w.connections.get(ctx, connID)
	if err != nil {
		return nil, none, "", err
	}
	if !found || conn.Provider != name || conn.DisconnectedAt != nil {
		return nil, none, "", errConnectionUnknown
	}
	by, err := provider.Verify(r, conn.Secrets, w.now())
	if err == nil {
		return provider, conn, by, nil
	}
	// The secret may have been changed within the last second.
	if fresh, changed := w.connections.again(ctx, conn); changed {
		if by, again := provider.Verify(r, fresh.Secrets, w.now()); again == nil {
			return provider, fresh, by, nil
		}
	}
	return nil, none, "", err
}

// parse never fails: a parser that panics gives a receipt that is failed, so
// that the body is kept and the sender is not told to try again.
func (w *webhooks) parse(ctx context.Context, p providers.Provider, r providers.Request, conn providers.Connection) (d booking.Delivery) {
	id := newID()
	defer func() {
		if v := recover(); v != nil {
			w.log.LogAttrs(ctx, slog.LevelError, "a parser panicked",
				slog.String("request_id", requestIDOf(ctx)), slog.String("provider", p.Name()),
				slog.String("receipt", id.String()), slog.String("stack", string(debug.Stack())))
			d = booking.Delivery{
				EventKey: "unparsed|" + id.String(), Kind: "unparsed", Status: booking.StatusFailed,
				Code: "parser_failed", Error: "the body could not be read because of a fault of ours; it is kept",
			}
		}
		d.ReceiptID, d.ConnectionID, d.Actor = id, conn.ID, booking.ActorWebhook
		if d.Subject != "" {
			d.Subject = booking.Subject(conn.Source(), d.Subject)
		}
	}()
	return p.Parse(r, providers.Origin{Source: conn.Source(), ConnectionID: conn.ID, EmailKey: w.emailKey})
}

// refuse counts a post that was not taken. Failures of one client at one
// connection past a limit get 429 instead of their own code. What is proven is
// never held up: it was verified before anybody counted.
func (w *webhooks) refuse(c echo.Context, name string, err error) error {
	ctx := c.Request().Context()
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		w.metrics.Refused(name, p.Code)
		return err
	}
	if ctx.Err() != nil {
		return err
	}
	connection := c.Param("connection")
	id, bad := uuid.Parse(connection)
	if bad != nil || errors.Is(err, errConnectionUnknown) {
		connection = "" // whoever tries many ids is one client all the same
	}
	if p.Status == http.StatusUnauthorized { // the connection was found
		w.metrics.SignatureFailed(name)
		w.unproven.count(id)
	}
	limited := w.refusals.note(ctx, refused{
		client: client(c), provider: w.metrics.provider(name), connection: connection, code: p.Code,
	})
	if limited {
		w.metrics.Refused(name, "rate_limited")
		return &refusal{status: http.StatusTooManyRequests, code: "rate_limited", retry: refusalEvery, cause: err}
	}
	w.metrics.Refused(name, p.Code)
	return err
}

// told counts and logs a delivery that was taken: one line that says everything
// about it, without anything personal.
func (w *webhooks) told(ctx context.Context, p booking.Post, name string, a booking.Answer, began time.Time) {
	took := w.now().Sub(began)
	w.metrics.Delivered(name, p.Kind, a.Status)
	w.metrics.Acknowledged(name, took)
	level := slog.LevelInfo
	if a.Status == booking.StatusFailed || a.Status == booking.StatusConflict {
		level = slog.LevelWarn // a person is needed
	}
	w.log.LogAttrs(ctx, level, "delivery", append(deliveryAttrs(p, name),
		slog.String("receipt", a.ReceiptID.String()),
		slog.String("status", string(a.Status)), slog.String("original_status", string(a.Original)),
		slog.String("reason", string(a.Reason)), slog.String("code", a.Code),
		slog.Int("attempt", 1), slog.Duration("duration", took))...)
}

func (w *webhooks) logFailure(ctx context.Context, p booking.Post, name string, err error, began time.Time) {
	w.log.LogAttrs(ctx, slog.LevelError, "delivery not stored", append(deliveryAttrs(p, name),
		slog.Any("error", err), slog.Int("attempt", 1), slog.Duration("duration", w.now().Sub(began)))...)
}

func deliveryAttrs(p booking.Post, name string) []slog.Attr {
	return []slog.Attr{
		slog.String("request_id", p.RequestID), slog.String("provider", name),
		slog.String("connection", p.ConnectionID.String()), slog.String("event_key", loggable(p.EventKey)),
		slog.String("kind", loggable(string(p.Kind))),
	}
}

// mostLogged bounds what a line of the log repeats of a sender's words.
const mostLogged = 100

// loggable is a sender's word as the log has it: short, and of characters that do
// no harm to whatever reads the log. A space is none: it would part one field in two.
func loggable(s string) string {
	safe := func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._:=+/@|-", r)) {
			return r
		}
		return '?'
	}
	out, left := strings.Builder{}, mostLogged
	for _, r := range s {
		if left--; left < 0 {
			return out.String() + "..."
		}
		out.WriteRune(safe(r))
	}
	return out.String()
}

// kept are the headers worth keeping with a receipt: none of them is a secret.
var kept = []string{"Content-Type", "User-Agent", "X-Cal-Webhook-Version", eventIDHeader, standardIDHeader, "Webhook-Timestamp"}

const (
	eventIDHeader    = "X-Event-Id"
	standardIDHeader = "Webhook-Id"
	maxHeaderKept    = 500
)

func keptHeader(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range kept {
		if v := h.Get(name); v != "" {
			out[name] = cut(v)
		}
	}
	return out
}

// signatureHeader is the value of whichever header the provider signs in.
func signatureHeader(h http.Header) string {
	var names []string
	for name := range h {
		if strings.Contains(name, "Signature") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return cut(h.Get(slices.Min(names)))
}

func cut(s string) string {
	if len(s) > maxHeaderKept {
		s = s[:maxHeaderKept]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
