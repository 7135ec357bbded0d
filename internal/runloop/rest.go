package runloop

import (
	"context"
	"time"
)

// restShare is how many times as long as a page of a backlog took a loop rests before the
// next one: work that can wait takes a seventh of a core from work that people wait for.
const restShare = 6

// Rest lets others work before the next page of a backlog: six times as long as since began,
// or until ctx ends.
func Rest(ctx context.Context, began time.Time) {
	wait(ctx, restShare*time.Since(began), nil)
}
