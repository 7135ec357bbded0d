package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// claims claims jobs for all free seats by one call at a time and starts the work on each, until
// ctx ends. It returns the refusal after which the agent can never claim again.
func (a *agent) claims(ctx, background context.Context) error {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		free := a.Seats - len(a.holding())
		if free <= 0 {
			select {
			case <-a.freed:
			case <-ctx.Done():
			}
			continue
		}
		found, err := a.claim(ctx, background, min(free, api.MaxClaimRequestMax))
		switch {
		case ctx.Err() != nil:
		case err == nil:
			pause = 0
		case api.AgentEnded(err):
			return err
		default:
			a.Log.Warn("claiming failed: " + err.Error())
			pause = back(ctx, pause)
		}
		for _, j := range found {
			a.jobs.Go(func() { a.do(background, j) })
		}
	}
	return nil
}

// claim requests up to n jobs, waits for the first, and holds their leases. A call that got no
// answer is sent again under its id, which gives the same leases.
func (a *agent) claim(ctx, background context.Context, n int) (found []*Job, err error) {
	a.setAsking(true)
	defer a.setAsking(false)
	id, ttl := rand.Text(), int(a.Lease.Seconds())
	// A lease is reckoned from the call that brings it, so that a short one is not awaited to its end.
	wait := int(min(longestWait, a.Lease/3).Seconds())
	body := api.ClaimRequest{Max: &n, WaitSeconds: &wait, TTLSeconds: &ttl, RequestID: &id}
	for try, pause := 0, time.Duration(0); ; try++ {
		sent := time.Now()
		var answer *api.ClaimJobsResponse
		err = a.enrolled(ctx, func() (err error) {
			answer, err = a.api.ClaimJobsWithResponse(ctx, body)
			return err
		})
		if err == nil {
			if answer.JSON200 != nil {
				for _, j := range answer.JSON200.Jobs {
					found = append(found, a.hold(background, j, sent, cmp.Or(j.Lease.TTLSeconds, ttl)))
				}
			}
			return found, nil
		}
		if _, away := errors.AsType[*api.Unreachable](err); !away || try == 4 || ctx.Err() != nil {
			return nil, err
		}
		pause = back(ctx, pause)
	}
}

func (a *agent) setAsking(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = on
}

// hold takes a lease into account that lasts for ttl seconds from the call that brought it.
func (a *agent) hold(background context.Context, job api.Job, sent time.Time, ttl int) *Job {
	j := &Job{Job: job, API: a.api, heard: sent, lasts: time.Duration(ttl) * time.Second}
	j.ctx, j.stop = context.WithCancelCause(background)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[leaseID{job.Key, job.Lease.Epoch}] = j
	return j
}

// letGo forgets a lease that has ended.
func (a *agent) letGo(j *Job) {
	j.stop(context.Canceled)
	a.mu.Lock()
	delete(a.held, leaseID{j.Key, j.Lease.Epoch})
	a.mu.Unlock()
	wake(a.freed)
	wake(a.beatNow)
}

// holding returns the jobs that the agent holds.
func (a *agent) holding() []*Job {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*Job, 0, len(a.held))
	for _, j := range a.held {
		all = append(all, j)
	}
	return all
}

// wake wakes who waits for c, now or when it next does.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
