// Package collisions knows which files jobs touch while they are worked on, as their agents say,
// and which two jobs of one repo touch the same one.
//
// What a job touches is kept as long as its lease lasts. Two jobs collide from the moment on in
// which the later one says a path that the other one has said, until the lease of one ends. What
// jobs of a repo touch is written by one transaction after another.
package collisions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// MaxReported is how many paths one report may have.
	MaxReported = 2000
	// MaxPathBytes is how many bytes a path may have.
	MaxPathBytes = 1024
	// MaxTouched is how many paths of a job are compared. Those beyond are dropped.
	MaxTouched = 5000
	// MaxOthers is how many other jobs one is known to collide with.
	MaxOthers = 20
	// MaxPaths is how many paths of a collision are kept, maxEventPaths how many its event names.
	MaxPaths      = 50
	maxEventPaths = 5
)

// Collision is another job that touches what one job touches, and is worked on too.
type Collision struct {
	Job            string // its key
	Product        string
	Agent, Factory string   // who works on it
	Paths          []string // the first ones that both have touched
	More           int      // how many there are beside them
	Since          time.Time
}

// Touch is what an agent says that it touches under its lease.
type Touch struct {
	Job   Lease
	Repo  string
	Paths []string // without repetitions
}

// Lease is a job under one of its leases.
type Lease struct {
	ID      ids.ID
	Epoch   int64
	Key     string
	Product ids.ID
}

// pair is a job and another one with which it collides.
type pair struct {
	job, other Lease
	paths      []string
	count      int
}

// AddTx adds to what a job touches, and appends the event of each collision that begins to both
// jobs. dropped is how many of the paths are not compared, because the job touches more than
// MaxTouched; began reports whether there are new collisions. The repo's lock is held: LockTx.
func AddTx(ctx context.Context, tx db.Tx, who tenancy.Principal, t Touch) (dropped int, began bool, err error) {
	added, dropped, err := insertTx(ctx, tx, who.Workspace, t)
	if err != nil || len(added) == 0 {
		return dropped, false, err
	}
	pairs, err := findTx(ctx, tx, who.Workspace, t, added)
	if err != nil || len(pairs) == 0 {
		return dropped, false, err
	}
	fresh, err := saveTx(ctx, tx, who.Workspace, pairs)
	if err != nil {
		return dropped, false, err
	}
	for _, p := range fresh {
		if err := appendTx(ctx, tx, who, eventlog.JobCollided, p); err != nil {
			return dropped, false, err
		}
	}
	return dropped, len(fresh) > 0, nil
}

// End is the end of a lease under which a job of a repo has touched files, and who ends it.
type End struct {
	Who  tenancy.Principal
	Job  ids.ID
	Repo string
}

// EndTx forgets what jobs touch whose leases end, and appends the event of each collision that ends
// with them to the other job. The caller holds the locks of the jobs.
func EndTx(ctx context.Context, tx db.Tx, workspace ids.ID, ends []End) error {
	var jobs []ids.ID
	var repos []string
	by := map[ids.ID]tenancy.Principal{}
	for _, e := range ends {
		jobs, repos, by[e.Job] = append(jobs, e.Job), append(repos, e.Repo), e.Who
	}
	if err := LockTx(ctx, tx, workspace, repos...); err != nil {
		return err
	}
	ended, err := endTx(ctx, tx, workspace, jobs)
	if err != nil {
		return err
	}
	for _, p := range ended {
		if err := appendTx(ctx, tx, by[p.other.ID], eventlog.JobCollisionEnded, p); err != nil {
			return err
		}
	}
	return nil
}

// appendTx appends an event to the first job of a pair. It names the other one where both are of one
// product: whoever may know of the one may know of the other.
func appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, p pair) error {
	said := map[string]any{}
	if p.job.Product == p.other.Product {
		said["job"] = p.other.Key
	}
	if kind == eventlog.JobCollided {
		said["paths"] = p.paths[:min(len(p.paths), maxEventPaths)]
		if more := p.count - maxEventPaths; more > 0 {
			said["more"] = more
		}
	}
	payload, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("encode a collision: %w", err)
	}
	return eventlog.AppendTx(ctx, tx, who.Workspace, eventlog.Event{Type: kind, JobID: &p.job.ID, Epoch: &p.job.Epoch, Actor: who.Actor(),
		Payload: payload})
}

// groupPairs makes pairs, from either side, of who else touches which path. The paths of one job
// follow one another.
func groupPairs(own Lease, others []other) []pair {
	var pairs []pair
	for _, group := range groupByJob(others) {
		p := pair{job: own, other: group[0].Lease, count: len(group)}
		for _, o := range group[:min(len(group), MaxPaths)] {
			p.paths = append(p.paths, o.path)
		}
		pairs = append(pairs, p, pair{job: p.other, other: own, paths: p.paths, count: p.count})
	}
	return pairs
}

// other is who else touches a path.
type other struct {
	Lease

	path string
}

func groupByJob(list []other) [][]other {
	var groups [][]other
	for i, o := range list {
		if i == 0 || list[i-1].ID != o.ID {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], o)
	}
	return groups
}
