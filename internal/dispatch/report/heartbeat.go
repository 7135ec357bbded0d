package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// renewBefore is how long before its end an agent's token is replaced: half of
// its hour.
const renewBefore = 30 * time.Minute

// beatInterval is how far apart the batches of a workspace's heartbeats are at least: no
// agent waits for its answer, and each batch is a transaction.
const beatInterval = 20 * time.Millisecond

// maxBeatLeases bounds the leases that one heartbeat speaks of.
const maxBeatLeases = 1000

// maxTouching is of how many leases a heartbeat reports the files that they touch.
const maxTouching = 100

// Heartbeat is a heartbeat.
type Heartbeat struct {
	Agent      string // the name that the call is addressed to
	BootID     string
	Status     string // idle, working or blocked
	MemoryMB   *int
	CPUPercent *float64
	Factory    *fleet.FactoryInfo // nil where nothing changed
	Leases     []HeartbeatLease   // those that the agent works on
}

// HeartbeatLease is what an agent says of one of its leases.
type HeartbeatLease struct {
	Job             string
	Epoch           int64
	ProgressPercent *int
	CurrentStep     *string
	Checkpoint      json.RawMessage
	Files           []string // as in Progress
}

// HeartbeatResult is what the server knows and wants.
type HeartbeatResult struct {
	Now             time.Time
	IntervalSeconds int
	QueueVersion    string
	Token           string // "" unless it is time for a new one
	TokenExpiresAt  time.Time
	Leases          []lease.Status
	Offers          []lease.Offered // to the agent's factory
}

// Heartbeat returns a sign of life. It extends the leases that it lists and no others, so that
// one on which nobody works ends; it records the progress it carries, and answers with the
// directive for each lease that the server knows of, and "fenced" for those listed that are
// not the agent's any more.
//
// Faults: Forbidden for another agent's name; Superseded; Validation.
func (s *Service) Heartbeat(ctx context.Context, who tenancy.Principal, in Heartbeat) (HeartbeatResult, error) {
	began := time.Now()
	result, err := s.heartbeat(ctx, who, in)
	metrics.BeatTime.Observe(time.Since(began).Seconds())
	if err != nil {
		metrics.Heartbeats.Of(metrics.Refused).Inc()
	} else {
		metrics.Heartbeats.Of("ok").Inc()
	}
	return result, err
}

func (s *Service) heartbeat(ctx context.Context, who tenancy.Principal, in Heartbeat) (HeartbeatResult, error) {
	in.BootID = s.enrolment.KeptBoot(in.BootID, who.Boot)
	if err := in.check(who); err != nil {
		return HeartbeatResult{}, err
	}
	call := beatCall{who, in}
	answer := s.beats.Do
	if !call.batches() {
		answer = s.beats.Alone
	}
	result, err := answer(ctx, who.Workspace, call)
	if err != nil {
		return HeartbeatResult{}, err
	}
	if err := s.touchLeases(ctx, who, in.Leases, result.Leases); err != nil {
		return HeartbeatResult{}, err
	}
	if in.Factory != nil {
		s.waiters.Forget(who.Agent)
	}
	result.QueueVersion = s.waiters.AgentVersion(who)
	if renews(who, result.Now) {
		result.Token, result.TokenExpiresAt, err = s.tokens.IssueAgentToken(who)
	}
	return result, err
}

// renews reports whether it is time for a new token. One that does not say which
// enrolment token it came from, which no revocation would reach, is not renewed:
// the agent registers again.
func renews(who tenancy.Principal, now time.Time) bool {
	return who.Token != ids.Nil && who.Expires.Sub(now) < renewBefore
}

func (in Heartbeat) check(who tenancy.Principal) error {
	if err := lease.RequireAgent(who); err != nil {
		return err
	}
	if in.Agent != who.Name {
		return fault.New(fault.Forbidden, "This token belongs to the agent %s.", who.Name)
	}
	if in.BootID != who.Boot {
		return fault.New(fault.Superseded, "This token belongs to another boot of %s.", who.Name)
	}
	p := fault.Problems{}
	if !slices.Contains([]string{"", "idle", "working", "blocked"}, in.Status) {
		p.Add("status", "It must be idle, working or blocked.")
	}
	if in.MemoryMB != nil && (*in.MemoryMB < 0 || *in.MemoryMB > 100_000_000) {
		p.Add("memory_mb", "It must be 0 to 100000000.")
	}
	if in.CPUPercent != nil && (*in.CPUPercent < 0 || *in.CPUPercent > 100_000) {
		p.Add("cpu_percent", "It must be 0 to 100000.")
	}
	if len(in.Leases) > maxBeatLeases {
		p.Add("leases", "It must have at most %d entries.", maxBeatLeases)
	}
	if err := p.Err(); err != nil {
		return err
	}
	touching := 0
	for i, l := range in.Leases {
		if len(l.Files) > 0 {
			touching++
		}
		if touching > maxTouching {
			return fault.Invalid(fmt.Sprintf("leases[%d].files_touched", i), "At most %d of the leases may have it.", maxTouching)
		}
		if err := l.progress().check(fmt.Sprintf("leases[%d].", i)); err != nil {
			return err
		}
	}
	if in.Factory == nil {
		return nil
	}
	described := in.Factory.Defaults()
	if err := described.Check(); err != nil {
		return err
	}
	if described.Name != who.Factory {
		return fault.New(fault.Forbidden, "This agent belongs to the factory %s; register it again to move it.", who.Factory)
	}
	return described.InScope(who.Scope)
}

func (l HeartbeatLease) progress() Progress {
	return Progress{Percent: l.ProgressPercent, Step: l.CurrentStep, Checkpoint: l.Checkpoint, Files: l.Files}
}

// says reports whether the heartbeat tells more of the lease than that it is worked on.
func (l HeartbeatLease) says() bool { return l.isProgress() || len(l.Files) > 0 }

func (l HeartbeatLease) isProgress() bool {
	return l.ProgressPercent != nil || l.CurrentStep != nil || len(l.Checkpoint) > 0
}
