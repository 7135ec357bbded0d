package report

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// leaseName is a lease, whether it lasts or not.
type leaseName struct {
	job   ids.ID
	epoch int64
}

// usageLease is a lease that usage is reported for.
type usageLease struct {
	leaseName
	key         string // of its job, "" where there is no such job
	agent       string // that had it, "" where nobody had
	productName string
	booking     spend.Booking
	charged     spend.Nanos // so far
	busy        bool        // somebody else raises its sums
	hasSecrets  bool
	hasBudget   bool
}

// usageLeases finds leases. Where hold is set it locks their sums as far as nobody else
// has.
func usageLeases(ctx context.Context, tx db.Tx, workspace ids.ID, list []leaseName, hold bool) (map[leaseName]usageLease, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var (
		in     []ids.ID
		epochs []int64
	)
	for _, l := range list {
		in, epochs = append(in, l.job), append(epochs, l.epoch)
	}
	rows, err := q.UsageLeases(ctx, tx, workspace, hold, in, epochs)
	if err != nil {
		return nil, err
	}
	leases := make(map[leaseName]usageLease, len(rows))
	for _, l := range rows {
		name := leaseName{l.JobID, l.Epoch}
		leases[name] = usageLease{leaseName: name, key: l.Key, agent: l.Agent, productName: l.Product,
			booking: spend.Booking{Job: l.JobID, Epoch: l.Epoch, AgentName: l.Agent, Factory: l.Factory, Product: l.ProductID,
				Phase: l.Phase, Repo: l.Repo, Claimed: l.ClaimedAt, Now: l.Now, Late: l.IsOver},
			charged: spend.Nanos(l.ChargedNanos), busy: l.Busy, hasSecrets: l.HasSecrets, hasBudget: l.HasBudget}
	}
	return leases, nil
}
