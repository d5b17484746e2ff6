package acuity

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"slotkeeper/providers"
)

// The most that we read of an answer.
const (
	maxAppointment = 1 << 20
	maxAccount     = 1 << 20
	maxCalendars   = 4 << 20
	// maxAppointments is of a hundred without their forms, each of a few KiB.
	maxAppointments = 4 << 20
	maxWithForms    = 16 << 20
)

// The API counts requests and connections by the address that they come from,
// whichever account asks.
const (
	perSecond   = 10
	connections = 20
)

// errNoCredentials says what to give a connection.
var errNoCredentials = fmt.Errorf("%w: its user id and API key stand in Acuity under Integrations, API", providers.ErrNoCredentials)

// api asks for one connection, and counts how often.
type api struct {
	client *http.Client
	conn   providers.Connection
	asked  int
}

func newAPI(client *http.Client, c providers.Connection) *api {
	return &api{client: client, conn: c}
}

func (a *api) get(ctx context.Context, path string, query url.Values, limit int64) (providers.Value, error) {
	return a.do(ctx, http.MethodGet, path, query, nil, limit)
}

// list asks for a list, whose members are called what.
func (a *api) list(ctx context.Context, path string, query url.Values, limit int64, what string) ([]providers.Value, error) {
	answer, err := a.get(ctx, path, query, limit)
	if err != nil {
		return nil, err
	}
	if !answer.Array() {
		return nil, providers.BadAnswer("it is not a list of " + what)
	}
	return slices.Collect(answer.Items()), nil
}

func (a *api) do(ctx context.Context, method, path string, query url.Values, body any, limit int64) (providers.Value, error) {
	authorization, err := a.authorization()
	if err != nil {
		return providers.Value{}, err
	}
	address := a.conn.APIBase + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	a.asked++
	answer, _, err := providers.Call{
		Method: method, URL: address, Header: http.Header{"Authorization": {authorization}}, JSON: body, MaxAnswer: limit,
		Limit: providers.Limit{Requests: perSecond, Per: time.Second, Connections: connections},
		Secrets: []string{
			a.conn.Secrets.Current, a.conn.Secrets.Previous, a.conn.Secrets.Older, a.conn.API.Token,
			basic(a.conn), // both in the form in which they are sent
		},
	}.Do(ctx, a.client)
	return answer, err
}

// authorization is the account's token where an app was authorised, else the
// user's id and API key.
func (a *api) authorization() (string, error) {
	switch c := a.conn; {
	case c.API.Token != "":
		return "Bearer " + c.API.Token, nil
	case c.API.User != "" && c.Secrets.Current != "":
		return "Basic " + basic(c), nil
	}
	return "", errNoCredentials
}

// refusedWith tells whether the API itself refused, with one of those statuses.
// What asks to wait is no refusal.
func refusedWith(err error, statuses ...int) (*providers.AnswerError, bool) {
	var later *providers.LaterError
	var answer *providers.AnswerError
	if errors.As(err, &later) || !errors.As(err, &answer) {
		return nil, false
	}
	for _, status := range statuses {
		if answer.Status == status {
			return answer, true
		}
	}
	return nil, false
}

func basic(c providers.Connection) string {
	return base64.StdEncoding.EncodeToString([]byte(c.API.User + ":" + c.Secrets.Current))
}
