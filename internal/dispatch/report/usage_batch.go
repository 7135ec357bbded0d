package report

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// execUsage answers the reports of usage of many agents.
func (s *Service) execUsage(ctx context.Context, tx db.Tx, workspace ids.ID, items []*usageItem) (func(), error) {
	b := &usageBatch{ctx: ctx, tx: tx, s: s, workspace: workspace, alone: items[0].Alone}
	for _, i := range items {
		b.add(i)
	}
	if err := b.exec(); err != nil {
		return nil, err
	}
	return func() {
		s.effects.KeepBudgets(ctx, workspace, b.budgeted)
		s.effects.DirectForBudgets(ctx, workspace, b.charged)
	}, nil
}

type usageItem = batch.Item[usageCall, []UsageAnswer]

// usageBatch is the reports of usage of one transaction.
type usageBatch struct {
	ctx       context.Context // lives as long as the batch
	tx        db.Tx
	s         *Service
	workspace ids.ID
	alone     bool
	items     []*usageReport

	secret   map[ids.ID]bool // the jobs that have secrets
	budgeted []ids.ID        // the jobs that have a budget of their own
	charged  budgeting.Charged
}

// usageReport is one of them, line by line.
type usageReport struct {
	*usageItem
	entries []spend.Entry // of the lines that are not refused, and for whom they are
}

func (b *usageBatch) add(i *usageItem) {
	u := &usageReport{usageItem: i, entries: make([]spend.Entry, len(i.Req.lines))}
	u.Res = make([]UsageAnswer, len(i.Req.lines))
	for at, refused := range i.Req.refused {
		u.Res[at].Refused = refused
	}
	b.items = append(b.items, u)
}

func (b *usageBatch) exec() error {
	for _, step := range []func() error{b.authenticate, b.lookUp, b.redact, b.record} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// each runs do for the lines of which it is not known yet what becomes of them.
func (b *usageBatch) each(do func(u *usageReport, i int)) {
	for _, u := range b.items {
		for i := range u.Req.lines {
			if u.Err == nil && !u.Retrying() && u.Res[i].Refused == nil {
				do(u, i)
			}
		}
	}
}

// authenticate refuses the tokens of boots that were replaced.
func (b *usageBatch) authenticate() error {
	callers := make([]tenancy.Principal, 0, len(b.items))
	for _, u := range b.items {
		callers = append(callers, u.Req.who)
	}
	current, err := lease.TouchManyTx(b.ctx, b.tx, b.workspace, callers)
	if err != nil {
		return err
	}
	for _, u := range b.items {
		if _, ok := current.Current(u.Req.who); !ok {
			u.Res, u.Err = nil, lease.Superseded(u.Req.who.Name)
		}
	}
	return nil
}

// lookUp finds the leases that are named, and refuses the lines of those that are
// not the agent's. In a batch a report is retried where somebody else raises
// the sums of one of them; alone it waits for that.
func (b *usageBatch) lookUp() error {
	var refs []string
	b.each(func(u *usageReport, i int) { refs = append(refs, u.Req.lines[i].Lease.Job) })
	named, err := jobsByName(b.ctx, b.tx, b.workspace, refs)
	if err != nil {
		return err
	}
	var wanted []leaseName
	seen := map[leaseName]bool{}
	b.each(func(u *usageReport, i int) {
		of := u.Req.lines[i].Lease
		name := leaseName{named[of.Job], of.Epoch}
		if !seen[name] && name.job != ids.Nil {
			seen[name], wanted = true, append(wanted, name)
		}
	})
	leases, err := usageLeases(b.ctx, b.tx, b.workspace, wanted, !b.alone)
	if err != nil {
		return err
	}
	b.secret = map[ids.ID]bool{}
	for name, l := range leases {
		if l.HasSecrets {
			b.secret[name.job] = true
		}
		if l.HasBudget && !slices.Contains(b.budgeted, name.job) {
			b.budgeted = append(b.budgeted, name.job)
		}
	}
	b.each(func(u *usageReport, i int) {
		of := u.Req.lines[i].Lease
		u.judge(i, leases[leaseName{named[of.Job], of.Epoch}])
	})
	return nil
}

// judge says for whom a line is, or refuses it, by the lease that it names.
func (u *usageReport) judge(i int, l usageLease) {
	named := u.Req.lines[i].Lease
	switch {
	case l.Key == "":
		u.Res[i].Refused = fault.From(lease.NoSuchJob(named.Job))
	case l.Agent == "":
		u.Res[i].Refused = fault.New(fault.StaleEpoch, "%s has not had an epoch %d.", l.Key, named.Epoch)
	case l.Agent != u.Req.who.Name:
		u.Res[i].Refused = fault.New(fault.StaleEpoch, "Epoch %d of %s was another agent's.", named.Epoch, l.Key)
	case !lease.InScope(u.Req.who.Scope, jobs.Job{Product: l.Product}):
		u.Res[i].Refused = fault.New(fault.Forbidden, "The token of %s does not reach %s any more.", u.Req.who.Name, l.Key)
	case spend.Nanos(l.ChargedNanos) >= spend.FullCost:
		u.Res[i].Refused = fault.Invalid("cost_usd", "It must be less: the costs of this lease add up to more than can be kept.")
	case l.Busy:
		u.Retry()
	}
	e := u.Req.lines[i].Entry
	e.Booking = spend.Booking{Job: l.JobID, Epoch: l.Epoch, AgentName: l.Agent, Factory: l.Factory, Product: l.ProductID,
		Phase: l.Phase, Repo: l.Repo, Claimed: l.ClaimedAt, Now: l.Now, Late: l.IsOver}
	e.Agent = u.Req.who.Agent
	u.entries[i] = e
}

// redact takes the values of the jobs' secrets out of what is said of their usage. In
// a batch a report is retried where they cannot be had.
func (b *usageBatch) redact() error {
	for job := range b.secret {
		red, err := b.s.jobs.Secrets.RedactorTx(b.ctx, b.tx, b.workspace, job)
		if err != nil && b.alone {
			return err
		}
		b.each(func(u *usageReport, i int) {
			if u.entries[i].Job != job {
				return
			}
			if err != nil {
				u.Retry()
				return
			}
			u.redact(i, red)
		})
	}
	return nil
}

// redact takes values out of one line. Its id names it and cannot be another one.
func (u *usageReport) redact(i int, red *redact.Redactor) {
	e := &u.entries[i]
	if red.Text(e.ID) != e.ID {
		u.Res[i].Refused = fault.Invalid("id", "It must not hold the value of a secret of the job.")
		return
	}
	e.Provider, e.Model = red.Cut(e.Provider, spend.MaxProvider), red.Cut(e.Model, spend.MaxModel)
	e.Session, e.Operation = red.Cut(e.Session, spend.MaxSession), red.Cut(e.Operation, spend.MaxOperation)
}

// record keeps what is left.
func (b *usageBatch) record() error {
	var list []spend.Entry
	b.each(func(u *usageReport, i int) { list = append(list, u.entries[i]) })
	outcomes, charges, err := spend.RecordTx(b.ctx, b.tx, b.workspace, list)
	if err != nil {
		return err
	}
	if err := budgeting.AskOfUsageTx(b.ctx, b.tx, b.workspace, charges); err != nil {
		return err
	}
	if b.charged, err = budgeting.ChargeTx(b.ctx, b.tx, b.workspace, charges); err != nil {
		return err
	}
	b.each(func(u *usageReport, i int) { u.Res[i].Outcome, outcomes = outcomes[0], outcomes[1:] })
	return nil
}
