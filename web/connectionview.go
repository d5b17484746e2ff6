package web

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// How a connection's posts come, in a word.
const (
	hookRegistered = "registered"
	hookManual     = "manual"
	hookWaiting    = "waiting" // by hand, and nothing has come yet
	hookLost       = "lost"
)

// connectionView is a connection as pages show it: without its secrets.
type connectionView struct {
	providers.Connection
	State      providers.State
	WebhookURL string
	Account    string // where its API is; "" of one that has none
	Failing    booking.Failing
	Failed     string // the deliveries that Failing counts
	// Since is when it stopped working; nil while it does.
	Since *time.Time
	Hook  string
	// HookState is what is the matter with a lost webhook, HookWrong the same in words;
	// zero where only that it is lost is known.
	HookState providers.HookState
	HookWrong string
	// CanAsk says that its API can be asked.
	CanAsk bool
	// Deaf says that its provider's posts cannot come in: our public address leads
	// nowhere that it reaches.
	Deaf bool
	// Hosts are who can be booked in it; how many of them are mapped to how many
	// resources, and to none.
	Hosts               []hostView
	Resources, Unmapped int
	// Compared is the last reconcile that ended well, Uncompared the last of all when
	// it failed; nil for none. Runs are what is under way.
	Compared, Uncompared *booking.Run
	Runs                 []runView
	Link                 string
	// Calendar shows its bookings; "" where it would show another account's with them.
	Calendar string

	// What the viewer may do about it.
	MaySync   bool
	MayManage bool
	// Again is where it is connected again; "" for whoever may not.
	Again string
	// SignedIn says that it was connected by signing in at its provider, SignIn that
	// the viewer may do that again, without a form. A list of connections does not know.
	SignedIn, SignIn bool
}

// Cure is what a connection that does not work needs, in a word.
func (v connectionView) Cure() string {
	switch {
	case !v.Down():
		return ""
	case v.KeyDead():
		return "signin"
	case v.Hook == hookLost && v.Undelivered():
		return "undelivered"
	case v.Hook == hookLost:
		return "hook"
	}
	return "wait"
}

// Undelivered tells whether all is well there, but posts do not get through.
func (v connectionView) Undelivered() bool { return v.HookState.Trouble == providers.HookFailing }

// KeyDead tells whether its provider takes the key or token no more, so that nothing
// can be asked of it.
func (v connectionView) KeyDead() bool { return v.State == providers.StateNeedsSignIn }

// CureTells tells whether what it needs says already why it fails: the reason is not
// given twice.
func (v connectionView) CureTells() bool {
	cause, _ := account.CauseIn(v.Health.Failure)
	return v.KeyDead() && cause == account.CauseCredentials
}

// Busy tells whether something is under way that the page should follow.
func (v connectionView) Busy() bool { return len(v.Runs) > 0 || v.Waiting() }

// Importing tells whether its bookings are being brought in.
func (v connectionView) Importing() bool {
	return slices.ContainsFunc(v.Runs, runView.Importing)
}

// Down tells whether it does not do what it is there for.
func (v connectionView) Down() bool { return down(v.State) }

// Waiting tells whether its first post is still to come.
func (v connectionView) Waiting() bool { return v.Hook == hookWaiting && v.DisconnectedAt == nil }

