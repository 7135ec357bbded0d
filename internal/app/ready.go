package app

import (
	"context"
	"errors"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/handlers/edge"
)

// readyFor is how long an answer of /readyz is cached.
const readyFor = time.Second

var errEnding = errors.New("the server was asked to end")

// readiness returns the check whether requests can be answered, also those that write, and will be.
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
		if a.ending.Load() {
			return errEnding
		}
		_, err := probe.Get(ctx)
		return err
	}
}
