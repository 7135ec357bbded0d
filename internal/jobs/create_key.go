package jobs

import (
	"fmt"
	"slices"

	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
)

// assignKeys checks the keys that were given and makes the others.
func (c *creation) assignKeys() error {
	var given []string
	missing := 0
	for _, j := range c.list {
		if j.Key == "" {
			missing++
		} else {
			given = append(given, j.Key)
		}
	}
	taken, err := q.JobKeyTaken(c.ctx, c.tx, dbsqlc.JobKeyTakenParams{WorkspaceID: c.who.Workspace, Keys: given})
	if err != nil {
		return fmt.Errorf("look for keys: %w", err)
	}
	if len(taken) > 0 {
		return fault.New(fault.AlreadyExists, "There is already a job %s.", taken[0]).With("key", taken[0])
	}
	made, err := c.makeKeys(missing, given)
	for i := range c.list {
		if c.list[i].Key == "" && err == nil {
			c.list[i].Key, made = made[0], made[1:]
		}
	}
	return err
}

// makeKeys takes n keys like FB-12 that nobody has chosen by hand.
func (c *creation) makeKeys(n int, given []string) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	prefix, err := q.JobPrefix(c.ctx, c.tx, c.who.Workspace)
	if err != nil {
		return nil, fmt.Errorf("prefix of keys: %w", err)
	}
	var free []string
	for len(free) < n {
		first, err := q.JobNumberTake(c.ctx, c.tx, dbsqlc.JobNumberTakeParams{
			WorkspaceID: c.who.Workspace, N: int64(n - len(free))})
		if err != nil {
			return nil, fmt.Errorf("take numbers: %w", err)
		}
		made := make([]string, 0, n-len(free))
		for i := range int64(n - len(free)) {
			made = append(made, fmt.Sprintf("%s-%d", prefix, first+i))
		}
		taken, err := q.JobKeyTaken(c.ctx, c.tx, dbsqlc.JobKeyTakenParams{WorkspaceID: c.who.Workspace, Keys: made})
		if err != nil {
			return nil, fmt.Errorf("look for keys: %w", err)
		}
		taken = append(taken, given...)
		free = append(free, slices.DeleteFunc(made, func(k string) bool { return slices.Contains(taken, k) })...)
	}
	return free, nil
}
