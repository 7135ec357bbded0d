package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// renewBefore is how long before its end an agent's token is replaced: half of
// its hour.
const renewBefore = 30 * time.Minute

// maxBeatLeases bounds the leases that one heartbeat speaks of.
const maxBeatLeases = 1000

// Beat is a heartbeat.
type Beat struct {
	Agent      string // the name that the call is addressed to
	BootID     string
	Status     string // idle, working or blocked
	MemoryMB   *int
	CPUPercent *float64
	Factory    *fleet.FactoryInfo // nil where nothing changed
	Leases     []BeatLease
}

// BeatLease is what an agent says of one of its leases.
type BeatLease struct {
	Job             string
	Epoch           int64
	ProgressPercent *int
	CurrentStep     *string
	Checkpoint      json.RawMessage
}

// BeatAnswer is what the server knows and wants.
type BeatAnswer struct {
	Now             time.Time
	IntervalSeconds int
	QueueVersion    string
	Token           string // "" unless it is time for a new one
	TokenExpiresAt  time.Time
	Leases          []Standing
}

// Heartbeat is a sign of life. It keeps every lease of the agent, records the
// progress it carries, and answers with the directive for each lease: those
// that the server knows of, and "fenced" for those listed that are not the
// agent's any more.
//
// Faults: Forbidden for another agent's name; Superseded; Validation.
func (s *Service) Heartbeat(ctx context.Context, who tenancy.Principal, in Beat) (BeatAnswer, error) {
	in = s.sameBoot(in, who.Boot)
	if err := in.check(who); err != nil {
		return BeatAnswer{}, err
	}
	call := beatCall{who, in}
	var answer BeatAnswer
	var err error
	if call.combines() {
		answer, err = s.beats.do(ctx, who.Workspace, call)
	} else {
		answer, err = s.beatAlone(ctx, call)
	}
	if err != nil {
		return BeatAnswer{}, err
	}
	if in.Factory != nil {
		s.waiters.forget(who.Agent)
	}
	answer.QueueVersion = s.QueueVersion(who)
	if renews(who, answer.Now) {
		answer.Token, answer.TokenExpiresAt, err = s.tokens.IssueAgentToken(who)
	}
	return answer, err
}

// beatAlone writes one heartbeat, and waits for whoever has locked what it needs.
func (s *Service) beatAlone(ctx context.Context, c beatCall) (BeatAnswer, error) {
	var answer BeatAnswer
	b := &beat{ctx: ctx, who: c.who, in: c.in, s: s}
	err := s.db.InWorkspace(ctx, c.who.Workspace, func(tx db.Tx) (err error) {
		b.tx = tx
		answer, err = b.run()
		return err
	})
	if err == nil && b.told {
		s.published(c.who.Workspace, nil, b.started...)
		s.keepBudgets(ctx, c.who.Workspace, budgeted(b.started))
	}
	return answer, err
}

// renews reports whether it is time for a new token. One that does not say which
// enrolment token it came from, which no revocation would reach, is not renewed:
// the agent registers again.
func renews(who tenancy.Principal, now time.Time) bool {
	return who.Token != ids.Nil && who.Expires.Sub(now) < renewBefore
}

