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
	CreatedAt      time.Time  `json:"created_at"`
	DisconnectedAt *time.Time `json:"disconnected_at"`
	LastDeliveryAt *time.Time `json:"last_delivery_at"`
}

func (s *server) newConnectionJSON(c providers.Connection) connectionJSON {
	return connectionJSON{
		ID: c.ID, Provider: c.Provider, Name: c.Name, APIBase: c.APIBase, WebhookURL: s.webhookURL(c),
		CreatedAt: c.CreatedAt.UTC(), DisconnectedAt: utc(c.DisconnectedAt), LastDeliveryAt: utc(c.LastDeliveryAt),
	}
}

// webhookURL is where the connection's provider posts to.
func (s *server) webhookURL(c providers.Connection) string {
	return s.PublicURL.JoinPath("webhooks", c.Provider, c.ID.String()).String()
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
