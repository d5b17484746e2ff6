package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// MapIdentity maps a provider's identity to a resource, made when there is none,
// and lets its sessions claim their places there in the same transaction. Where
// the resource was merged it is the one that it is now; that one comes back, with
// what the mapping did.
//
//nolint:contextcheck // what Remap does in memory is not to be broken off
func (s *Store) MapIdentity(
	ctx context.Context, by access.By, id booking.Identity, to booking.Resource, now time.Time,
) (booking.Resource, booking.Impact, error) {
	var impact booking.Impact
	if to.NameGiven {
		var err error
		if to.Name, err = givenName(to.Name); err != nil {
			return to, impact, err
		}
	}
	err := s.inTrips(ctx, func(tx *transaction) (err error) {
		r := reassignment{loader: s.loader(tx), by: by, now: now, did: access.DidMapIdentity}
		if err := r.begin(); err != nil {
			return err
		}
		if to, err = r.target(to); err != nil {
			return err
		}
		key := booking.IdentityKey{Source: id.Source, ExternalID: id.ExternalID}
		r.names.add(id.ExternalID)
		if err := r.load(to, key); err != nil {
			return err
		}
		if known, ok := r.st.Identities[key]; ok {
			id.Email = known.Email
		}
		r.subject, r.detail = to.ID, identityDetail(key)
		impact, err = r.save(booking.Remap(r.st, id, to, by.Actor, now))
		return err
	})
	return to, impact, err
}

// PreviewMerge tells what merging one resource into another would do, and
// changes nothing.
func (s *Store) PreviewMerge(ctx context.Context, from, into uuid.UUID, now time.Time) (booking.Impact, error) {
	return s.mergeResources(ctx, access.By{}, from, into, now, func(r *reassignment, ch booking.Changes) (booking.Impact, error) {
		return booking.ImpactOf(r.st, ch), nil
	})
}

// MergeResources makes one resource another in one transaction: identities,
// sessions and claims. agreed is the mark of the impact that a person saw; where
// it would be another by now, nothing is done and the error is
// booking.ErrImpactChanged. "" agrees to any.
//
//nolint:contextcheck // trips have the transaction's
func (s *Store) MergeResources(ctx context.Context, by access.By, from, into uuid.UUID, agreed string, now time.Time) (booking.Impact, error) {
	return s.mergeResources(ctx, by, from, into, now, func(r *reassignment, ch booking.Changes) (booking.Impact, error) {
		if impact := booking.ImpactOf(r.st, ch); agreed != "" && impact.Mark() != agreed {
			return impact, booking.ErrImpactChanged
		}
		if err := r.tx.Exec("UPDATE resources SET merged_into = ? WHERE id = ?", into, from).Error; err != nil {
			return booking.Impact{}, err
		}
		return r.save(ch)
	})
}

//nolint:contextcheck // what the domain does in memory is not to be broken off
func (s *Store) mergeResources(
	ctx context.Context, by access.By, from, into uuid.UUID, now time.Time,
	finish func(*reassignment, booking.Changes) (booking.Impact, error),
) (impact booking.Impact, err error) {
	err = s.inTrips(ctx, func(tx *transaction) error {
		r := reassignment{
			loader: s.loader(tx), by: by, now: now, did: access.DidMergeResource, subject: from, detail: access.Facts{"into": into.String()},
		}
		if err := r.begin(); err != nil {
			return err
		}
		if _, err := r.standing(from, "from"); err != nil {
			return err
		}
		to, err := r.standing(into, "into")
		if err != nil {
			return err
		}
		if from == into {
			return &booking.InvalidError{Field: "into", Detail: "a resource cannot be merged into itself"}
		}
		if err := r.identitiesOf(from); err != nil {
			return err
		}
		if err := r.load(to, slices.Collect(maps.Keys(r.st.Identities))...); err != nil {
			return err
		}
		impact, err = finish(&r, booking.MergeResources(r.st, from, to, by.Actor, now))
		return err
	})
	return impact, err
}

// SplitIdentity gives an identity that has a resource to another, which is made
// when there is none, and lets its sessions claim their places there. The only
// identity of a resource cannot leave it for a new one.
//
//nolint:contextcheck // what the domain does in memory is not to be broken off
func (s *Store) SplitIdentity(
	ctx context.Context, by access.By, key booking.IdentityKey, to booking.Resource, now time.Time,
) (impact booking.Impact, err error) {
	if to.NameGiven {
		if to.Name, err = givenName(to.Name); err != nil {
			return impact, err
		}
	}
	err = s.inTrips(ctx, func(tx *transaction) error {
		r := reassignment{loader: s.loader(tx), by: by, now: now, did: access.DidSplitIdentity, detail: identityDetail(key)}
		if err := r.begin(); err != nil {
			return err
		}
		r.names.add(key.ExternalID)
		if err := r.rest(); err != nil {
			return err
		}
		first, ok := r.st.Identities[key]
		if !ok || first.ResourceID == uuid.Nil {
			return &booking.InvalidError{Field: "identity", Detail: "no such identity has a resource: see resources list"}
		}
		if first.ResourceID == to.ID {
			return &booking.InvalidError{Field: "identity", Detail: "it is of that resource already"}
		}
		if err := r.identitiesOf(first.ResourceID); err != nil {
			return err
		}
		leaving := booking.Leaving(r.st, key)
		known, err := r.resource(to.ID)
		switch {
		case err != nil:
			return err
		case known != nil:
			if to, err = r.standing(to.ID, "resource"); err != nil {
				return err
			}
		case len(leaving) == r.count(first.ResourceID):
			return &booking.InvalidError{Field: "identity", Detail: "the resource has no other identity: rename it instead"}
		}
		r.subject, r.detail["resource"] = first.ResourceID, to.ID.String()
		if err := r.load(to, slices.Collect(maps.Keys(leaving))...); err != nil {
			return err
		}
		impact, err = r.save(booking.SplitIdentity(r.st, key, to, by.Actor, now))
		return err
	})
	return impact, err
}

