package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/redact"
	"fleetboard/internal/tenancy"
)

// finishCall ends an agent's lease: decide says how, and digest is by which the
// call is recognised when it comes again. Both get what takes the values of the
// job's secrets out of the agent's words.
type finishCall struct {
	who    tenancy.Principal
	ref    Ref
	decide func(context.Context, db.Tx, jobs.Locked, *redact.Redactor) (jobs.Decision, ending, error)
	digest func(*redact.Redactor) ([]byte, error)
}

// finished is what became of it.
type finished struct {
	job     jobs.Job
	changed []change // none where the answer was given before
}

// finish ends an agent's lease, together with those that end at the same moment.
func (s *Service) finish(ctx context.Context, call finishCall) (jobs.Job, error) {
	if err := errors.Join(requireAgent(call.who), checkRef(call.ref)); err != nil {
		return jobs.Job{}, err
	}
	end, err := s.ends.do(ctx, call.who.Workspace, call)
	if err != nil {
		return jobs.Job{}, err
	}
	s.handOn(ctx, call.who.Workspace, end.changed)
	return end.job, nil
}

// finishTogether ends leases in one transaction.
func (s *Service) finishTogether(ctx context.Context, workspace ids.ID, list []*request[finishCall, finished], patient bool) error {
	r := &finishRun{ctx: ctx, s: s, workspace: workspace, list: list, patient: patient}
	err := s.scope(patient)(ctx, workspace, func(tx db.Tx) error {
		r.tx = tx
		return r.run()
	})
	if err == nil {
		s.told(workspace, r.changed)
	}
	return err
}

// finishRun is the leases that end in one transaction.
type finishRun struct {
	ctx       context.Context //nolint:containedctx // lives as long as the run
	tx        db.Tx
	s         *Service
	workspace ids.ID
	list      []*request[finishCall, finished]
	patient   bool // it may wait for locks

	current map[ids.ID]dbsqlc.AgentsCalledRow // agents that call with their present boot
	locks   jobs.Locks
	jobs    map[string]jobs.Locked // by key and by id
	waited  []ids.ID               // those for which others wait
	ending  []*finishing
	changed []change
}

// finishing is a lease that ends.
type finishing struct {
	*request[finishCall, finished]
	job jobs.Locked
	d   jobs.Decision
	e   ending
}

func (r *finishRun) run() error {
	if err := r.meet(); err != nil {
		return err
	}
	met := map[ids.ID]bool{}
	for _, one := range r.list {
		job, locked := r.jobs[one.in.ref.Job]
		if one.apart = !locked || met[job.ID]; one.apart {
			continue
		}
		met[job.ID] = true
		if err := r.judge(one, job); err != nil {
			var refused *fault.Error
			if !errors.As(err, &refused) {
				return err
			}
			one.err = err
		}
	}
	r.leaveWaitedFor()
	return r.write()
}

// meet finds out who calls, and locks and reads the jobs. The agents come before the
// jobs: the order in which everybody locks.
func (r *finishRun) meet() error {
	if r.patient {
		if err := r.call(r.tx); err != nil {
			return err
		}
		return r.lockOne()
	}
	if err := r.tx.Together(r.ctx, r.call, r.lock); err != nil {
		return err
	}
	return r.tx.Together(r.ctx, r.read, r.askWhoWaits)
}

// call asks which of the agents call with their present boot, and counts the calls
// as signs of life.
func (r *finishRun) call(tx db.Tx) error {
	r.current = map[ids.ID]dbsqlc.AgentsCalledRow{}
	params := dbsqlc.AgentsCalledParams{WorkspaceID: r.workspace}
	for _, one := range r.list {
		who := one.in.who
		params.Ids, params.Boots = append(params.Ids, who.Agent), append(params.Boots, who.Boot)
		params.Generations = append(params.Generations, who.Generation)
	}
	rows, err := q.AgentsCalled(r.ctx, tx, params)
	if err != nil {
		return fmt.Errorf("read agents: %w", err)
	}
	for _, row := range rows {
		r.current[row.ID] = row
	}
	return nil
}

// isCurrent reports whether an agent's boot is its present one.
func (r *finishRun) isCurrent(who tenancy.Principal) bool {
	row, ok := r.current[who.Agent]
	return ok && row.BootID == who.Boot && row.Generation <= who.Generation
}

