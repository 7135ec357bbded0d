package runloop

import (
	"context"
	"time"
)

// restFactor is how many times as long as a page of a backlog took a loop rests before the
// next one: work that can wait uses at most a seventh of a core.
const restFactor = 6

// Rest waits before the next page of a backlog, six times as long as since began or until ctx
// ends, so that other work comes first.
func Rest(ctx context.Context, began time.Time) {
	wait(ctx, restFactor*time.Since(began), nil)
}
