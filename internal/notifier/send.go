package notifier

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// gatherFor is how long topics are gathered after something was sent. After a pause the
	// first topic is sent at once.
	gatherFor    = 5 * time.Millisecond
	sendTimeout  = 5 * time.Second
	closeTimeout = time.Second
	// minWait is the shortest wait before sending is tried again. After failures in a row the
	// wait grows from backoffFirst to backoffLongest.
	minWait        = 250 * time.Millisecond
	backoffFirst   = 5 * time.Second
	backoffLongest = 40 * time.Second
)

// send sends what is pending until ctx ends. An interruption is logged once, and so is its end.
func (n *Notifier) send(ctx context.Context) {
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.toSend.C():
		}
		err := n.flush(ctx)
		switch {
		case err == nil && failures > 0:
			n.log.Info("sending notifications works again", "tries", failures)
			failures = 0
		case err != nil && ctx.Err() == nil:
			if failures == 0 {
				n.log.Warn("sending notifications was interrupted", "error", err)
			}
			n.pause(ctx, max(minWait, signal.Backoff(backoffFirst, backoffLongest, failures)))
			failures++
			continue
		}
		_ = signal.Sleep(ctx, gatherFor)
	}
}

// pause waits before sending is tried again, for a time or until the transport has connected.
func (n *Notifier) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-n.retry.C():
	}
}

// sendLast sends what was published just before the end, if anything, and ends the connections.
func (n *Notifier) sendLast(ctx context.Context) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := n.flush(limited); err != nil {
		n.log.Warn("the last notifications were not sent", "error", err)
	}
	n.transport.Close(limited)
}

// flush sends all that is pending, or keeps it pending.
func (n *Notifier) flush(ctx context.Context) error {
	topics := n.takePending()
	if len(topics) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := n.transport.Send(limited, encode(n.instance, topics))
	if err != nil {
		n.putBack(topics)
		return err
	}
	metrics.WakeUpsSent.Add(float64(len(topics)))
	return nil
}
