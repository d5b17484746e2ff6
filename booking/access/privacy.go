package access

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"slotkeeper/booking"
)

// Hidden is what of invitees a role does not see. It holds for the tokens of the
// scope that is the role, too: a token would else be the way around it.
type Hidden struct {
	Names  bool // names and e-mail addresses
	Phones bool
}

func (h Hidden) scope() booking.Scope {
	return booking.Scope{HideNames: h.Names, HidePhones: h.Phones}
}

// RolePrivacy is what a role does not see.
type RolePrivacy struct {
	Role   Role
	Hidden Hidden
}

// HideableRoles are those that something can be hidden from. Administrators could
// undo it, so of them it would only pretend.
func HideableRoles() []Role { return []Role{Viewer, Operator} }

// Privacy is what each role does not see; a role that is not in it sees all.
func (a *Accounts) Privacy(ctx context.Context) (map[Role]Hidden, error) { return a.store.Privacy(ctx) }

// SetPrivacy changes what a role sees, from the next request on.
func (a *Accounts) SetPrivacy(ctx context.Context, by By, p RolePrivacy) error {
	if !slices.Contains(HideableRoles(), p.Role) {
		return &booking.InvalidError{Field: "role", Detail: "something can be hidden from viewers and from operators"}
	}
	detail := Facts{
		"role": string(p.Role), "names": strconv.FormatBool(p.Hidden.Names), "phones": strconv.FormatBool(p.Hidden.Phones),
	}
	return a.store.Apply(ctx, Change{SetPrivacy: &p, Entry: a.entry(by, DidSetPrivacy, "", detail)})
}

// ErrLastAdministrator says that a change would leave nobody who may undo it.
var ErrLastAdministrator = errors.New("the last administrator must stay one and cannot be disabled: add another first")
