package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Loops and the coordinator.
var (
	loopTimes = declare(prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "loop_duration_seconds",
		Help: "Time of a cycle of a loop at this server; most loops run where the coordinator is.", Buckets: slow}, []string{"loop"}))
	loopFailures = declare(prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "loop_failures_total",
		Help: "Cycles of a loop that failed at this server."}, []string{"loop"}))
	CoordinatorWork = counters("coordinator_work_total", "kind", "What the coordinator did at this server, by kind.",
		"leases_taken_back", "jobs_promoted", "warned", "timed_out", "cycles_failed", "agents_dead", "jobs_compacted", "lines_expired",
		"secrets_moved")
	CoordinatorTerms = counter("coordinator_terms_total", "Terms that began at this server.")
)

// Loop counts the cycles of one loop.
type Loop struct {
	time     prometheus.Observer
	failures prometheus.Counter
}

// NewLoop returns what counts the cycles of the loop of that name, a fixed word.
func NewLoop(name string) Loop {
	return Loop{loopTimes.WithLabelValues(name), loopFailures.WithLabelValues(name)}
}

// Count counts a cycle that began then.
func (l Loop) Count(began time.Time, err error) {
	l.time.Observe(time.Since(began).Seconds())
	if err != nil {
		l.failures.Inc()
	}
}
