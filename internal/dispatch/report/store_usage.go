package report

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// leaseName is a lease, whether it lasts or not.
type leaseName struct {
	job   ids.ID
	epoch int64
}

// usageLease is a lease that usage is reported for. Key is "" where there is no such job, Agent
// where nobody had it; Busy is set where somebody else raises its sums.
type usageLease = dbsqlc.UsageLeasesRow

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
		leases[leaseName{l.JobID, l.Epoch}] = l
	}
	return leases, nil
}
