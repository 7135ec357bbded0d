package jobs

import (
	"encoding/json"
	"fmt"
	"slices"

	"fleetboard/db/dbsqlc"
	"fleetboard/db/vault"
	"fleetboard/internal/eventlog"
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

// insert writes the jobs, their secrets, events, slots and dependencies.
func (c *creation) insert() error {
	rows := make([]dbsqlc.JobInsertParams, 0, len(c.list))
	for _, j := range c.list {
		row, err := c.row(j)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	var failed error
	q.JobInsert(c.ctx, c.tx, rows).Exec(func(_ int, err error) {
		if failed == nil {
			failed = err
		}
	})
	if failed != nil {
		return fmt.Errorf("insert jobs: %w", failed)
	}
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

func (c *creation) row(j Job) (dbsqlc.JobInsertParams, error) {
	acceptance, err := json.Marshal(j.Acceptance)
	if err != nil {
		return dbsqlc.JobInsertParams{}, fmt.Errorf("encode acceptance: %w", err)
	}
	input := j.InputContext
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	changes, payload, err := eventlog.Encode(j.beginning(), map[string]any{"title": j.Title})
	var idempotencyKey *string
	if j.IdempotencyKey != "" {
		idempotencyKey = &j.IdempotencyKey
	}
	return dbsqlc.JobInsertParams{
		WorkspaceID: c.who.Workspace, ID: j.ID, Key: j.Key, Title: j.Title, Kind: j.Kind, ProductID: j.ProductID,
		Repo: j.Repo, Phase: j.Phase, Priority: int16(j.Priority), Capabilities: j.Capabilities, Factory: j.Factory, //nolint:gosec // 0..10
		LaneID: j.LaneID, Tags: j.Tags, Status: string(j.Status), WaitReason: string(j.WaitReason),
		MaxRetries: int32(j.MaxRetries), MaxLost: int32(j.MaxLost), RetryBackoffSeconds: int32(j.RetryBackoffSeconds), //nolint:gosec // checked
		ReviewRequired: j.ReviewOverride, EstimatedComplexity: j.EstimatedComplexity,
		EstimatedMinutes: small(j.EstimatedMinutes), TokenBudget: j.TokenBudget, NotBefore: j.NotBefore,
		IdempotencyKey: idempotencyKey, Body: j.Body, Acceptance: acceptance, InputContext: input, SecretKeys: j.SecretKeys,
		WaitsForChildren: j.WaitsForChildren, CreatedBy: c.who.Name, ActorKind: string(c.who.Kind), Changes: changes, Payload: payload,
	}, err
}
