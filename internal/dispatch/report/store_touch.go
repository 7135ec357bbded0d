package report

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// touching is a lease under which an agent touches files.
type touching struct {
	job        collisions.Lease
	repo       string
	hasSecrets bool
}

// touchingLease reads a lease, without a lock. held is false where the agent does not have it.
func touchingLease(ctx context.Context, tx db.Tx, who tenancy.Principal, ref lease.Ref) (t touching, held bool, err error) {
	p := dbsqlc.TouchLeaseParams{WorkspaceID: who.Workspace, Key: ref.Job, Epoch: ref.Epoch, AgentID: who.Agent}
	if id, ok := ids.Parse(ref.Job); ok {
		p.ID = &id
	}
	row, err := q.TouchLease(ctx, tx, p)
	if errors.Is(err, pgx.ErrNoRows) {
		return touching{}, false, nil
	}
	job := collisions.Lease{ID: row.ID, Epoch: ref.Epoch, Key: row.Key, Product: row.ProductID}
	return touching{job, row.Repo, row.HasSecrets}, true, err
}
