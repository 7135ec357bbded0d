package jobs

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// ensureLanes finds or makes the lanes of all needs, in the order of their digests so
// that two batches never wait for each other crosswise, and at last the keys that
// are not given.
func (c *creation) ensureLanes() error {
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
	if err := c.tx.Pipeline(c.ctx, append(asks, c.takeKeys)...); err != nil {
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
	at, err := insertJobsTx(c.ctx, c.tx, c.who, c.list)
	if err != nil {
		return err
	}
	c.written(at)
	if err := cmp.Or(c.vault.InsertTx(c.ctx, c.tx, c.who.Workspace, c.secrets), c.insertRequests()); err != nil {
		return err
	}
	if err := c.admission.takeSlots(); err != nil {
		return err
	}
	return c.insertDependencies()
}

// insertRequests keeps the requests that made jobs with idempotency keys.
func (c *creation) insertRequests() error {
	kept := map[ids.ID][]byte{}
	for i, n := range c.in {
		if n.IdempotencyKey == "" {
			continue
		}
		digests, err := c.digests(n)
		if err != nil {
			return err
		}
		kept[c.ids[i]] = digests[0]
	}
	return insertRequestsTx(c.ctx, c.tx, c.who.Workspace, kept)
}

func (c *creation) insertDependencies() error {
	var list []link
	for i, deps := range c.deps {
		for _, d := range deps {
			list = append(list, link{job: c.list[i].ID, dependsOn: d})
		}
	}
	return insertDependenciesTx(c.ctx, c.tx, c.who, list)
}

// written fills in what the database decided. at is the time of the insertion.
func (c *creation) written(at time.Time) {
	for i := range c.list {
		j := &c.list[i]
		j.Version, j.CreatedBy, j.StatusBy = 1, c.who.Name, c.who.Actor()
		j.StatusAt, j.CreatedAt, j.UpdatedAt = at, at, at
		j.AcceptanceMet = checkmarks(nil, len(j.Acceptance))
		if j.Status == Ready {
			j.ReadyAt = &at
		}
	}
}

// created gives the new jobs as they stand in the database. Only those are read back
// of which it may have another form: input contexts, times, and what is depended on.
func (c *creation) created() ([]Job, error) {
	var other []int
	for i, j := range c.list {
		if string(j.InputContext) != noInput || j.NotBefore != nil || len(c.deps[i]) > 0 {
			other = append(other, i)
		}
	}
	if len(other) == 0 {
		return c.list, nil
	}
	asked := make([]ids.ID, 0, len(other))
	for _, i := range other {
		asked = append(asked, c.ids[i])
	}
	read, err := c.load(asked)
	if err != nil {
		return nil, err
	}
	for k, i := range other {
		c.list[i] = read[k]
	}
	return c.list, nil
}

// noInput is an input context without an entry.
const noInput = "{}"

func orNoInput(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage(noInput)
	}
	return input
}
