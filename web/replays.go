package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/calendar"
)

// Replays takes stored receipts through today's code once more; *work.Replays. Each
// act writes its entry with it.
type Replays interface {
	Begin(ctx context.Context, q booking.ReplayRequest, by access.By) (booking.Replay, error)
	Stop(ctx context.Context, id uuid.UUID, by access.By) (booking.Replay, error)
	Replay(ctx context.Context, id uuid.UUID) (booking.Replay, error)
	// Newest are the newest, Changes what the report of one lists.
	Newest(ctx context.Context, limit int) ([]booking.Replay, error)
	Changes(ctx context.Context, id uuid.UUID) ([]booking.ReplayChange, error)
}

const (
	replaysPath  = "/deliveries/replay"
	shownReplays = 20
)

func replayLink(id uuid.UUID) string { return replaysPath + "/" + id.String() }

// replayForm is what the form says; its names are those of the page of deliveries.
type replayForm struct {
	Status     string
	Connection string
	Kind       string
	Provider   string
	From, To   string // days of the viewer's zone, both included
	All        bool
	Refetch    bool
}

func readReplayForm(v url.Values) replayForm {
	return replayForm{
		Status: v.Get("status"), Connection: v.Get("connection"), Kind: v.Get("kind"), Provider: v.Get("provider"),
		From: v.Get("from"), To: v.Get("to"), All: v.Get("all") != "", Refetch: v.Get("refetch") != "",
	}
}

// replayQuery is the form for what the page of deliveries lists.
func (q deliveriesQuery) replayLink(zone *time.Location, now time.Time) string {
	v := url.Values{}
	for _, p := range [][2]string{{"provider", q.Provider}, {"connection", q.Connection}, {"kind", q.Kind}, {"status", q.Status}} {
		set(v, p[0], p[1])
	}
	if since := q.since(zone, now); since != nil {
		set(v, "from", calendar.DateOf(*since, zone).String())
	}
	if len(v) == 0 {
		return replaysPath
	}
	return replaysPath + "?" + v.Encode()
}

// request is the form as a dry run, with receipts that were chosen one by one.
func (f replayForm) request(chosen []string, zone *time.Location) (booking.ReplayRequest, error) {
	q := booking.ReplayRequest{DryRun: true, Refetch: f.Refetch, Everything: f.All}
	q.Filter.Provider, q.Filter.Kind = f.Provider, booking.Kind(f.Kind)
	var err error
	if q.Filter.IDs, err = receiptIDs(chosen); err != nil {
		return q, err
	}
	if q.Filter.ConnectionID, err = parseFilterID("connection", f.Connection); err != nil {
		return q, err
	}
	if f.Status != "" {
		q.Filter.Statuses = []booking.ReceiptStatus{booking.ReceiptStatus(f.Status)}
	}
	if q.Filter.From, err = dayOf("from", f.From, 0, zone); err != nil {
		return q, err
	}
	q.Filter.To, err = dayOf("to", f.To, 1, zone)
	return q, err
}

// dayOf is when a day of a zone begins, or one of the days after it.
func dayOf(field, text string, after int, zone *time.Location) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // none is given
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1970 || day.Year() > 9998 {
		return nil, &booking.InvalidError{Field: field, Detail: "is a day like 2026-11-29"}
	}
	start := calendar.DateOf(day, time.UTC).AddDays(after).In(zone).Start.UTC()
	return &start, nil
}

// replaysView is the form, and the newest replays.
type replaysView struct {
	Form        replayForm
	Statuses    []booking.ReceiptStatus
	Providers   []string
	Connections []option
	Kinds       []option
	Newest      []replayRow
	Errors      map[string]string
}

type replayRow struct {
	booking.Replay
	Link string
	By   string
}

// Under tells whether it is under way.
func (r replayRow) Under() bool { return r.Status == booking.RunRunning }

func (s *server) replaysPage(c echo.Context) error {
	return s.showReplays(c, http.StatusOK, readReplayForm(c.QueryParams()), nil)
}

func (s *server) showReplays(c echo.Context, status int, f replayForm, errs map[string]string) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	v := replaysView{
		Form: f, Statuses: booking.ReceiptStatuses(), Providers: names.providers, Connections: names.connectionOptions(who.language),
		Kinds: kindOptions(f.Kind, who.language), Errors: errs,
	}
	newest, err := s.Replays.Newest(ctx, shownReplays)
	if err != nil {
		return err
	}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	for _, r := range newest {
		v.Newest = append(v.Newest, replayRow{r, replayLink(r.ID), who.language.decider(r.Actor, actors)})
	}
	return s.page(c, status, "replays", page{Title: "replay.title", Section: "deliveries", Data: v})
}

// previewReplay begins a dry run of what the form says, or of deliveries that were
// chosen in a list. Only from its report a replay that changes something begins.
func (s *server) previewReplay(c echo.Context) error {
	if !s.viewer(c).may(access.ReplayDeliveries) {
		return errNoRole
	}
	in, err := c.FormParams()
	if err != nil {
		return err
	}
	f, l := readReplayForm(in), s.viewer(c).language
	q, err := f.request(in["receipt"], s.viewer(c).zone)
	if err == nil && q.Filter.All() && !q.Everything {
		text := "replay.none"
		if in.Has("chosen") {
			text = "replay.nonechosen"
		}
		return s.showReplays(c, http.StatusUnprocessableEntity, f, map[string]string{"all": l.t(text)})
	}
	var r booking.Replay
	if err == nil {
		r, err = s.Replays.Begin(c.Request().Context(), q, s.by(c))
	}
	var invalid *booking.InvalidError
	if errors.As(err, &invalid) {
		return s.showReplays(c, http.StatusUnprocessableEntity, f, map[string]string{invalid.Field: l.t("replay.invalid")})
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, replayLink(r.ID))
}

