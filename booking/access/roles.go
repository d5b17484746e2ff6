package access

import (
	"slices"

	"github.com/google/uuid"

	"slotkeeper/booking"
)

// Role of a user. Each includes the ones before it.
type Role string

// The roles (DESIGN §9).
const (
	Viewer        Role = "viewer"
	Operator      Role = "operator"
	Administrator Role = "administrator"
)

// Roles are all roles, weakest first.
func Roles() []Role { return []Role{Viewer, Operator, Administrator} }

// Scope of an API token: a role under the name that tokens use.
type Scope string

// The scopes.
const (
	Read    Scope = "read"
	Operate Scope = "operate"
	Admin   Scope = "admin"
)

// Scopes are all scopes, weakest first: each is the role at the same place.
func Scopes() []Scope { return []Scope{Read, Operate, Admin} }

// Role that a scope stands for; "" for none, which may do nothing.
func (s Scope) Role() Role {
	if i := slices.Index(Scopes(), s); i >= 0 {
		return Roles()[i]
	}
	return ""
}

// Action is something that not everybody may do.
type Action string

// The actions. View is what shows bookings, as far as the principal's scope goes:
// calendar, bookings, conflicts, audit, resources. ViewAll is what tells of the
// whole installation, whichever resources it is about: deliveries and connections.
// Neither shows a secret.
const (
	View    Action = "view"
	ViewAll Action = "view_all"
	// ManageSelf is one's own profile, password and sessions.
	ManageSelf        Action = "manage_self"
	ScrapeMetrics     Action = "scrape_metrics"
	MapResources      Action = "map_resources"
	ActAtProvider     Action = "act_at_provider"
	AcceptOverlaps    Action = "accept_overlaps"
	SyncConnections   Action = "sync_connections"
	ReplayDeliveries  Action = "replay_deliveries"
	ReadRawBodies     Action = "read_raw_bodies"
	ReadForms         Action = "read_forms"
	ExportAudit       Action = "export_audit"
	ReadAdminLog      Action = "read_admin_log"
	ManageConnections Action = "manage_connections"
	ManageAccounts    Action = "manage_accounts"
	ErasePeople       Action = "erase_people"
)

// rule is what an action takes.
type rule struct {
	weakest Role
	// whole is refused to who is limited to some resources: it cannot be narrowed.
	whole bool
	// open is refused to who does not see names or phone numbers: it cannot be masked.
	open bool
}

// needs is the one table of who may do what. What is not listed nobody may.
var needs = map[Action]rule{
	View:              {weakest: Viewer},
	ViewAll:           {weakest: Viewer, whole: true},
	ManageSelf:        {weakest: Viewer},
	ScrapeMetrics:     {weakest: Viewer, whole: true},
	MapResources:      {weakest: Operator, whole: true},
	ActAtProvider:     {weakest: Operator, whole: true},
	AcceptOverlaps:    {weakest: Operator, whole: true},
	SyncConnections:   {weakest: Operator, whole: true},
	ReplayDeliveries:  {weakest: Operator, whole: true},
	ReadRawBodies:     {weakest: Operator, whole: true, open: true},
	ReadForms:         {weakest: Operator, whole: true, open: true},
	ExportAudit:       {weakest: Operator},
	ReadAdminLog:      {weakest: Operator, whole: true},
	ManageConnections: {weakest: Administrator, whole: true},
	ManageAccounts:    {weakest: Administrator, whole: true},
	ErasePeople:       {weakest: Administrator, whole: true},
}

// Principal is who asks: a signed-in user or an API token.
type Principal struct {
	ID    uuid.UUID
	Name  string
	Role  Role
	Token bool
	// Scope is how much of the bookings it sees. Only viewers among the users are
	// limited to resources; a token, which an administrator makes, never is. What is
	// hidden from a role is hidden from its tokens too.
	Scope booking.Scope
}

// May tells whether the principal may do it. Pages and API ask the same.
func (p Principal) May(action Action) bool {
	r, known := needs[action]
	have := slices.Index(Roles(), p.Role)
	if !known || have < 0 || have < slices.Index(Roles(), r.weakest) {
		return false
	}
	if r.whole && p.Scope.Limited {
		return false
	}
	return !r.open || !p.Scope.Hides()
}

// Actor is how transitions and the admin log name the principal.
func (p Principal) Actor() booking.Actor {
	if p.Token {
		return booking.Actor("token:" + p.ID.String())
	}
	return booking.Actor("user:" + p.ID.String())
}
