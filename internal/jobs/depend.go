package jobs

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// resolveDependencies turns the keys and ids that jobs depend on into ids; keys
// of the same batch count. Unknown ones are Validation, a circle within the
// batch is DependencyCycle: older jobs cannot depend on newer ones.
func (c *creation) resolveDependencies() error {
	known, err := c.lookUp()
	if err != nil {
		return err
	}
	p := fault.Problems{}
	c.deps = make([][]ids.ID, len(c.in))
	for i, n := range c.in {
		for k, name := range n.DependsOn {
			id, ok := known[name]
			if !ok {
				p.Add(fmt.Sprintf("%sdepends_on[%d]", prefix(c.in, i), k), "There is no job %s.", cut(name, MaxName))
				continue
			}
			if !slices.Contains(c.deps[i], id) {
				c.deps[i] = append(c.deps[i], id)
			}
		}
	}
	if err := p.Err(); err != nil {
		return err
	}
	return c.refuseCycle()
}

// lookUp gives the ids behind all names that the request depends on.
func (c *creation) lookUp() (map[string]ids.ID, error) {
	known := map[string]ids.ID{}
	var names []string
	for _, n := range c.in {
		names = append(names, n.DependsOn...)
	}
	found, err := findNamedTx(c.ctx, c.tx, c.who.Workspace, names)
	if err != nil {
		return nil, err
	}
	for _, j := range found {
		known[j.key], known[j.id.String()] = j.id, j.id
	}
	for i, j := range c.list {
		if c.in[i].Key != "" {
			known[j.Key] = j.ID
		}
	}
	return known, nil
}

// refuseCycle walks the edges within the batch.
func (c *creation) refuseCycle() error {
	at := map[ids.ID]int{}
	for i, j := range c.list {
		at[j.ID] = i
	}
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(c.list))
	var path []string
	var walk func(i int) []string
	walk = func(i int) []string {
		if state[i] == done {
			return nil
		}
		path = append(path, c.list[i].Key)
		if state[i] == open {
			return path[slices.Index(path, c.list[i].Key):]
		}
		state[i] = open
		for _, d := range c.deps[i] {
			if k, inBatch := at[d]; inBatch {
				if cycle := walk(k); cycle != nil {
					return cycle
				}
			}
		}
		state[i] = done
		path = path[:len(path)-1]
		return nil
	}
	for i := range c.list {
		if state[i] != fresh {
			continue
		}
		if cycle := walk(i); cycle != nil {
			return fault.New(fault.DependencyCycle, "These jobs would wait for one another.").With("path", cycle)
		}
	}
	return nil
}

// decideStatus says of each new job whether it can be claimed at once, waits or is blocked.
func (c *creation) decideStatus() error {
	fresh := map[ids.ID]bool{}
	for _, j := range c.list {
		fresh[j.ID] = true
	}
	var older []ids.ID
	for _, deps := range c.deps {
		for _, d := range deps {
			if !fresh[d] {
				older = append(older, d)
			}
		}
	}
	open := map[ids.ID]bool{}
	if len(older) > 0 {
		waitedFor, err := lockDependenciesTx(c.ctx, c.tx, c.who.Workspace, older)
		if err != nil {
			return err
		}
		for _, id := range waitedFor {
			open[id] = true
		}
	}
	var now time.Time
	if slices.ContainsFunc(c.list, Job.isTimed) {
		var err error
		if now, err = q.JobClock(c.ctx, c.tx); err != nil {
			return err
		}
	}
	for i := range c.list {
		waits := slices.ContainsFunc(c.deps[i], func(d ids.ID) bool { return fresh[d] || open[d] })
		if c.list[i].BlockedReason != "" {
			c.list[i].Status = Blocked
			continue
		}
		d := Decision{After: c.list[i]}
		d.readyOrWaiting(now, waits)
		c.list[i] = d.After
	}
	return nil
}
