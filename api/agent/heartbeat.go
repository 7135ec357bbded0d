package agent

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// firstInterval is between two heartbeats until the server has said how often it wants one.
	firstInterval = 5 * time.Second
	// margin is how long before the end of a lease the work on it stops, so that nothing is done in
	// the name of a lease that the server may just have ended.
	margin = 2 * time.Second
)

// heartbeats says again and again that the agent lives, and obeys what the server says of its
// leases, until ctx ends.
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
func (a *agent) beat(ctx context.Context, patience time.Duration) (*api.HeartbeatAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, max(patience, 5*time.Second))
	defer cancel()
	named, status := []api.ProgressReport{}, api.HeartbeatStatusIdle
	held := a.holding()
	for _, j := range held {
		named, status = append(named, api.ProgressReport{Job: j.Key, Epoch: j.Lease.Epoch}), api.HeartbeatStatusWorking
	}
	asked, sent := a.isAsking(), time.Now()
	var answer *api.HeartbeatResponse
	err := a.enrolled(ctx, func() (err error) {
		answer, err = a.beats.HeartbeatWithResponse(ctx, a.Name, api.Heartbeat{BootID: a.boot, Status: status, Leases: &named})
		return err
	})
	if err != nil || answer.JSON200 == nil {
		return nil, err
	}
	if token := answer.JSON200.Token; token != nil {
		a.setToken(*token)
	}
	for _, s := range answer.JSON200.Leases {
		is := func(j *Job) bool { return j.Key == s.Job && j.Lease.Epoch == s.Epoch }
		if i := slices.IndexFunc(held, is); i >= 0 {
			j := held[i]
			if s.ExpiresAt != nil {
				j.extend(sent, s.ExpiresAt.Sub(answer.JSON200.Now))
			}
			j.obey(s.Directive)
		} else if !asked && !slices.ContainsFunc(a.holding(), is) && !a.isAsking() && s.Directive != api.DirectiveFenced {
			a.giveBack(ctx, s) // the claim's answer was lost
		}
	}
	return answer.JSON200, nil
}

// giveBack ends a lease that nobody works on.
func (a *agent) giveBack(ctx context.Context, s api.LeaseStanding) {
	if _, err := a.beats.ReleaseLeaseWithResponse(ctx,
		api.LeaseRelease{Job: s.Job, Epoch: s.Epoch, Reason: "The agent does not know of this attempt."}); err != nil {
		a.Log.Warn("a lease that nobody works on could not be given back: "+err.Error(), "job", s.Job, "epoch", s.Epoch)
	}
}

func (a *agent) isAsking() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asking
}

// watchLeases stops the work on leases that may have run out unheard, until ctx ends.
func (a *agent) watchLeases(ctx context.Context) {
	every := time.NewTicker(time.Second / 4)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		for _, j := range a.holding() {
			if j.left() < margin {
				j.stop(ErrUnheard)
			}
		}
	}
}