// lockOne locks and reads the one job, waiting for whoever has it.
func (r *finishRun) lockOne() error {
	name := r.list[0].in.ref.Job
	job, err := jobs.LockTx(r.ctx, r.tx, r.workspace, name)
	r.jobs = map[string]jobs.Locked{name: job}
	return err
}

// lock locks those of the jobs that nobody else has locked.
func (r *finishRun) lock(tx db.Tx) (err error) {
	called := make([]string, 0, len(r.list))
	for _, one := range r.list {
		called = append(called, one.in.ref.Job)
	}
	r.locks, err = jobs.LockManyTx(r.ctx, tx, r.workspace, called)
	return err
}

func (r *finishRun) read(tx db.Tx) (err error) {
	r.jobs, err = jobs.ReadLockedTx(r.ctx, tx, r.workspace, r.locks)
	return err
}

// askWhoWaits asks for which of the jobs others wait.
func (r *finishRun) askWhoWaits(tx db.Tx) (err error) {
	r.waited, err = q.JobsWaitedFor(r.ctx, tx,
		dbsqlc.JobsWaitedForParams{WorkspaceID: r.workspace, Ids: slices.Collect(maps.Keys(r.locks))})
	if err != nil {
		return fmt.Errorf("dependents: %w", err)
	}
	return nil
}

// judge decides how a lease ends. What became of it before is said first, also to
// a boot that was replaced.
func (r *finishRun) judge(one *request[finishCall, finished], job jobs.Locked) error {
	call := one.in
	red, err := r.s.redactor(r.ctx, r.tx, r.workspace, job.Job)
	if err != nil {
		return err
	}
	digest, err := call.digest(red)
	if err != nil {
		return err
	}
	if !isHolder(call.who, job, call.ref.Epoch) {
		one.out = finished{job: job.Job}
		return r.repeated(call, job.Job, digest)
	}
	if !r.isCurrent(call.who) {
		return superseded(call.who.Name)
	}
	d, e, err := call.decide(r.ctx, r.tx, job, red)
	if err != nil {
		return err
	}
	e.digest = digest
	// Jobs that go back to one repo compete for its slot.
	if one.apart = !r.patient && d.After.Status == jobs.Ready && job.OneJobPerRepo && job.Repo != ""; !one.apart {
		r.ending = append(r.ending, &finishing{request: one, job: job, d: d, e: e})
	}
	return nil
}

// repeated accepts a call that ended its lease before, and says of any other why
// the lease is not the agent's any more.
func (r *finishRun) repeated(call finishCall, job jobs.Job, digest []byte) error {
	attempt, err := attemptOf(r.ctx, r.tx, call.who.Workspace, job, call.ref.Epoch)
	if err != nil || attempt.endedBy(call.who) && bytes.Equal(attempt.EndDigest, digest) {
		return err
	}
	return attempt.conflict(call.who, job, call.ref.Epoch)
}

// leaveWaitedFor sets apart the completed jobs for which others wait: those are
// locked too where they become claimable.
func (r *finishRun) leaveWaitedFor() {
	r.ending = slices.DeleteFunc(r.ending, func(f *finishing) bool {
		f.apart = f.d.After.Status == jobs.Completed && slices.Contains(r.waited, f.job.ID)
		return f.apart
	})
}

// write ends the leases and writes what was decided.
func (r *finishRun) write() error {
	if len(r.ending) == 0 {
		return nil
	}
	ends := make([]end, 0, len(r.ending))
	for _, f := range r.ending {
		ends = append(ends, end{who: f.in.who, Decision: f.d, ending: f.e})
	}
	after, err := endManyTx(r.ctx, r.tx, r.workspace, ends)
	if err != nil {
		return err
	}
	for i, f := range r.ending {
		promoted, err := r.promote(after[i])
		if err != nil {
			return err
		}
		f.out = finished{job: after[i], changed: append(promoted, change{before: f.job.Job, after: after[i]})}
		r.changed = append(r.changed, f.out.changed...)
	}
	return nil
}

// promote makes claimable what waited for a job. Only a run with patience has such
// jobs.
func (r *finishRun) promote(done jobs.Job) ([]change, error) {
	if !r.patient {
		return nil, nil
	}
	return promoteDependentsTx(r.ctx, r.tx, r.workspace, done)
}
