package notifier

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/transport"
)

const (
	// pendingLimit bounds the topics that wait while they cannot be sent. Beyond it they are
	// replaced by allTopics.
	pendingLimit = 20_000
	// lookEvery is how often subscribers look again while the transport is not connected.
	lookEvery = 5 * time.Second
	// spreadFor is within what time processes that connect again at the same moment look again.
	spreadFor = time.Second
)

// Transport carries messages between the processes of one database. They may be lost or come
// twice.
type Transport interface {
	Name() string
	// Run receives until ctx ends, and then returns nil. Broken connections are made again for as
	// long as it takes.
	Run(ctx context.Context, r transport.Receiver) error
	// Send sends messages to all processes. After an error some may not have been sent.
	Send(ctx context.Context, messages []string) error
	// Close ends the connections, after Run and the last Send.
	Close(ctx context.Context)
}

// Notifier sends and receives topics. It is safe for concurrent use.
type Notifier struct {
	transport Transport
	log       *slog.Logger
	// instance is in each message, so that a process knows its own.
	instance string

	mu          sync.Mutex
	subscribers []*subscriber // replaced, never changed: deliver reads it without the lock
	pending     []string
	queued      map[string]struct{} // the topics in pending
	// toSend is set when pending has topics, retry when sending may succeed again.
	toSend, retry signal.Signal
	link          link
}

type subscriber struct {
	prefix string
	fn     func(topic string)
	// watched is one that looks for lost topics by itself.
	watched bool
}

// New returns a notifier. Until Run is called, topics reach only this process.
func New(t Transport, log *slog.Logger) *Notifier {
	return &Notifier{
		transport: t,
		log:       log,
		instance:  rand.Text(),
		queued:    map[string]struct{}{},
		toSend:    signal.New(),
		retry:     signal.New(),
	}
}

// Run receives and sends until ctx ends, and then returns nil. Broken connections are made again
// for as long as it takes.
func (n *Notifier) Run(ctx context.Context) error {
	var all sync.WaitGroup
	var err error
	all.Go(func() { err = n.transport.Run(ctx, receiver{n, ctx}) })
	all.Go(func() { n.send(ctx) })
	all.Go(func() { n.lookAgain(ctx) })
	all.Wait()
	n.sendLast(ctx)
	return err
}

// Publish sends topics to the subscribers of this process, at once and on the
// caller's goroutine, and to those of the other processes within milliseconds.
// It never waits for the transport. Call it after the commit. A topic is a short
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
// itself whenever something may have been missed, which means: look again. That
// is when the transport connects, and every few seconds while it is not connected.
// fn is called from several goroutines and must return quickly. After cancel no
// new call begins; one may be under way.
func (n *Notifier) Subscribe(prefix string, fn func(topic string)) (cancel func()) {
	return n.subscribe(&subscriber{prefix: prefix, fn: fn})
}

// SubscribeWatched is Subscribe for one that looks for lost topics by itself: it is
// called with the bare prefix only when the transport connects.
func (n *Notifier) SubscribeWatched(prefix string, fn func(topic string)) (cancel func()) {
	return n.subscribe(&subscriber{prefix: prefix, fn: fn, watched: true})
}

func (n *Notifier) subscribe(s *subscriber) (cancel func()) {
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
	for _, s := range n.allSubscribers() {
		switch {
		case topic == allTopics:
			s.fn(s.prefix)
		case strings.HasPrefix(topic, s.prefix):
			s.fn(topic)
		}
	}
}

func (n *Notifier) allSubscribers() []*subscriber {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.subscribers
}

// lookAgain lets those look again that do not by themselves, as long as topics do not arrive.
func (n *Notifier) lookAgain(ctx context.Context) {
	for signal.Sleep(ctx, signal.Jitter(lookEvery, 0.5)) == nil {
		if n.Status().Connected {
			continue
		}
		for _, s := range n.allSubscribers() {
			if !s.watched {
				s.fn(s.prefix)
			}
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

// putBack makes topics pending again that could not be sent.
func (n *Notifier) putBack(topics []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range topics {
		n.enqueue(t)
	}
	n.toSend.Set()
}
