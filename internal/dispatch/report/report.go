package report

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Progress is how far an agent has come. Nil leaves a part as it is.
type Progress struct {
	Percent    *int    // 0..100
	Step       *string // at most 200 characters
	Checkpoint json.RawMessage
	Model      *attempts.ModelRun // what runs the attempt
	// Files are paths that the work has touched and that were not reported before, at most
	// collisions.MaxReported.
	Files []string
}

const maxStep = 200

// check returns what is wrong with it; at is where it stands in the request: "" or "leases[2].".
func (p Progress) check(at string) error {
	problems := fault.Problems{}
	if p.Percent != nil && (*p.Percent < 0 || *p.Percent > 100) {
		problems.Add(at+"progress_percent", "It must be 0 to 100.")
	}
	if p.Step != nil && (utf8.RuneCountInString(*p.Step) > maxStep || !utf8.ValidString(*p.Step)) {
		problems.Add(at+"current_step", "It must have at most 200 characters of text.")
	}
	if len(p.Checkpoint) > 0 && !json.Valid(p.Checkpoint) {
		problems.Add(at+"checkpoint", "It must be JSON.")
	}
	if p.Model != nil {
		p.Model.Check(problems, at+"model")
	}
	checkTouched(problems, at+"files_touched", p.Files)
	return problems.Err()
}

// and returns what both say of one lease, one after another.
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
	if later.Model != nil {
		p.Model = later.Model
	}
	p.Files = slices.Concat(p.Files, later.Files)
	return p
}

// hasWords reports whether text is reported that may hold a secret.
func (p Progress) hasWords() bool { return p.Step != nil || len(p.Checkpoint) > 0 || p.Model != nil }

// Start says that work on a claimed job has begun, and what runs it; model is nil where the agent
// does not say. Saying it again changes nothing. Faults: those of Progress.
func (s *Service) Start(ctx context.Context, who tenancy.Principal, ref lease.Ref, model *attempts.ModelRun) (lease.Status, error) {
	p := Progress{Model: model}
	if err := p.check(""); err != nil {
		return lease.Status{}, err
	}
	return s.report(ctx, who, ref, report{starts: true, Progress: p})
}

// Progress records how far the work has come, and keeps the lease. The first
// one starts the job. Faults: Validation, StaleEpoch, LeaseExpired, Cancelled,
// Paused, Superseded.
func (s *Service) Progress(ctx context.Context, who tenancy.Principal, ref lease.Ref, p Progress) (lease.Status, error) {
	if err := p.check(""); err != nil {
		return lease.Status{}, err
	}
	status, err := s.report(ctx, who, ref, report{starts: true, Progress: p, isProgress: true})
	if err == nil && len(p.Files) > 0 {
		status.FilesDropped, err = s.touch(ctx, who, ref, p.Files)
	}
	return status, err
}

// Renew keeps the lease for ttlSeconds from now on, or for its old time where
// that is 0. It never makes a lease shorter.
func (s *Service) Renew(ctx context.Context, who tenancy.Principal, ref lease.Ref, ttlSeconds int) (lease.Status, error) {
	if ttlSeconds != 0 && (ttlSeconds < lease.MinTTL || ttlSeconds > lease.MaxTTL) {
		return lease.Status{}, fault.Invalid("ttl_seconds", "It must be 10 to 86400.")
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

func (s *Service) report(ctx context.Context, who tenancy.Principal, ref lease.Ref, r report) (lease.Status, error) {
	if err := errors.Join(lease.RequireAgent(who), ref.Check()); err != nil {
		return lease.Status{}, err
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
	return len(c.Checkpoint) == 0 && lease.IsPlain(c.ref.Job) && (c.Step == nil || lease.IsPlain(*c.Step)) &&
		(c.Model == nil || lease.IsPlain(c.Model.Name))
}

// changes returns what a report changes of a lease; one that repeats the last one
// leaves no event.
func (r report) changes(percent *int, step *string) []eventlog.Change {
	var changes []eventlog.Change
	if r.Percent != nil && (percent == nil || *percent != *r.Percent) {
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
