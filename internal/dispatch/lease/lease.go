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

// Ref names the lease that an agent speaks of: a job, by key or id, and the
// epoch it was given.
type Ref struct {
	Job   string
	Epoch int64
}

// Check refuses a reference that cannot name a lease.
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

// Status is how a lease stands, and what its holder is directed to do.
type Status struct {
	Job       string
	Epoch     int64
	Directive string
	Reason    string
	ExpiresAt *time.Time
	Answer    string
	// LinesLeftOut is how many log lines were not kept.
	LinesLeftOut int
}

// Unasked returns the directive of a lease of which nothing was requested.
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

// Superseded refuses a call of a boot that was replaced.
func Superseded(agent string) error {
	return fault.New(fault.Superseded, "%s was started again; this process has no leases any more and is to stop.", agent)
}

// NoSuchJob refuses the name of a job that is not there.
func NoSuchJob(keyOrID string) error {
	return fault.New(fault.NotFound, "There is no job %.64s in this workspace.", keyOrID)
}

// IsHolder reports whether an agent still has the lease that it speaks of.
func IsHolder(who tenancy.Principal, j jobs.Locked, epoch int64) bool {
	l := j.Lease
	return l != nil && l.Epoch == epoch && l.AgentID == who.Agent && l.ExpiresAt.After(j.Now)
}

// AppendEvent records a fact that somebody has brought about.
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
