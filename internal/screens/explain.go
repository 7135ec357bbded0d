package screens

import (
	"strings"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// facts are what the reasons of some jobs need beside the jobs themselves.
type facts struct {
	route        func(lane int64, needs fleet.Needs) fleet.Routing
	stops        fleet.Stops
	dependencies map[ids.ID][]dependency // those that are not completed
	repos        map[string]repoHolder   // of busy repos
	paths        map[ids.ID]jobs.PathsBusy
	backlog      map[ids.ID]int  // jobs in review, of each product
	lost         map[ids.ID]bool // jobs whose last attempt was lost
	money        money
	seats        seatHolders
	merge        *Reason      // of the one approved job that is explained
	verification *Reason      // of the one job in review that is explained
	held         *Reason      // likewise, by the policy
	refused      *Reason      // why the origin did not take the branch of the job that is explained
	pool         *pools.Start // that can start a factory for the job that is explained
	fleet        fleet.Snapshot
	pools        []pools.Pool // that may start one for those that no live factory can run
	standing     []Reason     // what waiting has made of the one ready job that is explained, and to whom it is offered
	seat         *Reason      // the request for a seat that the job which is explained is to give, or to get
}

type dependency struct {
	key    string
	status jobs.Status
}

// repoHolder is the job that holds a repo, and the agent that works on it.
type repoHolder struct{ key, agent string }

// seatHolders are jobs on the seats of the factories that could run a job; more
// is how many there are beside them.
type seatHolders struct {
	keys []string
	more int
}

// findReason says why a job is where it is: of one that waits or is ready what
// keeps it from running, first what a person has to mend.
func (f facts) findReason(j jobs.Job) Reason {
	switch j.Status {
	case jobs.Waiting:
		return f.waitReason(j)
	case jobs.Ready:
		return f.readyReason(j)
	case jobs.Paused:
		if j.StatusBy.IsStop() {
			return f.pausedByStop(j)
		}
		return f.money.pausedReason(j)
	case jobs.Blocked:
		if j.Asks() {
			return Reason{Code: CodeQuestion, By: j.StatusBy, CarriedOutBy: j.CarriedOutBy, Since: &j.StatusAt, Text: j.Question}
		}
		return Reason{Code: CodeBlocked, By: j.StatusBy, CarriedOutBy: j.CarriedOutBy, Since: &j.StatusAt, Text: j.BlockedReason}
	case jobs.InReview:
		return Reason{Code: CodeInReview, Since: &j.StatusAt}
	case jobs.Approved:
		return Reason{Code: CodeApproved, By: j.StatusBy, CarriedOutBy: j.CarriedOutBy, Since: &j.StatusAt}
	case jobs.Assigned, jobs.Running:
		return workReason(j)
	default:
		return endReason(j)
	}
}

func workReason(j jobs.Job) Reason {
	r := Reason{Code: CodeRunning, By: j.StatusBy, Since: &j.StatusAt}
	if j.Status == jobs.Assigned {
		r.Code = CodeClaimed
	}
	if j.Lease != nil {
		r.By, r.Since, r.Factories = tenancy.Actor{Kind: tenancy.KindAgent, ID: j.Lease.AgentID.String(), Name: j.Lease.Agent},
			&j.Lease.ClaimedAt, []string{j.Lease.Factory}
	}
	return r
}

func endReason(j jobs.Job) Reason {
	r := Reason{By: j.StatusBy, CarriedOutBy: j.CarriedOutBy, Since: &j.StatusAt, Text: j.LastError}
	switch j.Status {
	case jobs.Completed:
		r.Code, r.Text = CodeCompleted, ""
	case jobs.Aborted:
		r.Code = CodeAborted
	case jobs.Archived:
		r.Code, r.Text = CodeArchived, ""
	default:
		r.Code = CodeFailed
		if path, found := strings.CutPrefix(j.LastError, CodeDependencyCycle+": "); found {
			r.Code, r.Text = CodeDependencyCycle, path
		}
	}
	return r
}

func (f facts) waitReason(j jobs.Job) Reason {
	r := Reason{Code: string(j.WaitReason), Since: &j.StatusAt}
	if j.WaitReason.Kind() == jobs.ForTime {
		r.Until = j.NotBefore
	}
	switch j.WaitReason {
	case jobs.WaitDependency:
		return f.dependencyReason(j)
	case jobs.WaitRetryBackoff:
		r.Text, r.Lost = j.LastError, f.lost[j.ID]
	case jobs.WaitRepoBusy:
		if h, found := f.repos[j.Repo]; found {
			r.Keys, r.By = []string{h.key}, tenancy.Actor{Kind: tenancy.KindAgent, Name: h.agent}
		}
	case jobs.WaitPathsBusy:
		if busy, found := f.paths[j.ID]; found {
			r.Keys, r.Paths, r.Ahead = []string{busy.Job}, busy.Paths, busy.Waits
			r.By = tenancy.Actor{Kind: tenancy.KindAgent, Name: busy.Agent}
		}
	case jobs.WaitBudget:
		if refused, known := f.money.refused[j.ID]; known {
			r = budgetReason(refused)
			r.Since = &j.StatusAt
		}
	case jobs.WaitReviewBacklog:
		return f.backlogReason(j)
	}
	return r
}

// dependencyReason names what the job waits for; where some of that has ended
// without success, that alone, for waiting does not help there.
func (f facts) dependencyReason(j jobs.Job) Reason {
	r := Reason{Code: CodeDependency, Since: &j.StatusAt}
	for _, d := range f.dependencies[j.ID] {
		if d.status.Finished() {
			r.Code, r.Ended = CodeDependencyFailed, append(r.Ended, Ended{Key: d.key, Status: d.status})
		} else {
			r.Keys = append(r.Keys, d.key)
		}
	}
	return r
}

func (f facts) backlogReason(j jobs.Job) Reason {
	r := Reason{Code: CodeReviewBacklog, Since: &j.StatusAt, Product: j.Product, Count: f.backlog[j.ProductID]}
	if j.ReviewLimit != nil {
		r.Limit = *j.ReviewLimit
	}
	return r
}

// readyReason says whether anybody could take the job: its product or a budget may forbid
// that to all.
func (f facts) readyReason(j jobs.Job) Reason {
	switch s := f.stops.Covering(j.ProductID); {
	case s != nil:
		return stopReason(*s)
	case j.ProductPaused:
		return Reason{Code: CodeProductPaused, Product: j.Product}
	case j.ReviewLimit != nil && f.backlog[j.ProductID] >= *j.ReviewLimit:
		return f.backlogReason(j)
	}
	routing := f.route(j.LaneID, toNeeds(j))
	if why, held := f.money.heldReason(j, routing); held {
		return why
	}
	why := routeReason(routing)
	if why.Code != CodeNoFactory {
		return why
	}
	if start := pools.Startable(f.pools, j.Product, toNeeds(j), f.fleet); start.IsExpected() {
		return poolReason(start)
	}
	return why
}

// isUnserved reports whether a job is ready and no live factory can run it.
func (f facts) isUnserved(j jobs.Job) bool {
	return j.Status == jobs.Ready && len(f.route(j.LaneID, toNeeds(j)).Eligible) == 0
}

// stopReason says what is stopped: a product, or the whole fleet where it names none.
func stopReason(s fleet.Stop) Reason {
	return Reason{Code: CodeStopped, Product: s.Product, By: s.By, Since: &s.At, Text: s.Reason}
}

// pausedByStop explains a job that a stop has paused; once that is released the job goes on
// in a moment, unless its own budget is used up.
func (f facts) pausedByStop(j jobs.Job) Reason {
	if s := f.stops.Covering(j.ProductID); s != nil {
		return stopReason(*s)
	}
	return f.money.pausedReason(j)
}

func toNeeds(j jobs.Job) fleet.Needs {
	return fleet.Needs{Repo: j.Repo, Capabilities: j.Capabilities, Factory: j.Factory}
}

func routeReason(routing fleet.Routing) Reason {
	if len(routing.Eligible) == 0 {
		r := Reason{Code: CodeNoFactory}
		if len(routing.Ineligible) > 0 {
			nearest := routing.Ineligible[0]
			r.Nearest, r.Missing, r.Text, r.Unavailable = nearest.Factory.Name, nearest.Missing, nearest.Reason, nearest.Unavailable
		}
		return r
	}
	r := Reason{Code: CodeSeatsTaken}
	empty := 0
	var held *fleet.Agent
	for _, fit := range routing.Eligible {
		if h := fit.Held; h != nil && (held == nil || h.HeldUntil.Before(*held.HeldUntil)) {
			held = h
		}
		r.Factories = append(r.Factories, fit.Factory.Name)
		r.Seats += fit.Factory.Seats
		r.Free += fit.Free
		empty += max(0, fit.Factory.Seats-fit.Factory.Taken)
	}
	switch {
	case r.Free > 0:
		r.Code = CodeCanStart
	case empty > 0 && held != nil:
		return Reason{Code: CodeProviderHeld, Text: held.Provider, Until: held.HeldUntil}
	case empty > 0:
		r.Code, r.Free = CodeAgentsBusy, empty
	}
	return r
}

// Explanation says why a job is where it is, and who could run it. It has at
// least one reason, whatever the job's status.
type Explanation struct {
	Job     jobs.Job
	Reasons []Reason
	Routing fleet.Routing
	// CanBeStarted is the pool that could start a factory for it; nil where none fits, or the
	// job does not wait for a factory.
	CanBeStarted *pools.Start
}

// explain gathers all that stands between a job and its run: a waiting job that
// no factory could run says both.
func (f facts) explain(j jobs.Job) Explanation {
	first := f.findReason(j)
	e := Explanation{Job: j, Routing: f.route(j.LaneID, toNeeds(j)), Reasons: f.withKeys(first)}
	if asked, pending := pendingReason(j); pending {
		e.Reasons = append(e.Reasons, asked)
	}
	e.Reasons = append(e.Reasons, f.standing...)
	for _, more := range []*Reason{f.seat, f.refused, f.verification, f.held, f.merge} {
		if more != nil {
			e.Reasons = append(e.Reasons, *more)
		}
	}
	if j.Status.Leased() || j.Status.Finished() || j.Status == jobs.InReview || j.Status == jobs.Approved {
		return e
	}
	if s := f.stops.Covering(j.ProductID); s != nil && first.Code != CodeStopped {
		e.Reasons = append(e.Reasons, stopReason(*s))
	}
	if j.ProductPaused && first.Code != CodeProductPaused {
		e.Reasons = append(e.Reasons, Reason{Code: CodeProductPaused, Product: j.Product})
	}
	if len(e.Routing.Eligible) == 0 && first.Code != CodeNoFactory {
		e.Reasons = append(e.Reasons, routeReason(e.Routing))
	}
	if e.CanBeStarted = f.pool; f.pool != nil && !e.Routing.HasFree() {
		e.Reasons = append(e.Reasons, poolReason(f.pool))
	}
	return e
}

// withKeys returns the first reason with the jobs that it speaks of; where a dependency failed,
// the open ones are a reason of their own.
func (f facts) withKeys(first Reason) []Reason {
	switch first.Code {
	case CodeSeatsTaken, CodeAgentsBusy:
		first.Keys, first.More = f.seats.keys, f.seats.more
	case CodeDependencyFailed:
		open := Reason{Code: CodeDependency, Keys: first.Keys, Since: first.Since}
		if first.Keys = nil; len(open.Keys) > 0 {
			return []Reason{first, open}
		}
	}
	return []Reason{first}
}

// poolReason says that a pool can start a factory, that it has all that it may, or that nothing comes
// of it.
func poolReason(p *pools.Start) Reason {
	switch {
	case !p.IsExpected():
		return Reason{Code: CodePoolStartsNone, Pool: p}
	case p.Maximum > 0:
		return Reason{Code: CodePoolAtMaximum, Pool: p}
	}
	return Reason{Code: CodeCanBeStarted, Pool: p}
}
