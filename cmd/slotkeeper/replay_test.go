package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"slotkeeper/migrations/migratetest"
)

// replayItem is what the tests read of a replay.
type replayItem struct {
	ID          uuid.UUID `json:"id"`
	Status      string    `json:"status"`
	DryRun      bool      `json:"dry_run"`
	Total       *int      `json:"total"`
	Looked      int       `json:"looked"`
	Changed     int       `json:"changed"`
	Unchanged   int       `json:"unchanged"`
	StillFailed int       `json:"still_failed"`
	Transitions int       `json:"transitions"`
	Changes     []struct {
		ReceiptID uuid.UUID `json:"receipt_id"`
		Before    string    `json:"before"`
		After     string    `json:"after"`
	} `json:"changes"`
}

// replayTempo lets a minute of our waiting take a second.
const replayTempo = "SLOTKEEPER_TEMPO=60"

func onBothReplays(t *testing.T, f func(t *testing.T, s *server)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, newServer(t, "", replayTempo))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, newServer(t, migratetest.EmptyPostgres(t), replayTempo))
	})
}

// fill tells a server of so many bookings, a few at once.
func (a connected) fill(t *testing.T, many int) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(32)
	for i := range many {
		start := monday.Add(time.Duration(i) * time.Hour)
		body := genericBody("invitee.created", fmt.Sprint("b", i), fmt.Sprintf("room%d@harbourclinic.example", i%7), monday, start, start.Add(30*time.Minute))
		group.Go(func() error {
			ack, err := a.send(t.Context(), body)
			if err == nil && ack.HTTP/100 != 2 {
				err = fmt.Errorf("answered %d %s", ack.HTTP, ack.Code)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, a.log)
	}
}

// askReplay asks for a replay by the API.
func (s *server) askReplay(t *testing.T, token, body string) replayItem {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/replays", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var out replayItem
	if err = errors.Join(err, json.Unmarshal(text, &out)); err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatalf("answered %s: %s, %v", resp.Status, text, err)
	}
	return out
}

// ended waits until a replay has ended.
func (s *server) ended(t *testing.T, token string, id uuid.UUID) replayItem {
	t.Helper()
	var r replayItem
	waitFor(t, "the replay to end", func() error {
		decode(t, s.get(t, "/api/v1/replays/"+id.String(), token), &r)
		if r.Status == "running" {
			return fmt.Errorf("it is %+v", r)
		}
		return nil
	})
	return r
}

// TestReplayKilledResumes kills the server amid a replay. The next one goes on by
// itself: each receipt is replayed, counted once, and nothing is lost or doubled.
// A second replay of everything changes nothing, and ends though its page takes longer
// than anybody's hold of it.
func TestReplayKilledResumes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes its time")
	}
	onBothReplays(t, func(t *testing.T, s *server) {
		many := 500
		if os.Getenv("SLOTKEEPER_SOAK") != "" {
			many = 1500 // replays rest between their sets: beside other tests it takes minutes
		}
		a := s.connect(t, "generic")
		a.fill(t, many)
		token := s.token(t, "operate")
		bookings := s.get(t, "/api/v1/bookings?limit=200", token)
		db := s.database(t)
		// As if the version that took them could not use them: what they told of came
		// otherwise meanwhile.
		if _, err := db.ExecContext(t.Context(), "UPDATE webhook_receipts SET status = 'failed', code = 'template_changed', error = 'another form'"); err != nil {
			t.Fatal(err)
		}
		replay := s.askReplay(t, token, `{"status":["failed"]}`)
		far := 0
		waitFor(t, "the replay to be under way", func() error {
			if err := db.QueryRowContext(t.Context(), "SELECT looked FROM replays").Scan(&far); err != nil || far == 0 {
				return fmt.Errorf("%d were looked at, %w", far, err)
			}
			return nil
		})
		s.kill(t)
		if err := db.QueryRowContext(t.Context(), "SELECT looked FROM replays").Scan(&far); err != nil || far >= many {
			t.Fatalf("killed with %d of %d looked at, %v", far, many, err)
		}
		s.start(t)
		r := s.ended(t, token, replay.ID)
		t.Logf("killed with %d of %d looked at", far, many)
		if r.Status != "done" || r.Looked != many || r.Changed != many || r.Total == nil || *r.Total != many || r.Transitions != 0 {
			t.Errorf("the replay ended as %+v", r)
		}
		if left := api[receiptItem](t, s, token, "receipts?status=failed"); len(left) != 0 {
			t.Errorf("%d are failed still", len(left))
		}
		if now := s.get(t, "/api/v1/bookings?limit=200", token); now != bookings {
			t.Error("a replay changed bookings")
		}

		var again replayItem
		decode(t, s.run(t, "replay", "--all", "--json"), &again)
		if again.Status != "done" || again.Looked != many || again.Unchanged != many {
			t.Errorf("the second time: %+v", again)
		}
	})
}

// TestReplayCommand replays by command what failed: previewed first, then done, while
// a server runs beside it and when none does.
func TestReplayCommand(t *testing.T) {
	t.Parallel()
	long(t)
	onBothReplays(t, func(t *testing.T, s *server) {
		a := s.connect(t, "generic")
		a.fill(t, 3)
		broken := a.must(t, []byte(`{"type":"invitee.created","booking"`))
		if broken.Status != "failed" {
			t.Fatalf("%+v", broken)
		}
		if _, err := s.database(t).ExecContext(t.Context(), "UPDATE webhook_receipts SET status = 'dead', code = 'apply_failed' WHERE status <> 'failed'"); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"replay"},
			{"replay", "--all", "--status", "dead"},
			{"replay", "--status", "lost"},
			{"replay", "one"},
			{"replay", uuid.New().String()},
			{"replay", "--connection", uuid.New().String()},
			{"replay", "--from", "yesterday"},
			{"replay", "--from", "2026-12-02", "--to", "2026-12-01"},
		} {
			s.refuses(t, args...)
		}
		for name, run := range map[string]func(){"beside a server": func() {}, "without one": func() { s.stop(t) }} {
			run()
			var dry replayItem
			decode(t, s.run(t, "replay", "--status", "dead", "--dry-run", "--json"), &dry)
			if !dry.DryRun || dry.Status != "done" || dry.Changed != 3 || len(dry.Changes) != 3 || dry.Changes[0].Before != "dead" || dry.Changes[0].After != "unchanged" {
				t.Fatalf("%s: %+v", name, dry)
			}
		}
		out := s.run(t, "replay", "--status", "failed,dead")
		if !strings.Contains(out, "4 receipts: 3 changed") || !strings.Contains(out, "1 cannot be used yet") || strings.Count(out, "dead → unchanged") != 3 {
			t.Errorf("it says %s", out)
		}
		var one replayItem
		decode(t, s.run(t, "replay", broken.EventID.String(), "--json"), &one)
		if one.Looked != 1 || one.StillFailed != 1 || len(one.Changes) != 0 {
			t.Errorf("%+v", one)
		}
	})
}
