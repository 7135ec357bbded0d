package screens

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// namedHolders is how many of the jobs on taken seats are named.
const namedHolders = 10

// facts reads what the reasons of the jobs need: at most one statement for each
// kind of wait, however many jobs there are.
func (r *reader) facts(list []jobs.Job) (facts, error) {
	f := facts{route: r.route, fleet: r.snap, stops: r.snap.Stops, dependencies: map[ids.ID][]dependency{}, repos: map[string]repoHolder{},
		paths: map[ids.ID]jobs.PathsBusy{}, backlog: map[ids.ID]int{}, lost: map[ids.ID]bool{}, money: money{own: map[ids.ID]bool{}}}
	var depending, backing, products, budgeted, stopped []ids.ID
	var repos []string
	var crowded []jobs.Job
	for _, j := range list {
		switch j.WaitReason {
		case jobs.WaitDependency:
			depending = append(depending, j.ID)
		case jobs.WaitRetryBackoff:
			backing = append(backing, j.ID)
		case jobs.WaitRepoBusy:
			repos = append(repos, j.Repo)
		case jobs.WaitPathsBusy:
			crowded = append(crowded, j)
		}
		if j.WaitReason == jobs.WaitBudget || j.Status == jobs.Ready || j.Status == jobs.Paused && j.StatusBy.Name == budgeting.Actor {
			stopped = append(stopped, j.ID)
		}
		if j.Status == jobs.Paused && (j.TokenBudget != nil || j.BudgetNanos != nil) {
			budgeted = append(budgeted, j.ID)
		}
		limited := j.Status == jobs.Ready && j.ReviewLimit != nil
		if (limited || j.WaitReason == jobs.WaitReviewBacklog) && !slices.Contains(products, j.ProductID) {
			products = append(products, j.ProductID)
		}
	}
	for _, read := range []func() error{
		func() error { return r.readDependencies(f, depending) },
		func() error { return r.readLost(f, backing) },
		func() error { return r.readRepos(f, repos) },
		func() (err error) {
			f.paths, err = jobs.PathsBusyTx(r.ctx, r.tx, r.workspace, crowded)
			return err
		},
		func() error { return r.readBacklog(f, products) },
		func() error { return r.readOverBudget(f, budgeted) },
		func() error { return r.readRefused(&f, stopped) },
	} {
		if err := read(); err != nil {
			return f, err
		}
	}
	return f, nil
}

// seatHolders reads which jobs sit on the seats that one job could have.
func (r *reader) seatHolders(routing fleet.Routing) (seatHolders, error) {
	var h seatHolders
	var factories []ids.ID
	taken := 0
	for _, fit := range routing.Eligible {
		factories = append(factories, fit.Factory.ID)
		taken += fit.Factory.Taken
	}
	if taken == 0 {
		return h, nil
	}
	keys, err := r.jobsOnSeats(factories)
	h.keys, h.more = keys, max(0, taken-len(keys))
	return h, err
}

// readStanding says what waiting has made of a ready job, and to whom it is offered.
func (r *reader) readStanding(j jobs.Job) (reasons []Reason, err error) {
	rows, err := q.ReadyStands(r.ctx, r.tx, r.workspace, j.ID)
	for _, row := range rows {
		if row.Raised > 0 {
			reasons = append(reasons, Reason{Code: CodeRaised, Count: row.Priority, Since: j.ReadyAt})
		}
		if row.OfferedTo != "" {
			o := Reason{Code: CodeOffered, Factories: []string{row.OfferedTo}, Until: &row.OfferedUntil}
			if row.Turn == 0 {
				o.Code = CodeAwaitsFactory
			}
			reasons = append(reasons, o)
		}
	}
	return reasons, err
}
