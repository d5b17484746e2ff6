package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/migrations"
)

// loader gathers a booking.State in trips: what one finds tells what the next
// asks for, and nothing is asked for twice. Most sets take two, one to what they
// name and one to what stands around it.
type loader struct {
	*Store
	tx *transaction
	st *booking.State
	// events of the set that are no copies, and those that wait for bookings
	// of theirs.
	events []*booking.Event

	refs     asked[booking.Ref] // whose bookings, chains, links and attendances are read
	meetings asked[uuid.UUID]   // sessions that are read with all their bookings
	others   asked[uuid.UUID]   // and those that are read without the canceled ones
	names    asked[string]      // of identities
	hosting  asked[string]      // names of hosts whose sessions are read

	told   map[booking.IdentityKey][]string  // e-mails that events tell of hosts first
	mapped map[booking.IdentityKey]uuid.UUID // what a person is about to map
	// places are the sessions whose surroundings are read.
	places map[uuid.UUID]bool
}

func (s *Store) loader(tx *transaction) *loader {
	return &loader{
		Store: s, tx: tx, st: booking.NewState(),
		told: map[booking.IdentityKey][]string{}, mapped: map[booking.IdentityKey]uuid.UUID{}, places: map[uuid.UUID]bool{},
	}
}

// asked is what is to be read, each once.
type asked[K comparable] struct {
	known map[K]bool
	next  []K
}

func (a *asked[K]) add(keys ...K) {
	if a.known == nil {
		a.known = map[K]bool{}
	}
	var none K
	for _, k := range keys {
		if k != none && !a.known[k] {
			a.known[k] = true
			a.next = append(a.next, k)
		}
	}
}

func (a *asked[K]) take() []K {
	out := a.next
	a.next = nil
	return out
}

