package jobs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

// intern finds or makes the lanes of all needs, in the order of their digests so
// that two batches never wait for each other crosswise, and at last the keys that
// are not given.
func (c *creation) intern() error {
	byDigest := map[string][]int{}
	for i, j := range c.list {
		digest := string(j.Needs().digest())
		byDigest[digest] = append(byDigest[digest], i)
	}
	digests := slices.Sorted(maps.Keys(byDigest))
	lanes, asks := make([]int64, len(digests)), make([]func(db.Tx) error, 0, len(digests)+1)
	for at, digest := range digests {
		asks = append(asks, func(tx db.Tx) (err error) {
			lanes[at], err = makeLaneTx(c.ctx, tx, c.who.Workspace, c.list[byDigest[digest][0]].Needs())
			return err
		})
	}
	if err := c.tx.Together(c.ctx, append(asks, c.takeKeys)...); err != nil {
		return err
	}
	for at, digest := range digests {
		jobs := byDigest[digest]
		if lanes[at] == 0 {
			var err error
			if lanes[at], err = laneTx(c.ctx, c.tx, c.who.Workspace, c.list[jobs[0]].Needs()); err != nil {
				return err
			}
		}
		for _, i := range jobs {
			c.list[i].LaneID = lanes[at]
		}
	}
	return nil
}

// admit puts new jobs that would be ready back to waiting where something else
// than their own dependencies and times holds them.
func (c *creation) admit() error {
	c.admission = admission{ctx: c.ctx, tx: c.tx, workspace: c.who.Workspace}
	return c.admission.admitNew(c.list)
}

// insert writes the jobs with their events, then secrets, slots and dependencies.
func (c *creation) insert() error {
	rows, err := c.rows()
	if err != nil {
		return err
	}
	at, err := q.JobInsert(c.ctx, c.tx, rows)
	if err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	c.wrote(at)
	if err := cmp.Or(c.vault.InsertTx(c.ctx, c.tx, c.who.Workspace, c.secrets), c.insertRequests()); err != nil {
		return err
	}
	if err := c.admission.takeSlots(); err != nil {
		return err
	}
	return c.insertDependencies()
}

// insertRequests keeps what the jobs with idempotency keys were asked for as.
func (c *creation) insertRequests() error {
	p := dbsqlc.JobRequestInsertParams{WorkspaceID: c.who.Workspace}
	for i, n := range c.in {
		if n.IdempotencyKey == "" {
			continue
		}
		digests, err := c.digests(n)
		if err != nil {
			return err
		}
		p.JobIds, p.Digests = append(p.JobIds, c.ids[i]), append(p.Digests, digests[0])
	}
	if len(p.JobIds) == 0 {
		return nil
	}
	if err := q.JobRequestInsert(c.ctx, c.tx, p); err != nil {
		return fmt.Errorf("insert requests: %w", err)
	}
	return nil
}

func (c *creation) insertDependencies() error {
	var from, to []ids.ID
	for i, deps := range c.deps {
		for _, d := range deps {
			from, to = append(from, c.list[i].ID), append(to, d)
		}
	}
	if len(from) == 0 {
		return nil
	}
	err := q.JobDependencyInsert(c.ctx, c.tx, dbsqlc.JobDependencyInsertParams{
		WorkspaceID: c.who.Workspace, JobIds: from, DependsOnIds: to, CreatedBy: c.who.Name})
	if err != nil {
		return fmt.Errorf("insert dependencies: %w", err)
	}
	return nil
}
