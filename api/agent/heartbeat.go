package agent

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// firstInterval is the time between heartbeats until the server has answered with its own.
	firstInterval = 5 * time.Second
	// margin is how long before the end of a lease the work on it stops, so that no work is done
	// under a lease that the server may just have ended.
	margin = 2 * time.Second
)

// heartbeats sends heartbeats, and follows the directives for the agent's leases, until ctx ends.
func (a *agent) heartbeats(ctx context.Context) {
	interval := firstInterval
	for ctx.Err() == nil {
		answer, err := a.beat(ctx, interval)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("a heartbeat failed: " + err.Error())
		}
		if answer != nil && answer.IntervalSeconds > 0 {
			interval = time.Duration(answer.IntervalSeconds) * time.Second
		}
		select {
		case <-time.After(min(interval, a.Lease/3)):
		case <-a.beatNow:
		case <-ctx.Done():
		}
	}
}

// beat sends one heartbeat.
func (a *agent) beat(ctx context.Context, timeout time.Duration) (*api.HeartbeatAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, max(timeout, 5*time.Second))
	defer cancel()
	held := a.heldJobs()
	leases := []api.ProgressReport{}
	status := api.HeartbeatStatusIdle
	for _, j := range held {
		leases = append(leases, api.ProgressReport{Job: j.Key, Epoch: j.Lease.Epoch, FilesTouched: j.untold()})
		status = api.HeartbeatStatusWorking
	}
	claimedBefore := a.isClaiming()
	sent := time.Now()
	var answer *api.HeartbeatResponse
	err := a.withValidToken(ctx, func() (err error) {
		answer, err = a.beatAPI.HeartbeatWithResponse(ctx, a.Name, api.Heartbeat{BootID: a.bootID, Status: status, Leases: &leases})
		return err
	})
	refused := api.Refused(err, api.ProblemCodeValidationFailed, api.ProblemCodeMalformed, api.ProblemCodeTooLarge)
	for i, j := range held {
		if err == nil || refused { // one that is refused is not sent again: no lease is to be lost for it
			j.forgetTouched(leases[i].FilesTouched)
		}
	}
	if err != nil || answer.JSON200 == nil {
		return nil, err
	}
	if token := answer.JSON200.Token; token != nil {
		a.setToken(*token)
	}
	for _, s := range answer.JSON200.Leases {
		if j := find(held, s); j != nil {
			if s.ExpiresAt != nil {
				j.extend(sent, s.ExpiresAt.Sub(answer.JSON200.Now))
			}
			j.obey(s.Directive)
		} else if s.Directive != api.DirectiveFenced && a.isUnknown(s, claimedBefore) {
			a.releaseUnknown(ctx, s)
		}
	}
	return answer.JSON200, nil
}

// isUnknown reports whether nobody works on a lease that is the agent's, since the answer to the
// claim was lost. A claim that was under way before or after the heartbeat may have brought the lease,
// or may still bring it: then it is not unknown. The lease is looked for last, for a claim that ends
// in between has added it.
func (a *agent) isUnknown(s api.LeaseStanding, claimedBefore bool) bool {
	return !claimedBefore && !a.isClaiming() && find(a.heldJobs(), s) == nil
}

// find returns the job with a lease; nil where there is none.
func find(jobs []*Job, s api.LeaseStanding) *Job {
	i := slices.IndexFunc(jobs, func(j *Job) bool { return j.Key == s.Job && j.Lease.Epoch == s.Epoch })
	if i < 0 {
		return nil
	}
	return jobs[i]
}

// releaseUnknown gives back a lease on which nobody works.
func (a *agent) releaseUnknown(ctx context.Context, s api.LeaseStanding) {
	if _, err := a.beatAPI.ReleaseLeaseWithResponse(ctx,
		api.LeaseRelease{Job: s.Job, Epoch: s.Epoch, Reason: "The agent does not know of this attempt."}); err != nil {
		a.Log.Warn("a lease that nobody works on could not be given back: "+err.Error(), "job", s.Job, "epoch", s.Epoch)
	}
}

func (a *agent) isClaiming() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.claiming
}

// watchLeases stops the work on leases that may have expired without an answer of the server, until
// ctx ends.
func (a *agent) watchLeases(ctx context.Context) {
	ticker := time.NewTicker(time.Second / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, j := range a.heldJobs() {
			if j.left() < margin {
				j.stop(ErrUnheard)
			}
		}
	}
}
