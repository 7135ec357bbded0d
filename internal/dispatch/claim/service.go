package claim

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// Subscriber delivers wake-ups, from every process of one database.
type Subscriber interface {
	SubscribeWatched(prefix string, fn func(topic string)) (cancel func())
}

// Reaper takes back lapsed leases.
type Reaper interface {
	// ReapInPassing takes back a few of a workspace, where there are any.
	ReapInPassing(ctx context.Context, workspace ids.ID)
}

// Service gives jobs to agents.
type Service struct {
	db              *db.DB
	jobs            *jobs.Service
	reaper          Reaper
	waiters         *waitlist.List
	effects         *lease.Effects
	lanes           *laneCache
	served          *servedLanes
	fresh           *laneAlarm
	watermarks      *scanWatermarks
	leaseWatermarks *leaseWatermarks
	settings        *setting.Cache
	strides         *strides
	reader          *decision.Reader
	announcer       offer.Announcer // nil announces offers to nobody
	offers          *offer.Endings
	endings         *offerEndings
	claims          *batch.Queue[claimCall, claimResult]
	// unsubscribe ends the subscriptions to wake-ups.
	unsubscribe []func()
}

// New returns the claims of the jobs kept in d. Close ends its subscriptions.
func New(d *db.DB, list *jobs.Service, wake Subscriber, reaper Reaper, waiters *waitlist.List, effects *lease.Effects) *Service {
	s := &Service{db: d, jobs: list, reaper: reaper, waiters: waiters, effects: effects,
		lanes: newLaneCache(), served: newServedLanes(), watermarks: newScanWatermarks(), leaseWatermarks: newLeaseWatermarks(),
		settings: setting.NewCache(), strides: newStrides(), reader: decision.NewReader(), offers: offer.NewEndings()}
	s.claims = batch.New(d, batch.Handler[claimCall, claimResult]{Lock: s.lockClaim, Exec: s.execClaims})
	s.waiters.Watch = s.pollLanes
	s.fresh = newLaneAlarm(s.laneIsNew)
	s.endings = newOfferEndings(s.wakeForEnded)
	s.unsubscribe = []func(){wake.SubscribeWatched(offer.Topics, s.offered), wake.SubscribeWatched(setting.Topics, s.settingsChanged),
		wake.SubscribeWatched("lane:", s.wakeLane), wake.SubscribeWatched("seat:", s.waiters.SeatFreed),
		wake.SubscribeWatched(tokens.RevokedTopics, s.wakeForEndedTokens), wake.SubscribeWatched(prices.Topics, s.pricesChanged)}
	return s
}

// AnnounceOffers has offers announced to a, from here on. It is called before the first claim.
func (s *Service) AnnounceOffers(a offer.Announcer) { s.announcer = a }

// Close ends the subscriptions to wake-ups and every wait.
func (s *Service) Close() {
	for _, end := range s.unsubscribe {
		end()
	}
	s.fresh.close()
	s.endings.close()
	s.waiters.Close()
}

// wakeForEndedTokens lets the waiting claims of a workspace look again, so that those
// whose token has ended end. A missed wake-up wakes everybody by the lanes.
func (s *Service) wakeForEndedTokens(topic string) {
	if workspace, ok := tokens.ParseRevokedTopic(topic); ok {
		s.waiters.WakeWorkspace(workspace)
	}
}

// wakeLane handles a claimable job in a lane, or, with the bare prefix,
// that wake-ups may have been missed.
func (s *Service) wakeLane(topic string) {
	workspace, lane, ok := jobs.ParseLaneTopic(topic)
	if !ok {
		s.lanes.forgetAll()
		s.waiters.WakeAll()
		return
	}
	if !s.lanes.knows(workspace, lane) {
		s.fresh.ring(workspace)
		return
	}
	s.waiters.LaneChanged(workspace, lane)
}

// settingsChanged lets the waiting claims of a workspace look again, which gives its jobs out in another
// way from now on. A missed wake-up wakes everybody by the lanes.
func (s *Service) settingsChanged(topic string) {
	if workspace, ok := setting.ParseTopic(topic); ok {
		s.waiters.WakeWorkspace(workspace)
	}
}

// laneIsNew lets the waiting claims of a workspace look which lanes they serve.
func (s *Service) laneIsNew(workspace ids.ID) {
	s.lanes.forget(workspace)
	s.waiters.WakeWorkspace(workspace)
}

// Transactions returns how many transactions calls were answered in so far.
func (s *Service) Transactions() int64 {
	return s.claims.Transactions()
}

// Waiting returns how many claims of a workspace wait in this process.
func (s *Service) Waiting(workspace ids.ID) int { return s.waiters.Len(workspace) }
