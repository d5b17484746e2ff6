package web

import (
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// connectionJSON is a connected account, without its secrets.
type connectionJSON struct {
	ID             uuid.UUID  `json:"id"`
	Provider       string     `json:"provider"`
	Name           string     `json:"name"`
	APIBase        string     `json:"api_base"`
	WebhookURL     string     `json:"webhook_url"`
	State          string     `json:"state" enum:"working,quiet,failing,needs_sign_in,disconnected"`
	Owner          *ownerJSON `json:"owner" doc:"Whose account it is; null until its API was asked"`
	Subscription   *string    `json:"subscription" enum:"registered,manual" doc:"How its posts come: by a webhook that was registered through the API, or by one that a person enters; null when nobody said"`
	Health         healthJSON `json:"health"`
	KeepForms      bool       `json:"keep_forms" doc:"Whether intake forms and notes of its bookings are kept; they are shown on pages only"`
	CreatedAt      time.Time  `json:"created_at"`
	DisconnectedAt *time.Time `json:"disconnected_at"`
	LastDeliveryAt *time.Time `json:"last_delivery_at"`
}

type ownerJSON struct {
	Name         string  `json:"name"`
	Email        *string `json:"email"`
	Organization *string `json:"organization"`
}

// healthJSON is how calls to the account's API fare.
type healthJSON struct {
	CheckedAt    *time.Time `json:"checked_at"`
	SucceededAt  *time.Time `json:"succeeded_at"`
	NextCheckAt  *time.Time `json:"next_check_at"`
	DownSince    *time.Time `json:"down_since" doc:"Null while it works"`
	Failures     int        `json:"failures" doc:"In a row"`
	LastError    *string    `json:"last_error"`
	HookLostAt   *time.Time `json:"webhook_lost_at" doc:"When our webhook was found gone, switched off or narrowed and could not be made anew, or since when the provider cannot deliver to it; last_error says which"`
	ImportedFrom *time.Time `json:"imported_from" doc:"The day from which its bookings were brought in"`
}

func (s *server) newConnectionJSON(c providers.Connection) connectionJSON {
	out := connectionJSON{
		ID: c.ID, Provider: c.Provider, Name: c.Name, APIBase: c.APIBase, WebhookURL: s.webhookURL(c),
		State: string(c.State(s.Now())), Subscription: orNull(string(c.Subscription)),
		Health: healthJSON{
			CheckedAt: utc(c.Health.CheckedAt), SucceededAt: utc(c.Health.SucceededAt), NextCheckAt: utc(c.Health.NextCheckAt),
			DownSince: utc(c.DownSince()), Failures: c.Health.Failures, LastError: orNull(c.Health.Failure), HookLostAt: utc(c.Health.HookLostAt), ImportedFrom: utc(c.ReadFrom),
		},
		KeepForms: c.KeepForms, CreatedAt: c.CreatedAt.UTC(), DisconnectedAt: utc(c.DisconnectedAt), LastDeliveryAt: utc(c.LastDeliveryAt),
	}
	if c.Owner.ExternalID != "" {
		out.Owner = &ownerJSON{Name: c.Owner.Name, Email: orNull(c.Owner.Email), Organization: orNull(c.Owner.Organization)}
	}
	return out
}

// webhookURL is where the connection's provider posts to.
func (s *server) webhookURL(c providers.Connection) string {
	return c.WebhookURL(s.PublicURL)
}

// resourceJSON is what can be booked once at a time, with the providers' names
// for it.
type resourceJSON struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"`
	Timezone   *string        `json:"timezone"`
	Identities []identityJSON `json:"identities" nullable:"false"`
}

type identityJSON struct {
	Provider   *string `json:"provider" doc:"Null for an e-mail, which holds for all"`
	APIBase    *string `json:"api_base"`
	ExternalID string  `json:"external_id"`
	Email      *string `json:"email"`
	Pinned     bool    `json:"pinned" doc:"A person mapped it"`
}

func newResourceJSON(v booking.ResourceView) resourceJSON {
	out := resourceJSON{
		ID: v.ID, Name: v.Name, Timezone: orNull(v.Timezone), Identities: make([]identityJSON, len(v.Identities)),
	}
	for i, id := range v.Identities {
		out.Identities[i] = identityJSON{
			Provider: orNull(id.Source.Provider), APIBase: orNull(id.Source.Base),
			ExternalID: id.ExternalID, Email: orNull(id.Email), Pinned: id.Pinned,
		}
	}
	return out
}

type connectionsInput struct {
	Paging
	SourceFilter
}

func (in *connectionsInput) filter() (f booking.Filter, err error) {
	err = in.into(&f)
	return f, err
}

func (s *server) registerConnections(api huma.API) {
	listing(s, api, "/connections", "list-connections", "Connected accounts, oldest first", (*connectionsInput).filter, s.Records.Connections, s.newConnectionJSON)
	one(s, api, "/connections/{id}", "get-connection", "One connected account", s.Records.Connection, s.newConnectionJSON)
}

type resourcesInput struct {
	Paging
	ResourceFilter
	Provider string `query:"provider" doc:"Only what this provider has a name for"`
}

func (in *resourcesInput) filter() (f booking.Filter, err error) {
	f.Provider = in.Provider
	err = in.into(&f)
	return f, err
}

func (s *server) registerResources(api huma.API) {
	listing(s, api, "/resources", "list-resources", "What can be booked", (*resourcesInput).filter, s.Records.Resources, newResourceJSON)
}
