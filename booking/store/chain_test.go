package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/migrations"
)

// tampering is what somebody who may do all in the database does to the log.
type tampering struct {
	what string
	do   func(log []booking.Transition, ledger *booking.Ledger) []booking.Transition
	// want are the flaws that must be found, like "changed 4"; none of what cannot
	// be found without a head.
	want string
	// kept is what must be found with the head of before.
	kept string
}

// change is one row's change at its place in the log.
func change(what string, at int, f func(*booking.Transition)) tampering {
	return tampering{what: fmt.Sprintf("%s of %d", what, at), want: fmt.Sprintf("changed %d", at), do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
		f(&log[at-1])
		return log
	}}
}

// relink makes all hashes from a row on fit, as a careful forger would.
func relink(log []booking.Transition, from int) []booking.Transition {
	for i := max(from, 0); i < len(log); i++ {
		log[i].Seq = int64(i + 1)
		log[i].Prev = [32]byte{}
		if i > 0 {
			log[i].Prev = log[i-1].Hash
		}
		log[i].Hash = log[i].Sum()
	}
	return log
}

func settled(log []booking.Transition, l *booking.Ledger) []booking.Transition {
	*l = booking.Ledger{}
	if n := len(log); n > 0 {
		l.Seq, l.Head = log[n-1].Seq, log[n-1].Hash
	}
	return log
}

var otherOutcome = map[booking.Outcome]booking.Outcome{booking.Applied: booking.Rejected, booking.Rejected: booking.Applied}

