package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// linkHandlers answer the calls about links between jobs.
type linkHandlers struct{ *Deps }

// GetDependencies reads the jobs around a job.
func (s *linkHandlers) GetDependencies(ctx context.Context, r GetDependenciesRequestObject) (GetDependenciesResponseObject, error) {
	graph, err := s.Jobs.Graph(ctx, principal(ctx), r.Job)
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
		job, err := s.Jobs.LinkParent(ctx, principal(ctx), r.Job, r.Body.DependsOn, *gate)
		return LinkJob200JSONResponse(jobModel(job)), err
	}
	job, err := s.Jobs.Link(ctx, principal(ctx), r.Job, r.Body.DependsOn, kind)
	return LinkJob200JSONResponse(jobModel(job)), err
}

// UnlinkJob takes a link away.
func (s *linkHandlers) UnlinkJob(ctx context.Context, r UnlinkJobRequestObject) (UnlinkJobResponseObject, error) {
	job, err := s.Jobs.Unlink(ctx, principal(ctx), r.Job, r.Dep, jobs.LinkType(value(r.Params.Type)))
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
