package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/auditfile"
)

// adminLogQuery is what the admin log shows; all of it stands in the query string.
type adminLogQuery struct {
	auditPeriod
	Actor  string
	Action string
	Cursor string
}

func readAdminLogQuery(v url.Values) adminLogQuery {
	q := adminLogQuery{auditPeriod: readAuditPeriod(v), Actor: v.Get("actor"), Action: v.Get("action"), Cursor: v.Get("cursor")}
	if !slices.Contains(access.Deeds(), q.Action) {
		q.Action = ""
	}
	return q
}

// adminView is the view of the audit, and the part of its exports, that is this log.
const adminView = "admin"

// Link is the address of this log.
func (q adminLogQuery) Link() string { return q.link("/audit") }

func (q adminLogQuery) link(path string) string {
	v := url.Values{"view": {adminView}}
	q.into(v)
	set(v, "actor", q.Actor)
	set(v, "action", q.Action)
	set(v, "cursor", q.Cursor)
	return path + "?" + v.Encode()
}

// filter is what the query leaves of the log.
func (q adminLogQuery) filter(zone *time.Location, now time.Time) (f access.EntryFilter, err error) {
	f = access.EntryFilter{Actor: booking.Actor(q.Actor), Action: q.Action}
	f.From, f.To, err = q.window(zone, now)
	return f, err
}

// Filtered tells whether more than the period narrows the list.
func (q adminLogQuery) Filtered() bool { return q.Actor != "" || q.Action != "" }

type adminLogView struct {
	Query  adminLogQuery
	Rows   []adminLogRow
	Ranges []string
	Actors []option
	Deeds  []option
	Older  string
	First  string
	// Where the filtered log is exported; "" for who may not.
	CSV, JSONL string

	Clear   string
	Error   string
	BadDays bool // the error is about the days
}

type adminLogRow struct {
	access.LoggedEntry
	Subject subject
	// Before and After are what happened, in one sentence around what it is about;
	// Named tells that the sentence says that.
	Before string
	After  string
	Named  bool
	Facts  []fact
}

// fact is one thing that an entry says, Name a message's key's end.
type fact struct {
	Name  string
	Value string
}

// subject is what an entry is about, with its page where it has one.
type subject struct {
	Name string
	Link string
}

// adminLogPage shows what people, tokens and commands did here: beside the audit
// of bookings, which webhooks make.
func (s *server) adminLogPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	if !who.may(access.ReadAdminLog) {
		return errNoRole
	}
	l := who.language
	v := adminLogView{Query: readAdminLogQuery(c.QueryParams()), Ranges: rangeNames()}
	v.Clear = adminLogQuery{auditPeriod: v.Query.auditPeriod}.Link()
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	v.Actors = append([]option{{Value: string(booking.ActorSystem), Label: l.actor(booking.ActorSystem)}}, namedActors(actors, l)...)
	for _, d := range access.Deeds() {
		v.Deeds = append(v.Deeds, option{Value: d, Label: l.named("deed", d)})
	}
	slices.SortFunc(v.Deeds, byLabel)

	f, err := v.Query.filter(who.zone, s.Now())
	var list booking.List[access.LoggedEntry]
	if err == nil {
		list, err = s.Records.AdminLog(ctx, f, booking.Page{Limit: auditPageSize, Cursor: v.Query.Cursor})
	}
	status := http.StatusOK
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		v.Error, v.BadDays, status = l.filters(err), aboutDays(invalid), http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	about, err := s.subjectsAbout(ctx, list.Items, l)
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		row := adminLogRow{LoggedEntry: e, Subject: subjectOf(e.Subject, actors, names)}
		row.Subject.Name = cmp.Or(about[e.Subject], row.Subject.Name)
		row.tell(l, actors)
		for _, name := range slices.Sorted(maps.Keys(e.Detail)) {
			if value := factValue(e.Action, name, e.Detail[name], who, names, actors); value != "" && !row.says(name, value) {
				row.Facts = append(row.Facts, fact{factName(e.Action, name), value})
			}
		}
		v.Rows = append(v.Rows, row)
	}
	page1 := v.Query
	page1.Cursor = ""
	if len(v.Rows) > 0 && who.may(access.ExportAudit) {
		v.CSV, v.JSONL = page1.link(exportPath(auditfile.CSV)), page1.link(exportPath(auditfile.JSONL))
	}
	if v.Query.Cursor != "" {
		v.First = page1.Link()
	}
	if list.Next != "" {
		older := page1
		older.Cursor = list.Next
		v.Older = older.Link()
	}
	return s.page(c, status, "adminlog", page{Title: "adminlog.title", Section: "audit", Wide: true, Data: v})
}

// subjectsAbout names what entries are about that has no name of its own: bookings,
// deliveries by the booking that they told of, and other systems, also those that were
// removed.
func (s *server) subjectsAbout(ctx context.Context, entries []access.LoggedEntry, l *language) (map[string]string, error) {
	var bookings, receipts []uuid.UUID
	systems := false
	for _, e := range entries {
		kind, text, _ := strings.Cut(e.Subject, ":")
		id, err := parseID(text)
		switch {
		case err != nil:
		case kind == "endpoint":
			systems = true
		case kind == "booking":
			bookings = append(bookings, id)
		case kind == "receipt":
			receipts = append(receipts, id)
		}
	}
	told, err := s.Records.BookingsOfReceipts(ctx, receipts)
	if err != nil {
		return nil, err
	}
	found, err := s.byID(ctx, append(slices.Concat(slices.Collect(maps.Values(told))...), bookings...))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	if systems {
		names, err := s.Records.EndpointNames(ctx)
		if err != nil {
			return nil, err
		}
		for id, name := range names {
			out[booking.EndpointTarget(id)] = name
		}
	}
	name := func(subject string, id uuid.UUID) {
		if b, ok := found[id]; ok {
			out[subject] = fullName(b, l)
		}
	}
	for _, id := range bookings {
		name("booking:"+id.String(), id)
	}
	for receipt, about := range told {
		if len(about) > 0 {
			name("receipt:"+receipt.String(), about[0])
		}
	}
	return out, nil
}

func subjectOf(text string, actors map[booking.Actor]string, names names) subject {
	kind, id, found := strings.Cut(text, ":")
	if !found {
		return subject{Name: text}
	}
	out := subject{Name: id}
	parsed, err := parseID(id)
	if err != nil {
		return out
	}
	name := ""
	switch kind {
	case "user", "token":
		name = actors[booking.Actor(text)]
	case "booking":
		out.Link = "/bookings/" + id
	case "receipt":
		out.Link = "/deliveries/" + id
	case "replay":
		out.Name, out.Link = "", replayLink(parsed)
	case "resource":
		// One that was merged away has no page any more.
		if name = names.resource[parsed]; name != "" {
			out.Link = "/resources/" + id
		}
	case "connection":
		name, out.Link = names.connection[parsed], "/connections/"+id
	}
	if name != "" {
		out.Name = name
	}
	return out
}
