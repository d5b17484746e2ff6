package store

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// PoolMetrics tell of the connections to the database (go_sql_…): how many are open
// and in use, and how long somebody waited for one. The label db_name is the pool's:
// write, and read where readers have their own. They ask the pools, not the database,
// so that they answer while it is away.
func (s *Store) PoolMetrics() ([]prometheus.Collector, error) {
	write, err := s.write.DB()
	if err != nil {
		return nil, fmt.Errorf("store: the pool of the writer: %w", err)
	}
	read, err := s.read.DB()
	if err != nil {
		return nil, fmt.Errorf("store: the pool of the readers: %w", err)
	}
	out := []prometheus.Collector{collectors.NewDBStatsCollector(write, "write")}
	if read != write {
		out = append(out, collectors.NewDBStatsCollector(read, "read"))
	}
	return out, nil
}
