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

// and is what both say of one lease, one after another.
func (p Progress) and(later Progress) Progress {
	if later.Percent != nil {
		p.Percent = later.Percent
	}
	if later.Step != nil {
		p.Step = later.Step
	}
	if len(later.Checkpoint) > 0 {
		p.Checkpoint = later.Checkpoint
	}
	return p
}

// hasWords reports whether text is reported that may hold a secret.
func (p Progress) hasWords() bool { return p.Step != nil || len(p.Checkpoint) > 0 }

// Start says that work on a claimed job has begun. Saying it again changes
// nothing.
func (s *Service) Start(ctx context.Context, who tenancy.Principal, ref Ref) (LeaseStatus, error) {
	return s.report(ctx, who, ref, report{starts: true})
}

// Progress records how far the work has come, and keeps the lease. The first
// one starts the job. Faults: Validation, StaleEpoch, LeaseExpired, Cancelled,
// Paused, Superseded.
func (s *Service) Progress(ctx context.Context, who tenancy.Principal, ref Ref, p Progress) (LeaseStatus, error) {
	if err := p.check(); err != nil {
		return LeaseStatus{}, err
	}
	return s.report(ctx, who, ref, report{starts: true, Progress: p, isProgress: true})
}

// Renew keeps the lease for ttlSeconds from now on, or for its old time where
// that is 0. It never makes a lease shorter.
func (s *Service) Renew(ctx context.Context, who tenancy.Principal, ref Ref, ttlSeconds int) (LeaseStatus, error) {
	if ttlSeconds != 0 && (ttlSeconds < minTTL || ttlSeconds > maxTTL) {
		return LeaseStatus{}, fault.Invalid("ttl_seconds", "It must be 10 to 86400.")
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

func (s *Service) report(ctx context.Context, who tenancy.Principal, ref Ref, r report) (LeaseStatus, error) {
	if err := errors.Join(requireAgent(who), checkRef(ref)); err != nil {
		return LeaseStatus{}, err
	}
	call := reportCall{who, ref, r}
	if !call.batches() {
		return s.reports.Alone(ctx, who.Workspace, call)
	}
	return s.reports.Do(ctx, who.Workspace, call)
}

// batches reports whether a report may be one of a batch: it is short, and the
// database takes its words.
func (c reportCall) batches() bool {
	return len(c.Checkpoint) == 0 && isPlain(c.ref.Job) && (c.Step == nil || isPlain(*c.Step))
}

// isPlain reports whether the database takes a text.
func isPlain(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// touchTx counts a call as a sign of life, and refuses the token of a boot that was
// replaced.
func touchTx(ctx context.Context, tx db.Tx, who tenancy.Principal) (dbsqlc.AgentsTouchRow, error) {
	current, err := touchAllTx(ctx, tx, who.Workspace, []tenancy.Principal{who})
	if err != nil {
		return dbsqlc.AgentsTouchRow{}, err
	}
	agent, ok := current.of(who)
	if !ok {
		return agent, superseded(who.Name)
	}
	return agent, nil
}

// currentAgents are agents that call with their present boot.
type currentAgents map[ids.ID]dbsqlc.AgentsTouchRow

// of returns the agent of a caller, false where its boot was replaced.
func (c currentAgents) of(who tenancy.Principal) (dbsqlc.AgentsTouchRow, bool) {
	row, ok := c[who.Agent]
	return row, ok && row.BootID == who.Boot && row.Generation <= who.Generation
}

// touchAllTx is touchTx for many calls, of which none is refused.
func touchAllTx(ctx context.Context, tx db.Tx, workspace ids.ID, callers []tenancy.Principal) (currentAgents, error) {
	params := dbsqlc.AgentsTouchParams{WorkspaceID: workspace}
	for _, who := range callers {
		params.Ids, params.Boots = append(params.Ids, who.Agent), append(params.Boots, who.Boot)
		params.Generations = append(params.Generations, who.Generation)
	}
	rows, err := q.AgentsTouch(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	current := make(currentAgents, len(rows))
	for _, row := range rows {
		current[row.ID] = row
	}
	return current, nil
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
