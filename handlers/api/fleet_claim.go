package api

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// claimHandlers answer the calls by which agents get jobs.
type claimHandlers struct{ *Deps }

// ClaimJobs gives an agent jobs, or the reason why it gets none.
func (s *claimHandlers) ClaimJobs(ctx context.Context, r ClaimJobsRequestObject) (ClaimJobsResponseObject, error) {
	in := value(r.Body)
	claimed, err := s.Dispatch.Claim(ctx, principal(ctx), claim.Request{
		Wait: time.Duration(value(in.WaitSeconds)) * time.Second, Max: value(in.Max), TTLSeconds: value(in.TTLSeconds),
		Job: value(in.Job), SessionKey: value(in.SessionKey), RequestID: value(in.RequestID),
	})
	if err != nil {
		return nil, err
	}
	return s.claimAnswer(ctx, claimed)
}

// claimAnswer stands apart from the claim: what it needs of the stack is not kept
// while an agent waits.
func (d *Deps) claimAnswer(ctx context.Context, claimed claim.Result) (ClaimJobsResponseObject, error) {
	if len(claimed.Jobs) == 0 {
		return ClaimJobs204Response{Headers: ClaimJobs204ResponseHeaders{
			XQueueVersion: claimed.QueueVersion, XClaimReason: cmp.Or(claimed.Reason, claim.ReasonEmpty)}}, nil
	}
	list, err := d.claimedModels(ctx, claimed)
	return ClaimJobs200JSONResponse{QueueVersion: claimed.QueueVersion, Jobs: list, Offers: offerModels(claimed.Offers)}, err
}

func (d *Deps) claimedModels(ctx context.Context, claimed claim.Result) ([]Job, error) {
	list := make([]Job, 0, len(claimed.Jobs))
	for _, j := range claimed.Jobs {
		model, err := claimedModel(j)
		if err != nil {
			return nil, err
		}
		if g := claimed.Budgets[j.ID]; g.Slice != nil {
			model.Budget = &ClaimedBudget{SliceUSD: g.Slice.Fixed(), RemainingUSD: g.Remaining.Fixed(), Budget: g.Budget}
			if g.BudgetID != ids.Nil {
				model.Budget.BudgetID = g.BudgetID.String()
			}
		}
		model.Traceparent = tracing.JobClaimed(ctx, j.ID, j.Epoch)
		if o := claimed.Orders[j.ID]; o.Merge != nil || o.Verify != nil {
			model.Order = &Order{Merge: o.Merge, Verify: o.Verify}
		}
		if !jobs.IsSystemKind(j.Kind) {
			model.ProofCommand = claimed.Proofs[j.ProductID]
		}
		list = append(list, model)
	}
	return list, d.carryComments(ctx, claimed.Jobs, list)
}

// toNext returns what a call that ends a lease wants for the seat, nil for nothing.
func toNext(in *NextRequest) *lease.Next {
	if in == nil {
		return nil
	}
	return &lease.Next{Max: value(in.Max), TTLSeconds: value(in.TTLSeconds), RequestID: value(in.RequestID)}
}

// nextModel returns what it got, nil where it wanted nothing.
func (d *Deps) nextModel(ctx context.Context, claimed *lease.Claimed) (*Next, error) {
	if claimed == nil {
		return nil, nil // the answer has no such field then
	}
	list, err := d.claimedModels(ctx, *claimed)
	next := &Next{Claimed: Claimed{Jobs: list, QueueVersion: claimed.QueueVersion, Offers: offerModels(claimed.Offers)}}
	if len(list) == 0 {
		reason := NextReason(cmp.Or(claimed.Reason, claim.ReasonEmpty))
		next.Reason = &reason
	}
	return next, err
}

// GetQueueState answers without the database.
func (s *claimHandlers) GetQueueState(ctx context.Context, r GetQueueStateRequestObject) (GetQueueStateResponseObject, error) {
	version := s.Dispatch.QueueVersion(principal(ctx))
	tag := `"` + version + `"`
	if names(value(r.Params.IfNoneMatch), tag) {
		return GetQueueState304Response{Headers: GetQueueState304ResponseHeaders{ETag: tag}}, nil
	}
	return GetQueueState200JSONResponse{Body: QueueState{Version: version}, Headers: GetQueueState200ResponseHeaders{ETag: tag}}, nil
}

// names reports whether an If-None-Match header names an entity tag.
func names(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}
