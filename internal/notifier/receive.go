package notifier

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/fleetboard/fleetboard/internal/metrics"
)

// Status is how topics of other processes reach this one.
type Status struct {
	Transport string
	// Connected reports whether they do.
	Connected bool
	// LastMessageAt is when the last message came, also of this process itself; zero before the
	// first.
	LastMessageAt time.Time
}

// Fallback reports whether the safety poll alone wakes who waits for what other processes do.
func (s Status) Fallback() bool { return !s.Connected }

// link is what is known of the transport.
type link struct {
	connected, wasConnected, interrupted bool
	lastMessageAt                        time.Time
}

// Status returns how topics of other processes reach this one.
func (n *Notifier) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Status{Connected: n.link.connected, LastMessageAt: n.link.lastMessageAt}
	if n.transport != nil {
		s.Transport = n.transport.Name()
	}
	return s
}

// receiver takes what the transport of a notifier receives, as long as the notifier runs.
type receiver struct {
	*Notifier

	run context.Context
}

// Connected lets all subscribers look again: at once for the first time, and later at a moment of
// its own, since the other processes connect again then too.
func (r receiver) Connected() {
	r.mu.Lock()
	before := r.link
	r.link.connected, r.link.wasConnected, r.link.interrupted = true, true, false
	r.mu.Unlock()
	r.retry.Set()
	if before.interrupted {
		r.log.Info("receiving notifications works again")
	}
	if !before.wasConnected {
		r.deliver(allTopics)
		return
	}
	time.AfterFunc(rand.N(spreadFor), func() {
		if r.run.Err() == nil {
			r.deliver(allTopics)
		}
	})
}

// Disconnected logs the first error of an interruption.
func (r receiver) Disconnected(err error) {
	r.mu.Lock()
	before := r.link
	r.link.connected, r.link.interrupted = false, true
	r.mu.Unlock()
	if !before.interrupted {
		metrics.Interruptions.Inc()
		r.log.Warn("receiving notifications was interrupted", "error", err)
	}
}

// Receive delivers the topics of a message.
func (r receiver) Receive(message string) {
	metrics.WakeUpsReceived.Inc()
	r.mu.Lock()
	r.link.lastMessageAt = time.Now()
	r.mu.Unlock()
	sender, topics := decode(message)
	if sender == r.instance {
		return // delivered by Publish
	}
	for _, t := range topics {
		r.deliver(t)
	}
}
