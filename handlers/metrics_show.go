package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fleetboard/fleetboard/internal/coordinator/vitals"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

// maxScrapes is how many monitors are answered at the same time.
const maxScrapes = 4

// Metrics answers GET /metrics: what this process counts, more of it, and what the database holds of all
// workspaces together, for a monitor. Where the database is away it says so by fleetboard_database_up and
// leaves the database's figures out. It does not check who the caller is: put OnlyLocal in front of it,
// or an address that only the monitor reaches.
func Metrics(sample func(context.Context) (vitals.Sample, error), log *slog.Logger, more ...prometheus.Collector) http.Handler {
	figures := prometheus.NewRegistry()
	figures.MustRegister(metrics.Declared()...)
	figures.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		sampled{sample, log})
	figures.MustRegister(more...)
	answer := promhttp.HandlerFor(figures, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		answer.ServeHTTP(w, r)
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
