package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"slotkeeper/booking"
)

// loader gathers a booking.State. It reads in rounds: what one round finds
// tells what the next asks for. A round's statements are as many whatever the
// set's size; rows that were read are not asked for again.
type loader struct {
	*Store
	tx *gorm.DB
	st *booking.State
	// events of the set that are no copies, and those that wait for bookings
	// of theirs.
	events []*booking.Event

	refs   map[booking.Ref]bool              // whose bookings, links and attendances are read
	told   map[booking.IdentityKey][]string  // e-mails that events tell of hosts first
	mapped map[booking.IdentityKey]uuid.UUID // what MapIdentity is about to map
	chains map[uuid.UUID]bool
	// places are the sessions whose surroundings are read.
	places map[uuid.UUID]bool
}

func (s *Store) loader(tx *gorm.DB) *loader {
	return &loader{
		Store: s, tx: tx, st: booking.NewState(), refs: map[booking.Ref]bool{}, chains: map[uuid.UUID]bool{},
		told: map[booking.IdentityKey][]string{}, mapped: map[booking.IdentityKey]uuid.UUID{}, places: map[uuid.UUID]bool{},
	}
}

// load reads what the set touches; what that is, booking.State says.
func (s *Store) load(tx *gorm.DB, set []booking.Post) (*booking.State, error) {
	l := s.loader(tx)
	if err := l.ledger(); err != nil {
		return nil, err
	}
	if err := l.copies(set); err != nil {
		return nil, err
	}
	for _, p := range set {
		if _, known := l.st.Receipts[keyOf(p)]; p.Event != nil && (!known || p.Settles) {
			l.events = append(l.events, p.Event)
		}
	}
	if len(l.events) == 0 {
		return l.st, nil
	}
	for _, step := range []func() error{l.follow, l.ownSessions, l.newlyMapped, l.surroundings, l.resources} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return l.st, nil
}

func keyOf(p booking.Post) booking.ReceiptKey {
	return booking.ReceiptKey{ConnectionID: p.ConnectionID, EventKey: p.EventKey}
}

type ledgerRow struct {
	ID   int
	Seq  int64
	Head []byte
}

func (ledgerRow) TableName() string { return "ledger" }

// lockLedger makes this transaction the one writer. SQLite's is already: its
// transactions begin by taking the file's lock.
func lockLedger(tx *gorm.DB) (booking.Ledger, error) {
	var row ledgerRow
	if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = 1").Take(&row).Error; err != nil {
		return booking.Ledger{}, fmt.Errorf("store: lock the ledger: %w", err)
	}
	out := booking.Ledger{Seq: row.Seq}
	if copy(out.Head[:], row.Head) != len(out.Head) {
		return out, fmt.Errorf("store: the ledger's head has %d bytes", len(row.Head))
	}
	return out, nil
}

func (l *loader) ledger() (err error) {
	l.st.Ledger, err = lockLedger(l.tx)
	return err
}

// maxIn is how many values one IN list may have.
const maxIn = 512

// in reads the rows whose column has one of the values. Lists are filled up to
// a power of two, so that the database sees few different statements.
func in[R, V any](tx *gorm.DB, column string, values []V) ([]R, error) {
	var out []R
	for part := range slices.Chunk(values, maxIn) {
		n := 1
		for n < len(part) {
			n *= 2
		}
		list := slices.Clone(part)
		for len(list) < n {
			list = append(list, part[len(part)-1])
		}
		var rows []R
		if err := tx.Where(column+" IN ?", list).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("store: load by %s: %w", column, err)
		}
		out = append(out, rows...)
	}
	return out, nil
}

// copies reads the receipts that the set's deliveries may be copies of.
func (l *loader) copies(set []booking.Post) error {
	want := map[booking.ReceiptKey]booking.ReceiptKey{}
	keys := map[string]bool{}
	for _, p := range set {
		k := storable(p.EventKey)
		want[booking.ReceiptKey{ConnectionID: p.ConnectionID, EventKey: k}] = keyOf(p)
		keys[k] = true
	}
	rows, err := in[knownReceipt](l.tx, "event_key", sortedKeys(keys))
	if err != nil {
		return err
	}
	for _, r := range rows {
		key, ok := want[booking.ReceiptKey{ConnectionID: r.ConnectionID, EventKey: r.EventKey}]
		if !ok {
			continue
		}
		receipt, err := l.receiptToDomain(r)
		if err != nil {
			return err
		}
		receipt.EventKey = key.EventKey
		l.st.Receipts[key] = receipt
	}
	return l.pokes(set)
}

