package web

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"slotkeeper/booking"
)

// endpointTaken is the result of a try that got through; of others it is its cause.
const endpointTaken = "taken"

// endpointQueuer is what the metrics read: a row for each endpoint, and what is still
// to be told by an index of that alone.
type endpointQueuer interface {
	EndpointQueues(ctx context.Context) ([]booking.EndpointQueue, error)
}

// EndpointTried counts a try to tell another system; the label is our id for it, never
// its name or address.
func (m *Metrics) EndpointTried(endpoint uuid.UUID, cause booking.AttemptCause) {
	result := string(cause)
	if cause == "" {
		result = endpointTaken
	}
	m.endpoints.WithLabelValues(endpoint.String(), result).Inc()
}

func newEndpointCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slotkeeper_endpoint_attempts_total",
		Help: "Tries to tell another system, by what became of them: taken, or why not. Tests are left out.",
	}, []string{"endpoint", "result"})
}

// endpointCollector asks the database when it is scraped.
type endpointCollector struct {
	queues  endpointQueuer
	now     func() time.Time
	waiting *prometheus.Desc
	oldest  *prometheus.Desc
	off     *prometheus.Desc
}

func newEndpointCollector(q endpointQueuer, now func() time.Time) *endpointCollector {
	of := []string{"endpoint"}
	return &endpointCollector{
		queues: q, now: now,
		waiting: prometheus.NewDesc("slotkeeper_endpoint_messages_waiting", "Messages that another system is still to be told.", of, nil),
		oldest: prometheus.NewDesc("slotkeeper_endpoint_oldest_waiting_seconds",
			"Age of the oldest message that another system is still to be told; 0 without any.", of, nil),
		off: prometheus.NewDesc("slotkeeper_endpoint_off", "Whether another system is switched off, by hand or since nothing got through.", of, nil),
	}
}

func (c *endpointCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.waiting
	out <- c.oldest
	out <- c.off
}

func (c *endpointCollector) Collect(out chan<- prometheus.Metric) {
	// A collector gets no context from its scraper.
	ctx, stop := context.WithTimeout(context.Background(), backlogTimeout)
	defer stop()
	all, err := c.queues.EndpointQueues(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.waiting, err)
		return
	}
	for _, q := range all {
		id, off, age := q.ID.String(), 0.0, 0.0
		if q.Off != "" {
			off = 1
		}
		if q.Oldest != nil {
			age = max(c.now().Sub(*q.Oldest).Seconds(), 0)
		}
		out <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(q.Waiting), id)
		out <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age, id)
		out <- prometheus.MustNewConstMetric(c.off, prometheus.GaugeValue, off, id)
	}
}
