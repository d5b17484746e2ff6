package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// other is the label of what strangers name: providers that we have no adapter
// for and kinds that are none of ours. Without it they could grow the metrics
// without bound.
const other = "other"

// Metrics are what Prometheus reads. Their names and labels are a contract.
type Metrics struct {
	registry   *prometheus.Registry
	providers  []string
	deliveries *prometheus.CounterVec
	ack        *prometheus.HistogramVec
	moves      *prometheus.CounterVec
	signatures *prometheus.CounterVec
	refusals   *prometheus.CounterVec
	sets       prometheus.Histogram
	effects    *prometheus.CounterVec
	endpoints  *prometheus.CounterVec
}

// Backlogger tells what was received and is not settled, and what was asked for
// and is not done.
type Backlogger interface {
	Backlog(ctx context.Context) (booking.Backlog, error)
	UndoneEffects(ctx context.Context) ([]booking.EffectCount, error)
}

// Measured is what is read when metrics are scraped; *store.Store.
type Measured interface {
	Backlogger
	connectionLister
	endpointQueuer
}

// NewMetrics counts for these providers. What is stored is read when it is asked
// for.
func NewMetrics(providers []string, stored Measured, now func() time.Time) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), providers: slices.Clone(providers),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slotkeeper_deliveries_total", Help: "Deliveries that were stored and answered, copies included.",
		}, []string{"provider", "kind", "status"}),
		ack: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slotkeeper_ack_seconds", Help: "Time from a delivery's arrival to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"provider"}),
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slotkeeper_transitions_total", Help: "Transitions of bookings, applied or refused.",
		}, []string{"event", "outcome", "reason"}),
		signatures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slotkeeper_signature_failures_total", Help: "Posts whose signature was missing, wrong or too old.",
		}, []string{"provider"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slotkeeper_refusals_total", Help: "Posts that were answered with an error, by its code.",
		}, []string{"provider", "code"}),
		sets: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "slotkeeper_set_size", Help: "Deliveries that were committed together.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		effects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slotkeeper_effects_total", Help: "Tries to do something outside, by what became of them: done, failed (to be tried again) or dead.",
		}, []string{"kind", "status"}),
		endpoints: newEndpointCounter(),
	}
	m.registry.MustRegister(m.deliveries, m.ack, m.moves, m.signatures, m.refusals, m.sets, m.effects, m.endpoints,
		newBacklogCollector(stored, now), newConnectionCollector(stored, now), newEndpointCollector(stored, now),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// begin has what alerts wait for start at 0: Prometheus does not see the increase of
// a counter that appears with its first event, and that one conflict would ring for
// nobody.
func (m *Metrics) begin() {
	for _, event := range []booking.Action{booking.Create, booking.Move} {
		for _, reason := range []booking.Reason{booking.ReasonSlotTaken, booking.ReasonOverlap, booking.ReasonCapacityFull} {
			m.moves.WithLabelValues(string(event), string(booking.Applied), string(reason))
		}
	}
	for _, provider := range m.providers {
		m.refusals.WithLabelValues(provider, "unavailable")
		m.signatures.WithLabelValues(provider)
	}
}

// Register adds metrics of others, such as those of the database's connections.
func (m *Metrics) Register(all ...prometheus.Collector) error {
	for _, c := range all {
		if err := m.registry.Register(c); err != nil {
			return fmt.Errorf("web: register metrics: %w", err)
		}
	}
	return nil
}

func (m *Metrics) provider(name string) string {
	if slices.Contains(m.providers, name) {
		return name
	}
	return other
}

// Delivered counts a delivery that was answered 2xx.
func (m *Metrics) Delivered(provider string, kind booking.Kind, status booking.ReceiptStatus) {
	if !kind.Known() {
		kind = other
	}
	m.deliveries.WithLabelValues(m.provider(provider), string(kind), string(status)).Inc()
}

// Acknowledged records how long a delivery took.
func (m *Metrics) Acknowledged(provider string, took time.Duration) {
	m.ack.WithLabelValues(m.provider(provider)).Observe(took.Seconds())
}

// Transitioned counts a transition.
func (m *Metrics) Transitioned(event booking.Action, outcome booking.Outcome, reason booking.Reason) {
	m.moves.WithLabelValues(string(event), string(outcome), string(reason)).Inc()
}

// SetApplied records how many deliveries were committed together.
func (m *Metrics) SetApplied(size int) { m.sets.Observe(float64(size)) }

// EffectTried counts a try to do something outside.
func (m *Metrics) EffectTried(kind booking.EffectKind, status booking.EffectStatus) {
	m.effects.WithLabelValues(string(kind), string(status)).Inc()
}

// SignatureFailed counts a post that was not proven.
func (m *Metrics) SignatureFailed(provider string) {
	m.signatures.WithLabelValues(m.provider(provider)).Inc()
}

// Refused counts a post that was answered with an error.
func (m *Metrics) Refused(provider, code string) {
	m.refusals.WithLabelValues(m.provider(provider), code).Inc()
}

// Handler is what Prometheus scrapes.
func (m *Metrics) Handler() http.Handler {
	// What the database cannot tell now must not hide the rest.
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// backlogCollector asks the database when it is scraped.
type backlogCollector struct {
	backlog Backlogger
	now     func() time.Time
	open    *prometheus.Desc
	oldest  *prometheus.Desc
	undone  *prometheus.Desc
}

func newBacklogCollector(b Backlogger, now func() time.Time) *backlogCollector {
	return &backlogCollector{
		backlog: b, now: now,
		open:   prometheus.NewDesc("slotkeeper_receipts_open", "Receipts that are not settled.", []string{"status"}, nil),
		oldest: prometheus.NewDesc("slotkeeper_oldest_open_receipt_seconds", "Age of the oldest receipt that is not settled; 0 without any.", nil, nil),
		undone: prometheus.NewDesc("slotkeeper_effects_open", "Effects that are not done.", []string{"kind", "status"}, nil),
	}
}

func (c *backlogCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.open
	out <- c.oldest
	out <- c.undone
}

const backlogTimeout = 2 * time.Second

func (c *backlogCollector) Collect(out chan<- prometheus.Metric) {
	// A collector gets no context from its scraper.
	ctx, stop := context.WithTimeout(context.Background(), backlogTimeout)
	defer stop()
	b, err := c.backlog.Backlog(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.open, err)
		return
	}
	for _, status := range []booking.ReceiptStatus{booking.StatusPending, booking.StatusFailed, booking.StatusDead} {
		out <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(b.Open[status]), string(status))
	}
	age := 0.0
	if b.Oldest != nil {
		age = max(c.now().Sub(*b.Oldest).Seconds(), 0)
	}
	out <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age)
	c.collectEffects(ctx, out)
}

