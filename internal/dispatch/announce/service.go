package announce

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// Broker keeps offers until they have ended.
type Broker interface {
	// Run receives until ctx ends.
	Run(ctx context.Context, r transport.OfferReceiver) error
	// Publish returns once the offers are kept.
	Publish(ctx context.Context, list []transport.Offer) error
	// Credentials lets a program hear for some time that a factory is offered jobs. An error is
	// transport.ErrNoCredentials where no key signs them.
	Credentials(workspace, factory ids.ID, lasts time.Duration) (transport.FactoryCredentials, error)
}

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	SubscribeWatched(prefix string, fn func(topic string)) (cancel func())
}

const (
	// maxQueued bounds the offers that wait to be published. What comes then is not announced.
	maxQueued = 10_000
	// maxTogether is how many offers are published at once.
	maxTogether    = 256
	publishTimeout = 5 * time.Second
	// maxKnown bounds the deliveries, and the ended offers, that a process remembers.
	maxKnown = 10_000
	// endedTopics is the prefix of the topics of offers that have ended.
	endedTopics = "offer-ended:"
)

// Service announces offers. It is safe for concurrent use.
type Service struct {
	db     *db.DB
	wake   Notifier
	log    *slog.Logger
	broker Broker // nil announces nothing
	queue  chan transport.Offer
	cancel func()

	mu sync.Mutex
	// delivered are offers that this process may acknowledge, by their topic. ended are those that it
	// will acknowledge as soon as they come.
	delivered *lru.Cache[string, transport.Delivery]
	ended     *lru.Cache[string, struct{}]
}

// New returns the announcements over a broker, nil for none. Close ends its subscription.
func New(d *db.DB, wake Notifier, broker Broker, log *slog.Logger) *Service {
	s := &Service{db: d, wake: wake, log: log, broker: broker, queue: make(chan transport.Offer, maxQueued), cancel: func() {}}
	s.delivered, _ = lru.New[string, transport.Delivery](maxKnown) // fails of a size below 1 only
	s.ended, _ = lru.New[string, struct{}](maxKnown)
	if broker != nil {
		s.cancel = wake.SubscribeWatched(endedTopics, s.acknowledge)
	}
	return s
}

// Close ends the subscription.
func (s *Service) Close() { s.cancel() }

// Announcer returns what dispatch calls, nil where nothing is announced.
func (s *Service) Announcer() offer.Announcer {
	if s.broker == nil {
		return nil
	}
	return s
}

// Offered has offers published soon.
func (s *Service) Offered(_ context.Context, list []offer.Offer) {
	for _, o := range list {
		select {
		case s.queue <- transport.Offer{Workspace: o.Workspace, Job: o.Job, Version: o.Version, Factory: o.FactoryID,
			ExpiresAt: o.ExpiresAt}:
		default:
			return // wake-ups announce them too
		}
	}
}

// Ended has offers acknowledged by the processes to which they were delivered.
func (s *Service) Ended(_ context.Context, list []offer.Offer) {
	topics := make([]string, len(list))
	for i, o := range list {
		topics[i] = endedTopic(o.Job, o.Version, o.FactoryID)
	}
	s.wake.Publish(topics...)
}

func endedTopic(job ids.ID, version int64, factory ids.ID) string {
	return fmt.Sprintf("%s%s:%d:%s", endedTopics, job, version, factory)
}

// acknowledge takes the topic of an offer that has ended.
func (s *Service) acknowledge(topic string) {
	s.mu.Lock()
	d, here := s.delivered.Peek(topic)
	s.delivered.Remove(topic)
	s.ended.Add(topic, struct{}{})
	s.mu.Unlock()
	if here {
		_ = d.Done() // otherwise it is delivered again, and acknowledged then
	}
}

// Run publishes and receives until ctx ends, and then returns nil.
func (s *Service) Run(ctx context.Context) error {
	if s.broker == nil {
		<-ctx.Done()
		return nil
	}
	var publishing sync.WaitGroup
	publishing.Go(func() { s.publish(ctx) })
	err := s.broker.Run(ctx, s)
	publishing.Wait()
	return err
}

// publish publishes what is offered until ctx ends. The first failure of several is logged, and their
// end.
func (s *Service) publish(ctx context.Context) {
	failing := false
	for {
		list := s.next(ctx)
		if list == nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, publishTimeout)
		err := s.broker.Publish(limited, list)
		cancel()
		switch {
		case err != nil && !failing && ctx.Err() == nil:
			s.log.WarnContext(ctx, "the broker does not keep offers; factories hear of them by wake-ups alone", "error", err)
		case err == nil && failing:
			s.log.InfoContext(ctx, "the broker keeps offers again")
		}
		failing = err != nil
	}
}

// next waits for offers, and returns those that are there; nil once ctx has ended.
func (s *Service) next(ctx context.Context) []transport.Offer {
	var list []transport.Offer
	select {
	case first := <-s.queue:
		list = append(list, first)
	case <-ctx.Done():
		return nil
	}
	for len(list) < maxTogether {
		select {
		case one := <-s.queue:
			list = append(list, one)
		default:
			return list
		}
	}
	return list
}

// Delivered wakes the claims of a factory, wherever they wait, unless its offer has ended already.
func (s *Service) Delivered(d transport.Delivery) {
	topic := endedTopic(d.Job, d.Version, d.Factory)
	s.mu.Lock()
	over := s.ended.Contains(topic)
	if !over {
		s.delivered.Add(topic, d)
	}
	s.mu.Unlock()
	if over {
		_ = d.Done()
		return
	}
	s.wake.Publish(offer.Topic(d.Workspace, d.Factory))
}
