package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"fleetboard/db"
	"fleetboard/internal/dispatch/waitlist"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// Limits of a claim, as openapi.yaml has them.
const (
	maxClaim = 100
	// maxClaimWord bounds a session key and a request id, in characters.
	maxClaimWord = 255
	minTTL       = 10
	maxTTL       = 86400
	defaultTTL   = 900
	// claimReaps is how many lapsed leases a claim takes back itself, so that
	// work comes back also where no reaper runs.
	claimReaps = 5
)

// Why a claim gave nothing.
const (
	ReasonEmpty    = "empty"
	ReasonNoSeats  = "no_seats"
	ReasonDraining = "draining"
	// There is something to do, in products that are paused or have as many jobs
	// in review as they allow.
	ReasonPaused        = "paused"
	ReasonReviewBacklog = "review_backlog"
)

// ClaimRequest is what an agent asks for.
type ClaimRequest struct {
	Wait       time.Duration // 0 answers at once
	Max        int           // 1..100, 0 is 1
	TTLSeconds int           // 10..86400, 0 is 900
	Job        string        // key or id of the one job wanted, "" for any
	SessionKey string        // the agent's own name for the run
	RequestID  string        // the same id gives the same leases again
}

// Claimed is what an agent got: jobs with their leases, or the reason for none.
type Claimed struct {
	Jobs         []jobs.Job
	QueueVersion string
	Reason       string
}

// Claim gives an agent the most urgent jobs it can work on, waiting for the
// first one up to in.Wait. The version is the one read before the last look.
//
// Faults: Validation; Superseded for a boot that was replaced; for a named job
// NotFound and NotClaimable; TooMany where too many claims of the agent wait.
func (s *Service) Claim(ctx context.Context, who tenancy.Principal, in ClaimRequest) (Claimed, error) {
	if err := requireAgent(who); err != nil {
		return Claimed{}, err
	}
	in, err := in.checked()
	if err != nil {
		return Claimed{}, err
	}
	s.reapInPassing(ctx, who.Workspace)
	end := time.Now().Add(in.Wait)
	call := claimCall{who, in, s.waiters.Hint(who.Agent)}
	var leave func()
	for {
		result, err := s.claims.Do(ctx, who.Workspace, call)
		if err != nil {
			return Claimed{}, err
		}
		if len(result.claimed.Jobs) > 0 {
			return result.claimed, s.revokeUndelivered(ctx, who, in, result.claimed.Jobs)
		}
		if result.again && ctx.Err() == nil {
			continue
		}
		if result.outOfCapacity {
			s.waiters.NotifyNext(who.Workspace, result.lanes, 1)
		}
		left := time.Until(end)
		if left <= 0 || in.Job != "" {
			return result.claimed, ctx.Err()
		}
		if leave == nil {
			if leave, err = s.waiters.Admit(who); err != nil {
				return Claimed{}, err
			}
			defer leave()
		}
		why := s.waiters.Wait(ctx, who.Workspace, result.waiting(), left)
		if why == waitlist.TimedOut {
			return result.claimed, ctx.Err()
		}
		call.hint = waitlist.Hint{Factory: result.factory, Lanes: result.lanes, Likely: why == waitlist.JobReady}
	}
}

// waiting is what a claim that found nothing waits for: a seat where it found the
// agent full, or else a job.
func (r claimResult) waiting() waitlist.Waiting {
	return waitlist.Waiting{Factory: r.factory, Lanes: r.lanes, Version: r.version, Began: r.began,
		ForSeat: r.claimed.Reason == ReasonNoSeats || r.claimed.Reason == ReasonDraining}
}

func (in ClaimRequest) checked() (ClaimRequest, error) {
	in.Max = cmp.Or(in.Max, 1)
	in.TTLSeconds = cmp.Or(in.TTLSeconds, defaultTTL)
	fields := map[string]string{}
	if in.Wait < 0 || in.Wait > waitlist.MaxWait {
		fields["wait_seconds"] = "It must be 0 to 50."
	}
	if in.Max < 1 || in.Max > maxClaim {
		fields["max"] = "It must be 1 to 100."
	}
	if in.TTLSeconds < minTTL || in.TTLSeconds > maxTTL {
		fields["ttl_seconds"] = "It must be 10 to 86400."
	}
	if utf8.RuneCountInString(in.SessionKey) > maxClaimWord {
		fields["session_key"] = "It must have at most 255 characters."
	}
	if utf8.RuneCountInString(in.RequestID) > maxClaimWord {
		fields["request_id"] = "It must have at most 255 characters."
	}
	if len(fields) > 0 {
		return in, fault.InvalidFields(fields)
	}
	return in, nil
}

// revokeUndelivered gives back what a caller got that went away while others were
// answered with it, and returns why it did. Who named its request can ask again.
func (s *Service) revokeUndelivered(ctx context.Context, who tenancy.Principal, in ClaimRequest, given []jobs.Job) error {
	gone := ctx.Err()
	if gone == nil || in.RequestID != "" {
		return gone
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterCommitTimeout)
	defer cancel()
	var back []change
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		back, err = releaseLeases(ctx, tx, who, who.Agent, "The claim's caller went away before it was answered.", func(j jobs.Job) bool {
			return slices.ContainsFunc(given, func(g jobs.Job) bool { return g.ID == j.ID && g.Epoch == j.Epoch })
		})
		return err
	})
	if err == nil {
		s.afterCommit(ctx, who.Workspace, back...)
	}
	return errors.Join(gone, err)
}

// QueueVersion is the version of an agent's lanes, as this process knows it,
// read without the database. It changes at least whenever one of them has got
// a claimable job.
func (s *Service) QueueVersion(who tenancy.Principal) string {
	return s.waiters.Text(s.waiters.Version(who.Workspace, s.waiters.Hint(who.Agent).Lanes))
}
