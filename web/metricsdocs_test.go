package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/web"
)

var (
	sampleLine = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
	labelOf    = regexp.MustCompile(`([a-z_]+)="`)
	metricName = regexp.MustCompile(`\b(?:slotkeeper|go|process)_[a-z_]+\b`)
	groupedBy  = regexp.MustCompile(`by \(([^)]*)\)`)
	// firstEvent is a rule's counter of which one event is enough.
	firstEvent = regexp.MustCompile(`increase\(([a-z_]+)\{([^}]*)\}\[\w+\]\)\) > 0\n`)
	matcher    = regexp.MustCompile(`([a-z_]+)=~?"([^"]*)"`)
	oneOfAll   = regexp.MustCompile(`max by \([a-z, ]+\) \($`)
	templated  = regexp.MustCompile(`\{\{ ?(?:\$labels\.)?([a-z_]+) ?\}\}`)
)

// exposed are the metrics that exist, with their labels. The database is there.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	w := newWorld(t, desks(), nil)
	m := w.metrics
	m.Delivered("generic", booking.KindCreated, booking.StatusProcessed)
	m.Acknowledged("generic", time.Millisecond)
	m.Transitioned(booking.Create, booking.Applied, "")
	m.SignatureFailed("generic")
	m.Refused("generic", "signature_missing")
	m.SetApplied(1)
	m.EffectTried(booking.EffectCancel, booking.EffectDone)
	m.EndpointTried(id(80), booking.AttemptTimeout)
	pools, err := storetest.Open(t, filepath.Join(t.TempDir(), "slotkeeper.db")).PoolMetrics()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Register(pools...); err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	web.NewAdmin(m).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	out := map[string][]string{}
	for _, line := range sampleLine.FindAllStringSubmatch(rec.Body.String(), -1) {
		for _, label := range labelOf.FindAllStringSubmatch(line[2], -1) {
			out[line[1]] = append(out[line[1]], label[1])
		}
		out[line[1]] = append(out[line[1]], "job", "instance") // Prometheus adds them
	}
	return out
}

func doc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// measurable reports whatever a query names and nothing exposes: it would be an alert
// that never rings, or a panel that stays empty.
func measurable(t *testing.T, known map[string][]string, query string, texts ...string) {
	t.Helper()
	var labels []string
	names := metricName.FindAllString(query, -1)
	for _, name := range names {
		if known[name] == nil {
			t.Errorf("%s: there is no metric %s", query, name)
		}
		labels = append(labels, known[name]...)
	}
	var used []string
	for _, l := range labelOf.FindAllStringSubmatch(query, -1) {
		used = append(used, l[1])
	}
	for _, g := range groupedBy.FindAllStringSubmatch(query, -1) {
		used = append(used, strings.Split(g[1], ", ")...)
	}
	for _, p := range templated.FindAllStringSubmatch(strings.Join(texts, " "), -1) {
		used = append(used, p[1])
	}
	for _, l := range used {
		if len(names) > 0 && !slices.Contains(labels, l) {
			t.Errorf("%s: no metric in it has the label %s", query, l)
		}
	}
}

func TestAlertingRulesAskForWhatExists(t *testing.T) {
	t.Parallel()
	known := exposed(t)
	runbook := doc(t, "operations.md")
	rules := strings.Split(doc(t, "prometheus-rules.yaml"), "- alert: ")[1:]
	if len(rules) < 10 {
		t.Fatalf("%d rules", len(rules))
	}
	for _, job := range regexp.MustCompile(`job="([a-z]+)"`).FindAllStringSubmatch(doc(t, "prometheus-rules.yaml"), -1) {
		if !strings.Contains(runbook, "- job_name: "+job[1]+" ") {
			t.Errorf("operations.md does not scrape the job %s, of which a rule asks", job[1])
		}
	}
	for _, rule := range rules {
		name, rest, _ := strings.Cut(rule, "\n")
		_, query, _ := strings.Cut(rest, "expr: ")
		query, texts, _ := strings.Cut(query, "\n")
		measurable(t, known, query, texts)
		if !strings.Contains(runbook, "\n### "+name+"\n") {
			t.Errorf("%s has no runbook in operations.md", name)
		}
		if !strings.Contains(texts, "docs/operations.md#"+strings.ToLower(name)+"\n") {
			t.Errorf("%s does not lead to its runbook", name)
		}
	}
}

// TestAlertsSeeTheFirstEvent holds what rings for a single event against a process that
// has seen none: Prometheus sees no increase of a counter that is not there before it.
func TestAlertsSeeTheFirstEvent(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	web.NewAdmin(newWorld(t, desks(), nil).metrics).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	asked := 0
	for _, m := range firstEvent.FindAllStringSubmatch(doc(t, "prometheus-rules.yaml"), -1) {
		series := []string{"(?m)^" + m[1] + `\{`}
		for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
			var all []string
			for _, before := range series {
				for value := range strings.SplitSeq(label[2], "|") {
					all = append(all, before+`(?:.*,)?`+label[1]+`="`+value+`"`)
				}
			}
			series = all
		}
		for _, one := range series {
			asked++
			if !regexp.MustCompile(one).MatchString(rec.Body.String()) {
				t.Errorf("a new process does not count %s", one)
			}
		}
	}
	if asked < 7 {
		t.Errorf("only %d counters were looked for", asked)
	}
}

// TestOneTroubleIsOneAlert: what every instance reads from the one database must not
// ring once for each of them.
func TestOneTroubleIsOneAlert(t *testing.T) {
	t.Parallel()
	shared := regexp.MustCompile(`(.{0,40})(slotkeeper_(?:connection_up|receipts_open|oldest_open_receipt_seconds|effects_open|endpoint_(?:messages_waiting|oldest_waiting_seconds|off)))`)
	for _, name := range []string{"prometheus-rules.yaml", "grafana-dashboard.json"} {
		found := shared.FindAllStringSubmatch(doc(t, name), -1)
		if len(found) < 4 {
			t.Errorf("%s asks for %d of what is in the database", name, len(found))
		}
		for _, m := range found {
			if !oneOfAll.MatchString(m[1]) {
				t.Errorf("%s sees %s once for each instance: %s", name, m[2], m[0])
			}
		}
	}
}

func TestDashboardShowsWhatExists(t *testing.T) {
	t.Parallel()
	known := exposed(t)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal([]byte(doc(t, "grafana-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			measurable(t, known, target.Expr, target.LegendFormat)
			all += target.Expr + "\n"
		}
	}
	for name := range known {
		base := strings.NewReplacer("_bucket", "", "_count", "", "_sum", "").Replace(name)
		if strings.HasPrefix(name, "slotkeeper_") && !strings.Contains(all, base) {
			t.Errorf("no panel shows %s", base)
		}
	}
}
