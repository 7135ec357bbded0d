package webhooks

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// alarm wakes a loop after a time; of several times that it is set to, the first counts. It belongs to the
// goroutine of the loop.
type alarm struct {
	kick  signal.Signal
	timer *time.Timer
	at    time.Time
}

func (a *alarm) set(d time.Duration) {
	now := time.Now()
	at := now.Add(d)
	if now.Before(a.at) {
		if !at.Before(a.at) {
			return
		}
		a.timer.Stop()
	}
	a.at, a.timer = at, time.AfterFunc(d, a.kick.Set)
}
