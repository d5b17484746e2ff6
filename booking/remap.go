package booking

import (
	"time"

	"github.com/google/uuid"
)

// Remap maps a provider's identity to a resource by hand, which beats its
// e-mail, and lets every session of that host claim its places there (R8, R11):
// who finds them held becomes conflicted, who waited for what it leaves is
// released. st must hold the sessions of the host and what is around the places
// that they have and get, as for Decide. The transitions name no receipt.
func Remap(st *State, id Identity, to Resource, actor Actor, now time.Time) Changes {
	w := newWork(st, now)
	t := &turn{
		work: w, event: &Event{Source: id.Source, ExternalID: id.ExternalID, At: w.now},
		actor: actor, touched: map[uuid.UUID]placeBefore{}, clashes: map[uuid.UUID]clash{},
	}
	id.ResourceID, id.Pinned = to.ID, true
	w.identities.put(IdentityKey{id.Source, id.ExternalID}, id)
	if _, ok := w.resources.get(to.ID); !ok {
		w.resources.put(to.ID, to)
	}
	t.touchHosted(IdentityKey{id.Source, id.ExternalID})
	t.settle()
	t.writeTransitions()
	w.keep()
	return w.changes(nil)
}
