package claim

import (
	"context"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

const (
	// endingsPause is the least time between two looks at which offers of a workspace have ended.
	endingsPause = 100 * time.Millisecond
	// endingsRetry is when it is looked again where the database did not answer.
	endingsRetry = 2 * time.Second
)

// offerEndings has somebody look when the time of offers is over, which this process has made. What
// another process has made and did not live to see end is found by the watch of the lanes.
type offerEndings struct {
	look func(workspace ids.ID) (next time.Duration)

	mu     sync.Mutex
	alarms map[ids.ID]alarm
	closed bool
}

type alarm struct {
	at    time.Time
	timer *time.Timer
}

func newOfferEndings(look func(ids.ID) time.Duration) *offerEndings {
	return &offerEndings{look: look, alarms: map[ids.ID]alarm{}}
}

// await sees to it that somebody looks after a time.
func (e *offerEndings) await(workspace ids.ID, after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := time.Now().Add(max(after, endingsPause))
	known, waits := e.alarms[workspace]
	if e.closed || waits && !at.Before(known.at) {
		return
	}
	if waits {
		known.timer.Stop()
	}
	e.alarms[workspace] = alarm{at, time.AfterFunc(time.Until(at), func() { e.ring(workspace, at) })}
}

func (e *offerEndings) ring(workspace ids.ID, at time.Time) {
	e.mu.Lock()
	if e.closed || e.alarms[workspace].at != at {
		e.mu.Unlock()
		return
	}
	delete(e.alarms, workspace)
	e.mu.Unlock()
	if next := e.look(workspace); next > 0 {
		e.await(workspace, next)
	}
}

func (e *offerEndings) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, a := range e.alarms {
		a.timer.Stop()
	}
}

// wakeForEnded wakes the next in line for the jobs of a workspace whose offers have ended since the last
// look, and returns how long the offer stands that ends next, 0 where none does.
func (s *Service) wakeForEnded(workspace ids.ID) (next time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	var ended []offer.Ended
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		ended, next, err = s.offers.EndedTx(ctx, tx, workspace)
		return err
	})
	if err != nil {
		return endingsRetry // the database's absence is reported elsewhere
	}
	var topics []string
	var list []offer.Offer
	for _, o := range ended {
		topics = append(topics, jobs.LaneTopic(workspace, o.Lane))
		if o.Turn > 0 {
			list = append(list, o.Offer)
		}
	}
	s.effects.Wake(topics...)
	if s.announcer != nil && len(list) > 0 {
		s.announcer.Ended(ctx, list)
	}
	return next
}

// offered lets the waiting claims of a factory look that was offered a job. A missed wake-up wakes
// everybody by the lanes.
func (s *Service) offered(topic string) {
	if workspace, factory, ok := offer.ParseTopic(topic); ok {
		s.waiters.WakeFactory(workspace, factory)
	}
}
