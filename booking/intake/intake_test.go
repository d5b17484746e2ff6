package intake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/intake"
)

var now = time.Date(2026, 12, 7, 9, 0, 0, 0, time.UTC)

// gate is a store whose transactions wait until they are let through, and that
// fails as told.
type gate struct {
	open chan struct{}
	fail func(set []booking.Post) error
	slow string // the member whose sets never end by themselves
	away bool   // then nothing ends any more

	mu   sync.Mutex
	sets [][]string
	kept []string
}

func (g *gate) Apply(ctx context.Context, set []booking.Post, _ time.Time) ([]booking.Answer, error) {
	if g.open != nil {
		<-g.open
	}
	var keys []string
	answers := make([]booking.Answer, 0, len(set))
	for _, p := range set {
		keys = append(keys, p.EventKey)
		answers = append(answers, booking.Answer{Status: booking.StatusProcessed, Error: p.EventKey})
	}
	if g.slow != "" && (slices.Contains(keys, g.slow) || (g.away && keys[0] != "a")) {
		<-ctx.Done()
		return nil, fmt.Errorf("%w: %w", booking.ErrUnavailable, ctx.Err())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sets = append(g.sets, keys)
	if g.fail != nil {
		if err := g.fail(set); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func (g *gate) KeepFailed(ctx context.Context, p booking.Post, _ error, _ time.Time) (booking.Answer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away {
		<-ctx.Done()
		return booking.Answer{}, ctx.Err()
	}
	g.kept = append(g.kept, p.EventKey)
	return booking.Answer{Status: booking.StatusFailed, Error: p.EventKey}, nil
}

func start(g *gate, maxSet int) *intake.Intake {
	return intake.New(g, intake.Options{
		MaxSet: maxSet, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Observe: func([]booking.Post, []booking.Answer) {},
	})
}

func post(key string, people int) booking.Post {
	return booking.Post{Delivery: booking.Delivery{EventKey: key, Event: &booking.Event{Attendees: make([]booking.Attendee, people)}}}
}

// take sends deliveries one after the other and returns what each was answered.
func take(t *testing.T, in *intake.Intake, posts ...booking.Post) func() []string {
	t.Helper()
	out := make([]string, len(posts))
	var wg sync.WaitGroup
	for i, p := range posts {
		wg.Go(func() {
			a, err := in.Take(t.Context(), p)
			if err != nil {
				out[i] = err.Error()
				return
			}
			out[i] = string(a.Status) + " " + a.Error
		})
		synctest.Wait()
	}
	return func() []string { wg.Wait(); return out }
}

func TestSetsGatherWhoeverArrivedMeanwhile(t *testing.T) {
	tests := []struct {
		name   string
		maxSet int
		posts  []booking.Post
		want   []int
	}{
		{"while one commits the others gather", 64, []booking.Post{post("a", 1), post("b", 1), post("c", 1)}, []int{1, 2}},
		{"sets of one", 1, []booking.Post{post("a", 1), post("b", 1), post("c", 1)}, []int{1, 1, 1}},
		{"a full set", 2, []booking.Post{post("a", 1), post("b", 1), post("c", 1), post("d", 1)}, []int{1, 2, 1}},
		{"capped by attendees, nobody lost", 64, []booking.Post{post("a", 1), post("b", 900), post("c", 900), post("d", 1)}, []int{1, 1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{open: make(chan struct{})}
				in := start(g, tt.maxSet)
				answers := take(t, in, tt.posts...)
				close(g.open)
				for i, a := range answers() {
					if a != "processed "+tt.posts[i].EventKey {
						t.Errorf("delivery %d was answered %q", i, a)
					}
				}
				in.Stop()
				var sizes []int
				for _, s := range g.sets {
					sizes = append(sizes, len(s))
				}
				if !slices.Equal(sizes, tt.want) {
					t.Errorf("sets of %v, want %v", sizes, tt.want)
				}
			})
		})
	}
}

func TestOneBadMemberFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), fail: func(set []booking.Post) error {
			for _, p := range set {
				if p.EventKey == "bad" {
					return errors.New("boom")
				}
			}
			return nil
		}}
		in := start(g, 64)
		answers := take(t, in, post("a", 1), post("b", 1), post("bad", 1), post("c", 1))
		close(g.open)
		if got, want := answers(), []string{"processed a", "processed b", "failed bad", "processed c"}; !slices.Equal(got, want) {
			t.Errorf("answered %v, want %v", got, want)
		}
		in.Stop()
	})
}

func TestFenceIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		g := &gate{fail: func([]booking.Post) error {
			if tries++; tries < 3 {
				return &booking.FenceError{Constraint: booking.FenceSlot, Err: errors.New("23505")}
			}
			return nil
		}}
		in := start(g, 64)
		if got := take(t, in, post("a", 1))(); got[0] != "processed a" || len(g.kept) != 0 {
			t.Errorf("answered %v, kept %v", got, g.kept)
		}
		in.Stop()
	})
}

func TestLostDatabaseIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{fail: func([]booking.Post) error { return booking.ErrUnavailable }}
		in := start(g, 64)
		if _, err := in.Take(t.Context(), post("a", 1)); !errors.Is(err, booking.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if len(g.kept) != 0 {
			t.Errorf("kept %v", g.kept)
		}
		in.Stop()
	})
}

// A member that takes more than its time is kept as failed; those who shared its
// set are applied. A database that answers nobody is unavailable to all, soon.
func TestSlowMemberFailsAlone(t *testing.T) {
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{open: make(chan struct{}), slow: "slow", away: away}
			in := start(g, 64)
			answers := take(t, in, post("a", 1), post("b", 1), post("slow", 1), post("c", 1))
			close(g.open)
			began := time.Now()
			want := []string{"processed a", "processed b", "failed slow", "processed c"}
			if away {
				want = []string{"processed a", "the database is not available", "the database is not available", "the database is not available"}
			}
			got := answers()
			for i := range got {
				if !strings.HasPrefix(got[i], want[i]) {
					t.Errorf("away %v: answered %v, want %v", away, got, want)
					break
				}
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			in.Stop()
		})
	}
}

func TestStopFinishesWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		in := start(g, 1)
		answers := take(t, in, post("a", 1), post("b", 1), post("c", 1))
		go in.Stop()
		synctest.Wait()
		if _, err := in.Take(t.Context(), post("late", 1)); !errors.Is(err, booking.ErrUnavailable) {
			t.Errorf("a late delivery got %v", err)
		}
		close(g.open)
		if got, want := answers(), []string{"processed a", "processed b", "processed c"}; !slices.Equal(got, want) {
			t.Errorf("answered %v, want %v", got, want)
		}
		in.Stop()
	})
}

func TestClientThatLeavesCancelsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		in := start(g, 64)
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := in.Take(ctx, post("a", 1)); done <- err }()
		synctest.Wait()
		leave()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(g.open)
		in.Stop()
		if len(g.sets) != 1 {
			t.Errorf("applied %v", g.sets)
		}
	})
}