func tamperings(n int) []tampering {
	type column struct {
		name string
		set  func(*booking.Transition)
	}
	other := uuid.New()
	var out []tampering
	for _, at := range []int{1, n / 2, n} {
		for _, c := range []column{
			{"id", func(t *booking.Transition) { t.ID = other }},
			{"booking_id", func(t *booking.Transition) { t.BookingID = other }},
			{"receipt_id", func(t *booking.Transition) { t.ReceiptID = other }},
			{"no receipt_id", func(t *booking.Transition) { t.ReceiptID = uuid.Nil }},
			{"event", func(t *booking.Transition) { t.Event = booking.NoShow }},
			{"from", func(t *booking.Transition) { t.From = booking.Conflicted }},
			{"to", func(t *booking.Transition) { t.To = booking.Pending }},
			{"outcome", func(t *booking.Transition) { t.Outcome = otherOutcome[t.Outcome] }},
			{"reason", func(t *booking.Transition) { t.Reason = booking.ReasonStale }},
			{"holder_id", func(t *booking.Transition) { t.HolderID = &other }},
			{"constraint", func(t *booking.Transition) { t.Constraint = "none" }},
			{"actor", func(t *booking.Transition) { t.Actor = booking.Actor("user:" + other.String()) }},
			{"occurred_at", func(t *booking.Transition) { t.OccurredAt = t.OccurredAt.Add(time.Microsecond) }},
			{"recorded_at", func(t *booking.Transition) { t.RecordedAt = t.RecordedAt.Add(-time.Microsecond) }},
			{"prev", func(t *booking.Transition) { t.Prev[31] ^= 1 }},
			{"hash", func(t *booking.Transition) { t.Hash[0] ^= 1 }},
		} {
			out = append(out, change(c.name, at, c.set))
		}
		out[len(out)-2].want += fmt.Sprintf(", unlinked %d", at) // prev
		if at == n {
			out[len(out)-1].want += fmt.Sprintf(", head %d", n) // hash
		}
		rehashed := tampering{
			what: fmt.Sprintf("the reason of %d, with its own hash made anew", at), want: fmt.Sprintf("unlinked %d", at+1),
			do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
				log[at-1].Reason = booking.ReasonStale
				log[at-1].Hash = log[at-1].Sum()
				return log
			},
		}
		if at == n {
			rehashed.want = fmt.Sprintf("head %d", n)
		}
		remove := func(log []booking.Transition) []booking.Transition { return slices.Delete(log, at-1, at) }
		missing := fmt.Sprintf("missing %d", n)
		out = append(out, rehashed,
			tampering{what: fmt.Sprintf("%d removed", at), want: fmt.Sprintf("missing %d", at), do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
				return remove(log)
			}},
			tampering{what: fmt.Sprintf("%d removed, the ledger set back", at), want: fmt.Sprintf("missing %d", at), do: func(log []booking.Transition, l *booking.Ledger) []booking.Transition {
				return settled(remove(log), l)
			}},
			tampering{what: fmt.Sprintf("%d removed and all hashes made anew", at), want: missing, do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
				return relink(remove(log), at-1)
			}, kept: "forgotten 0"},
			tampering{what: fmt.Sprintf("%d removed, hashes and ledger made anew", at), do: func(log []booking.Transition, l *booking.Ledger) []booking.Transition {
				return settled(relink(remove(log), at-1), l)
			}, kept: "forgotten 0"},
			tampering{what: fmt.Sprintf("%d changed, hashes and ledger made anew", at), do: func(log []booking.Transition, l *booking.Ledger) []booking.Transition {
				log[at-1].Outcome = otherOutcome[log[at-1].Outcome]
				return settled(relink(log, at-1), l)
			}, kept: "forgotten 0"},
		)
	}
	// The last removed and the ledger set back is a shorter log.
	out[len(out)-4].want, out[len(out)-4].kept = "", "forgotten 0"
	rest := func(from, to int) string { // all of them changed
		var all []string
		for i := from; i <= to; i++ {
			all = append(all, fmt.Sprintf("changed %d", i))
		}
		return strings.Join(all, ", ")
	}
	middle := n / 2
	forged := func(log []booking.Transition, at int) booking.Transition {
		t := log[at-1]
		t.ID, t.Reason = uuid.New(), booking.ReasonStale
		return t
	}
	return append(out,
		tampering{what: "the middle removed and the others numbered anew", want: strings.Replace(rest(middle, n-1), ",", fmt.Sprintf(", unlinked %d,", middle), 1), do: func(log []booking.Transition, l *booking.Ledger) []booking.Transition {
			log = slices.Delete(log, middle-1, middle)
			for i := range log {
				log[i].Seq = int64(i + 1)
			}
			return settled(log, l)
		}},
		tampering{what: "one inserted in the middle and the others numbered anew", want: strings.Replace(rest(middle+1, n+1), ",", fmt.Sprintf(", unlinked %d,", middle+1), 1), do: func(log []booking.Transition, l *booking.Ledger) []booking.Transition {
			one := forged(log, middle)
			one.Prev, one.Seq = log[middle-2].Hash, int64(middle)
			one.Hash = one.Sum()
			log = slices.Insert(log, middle-1, one)
			for i := range log {
				log[i].Seq = int64(i + 1)
			}
			return settled(log, l)
		}},
		tampering{what: "one inserted in the middle, hashes and ledger made anew", do: func(log []booking.Transition, l *booking.Ledger) []booking.Transition {
			return settled(relink(slices.Insert(log, middle-1, forged(log, middle)), middle-1), l)
		}, kept: "forgotten 0"},
		tampering{what: "one added at the end", want: fmt.Sprintf("inserted %d", n+1), do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
			return relink(append(log, forged(log, n)), n)
		}},
		tampering{what: "one before the first", want: "inserted 0", do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
			one := forged(log, 1)
			one.Seq = 0
			return append(log, one)
		}},
		tampering{what: "two exchanged", want: fmt.Sprintf("changed %d, changed %d", middle, middle+2), do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
			a, b := &log[middle-1], &log[middle+1]
			a.Seq, b.Seq, a.Prev, b.Prev, a.Hash, b.Hash = b.Seq, a.Seq, b.Prev, a.Prev, b.Hash, a.Hash
			return log
		}},
		tampering{what: "two neighbours exchanged, their hashes made anew", want: fmt.Sprintf("unlinked %d", middle+2), do: func(log []booking.Transition, _ *booking.Ledger) []booking.Transition {
			log[middle-1], log[middle] = log[middle], log[middle-1]
			return append(relink(log[:middle+1], middle-1), log[middle+1:]...)
		}},
		tampering{what: "all removed", want: fmt.Sprintf("missing 1-%d", n), do: func([]booking.Transition, *booking.Ledger) []booking.Transition { return nil }},
		tampering{what: "all removed, the ledger set back", do: func(_ []booking.Transition, l *booking.Ledger) []booking.Transition { return settled(nil, l) }, kept: "forgotten 0"},
		tampering{what: "the ledger's head exchanged", want: fmt.Sprintf("head %d", n), do: func(log []booking.Transition, l *booking.Ledger) []booking.Transition {
			l.Head[5] ^= 1
			return log
		}},
	)
}

