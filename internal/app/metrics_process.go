package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

var (
	connectionsDesc = metrics.Desc("database_connections", "Connections of this server's pool, by state.", "state")
	mostDesc        = metrics.Desc("database_connections_max", "Connections that this server's pool may have.")
	waitsDesc       = metrics.Desc("database_connection_waits_total", "Transactions of this server that waited for a free connection.")
	waitedDesc      = metrics.Desc("database_connection_wait_seconds_total",
		"Time that transactions of this server waited for a free connection.")
	connectedDesc = metrics.Desc("transport_connected", "Whether wake-ups of other servers reach this one: 1 or 0.", "transport")
	infoDesc      = metrics.Desc("build_info", "The version of this server; always 1.", "version")
	backupDesc    = metrics.Desc("backup_age_seconds", "Age of the newest backup that this server's database has of itself.")
	archivedDesc  = metrics.Desc("archive_age_seconds", "How long ago everything that was committed was archived.")
	problemDesc   = metrics.Desc("backup_problem",
		"Whether something keeps backups from being made, or the log from being archived: 1 or 0.")
)

// processFigures are the figures of this process that are read when they are wanted, without the
// database.
type processFigures struct {
	*App

	backups func() (backup.Status, error) // nil where the server makes none
}

// Describe sends the descriptions of all figures.
func (processFigures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connectionsDesc, mostDesc, waitsDesc, waitedDesc, connectedDesc, infoDesc,
		backupDesc, archivedDesc, problemDesc} {
		to <- d
	}
}

// Collect sends the figures.
func (f processFigures) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	pool := f.db.Connections()
	send(connectionsDesc, prometheus.GaugeValue, float64(pool.InUse), "in_use")
	send(connectionsDesc, prometheus.GaugeValue, float64(pool.Idle), "idle")
	send(mostDesc, prometheus.GaugeValue, float64(pool.Most))
	send(waitsDesc, prometheus.CounterValue, float64(pool.Waits))
	send(waitedDesc, prometheus.CounterValue, pool.Waited.Seconds())
	link := f.services.Wake.Status()
	connected := 0.0
	if link.Connected {
		connected = 1
	}
	send(connectedDesc, prometheus.GaugeValue, connected, link.Transport)
	send(infoDesc, prometheus.GaugeValue, 1, build().Server)
	f.collectBackups(send)
}

// collectBackups sends how the backups stand that the server makes by itself.
func (f processFigures) collectBackups(send func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string)) {
	if f.backups == nil {
		return
	}
	s, err := f.backups()
	problem := 0.0
	if err != nil || s.Problem != "" {
		problem = 1
	}
	send(problemDesc, prometheus.GaugeValue, problem)
	for d, at := range map[*prometheus.Desc]time.Time{backupDesc: s.LastEnded, archivedDesc: s.Reached} {
		if !at.IsZero() {
			send(d, prometheus.GaugeValue, time.Since(at).Seconds())
		}
	}
}
