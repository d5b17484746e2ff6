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

// The actions. View is every page and list: calendar, bookings, audit,
// deliveries, connections and resources, none of which shows a secret.
const (
	View              Action = "view"
	ScrapeMetrics     Action = "scrape_metrics"
	MapResources      Action = "map_resources"
	ActAtProvider     Action = "act_at_provider"
	AcceptOverlaps    Action = "accept_overlaps"
	SyncConnections   Action = "sync_connections"
	ReadRawBodies     Action = "read_raw_bodies"
	ExportAudit       Action = "export_audit"
	ReadAdminLog      Action = "read_admin_log"
	ManageConnections Action = "manage_connections"
	ManageAccounts    Action = "manage_accounts"
)

// needs is the one table of who may do what: the weakest role for each action.
// What is not listed nobody may.
var needs = map[Action]Role{
	View:              Viewer,
	ScrapeMetrics:     Viewer,
	MapResources:      Operator,
	ActAtProvider:     Operator,
	AcceptOverlaps:    Operator,
	SyncConnections:   Operator,
	ReadRawBodies:     Operator,
	ExportAudit:       Operator,
	ReadAdminLog:      Operator,
	ManageConnections: Administrator,
	ManageAccounts:    Administrator,
}

// May tells whether a role is enough for an action. Pages and API ask the same.
func May(role Role, action Action) bool {
	weakest, known := needs[action]
	have := slices.Index(Roles(), role)
	return known && have >= 0 && have >= slices.Index(Roles(), weakest)
}

// Principal is who asks: a signed-in user or an API token.
type Principal struct {
	ID    uuid.UUID
	Name  string
	Role  Role
	Token bool
}

// May tells whether the principal may do it.
func (p Principal) May(action Action) bool { return May(p.Role, action) }

// Actor is how transitions and the admin log name the principal.
func (p Principal) Actor() booking.Actor {
	if p.Token {
		return booking.Actor("token:" + p.ID.String())
	}
	return booking.Actor("user:" + p.ID.String())
}