// runReplay does what a dry run told of.
func (s *server) runReplay(c echo.Context) error {
	if !s.viewer(c).may(access.ReplayDeliveries) {
		return errNoRole
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	told, err := s.Replays.Replay(ctx, id)
	if err != nil {
		return err
	}
	if !told.DryRun || told.Status != booking.RunDone {
		return &booking.ConflictError{Code: "no_preview", Detail: "only a preview that is done can be replayed"}
	}
	// What came after the preview was not in it.
	f := told.Filter
	if end := told.StartedAt.Add(time.Microsecond); f.To == nil || f.To.After(end) {
		f.To = &end
	}
	r, err := s.Replays.Begin(ctx, booking.ReplayRequest{Filter: f, Refetch: told.Refetch, Everything: told.Filter.All()}, s.by(c))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, replayLink(r.ID))
}

// stopReplay ends one that is under way: what it did stays.
func (s *server) stopReplay(c echo.Context) error {
	if !s.viewer(c).may(access.ReplayDeliveries) {
		return errNoRole
	}
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	_, err = s.Replays.Stop(c.Request().Context(), id, s.by(c))
	var ended *booking.ConflictError
	if err != nil && !errors.As(err, &ended) { // by itself, meanwhile
		return err
	}
	return c.Redirect(http.StatusSeeOther, replayLink(id))
}

// replayReport is one replay: what it is about, how far it is, what it changed.
type replayReport struct {
	replayRow
	Connection string // of the filter
	Percent    int    // -1 when that is not known
	Counts     []replayCount
	Changes    []replayChange
	More       int // so many are not listed
	// Run is where what was told is done; "" when there is nothing to.
	Run string
}

type replayCount struct {
	Name  string // a message's key's end
	Count int
	Bad   bool
}

type replayChange struct {
	booking.ReplayChange
	Connection  string
	Link        string
	Transitions []replayedTransition
}

type replayedTransition struct {
	booking.ReplayedTransition
	// Link leads to the booking; "" when there is none (yet).
	Link string
	Name string
	Who  string
}

// Transition is it as the pages' partials take one.
func (t replayedTransition) Transition() booking.Transition {
	return booking.Transition{Event: t.Event, From: t.From, To: t.To, Outcome: t.Outcome, Reason: t.Reason}
}

func (s *server) replayPage(c echo.Context) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	id, err := parseID(c.Param("id"))
	if err != nil {
		return err
	}
	r, err := s.Replays.Replay(ctx, id)
	if err != nil {
		return err
	}
	changes, err := s.Replays.Changes(ctx, id)
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	actors, err := s.Records.Actors(ctx)
	if err != nil {
		return err
	}
	v := replayReport{replayRow: replayRow{r, replayLink(id), who.language.decider(r.Actor, actors)}, Percent: -1, Counts: replayCounts(r)}
	if r.Filter.ConnectionID != nil {
		v.Connection = names.connection[*r.Filter.ConnectionID]
	}
	if r.Total != nil && *r.Total > 0 {
		v.Percent = min(100*r.Looked / *r.Total, 100)
	}
	if r.DryRun && r.Status == booking.RunDone && r.Changed+r.Asked > 0 {
		v.Run = replayLink(id) + "/run"
	}
	if v.Changes, err = s.replayChanges(ctx, changes, names, who); err != nil {
		return err
	}
	if len(changes) == booking.MaxReplayChanges {
		v.More = r.Changed + r.Asked - len(changes)
	}
	return s.page(c, http.StatusOK, "replay", page{Title: "replay.report.title", Section: "deliveries", Data: v})
}

// replayCounts are the counts that say something, the most important first.
func replayCounts(r booking.Replay) []replayCount {
	changed := "changed"
	if r.DryRun {
		changed = "wouldchange"
	}
	out := []replayCount{{Name: changed, Count: r.Changed}, {Name: "unchanged", Count: r.Unchanged}}
	for _, c := range []replayCount{
		{"still_failed", r.StillFailed, true},
		{"asked", r.Asked, false},
		{"need_refetch", r.NeedRefetch, true},
		{"open", r.Open, false},
		{"gone", r.Gone, false},
	} {
		if c.Count > 0 {
			out = append(out, c)
		}
	}
	return out
}

func (s *server) replayChanges(ctx context.Context, all []booking.ReplayChange, names names, who viewer) ([]replayChange, error) {
	var ids []uuid.UUID
	for _, c := range all {
		for _, t := range c.Transitions {
			ids = append(ids, t.BookingID)
		}
	}
	found, err := s.byID(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]replayChange, len(all))
	for i, c := range all {
		out[i] = replayChange{ReplayChange: c, Connection: names.connection[c.ConnectionID], Link: "/deliveries/" + c.ReceiptID.String()}
		for _, t := range c.Transitions {
			line := replayedTransition{ReplayedTransition: t}
			if b, ok := found[t.BookingID]; ok {
				line.Link, line.Name, line.Who = "/bookings/"+b.ID.String(), nameOf(b, who.language), who.language.whoIs(b.Invitee)
			}
			out[i].Transitions = append(out[i].Transitions, line)
		}
	}
	return out, nil
}