// pokes reads the receipts that pokes of the set may join.
func (l *loader) pokes(set []booking.Post) error {
	subjects := map[string]bool{}
	for _, p := range set {
		if p.Poke {
			subjects[storable(p.Subject)] = true
		}
	}
	if len(subjects) == 0 {
		return nil
	}
	open := l.tx.Where("poke AND status = 'pending' AND claimed_at IS NULL").Session(fresh)
	rows, err := in[knownReceipt](open, "subject", sortedKeys(subjects))
	if err != nil {
		return err
	}
	for _, r := range rows {
		receipt, err := l.receiptToDomain(r)
		if err != nil {
			return err
		}
		l.st.Receipts[booking.ReceiptKey{ConnectionID: r.ConnectionID, EventKey: r.EventKey}] = receipt
	}
	return nil
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

func refsOf(e *booking.Event) []booking.Ref {
	var out []booking.Ref
	for _, id := range []string{e.ExternalID, e.Predecessor, e.Successor} {
		if id != "" {
			out = append(out, booking.Ref{Source: e.Source, ExternalID: id})
		}
	}
	return out
}

// follow reads the bookings, attendances and links of all identities that the
// events name, that links lead to, and that stand in the same chains, with the
// events that wait for them.
func (l *loader) follow() error {
	var next []booking.Ref
	for _, e := range l.events {
		next = append(next, refsOf(e)...)
	}
	for {
		next = slices.DeleteFunc(next, func(r booking.Ref) bool { return l.refs[r] })
		if len(next) == 0 {
			return nil
		}
		for _, r := range next {
			l.refs[r] = true
		}
		asked := wantRefs(next)
		next = nil
		for _, step := range []func(wanted) ([]booking.Ref, error){l.waiting, l.bookings, l.attendances, l.links} {
			found, err := step(asked)
			if err != nil {
				return err
			}
			next = append(next, found...)
		}
	}
}

// wanted are identities, as a set and as the values of their columns.
type wanted struct {
	refs  map[booking.Ref]bool
	ids   []string
	bases []string
}

func wantRefs(refs []booking.Ref) wanted {
	w := wanted{refs: map[booking.Ref]bool{}}
	ids, bases := map[string]bool{}, map[string]bool{}
	for _, r := range refs {
		w.refs[r], ids[r.ExternalID], bases[r.Source.Base] = true, true, true
	}
	w.ids, w.bases = sortedKeys(ids), sortedKeys(bases)
	return w
}

// The ids are selective, and lead the indexes; the bases only spare rows of
// other accounts that happen to use the same ids. Few sets name many bases.
func (w wanted) scope(tx *gorm.DB) *gorm.DB {
	if len(w.bases) > 64 {
		return tx
	}
	return tx.Where("api_base IN ?", w.bases)
}

func (l *loader) waiting(w wanted) ([]booking.Ref, error) {
	subjects := make([]string, 0, len(w.refs))
	for r := range w.refs {
		subjects = append(subjects, storable(booking.Subject(r.Source, r.ExternalID)))
	}
	slices.Sort(subjects)
	rows, err := in[knownReceipt](l.tx.Where("status = 'waiting'").Session(fresh), "subject", subjects)
	if err != nil {
		return nil, err
	}
	var out []booking.Ref
	for _, r := range rows {
		key := booking.ReceiptKey{ConnectionID: r.ConnectionID, EventKey: r.EventKey}
		if known, ok := l.st.Receipts[key]; ok && known.Event != nil {
			l.events = append(l.events, known.Event)
			out = append(out, refsOf(known.Event)...)
			continue
		}
		receipt, err := l.receiptToDomain(r)
		if err != nil {
			return nil, err
		}
		l.st.Receipts[key] = receipt
		l.events = append(l.events, receipt.Event)
		out = append(out, refsOf(receipt.Event)...)
	}
	return out, nil
}

func (l *loader) bookings(w wanted) ([]booking.Ref, error) {
	rows, err := in[bookingRow](w.scope(l.tx).Session(fresh), "external_id", w.ids)
	if err != nil {
		return nil, err
	}
	chains := map[uuid.UUID]bool{}
	var out []booking.Ref
	keep := func(b booking.Booking) {
		l.st.Bookings[b.ID] = b
		if !l.chains[b.ChainID] {
			chains[b.ChainID] = true
		}
		out = append(out, booking.Ref{Source: b.Source, ExternalID: b.ExternalID})
	}
	for _, r := range rows {
		if b := r.toDomain(); w.refs[booking.Ref{Source: b.Source, ExternalID: b.ExternalID}] {
			keep(b)
		}
	}
	ids := slices.Collect(maps.Keys(chains))
	maps.Copy(l.chains, chains)
	if rows, err = in[bookingRow](l.tx, "chain_id", ids); err != nil {
		return nil, err
	}
	for _, r := range rows {
		keep(r.toDomain())
	}
	return out, nil
}

func (l *loader) attendances(w wanted) ([]booking.Ref, error) {
	rows, err := in[attendanceRow](w.scope(l.tx).Session(fresh), "external_id", w.ids)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if a := r.toDomain(); w.refs[booking.Ref{Source: a.Source, ExternalID: a.ExternalID}] {
			l.st.Attendances[attendanceKey(a)] = a
		}
	}
	return nil, nil
}

