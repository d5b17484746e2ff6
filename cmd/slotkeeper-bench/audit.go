package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// audited is a million transitions that came in the last 30 days, and as many
// receipts: some refused, some in conflict, some of a second connection.
func audited(second string, receipts int, now time.Time) past {
	p := year(receipts)
	p.second, p.gap = second, 29*24*time.Hour/time.Duration(p.receipts())
	p.began = now.Add(-p.gap * time.Duration(p.receipts())).UTC()
	return p
}

// auditPage is a page whose first view is measured. What it needs of the
// installation is named in braces.
type auditPage struct {
	name string
	path string
	has  string // what shows that the page found something
}

// auditPages are the audit by each filter, over all time, which is the most to look
// through, and the dashboard of deliveries.
func auditPages() []auditPage {
	const row, all = `href="/audit/`, "/audit?range=all&show=all"
	return []auditPage{
		{"audit, as it opens", "/audit", row},
		{"audit, the last 30 days", "/audit?range=30d", row},
		{"audit, all transitions", all, row},
		{"audit, refused", "/audit?range=all&show=rejected", row},
		{"audit by provider", all + "&provider=calcom", row},
		{"audit by connection", all + "&connection={second}", row},
		{"audit by resource", all + "&resource={resource}", row},
		{"audit by booking", all + "&booking={booking}", row},
		{"audit by reason", all + "&reason=stale", row},
		{"audit by reason and connection", "/audit?range=all&reason=slot_taken&connection={second}", row},
		{"audit by actor", all + "&actor=reconcile", row},
		{"audit by webhooks as actor", all + "&actor=webhook", row},
		{"audit by a text that many have", all + "&q=priya", row},
		{"audit by a text that one had long ago", all + "&q=rani.wijaya", "looked through"},
		{"audit by a text that nobody has", all + "&q=nobody+of+this+name", "looked through"},
		{"audit by a booking's id as text", all + "&q=h-99", row},
		{"accounts and actions", "/audit?view=admin&range=all", "<h1>"},
		{"deliveries, the last 24 hours", "/deliveries", `href="/deliveries/`},
		{"deliveries, the last 30 days", "/deliveries?range=30d", `href="/deliveries/`},
		{"deliveries, all", "/deliveries?range=all", `href="/deliveries/`},
		{"deliveries of a connection", "/deliveries?range=30d&connection={second}", `href="/deliveries/`},
		{"deliveries that failed", "/deliveries?status=failed", `href="/deliveries/`},
		{"deliveries of a kind", "/deliveries?range=all&kind=OOO_CREATED", `href="/deliveries/`},
		{"deliveries by a booking's id", "/deliveries?q=h-99", `href="/deliveries/`},
	}
}

// auditLimit is how long a first page may take.
const auditLimit = 150 * time.Millisecond

func auditPhase(kind string, p auditPage) phase { return phase{kind + ", " + p.name, 1} }

// audit measures the first page of each filter.
func (b *bench) audit(ctx context.Context) error {
	return errors.Join(b.auditOn(ctx, postgresKind, "audited"), b.auditOn(ctx, sqliteKind, ""))
}

func (b *bench) auditOn(ctx context.Context, kind, name string) (err error) {
	s, err := b.auditServer(ctx, kind, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end(ctx, s, name)) }()
	browser, err := signIn(ctx, s)
	if err != nil {
		return err
	}
	known, err := b.auditIDs(ctx, s)
	if err != nil {
		return err
	}
	pages := auditPages()
	for _, p := range pages { // what is folded once is folded, and the pages are in memory
		began := time.Now()
		if err := browser.page(ctx, known.Replace(p.path), p.has); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if took := time.Since(began); took > auditLimit {
			b.say("%s, %s: the first time took %s", kind, p.name, took.Round(time.Millisecond))
		}
	}
	return b.eachRound(kind+", audit", func(_ int, r map[phase]figures) error {
		for _, p := range pages {
			f, err := b.measure(s, func() ([]time.Duration, time.Duration, error) {
				return browser.again(ctx, known.Replace(p.path), p.has, b.each/time.Duration(len(pages)))
			})
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			r[auditPhase(kind, p)] = f
		}
		return nil
	})
}

// auditServer is a server on a database with the past to audit.
func (b *bench) auditServer(ctx context.Context, kind, name string) (*server, error) {
	var database string
	var err error
	if name != "" {
		if database, err = b.database(ctx, name); err != nil {
			return nil, err
		}
	}
	i, err := b.install(ctx, database)
	if err != nil {
		return nil, err
	}
	second, err := b.connectSecond(ctx, i)
	if err != nil {
		return nil, err
	}
	p := audited(second, b.receipts, time.Now())
	b.say("%s, audit: writing %d transitions", kind, p.receipts())
	if err := b.fill(ctx, i, p); err != nil {
		return nil, fmt.Errorf("filling: %w", err)
	}
	return b.start(ctx, i, maxSet)
}

// connectSecond makes another connection and gives its id.
func (b *bench) connectSecond(ctx context.Context, i installation) (string, error) {
	out, err := b.command(ctx, &i, "connect", "calcom", "--name", "Second")
	if err != nil {
		return "", err
	}
	var c connection
	if err := json.Unmarshal(out, &c); err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	return c.ID, nil
}

// auditIDs finds what the pages' paths name.
func (b *bench) auditIDs(ctx context.Context, s *server) (*strings.Replacer, error) {
	var pairs []string
	for name, query := range map[string]string{
		"{second}":   "SELECT id FROM connections WHERE provider = 'calcom'",
		"{resource}": "SELECT id FROM resources ORDER BY name LIMIT 1",
		"{booking}":  "SELECT id FROM bookings WHERE external_id = 'h-99'",
	} {
		id, err := b.query(ctx, s, query)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, name, url.QueryEscape(id))
	}
	return strings.NewReplacer(pairs...), nil
}

// again loads a page for a while, at least a few times.
func (br *browser) again(ctx context.Context, path, has string, each time.Duration) ([]time.Duration, time.Duration, error) {
	const atLeast = 5
	began := time.Now()
	var took []time.Duration
	for len(took) < atLeast || time.Since(began) < each {
		at := time.Now()
		if err := br.page(ctx, path, has); err != nil {
			return nil, 0, err
		}
		took = append(took, time.Since(at))
	}
	return took, time.Since(began), nil
}

// page loads a page and looks whether it has what it should.
func (br *browser) page(ctx context.Context, path, has string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+br.host+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := br.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), has) {
		return fmt.Errorf("%s answered %d, with %d bytes and without %s", path, resp.StatusCode, len(body), has)
	}
	return nil
}

// auditGoals ask each first page to be quick.
func auditGoals() []goal {
	var out []goal
	for _, kind := range []string{postgresKind, sqliteKind} {
		var of []phase
		for _, p := range auditPages() {
			of = append(of, auditPhase(kind, p))
		}
		out = append(out, goal{"the slowest first page of audit and deliveries, " + kind, of, "at most " + milliseconds(auditLimit), func(b *bench) (string, bool) {
			slowest := slices.MaxFunc(of, func(x, y phase) int { return int(b.medianTime(x, p50Of) - b.medianTime(y, p50Of)) })
			took := b.medianTime(slowest, p50Of)
			return milliseconds(took) + " (" + strings.TrimPrefix(slowest.name, kind+", ") + ")", took <= auditLimit
		}})
	}
	return out
}
