package report

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// finishCall ends an agent's lease: decide says how, and digest is by which the
// call is recognised when it comes again. Both get what takes the values of the
// job's secrets out of the agent's words.
type finishCall struct {
	who    tenancy.Principal
	ref    lease.Ref
	decide func(context.Context, db.Tx, jobs.Locked, *redact.Redactor) (jobs.Decision, lease.AttemptEnd, error)
	digest func(*redact.Redactor) ([]byte, error)
	alone  bool        // what decide writes beside the job is not to be locked in a batch
	next   *lease.Next // wanted for the seat that becomes free, nil for nothing
}

// finishResult is what became of it.
type finishResult struct {
	job     jobs.Job
	changed []lease.Change // none where the answer was given before
	seat    lease.Seat     // that became free
}

// Ended is a job whose lease has ended.
type Ended struct {
	jobs.Job

	// Next is what the agent got for the seat, nil where it requested nothing.
	Next *lease.Claimed
}

// ReasonTryAgain is why an agent got no job for the seat that it has freed: the claim could
// not be answered.
const ReasonTryAgain = "try_again"

// finish ends an agent's lease, together with those that end at the same moment, and fills
// the seat where that is requested.
func (s *Service) finish(ctx context.Context, call finishCall) (Ended, error) {
	if err := errors.Join(lease.RequireAgent(call.who), call.ref.Check(), call.next.Check()); err != nil {
		return Ended{}, err
	}
	result, err := s.finishes.Do(ctx, call.who.Workspace, call)
	if err != nil {
		return Ended{}, err
	}
	s.effects.PromoteNext(ctx, call.who.Workspace, result.changed...)
	if call.next == nil {
		return Ended{Job: result.job}, nil
	}
	claimed, err := s.seats.Deliver(ctx, result.seat)
	if err != nil && ctx.Err() == nil {
		// The lease has ended, whatever went wrong with the claim.
		s.effects.Warn(ctx, "a seat was not filled", err)
		claimed = lease.Claimed{Reason: ReasonTryAgain}
	}
	return Ended{result.job, &claimed}, ctx.Err()
}

// lockFinish waits for the lock of the job whose lease ends.
func (s *Service) lockFinish(ctx context.Context, tx db.Tx, workspace ids.ID, call finishCall) error {
	_, err := jobs.LockTx(ctx, tx, workspace, call.ref.Job)
	return err
}

// execFinishes ends the leases of many agents.
func (s *Service) execFinishes(ctx context.Context, tx db.Tx, workspace ids.ID, items []*finishItem) (func(), error) {
	b := &finishBatch{ctx: ctx, tx: tx, s: s, workspace: workspace, items: items, alone: items[0].Alone}
	if err := b.exec(); err != nil {
		return nil, err
	}
	filled, err := b.fill()
	if err != nil {
		return nil, err
	}
	return func() {
		s.effects.Notify(workspace, b.changed...)
		filled()
	}, nil
}

type finishItem = batch.Item[finishCall, finishResult]

// finishBatch is the leases that end in one transaction.
type finishBatch struct {
	ctx       context.Context // lives as long as the batch
	tx        db.Tx
	s         *Service
	workspace ids.ID
	items     []*finishItem
	alone     bool

	current lease.Agents
	locks   jobs.Locks
	jobs    map[string]jobs.Locked // by key and by id
	waited  []ids.ID               // those for which others wait
	decided []*decidedFinish
	changed []lease.Change
}

// decidedFinish is a call of which it is known how the lease ends.
type decidedFinish struct {
	*finishItem
	job jobs.Locked
	d   jobs.Decision
	e   lease.AttemptEnd
}

func (b *finishBatch) exec() error {
	if err := b.tx.Pipeline(b.ctx, b.authenticate, b.lock); err != nil {
		return err
	}
	if err := b.tx.Pipeline(b.ctx, b.read, b.askWhoWaits); err != nil {
		return err
	}
	met := map[ids.ID]bool{}
	for _, i := range b.items {
		job, locked := b.jobs[i.Req.ref.Job]
		if !locked || met[job.ID] {
			i.Retry()
			continue
		}
		met[job.ID] = true
		if err := b.decide(i, job); err != nil {
			var refused *fault.Error
			if !errors.As(err, &refused) {
				return err
			}
			i.Err = err
		}
	}
	b.leaveWaitedFor()
	return b.write()
}

// authenticate reads which of the agents call with their present boot. The agents come
// before the jobs: the order in which everybody locks.
func (b *finishBatch) authenticate(tx db.Tx) (err error) {
	callers := make([]tenancy.Principal, 0, len(b.items))
	for _, i := range b.items {
		callers = append(callers, i.Req.who)
	}
	b.current, err = lease.TouchManyTx(b.ctx, tx, b.workspace, callers)
	return err
}

// lock locks those of the jobs that nobody else has locked.
func (b *finishBatch) lock(tx db.Tx) (err error) {
	called := make([]string, 0, len(b.items))
	for _, i := range b.items {
		called = append(called, i.Req.ref.Job)
	}
	b.locks, err = jobs.LockManyTx(b.ctx, tx, b.workspace, called)
	return err
}

