package api

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
)

// routabilityHandlers say where a job could run before there is one.
type routabilityHandlers struct{ *Deps }

// PreviewRoutability says which factories could run a job with these needs.
func (s *routabilityHandlers) PreviewRoutability(ctx context.Context, r PreviewRoutabilityRequestObject) (
	PreviewRoutabilityResponseObject, error,
) {
	who := principal(ctx)
	p := fault.Problems{}
	p.Repo("repo", value(r.Body.Repo), jobs.MaxRepo)
	p.Capabilities("capabilities", value(r.Body.Capabilities), jobs.MaxCapabilities)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if name := value(r.Body.Product); name != "" {
		products, err := s.Jobs.Products(ctx, who)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(products, func(p jobs.Product) bool { return p.Name == name }) {
			return nil, fault.Invalid("product", "There is no product %s.", name)
		}
	}
	needs := fleet.Needs{Repo: value(r.Body.Repo), Capabilities: value(r.Body.Capabilities), Factory: value(r.Body.Factory)}
	snap, err := s.Fleet.ReducedSnapshot(ctx, who, needs)
	if err != nil {
		return nil, err
	}
	query := screens.StartQuery{Needs: needs, Product: value(r.Body.Product), Phase: value(r.Body.Phase), Priority: jobs.DefaultPriority}
	if r.Body.Priority != nil {
		query.Priority = *r.Body.Priority
	}
	start, err := s.Screens.Start(ctx, who, snap, query)
	if err != nil {
		return nil, err
	}
	m := routabilityModel(snap.Route(needs))
	reasons := mapSlice(start.Reasons, func(why screens.Reason) Reasoning {
		return reasonModel(jobs.Job{Spec: jobs.Spec{Repo: needs.Repo}}, why)
	})
	m.Reasons, m.CanBeStarted = &reasons, canBeStarted(start.CanBeStarted)
	return PreviewRoutability200JSONResponse(m), nil
}
