package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// Limits of a claim (api.md).
const (
	maxWait  = 50 * time.Second
	maxClaim = 100
	// maxClaimWord bounds a session key and a request id, in characters.
	maxClaimWord = 255
	minTTL       = 10
	maxTTL       = 86400
	defaultTTL   = 900
	// safetyPoll is how long a waiting claim trusts the wake-ups; each wait is
	// spread by half either way.
	safetyPoll = 20 * time.Second
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
	call := claimCall{who, in, s.waiters.hint(who.Agent)}
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
			s.waiters.notifyNext(who.Workspace, result.lanes, 1)
		}
		left := time.Until(end)
		if left <= 0 || in.Job != "" {
			return result.claimed, ctx.Err()
		}
		if leave == nil {
			if leave, err = s.waiters.admit(who); err != nil {
				return Claimed{}, err
			}
			defer leave()
		}
		why := s.wait(ctx, who, result, left)
		if why == timedOut {
			return result.claimed, ctx.Err()
		}
		call.hint = claimHint{result.factory, result.lanes, why == jobReady}
	}
}

// waitsForSeat reports whether the claim found the agent full, not the lanes
// empty or closed.
func (c Claimed) waitsForSeat() bool { return c.Reason == ReasonNoSeats || c.Reason == ReasonDraining }

func (in ClaimRequest) checked() (ClaimRequest, error) {
	in.Max = cmp.Or(in.Max, 1)
	in.TTLSeconds = cmp.Or(in.TTLSeconds, defaultTTL)
	fields := map[string]string{}
	if in.Wait < 0 || in.Wait > maxWait {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOnTimeout)
	defer cancel()
	var back []change
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		back, err = giveBack(ctx, tx, who, who.Agent, "The claim's caller went away before it was answered.", func(j jobs.Job) bool {
			return slices.ContainsFunc(given, func(g jobs.Job) bool { return g.ID == j.ID && g.Epoch == j.Epoch })
		})
		return err
	})
	if err == nil {
		s.settled(ctx, who.Workspace, back...)
	}
	return errors.Join(gone, err)
}

// wakeReason is why a wait ended.
type wakeReason int

const (
	timedOut wakeReason = iota // there is nothing to look for
	recheck                    // there may be a job
	jobReady                   // a job has just become ready for the one that waited
)

// wait sleeps until one of the agent's lanes has changed since the look, the
// safety poll is due, or the time is over.
func (s *Service) wait(ctx context.Context, who tenancy.Principal, l claimResult, left time.Duration) wakeReason {
	one := s.waiters.add(who.Workspace, l.factory, l.lanes, l.claimed.waitsForSeat())
	defer s.waiters.remove(one)
	if s.waiters.version(who.Workspace, l.lanes) != l.version ||
		l.claimed.waitsForSeat() && s.waiters.seatSince(l.factory, l.began) {
		return recheck
	}
	poll := s.waiters.poll(l.claimed.waitsForSeat())
	timer := time.NewTimer(min(left, poll))
	defer timer.Stop()
	select {
	case why := <-one.signal:
		return why
	case <-timer.C:
		if left > poll {
			return recheck
		}
		return timedOut
	case <-ctx.Done():
		return timedOut
	case <-s.waiters.closed:
		return timedOut
	}
}

// QueueVersion is the version of an agent's lanes, as this process knows it,
// read without the database. It changes at least whenever one of them has got
// a claimable job.
func (s *Service) QueueVersion(who tenancy.Principal) string {
	return s.waiters.text(s.waiters.version(who.Workspace, s.waiters.hint(who.Agent).lanes))
}
