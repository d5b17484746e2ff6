package auditfile

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// DeedsExport is what to write of the log of accounts and actions.
type DeedsExport struct {
	Format Format
	Filter access.EntryFilter
	Names  DeedNames
	// AdminLog reads a page, newest first; the store's.
	AdminLog func(ctx context.Context, f access.EntryFilter, p booking.Page) (booking.List[access.LoggedEntry], error)
	// Flushed is as an Export's.
	Flushed func() error
}

// DeedNames is what those who did something, and what they did it to, are called.
// What has no name stands for itself.
type DeedNames struct {
	Names
	Actors    map[booking.Actor]string
	Endpoints map[uuid.UUID]string
}

// NameDeeds adds to names whom else the log of accounts and actions tells of.
func NameDeeds(ctx context.Context, n Names, from interface {
	Actors(ctx context.Context) (map[booking.Actor]string, error)
	EndpointNames(ctx context.Context) (map[uuid.UUID]string, error)
},
) (DeedNames, error) {
	out := DeedNames{Names: n}
	var err error
	if out.Actors, err = from.Actors(ctx); err != nil {
		return out, err
	}
	out.Endpoints, err = from.EndpointNames(ctx)
	return out, err
}

// of is the name of an entry's subject: "" for what has none, and for bookings and
// deliveries, whose names are people's.
func (n DeedNames) of(subject string) string {
	kind, text, _ := strings.Cut(subject, ":")
	id, err := uuid.Parse(text)
	if err != nil {
		return ""
	}
	switch kind {
	case "user", "token":
		return n.Actors[booking.Actor(subject)]
	case "resource":
		return n.Resources[id]
	case "connection":
		return n.Connections[id]
	case "endpoint":
		return n.Endpoints[id]
	}
	return ""
}

// deed is an entry as the file tells it. Null is what is not known.
type deed struct {
	Seq         int64         `json:"seq"`
	At          string        `json:"at"`
	Actor       booking.Actor `json:"actor"`
	ActorName   *string       `json:"actor_name"`
	Action      string        `json:"action"`
	Subject     *string       `json:"subject"`
	SubjectName *string       `json:"subject_name"`
	Facts       access.Facts  `json:"facts"`
	Remote      *string       `json:"remote"`
}

var deedHeader = []string{"seq", "at", "actor", "actor_name", "action", "subject", "subject_name", "facts", "remote"}

// cells has the facts as JSON in one of them: their names differ from line to line.
func (d deed) cells() []string {
	facts, err := json.Marshal(d.Facts)
	if err != nil {
		facts = []byte("{}") // texts by texts: there is nothing that could fail
	}
	return []string{
		strconv.FormatInt(d.Seq, 10), d.At, string(d.Actor), text(d.ActorName), d.Action, text(d.Subject), text(d.SubjectName), string(facts), text(d.Remote),
	}
}

// WriteDeeds writes the log of accounts and actions as Write does the audit's, and
// says how many entries stand in the file.
func WriteDeeds(ctx context.Context, w io.Writer, e DeedsExport) (int, error) {
	out, err := newWriter(w, e.Format, deedHeader)
	if err != nil {
		return 0, err
	}
	read := func(ctx context.Context, p booking.Page) (booking.List[access.LoggedEntry], error) {
		return e.AdminLog(ctx, e.Filter, p)
	}
	return stream(ctx, out, read, func(l access.LoggedEntry) line { return e.deed(l) }, e.Flushed)
}

func (e DeedsExport) deed(l access.LoggedEntry) deed {
	out := deed{
		Seq: l.Seq, At: instant(l.At), Actor: l.Actor, ActorName: orNull(e.Names.Actors[l.Actor]), Action: l.Action,
		Subject: orNull(l.Subject), SubjectName: orNull(e.Names.of(l.Subject)), Facts: l.Detail, Remote: orNull(l.Remote),
	}
	if out.Facts == nil {
		out.Facts = access.Facts{}
	}
	return out
}

// DeedsDetail is what the admin log keeps of an export of itself.
func DeedsDetail(format Format, f access.EntryFilter) access.Facts {
	return detail(format, f.From, f.To, map[access.Fact]string{"actor": string(f.Actor), "action": f.Action})
}
