package screens

import (
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// money is what the budgets of a workspace say of some jobs.
type money struct {
	refused  map[ids.ID]budgeting.Refusal // why jobs have too little left in their budgets now
	own      map[ids.ID]bool              // paused jobs that have used more than their own ceilings
	unpriced budgeting.Unpriced           // which models claims are held from
}

// budgetReason returns the reason of a job that a budget keeps from running.
func budgetReason(r budgeting.Refusal) Reason {
	why := Reason{Code: CodeBudget, Text: r.Reason(), Budget: r.Name, BudgetID: r.Budget, Model: r.Model}
	if r.Throttled {
		why.Code = CodeThrottled
	}
	return why
}

// heldReason says which budget keeps a ready job from being claimed, if one does: it has too
// little left, or the models of all agents that could take it have no price.
func (m money) heldReason(j jobs.Job, routing fleet.Routing) (Reason, bool) {
	if r, refused := m.refused[j.ID]; refused {
		return budgetReason(r), true
	}
	if h, held := m.unpriced.FindHolder(j.ProductID, j.Phase, j.ID); held {
		return m.modelReason(h, j.ProductID, toNeeds(j), routing)
	}
	return Reason{}, false
}

// modelReason says that a budget holds the claims of all agents that could take a job of a product
// for want of a price, if it does.
func (m money) modelReason(h budgeting.Holder, product ids.ID, needs fleet.Needs, routing fleet.Routing) (why Reason, held bool) {
	engines := map[ids.ID][]string{}
	for _, fit := range routing.Eligible {
		for _, a := range fit.Factory.Agents {
			engines[a.ID] = fit.Factory.Engines
		}
	}
	for _, a := range routing.Takers(needs) {
		user := budgeting.User{Model: prices.Model{Provider: a.Provider, Name: a.Model}, Engines: engines[a.ID]}
		without := m.unpriced.Without(user, product)
		switch {
		case len(without) == 0:
			return Reason{}, false
		case !held:
			why, held = budgetReason(h.Refusal(without[0].Name)), true
		}
	}
	return why, held
}

// pausedReason says who or what paused a job: a person, its own ceilings or a budget.
func (m money) pausedReason(j jobs.Job) Reason {
	byBudget := j.StatusBy.Kind == tenancy.KindSystem && j.StatusBy.Name == budgeting.Actor
	r, short := m.refused[j.ID]
	switch {
	case m.own[j.ID]:
		return Reason{Code: CodeBudget, Since: &j.StatusAt, Text: "Its own budget is used up"}
	case byBudget && short:
		why := budgetReason(r)
		why.Since = &j.StatusAt
		return why
	case byBudget:
		return Reason{Code: CodeBudget, Since: &j.StatusAt, Text: "A budget paused it; it goes on as soon as that has room"}
	}
	return Reason{Code: CodePaused, By: j.StatusBy, CarriedOutBy: j.CarriedOutBy, Since: &j.StatusAt}
}

// pendingReason says what the holder of a job is directed to do, if it is directed to stop.
func pendingReason(j jobs.Job) (Reason, bool) {
	if !j.Lease.IsDirectedToStop() {
		return Reason{}, false
	}
	code, asked := map[string]string{string(jobs.ByPause): CodePausePending, string(jobs.ByCancel): CodeCancelPending}[j.Lease.Directive]
	return Reason{Code: code, By: j.Lease.DirectiveBy, Until: j.Lease.GraceEndsAt, Text: j.Lease.DirectiveReason}, asked
}
