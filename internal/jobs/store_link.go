package jobs

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/graph"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// link is one link of a job to another one.
type link struct {
	job, dependsOn ids.ID
	kind           LinkType
}

// lockLinksTx lets one transaction of a workspace at a time make jobs wait for
// others: two links, each harmless, could close a circle together. It comes before
// the lock of any row.
func lockLinksTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	return q.NamedLock(ctx, tx, "links:"+workspace.String())
}

// insertLinkTx writes a link, and reports false where it is there already.
func insertLinkTx(ctx context.Context, tx db.Tx, who tenancy.Principal, l link) (bool, error) {
	made, err := q.JobLinkInsert(ctx, tx, dbsqlc.JobLinkInsertParams{WorkspaceID: who.Workspace,
		JobID: l.job, DependsOnID: l.dependsOn, Type: string(l.kind), CreatedBy: who.Name})
	if err != nil {
		return false, err
	}
	return made > 0, nil
}

// deleteLinkTx deletes the link, or all links to that job where it has no type, and gives
// the types of those that were there.
func deleteLinkTx(ctx context.Context, tx db.Tx, workspace ids.ID, l link) ([]string, error) {
	return q.JobLinkDelete(ctx, tx, workspace, l.job, l.dependsOn, string(l.kind))
}

// lockDependencyTx keeps a job from being completed until the transaction ends, and
// reports whether it is already.
func lockDependencyTx(ctx context.Context, tx db.Tx, workspace ids.ID, y Job) (completed bool, err error) {
	completed, err = q.JobKeepOpen(ctx, tx, workspace, y.ID)
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", y.Key, err)
	}
	return completed, nil
}

// lockChildTx keeps a child from ending until the transaction ends, and reports whether it
// has ended already.
func lockChildTx(ctx context.Context, tx db.Tx, workspace ids.ID, y Job) (ended bool, err error) {
	ended, err = q.JobKeepChild(ctx, tx, workspace, y.ID)
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", y.Key, err)
	}
	return ended, nil
}

// isGatedTx reports whether a parent is to wait for its child.
func isGatedTx(ctx context.Context, tx db.Tx, workspace, parent, child ids.ID) (bool, error) {
	return q.JobIsGated(ctx, tx, workspace, parent, child)
}

// openChildrenTx gives the keys of the children of a job that have not ended, at most limit.
func openChildrenTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job, limit int) ([]string, error) {
	keys, err := q.JobOpenChildren(ctx, tx, workspace, j.ID, limit)
	if err != nil {
		return nil, fmt.Errorf("children of %s: %w", j.Key, err)
	}
	return keys, nil
}

// parentEdgesTx gives the links from jobs to their parents, from a job upwards.
func parentEdgesTx(ctx context.Context, tx db.Tx, workspace, from ids.ID) ([]graph.Edge, error) {
	rows, err := q.JobParentEdges(ctx, tx, workspace, from)
	if err != nil {
		return nil, err
	}
	edges := make([]graph.Edge, 0, len(rows))
	for _, r := range rows {
		edges = append(edges, graph.Edge{From: r.FromID, To: r.ToID})
	}
	return edges, nil
}

// waitsForTx reports whether one of some jobs waits for another one, directly or not.
func waitsForTx(ctx context.Context, tx db.Tx, workspace ids.ID, from []ids.ID, to ids.ID) (bool, error) {
	return q.JobWaitsFor(ctx, tx, to, from, workspace)
}

// waitEdgesTx gives what makes jobs wait, from some jobs on.
func waitEdgesTx(ctx context.Context, tx db.Tx, workspace ids.ID, from []ids.ID) ([]graph.Edge, error) {
	rows, err := q.JobWaitEdges(ctx, tx, workspace, from)
	if err != nil {
		return nil, err
	}
	edges := make([]graph.Edge, 0, len(rows))
	for _, r := range rows {
		edges = append(edges, graph.Edge{From: r.FromID, To: r.ToID})
	}
	return edges, nil
}

// nodesTx reads key, title and status of jobs by their ids.
func nodesTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) (map[ids.ID]Node, error) {
	rows, err := q.JobNodes(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	nodes := make(map[ids.ID]Node, len(rows))
	for _, r := range rows {
		nodes[r.ID] = Node{Key: r.Key, Title: r.Title, Status: Status(r.Status)}
	}
	return nodes, nil
}

// edgesAmongTx reads the links between jobs.
func edgesAmongTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID, nodes map[ids.ID]Node) ([]Edge, error) {
	rows, err := q.JobLinksAmong(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	var edges []Edge
	for _, r := range rows {
		edges = append(edges, Edge{Job: nodes[r.JobID].Key, DependsOn: nodes[r.DependsOnID].Key, Type: LinkType(r.Type), Gate: r.Gate})
	}
	return edges, nil
}

// named is a job by its two names.
type named struct {
	id  ids.ID
	key string
}

// findNamedTx finds jobs by their keys and ids; unknown ones are left out.
func findNamedTx(ctx context.Context, tx db.Tx, workspace ids.ID, names []string) ([]named, error) {
	if len(names) == 0 {
		return nil, nil
	}
	parsed, keys := ids.ParseAll(names)
	rows, err := q.JobIDs(ctx, tx, workspace, keys, parsed)
	if err != nil {
		return nil, err
	}
	list := make([]named, 0, len(rows))
	for _, r := range rows {
		list = append(list, named{id: r.ID, key: r.Key})
	}
	return list, nil
}
