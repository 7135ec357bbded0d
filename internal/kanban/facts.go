package kanban

import (
	"fmt"
	"slices"

	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// namedHolders is how many of the jobs on taken seats are named.
const namedHolders = 10

// facts reads what the reasons of the jobs need: at most one statement for each
// kind of wait, however many jobs there are.
func (r *reader) facts(list []jobs.Job) (facts, error) {
	f := facts{route: r.route, dependencies: map[ids.ID][]dependency{}, repos: map[string]repoHolder{},
		backlog: map[ids.ID]int{}, lost: map[ids.ID]bool{}, overBudget: map[ids.ID]bool{}}
	var depending, backing, products, budgeted []ids.ID
	var repos []string
	for _, j := range list {
		switch j.WaitReason {
		case jobs.WaitDependency:
			depending = append(depending, j.ID)
		case jobs.WaitRetryBackoff:
			backing = append(backing, j.ID)
		case jobs.WaitRepoBusy:
			repos = append(repos, j.Repo)
		}
		if j.Status == jobs.Paused && j.TokenBudget != nil {
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
		func() error { return r.readBacklog(f, products) },
		func() error { return r.readOverBudget(f, budgeted) },
	} {
		if err := read(); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (r *reader) readDependencies(f facts, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	rows, err := q.BoardOpenDependencies(r.ctx, r.tx, dbsqlc.BoardOpenDependenciesParams{WorkspaceID: r.workspace, Ids: list})
	if err != nil {
		return fmt.Errorf("open dependencies: %w", err)
	}
	for _, row := range rows {
		f.dependencies[row.JobID] = append(f.dependencies[row.JobID], dependency{key: row.Key, status: jobs.Status(row.Status)})
	}
	return nil
}

func (r *reader) readLost(f facts, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	lost, err := q.BoardLost(r.ctx, r.tx, dbsqlc.BoardLostParams{WorkspaceID: r.workspace, Ids: list})
	if err != nil {
		return fmt.Errorf("lost jobs: %w", err)
	}
	for _, id := range lost {
		f.lost[id] = true
	}
	return nil
}

func (r *reader) readRepos(f facts, repos []string) error {
	if len(repos) == 0 {
		return nil
	}
	rows, err := q.BoardRepoHolders(r.ctx, r.tx, dbsqlc.BoardRepoHoldersParams{WorkspaceID: r.workspace, Repos: repos})
	if err != nil {
		return fmt.Errorf("holders of repos: %w", err)
	}
	for _, row := range rows {
		f.repos[row.Repo] = repoHolder{key: row.Key, agent: row.Agent}
	}
	return nil
}

func (r *reader) readBacklog(f facts, products []ids.ID) error {
	if len(products) == 0 {
		return nil
	}
	rows, err := q.BoardReviewBacklog(r.ctx, r.tx, dbsqlc.BoardReviewBacklogParams{
		WorkspaceID: r.workspace, Products: products, MaxRows: countCap})
	if err != nil {
		return fmt.Errorf("review backlog: %w", err)
	}
	for _, row := range rows {
		f.backlog[row.ProductID] = int(row.Jobs)
	}
	return nil
}

func (r *reader) readOverBudget(f facts, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	over, err := q.BoardOverBudget(r.ctx, r.tx, dbsqlc.BoardOverBudgetParams{WorkspaceID: r.workspace, Ids: list})
	if err != nil {
		return fmt.Errorf("jobs over their budget: %w", err)
	}
	for _, id := range over {
		f.overBudget[id] = true
	}
	return nil
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
	keys, err := q.BoardSeatHolders(r.ctx, r.tx, dbsqlc.BoardSeatHoldersParams{
		WorkspaceID: r.workspace, Factories: factories, MaxRows: namedHolders})
	if err != nil {
		return h, fmt.Errorf("holders of seats: %w", err)
	}
	h.keys, h.more = keys, max(0, taken-len(keys))
	return h, nil
}
