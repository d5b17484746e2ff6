package booking

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Remap maps a provider's identity to a resource by hand, which beats its
// e-mail, and lets every session of that host claim its places there (R8, R11):
// who finds them held becomes conflicted, who waited for what it leaves is
// released. st must hold the identity, the sessions of the host and what is
// around the places that they have and get, as for Decide. The transitions name
// no receipt.
//
// What is over is decided like what is to come, here and in MergeResources and
// SplitIdentity: any later word about a past meeting would settle it anyway, and
// its outcome must not depend on whether one came. Conflicts that are over are
// not open, so that nobody is warned of them.
func Remap(st *State, id Identity, to Resource, actor Actor, now time.Time) Changes {
	return reassign(st, to, actor, now, func(t *turn) {
		id.ResourceID, id.Pinned = to.ID, true
		t.identities.put(IdentityKey{id.Source, id.ExternalID}, id)
	})
}

// MergeResources makes every identity of one resource the other's, and lets all
// its sessions claim their places there as Remap does: those of the other keep
// what they hold. A session of both claims once. The merged resource keeps its
// row, which its past claims name; later deliveries follow the identities. st
// must hold all identities of the resource besides what Remap needs.
func MergeResources(st *State, from uuid.UUID, into Resource, actor Actor, now time.Time) Changes {
	return reassign(st, into, actor, now, func(t *turn) {
		for key, id := range st.Identities {
			if id.ResourceID == from {
				id.ResourceID = into.ID
				t.identities.put(key, id)
			}
		}
	})
}

// SplitIdentity gives an identity that is known to another resource, by hand. An
// e-mail takes along what providers' names mean only because of it; a name that
// somebody mapped stays. st must hold what MergeResources needs.
func SplitIdentity(st *State, key IdentityKey, to Resource, actor Actor, now time.Time) Changes {
	return reassign(st, to, actor, now, func(t *turn) {
		for k, id := range Leaving(st, key) {
			id.ResourceID, id.Pinned = to.ID, id.Pinned || k == key
			t.identities.put(k, id)
		}
	})
}

// Leaving are the identities that leave a resource with one of them.
func Leaving(st *State, key IdentityKey) map[IdentityKey]Identity {
	first := st.Identities[key]
	out := map[IdentityKey]Identity{key: first}
	for k, id := range st.Identities {
		if key.Source == (Source{}) && id.ResourceID == first.ResourceID && id.Email == key.ExternalID && !id.Pinned {
			out[k] = id
		}
	}
	return out
}

// reassign changes identities and settles the sessions whose hosts are other
// resources by that.
func reassign(st *State, to Resource, actor Actor, now time.Time, change func(t *turn)) Changes {
	t := newDecision(st, actor, now)
	w := t.work
	before := map[uuid.UUID][]uuid.UUID{}
	for id, s := range st.Sessions {
		before[id] = w.resourcesOf(&s)
	}
	if _, ok := w.resources.get(to.ID); !ok {
		w.resources.put(to.ID, to)
		t.learnEmail(to)
	}
	change(t)
	for id, s := range st.Sessions {
		if !slices.Equal(before[id], w.resourcesOf(&s)) {
			t.touch(id)
		}
	}
	t.settle()
	t.writeTransitions()
	w.keep()
	return w.changes(nil)
}

// learnEmail maps the e-mail that a new resource was made for, so that it is
// found by it whatever becomes of the resource.
func (t *turn) learnEmail(r Resource) {
	email := NormalizeEmail(r.Name)
	if ResourceIDByEmail(email) != r.ID {
		return
	}
	key := IdentityKey{ExternalID: email}
	if _, ok := t.identities.get(key); !ok {
		t.identities.put(key, Identity{ExternalID: email, Email: email, ResourceID: r.ID})
	}
}

// resourcesOf are what a session's hosts map to, in order.
func (w *work) resourcesOf(s *Session) []uuid.UUID {
	var out []uuid.UUID
	for _, h := range s.EffectiveHosts() {
		if id, ok := w.resource(s.Source, h); ok {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(out)
}
