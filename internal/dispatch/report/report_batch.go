package report

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// reportCall is a report of one lease, and who makes it.
type reportCall struct {
	who tenancy.Principal
	ref lease.Ref
	report
}

// lockReport waits for the locks of one report: the job that it starts, and the lease.
func (s *Service) lockReport(ctx context.Context, tx db.Tx, workspace ids.ID, c reportCall) error {
	named, err := jobsByName(ctx, tx, workspace, []string{c.ref.Job})
	if err != nil {
		return err
	}
	starting := named
	if !c.starts {
		starting = nil
	}
	return waitForLeases(ctx, tx, c.who, starting, named, false)
}

// execReports answers the reports of many agents.
func (s *Service) execReports(ctx context.Context, tx db.Tx, workspace ids.ID, items []*batch.Item[reportCall, lease.Status]) (func(),
	error) {
	b := &reportBatch{leaseReports: leaseReports{ctx: ctx, tx: tx, s: s, workspace: workspace, alone: items[0].Alone}}
	for _, i := range items {
		b.all = append(b.all, &reportItem{reportCall: i.Req})
	}
	if err := b.exec(); err != nil {
		return nil, err
	}
	for at, t := range b.all {
		items[at].Res, items[at].Err = t.status, t.err
		if t.retry {
			items[at].Retry()
		}
	}
	return b.notify, nil
}

// reportBatch is the reports of one transaction.
type reportBatch struct {
	leaseReports
	all    []*reportItem
	agents lease.Agents
}

func (b *reportBatch) exec() error {
	for _, step := range []func() error{b.authenticate, b.resolve, b.lock, b.writeAll} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// open returns the reports of which it is not known yet what becomes of them.
func (b *reportBatch) open() []*reportItem {
	return slices.DeleteFunc(slices.Clone(b.all), func(t *reportItem) bool { return t.err != nil || t.retry })
}

// authenticate refuses the tokens of boots that were replaced.
func (b *reportBatch) authenticate() (err error) {
	callers := make([]tenancy.Principal, 0, len(b.all))
	for _, t := range b.all {
		callers = append(callers, t.who)
	}
	if b.agents, err = lease.TouchManyTx(b.ctx, b.tx, b.workspace, callers); err != nil {
		return err
	}
	for _, t := range b.all {
		if _, ok := b.agents.Current(t.who); !ok {
			t.err = lease.Superseded(t.who.Name)
		}
	}
	return nil
}

// resolve finds the jobs that are reported on. The second report of one job in a batch
// is answered after the first one.
func (b *reportBatch) resolve() error {
	var refs []string
	for _, t := range b.open() {
		refs = append(refs, t.ref.Job)
	}
	named, err := jobsByName(b.ctx, b.tx, b.workspace, refs)
	if err != nil {
		return err
	}
	seen := map[ids.ID]bool{}
	for _, t := range b.open() {
		job, known := named[t.ref.Job]
		if !known {
			t.err = lease.NoSuchJob(t.ref.Job)
			continue
		}
		t.job, t.retry = job, seen[job]
		seen[job] = true
	}
	return nil
}

// lock locks the leases that are spoken of.
func (b *reportBatch) lock() error {
	leases, err := lockLeases(b.ctx, b.tx, b.workspace, b.open())
	if err != nil {
		return err
	}
	for _, t := range b.open() {
		l := leases[t.job]
		t.key, t.percent, t.step, t.retry = l.Key, l.ProgressPercent, l.CurrentStep, l.Busy
		t.refused = !l.Live || l.AgentID != t.who.Agent || l.Epoch != t.ref.Epoch
		t.begins = t.starts && !t.refused && jobs.Status(l.Status) == jobs.Assigned
	}
	return b.prepare(b.open())
}

// writeAll writes what was reported, and says of the others why it was not.
func (b *reportBatch) writeAll() error {
	if err := b.write(b.open()); err != nil {
		return err
	}
	if err := b.explainRefusals(b.open()); err != nil {
		return err
	}
	for _, t := range b.open() {
		if t.status.Directive == lease.Continue {
			t.status.Directive = lease.Unasked(b.agents[t.who.Agent].Draining)
		}
	}
	return nil
}
