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
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// maxLooks is how often one claim looks again because what it was given failed or was
// held instead. What is left behind is the sweep's.
const maxLooks = 100

// Why a claim gave nothing.
const (
	ReasonEmpty    = "empty"
	ReasonNoSeats  = "no_seats"
	ReasonDraining = "draining"
	// There is something to do, in products that are paused or have as many jobs
	// in review as they allow.
	ReasonPaused        = "paused"
	ReasonReviewBacklog = "review_backlog"
	// What there is to do has too little left in its budget.
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

// Claim gives an agent the most urgent jobs it can work on, waiting for the
// first one up to in.Wait. The version is the one read before the last look.
//
// Faults: Validation; Superseded for a boot that was replaced; for a named job
// NotFound and NotClaimable; TooMany where too many claims of the agent wait.
func (s *Service) Claim(ctx context.Context, who tenancy.Principal, in Request) (Result, error) {
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
	looked, short := 0, false // how often it has looked again, and whether a budget was why
	for {
		result, err := s.claims.Do(ctx, who.Workspace, call)
		if err != nil {
			return Result{}, err
		}
		if len(result.claimed.Jobs) > 0 {
			return result.claimed, s.revokeUndelivered(ctx, who, in, result.claimed.Jobs)
		}
		if result.again && looked < maxLooks && ctx.Err() == nil {
			looked++
			short = short || result.claimed.Reason == ReasonBudget
			continue
		}
		result.sayShort(short)
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
		why := s.await(ctx, who, result, left)
		if why == waitlist.TimedOut {
			return result.claimed, ctx.Err()
		}
		call.hint = waitlist.Hint{Factory: result.factory, Lanes: result.lanes, Likely: why == waitlist.JobReady}
	}
}

// sayShort says that there was something to do, where a budget was short of it.
func (r *claimResult) sayShort(short bool) {
	if short && r.claimed.Reason == ReasonEmpty {
		r.claimed.Reason = ReasonBudget
	}
}

// await waits for what a claim found nothing of, or until its provider takes requests
// again.
func (s *Service) await(ctx context.Context, who tenancy.Principal, result claimResult, left time.Duration) waitlist.Reason {
	patience := left
	if result.held > 0 {
		patience = min(left, result.held)
	}
	why := s.waiters.Wait(ctx, who.Workspace, result.waiting(), patience)
	if why == waitlist.TimedOut && patience < left && ctx.Err() == nil {
		return waitlist.Recheck
	}
	return why
}

// waiting returns what a claim that found nothing waits for: a seat where it found the
// agent full, or else a job.
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

// revokeUndelivered gives back what a caller got that went away while others were
// answered with it, and returns why it did. Who named its request can ask again.
func (s *Service) revokeUndelivered(ctx context.Context, who tenancy.Principal, in Request, given []jobs.Job) error {
	gone := ctx.Err()
	if gone == nil || in.RequestID != "" {
		return gone
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.AfterCommitTimeout)
	defer cancel()
	var back []lease.Change
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		back, err = lease.ReleaseTx(ctx, tx, who, who.Agent, "The claim's caller went away before it was answered.", func(j jobs.Job) bool {
			return slices.ContainsFunc(given, func(g jobs.Job) bool { return g.ID == j.ID && g.Epoch == j.Epoch })
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