// load reads what the set touches; what that is, booking.State says. In the set
// itself it drops what is told of people who were erased.
func (s *Store) load(tx *transaction, set []booking.Post) (*booking.State, error) {
	l := s.loader(tx)
	for _, p := range set {
		if p.Event != nil {
			l.follow(p.Event)
		}
	}
	// The lock comes first, for what is read before it may be old already. Copies
	// are asked for together with what they would be about: most are none.
	t := tx.trip()
	ledger := askLedger(t)
	copies, pokes := askCopies(t, set)
	found := l.ask(t)
	if err := t.make(); err != nil {
		return nil, err
	}
	var err error
	if l.st.Ledger, err = readLedger(ledger); err != nil {
		return nil, err
	}
	if err := l.readCopies(set, copies, pokes); err != nil {
		return nil, err
	}
	if err := s.forgetErased(tx.DB, (*ledger)[0].Erased, set); err != nil {
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
	if err := found(); err != nil {
		return nil, err
	}
	if err := l.rest(); err != nil {
		return nil, err
	}
	l.newlyMapped()
	if err := l.rest(); err != nil {
		return nil, err
	}
	return l.st, l.surroundings()
}

func keyOf(p booking.Post) booking.ReceiptKey {
	return booking.ReceiptKey{ConnectionID: p.ConnectionID, EventKey: p.EventKey}
}

type ledgerRow struct {
	Seq    int64
	Head   []byte
	Erased int64
}

func (ledgerRow) TableName() string { return "ledger" }

// askLedger makes this transaction the one writer. SQLite's is already: its
// transactions begin by taking the file's lock.
func askLedger(t *trip) *[]ledgerRow {
	if t.tx.look || t.tx.ways.dialect == migrations.SQLite {
		return read[ledgerRow](t, "WHERE id = 1")
	}
	return read[ledgerRow](t, "WHERE id = 1 FOR UPDATE")
}

func readLedger(rows *[]ledgerRow) (booking.Ledger, error) {
	var out booking.Ledger
	if len(*rows) != 1 {
		return out, fmt.Errorf("store: the ledger has %d rows", len(*rows))
	}
	row := (*rows)[0]
	out.Seq = row.Seq
	if copy(out.Head[:], row.Head) != len(out.Head) {
		return out, fmt.Errorf("store: the ledger's head has %d bytes", len(row.Head))
	}
	return out, nil
}

func lockLedger(tx *transaction) (booking.Ledger, error) {
	t := tx.trip()
	rows := askLedger(t)
	if err := t.make(); err != nil {
		return booking.Ledger{}, err
	}
	return readLedger(rows)
}

// askCopies asks for the receipts that the set's deliveries may be copies of, and
// for those that pokes of the set may join.
func askCopies(t *trip, set []booking.Post) (copies, pokes *[]knownReceipt) {
	keys, subjects := map[string]bool{}, map[string]bool{}
	for _, p := range set {
		keys[storable(p.EventKey)] = true
		if p.Poke {
			subjects[storable(p.Subject)] = true
		}
	}
	copies, pokes = read[knownReceipt](t, "WHERE event_key = any(?)", sortedKeys(keys)), new([]knownReceipt)
	if len(subjects) > 0 {
		pokes = read[knownReceipt](t, "WHERE subject = any(?) AND poke AND status = 'pending' AND claimed_at IS NULL", sortedKeys(subjects))
	}
	return copies, pokes
}

func (l *loader) readCopies(set []booking.Post, copies, pokes *[]knownReceipt) error {
	want := map[booking.ReceiptKey]booking.ReceiptKey{}
	for _, p := range set {
		want[booking.ReceiptKey{ConnectionID: p.ConnectionID, EventKey: storable(p.EventKey)}] = keyOf(p)
	}
	for _, r := range *copies {
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
	for _, r := range *pokes {
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

// follow has all read that an event names.
func (l *loader) follow(e *booking.Event) {
	l.followRefs(refsOf(e)...)
	if e.Session.ExternalID != "" {
		l.meetings.add(booking.SessionID(e.Source, e.Session.ExternalID))
	}
	for _, h := range e.Session.Hosts {
		l.names.add(h.ExternalID, h.Email)
	}
}

func (l *loader) followRefs(refs ...booking.Ref) {
	l.refs.add(refs...)
	for _, r := range refs {
		l.meetings.add(booking.SessionID(r.Source, r.ExternalID))
	}
}

// rest makes trips until nothing is left to ask for.
func (l *loader) rest() error {
	for {
		t := l.tx.trip()
		found := l.ask(t)
		if len(t.steps) == 0 {
			return nil
		}
		if err := t.make(); err != nil {
			return err
		}
		if err := found(); err != nil {
			return err
		}
	}
}

// ask puts into the trip whatever is to be asked for, and returns what takes in
// the answers, and with them what is to be asked for next.
func (l *loader) ask(t *trip) (found func() error) {
	var takes []func() error
	if refs := l.refs.take(); len(refs) > 0 {
		takes = append(takes, l.askRefs(t, refs))
	}
	if names := l.names.take(); len(names) > 0 {
		takes = append(takes, l.askIdentities(t, "WHERE external_id = any(?)", names))
	}
	if ids := l.meetings.take(); len(ids) > 0 {
		takes = append(takes, l.askSessions(t, ids, ""))
	}
	if ids := l.others.take(); len(ids) > 0 {
		takes = append(takes, l.askSessions(t, ids, " AND status <> 'canceled'"))
	}
	if hosts := l.hosting.take(); len(hosts) > 0 {
		rows := read[sessionHostRow](t, "WHERE external_id = any(?)", hosts)
		takes = append(takes, func() error {
			for _, r := range *rows {
				l.meetings.add(r.SessionID)
			}
			return nil
		})
	}
	return func() error {
		for _, take := range takes {
			if err := take(); err != nil {
				return err
			}
		}
		return nil
	}
}

// askRefs asks for the bookings, attendances and links of identities, for the
// bookings of the same chains, and for events that wait for any of them.
func (l *loader) askRefs(t *trip, refs []booking.Ref) func() error {
	want, ids, bases := map[booking.Ref]bool{}, map[string]bool{}, map[string]bool{}
	subjects := make([]string, 0, len(refs))
	for _, r := range refs {
		want[r], ids[r.ExternalID], bases[r.Source.Base] = true, true, true
		subjects = append(subjects, storable(booking.Subject(r.Source, r.ExternalID)))
	}
	// The ids are selective, and lead the indexes; the bases only spare rows of
	// other accounts that happen to use the same ids.
	external, base := sortedKeys(ids), sortedKeys(bases)
	waiting := read[knownReceipt](t, "WHERE subject = any(?) AND status = 'waiting'", subjects)
	bookings := read[bookingRow](t, `WHERE chain_id IN (SELECT chain_id FROM bookings WHERE external_id = any(?) AND api_base = any(?))`, external, base)
	attendances := read[attendanceRow](t, "WHERE external_id = any(?) AND api_base = any(?)", external, base)
	links := query[bookingLinkRow](t, eitherEnd, external, base, external, base)
	return func() error {
		if err := l.takeWaiting(*waiting); err != nil {
			return err
		}
		l.takeBookings(want, *bookings)
		for _, r := range *attendances {
			if a := r.toDomain(); want[booking.Ref{Source: a.Source, ExternalID: a.ExternalID}] {
				l.st.Attendances[attendanceKey(a)] = a
			}
		}
		for _, r := range *links {
			k := r.toDomain()
			ends := []booking.Ref{{Source: k.Source, ExternalID: k.Predecessor}, {Source: k.Source, ExternalID: k.Successor}}
			if want[ends[0]] || want[ends[1]] {
				l.st.Links[linkKey(k)] = k
				l.followRefs(ends...)
			}
		}
		return nil
	}
}

// eitherEnd is a union, so that each half has its index.
var eitherEnd = func() string {
	half := "SELECT " + tableOf[bookingLinkRow]().list("") + " FROM links WHERE %s = any(?) AND api_base = any(?)"
	return fmt.Sprintf(half, "predecessor") + " UNION ALL " + fmt.Sprintf(half, "successor")
}()

func (l *loader) takeWaiting(rows []knownReceipt) error {
	for _, r := range rows {
		key := booking.ReceiptKey{ConnectionID: r.ConnectionID, EventKey: r.EventKey}
		receipt, known := l.st.Receipts[key]
		if !known || receipt.Event == nil {
			var err error
			if receipt, err = l.receiptToDomain(r); err != nil {
				return err
			}
			l.st.Receipts[key] = receipt
		}
		l.events = append(l.events, receipt.Event)
		l.follow(receipt.Event)
	}
	return nil
}

// takeBookings keeps the bookings that were asked for and those of their chains,
// and has their identities and sessions read.
func (l *loader) takeBookings(want map[booking.Ref]bool, rows []bookingRow) {
	chains := map[uuid.UUID]bool{}
	for _, r := range rows {
		if want[booking.Ref{Source: booking.Source{Provider: r.Provider, Base: r.APIBase}, ExternalID: r.ExternalID}] {
			chains[r.ChainID] = true
		}
	}
	for _, r := range rows {
		if !chains[r.ChainID] {
			continue
		}
		b := r.toDomain()
		l.st.Bookings[b.ID] = b
		l.meetings.add(b.SessionID)
		l.followRefs(booking.Ref{Source: b.Source, ExternalID: b.ExternalID})
	}
}

// askSessions asks for sessions with their claims, their bookings and the
// identities of their hosts.
func (l *loader) askSessions(t *trip, ids []uuid.UUID, members string) func() error {
	sessions := read[sessionRow](t, "WHERE id = any(?)", ids)
	// The released too: a place that is taken again is the same row.
	slots := read[slotRow](t, "WHERE session_id = any(?)", ids)
	bookings := read[bookingRow](t, "WHERE session_id = any(?)"+members, ids)
	identities := l.askIdentities(t,
		"WHERE external_id IN (SELECT external_id FROM session_hosts WHERE session_id = any(?) UNION SELECT email FROM session_hosts WHERE session_id = any(?))", ids, ids)
	return func() error {
		for _, r := range *sessions {
			s := r.toDomain()
			l.st.Sessions[s.ID] = s
			// The identities of those that count come along.
			counting := s.EffectiveHosts()
			for _, h := range hostsOf(s) {
				if !slices.Contains(counting, h) {
					l.names.add(h.ExternalID, h.Email)
				}
			}
		}
		for _, r := range *slots {
			l.st.Slots[r.ID] = r.toDomain()
		}
		for _, r := range *bookings {
			l.st.Bookings[r.ID] = r.toDomain()
		}
		return identities()
	}
}

// hostsOf are all hosts that a session may come to have by what is stored.
func hostsOf(s booking.Session) []booking.Host {
	out := slices.Clone(s.Hosts)
	for _, a := range s.Added {
		out = append(out, a.Host)
	}
	return out
}

// askIdentities asks for all identities of some names, whoever uses them: names
// are long and say whose they are.
func (l *loader) askIdentities(t *trip, which string, args ...any) func() error {
	rows := read[identityRow](t, which, args...)
	return func() error {
		for _, r := range *rows {
			i := r.toDomain()
			l.st.Identities[booking.IdentityKey{Source: i.Source, ExternalID: i.ExternalID}] = i
		}
		return nil
	}
}