func (b *finishBatch) read(tx db.Tx) (err error) {
	b.jobs, err = jobs.ReadLockedTx(b.ctx, tx, b.workspace, b.locks)
	return err
}

// askWhoWaits reads for which of the jobs others wait.
func (b *finishBatch) askWhoWaits(tx db.Tx) (err error) {
	b.waited, err = jobsWaitedFor(b.ctx, tx, b.workspace, slices.Collect(maps.Keys(b.locks)))
	return err
}

// decide decides how a lease ends. What became of it before is said first, also to
// a boot that was replaced.
func (b *finishBatch) decide(i *finishItem, job jobs.Locked) error {
	call := i.Req
	red, err := b.s.redactor(b.ctx, b.tx, b.workspace, job.Job)
	if err != nil {
		return err
	}
	i.Req.next = b.s.redactNext(red, call)
	digest, err := call.digest(red)
	if err != nil {
		return err
	}
	if !lease.IsHolder(call.who, job, call.ref.Epoch) {
		i.Res = finishResult{job: job.Job}
		return b.repeated(call, job.Job, digest)
	}
	if _, ok := b.current.Current(call.who); !ok {
		return lease.Superseded(call.who.Name)
	}
	// What a verify job says may change the job that it verifies.
	if (call.alone || job.Kind == jobs.KindVerify) && !b.alone {
		i.Retry()
		return nil
	}
	d, e, err := call.decide(b.ctx, b.tx, job, red)
	if err != nil {
		return err
	}
	e.Digest = digest
	// Jobs that go back to one repo compete for its slot.
	if !b.alone && d.After.Status == jobs.Ready && job.Serialise != jobs.SerialiseNone && job.Repo != "" {
		i.Retry()
		return nil
	}
	// A job that verifies the work is made alone: that locks more than the job. So is what the policy decides.
	if !b.alone && (d.After.IsVerified() || isForPolicy(d.After)) && d.By == jobs.ByComplete {
		i.Retry()
		return nil
	}
	b.decided = append(b.decided, &decidedFinish{finishItem: i, job: job, d: d, e: e})
	return nil
}

// repeated accepts a call that ended its lease before, and says of any other why
// the lease is not the agent's any more.
func (b *finishBatch) repeated(call finishCall, job jobs.Job, digest []byte) error {
	attempt, err := lease.AttemptTx(b.ctx, b.tx, call.who.Workspace, job.ID, call.ref.Epoch)
	if err != nil || attempt.IsRepeatedBy(call.who, digest) {
		return err
	}
	return attempt.Conflict(call.who, job, call.ref.Epoch)
}

// leaveWaitedFor leaves out of a batch the completed jobs for which others wait: those
// are locked too where they become claimable.
func (b *finishBatch) leaveWaitedFor() {
	if b.alone {
		return
	}
	b.decided = slices.DeleteFunc(b.decided, func(f *decidedFinish) bool {
		waits := f.d.After.Status == jobs.Completed && slices.Contains(b.waited, f.job.ID)
		if waits {
			f.Retry()
		}
		return waits
	})
}

// write ends the leases and writes what was decided.
func (b *finishBatch) write() error {
	if len(b.decided) == 0 {
		return nil
	}
	ends := make([]lease.End, 0, len(b.decided))
	for _, f := range b.decided {
		ends = append(ends, lease.End{Who: f.Req.who, Decision: f.d, AttemptEnd: f.e})
	}
	after, err := lease.EndManyTx(b.ctx, b.tx, b.workspace, ends)
	if err != nil {
		return err
	}
	b.changed = make([]lease.Change, 0, len(b.decided)) // a change is two jobs
	for i, f := range b.decided {
		promoted, err := b.promote(after[i])
		if err != nil {
			return err
		}
		if f.d.By == jobs.ByComplete {
			follows, err := b.followUp(after[i])
			if err != nil {
				return err
			}
			promoted = append(promoted, follows...)
		}
		f.Res = finishResult{job: after[i], changed: append(promoted, lease.Change{Before: f.job.Job, After: after[i]})}
		b.changed = append(b.changed, f.Res.changed...)
	}
	return nil
}

// promote makes claimable what waited for a job. Only one that is run alone has such
// jobs.
func (b *finishBatch) promote(done jobs.Job) ([]lease.Change, error) {
	if !b.alone {
		return nil, nil
	}
	return lease.PromoteDependentsTx(b.ctx, b.tx, b.workspace, done)
}

// fill gives the agents that ask for it jobs for the seats that they have freed. A call that
// is run alone has its seat filled afterwards: its end is not to fail with a claim.
func (b *finishBatch) fill() (notify func(), err error) {
	var seats []*lease.Seat
	for _, i := range b.items {
		if i.Req.next == nil || i.Err != nil || i.Retrying() {
			continue
		}
		i.Res.seat = lease.Seat{Ctx: i.Ctx, Who: i.Req.who, Next: *i.Req.next}
		if !b.alone {
			seats = append(seats, &i.Res.seat)
		}
	}
	if len(seats) == 0 {
		return func() {}, nil
	}
	return b.s.seats.FillTx(b.ctx, b.tx, b.workspace, seats)
}
