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

// listenForMetrics opens the address that only the monitor reaches, where one is
// configured.
func (a *App) listenForMetrics(ctx context.Context, address string) (err error) {
	if address == "" {
		return nil
	}
	if a.metrics, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return fmt.Errorf("FLEETBOARD_METRICS_LISTEN: listen on %s: %w", address, err)
	}
	return nil
}

// answerMetrics answers /metrics: on the address of its own to whoever reaches it,
// as the task that is returned, behind guard; else beside all else, to this machine
// only.
func (a *App) answerMetrics(mux *http.ServeMux, guard func(http.Handler) http.Handler) []runloop.Task {
	metrics := handlers.Metrics(edge.NewProbe(0, vitals.New(a.db).Sample).Get, a.log)
	if a.metrics == nil {
		mux.Handle("/metrics", handlers.OnlyLocal(metrics))
		return nil
	}
	own := http.NewServeMux()
	own.Handle("/metrics", metrics)
	server := a.httpServer(guard(own))
	return []runloop.Task{{Name: "metrics", Run: func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		if err := server.Serve(a.metrics); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}}}
}
