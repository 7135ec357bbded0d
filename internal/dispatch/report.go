package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// Progress is how far an agent has come. Nil leaves a part as it is.
type Progress struct {
	Percent    *int    // 0..100
	Step       *string // at most 200 characters
	Checkpoint json.RawMessage
}

const maxStep = 200

func (p Progress) check() error {
	fields := map[string]string{}
	if p.Percent != nil && (*p.Percent < 0 || *p.Percent > 100) {
		fields["progress_percent"] = "It must be 0 to 100."
	}
	if p.Step != nil && (utf8.RuneCountInString(*p.Step) > maxStep || !utf8.ValidString(*p.Step)) {
		fields["current_step"] = "It must have at most 200 characters of text."
	}
	if len(p.Checkpoint) > 0 && !json.Valid(p.Checkpoint) {
		fields["checkpoint"] = "It must be JSON."
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// Start says that work on a claimed job has begun. Saying it again changes
// nothing.
func (s *Service) Start(ctx context.Context, who tenancy.Principal, ref Ref) (Standing, error) {
	return s.report(ctx, who, ref, report{starts: true})
}

// Progress records how far the work has come, and keeps the lease. The first
// one starts the job. Faults: Validation, StaleEpoch, LeaseExpired, Cancelled,
// Paused, Superseded.
func (s *Service) Progress(ctx context.Context, who tenancy.Principal, ref Ref, p Progress) (Standing, error) {
	if err := p.check(); err != nil {
		return Standing{}, err
	}
	return s.report(ctx, who, ref, report{starts: true, Progress: p, isProgress: true})
}

// Renew keeps the lease for ttlSeconds from now on, or for its old time where
// that is 0. It never makes a lease shorter.
func (s *Service) Renew(ctx context.Context, who tenancy.Principal, ref Ref, ttlSeconds int) (Standing, error) {
	if ttlSeconds != 0 && (ttlSeconds < minTTL || ttlSeconds > maxTTL) {
		return Standing{}, fault.Invalid("ttl_seconds", "It must be 10 to 86400.")
	}
	r := report{}
	if ttlSeconds != 0 {
		r.ttl = &ttlSeconds
	}
	return s.report(ctx, who, ref, r)
}

// report is what an agent says of one lease.
type report struct {
	Progress
	starts     bool
	isProgress bool
	ttl        *int
}

func (s *Service) report(ctx context.Context, who tenancy.Principal, ref Ref, r report) (Standing, error) {
	if err := errors.Join(requireAgent(who), checkRef(ref)); err != nil {
		return Standing{}, err
	}
	call := reportCall{who, ref, r}
	if !call.combines() {
		return s.reportAlone(ctx, call)
	}
	return s.reports.do(ctx, who.Workspace, call)
}

// combines reports whether a report may be written together with others: it is
// short, and the database takes its words.
func (c reportCall) combines() bool {
	return len(c.Checkpoint) == 0 && isPlain(c.ref.Job) && (c.Step == nil || isPlain(*c.Step))
}

// isPlain reports whether the database takes a text.
func isPlain(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// reportAlone writes one report, and waits for whoever has locked what it needs.
func (s *Service) reportAlone(ctx context.Context, c reportCall) (Standing, error) {
	var standing Standing
	var started []jobs.Job
	var told bool
	err := s.db.InWorkspace(ctx, c.who.Workspace, func(tx db.Tx) (err error) {
		agent, err := seen(ctx, tx, c.who)
		if err != nil {
			return err
		}
		standing, started, told, err = s.reportTx(ctx, tx, c.who, c.ref, c.report)
		if standing.Directive == Continue {
			standing.Directive = unasked(agent.Draining)
		}
		return err
	})
	if err == nil && told {
		s.published(c.who.Workspace, nil, started...)
		s.keepBudgets(ctx, c.who.Workspace, budgeted(started))
	}
	return standing, err
}

// seen refuses the token of a boot that was replaced, and counts the call as a
// sign of life.
func seen(ctx context.Context, tx db.Tx, who tenancy.Principal) (dbsqlc.AgentSeenRow, error) {
	agent, err := q.AgentSeen(ctx, tx, dbsqlc.AgentSeenParams{WorkspaceID: who.Workspace, ID: who.Agent, BootID: who.Boot, Generation: who.Generation})
	if errors.Is(err, pgx.ErrNoRows) {
		return agent, superseded(who.Name)
	}
	if err != nil {
		return agent, fmt.Errorf("read agent: %w", err)
	}
	return agent, nil
}

// reportTx writes a report of one lease, without the values of the job's secrets.
// told is set where something changed that others see.
func (s *Service) reportTx(ctx context.Context, tx db.Tx, who tenancy.Principal, ref Ref, r report) (
	standing Standing, started []jobs.Job, told bool, err error,
) {
	state, err := leaseState(ctx, tx, who.Workspace, ref.Job)
	if err != nil {
		return standing, nil, false, err
	}
	begins := r.starts && jobs.Status(state.Status) == jobs.Assigned && state.Epoch == ref.Epoch
	var job jobs.Locked
	if begins {
		// The job before its lease: the order in which everybody locks.
		if job, err = jobs.LockTx(ctx, tx, who.Workspace, state.ID.String()); err != nil {
			return standing, nil, false, err
		}
	}
	if r, err = s.redactReport(ctx, tx, who.Workspace, state, r); err != nil {
		return standing, nil, false, err
	}
	lease, err := q.LeaseProgress(ctx, tx, r.params(who, state.ID, ref.Epoch))
	if err != nil {
		return standing, nil, false, fmt.Errorf("report: %w", err)
	}
	if len(lease) == 0 {
		job, err := jobs.LoadTx(ctx, tx, who.Workspace, state.ID.String())
		if err != nil {
			return standing, nil, false, err
		}
		return standing, nil, false, conflict(ctx, tx, who, job, ref.Epoch)
	}
	standing = Standing{Job: state.Key, Epoch: ref.Epoch, Directive: directiveOr(lease[0].Directive, Continue),
		Reason: lease[0].DirectiveReason, ExpiresAt: later(lease[0].ExpiresAt)}
	if begins && job.Status == jobs.Assigned {
		begun, err := startTx(ctx, tx, who, job)
		if err != nil {
			return standing, nil, false, err
		}
		started = append(started, begun)
	}
	noted, err := noteProgress(ctx, tx, who, state, r)
	return standing, started, noted || len(started) > 0, err
}

func (r report) params(who tenancy.Principal, job ids.ID, epoch int64) dbsqlc.LeaseProgressParams {
	p := dbsqlc.LeaseProgressParams{WorkspaceID: who.Workspace, JobID: job, Epoch: epoch, AgentID: who.Agent,
		CurrentStep: r.Step, Checkpoint: r.Checkpoint, IsProgress: r.isProgress}
	if r.Percent != nil {
		percent := int16(*r.Percent) //nolint:gosec // 0..100
		p.ProgressPercent = &percent
	}
	if r.ttl != nil {
		ttl := int32(*r.ttl) //nolint:gosec // 10..86400
		p.TtlSeconds = &ttl
	}
	return p
}

func leaseState(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (dbsqlc.LeaseStateRow, error) {
	params := dbsqlc.LeaseStateParams{WorkspaceID: workspace, Key: keyOrID}
	if id, ok := ids.Parse(keyOrID); ok {
		params.ID = &id
	}
	state, err := q.LeaseState(ctx, tx, params)
	if errors.Is(err, pgx.ErrNoRows) {
		return state, noSuchJob(keyOrID)
	}
	if err != nil {
		return state, fmt.Errorf("read lease: %w", err)
	}
	return state, nil
}

func startTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked) (jobs.Job, error) {
	d, err := job.Start()
	if err != nil {
		return jobs.Job{}, err
	}
	err = q.AttemptStart(ctx, tx, dbsqlc.AttemptStartParams{WorkspaceID: who.Workspace, JobID: job.ID, Epoch: job.Epoch})
	if err != nil {
		return jobs.Job{}, fmt.Errorf("start attempt: %w", err)
	}
	return jobs.SaveTx(ctx, tx, who, d)
}

// noteProgress records what the report changed.
func noteProgress(ctx context.Context, tx db.Tx, who tenancy.Principal, before dbsqlc.LeaseStateRow, r report) (bool, error) {
	changes := r.changes(before.ProgressPercent, before.CurrentStep)
	if len(changes) == 0 {
		return false, nil
	}
	return true, appendEvent(ctx, tx, who, eventlog.Event{Type: eventlog.JobProgressed, JobID: &before.ID,
		Epoch: before.LeaseEpoch, Changes: changes})
}

// changes is what a report changes of a lease; one that repeats the last one
// leaves no event.
func (r report) changes(percent *int16, step *string) []eventlog.Change {
	var changes []eventlog.Change
	if r.Percent != nil && (percent == nil || int(*percent) != *r.Percent) {
		changes = append(changes, eventlog.Change{Field: "progress_percent", Old: percent, New: *r.Percent})
	}
	if r.Step != nil && (step == nil || *step != *r.Step) {
		changes = append(changes, eventlog.Change{Field: "current_step", Old: step, New: *r.Step})
	}
	if len(r.Checkpoint) > 0 {
		changes = append(changes, eventlog.Change{Field: "checkpoint", New: r.Checkpoint})
	}
	return changes
}
