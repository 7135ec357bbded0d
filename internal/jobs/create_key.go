package jobs

import (
	"context"
	"slices"
	"strconv"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// refuseTaken refuses a key that was given and is another job's.
func (c *creation) refuseTaken() error {
	var given []string
	for _, j := range c.list {
		if j.Key != "" {
			given = append(given, j.Key)
		}
	}
	taken, err := c.taken(given)
	if err == nil && len(taken) > 0 {
		err = fault.New(fault.AlreadyExists, "There is already a job %s.", taken[0]).With("key", taken[0])
	}
	return err
}

// taken gives those of the keys that jobs have already.
func (c *creation) taken(keys []string) ([]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return q.JobKeyTaken(c.ctx, c.tx, c.who.Workspace, keys)
}

// reserveAbove is from how many keys on they are made before the transaction.
const reserveAbove = 50

// reserveKeys makes the keys of a large batch in a transaction of its own: the
// numbers are nobody else's until their transaction ends, and batches of one
// workspace are to be written beside one another. A batch that is refused or
// repeated leaves a gap.
func (s *Service) reserveKeys(ctx context.Context, who tenancy.Principal, in []New) (made []string, err error) {
	missing := 0
	for _, n := range in {
		if n.Key == "" {
			missing++
		}
	}
	if missing < reserveAbove {
		return nil, nil
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		made, err = nextKeys(ctx, tx, who.Workspace, missing)
		return err
	})
	return made, err
}

// nextKeys makes n keys like FB-12, some of which may have been chosen by hand.
func nextKeys(ctx context.Context, tx db.Tx, workspace ids.ID, n int) ([]string, error) {
	prefix, first, err := takeNumbersTx(ctx, tx, workspace, n)
	if err != nil {
		return nil, err
	}
	made := make([]string, 0, n)
	for i := range int64(n) {
		made = append(made, prefix+"-"+strconv.FormatInt(first+i, 10))
	}
	return made, nil
}

// takeKeys makes as many keys as are missing. The second try compares each with
// those of other jobs.
func (c *creation) takeKeys(tx db.Tx) error {
	if c.again {
		return nil
	}
	missing := -len(c.reserved)
	for _, j := range c.list {
		if j.Key == "" {
			missing++
		}
	}
	if missing <= 0 {
		return nil
	}
	made, err := nextKeys(c.ctx, tx, c.who.Workspace, missing)
	c.reserved = append(c.reserved, made...)
	return err
}

// makeKeys gives keys to the jobs that have none: those that were reserved, as far
// as they reach, else new ones. Hardly anybody chooses by hand what would be made:
// only the second try looks whether somebody has, the first leaves that to the
// constraint.
func (c *creation) makeKeys() error {
	given := map[string]bool{}
	missing := 0
	for _, j := range c.list {
		if given[j.Key] = true; j.Key == "" {
			missing++
		}
	}
	isGiven := func(key string) bool { return given[key] }
	free := slices.DeleteFunc(c.reserved, isGiven)
	for len(free) < missing {
		made, err := nextKeys(c.ctx, c.tx, c.who.Workspace, missing-len(free))
		if err != nil {
			return err
		}
		if c.again {
			taken, err := c.taken(made)
			if err != nil {
				return err
			}
			made = slices.DeleteFunc(made, func(key string) bool { return slices.Contains(taken, key) })
		}
		free = append(free, slices.DeleteFunc(made, isGiven)...)
	}
	for i := range c.list {
		if c.list[i].Key == "" {
			c.list[i].Key, free = free[0], free[1:]
		}
	}
	return nil
}
