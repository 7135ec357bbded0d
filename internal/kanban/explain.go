package kanban

import (
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
)

// reasonOf says why a job does not run: of a waiting one what it waits for, of
// a ready one whether anybody could take it. keys are the open dependencies.
func reasonOf(j jobs.Job, keys []string, snap fleet.Snapshot) Reason {
	switch j.Status {
	case jobs.Waiting:
		return waitReason(j, keys)
	case jobs.Ready:
		return readyReason(snap.Route(fleet.Needs{Repo: j.Repo, Capabilities: j.Capabilities, Factory: j.Factory}))
	case jobs.Paused:
		return Reason{Code: CodePaused, Text: j.StatusBy}
	case jobs.Blocked:
		if j.Question != "" {
			return Reason{Code: CodeQuestion, Text: j.Question}
		}
		return Reason{Code: CodeBlocked, Text: j.BlockedReason}
	case jobs.InReview:
		return Reason{Code: CodeInReview}
	case jobs.Approved:
		return Reason{Code: CodeApproved, Text: j.StatusBy}
	}
	return Reason{}
}

func waitReason(j jobs.Job, keys []string) Reason {
	r := Reason{Code: string(j.WaitReason)}
	switch j.WaitReason {
	case jobs.WaitDependency:
		r.Keys = keys
	case jobs.WaitNotBefore:
		r.Until = j.NotBefore
	case jobs.WaitRetryBackoff:
		r.Until, r.Text = j.NotBefore, j.LastError
	}
	return r
}

func readyReason(routing fleet.Routing) Reason {
	if len(routing.Eligible) == 0 {
		r := Reason{Code: CodeNoFactory}
		if len(routing.Ineligible) > 0 {
			nearest := routing.Ineligible[0]
			r.Nearest, r.Missing, r.Text = nearest.Factory.Name, nearest.Missing, nearest.Reason
		}
		return r
	}
	r := Reason{Code: CodeSeatsTaken}
	for _, fit := range routing.Eligible {
		r.Factories = append(r.Factories, fit.Factory.Name)
		r.Seats += fit.Factory.Seats
		r.Free += fit.Free
	}
	if r.Free > 0 {
		r.Code = CodeCanStart
	}
	return r
}

// Explanation says why a job is where it is, and who could run it.
type Explanation struct {
	Job     jobs.Job
	Reasons []Reason
	Routing fleet.Routing
}

// explain gathers all that stands between a job and its start: a waiting job
// that no factory could run says both.
func explain(j jobs.Job, keys []string, snap fleet.Snapshot) Explanation {
	e := Explanation{Job: j, Routing: snap.Route(fleet.Needs{Repo: j.Repo, Capabilities: j.Capabilities, Factory: j.Factory})}
	if first := reasonOf(j, keys, snap); first.Code != "" {
		e.Reasons = append(e.Reasons, first)
	}
	stands := j.Status == jobs.Waiting || j.Status == jobs.Paused || j.Status == jobs.Blocked
	if stands && len(e.Routing.Eligible) == 0 {
		e.Reasons = append(e.Reasons, readyReason(e.Routing))
	}
	return e
}