// collectEffects tells of each status, 0 too, so that an alert has something to
// compare with.
func (c *backlogCollector) collectEffects(ctx context.Context, out chan<- prometheus.Metric) {
	counts, err := c.backlog.UndoneEffects(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.undone, err)
		return
	}
	type of struct {
		kind   booking.EffectKind
		status booking.EffectStatus
	}
	all := map[of]int{}
	for _, kind := range booking.EffectKinds() {
		for _, st := range []booking.EffectStatus{booking.EffectPending, booking.EffectFailed, booking.EffectDead} {
			all[of{kind, st}] = 0
		}
	}
	for _, n := range counts {
		all[of{n.Kind, n.Status}] = n.Count
	}
	for k, n := range all {
		out <- prometheus.MustNewConstMetric(c.undone, prometheus.GaugeValue, float64(n), string(k.kind), string(k.status))
	}
}

// metrics on the main listener need a token that may read.
func (s *server) metrics(c echo.Context) error {
	if _, err := s.authenticate(c.Request(), access.ScrapeMetrics); err != nil {
		return err
	}
	s.Metrics.Handler().ServeHTTP(c.Response(), c.Request())
	return nil
}

// NewAdmin is the server of the admin listener: metrics and profiles, for whoever
// can reach it. It must not be reachable from outside.
func NewAdmin(m *Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