// reassignment is a change of what identities mean, in its transaction.
type reassignment struct {
	*loader
	by      access.By
	now     time.Time
	did     string
	subject uuid.UUID
	detail  access.Facts
}

func (r *reassignment) begin() (err error) {
	r.st.Ledger, err = lockLedger(r.tx)
	return err
}

// resource is one as it stands; nil when there is none.
func (r *reassignment) resource(id uuid.UUID) (*resourceViewRow, error) { return resourceIn(r.tx, id) }

func resourceIn(tx *transaction, id uuid.UUID) (*resourceViewRow, error) {
	t := tx.trip()
	rows := read[resourceViewRow](t, "WHERE id = any(?)", []uuid.UUID{id})
	if err := t.make(); err != nil || len(*rows) == 0 {
		return nil, err
	}
	return &(*rows)[0], nil
}

// standing is a resource that is there and was not merged into another.
func (r *reassignment) standing(id uuid.UUID, field string) (booking.Resource, error) {
	return standingIn(r.tx, id, field)
}

func standingIn(tx *transaction, id uuid.UUID, field string) (booking.Resource, error) {
	row, err := resourceIn(tx, id)
	switch {
	case err != nil:
		return booking.Resource{}, err
	case row == nil:
		return booking.Resource{}, &booking.InvalidError{Field: field, Detail: "there is no resource " + id.String() + ": see resources list"}
	case row.MergedInto != nil:
		return booking.Resource{}, &booking.InvalidError{Field: field, Detail: "resource " + id.String() + " was merged into " + row.MergedInto.String()}
	}
	return row.resource(), nil
}

// target is what a resource to map to is now: the one that its e-mail means, if
// it is one by e-mail, or that it was merged into.
func (r *reassignment) target(to booking.Resource) (booking.Resource, error) {
	if email := booking.NormalizeEmail(to.Name); booking.ResourceIDByEmail(email) == to.ID {
		r.names.add(email)
		if err := r.rest(); err != nil {
			return to, err
		}
		if i, ok := r.st.Identities[booking.IdentityKey{ExternalID: email}]; ok && i.ResourceID != uuid.Nil {
			to.ID = i.ResourceID
		}
	}
	for {
		row, err := r.resource(to.ID)
		if err != nil || row == nil {
			return to, err
		}
		if row.MergedInto == nil {
			return row.resource(), nil
		}
		to.ID = *row.MergedInto
	}
}

// identitiesOf reads all identities of a resource.
func (r *reassignment) identitiesOf(resource uuid.UUID) error {
	t := r.tx.trip()
	found := r.askIdentities(t, "WHERE resource_id = any(?)", []uuid.UUID{resource})
	if err := t.make(); err != nil {
		return err
	}
	return found()
}

func (r *reassignment) count(resource uuid.UUID) int {
	n := 0
	for _, i := range r.st.Identities {
		if i.ResourceID == resource {
			n++
		}
	}
	return n
}

// load reads the sessions of the hosts that the identities name, and what is
// around the places that they have and get.
func (r *reassignment) load(to booking.Resource, keys ...booking.IdentityKey) error {
	var emails []string
	for _, key := range keys {
		r.mapped[key] = to.ID
		if key.Source == (booking.Source{}) {
			emails = append(emails, key.ExternalID)
		} else {
			r.hosting.add(key.ExternalID)
		}
	}
	if len(emails) > 0 {
		t := r.tx.trip()
		rows := read[sessionHostRow](t, "WHERE email = any(?) AND email <> ''", emails)
		if err := t.make(); err != nil {
			return err
		}
		for _, row := range *rows {
			r.meetings.add(row.SessionID)
		}
	}
	if err := r.rest(); err != nil {
		return err
	}
	return r.surroundings()
}

// save writes the changes and who made them.
func (r *reassignment) save(ch booking.Changes) (booking.Impact, error) {
	if err := r.Store.save(r.tx, r.st, ch, nil, r.now); err != nil {
		return booking.Impact{}, err
	}
	return booking.ImpactOf(r.st, ch), appendAdminLog(r.tx.DB, access.Entry{
		At: r.now, Actor: r.by.Actor, Action: r.did, Subject: resourceSubject(r.subject), Detail: r.detail, Remote: r.by.Remote,
	})
}

func resourceSubject(id uuid.UUID) string { return "resource:" + id.String() }

// identityDetail names an identity, unless its name is an e-mail: what is in the
// log cannot be erased.
func identityDetail(key booking.IdentityKey) access.Facts {
	out := access.Facts{}
	if key.Source.Provider != "" {
		out["provider"] = key.Source.Provider
	}
	if !strings.Contains(key.ExternalID, "@") {
		out["identity"] = key.ExternalID
	}
	return out
}
