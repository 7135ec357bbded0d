package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/internal/coordinator/vitals"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// listenForMetrics listens on the address of /metrics where one is configured.
func (a *App) listenForMetrics(ctx context.Context, address string) (err error) {
	if address == "" {
		return nil
	}
	if a.metrics, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return fmt.Errorf("FLEETBOARD_METRICS_LISTEN: listen on %s: %w", address, err)
	}
	return nil
}

// answerMetrics answers /metrics. With an address of its own it does so to whoever reaches it,
// behind guard, in the task that it returns; else on mux, to this machine only.
func (a *App) answerMetrics(cfg Config, mux *http.ServeMux, guard func(http.Handler) http.Handler) []runloop.Task {
	metrics := handlers.Metrics(edge.NewProbe(0, vitals.New(a.db).Sample).Get, a.log, processFigures{a, a.backupStatus(cfg)})
	if a.metrics == nil {
		mux.Handle("/metrics", handlers.OnlyLocal(metrics))
		return nil
	}
	metricsMux := http.NewServeMux()
	metricsMux.Handle("/metrics", metrics)
	server := a.httpServer(guard(metricsMux))
	return []runloop.Task{{Name: "metrics", Run: func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		if err := server.Serve(a.metrics); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}}}
}
