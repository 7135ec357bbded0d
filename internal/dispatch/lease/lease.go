package lease

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of a lease's time, in seconds, as openapi.yaml has them.
const (
	MinTTL     = 10
	MaxTTL     = 86400
	DefaultTTL = 900
)

// Ref names a lease: a job, by key or id, and the epoch of the claim.
type Ref struct {
	Job   string
	Epoch int64
}

// Check returns what is wrong with a reference, by field.
func (r Ref) Check() error {
	p := fault.Problems{}
	if r.Job == "" {
		p.Add("job", "It must be the job's key or id.")
	}
	if r.Epoch < 1 {
		p.Add("epoch", "It must be the epoch that the claim gave.")
	}
	return p.Err()
}

// Directives of a Status.
const (
	Continue = "continue"
	Drain    = "drain"
	Fenced   = "fenced"
	Cancel   = "cancel"
	Pause    = "pause"
	Warn     = "warn"
)

// Status is the state of a lease, and what its holder is directed to do.
type Status struct {
	Job       string
	Epoch     int64
	Directive string
	Reason    string
	ExpiresAt *time.Time
	Answer    string
	// LinesLeftOut is how many log lines were not stored.
	LinesLeftOut int
	// StepsLeftOut is how many steps of a transcript were not stored, NextStep the number of the next one.
	StepsLeftOut int
	NextStep     int64
	// FilesDropped is how many touched files are not compared with those of other jobs.
	FilesDropped int
}

// Unasked returns the directive of a lease that nobody has directed.
func Unasked(draining bool) string {
	if draining {
		return Drain
	}
	return Continue
}

// RequireAgent refuses whoever is not an agent.
func RequireAgent(who tenancy.Principal) error {
	if who.Kind != tenancy.KindAgent {
		return fault.New(fault.Forbidden, "Only an agent's token may do this.")
	}
	return nil
}

// Superseded is the refusal of a call of a boot that was replaced.
func Superseded(agent string) error {
	return fault.New(fault.Superseded, "%s was started again; this process has no leases any more and is to stop.", agent)
}

// NoSuchJob is the refusal of a key or id without a job.
func NoSuchJob(keyOrID string) error {
	return fault.New(fault.NotFound, "There is no job %.64s in this workspace.", keyOrID)
}

// IsHolder reports whether an agent still has the lease of an epoch.
func IsHolder(who tenancy.Principal, j jobs.Locked, epoch int64) bool {
	l := j.Lease
	return l != nil && l.Epoch == epoch && l.AgentID == who.Agent && l.ExpiresAt.After(j.Now)
}

// AppendEvent appends an event with its actor.
func AppendEvent(ctx context.Context, tx db.Tx, who tenancy.Principal, e eventlog.Event) error {
	e.Actor = who.Actor()
	return eventlog.AppendTx(ctx, tx, who.Workspace, e)
}

// InScope reports whether an agent with this scope may hold the job.
func InScope(scope tenancy.Scope, j jobs.Job) bool {
	factory := ""
	if j.Lease != nil {
		factory = j.Lease.Factory
	}
	return (len(scope.Products) == 0 || slices.Contains(scope.Products, j.Product)) && fleet.Allows(scope, j.Capabilities, factory)
}
