package screens

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Codes of a Reason: they are part of the API and do not change. Each wait reason is
// one too.
const (
	CodeDependency       = string(jobs.WaitDependency)
	CodeNotBefore        = string(jobs.WaitNotBefore)
	CodeRetryBackoff     = string(jobs.WaitRetryBackoff)
	CodeBudget           = string(jobs.WaitBudget)
	CodeRepoBusy         = string(jobs.WaitRepoBusy)
	CodeReviewBacklog    = string(jobs.WaitReviewBacklog)
	CodePathsBusy        = string(jobs.WaitPathsBusy)
	CodeDependencyFailed = "dependency_failed" // what it waits for has ended without success
	CodeProductPaused    = "product_paused"
	CodeStopped          = "stopped" // with the whole fleet, or its product
	CodePaused           = "paused"
	CodeBlocked          = "blocked"
	CodeQuestion         = "question"
	CodeNoFactory        = "no_factory"  // no live factory can run it
	CodeSeatsTaken       = "seats_taken" // those that can have no free seat
	CodeAgentsBusy       = "agents_busy" // they have seats, and no agent for them
	// The providers of the agents that could take it accept no requests for a time.
	CodeProviderHeld = "provider_held"
	// A budget keeps what it has for more urgent jobs.
	CodeThrottled = "throttled"
	// Its agent is directed to stop and has not done so yet.
	CodePausePending  = "pause_pending"
	CodeCancelPending = "cancel_pending"
	// Its agent is asked to give the seat to a more urgent job, or that of another job to give its seat
	// to this one.
	CodePreemptPending = "preempt_pending"
	CodeAwaitsSeat     = "awaits_seat"
	// Waiting has made it more urgent than it was made by people.
	CodeRaised          = "raised"
	CodeOffered         = "offered"        // a factory may take it before the others
	CodeAwaitsFactory   = "awaits_factory" // one that has its files, and no seat
	CodeCanStart        = "can_start"
	CodeCanBeStarted    = "can_be_started"   // a pool can start a factory for it
	CodePoolAtMaximum   = "pool_at_maximum"  // the pool that fits has all the factories that it may
	CodePoolStartsNone  = "pool_starts_none" // the pool that fits starts none, or none that could run it
	CodeClaimed         = "claimed"
	CodeRunning         = "running"
	CodeInReview        = "in_review"
	CodeApproved        = "approved"
	CodeMergeWaits      = "merge_waits"      // who merges approved work, and how
	CodeVerification    = "verification"     // whether work in review is verified, by whom, and what came of it
	CodePolicyHeld      = "policy_held"      // which limits of its product leave work in review to a person
	CodeDeliveryRefused = "delivery_refused" // the origin did not take its branch
	CodeCompleted       = "completed"
	CodeFailed          = "failed"
	CodeDependencyCycle = "dependency_cycle"
	CodeAborted         = "aborted"
	CodeArchived        = "archived"
)

// Reason is one thing that stands between a job and its run, or why nothing
// does. What is set depends on the Code.
type Reason struct {
	Code string
	// Keys are jobs that are waited for, that hold the repo, or that sit on the
	// seats; More is how many there are beside them.
	Keys []string
	More int
	// Paths are some that the job and the one that has them may both touch. Keys names that one;
	// Ahead is set where it waits too, and comes first.
	Paths []string
	Ahead bool
	// Ended are dependencies that do not complete unless a person acts.
	Ended        []Ended
	By           tenancy.Actor // who decided on it, or the agent that works
	CarriedOutBy tenancy.Actor // who carried it out, where that was somebody else
	Since        *time.Time    // when it began
	Until        *time.Time    // when the wait ends by itself
	Lost         bool          // the wait follows a lost lease, not a failure
	Product      string
	Count        int                 // of the product's jobs in review; with CodeRaised the priority that it counts as
	Limit        int                 // of these
	Missing      []string            // what no live factory offers
	Nearest      string              // the factory that misses the least
	Unavailable  []fleet.Unavailable // what that factory has of it and does not offer now
	Seats        int                 // of the factories that could run it
	Free         int                 // of those, free now; with CodeAgentsBusy, without an agent
	Factories    []string            // that could run it, or the one that does
	Text         string              // a person's or an agent's words, an error, a provider
	Budget       string              // the budget that keeps it back, where one does; with its id
	BudgetID     ids.ID
	Model        string       // that the budget lets spend nothing, because it has no price
	Merge        Way          // with CodeMergeWaits
	Verification Verification // with CodeVerification; Keys has the verify job, By and Factories whoever works on it
	Pool         *pools.Start // with CodeCanBeStarted, CodePoolAtMaximum and CodePoolStartsNone
	// Delivery is what is reported of its commit, with CodeDeliveryRefused, and with
	// CodeMergeWaits where the merge waits for that; Factories has its factory.
	Delivery attempts.Delivery
}

// Verification is how far the verification of work is.
type Verification struct {
	State   VerificationState
	Verdict string // with VerificationSaid: what the verifier says
	Commit  string
	Round   int // how often verifiers have sent the work back
}

// VerificationState is how far a verification is.
type VerificationState string

// The states.
const (
	VerificationWaits   VerificationState = "waits"     // for an agent that may verify
	VerificationNobody  VerificationState = "nobody"    // no live agent may verify; Missing says what keeps the nearest away
	VerificationWorks   VerificationState = "works"     // an agent verifies
	VerificationHeld    VerificationState = "held"      // the verify job waits, is paused or blocked
	VerificationSaid    VerificationState = "said"      // there is a verdict
	VerificationEnded   VerificationState = "ended"     // the verify job has ended without one
	VerificationNoWork  VerificationState = "no_commit" // the work names no commit
	VerificationNotMade VerificationState = "not_made"  // it was handed in before its product wanted verifications
)

// Ended is a job that is over and not completed.
type Ended struct {
	Key    string
	Status jobs.Status // failed, aborted or archived
}

// Way is who merges approved work, and how.
type Way struct {
	Who  string // jobs.MergeByPerson or one of the others
	How  string // MergeByHand, MergeOfNothing, jobs.MergeByPullRequest, or a method of products
	Into string // the branch; "" is the repository's default one
}

// How work is merged where no method of a product says it.
const (
	MergeByHand    = "by_hand"
	MergeOfNothing = "nothing" // it has no commit
)