func (in Beat) check(who tenancy.Principal) error {
	if err := requireAgent(who); err != nil {
		return err
	}
	if in.Agent != who.Name {
		return fault.New(fault.Forbidden, "This token belongs to the agent %s.", who.Name)
	}
	if in.BootID != who.Boot {
		return fault.New(fault.Superseded, "This token belongs to another boot of %s.", who.Name)
	}
	fields := map[string]string{}
	if !slices.Contains([]string{"", "idle", "working", "blocked"}, in.Status) {
		fields["status"] = "It must be idle, working or blocked."
	}
	if in.MemoryMB != nil && (*in.MemoryMB < 0 || *in.MemoryMB > 100_000_000) {
		fields["memory_mb"] = "It must be 0 to 100000000."
	}
	if in.CPUPercent != nil && (*in.CPUPercent < 0 || *in.CPUPercent > 100_000) {
		fields["cpu_percent"] = "It must be 0 to 100000."
	}
	if len(in.Leases) > maxBeatLeases {
		fields["leases"] = fmt.Sprintf("It must have at most %d entries.", maxBeatLeases)
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
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

// beat is one heartbeat inside its transaction.
type beat struct {
	ctx context.Context //nolint:containedctx // lives as long as the call
	tx  db.Tx
	who tenancy.Principal
	in  Beat
	s   *Service

	started []jobs.Job
	told    bool
}

func (b *beat) run() (BeatAnswer, error) {
	// The factory before its agent: the order in which everybody locks.
	if err := b.describeFactory(); err != nil {
		return BeatAnswer{}, err
	}
	agent, err := b.signOfLife()
	if err != nil {
		return BeatAnswer{}, err
	}
	answer := BeatAnswer{Now: agent.Now, IntervalSeconds: int(agent.HeartbeatIntervalSeconds)}
	speaking, silent := b.listed()
	fenced, err := b.reports(speaking)
	if err != nil {
		return BeatAnswer{}, err
	}
	known, err := q.LeaseExtendOfAgent(b.ctx, b.tx, dbsqlc.LeaseExtendOfAgentParams{
		WorkspaceID: b.who.Workspace, AgentID: b.who.Agent})
	if err != nil {
		return BeatAnswer{}, fmt.Errorf("extend leases: %w", err)
	}
	// A lease that nothing is said of costs no statement of its own, unless it is
	// not the agent's any more.
	gone, err := b.reports(slices.DeleteFunc(silent, func(l BeatLease) bool { return l.among(known) }))
	if err != nil {
		return BeatAnswer{}, err
	}
	slices.SortFunc(known, func(x, y dbsqlc.LeaseExtendOfAgentRow) int { return cmp.Compare(x.Key, y.Key) })
	for _, l := range known {
		answer.Leases = append(answer.Leases, Standing{Job: l.Key, Epoch: l.Epoch, Reason: l.DirectiveReason,
			Directive: directiveOr(l.Directive, unasked(agent.Draining)), ExpiresAt: later(l.ExpiresAt), Answer: l.Answer})
	}
	answer.Leases = slices.Concat(answer.Leases, fenced, gone)
	return answer, nil
}

// listed splits the leases that the agent lists by whether it says something of
// them.
func (b *beat) listed() (speaking, silent []BeatLease) {
	for _, l := range b.in.Leases {
		if l.says() {
			speaking = append(speaking, l)
		} else {
			silent = append(silent, l)
		}
	}
	return speaking, silent
}

func (l BeatLease) progress() Progress {
	return Progress{Percent: l.ProgressPercent, Step: l.CurrentStep, Checkpoint: l.Checkpoint}
}

func (l BeatLease) says() bool {
	return l.ProgressPercent != nil || l.CurrentStep != nil || len(l.Checkpoint) > 0
}

// among reports whether the lease is one of those that the server knows.
func (l BeatLease) among(known []dbsqlc.LeaseExtendOfAgentRow) bool {
	return slices.ContainsFunc(known, func(k dbsqlc.LeaseExtendOfAgentRow) bool {
		return k.Epoch == l.Epoch && (k.Key == l.Job || k.JobID.String() == l.Job)
	})
}

func (b *beat) describeFactory() error {
	if b.in.Factory == nil {
		return nil
	}
	f := b.in.Factory.Defaults()
	held, err := b.updateFactory(f, false)
	if err != nil || len(held) == 0 {
		return err
	}
	secrets, err := b.s.jobs.HeldSecretsTx(b.ctx, b.tx, b.who.Workspace, jobs.Holders{Agents: []ids.ID{b.who.Agent}, Factories: held})
	if err != nil {
		return err
	}
	f = f.Clone()
	secrets.HideAll(f.Texts()...)
	_, err = b.updateFactory(f, true)
	return err
}

// updateFactory writes a description, unless jobs with secrets are held for the
// factory that it returns then: it has to be redacted first.
func (b *beat) updateFactory(f fleet.FactoryInfo, redacted bool) ([]ids.ID, error) {
	repos, err := encodeRepos(f.Repos)
	if err != nil {
		return nil, err
	}
	held, err := q.FactoryUpdate(b.ctx, b.tx, dbsqlc.FactoryUpdateParams{
		WorkspaceID: b.who.Workspace, Name: f.Name, Os: f.OS, Host: f.Host, Engines: orEmpty(f.Engines),
		Capabilities: orEmpty(f.Capabilities), Repos: repos, Seats: int32(f.Seats), //nolint:gosec // 1..1000
		EnrolmentID: enrolmentOf(b.who), ScopeProducts: orEmpty(b.who.Scope.Products), ScopeCapabilities: orEmpty(b.who.Scope.Capabilities),
		AgentID: b.who.Agent, Redacted: redacted,
	})
	if err != nil {
		return nil, fmt.Errorf("describe factory: %w", err)
	}
	return held, nil
}

func (b *beat) signOfLife() (dbsqlc.AgentBeatRow, error) {
	params := dbsqlc.AgentBeatParams{WorkspaceID: b.who.Workspace, ID: b.who.Agent, BootID: b.who.Boot, Generation: b.who.Generation,
		Status: cmp.Or(b.in.Status, "idle")}
	if b.in.MemoryMB != nil {
		memory := int32(*b.in.MemoryMB) //nolint:gosec // checked
		params.MemoryMb = &memory
	}
	if b.in.CPUPercent != nil {
		load := float32(*b.in.CPUPercent)
		params.CpuPercent = &load
	}
	agent, err := q.AgentBeat(b.ctx, b.tx, params)
	if errors.Is(err, pgx.ErrNoRows) {
		return agent, superseded(b.who.Name)
	}
	if err != nil {
		return agent, fmt.Errorf("heartbeat: %w", err)
	}
	return agent, nil
}

// reports records the progress of leases, in one order for everybody, and
// answers "fenced" for those that are not the agent's own.
func (b *beat) reports(list []BeatLease) ([]Standing, error) {
	type found struct {
		BeatLease
		id ids.ID
	}
	var all []found
	var fenced []Standing
	fence := func(l BeatLease, reason string) {
		fenced = append(fenced, Standing{Job: l.Job, Epoch: l.Epoch, Directive: Fenced, Reason: reason})
	}
	for _, l := range list {
		state, err := leaseState(b.ctx, b.tx, b.who.Workspace, l.Job)
		switch {
		case fault.Is(err, fault.NotFound):
			fence(l, string(fault.NotFound))
		case err != nil:
			return nil, err
		default:
			all = append(all, found{l, state.ID})
		}
	}
	slices.SortFunc(all, func(x, y found) int { return slices.Compare(x.id[:], y.id[:]) })
	for _, l := range all {
		if err := l.progress().check(); err != nil {
			return nil, err
		}
		_, started, told, err := b.s.reportTx(b.ctx, b.tx, b.who, Ref{Job: l.id.String(), Epoch: l.Epoch},
			report{Progress: l.progress(), starts: l.says(), isProgress: l.says()})
		b.started, b.told = append(b.started, started...), b.told || told
		if refused := fault.From(err); err != nil && refused.Code.Conflict() {
			fence(l.BeatLease, string(refused.Code))
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return fenced, nil
}
