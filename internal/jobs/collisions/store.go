package collisions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// LockTx keeps everybody else from what jobs of some repos touch until the transaction ends. Of
// other locks the caller holds those of jobs and leases at most, and no other takes them while it
// has this one.
func LockTx(ctx context.Context, tx db.Tx, workspace ids.ID, repos ...string) error {
	return q.TouchLock(ctx, tx, workspace.String(), repos)
}

// insertTx adds to what a job touches. It returns the paths that are new, and how many were dropped.
// Statements as plain as these are fast whatever PostgreSQL knows of a table that fills and empties.
func insertTx(ctx context.Context, tx db.Tx, workspace ids.ID, t Touch) (added []string, dropped int, err error) {
	if err := q.TouchForget(ctx, tx, workspace, t.Job.ID, t.Job.Epoch, t.Repo); err != nil {
		return nil, 0, err
	}
	known, err := q.TouchKnown(ctx, tx, workspace, t.Job.ID, t.Paths)
	if err != nil {
		return nil, 0, err
	}
	fresh := without(t.Paths, known)
	if len(fresh) == 0 {
		return nil, 0, nil
	}
	held, err := q.TouchCount(ctx, tx, workspace, t.Job.ID, MaxTouched)
	if err != nil {
		return nil, 0, err
	}
	added = fresh[:min(len(fresh), MaxTouched-held)]
	if len(added) == 0 {
		return nil, len(fresh), nil
	}
	err = q.TouchInsert(ctx, tx, dbsqlc.TouchInsertParams{WorkspaceID: workspace, JobID: t.Job.ID, Epoch: t.Job.Epoch,
		Repo: t.Repo, Paths: added})
	return added, len(fresh) - len(added), err
}

// without returns the paths, sorted and each once, that are not among the known ones.
func without(paths, known []string) []string {
	has := make(map[string]bool, len(known))
	for _, path := range known {
		has[path] = true
	}
	list := slices.Compact(slices.Sorted(slices.Values(paths)))
	return slices.DeleteFunc(list, func(path string) bool { return has[path] })
}

// findTx finds who else touches these paths of the job's repo.
func findTx(ctx context.Context, tx db.Tx, workspace ids.ID, t Touch, paths []string) ([]pair, error) {
	rows, err := q.TouchOthers(ctx, tx, dbsqlc.TouchOthersParams{Paths: paths, WorkspaceID: workspace, Repo: t.Repo, JobID: t.Job.ID,
		MaxOthers: MaxOthers})
	if err != nil {
		return nil, err
	}
	others := make([]other, 0, len(rows))
	for _, r := range rows {
		others = append(others, other{Lease{ID: r.JobID, Epoch: r.Epoch, Key: r.Key, Product: r.ProductID}, r.Path})
	}
	return groupPairs(t.Job, others), nil
}

// saveTx saves pairs, and returns those that have begun.
func saveTx(ctx context.Context, tx db.Tx, workspace ids.ID, pairs []pair) ([]pair, error) {
	type row struct {
		Job        ids.ID   `json:"job"`
		Epoch      int64    `json:"epoch"`
		Other      ids.ID   `json:"other"`
		OtherEpoch int64    `json:"other_epoch"`
		Paths      []string `json:"paths"`
		Count      int      `json:"count"`
	}
	rows := make([]row, 0, len(pairs))
	for _, p := range pairs {
		rows = append(rows, row{p.job.ID, p.job.Epoch, p.other.ID, p.other.Epoch, p.paths, p.count})
	}
	raw, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode collisions: %w", err)
	}
	begun, err := q.CollisionSave(ctx, tx, raw, workspace, MaxOthers)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pairs, func(p pair) bool {
		return !slices.Contains(begun, dbsqlc.CollisionSaveRow{JobID: p.job.ID, OtherID: p.other.ID})
	}), nil
}

// endTx forgets what jobs touch, and returns the collisions that others had with them.
func endTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) ([]pair, error) {
	rows, err := q.TouchEnd(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	pairs := make([]pair, 0, len(rows))
	for _, r := range rows {
		p := pair{job: Lease{ID: r.JobID, Epoch: r.Epoch, Product: r.ProductID}, other: Lease{ID: r.OtherID, Key: r.OtherKey,
			Product: r.OtherProductID}}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// ListTx reads what those of the jobs collide with that are worked on, the oldest collisions first,
// each with at most so many paths.
func ListTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID, paths int) (map[ids.ID][]Collision, error) {
	rows, err := q.CollisionList(ctx, tx, paths, workspace, jobs)
	if err != nil {
		return nil, err
	}
	of := map[ids.ID][]Collision{}
	for _, r := range rows {
		of[r.JobID] = append(of[r.JobID], Collision{Job: r.Key, Product: r.Product, Agent: r.Agent, Factory: r.Factory, Paths: r.Paths,
			More: r.PathCount - len(r.Paths), Since: r.Since})
	}
	return of, nil
}

// TouchedTx counts the files that a job touches, up to MaxTouched.
func TouchedTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (int, error) {
	return q.TouchCount(ctx, tx, workspace, job, MaxTouched)
}
