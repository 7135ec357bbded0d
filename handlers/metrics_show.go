package handlers

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/coordinator/vitals"
)

// metricsType is the text format that Prometheus reads.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// Metrics answers GET /metrics: numbers about the server, of all workspaces
// together, for a monitor. 503 where the database is away. It does not check who the
// caller is: put OnlyLocal in front of it, or an address that only the monitor reaches.
func Metrics(sample func(context.Context) (vitals.Sample, error), log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		now, err := sample(r.Context())
		if err != nil {
			log.WarnContext(r.Context(), "metrics are not known", "error", err)
			w.Header().Set("Retry-After", strconv.Itoa(web.UnknownTime))
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", metricsType)
		_, _ = w.Write(metricsText(now))
	})
}

// OnlyLocal lets requests through that begin on this machine; others find nothing.
// What a proxy hands on began elsewhere, also where the proxy stands on this
// machine and nobody said that it may be trusted.
func OnlyLocal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		local := err == nil && from.Addr().Unmap().IsLoopback()
		for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
			local = local && len(r.Header.Values(name)) == 0
		}
		if !local {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// metricsText writes a sample in the text format of Prometheus.
func metricsText(s vitals.Sample) []byte {
	var b bytes.Buffer
	ofTables := func(name, kind, help string, value func(vitals.Table) int64) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, t := range s.Tables {
			fmt.Fprintf(&b, "%s{table=%q} %d\n", name, t.Name, value(t))
		}
	}
	single := func(name, help string, value float64) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n%s %s\n", name, help, name, name, strconv.FormatFloat(value, 'g', -1, 64))
	}
	ofTables("fleetboard_table_live_rows", "gauge", "Rows of a table, as PostgreSQL estimates them.",
		func(t vitals.Table) int64 { return t.Live })
	ofTables("fleetboard_table_dead_rows", "gauge", "Dead rows of a table that were not removed yet, as PostgreSQL estimates them.",
		func(t vitals.Table) int64 { return t.Dead })
	ofTables("fleetboard_table_updates_total", "counter", "Rows of a table that were rewritten.",
		func(t vitals.Table) int64 { return t.Updates })
	ofTables("fleetboard_table_hot_updates_total", "counter", "Rewritten rows that stayed on their page and entered no index.",
		func(t vitals.Table) int64 { return t.HotUpdates })
	ofTables("fleetboard_table_vacuums_total", "counter", "Vacuums of a table, automatic ones and others.",
		func(t vitals.Table) int64 { return t.Vacuums })
	single("fleetboard_oldest_transaction_seconds", "Age of the oldest transaction of the database.", s.OldestTransaction.Seconds())
	single("fleetboard_oldest_snapshot_seconds", "Age of the oldest transaction that keeps dead rows from being removed.",
		s.OldestSnapshot.Seconds())
	single("fleetboard_oldest_snapshot_transactions",
		"Transactions since the oldest snapshot of a session, a prepared transaction or a replication slot.",
		float64(s.SnapshotTransactions))
	single("fleetboard_unseen_sessions", "Sessions of other logins whose age the owner may not see: grant it pg_read_all_stats.",
		float64(s.UnseenSessions))
	return b.Bytes()
}
