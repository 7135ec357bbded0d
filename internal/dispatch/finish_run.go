package dispatch

import (
	"context"
	"errors"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// finishCall ends an agent's lease: decide says how. repeated recognises an answer
// that was given before and gives it again. Both get what takes the values of the
// job's secrets out of the agent's words.
type finishCall struct {
	who      tenancy.Principal
	ref      Ref
	decide   func(context.Context, db.Tx, jobs.Locked, *jobs.Redactor) (jobs.Decision, ending, error)
	repeated func(context.Context, db.Tx, jobs.Locked, *jobs.Redactor) (bool, error)
}

func never(context.Context, db.Tx, jobs.Locked, *jobs.Redactor) (bool, error) { return false, nil }

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
	jobs    map[string]jobs.Locked
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
	// The agents before the jobs: the order in which everybody locks.
	if err := r.meet(); err != nil {
		return err
	}
	if err := r.lock(); err != nil {
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
	if err := r.leaveWaitedFor(); err != nil {
		return err
	}
	return r.write()
}

// meet asks which of the agents call with their present boot, and counts the calls
// as signs of life.
func (r *finishRun) meet() error {
	r.current = map[ids.ID]dbsqlc.AgentsCalledRow{}
	params := dbsqlc.AgentsCalledParams{WorkspaceID: r.workspace}
	for _, one := range r.list {
		who := one.in.who
		params.Ids, params.Boots = append(params.Ids, who.Agent), append(params.Boots, who.Boot)
		params.Generations = append(params.Generations, who.Generation)
	}
	rows, err := q.AgentsCalled(r.ctx, r.tx, params)
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

// lock locks the jobs, or those that nobody else has locked.
func (r *finishRun) lock() (err error) {
	if !r.patient {
		called := make([]string, 0, len(r.list))
		for _, one := range r.list {
			called = append(called, one.in.ref.Job)
		}
		r.jobs, err = jobs.LockManyTx(r.ctx, r.tx, r.workspace, called)
		return err
	}
	name := r.list[0].in.ref.Job
	job, err := jobs.LockTx(r.ctx, r.tx, r.workspace, name)
	r.jobs = map[string]jobs.Locked{name: job}
	return err
}

// judge decides how a lease ends. What became of it before is said first, also to
// a boot that was replaced.
func (r *finishRun) judge(one *request[finishCall, finished], job jobs.Locked) error {
	call := one.in
	red, err := r.s.redactor(r.ctx, r.tx, r.workspace, job.Job)
	if err != nil {
		return err
	}
	if refused := held(r.ctx, r.tx, call.who, job, call.ref.Epoch); refused != nil {
		again, err := call.repeated(r.ctx, r.tx, job, red)
		if err != nil || !again {
			return errors.Join(err, refused)
		}
		one.out = finished{job: job.Job}
		return nil
	}
	if !r.isCurrent(call.who) {
		return superseded(call.who.Name)
	}
	d, e, err := call.decide(r.ctx, r.tx, job, red)
	if err != nil {
		return err
	}
	// Jobs that go back to one repo compete for its slot.
	if one.apart = !r.patient && d.After.Status == jobs.Ready && job.OneJobPerRepo && job.Repo != ""; !one.apart {
		r.ending = append(r.ending, &finishing{request: one, job: job, d: d, e: e})
	}
	return nil
}

// leaveWaitedFor sets apart the jobs for which others wait: those are locked too
// where they become claimable.
func (r *finishRun) leaveWaitedFor() error {
	if r.patient {
		return nil
	}
	var done []ids.ID
	for _, f := range r.ending {
		if f.d.After.Status == jobs.Completed {
			done = append(done, f.job.ID)
		}
	}
	if len(done) == 0 {
		return nil
	}
	waited, err := q.JobsWaitedFor(r.ctx, r.tx, dbsqlc.JobsWaitedForParams{WorkspaceID: r.workspace, Ids: done})
	if err != nil {
		return fmt.Errorf("dependents: %w", err)
	}
	left := r.ending[:0]
	for _, f := range r.ending {
		for _, id := range waited {
			f.apart = f.apart || id == f.job.ID
		}
		if !f.apart {
			left = append(left, f)
		}
	}
	r.ending = left
	return nil
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
