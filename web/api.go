package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

const apiPrefix = "/api/v1"

// api mounts the API: each operation below is its handler and its entry in
// /api/v1/openapi.json at once.
func (s *server) api(e *echo.Echo) error {
	config := huma.DefaultConfig("Slotkeeper", s.Version)
	config.OpenAPIPath = apiPrefix + "/openapi"
	config.DocsPath, config.SchemasPath = "", ""
	config.CreateHooks = nil // no $schema fields in answers
	config.RejectUnknownQueryParameters = true
	config.Info.Description = "Read what Slotkeeper knows, and act at providers. Lists are paged: give next_cursor back as cursor until it is null. Errors are problem+json with a stable code."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A token of `slotkeeper token create`."},
	}
	config.Security = []map[string][]string{{"token": {}}}
	config.Transformers = []huma.Transformer{s.ownProblems}

	api := humaecho.New(e, config)
	api.UseMiddleware(s.requireToken)
	s.registerBookings(api)
	s.registerSlots(api)
	s.registerTransitions(api)
	s.registerReceipts(api)
	s.registerReplays(api)
	s.registerConnections(api)
	s.registerResources(api)
	s.registerEffects(api)
	s.registerOverlaps(api)
	return nil
}

// ownProblems gives huma's own errors the form of ours.
func (s *server) ownProblems(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := problemOfHuma(m)
	p.RequestID = requestIDOf(ctx.Context())
	s.logProblem(ctx.Context(), ctx.Operation().Path, p)
	return p, nil
}

// requireToken lets in who holds a token that may do what the operation is about.
func (s *server) requireToken(ctx huma.Context, next func(huma.Context)) {
	c := humaecho.Unwrap(ctx)
	who, err := s.authenticate(c.Request(), routeAction(ctx.Operation().Method, ctx.Operation().Path))
	if err != nil {
		s.handleError(err, c)
		return
	}
	ctx = huma.WithValue(ctx, keyCaller, caller{Principal: who, remote: c.RealIP()})
	next(huma.WithValue(ctx, keyScope, who.Scope))
}

// caller is who calls the API, and from where.
type caller struct {
	access.Principal
	remote string
}

// authenticate says who holds a request's token, and refuses one that is not
// enough for the action.
func (s *server) authenticate(r *http.Request, action access.Action) (access.Principal, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return access.Principal{}, access.ErrBadToken
	}
	who, err := s.Accounts.Authenticate(r.Context(), strings.TrimSpace(token))
	if err != nil {
		return access.Principal{}, err
	}
	if !who.May(action) {
		return access.Principal{}, errNoRole
	}
	return who, nil
}

// operation registers a GET whose handler returns plain errors.
func operation[I, O any](s *server, api huma.API, path, id, summary string, handle func(context.Context, *I) (O, error)) {
	op := s.described(api, http.MethodGet, path, id, summary)
	huma.Register(api, op, func(ctx context.Context, in *I) (*output[O], error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.apiProblem(ctx, path, err)
		}
		return &output[O]{Body: out}, nil
	})
}

// described is an operation whose errors are problems.
func (*server) described(api huma.API, method, path, id, summary string) huma.Operation {
	problem := api.OpenAPI().Components.Schemas.Schema(problemType, true, "Problem")
	return huma.Operation{
		Method: method, Path: apiPrefix + path, OperationID: id, Summary: summary,
		Responses: map[string]*huma.Response{"default": {
			Description: "A problem",
			Content:     map[string]*huma.MediaType{problemJSON: {Schema: problem}},
		}},
	}
}

// pager is a list's input: it embeds Paging.
type pager[I any] interface {
	*I
	page() booking.Page
}

// listing registers a list: the query becomes a filter, a page of records is
// read, and each is shown as programs get it.
func listing[I any, P pager[I], V, T any](
	s *server, api huma.API, path, id, summary string,
	filter func(*I) (booking.Filter, error),
	read func(context.Context, booking.Filter, booking.Page) (booking.List[V], error),
	view func(V) T,
) {
	operation(s, api, path, id, summary, func(ctx context.Context, in *I) (list[T], error) {
		f, err := filter(in)
		if err != nil {
			return list[T]{}, err
		}
		all, err := read(ctx, f, P(in).page())
		return listOf(all, view), err
	})
}

// one registers a single record by its id.
func one[V, T any](s *server, api huma.API, path, id, summary string, read func(context.Context, uuid.UUID) (V, error), view func(V) T) {
	operation(s, api, path, id, summary, func(ctx context.Context, in *PathID) (out T, err error) {
		record, err := in.parse()
		if err != nil {
			return out, err
		}
		v, err := read(ctx, record)
		return view(v), err
	})
}

type output[T any] struct {
	Body T
}

func (s *server) apiProblem(ctx context.Context, route string, err error) error {
	p := problemOf(err)
	p.RequestID = requestIDOf(ctx)
	s.logProblem(ctx, apiPrefix+route, p)
	return p
}

// Paging is what every list takes. Like the filters it is exported for huma.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many items at most"`
	Cursor string `query:"cursor" maxLength:"1000" doc:"next_cursor of the page before"`
}

func (p Paging) page() booking.Page { return booking.Page{Limit: p.Limit, Cursor: p.Cursor} }

// PathID is the id in a path.
type PathID struct {
	ID string `path:"id" doc:"Our id"`
}

// parse takes what is no id for the id of nothing.
func (p PathID) parse() (uuid.UUID, error) { return parseID(p.ID) }

func parseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil, booking.ErrNotFound
	}
	return id, nil
}

// list is a page of a list as programs get it.
type list[T any] struct {
	Items []T     `json:"items" nullable:"false"`
	Next  *string `json:"next_cursor" doc:"Null on the last page"`
}

func listOf[T, V any](in booking.List[V], view func(V) T) list[T] {
	out := list[T]{Items: make([]T, len(in.Items)), Next: orNull(in.Next)}
	for i, v := range in.Items {
		out.Items[i] = view(v)
	}
	return out
}
