package notifier

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// pendingLimit bounds the topics that wait while the database cannot be reached. Beyond it they
// are replaced by allTopics.
const pendingLimit = 20_000

// Notifier sends and receives topics. It is safe for concurrent use.
type Notifier struct {
	db  *db.DB
	log *slog.Logger
	// instance is in each message, so that a process knows its own.
	instance string

	mu          sync.Mutex
	subscribers []*subscriber // replaced, never changed: deliver reads it without the lock
	pending     []string
	queued      map[string]struct{} // the topics in pending
	// toSend is set when pending has topics.
	toSend signal.Signal
}

type subscriber struct {
	prefix string
	fn     func(topic string)
}

// New returns a notifier. Until Run is called, topics reach only this process.
func New(d *db.DB, log *slog.Logger) *Notifier {
	return &Notifier{
		db:       d,
		log:      log,
		instance: rand.Text(),
		queued:   map[string]struct{}{},
		toSend:   signal.New(),
	}
}

// Run listens and sends until ctx ends, and then returns nil. Broken connections are made again
// for as long as it takes.
func (n *Notifier) Run(ctx context.Context) error {
	var both sync.WaitGroup
	both.Go(func() { n.listen(ctx) })
	both.Go(func() { n.send(ctx) })
	both.Wait()
	return nil
}

// Publish sends topics to the subscribers of this process, at once and on the
// caller's goroutine, and to those of the other processes within milliseconds.
// It never waits for the database. Call it after the commit. A topic is a short
// word without line breaks.
func (n *Notifier) Publish(topics ...string) {
	n.mu.Lock()
	for _, t := range topics {
		n.enqueue(t)
	}
	n.mu.Unlock()
	n.toSend.Set()
	for _, t := range topics {
		n.deliver(t)
	}
}

// Subscribe calls fn for each topic that begins with prefix, and with prefix
// itself whenever listening begins or begins again, which means: something may
// have been missed, look again. fn is called from several goroutines and must
// return quickly. After cancel no new call begins; one may be under way.
func (n *Notifier) Subscribe(prefix string, fn func(topic string)) (cancel func()) {
	s := &subscriber{prefix, fn}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribers = append(slices.Clone(n.subscribers), s)
	return func() { n.unsubscribe(s) }
}

func (n *Notifier) unsubscribe(s *subscriber) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribers = slices.DeleteFunc(slices.Clone(n.subscribers), func(other *subscriber) bool { return other == s })
}

// deliver calls the subscribers of a topic; for allTopics all of them.
func (n *Notifier) deliver(topic string) {
	n.mu.Lock()
	subscribers := n.subscribers
	n.mu.Unlock()
	for _, s := range subscribers {
		switch {
		case topic == allTopics:
			s.fn(s.prefix)
		case strings.HasPrefix(topic, s.prefix):
			s.fn(topic)
		}
	}
}

// enqueue adds a topic that is not waiting already. The caller holds mu.
func (n *Notifier) enqueue(topic string) {
	if _, ok := n.queued[topic]; ok {
		return
	}
	if len(n.pending) >= pendingLimit {
		clear(n.queued)
		n.pending = n.pending[:0]
		topic = allTopics
	}
	n.queued[topic] = struct{}{}
	n.pending = append(n.pending, topic)
}

// takePending returns the pending topics, of which none is left.
func (n *Notifier) takePending() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	topics := n.pending
	n.pending = nil
	clear(n.queued)
	return topics
}

func (n *Notifier) nothingPending() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pending) == 0
}

// putBack makes topics pending again that could not be sent.
func (n *Notifier) putBack(topics []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range topics {
		n.enqueue(t)
	}
}
