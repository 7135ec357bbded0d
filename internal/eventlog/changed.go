package eventlog

import (
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// sweepEvery is how often all workspaces are looked at, not only those that a wake-up named.
const sweepEvery = 30 * time.Second

// Changed knows in which workspaces something was appended to a log since they were looked at,
// by wake-ups whose topic ends with the workspace, such as Topic. Its zero value returns all of
// them. Methods are safe for concurrent use.
type Changed struct {
	mu    sync.Mutex
	of    map[ids.ID]bool
	swept time.Time
}

// Note takes a wake-up; one without a workspace says that some may have been missed.
func (c *Changed) Note(topic string) {
	_, workspace, _ := strings.Cut(topic, ":")
	id, ok := ids.Parse(workspace)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok {
		c.swept = time.Time{}
		return
	}
	if c.of == nil {
		c.of = map[ids.ID]bool{}
	}
	c.of[id] = true
}

// Take gives the workspaces to look at, and whether that is all of them.
func (c *Changed) Take(now time.Time) (list []ids.ID, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.swept) >= sweepEvery {
		c.swept, c.of = now, nil
		return nil, true
	}
	for id := range c.of {
		list = append(list, id)
	}
	c.of = nil
	return list, false
}