func (l *loader) links(w wanted) ([]booking.Ref, error) {
	var out []booking.Ref
	for _, column := range []string{"predecessor", "successor"} {
		rows, err := in[bookingLinkRow](w.scope(l.tx).Session(fresh), column, w.ids)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			k := r.toDomain()
			ends := []booking.Ref{{Source: k.Source, ExternalID: k.Predecessor}, {Source: k.Source, ExternalID: k.Successor}}
			if w.refs[ends[0]] || w.refs[ends[1]] {
				l.st.Links[linkKey(k)] = k
				out = append(out, ends...)
			}
		}
	}
	return out, nil
}

// ownSessions reads the sessions of all bookings so far, and those that the
// events or identities name, with all their bookings.
func (l *loader) ownSessions() error {
	ids := map[uuid.UUID]bool{}
	for _, b := range l.st.Bookings {
		ids[b.SessionID] = true
	}
	for r := range l.refs {
		ids[booking.SessionID(r.Source, r.ExternalID)] = true
	}
	for _, e := range l.events {
		ids[booking.SessionID(e.Source, e.Session.ExternalID)] = true
	}
	found, err := l.sessions(ids)
	if err != nil {
		return err
	}
	return l.members(found, true)
}

// sessions reads sessions that are not loaded yet, with their claims and the
// identities of their hosts, and returns the ids of those found.
func (l *loader) sessions(ids map[uuid.UUID]bool) ([]uuid.UUID, error) {
	var missing []uuid.UUID
	for id := range ids {
		if _, ok := l.st.Sessions[id]; !ok {
			missing = append(missing, id)
		}
	}
	rows, err := in[sessionRow](l.tx, "id", missing)
	if err != nil {
		return nil, err
	}
	var found []uuid.UUID
	names := map[string]bool{}
	for _, r := range rows {
		s := r.toDomain()
		l.st.Sessions[s.ID] = s
		found = append(found, s.ID)
		for _, h := range hostsOf(s) {
			names[h.ExternalID], names[h.Email] = true, true
		}
	}
	// The released too: a place that is taken again is the same row.
	slots, err := in[slotRow](l.tx, "session_id", found)
	if err != nil {
		return nil, err
	}
	for _, r := range slots {
		l.st.Slots[r.ID] = r.toDomain()
	}
	return found, l.identities(names)
}

// hostsOf are all hosts that a session may come to have by what is stored.
func hostsOf(s booking.Session) []booking.Host {
	out := slices.Clone(s.Hosts)
	for _, a := range s.Added {
		out = append(out, a.Host)
	}
	return out
}

// members reads the bookings of sessions, without the canceled ones unless all.
func (l *loader) members(sessions []uuid.UUID, all bool) error {
	tx := l.tx
	if !all {
		tx = tx.Where("status <> 'canceled'").Session(fresh)
	}
	rows, err := in[bookingRow](tx, "session_id", sessions)
	if err != nil {
		return err
	}
	for _, r := range rows {
		l.st.Bookings[r.ID] = r.toDomain()
	}
	return nil
}

// identities reads all identities of those names, whoever uses them: names are
// long and say whose they are.
func (l *loader) identities(names map[string]bool) error {
	delete(names, "")
	rows, err := in[identityRow](l.tx, "external_id", sortedKeys(names))
	if err != nil {
		return err
	}
	for _, r := range rows {
		i := r.toDomain()
		l.st.Identities[booking.IdentityKey{Source: i.Source, ExternalID: i.ExternalID}] = i
	}
	return nil
}
