package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// claimLoop claims jobs for all free seats by one call at a time and starts the work on each, until
// ctx ends. It returns the refusal after which the agent can never claim again.
func (a *agent) claimLoop(ctx, workCtx context.Context) error {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		free := a.Seats - len(a.heldJobs())
		if free <= 0 {
			select {
			case <-a.freed:
			case <-ctx.Done():
			}
			continue
		}
		claimed, err := a.claim(ctx, workCtx, min(free, api.MaxClaimRequestMax))
		switch {
		case ctx.Err() != nil:
		case err == nil:
			pause = 0
		case api.AgentEnded(err):
			return err
		default:
			a.Log.Warn("claiming failed: " + err.Error())
			pause = pauseLonger(ctx, pause)
		}
		for _, j := range claimed {
			a.jobs.Go(func() { a.runJob(workCtx, j) })
		}
	}
	return nil
}

// claim requests up to n jobs, waits for the first, and adds their leases. A call that got no answer
// is sent again under its id, which gives the same leases.
func (a *agent) claim(ctx, workCtx context.Context, n int) (claimed []*Job, err error) {
	a.setClaiming(true)
	defer a.setClaiming(false)
	id := rand.Text()
	ttl := int(a.Lease.Seconds())
	// A lease counts from the call that brings it, so the wait is short where the lease is.
	wait := int(min(longestWait, a.Lease/3).Seconds())
	body := api.ClaimRequest{Max: &n, WaitSeconds: &wait, TTLSeconds: &ttl, RequestID: &id}
	pause := time.Duration(0)
	for try := 1; ; try++ {
		sent := time.Now()
		var answer *api.ClaimJobsResponse
		err = a.withValidToken(ctx, func() (err error) {
			answer, err = a.api.ClaimJobsWithResponse(ctx, body)
			return err
		})
		if err == nil {
			if answer.JSON200 != nil {
				for _, j := range answer.JSON200.Jobs {
					claimed = append(claimed, a.addLease(workCtx, j, sent, cmp.Or(j.Lease.TTLSeconds, ttl)))
				}
			}
			return claimed, nil
		}
		if _, unreachable := errors.AsType[*api.Unreachable](err); !unreachable || try == claimTries || ctx.Err() != nil {
			return nil, err
		}
		pause = pauseLonger(ctx, pause)
	}
}

func (a *agent) setClaiming(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.claiming = on
}

// addLease adds a lease that lasts for ttl seconds from the call that brought it.
func (a *agent) addLease(workCtx context.Context, job api.Job, sent time.Time, ttl int) *Job {
	j := &Job{Job: job, API: a.api, extendedAt: sent, duration: time.Duration(ttl) * time.Second}
	j.ctx, j.stop = context.WithCancelCause(workCtx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[leaseID{job.Key, job.Lease.Epoch}] = j
	return j
}

// removeLease removes a lease that has ended.
func (a *agent) removeLease(j *Job) {
	j.stop(context.Canceled)
	a.mu.Lock()
	delete(a.held, leaseID{j.Key, j.Lease.Epoch})
	a.mu.Unlock()
	wake(a.freed)
	wake(a.beatNow)
}

// heldJobs returns the jobs that the agent holds.
func (a *agent) heldJobs() []*Job {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*Job, 0, len(a.held))
	for _, j := range a.held {
		all = append(all, j)
	}
	return all
}

// wake wakes the receiver of c, now or when it next receives.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
