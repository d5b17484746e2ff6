package main

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/store"
	"slotkeeper/booking/vault"
)

// bookingHere is what is compared of a booking with its provider's.
type bookingHere struct {
	bookingItem
	EndsAt      *time.Time  `json:"ends_at"`
	ResourceIDs []uuid.UUID `json:"resource_ids"`
	NoShow      bool        `json:"no_show"`
	ChainID     uuid.UUID   `json:"chain_id"`
	Invitee     struct {
		Email *string `json:"email"`
	} `json:"invitee"`
}

func (b bookingHere) key() string {
	if b.Invitee.Email == nil {
		return b.ExternalID + "|"
	}
	return b.ExternalID + "|" + *b.Invitee.Email
}

func (s standing) key() string { return s.id + "|" + strings.ToLower(s.email) }

// same waits until all is here as it is at the provider, and nothing is left to do.
func (l *life) same(t *testing.T) {
	t.Helper()
	there := l.standings(t)
	waitFor(t, "all to be as it is at the provider", func() error {
		if err := l.differs(t, there); err != nil {
			return fmt.Errorf("%w\n%s", err, l.log)
		}
		for _, status := range []string{"pending", "waiting", "failed", "dead"} {
			if open := api[receiptItem](t, l.server, l.token, "receipts?status="+status); len(open) > 0 {
				return fmt.Errorf("%d receipts are %s\n%s", len(open), status, l.log)
			}
		}
		return nil
	})
}

// differs says what is otherwise here than at the provider.
func (l *life) differs(t *testing.T, standings []standing) error {
	t.Helper()
	resources := l.resources(t)
	here := map[string][]bookingHere{}
	for _, b := range api[bookingHere](t, l.server, l.token, "bookings?connection_id="+l.id.String()) {
		here[b.key()] = append(here[b.key()], b)
	}
	var all []error
	stands := map[string]bool{}
	for _, there := range standings {
		key := there.key()
		open := slices.DeleteFunc(slices.Clone(here[key]), func(b bookingHere) bool { return b.Status == "canceled" })
		switch {
		case len(here[key]) == 0:
			all = append(all, fmt.Errorf("%s is not here", key))
		case there.status == "canceled" && len(open) > 0:
			all = append(all, fmt.Errorf("%s is %s, and canceled at the provider", key, open[0].Status))
		case there.status == "canceled":
			if b := here[key][0]; b.NoShow != there.noShow {
				all = append(all, fmt.Errorf("%s has no-show %t, %t at the provider", key, b.NoShow, there.noShow))
			}
		case len(open) != 1:
			all = append(all, fmt.Errorf("%s stands %d times, and once at the provider", key, len(open)))
		default:
			stands[key] = true
			all = append(all, there.compare(open[0], resources))
		}
	}
	for key, list := range here {
		for _, b := range list {
			if b.Status != "canceled" && !stands[key] {
				all = append(all, fmt.Errorf("%s is %s here only", key, b.Status))
			}
		}
	}
	return errors.Join(append(all, l.unchained(here))...)
}

// compare says how a booking that stands differs from its provider's.
func (s standing) compare(b bookingHere, resources map[string]uuid.UUID) error {
	var hosts []uuid.UUID
	for _, h := range s.hosts {
		if id, ok := resources[h]; ok {
			hosts = append(hosts, id)
		}
	}
	byText := func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(hosts, byText)
	is := slices.SortedFunc(slices.Values(b.ResourceIDs), byText)
	switch {
	case b.Status != s.status:
		return fmt.Errorf("%s is %s, %s at the provider", s.key(), b.Status, s.status)
	case b.StartsAt == nil || !b.StartsAt.Equal(s.start) || b.EndsAt == nil || !b.EndsAt.Equal(s.end):
		return fmt.Errorf("%s is from %v to %v, %s to %s at the provider", s.key(), b.StartsAt, b.EndsAt, s.start, s.end)
	case b.NoShow != s.noShow:
		return fmt.Errorf("%s has no-show %t, %t at the provider", s.key(), b.NoShow, s.noShow)
	case !slices.Equal(is, hosts) || len(hosts) == 0:
		return fmt.Errorf("%s is hosted by %v, by %v (%v) at the provider", s.key(), is, hosts, s.hosts)
	}
	return nil
}

// unchained says which bookings followed each other at the provider, and not here.
func (l *life) unchained(here map[string][]bookingHere) error {
	of := map[string]uuid.UUID{}
	for _, list := range here {
		for _, b := range list {
			of[b.ExternalID] = b.ChainID
		}
	}
	for _, chain := range l.chains() {
		for _, id := range chain {
			if of[id] == uuid.Nil || of[id] != of[chain[0]] {
				return fmt.Errorf("%s is not in the chain of %s", id, chain[0])
			}
		}
	}
	return nil
}

// resources are the ids of the resources by their identities at providers.
func (l *life) resources(t *testing.T) map[string]uuid.UUID {
	t.Helper()
	out := map[string]uuid.UUID{}
	for _, r := range api[struct {
		ID         uuid.UUID `json:"id"`
		Identities []struct {
			ExternalID string `json:"external_id"`
		} `json:"identities"`
	}](t, l.server, l.token, "resources") {
		for _, identity := range r.Identities {
			out[identity.ExternalID] = r.ID
		}
	}
	return out
}

// endsInOrder looks at what is left of a life: no difference that a person has to
// see to, an audit log that nobody changed, and who did what.
func (l *life) endsInOrder(t *testing.T) {
	t.Helper()
	var drifts, open int
	db := l.database(t)
	if err := db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM drifts), (SELECT count(*) FROM runs WHERE status = 'running')").Scan(&drifts, &open); err != nil {
		t.Fatal(err)
	}
	if drifts > 0 || open > 0 {
		t.Errorf("%d differences and %d runs are open", drifts, open)
	}
	l.stop(t)
	key, err := vault.KeyFromText(secretKey)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config{DatabaseURL: l.db, DataDir: l.dir}
	st, err := store.Open(t.Context(), cfg.database(), store.Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all, err := booking.Everything(t.Context(), st.Transitions)
	if err != nil {
		t.Fatal(err)
	}
	// The list is by when they were recorded; the chain is by their numbers.
	slices.SortFunc(all, func(a, b booking.TransitionView) int { return cmp.Compare(a.Seq, b.Seq) })
	var head booking.Ledger
	by := map[booking.Actor]int{}
	for _, tr := range all {
		if tr.Seq != head.Seq+1 || tr.Prev != head.Head || tr.Sum() != tr.Hash {
			t.Fatalf("transition %d does not follow %d, %s", tr.Seq, head.Seq, hex.EncodeToString(head.Head[:]))
		}
		head = booking.Ledger{Seq: tr.Seq, Head: tr.Hash}
		by[tr.Actor]++
		// A post may come after the one that followed it; what is read stands.
		if tr.Outcome == booking.Rejected && tr.Actor != booking.ActorWebhook {
			t.Errorf("transition %d was refused: %s of %s by %s, %s", tr.Seq, tr.Event, tr.BookingID, tr.Actor, tr.Reason)
		}
	}
	for _, actor := range []booking.Actor{booking.ActorWebhook, booking.ActorBackfill, booking.ActorReconcile} {
		if by[actor] == 0 {
			t.Errorf("%s did nothing", actor)
		}
	}
	t.Logf("%d bookings; transitions by %v", len(l.standings(t)), by)
}

// pathOf is the path of a URI.
func pathOf(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}
