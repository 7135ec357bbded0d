package claim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// maxTries is how often one claim is tried again because its jobs failed or had to wait instead of
// being leased. The sweep handles the rest.
const maxTries = 100

// Why a claim gave nothing.
const (
	ReasonEmpty    = "empty"
	ReasonNoSeats  = "no_seats"
	ReasonDraining = "draining"
	// A person has stopped the fleet, or the products of the ready jobs.
	ReasonStopped = "stopped"
	// The ready jobs are of products that are paused, or have as many jobs in review as they
	// allow.
	ReasonPaused        = "paused"
	ReasonReviewBacklog = "review_backlog"
	// The ready jobs have too little left in their budgets.
	ReasonBudget = "budget"
	// The provider of the agent's models takes no requests for a time.
	ReasonRateLimited = "rate_limited"
)

// Request is what an agent wants.
type Request struct {
	Wait       time.Duration // 0 answers at once
	Max        int           // 1..100, 0 is 1
	TTLSeconds int           // 10..86400, 0 is 900
	Job        string        // key or id of the one job wanted, "" for any
	SessionKey string        // the agent's own name for the run
	RequestID  string        // the same id gives the same leases again
}

// Result is what an agent got.
type Result = lease.Claimed

// Claim gives an agent the most urgent jobs that it can work on, waiting for the first one up
// to in.Wait. The version is that of the lanes before they were last read.
//
// Faults: Validation; Superseded for a boot that was replaced; for a named job
// NotFound and NotClaimable; TooMany where too many claims of the agent wait.
func (s *Service) Claim(ctx context.Context, who tenancy.Principal, in Request) (Result, error) {
	result, err := s.claim(ctx, who, in)
	countAnswer(result, err)
	return result, err
}

// countAnswer counts what a claim got.
func countAnswer(result Result, err error) {
	switch {
	case err != nil:
		metrics.Claims.Of(metrics.Refused).Inc()
	case len(result.Jobs) > 0:
		metrics.Claims.Of(metrics.Claimed).Inc()
	default:
		metrics.Claims.Of(result.Reason).Inc()
	}
}

func (s *Service) claim(ctx context.Context, who tenancy.Principal, in Request) (Result, error) {
	if err := lease.RequireAgent(who); err != nil {
		return Result{}, err
	}
	in, err := in.checked()
	if err != nil {
		return Result{}, err
	}
	s.reaper.ReapInPassing(ctx, who.Workspace)
	end := time.Now().Add(in.Wait)
	call := claimCall{who, in, s.waiters.Hint(who.Agent)}
	var leave func()
	tries := 0
	budgetShort := false // a try failed since a budget had too little left
	for {
		began := time.Now()
		result, err := s.claims.Do(ctx, who.Workspace, call)
		metrics.ClaimTime.Observe(time.Since(began).Seconds())
		if err != nil {
			return Result{}, err
		}
		if len(result.claimed.Jobs) > 0 {
			return result.claimed, s.revokeUndelivered(ctx, who, in, result.claimed.Jobs)
		}
		if result.again && tries < maxTries && ctx.Err() == nil {
			tries++
			budgetShort = budgetShort || result.claimed.Reason == ReasonBudget
			continue
		}
		result.explainBudget(budgetShort)
		if result.outOfCapacity {
			s.waiters.NotifyNext(who.Workspace, result.lanes, 1)
		}
		left := time.Until(end)
		if left <= 0 || in.Job != "" {
			return result.claimed, ctx.Err()
		}
		if leave == nil {
			if leave, err = s.waiters.Admit(who); err != nil {
				return Result{}, err
			}
			defer leave()
		}
		reason := s.waitForWork(ctx, who, result, left)
		if reason == waitlist.TimedOut {
			return result.claimed, ctx.Err()
		}
		call.hint = waitlist.Hint{Factory: result.factory, Lanes: result.lanes, Likely: reason == waitlist.JobReady}
	}
}

// explainBudget sets the reason where there were jobs, but a budget had too little left for them.
func (r *claimResult) explainBudget(budgetShort bool) {
	if budgetShort && r.claimed.Reason == ReasonEmpty {
		r.claimed.Reason = ReasonBudget
	}
}

// waitForWork waits until there may be a job for a claim that got none, or until its provider takes
// requests again.
func (s *Service) waitForWork(ctx context.Context, who tenancy.Principal, result claimResult, left time.Duration) waitlist.Reason {
	timeout := left
	if result.held > 0 {
		timeout = min(left, result.held)
	}
	reason := s.waiters.Wait(ctx, who.Workspace, result.waiting(), timeout)
	if reason == waitlist.TimedOut && timeout < left && ctx.Err() == nil {
		return waitlist.Recheck
	}
	return reason
}

// waiting returns what a claim without a job waits for: a seat where the agent has none, or else a
// job.
func (r claimResult) waiting() waitlist.Waiting {
	return waitlist.Waiting{Factory: r.factory, Lanes: r.lanes, Version: r.version, Began: r.began,
		ForSeat: r.claimed.Reason == ReasonNoSeats || r.claimed.Reason == ReasonDraining}
}

func (in Request) checked() (Request, error) {
	in.Max = cmp.Or(in.Max, 1)
	in.TTLSeconds = cmp.Or(in.TTLSeconds, lease.DefaultTTL)
	p := (&lease.Next{Max: in.Max, TTLSeconds: in.TTLSeconds, RequestID: in.RequestID}).Problems("")
	if in.Wait < 0 || in.Wait > waitlist.MaxWait {
		p.Add("wait_seconds", "It must be 0 to 50.")
	}
	if utf8.RuneCountInString(in.SessionKey) > lease.MaxClaimWord {
		p.Add("session_key", "It must have at most 255 characters.")
	}
	return in, p.Err()
}

// revokeUndelivered releases the leases of a caller that went away before it was answered, and
// returns the error of its context. A caller whose request has an id can send it again.
func (s *Service) revokeUndelivered(ctx context.Context, who tenancy.Principal, in Request, claimed []jobs.Job) error {
	gone := ctx.Err()
	if gone == nil || in.RequestID != "" {
		return gone
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.AfterCommitTimeout)
	defer cancel()
	var back []lease.Change
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		back, err = lease.ReleaseTx(ctx, tx, who, who.Agent, "The claim's caller went away before it was answered.", func(j jobs.Job) bool {
			return slices.ContainsFunc(claimed, func(g jobs.Job) bool { return g.ID == j.ID && g.Epoch == j.Epoch })
		})
		return err
	})
	if err == nil {
		s.effects.AfterCommit(ctx, who.Workspace, back...)
	}
	return errors.Join(gone, err)
}

// QueueVersion returns the version of an agent's lanes, as this process knows it,
// read without the database. It changes at least whenever one of them has got
// a claimable job.
func (s *Service) QueueVersion(who tenancy.Principal) string { return s.waiters.AgentVersion(who) }
