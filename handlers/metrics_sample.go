package handlers

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetboard/fleetboard/internal/coordinator/vitals"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

// figure is a figure of a sample: its values by the value of its one label, or by "" without one.
type figure struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	values func(vitals.Sample) map[string]float64
}

var databaseUp = metrics.Desc("database_up", "Whether the database has answered this server: 1 or 0.")

// sampleFigures are the figures of a sample, the same at each server of the database.
var sampleFigures = []figure{
	ofTables("table_live_rows", prometheus.GaugeValue, "Rows of a table, as PostgreSQL estimates them.",
		func(t vitals.Table) int64 { return t.Live }),
	ofTables("table_dead_rows", prometheus.GaugeValue, "Dead rows of a table that were not removed yet, as PostgreSQL estimates them.",
		func(t vitals.Table) int64 { return t.Dead }),
	ofTables("table_inserts_total", prometheus.CounterValue, "Rows that were added to a table.",
		func(t vitals.Table) int64 { return t.Inserts }),
	ofTables("table_updates_total", prometheus.CounterValue, "Rows of a table that were rewritten.",
		func(t vitals.Table) int64 { return t.Updates }),
	ofTables("table_hot_updates_total", prometheus.CounterValue, "Rewritten rows that stayed on their page and entered no index.",
		func(t vitals.Table) int64 { return t.HotUpdates }),
	ofTables("table_vacuums_total", prometheus.CounterValue, "Vacuums of a table, automatic ones and others.",
		func(t vitals.Table) int64 { return t.Vacuums }),
	single("oldest_transaction_seconds", "Age of the oldest transaction of the database.",
		func(s vitals.Sample) float64 { return s.OldestTransaction.Seconds() }),
	single("oldest_snapshot_seconds", "Age of the oldest transaction that keeps dead rows from being removed.",
		func(s vitals.Sample) float64 { return s.OldestSnapshot.Seconds() }),
	single("oldest_snapshot_transactions",
		"Transactions since the oldest snapshot of a session, a prepared transaction or a replication slot.",
		func(s vitals.Sample) float64 { return float64(s.SnapshotTransactions) }),
	single("unseen_sessions", "Sessions of other logins whose age the owner may not see: grant it pg_read_all_stats.",
		func(s vitals.Sample) float64 { return float64(s.UnseenSessions) }),

	byWord("jobs", "status", "Jobs by status.", func(s vitals.Sample) map[string]int64 { return s.Jobs },
		"waiting", "ready", "assigned", "running", "paused", "blocked", "in_review", "approved", "completed", "failed", "aborted",
		"archived"),
	byWord("agents", "health", "Agents that nobody has ended, by health.", func(s vitals.Sample) map[string]int64 { return s.Agents }),
	byWord("factories", "state", "Factories with an agent that lives, and those of which all agents are dead.",
		func(s vitals.Sample) map[string]int64 { return s.Factories }),
	single("seats", "Seats of the factories that live.", func(s vitals.Sample) float64 { return float64(s.Seats) }),
	single("seats_taken", "Leases that take a seat.", func(s vitals.Sample) float64 { return float64(s.Leases.Seats) }),
	single("leases", "Leases, also of agents that only follow a pull request.",
		func(s vitals.Sample) float64 { return float64(s.Leases.All) }),
	single("leases_overdue", "Leases that have run out and were not taken back yet.",
		func(s vitals.Sample) float64 { return float64(s.Leases.Overdue) }),
	single("lease_longest_overdue_seconds", "For how long the longest of the overdue leases has run out.",
		func(s vitals.Sample) float64 { return s.Leases.LongestOverdue.Seconds() }),
	byWord("budgets", "verdict", "Budgets by what was foreseen of them last.", func(s vitals.Sample) map[string]int64 { return s.Budgets },
		"enough", "runs_out", "throttle", "exhausted", "too_little_data"),
	single("coordinator_active", "Whether a server leads: 1 or 0.", func(s vitals.Sample) float64 {
		if s.Led {
			return 1
		}
		return 0
	}),
	single("coordinator_cycle_age_seconds", "How long ago the coordinator has finished a cycle.",
		func(s vitals.Sample) float64 { return s.CycleAge.Seconds() }),
	single("servers", "Servers of this database that live.", func(s vitals.Sample) float64 { return float64(s.Servers) }),
}

func single(name, help string, value func(vitals.Sample) float64) figure {
	return figure{metrics.Desc(name, help), prometheus.GaugeValue,
		func(s vitals.Sample) map[string]float64 { return map[string]float64{"": value(s)} }}
}

// byWord is a figure with a value for each of the words, 0 where the sample has none.
func byWord(name, label, help string, values func(vitals.Sample) map[string]int64, words ...string) figure {
	return figure{metrics.Desc(name, help, label), prometheus.GaugeValue, func(s vitals.Sample) map[string]float64 {
		all := map[string]float64{}
		for _, w := range words {
			all[w] = 0
		}
		for w, n := range values(s) {
			all[w] = float64(n)
		}
		return all
	}}
}

func ofTables(name string, kind prometheus.ValueType, help string, value func(vitals.Table) int64) figure {
	return figure{metrics.Desc(name, help, "table"), kind, func(s vitals.Sample) map[string]float64 {
		all := map[string]float64{}
		for _, t := range s.Tables {
			all[t.Name] = float64(value(t))
		}
		return all
	}}
}

// sampled collects the figures of a sample.
type sampled struct {
	sample func(context.Context) (vitals.Sample, error)
	log    *slog.Logger
}

// Describe sends the descriptions of all figures.
func (c sampled) Describe(to chan<- *prometheus.Desc) {
	to <- databaseUp
	for _, f := range sampleFigures {
		to <- f.desc
	}
}

// Collect takes a sample and sends its figures; without an answer of the database only that there is none.
func (c sampled) Collect(to chan<- prometheus.Metric) {
	ctx := context.Background() // the sample has a bound of its own
	now, err := c.sample(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "the database's metrics are not known", "error", err)
		to <- prometheus.MustNewConstMetric(databaseUp, prometheus.GaugeValue, 0)
		return
	}
	to <- prometheus.MustNewConstMetric(databaseUp, prometheus.GaugeValue, 1)
	for _, f := range sampleFigures {
		for label, value := range f.values(now) {
			labels := []string{label}
			if label == "" {
				labels = nil
			}
			to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
		}
	}
}
