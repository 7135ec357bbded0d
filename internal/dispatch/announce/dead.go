package announce

import (
	"context"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
)

const (
	// Retention is how long dead offers are kept.
	Retention = 7 * 24 * time.Hour
	// maxOfJob is how many a job's page shows.
	maxOfJob = 10
	// expireBatch is how many dead offers one call of ExpireDeadOffers deletes at most.
	expireBatch = 5000
)

// DeadOffer is an offer that a broker delivered as often as it may, of a job that was still ready then.
type DeadOffer struct {
	ID         int64     `json:"id"`  // rises
	Job        string    `json:"job"` // its key
	Title      string    `json:"title"`
	Factory    string    `json:"factory"`
	Deliveries int       `json:"deliveries"`
	ExpiresAt  time.Time `json:"expires_at"` // until when the offer stood
	At         time.Time `json:"at"`
}

// Dead keeps an offer as dead, unless its job was taken or has changed.
func (s *Service) Dead(ctx context.Context, o transport.Offer, deliveries int) error {
	err := s.db.In(ctx, db.Workspace(o.Workspace), func(tx db.Tx) error { return insertTx(ctx, tx, o, deliveries) })
	if err == nil {
		metrics.DeadOffers.Inc()
	}
	return err
}

// DeadOffers returns dead offers before an id, 0 for the newest, the newest first. They are for people
// who run the fleet. Fault: Forbidden.
func (s *Service) DeadOffers(ctx context.Context, who tenancy.Principal, before int64, limit int) (list []DeadOffer, err error) {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.RunFleet) {
		return nil, fault.New(fault.Forbidden, "Only people who run the fleet see which offers nobody took.")
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = deadOffersTx(ctx, tx, who.Workspace, before, limit)
		return err
	})
	return list, err
}

// JobDeadOffers returns the newest dead offers of a job.
func (s *Service) JobDeadOffers(ctx context.Context, who tenancy.Principal, job ids.ID) (list []DeadOffer, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = jobDeadOffersTx(ctx, tx, who.Workspace, job)
		return err
	})
	return list, err
}

// ExpireDeadOffers deletes, a bounded number in each call, dead offers that are older than Retention. It
// returns how many.
func (s *Service) ExpireDeadOffers(ctx context.Context) (total int, err error) {
	var workspaces []ids.ID
	err = s.db.In(ctx, db.System, func(tx db.Tx) error {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	for _, workspace := range workspaces {
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := q.DeadOfferExpire(ctx, tx, workspace, Retention.Seconds(), expireBatch-total)
			total += int(n)
			return err
		})
		if err != nil || total >= expireBatch {
			return total, err
		}
	}
	return total, err
}