func (s *server) newConnectionView(ctx context.Context, c providers.Connection, open []booking.Run, who viewer) (connectionView, error) {
	signedIn := c.API.Refresh != "" && c.Provider != acuity && s.Connect.Authorizable(c.Provider) // Acuity needs its key besides
	// What is secret does not come near a template.
	c.Secrets, c.API = providers.Secrets{}, providers.Credentials{}
	v := connectionView{
		Connection: c, State: c.State(s.Now()), WebhookURL: s.webhookURL(c), Since: c.DownSince(), Hook: hookOf(c),
		CanAsk: c.DisconnectedAt == nil && c.Owner.ExternalID != "" && s.reaches(c.Provider), Link: connectionLink(c.ID),
		MaySync: who.may(access.SyncConnections), MayManage: who.may(access.ManageConnections),
	}
	if v.MayManage && c.Provider != generic {
		v.Again, v.SignIn = againLink(c), signedIn
	}
	if v.Hook == hookLost {
		v.HookState = providers.HookStateIn(c.Health.Failure, s.hookKinds(c.Provider))
		v.HookWrong = who.language.hookWrong(v.HookState, c.Provider)
	}
	v.SignedIn, v.Deaf = signedIn, c.DisconnectedAt == nil && c.Provider != generic && reachOf(s.PublicURL) != reachPublic
	if c.APIBase != c.ID.String() {
		v.Account = c.APIBase
	}
	v.Runs = s.runViews(c, slices.DeleteFunc(slices.Clone(open), func(r booking.Run) bool { return r.ConnectionID != c.ID }), who)
	if c.DisconnectedAt == nil {
		var err error
		if v.Failing, err = s.Records.Failing(ctx, c.ID); err != nil {
			return v, err
		}
		v.Failed = deliveriesQuery{Connection: c.ID.String(), Status: string(v.Failing.Newest), Period: periodAll}.Link()
	}
	return v, nil
}

func connectionLink(id uuid.UUID) string { return "/connections/" + id.String() }

// hookKinds are the events that a provider's webhooks are for.
func (s *server) hookKinds(provider string) []providers.HookKind {
	if p, ok := s.Providers[provider].(providers.Account); ok {
		return p.HookKinds()
	}
	return nil
}

func hookOf(c providers.Connection) string {
	switch {
	case c.Health.HookLostAt != nil:
		return hookLost
	case c.Subscription == providers.Registered:
		return hookRegistered
	case c.LastDeliveryAt == nil:
		return hookWaiting
	}
	return hookManual
}

// lastReconcile is the newest that ended well.
func lastReconcile(runs []booking.Run) *booking.Run {
	i := slices.IndexFunc(runs, func(r booking.Run) bool { return r.Kind == booking.RunReconcile && r.Status == booking.RunDone })
	if i < 0 {
		return nil
	}
	return &runs[i]
}

// compared sets how the newest comparisons ended.
func (v *connectionView) compared(runs []booking.Run) {
	v.Compared = lastReconcile(runs)
	i := slices.IndexFunc(runs, func(r booking.Run) bool {
		return r.Kind == booking.RunReconcile && (r.Status == booking.RunDone || r.Status == booking.RunFailed)
	})
	if i >= 0 && runs[i].Status == booking.RunFailed {
		v.Uncompared = &runs[i]
	}
}

// down tells whether a connection does not do what it is there for.
func down(state providers.State) bool {
	return state == providers.StateFailing || state == providers.StateNeedsSignIn
}

// downConnection is what every page may warn of.
type downConnection struct {
	Provider string
	Name     string
	State    providers.State
	Since    *time.Time
	// OnlyHook says that its posts alone are missing: bookings come late, not never.
	OnlyHook bool
	Link     string
	// Again is where it is connected again; "" when that does not help, or the
	// viewer may not.
	Again string
}

// downConnections are those that do not work now. An account that is away must
// never look like an empty calendar.
func (s *server) downConnections(ctx context.Context, who viewer) ([]downConnection, error) {
	all, err := booking.Everything(ctx, s.Records.Connections)
	if err != nil {
		return nil, err
	}
	var out []downConnection
	for _, c := range all {
		if down(c.State(s.Now())) {
			out = append(out, downOf(c, s.Now(), who))
		}
	}
	return out, nil
}

// downOf is a connection that is down, with what the viewer may do about it.
func downOf(c providers.Connection, now time.Time, who viewer) downConnection {
	d := downConnection{Provider: c.Provider, Name: c.Name, State: c.State(now), Since: c.DownSince(), OnlyHook: c.OnlyHookLost()}
	if who.may(access.ViewAll) {
		d.Link = connectionLink(c.ID) // its page tells of other resources, too
	}
	if d.State == providers.StateNeedsSignIn && who.may(access.ManageConnections) {
		d.Again = againLink(c)
	}
	return d
}

func againLink(c providers.Connection) string {
	return "/connections/new/" + c.Provider + "?id=" + c.ID.String()
}
