package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A sender that closes its half of the connection after the request still reads
// the answer: a 2xx must mean that the body is committed, and nothing unsigned or
// cut short may get one.
func TestHalfClosedSendersAreNotMisled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		body := genericBody("invitee.created", "half", "room 1", monday, monday, monday.Add(time.Hour))
		genuine := a.Sign(body, a.secret, time.Now())
		forged := http.Header{"X-Event-Id": {"1"}, "X-Signature": {strings.Repeat("0", 64)}}

		for _, tt := range []struct {
			name   string
			header http.Header
			send   []byte
			length int
			want   int
		}{
			{"unsigned", forged, body, len(body), http.StatusUnauthorized},
			{"unsigned, cut short", forged, body[:7], len(body), http.StatusBadRequest},
			{"signed, cut short", genuine, body[:7], len(body), http.StatusBadRequest},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if status, answer := a.halfClosed(t, tt.header, tt.send, tt.length); status != tt.want {
					t.Errorf("answered %d %s, want %d", status, answer, tt.want)
				}
			})
		}
		t.Run("signed", func(t *testing.T) {
			status, answer := a.halfClosed(t, genuine, body, len(body))
			var ack struct {
				ID     uuid.UUID `json:"event_id"`
				Status string    `json:"status"`
			}
			if err := json.Unmarshal([]byte(answer), &ack); err != nil || status != http.StatusOK || ack.Status != "processed" {
				t.Fatalf("answered %d %q, %v", status, answer, err)
			}
			if copied := a.must(t, body); copied.Status != "duplicate" || copied.EventID != ack.ID {
				t.Errorf("a copy of %s was answered %+v", ack.ID, copied)
			}
		})
	})
}

// halfClosed posts over a socket and says that nothing more will come.
func (a connected) halfClosed(t *testing.T, header http.Header, body []byte, length int) (status int, answer string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var request strings.Builder
	fmt.Fprintf(&request, "POST /webhooks/%s/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n", a.Name(), a.id, length)
	if err := header.Write(&request); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request.String()+"\r\n"+string(body)); err != nil {
		t.Fatal(err)
	}
	half, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("a %T cannot be half closed", conn)
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// What is no text, and years that no database compares, are refused by name.
func TestOddQueries(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) {
		token := s.token(t, "read")
		for _, path := range []string{
			"bookings?provider=%00", "receipts?provider=%ff", "transitions?from=0000-01-01T00:00:00Z", "bookings?to=0000-01-01",
			"slots?from=9999-12-31", "connections?provider=%ed%a0%80", "resources?provider=%00",
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%s is answered %s", path, resp.Status)
			}
		}
	})
}

// TestOneHeavyDeliveryHoldsUpNobody frees a place that thousands wait for, while
// others deliver.
func TestOneHeavyDeliveryHoldsUpNobody(t *testing.T) {
	t.Parallel()
	long(t)
	const waiting = 1500
	onBoth(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		a.must(t, genericBody("invitee.created", "block", "room 1", monday, monday, monday.Add(30*24*time.Hour)))
		each(waiting, 64, func(i int) {
			from := monday.Add(time.Duration(i) * 20 * time.Minute)
			if ack, err := a.send(t.Context(), genericBody("invitee.created", fmt.Sprint("w", i), "room 1", monday, from, from.Add(10*time.Minute))); err != nil || ack.Status != "conflict" {
				t.Errorf("%d: %+v %v", i, ack, err)
			}
		})
		cancel := genericBody("invitee.canceled", "block", "room 1", monday.Add(time.Minute), monday, monday.Add(30*24*time.Hour))
		each(9, 9, func(i int) {
			body := cancel
			if i > 0 {
				from := monday.Add(time.Duration(i) * time.Hour)
				body = genericBody("invitee.created", fmt.Sprint("other", i), "room 2", monday, from, from.Add(time.Hour))
			}
			if ack, err := a.send(t.Context(), body); err != nil || ack.Status != "processed" {
				t.Errorf("%d: %+v %v", i, ack, err)
			}
		})
		left := api[bookingItem](t, s, s.token(t, "read"), "bookings?status=conflicted")
		if len(left) != 0 {
			t.Errorf("%d still wait", len(left))
		}
	})
}
