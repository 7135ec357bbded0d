package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// maxGraph is how many jobs a graph shows.
const maxGraph = 100

// Edge is one link of a Graph, by keys.
type Edge struct {
	Job, DependsOn string
	Type           LinkType
	Gate           bool // of a Parent: it waits until the child has ended
}

// Node is one job of a Graph.
type Node struct {
	Key, Title string
	Status     Status
}

// Graph is the jobs linked with one job, directly or by way of others, the job
// itself first.
type Graph struct {
	Nodes []Node
	Edges []Edge
	More  bool // there are jobs beyond those shown
}

// Graph reads the jobs around a job, the nearest ones first, at most 100.
func (s *Service) Graph(ctx context.Context, who tenancy.Principal, job string) (Graph, error) {
	var g Graph
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		id, err := find(ctx, tx, who.Workspace, job)
		if err != nil {
			return err
		}
		if g, err = GraphTx(ctx, tx, who.Workspace, id); err == nil && len(g.Nodes) == 0 {
			return notFound(job)
		}
		return err
	}, db.Snapshot)
	return g, err
}

// GraphTx reads the jobs around a job, the nearest ones first, at most 100. It is
// empty where there is no such job.
func GraphTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (Graph, error) {
	var g Graph
	around, err := q.JobAround(ctx, tx, maxGraph+1, job, workspace)
	if err != nil {
		return g, err
	}
	g.More = len(around) > maxGraph
	around = around[:min(len(around), maxGraph)]
	nodes, err := nodesTx(ctx, tx, workspace, around)
	if err != nil {
		return g, err
	}
	for _, id := range around {
		if node, known := nodes[id]; known {
			g.Nodes = append(g.Nodes, node)
		}
	}
	g.Edges, err = edgesAmongTx(ctx, tx, workspace, around, nodes)
	return g, err
}
