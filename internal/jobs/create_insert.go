package jobs

import (
	"fmt"
	"slices"

	"fleetboard/db/dbsqlc"
	"fleetboard/db/vault"
	"fleetboard/internal/ids"
)

// internLanes finds or makes the lanes of all needs, in the order of their
// digests so that two batches never wait for each other crosswise.
func (c *creation) internLanes() error {
	type pending struct {
		needs Needs
		jobs  []int
	}
	byDigest := map[string]*pending{}
	for i, j := range c.list {
		digest := string(j.Needs().digest())
		if byDigest[digest] == nil {
			byDigest[digest] = &pending{needs: j.Needs()}
		}
		byDigest[digest].jobs = append(byDigest[digest].jobs, i)
	}
	digests := make([]string, 0, len(byDigest))
	for d := range byDigest {
		digests = append(digests, d)
	}
	slices.Sort(digests)
	for _, d := range digests {
		lane, err := internTx(c.ctx, c.tx, c.who.Workspace, byDigest[d].needs)
		if err != nil {
			return err
		}
		for _, i := range byDigest[d].jobs {
			c.list[i].LaneID = lane
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
	if err := c.insertSecrets(); err != nil {
		return err
	}
	if err := c.admission.takeSlots(); err != nil {
		return err
	}
	return c.insertDependencies()
}

// insertSecrets seals the values of all jobs and writes them at once.
func (c *creation) insertSecrets() error {
	p := dbsqlc.JobSecretInsertParams{WorkspaceID: c.who.Workspace}
	var key vault.Key
	for i, j := range c.list {
		for name, secret := range c.secrets[i] {
			if len(p.JobIds) == 0 {
				var err error
				if key, err = c.vault.WriterTx(c.ctx, c.tx, c.who.Workspace); err != nil {
					return locked(err)
				}
				p.KeyID = key.ID
			}
			sealed := key.Seal(secretPlace(c.who.Workspace, j.ID, name), secret.Reveal())
			p.JobIds, p.Names, p.Sealed = append(p.JobIds, j.ID), append(p.Names, name), append(p.Sealed, sealed.Bytes)
		}
	}
	if len(p.JobIds) == 0 {
		return nil
	}
	if err := q.JobSecretInsert(c.ctx, c.tx, p); err != nil {
		return fmt.Errorf("insert secrets: %w", err)
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
