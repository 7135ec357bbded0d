package jobs

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
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
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		id, err := find(ctx, tx, who.Workspace, job)
		if err != nil {
			return err
		}
		around, err := q.JobAround(ctx, tx, dbsqlc.JobAroundParams{WorkspaceID: who.Workspace, ID: id, MaxRows: maxGraph + 1})
		if err != nil {
			return fmt.Errorf("jobs around a job: %w", err)
		}
		g.More = len(around) > maxGraph
		around = around[:min(len(around), maxGraph)]
		nodes, err := q.JobNodes(ctx, tx, dbsqlc.JobNodesParams{WorkspaceID: who.Workspace, Ids: around})
		if err != nil {
			return fmt.Errorf("jobs of a graph: %w", err)
		}
		links, err := q.JobLinksAmong(ctx, tx, dbsqlc.JobLinksAmongParams{WorkspaceID: who.Workspace, Ids: around})
		if err != nil {
			return fmt.Errorf("links of a graph: %w", err)
		}
		g.draw(around, nodes, links)
		if len(g.Nodes) == 0 {
			return notFound(job)
		}
		return nil
	})
	return g, err
}

// draw puts jobs, in the order of the ids, and their links into the graph.
func (g *Graph) draw(order []ids.ID, nodes []dbsqlc.JobNodesRow, links []dbsqlc.JobLinksAmongRow) {
	byID := map[ids.ID]dbsqlc.JobNodesRow{}
	for _, n := range nodes {
		byID[n.ID] = n
	}
	for _, id := range order {
		if n, ok := byID[id]; ok {
			g.Nodes = append(g.Nodes, Node{Key: n.Key, Title: n.Title, Status: Status(n.Status)})
		}
	}
	for _, l := range links {
		g.Edges = append(g.Edges, Edge{Job: byID[l.JobID].Key, DependsOn: byID[l.DependsOnID].Key, Type: LinkType(l.Type), Gate: l.Gate})
	}
}
