package calendly

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"slotkeeper/providers"
)

// The most that is read of an answer with one thing, and of one with a page of
// them.
const (
	maxResource   = 1 << 20
	maxCollection = 8 << 20
)

// perMinute is what a user on a paid plan may ask. A free one may ask 50, which
// nothing but its answers tells: 429 then says how long to wait.
const perMinute = 500

const (
	// perPage is the most that the API gives at once.
	perPage = 100
	// maxPages ends a list that never does.
	maxPages = 1000
)

// What may stand in a URL that our token is sent to: a body or an answer must not
// send it anywhere else.
var (
	eventPath        = regexp.MustCompile(`^/scheduled_events/[A-Za-z0-9_-]{1,64}$`)
	inviteePath      = regexp.MustCompile(`^/scheduled_events/[A-Za-z0-9_-]{1,64}/invitees/[A-Za-z0-9_-]{1,64}$`)
	userPath         = regexp.MustCompile(`^/users/[A-Za-z0-9_-]{1,64}$`)
	organizationPath = regexp.MustCompile(`^/organizations/[A-Za-z0-9_-]{1,64}$`)
	hookPath         = regexp.MustCompile(`^/webhook_subscriptions/[A-Za-z0-9_-]{1,64}$`)
)

var errNoToken = errors.New("the connection has no API token; it is made in Calendly under Integrations & apps, API and webhooks")

// api asks a connection's API, and counts how often.
type api struct {
	client     *http.Client
	connection providers.Connection
	requests   int
}

// call sends a request; body nil is none. repeatable says of a POST that sending it
// twice does no harm.
func (a *api) call(ctx context.Context, method, path string, query url.Values, body any, limit int64, repeatable bool) (providers.Value, error) {
	c := a.connection
	if c.API.Token == "" {
		return providers.Value{}, errNoToken
	}
	address := c.APIBase + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	// Calendly counts by user. An OAuth token changes every two hours, its user
	// does not.
	who := c.Owner.ExternalID
	if who == "" {
		who = c.API.Token
	}
	a.requests++
	answer, _, err := providers.Call{
		Method: method, URL: address, JSON: body, MaxAnswer: limit,
		Header:  http.Header{"Authorization": {"Bearer " + c.API.Token}},
		Limit:   providers.Limit{Who: who, Requests: perMinute, Per: time.Minute},
		Secrets: []string{c.API.Token, c.API.Refresh, c.Secrets.Current, c.Secrets.Previous, c.Secrets.Older}, Repeatable: repeatable,
	}.Do(ctx, a.client)
	return answer, err
}

// resource reads the thing of that path, and makes sure that the answer is about
// it.
func (a *api) resource(ctx context.Context, wanted string) (providers.Value, error) {
	answer, err := a.call(ctx, http.MethodGet, wanted, nil, nil, maxResource, true)
	if err != nil {
		return providers.Value{}, err
	}
	found := answer.Get("resource")
	if identity(found.Get("uri")) != wanted {
		return providers.Value{}, providers.BadAnswer("it is not about what was asked for")
	}
	return found, nil
}

// page reads a page of a list and the token of the next one, "" after the last.
func (a *api) page(ctx context.Context, path string, query url.Values, token string) (list providers.Value, next string, err error) {
	asked := url.Values{"count": {strconv.Itoa(perPage)}}
	for name, values := range query {
		asked[name] = values
	}
	if token != "" {
		asked.Set("page_token", token)
	}
	answer, err := a.call(ctx, http.MethodGet, path, asked, nil, maxCollection, true)
	if err != nil {
		return providers.Value{}, "", err
	}
	list = answer.Get("collection")
	if !list.Array() {
		return providers.Value{}, "", providers.BadAnswer("it has no collection")
	}
	next = answer.Get("pagination", "next_page_token").Text()
	if next != "" && next == token {
		return providers.Value{}, "", providers.BadAnswer("its next page is itself")
	}
	return list, next, nil
}

// each gives all things of a list, to its last page.
func (a *api) each(ctx context.Context, path string, query url.Values, take func(providers.Value)) error {
	token := ""
	for range maxPages {
		list, next, err := a.page(ctx, path, query, token)
		if err != nil {
			return err
		}
		for v := range list.Items() {
			take(v)
		}
		if next == "" {
			return nil
		}
		token = next
	}
	return providers.BadAnswer("its list does not end")
}

// identity is the path inside a URI; "" when it is none.
func identity(v providers.Value) string {
	var in providers.Fields
	return path(&in, v, "uri")
}

// address is the URI that the API takes for a path: its own public host's, wherever
// the API is asked.
func address(path string) string { return apiBase + path }

// forbidden tells whether the API itself said 403, with its message.
func forbidden(err error) (message string, yes bool) {
	var later *providers.LaterError
	var refused *providers.AnswerError
	if errors.As(err, &later) || !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
		return "", false
	}
	return refused.Message, true
}
