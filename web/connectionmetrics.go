package web

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// connectionLister is what the metric reads: a row for each connection, and its
// newest delivery by an index.
type connectionLister interface {
	Connections(ctx context.Context, f booking.Filter, p booking.Page) (booking.List[providers.Connection], error)
}

// connectionCollector asks the database when it is scraped.
type connectionCollector struct {
	connections connectionLister
	now         func() time.Time
	up, since   *prometheus.Desc
}

func newConnectionCollector(l connectionLister, now func() time.Time) *connectionCollector {
	return &connectionCollector{
		connections: l, now: now,
		up: prometheus.NewDesc("slotkeeper_connection_up",
			"Whether a connected account works: 0 while its API or webhook fails or it needs a new sign-in. Those that were disconnected are left out.",
			[]string{"connection"}, nil),
		since: prometheus.NewDesc("slotkeeper_connection_down_since_seconds",
			"Since when a connected account does not work, in seconds since 1970. Those that work have none.",
			[]string{"connection"}, nil),
	}
}

func (c *connectionCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.up
	out <- c.since
}

func (c *connectionCollector) Collect(out chan<- prometheus.Metric) {
	// A collector gets no context from its scraper.
	ctx, stop := context.WithTimeout(context.Background(), backlogTimeout)
	defer stop()
	all, err := booking.Everything(ctx, c.connections.Connections)
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.up, err)
		return
	}
	for _, conn := range all {
		state := conn.State(c.now())
		if state == providers.StateDisconnected {
			continue
		}
		up := 1.0
		if down(state) {
			up = 0
			if since := conn.DownSince(); since != nil {
				out <- prometheus.MustNewConstMetric(c.since, prometheus.GaugeValue, float64(since.Unix()), conn.ID.String())
			}
		}
		out <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, up, conn.ID.String())
	}
}
