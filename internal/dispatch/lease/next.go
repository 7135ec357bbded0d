package lease

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Claimed is the answer to a claim: jobs with their leases, or the reason for none.
type Claimed struct {
	Jobs []jobs.Job
	// Budgets are the amounts that the leases have reserved, of jobs that have budgets; a
	// repeated answer has none.
	Budgets map[ids.ID]budgeting.Grant
	// Orders are what jobs of system kinds are to do, also in a repeated answer.
	Orders map[ids.ID]Order
	// Proofs are the commands that prove work, by product.
	Proofs map[ids.ID]string
	// Offers are the ready jobs that are offered to the agent's factory now.
	Offers       []Offered
	QueueVersion string
	Reason       string
}

// Offered is a ready job that a factory may take before all others.
type Offered struct {
	Job       string    `json:"job"` // its key
	ExpiresAt time.Time `json:"expires_at"`
	Score     float64   `json:"score"` // from -1 to 1
}

// Limits of a claim, as openapi.yaml has them.
const (
	MaxClaim = 100
	// MaxClaimWord bounds a session key and a request id, in characters.
	MaxClaimWord = 255
)

// Next is what an agent requests in the place of the job whose lease it ends. It never
// waits.
type Next struct {
	Max        int    // 1..100, 0 is 1
	TTLSeconds int    // 10..86400, 0 is 900
	RequestID  string // the same id gives the same leases again
}

// Check returns what is wrong with n, by the fields below "next". A nil n is right.
func (n *Next) Check() error {
	if n == nil {
		return nil
	}
	return n.Problems("next.").Err()
}

// Problems returns what is wrong with n, by fields whose names begin with prefix.
func (n *Next) Problems(prefix string) fault.Problems {
	p := fault.Problems{}
	if most := cmp.Or(n.Max, 1); most < 1 || most > MaxClaim {
		p.Add(prefix+"max", "It must be 1 to 100.")
	}
	if ttl := cmp.Or(n.TTLSeconds, DefaultTTL); ttl < MinTTL || ttl > MaxTTL {
		p.Add(prefix+"ttl_seconds", "It must be 10 to 86400.")
	}
	if utf8.RuneCountInString(n.RequestID) > MaxClaimWord {
		p.Add(prefix+"request_id", "It must have at most 255 characters.")
	}
	return p
}

// Seat is one that an agent has just freed and wants to have filled, in the transaction in
// which its lease ends.
type Seat struct {
	Ctx context.Context // the caller's, who waits for the answer
	Who tenancy.Principal
	Next

	Claimed Claimed
	Filled  bool // the claim was answered, be it with nothing
}
