package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

const maxAnswer = 4 << 10

// marks are seen from far.
var marks = map[booking.AlertLevel]string{booking.LevelNotice: "ℹ️", booking.LevelWarning: "⚠️", booking.LevelPage: "🚨"}

// slack posts a message as Slack's incoming webhooks take it, and Mattermost's, Rocket.Chat's
// and others with them: JSON with a text, 200 when it is taken.
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
func (t *Teller) slack(ctx context.Context, address string, text Text, n booking.Notice) error {
	mark := marks[n.Level]
	if n.Event == booking.AlertRecovered {
		mark = "✅"
	}
	lines := []string{mark + " *" + escape(text.Subject) + "*"}
	for _, s := range []string{text.Happened, text.Means, text.Do} {
		if s != "" {
			lines = append(lines, escape(s))
		}
	}
	lines = append(lines, "<"+text.Link+">")
	body, err := json.Marshal(map[string]string{"text": strings.Join(lines, "\n")})
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("notify: %w: the webhook's URL cannot be read", ErrRefused)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.o.Client.Do(req)
	if err != nil {
		return fmt.Errorf("notify: %w", providers.PlainCause(err))
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("notify: %w", providers.PlainCause(err))
	}
	failed := &providers.AnswerError{Status: resp.StatusCode, Message: short(answer)}
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusTooManyRequests:
		after, _ := providers.RetryAfter(resp.Header)
		return &providers.LaterError{After: max(after, time.Second), Err: failed}
	case resp.StatusCode/100 == 5, resp.StatusCode == http.StatusRequestTimeout:
		return failed
	}
	return fmt.Errorf("%w: %w", ErrRefused, failed)
}

// escape keeps what is told from being taken for marks, as Slack asks for.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func short(b []byte) string {
	s := strings.ToValidUTF8(strings.TrimSpace(string(b)), "�")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "")
	}
	return s
}
