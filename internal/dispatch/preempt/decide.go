package preempt

import (
	"github.com/fleetboard/fleetboard/internal/ids"
)

// state is that of a request.
type state string

const (
	asked     state = "asked"
	expired   state = "expired"
	withdrawn state = "withdrawn"
	kept      state = "kept"
	ended     state = "ended"
)

// judge returns what becomes of a request that stands, by the gap of the workspace. open says whether
// claims give out the job for which it was made.
func judge(r request, gap int, open bool) state {
	switch {
	case !r.Held:
		return ended
	case !r.Directed:
		return kept
	case r.Expired:
		return expired
	case gap == 0, r.Gap < gap, !r.Ready, !open, r.Follows:
		return withdrawn
	}
	return asked
}

// seats are those of the workspace, by the rules of claims.
type seats interface {
	IsOpen(job ids.ID) bool
	TakeFree(job ids.ID) bool
	CouldTake(job ids.ID, factory string, works ids.ID) bool
}

// findNeedy returns the jobs that claims give out and that no free seat can run, in their order.
func findNeedy(ready []urgent, s seats) []urgent {
	var needy []urgent
	for _, j := range ready {
		if s.IsOpen(j.JobID) && !s.TakeFree(j.JobID) {
			needy = append(needy, j)
		}
	}
	return needy
}

// pair is a job and the victim whose seat it is to get.
type pair struct {
	job ids.ID
	victim
}

// choose returns for each job the first of the victims that is less urgent by the gap and whose seat the
// job could take; each victim once.
func choose(needy []urgent, victims []victim, gap int, s seats) []pair {
	var pairs []pair
	given := map[ids.ID]bool{}
	for _, j := range needy {
		for _, v := range victims {
			if !given[v.JobID] && j.Priority-v.Priority >= gap && s.CouldTake(j.JobID, v.Factory, v.AgentID) {
				given[v.JobID] = true
				pairs = append(pairs, pair{j.JobID, v})
				break
			}
		}
	}
	return pairs
}
