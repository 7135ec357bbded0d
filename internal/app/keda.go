package app

import (
	"context"
	"fmt"
	"net"

	"github.com/fleetboard/fleetboard/handlers/keda"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// listenForKEDA listens for KEDA where an address is configured.
func (a *App) listenForKEDA(ctx context.Context, address string) (err error) {
	if address == "" {
		return nil
	}
	if a.keda, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return fmt.Errorf("FLEETBOARD_KEDA_LISTEN: listen on %s: %w", address, err)
	}
	return nil
}

// answerKEDA answers KEDA in the task that it returns; none where no address is configured.
func (a *App) answerKEDA() []runloop.Task {
	if a.keda == nil {
		return nil
	}
	server := keda.New(a.services.Pools, a.services.Accounts.Tokens, a.done, a.log)
	return []runloop.Task{{Name: "keda", Run: func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, server.Stop)
		defer stop()
		return server.Serve(a.keda)
	}}}
}
