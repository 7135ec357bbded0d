package api

import (
	"cmp"

	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func explanationModel(e screens.Explanation) Explanation {
	out := Explanation{Status: JobStatus(e.Job.Status), Reasons: []Reasoning{},
		EligibleFactories: eligible(e.Routing), IneligibleFactories: ineligible(e.Routing),
		CanBeStarted: canBeStarted(e.CanBeStarted)}
	for _, r := range e.Reasons {
		out.Reasons = append(out.Reasons, reasonModel(e.Job, r))
	}
	return out
}

func reasonModel(j jobs.Job, r screens.Reason) Reasoning {
	out := Reasoning{Code: r.Code, Detail: reason.Exact(j, r), Until: utcOrNil(r.Until), Nearest: nilIfZero(r.Nearest),
		By: actorModel(r.By), CarriedOutBy: actorModel(r.CarriedOutBy)}
	if r.Budget != "" {
		out.Budget, out.BudgetID, out.Model = &r.Budget, nilIfZero(r.BudgetID.String()), nilIfZero(r.Model)
	}
	if r.Code == screens.CodeMergeWaits {
		who, how := ReasoningWho(r.Merge.Who), ReasoningHow(r.Merge.How)
		out.Who, out.How, out.LastError = &who, &how, nilIfZero(cmp.Or(reason.MergeHeld(r), r.Text))
	}
	if r.Code == screens.CodeVerification {
		out.State, out.Verdict = new(string(r.Verification.State)), nilIfZero(r.Verification.Verdict)
		out.Since, out.LastError = utcOrNil(r.Since), nilIfZero(r.Text)
	}
	if r.Code == screens.CodeDeliveryRefused {
		out.LastError = nilIfZero(r.Text)
	}
	if r.Code == screens.CodePolicyHeld {
		out.Since = utcOrNil(r.Since)
	}
	keys := r.Keys
	if len(r.Ended) > 0 {
		keys = nil
		for _, e := range r.Ended {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) > 0 {
		out.Jobs = &keys
	}
	if r.Code == screens.CodePathsBusy && len(r.Keys) > 0 {
		out.Job = &r.Keys[0]
	}
	if len(r.Paths) > 0 {
		out.Paths = &r.Paths
	}
	if len(r.Missing) > 0 {
		out.Missing = &r.Missing
	}
	if len(r.Factories) > 0 {
		out.Factories = &r.Factories
	}
	if r.Seats > 0 {
		out.Seats, out.FreeSeats = &r.Seats, &r.Free
	}
	return out
}

func actorModel(a tenancy.Actor) *Actor {
	if a == (tenancy.Actor{}) {
		return nil
	}
	return &Actor{Kind: string(a.Kind), ID: a.ID, Name: a.Name}
}
