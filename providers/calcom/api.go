package calcom

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"slotkeeper/providers"
)

// The versions of the resources that we read. Another one, or none, is answered
// with another shape and no error.
const (
	versionHeader     = "Cal-Api-Version"
	bookingsVersion   = "2024-08-13"
	eventTypesVersion = "2024-06-14"
)

// The most that we read of an answer: of a page of bookings, each with its
// attendees and their answers to the form, and of anything else.
const (
	maxPage   = 16 << 20
	maxAnswer = 4 << 20
)

// What Cal.com allows an API key.
const (
	allowed = 120
	per     = time.Minute
)

var errNoCredentials = fmt.Errorf("%w: make an API key in Cal.com under Settings, Developer, API keys", providers.ErrNoCredentials)

// request is one to the API.
type request struct {
	method, path, version string
	json                  any
	repeatable            bool
	limit                 int64 // 0 for maxAnswer
}

// send returns the answer with its envelope, whose data is what was asked for.
func send(ctx context.Context, client *http.Client, c providers.Connection, r request) (providers.Value, error) {
	if c.API.Token == "" {
		return providers.Value{}, errNoCredentials
	}
	header := http.Header{}
	header.Set("Authorization", "Bearer "+c.API.Token)
	header.Set(versionHeader, r.version)
	if r.limit == 0 {
		r.limit = maxAnswer
	}
	answer, _, err := providers.Call{
		Method: r.method, URL: c.APIBase + r.path, Header: header, JSON: r.json, MaxAnswer: r.limit,
		Limit:   providers.Limit{Who: c.API.Token, Requests: allowed, Per: per},
		Secrets: []string{c.API.Token, c.Secrets.Current, c.Secrets.Previous, c.Secrets.Older}, Repeatable: r.repeatable,
	}.Do(ctx, client)
	if err != nil {
		return providers.Value{}, err
	}
	if r.method != http.MethodDelete && !answer.Get("data").Present() {
		return providers.Value{}, providers.BadAnswer("it has no data")
	}
	return answer, nil
}

func get(ctx context.Context, client *http.Client, c providers.Connection, path, version string) (providers.Value, error) {
	return send(ctx, client, c, request{method: http.MethodGet, path: path, version: version})
}

// status of an API's refusal; 0 of any other error.
func status(err error) int {
	var later *providers.LaterError
	var answer *providers.AnswerError
	if errors.As(err, &later) || !errors.As(err, &answer) {
		return 0
	}
	return answer.Status
}
