package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/libtnb/sqlite"

	"slotkeeper/migrations/migratetest"
)

// TestOneBookingPerSlot lets fifty rivals at once fight for one place of one
// resource, through two processes where the database allows: one gets it, the
// others are kept as conflicted, nobody is turned away.
func TestOneBookingPerSlot(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "")
		fight(t, s, s)
	})
	t.Run("postgres, two processes", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, migratetest.EmptyPostgres(t))
		fight(t, s, s.second(t))
	})
}

func fight(t *testing.T, one, two *server) {
	a := one.connect(t, "generic")
	at := []connected{a, a.on(two)}
	const rivals = 50
	for _, battle := range []struct {
		name   string
		from   func(i int) time.Time
		length time.Duration
	}{
		{"same start", func(int) time.Time { return monday }, 30 * time.Minute},
		{"overlapping", func(i int) time.Time { return monday.Add(24*time.Hour + time.Duration(i)*time.Minute) }, time.Hour},
	} {
		t.Run(battle.name, func(t *testing.T) {
			var mu sync.Mutex
			statuses := map[string]int{}
			each(rivals, rivals, func(i int) {
				from := battle.from(i)
				id := fmt.Sprintf("%s %d", battle.name, i)
				ack, err := at[i%2].send(t.Context(), genericBody("invitee.created", id, "room 1", monday, from, from.Add(battle.length)))
				if err != nil || ack.HTTP != 200 {
					t.Errorf("rival %d: %d %s %v", i, ack.HTTP, ack.Code, err)
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[ack.Status]++
			})
			if statuses["processed"] != 1 || statuses["conflict"] != rivals-1 {
				t.Errorf("answered %v", statuses)
			}
		})
	}
	bookings := api[bookingItem](t, one, one.token(t, "read"), "bookings")
	count := map[string]int{}
	for _, b := range bookings {
		count[b.Status]++
		if b.Status == "conflicted" && len(b.ConflictsWith) != 1 {
			t.Errorf("%s conflicts with %v", b.ExternalID, b.ConflictsWith)
		}
	}
	if count["active"] != 2 || count["conflicted"] != 2*(rivals-1) {
		t.Errorf("bookings: %v", count)
	}
	for _, s := range []*server{one, two} {
		if log := s.log.String(); strings.Contains(log, "deadlock") || strings.Contains(log, "lock timeout") || strings.Contains(log, "not stored") {
			t.Errorf("the log tells of trouble:\n%s", log)
		}
	}
	pastTheApplication(t, one)
}

// pastTheApplication writes slots by raw SQL: the schema itself refuses a
// second booking of a place, and allows back to back.
func pastTheApplication(t *testing.T, s *server) {
	t.Helper()
	driver, dsn, params := "pgx", s.db, "$1, $2, $3, $4, $5, 'active'"
	if s.db == "" {
		driver, dsn, params = "sqlite", "file:"+s.dir+"/slotkeeper.db?_pragma=busy_timeout(5000)", "?, ?, ?, ?, ?, 'active'"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	var session, resource string
	if err := db.QueryRowContext(ctx, "SELECT session_id, resource_id FROM slots LIMIT 1").Scan(&session, &resource); err != nil {
		t.Fatal(err)
	}
	const layout = "2006-01-02T15:04:05.000000Z"
	insert := func(from, to time.Time) error {
		_, err := db.ExecContext(ctx, "INSERT INTO slots (id, session_id, resource_id, starts_at, ends_at, status) VALUES ("+params+")",
			uuid.New().String(), session, resource, from.Format(layout), to.Format(layout))
		return err
	}
	day := monday.Add(72 * time.Hour)
	for _, step := range []struct {
		name     string
		from, to time.Duration
		fence    string
	}{
		{"first", 0, time.Hour, ""},
		{"back to back after", time.Hour, 2 * time.Hour, ""},
		{"back to back before", -time.Hour, 0, ""},
		{"same start", 0, 30 * time.Minute, "one_booking_per_slot"},
		{"overlap", 30 * time.Minute, 90 * time.Minute, "no_overlapping_slots"},
		{"around", -2 * time.Hour, 4 * time.Hour, "no_overlapping_slots"},
	} {
		err := insert(day.Add(step.from), day.Add(step.to))
		switch {
		case step.fence == "" && err != nil:
			t.Errorf("%s: %v", step.name, err)
		case step.fence != "" && err == nil:
			t.Errorf("%s was written past %s", step.name, step.fence)
		// SQLite names a unique index by its columns.
		case step.fence != "" && !strings.Contains(err.Error(), step.fence) && !strings.Contains(err.Error(), "UNIQUE constraint failed: slots.resource_id, slots.starts_at"):
			t.Errorf("%s: %v, want %s", step.name, err, step.fence)
		}
	}
}
