package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// linkHandlers answer the calls about links between jobs.
type linkHandlers struct{ links links }

type links interface {
	Graph(ctx context.Context, who tenancy.Principal, job string) (jobs.Graph, error)
	Link(ctx context.Context, who tenancy.Principal, job, dependsOn string, kind jobs.LinkType) (jobs.Job, error)
	LinkParent(ctx context.Context, who tenancy.Principal, child, parent string, gate bool) (jobs.Job, error)
	Unlink(ctx context.Context, who tenancy.Principal, job, dependsOn string, kind jobs.LinkType) (jobs.Job, error)
}

// GetDependencies reads the jobs around a job.
func (s *linkHandlers) GetDependencies(ctx context.Context, r GetDependenciesRequestObject) (GetDependenciesResponseObject, error) {
	graph, err := s.links.Graph(ctx, principal(ctx), r.Job)
	return GetDependencies200JSONResponse(graphModel(graph)), err
}

// LinkJob links a job with another one.
func (s *linkHandlers) LinkJob(ctx context.Context, r LinkJobRequestObject) (LinkJobResponseObject, error) {
	kind := jobs.Blocks
	if r.Body.Type != nil {
		kind = jobs.LinkType(*r.Body.Type)
	}
	if gate := r.Body.Gate; gate != nil {
		if kind != jobs.Parent {
			return nil, fault.Invalid("gate", "It must go with the type parent.")
		}
		job, err := s.links.LinkParent(ctx, principal(ctx), r.Job, r.Body.DependsOn, *gate)
		return LinkJob200JSONResponse(jobModel(job)), err
	}
	job, err := s.links.Link(ctx, principal(ctx), r.Job, r.Body.DependsOn, kind)
	return LinkJob200JSONResponse(jobModel(job)), err
}

// UnlinkJob takes a link away.
func (s *linkHandlers) UnlinkJob(ctx context.Context, r UnlinkJobRequestObject) (UnlinkJobResponseObject, error) {
	job, err := s.links.Unlink(ctx, principal(ctx), r.Job, r.Dep, jobs.LinkType(value(r.Params.Type)))
	return UnlinkJob200JSONResponse(jobModel(job)), err
}

func graphModel(g jobs.Graph) DependencyGraph {
	out := DependencyGraph{Jobs: []LinkedJob{}, Links: []Link{}, More: g.More}
	for _, n := range g.Nodes {
		out.Jobs = append(out.Jobs, LinkedJob{Job: n.Key, Title: n.Title, Status: JobStatus(n.Status)})
	}
	for _, e := range g.Edges {
		out.Links = append(out.Links, Link{Job: e.Job, DependsOn: e.DependsOn, Type: LinkType(e.Type), Gate: e.Gate})
	}
	return out
}
