package app

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/handlers/edge"
)

// readyFor is how long an answer of /readyz is cached.
const readyFor = time.Second

// readiness returns the check whether requests can be answered, also those that write.
func (a *App) readiness() func(context.Context) error {
	probe := edge.NewProbe(readyFor, func(ctx context.Context) (struct{}, error) {
		if a.embedded != nil {
			if err := db.CheckSpace(a.clusterDir); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, a.db.CheckWrite(ctx)
	})
	return func(ctx context.Context) error {
		_, err := probe.Get(ctx)
		return err
	}
}