// Whoever changes, removes or inserts a row is found out, with the row: on both
// databases, as one who may switch the triggers off. What only a head that was
// kept elsewhere finds, it does find.
func TestAuditIsTamperEvident(t *testing.T) {
	t.Parallel()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			for i := range 4 {
				id := fmt.Sprint("b", i)
				b.Apply(t,
					bt.New(bt.Calendly, cre, id, 10*i, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")),
					bt.New(bt.Calendly, booking.KindCanceled, id, 10*i+1, bt.For("priya")),
					bt.New(bt.Calendly, cre, id, 10*i+2, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")))
			}
			f := newForger(t, b)
			log := f.read(t)
			n := len(log)
			if n < 10 {
				t.Fatalf("only %d transitions", n)
			}
			ledger := *settledLedger(log)
			if got := findings(t, b, ledger.Head, log[0].Hash); got != "" {
				t.Fatalf("found %q in a log that nobody touched", got)
			}
			for _, c := range tamperings(n) {
				forged, l := slices.Clone(log), ledger
				f.write(t, c.do(forged, &l), l)
				if got := findings(t, b); got != c.want {
					t.Errorf("%s: found %q, not %q", c.what, got, c.want)
				}
				if got := findings(t, b, ledger.Head); !strings.Contains(got, c.kept) || c.want+c.kept == "" {
					t.Errorf("%s, with the head that was kept: found %q, not %q", c.what, got, c.kept)
				}
			}
			f.write(t, log, ledger)
			if got := findings(t, b, ledger.Head); got != "" {
				t.Errorf("found %q when all was put back", got)
			}
			unreadable := "UPDATE transitions SET occurred_at = 'yesterday' WHERE seq = 3"
			if b.Dialect() == migrations.Postgres {
				unreadable = "ALTER TABLE transitions DROP CONSTRAINT transitions_hash; UPDATE transitions SET hash = '\\x00' WHERE seq = 3"
			}
			f.exec(t, unreadable)
			if got := findings(t, b); got != "unreadable 3" {
				t.Errorf("a row that cannot be read: found %q", got)
			}
		})
	}
}

func settledLedger(log []booking.Transition) *booking.Ledger {
	var l booking.Ledger
	settled(log, &l)
	return &l
}

// findings are what a check finds, like "changed 3, missing 5-7".
func findings(t *testing.T, b *storetest.Bench, kept ...[32]byte) string {
	t.Helper()
	var out []string
	c := booking.Chain{Kept: map[[32]byte]*int64{}, Found: func(f booking.Finding) {
		at := fmt.Sprint(f.From)
		if f.To != f.From {
			at += fmt.Sprint("-", f.To)
		}
		out = append(out, string(f.Flaw)+" "+at)
	}}
	for _, head := range kept {
		c.Kept[head] = nil
	}
	if err := b.CheckChain(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, ", ")
}

// forger writes past every trigger and key.
type forger struct {
	b    *storetest.Bench
	conn *sql.Conn
}

func newForger(t *testing.T, b *storetest.Bench) *forger {
	t.Helper()
	conn, err := b.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	f := &forger{b, conn}
	if b.Dialect() == migrations.Postgres {
		f.exec(t, "SET session_replication_role = replica")
		f.exec(t, "ALTER TABLE transitions DROP CONSTRAINT transitions_seq")
		return f
	}
	f.exec(t, "PRAGMA foreign_keys = OFF")
	f.exec(t, "PRAGMA ignore_check_constraints = ON")
	for _, trigger := range []string{"transitions_append_only", "transitions_no_delete", "transitions_no_replace"} {
		f.exec(t, "DROP TRIGGER "+trigger)
	}
	return f
}

func (f *forger) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := f.conn.ExecContext(context.WithoutCancel(t.Context()), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (f *forger) read(t *testing.T) []booking.Transition {
	t.Helper()
	list, err := f.b.Transitions(t.Context(), booking.Filter{}, booking.Page{Limit: booking.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	log := make([]booking.Transition, len(list.Items))
	for _, v := range list.Items {
		log[v.Seq-1] = v.Transition
	}
	return log
}

func (f *forger) write(t *testing.T, log []booking.Transition, l booking.Ledger) {
	t.Helper()
	null := func(id uuid.UUID) any {
		if id == uuid.Nil {
			return nil
		}
		return id.String()
	}
	place := "(" + strings.Repeat("?, ", 15) + "?)"
	set := "UPDATE ledger SET seq = ?, head = ?"
	if f.b.Dialect() == migrations.Postgres {
		set = "UPDATE ledger SET seq = $1, head = $2"
		var n []string
		for i := range 16 {
			n = append(n, fmt.Sprintf("$%d", i+1))
		}
		place = "(" + strings.Join(n, ", ") + ")"
	}
	const stamp = "2006-01-02T15:04:05.000000Z"
	f.exec(t, "BEGIN")
	f.exec(t, "DELETE FROM transitions")
	for _, r := range log {
		var holder any
		if r.HolderID != nil {
			holder = r.HolderID.String()
		}
		f.exec(t, `INSERT INTO transitions (seq, id, booking_id, receipt_id, event, "from", "to", outcome, reason, holder_id, "constraint", actor, occurred_at, recorded_at, prev, hash) VALUES `+place,
			r.Seq, r.ID.String(), r.BookingID.String(), null(r.ReceiptID), string(r.Event), string(r.From), string(r.To), string(r.Outcome), string(r.Reason),
			holder, r.Constraint, string(r.Actor), r.OccurredAt.UTC().Format(stamp), r.RecordedAt.UTC().Format(stamp), r.Prev[:], r.Hash[:])
	}
	f.exec(t, set, l.Seq, l.Head[:])
	f.exec(t, "COMMIT")
}
