package dispatch

import (
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/redact"
	"fleetboard/internal/spend"
)

// usageTogether answers the reports of usage of many agents in one transaction.
func (s *Service) usageTogether(ctx context.Context, workspace ids.ID, list []*request[usageCall, []UsageAnswer], patient bool) error {
	var run *usageRun
	err := s.scope(patient)(ctx, workspace, func(tx db.Tx) error {
		run = &usageRun{reportRun: reportRun{tellings: tellings{ctx: ctx, tx: tx, s: s, workspace: workspace}}, patient: patient}
		for _, r := range list {
			run.add(r.in)
		}
		return run.run()
	})
	if err != nil {
		return err
	}
	s.keepBudgets(ctx, workspace, run.budgeted)
	for i, u := range run.told {
		list[i].err, list[i].apart = u.err, u.apart
		if u.err == nil {
			list[i].out = u.answers
		}
	}
	return nil
}

// usageRun is the reports of usage of one transaction. That of reports looks after
// the agents that call.
type usageRun struct {
	reportRun
	told    []*usageTelling
	patient bool // it may wait for locks

	secret   map[ids.ID]bool // the jobs that have secrets
	budgeted []ids.ID        // the jobs that have a budget
}

// usageTelling is one of them, line by line.
type usageTelling struct {
	*telling
	lines   []UsageLine
	entries []spend.Entry // of the lines that are not refused, and for whom they are
	answers []UsageAnswer
}

// leaseName is a lease, whether it lasts or not.
type leaseName struct {
	job   ids.ID
	epoch int64
}

func (r *usageRun) add(call usageCall) {
	u := &usageTelling{telling: &telling{who: call.who}, lines: call.lines,
		entries: make([]spend.Entry, len(call.lines)), answers: make([]UsageAnswer, len(call.lines))}
	for i, refused := range call.refused {
		u.answers[i].Refused = refused
	}
	r.told, r.all = append(r.told, u), append(r.all, u.telling)
}

func (r *usageRun) run() error {
	for _, step := range []func() error{r.greet, r.lookUp, r.hide, r.record, r.see} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// each runs do for the lines of which it is not known yet what becomes of them.
func (r *usageRun) each(do func(u *usageTelling, i int)) {
	for _, u := range r.told {
		for i := range u.lines {
			if u.err == nil && !u.apart && u.answers[i].Refused == nil {
				do(u, i)
			}
		}
	}
}

// greet refuses the tokens of boots that were replaced.
func (r *usageRun) greet() error {
	if r.patient {
		_, err := seen(r.ctx, r.tx, r.told[0].who)
		return err
	}
	return r.meet()
}

// lookUp finds the leases that are named, and refuses the lines of those that are
// not the agent's. In haste a report is set apart where somebody else raises the
// sums of one of them.
func (r *usageRun) lookUp() error {
	var refs []string
	r.each(func(u *usageTelling, i int) { refs = append(refs, u.lines[i].Lease.Job) })
	named, err := r.named(refs)
	if err != nil {
		return err
	}
	params := dbsqlc.UsageLeasesParams{WorkspaceID: r.workspace, Hold: !r.patient}
	leases := map[leaseName]dbsqlc.UsageLeasesRow{}
	r.secret = map[ids.ID]bool{}
	r.each(func(u *usageTelling, i int) {
		lease := u.lines[i].Lease
		name := leaseName{named[lease.Job], lease.Epoch}
		if _, again := leases[name]; !again && name.job != ids.Nil {
			leases[name] = dbsqlc.UsageLeasesRow{}
			params.JobIds, params.Epochs = append(params.JobIds, name.job), append(params.Epochs, name.epoch)
		}
	})
	if len(leases) > 0 {
		rows, err := q.UsageLeases(r.ctx, r.tx, params)
		if err != nil {
			return fmt.Errorf("find leases: %w", err)
		}
		for _, row := range rows {
			leases[leaseName{row.JobID, row.Epoch}] = row
			if row.HasSecrets {
				r.secret[row.JobID] = true
			}
			if row.HasBudget && !slices.Contains(r.budgeted, row.JobID) {
				r.budgeted = append(r.budgeted, row.JobID)
			}
		}
	}
	r.each(func(u *usageTelling, i int) {
		lease := u.lines[i].Lease
		u.judge(i, leases[leaseName{named[lease.Job], lease.Epoch}])
	})
	return nil
}

// judge says for whom a line is, or refuses it, by the lease that it names.
func (u *usageTelling) judge(i int, lease dbsqlc.UsageLeasesRow) {
	named := u.lines[i].Lease
	switch {
	case lease.Key == "":
		u.answers[i].Refused = fault.From(noSuchJob(named.Job))
	case lease.Agent == "":
		u.answers[i].Refused = fault.New(fault.StaleEpoch, "%s has not had an epoch %d.", lease.Key, named.Epoch)
	case lease.Agent != u.who.Name:
		u.answers[i].Refused = fault.New(fault.StaleEpoch, "Epoch %d of %s was another agent's.", named.Epoch, lease.Key)
	case !inScope(u.who.Scope, jobs.Job{Product: lease.Product}):
		u.answers[i].Refused = fault.New(fault.Forbidden, "The token of %s does not reach %s any more.", u.who.Name, lease.Key)
	case spend.Nanos(lease.CostNanos) >= spend.FullCost:
		u.answers[i].Refused = fault.Invalid("cost_usd", "It must be less: the costs of this lease add up to more than can be kept.")
	case lease.Busy:
		u.apart = true
	}
	e := u.lines[i].Entry
	e.Job, e.Epoch, e.Agent, e.Product = lease.JobID, lease.Epoch, u.who.Agent, lease.ProductID
	u.entries[i] = e
}

// hide takes the values of the jobs' secrets out of what is said of their usage. In
// haste a report is set apart where they cannot be had.
func (r *usageRun) hide() error {
	for job := range r.secret {
		red, err := r.s.jobs.RedactorTx(r.ctx, r.tx, r.workspace, job)
		if err != nil && r.patient {
			return err
		}
		r.each(func(u *usageTelling, i int) {
			if u.entries[i].Job != job {
				return
			}
			if u.apart = err != nil; u.apart {
				return
			}
			u.hide(i, red)
		})
	}
	return nil
}

// hide takes values out of one line. Its id names it and cannot be another one.
func (u *usageTelling) hide(i int, red *redact.Redactor) {
	e := &u.entries[i]
	if red.Text(e.ID) != e.ID {
		u.answers[i].Refused = fault.Invalid("id", "It must not hold the value of a secret of the job.")
		return
	}
	e.Provider, e.Model = red.Cut(e.Provider, spend.MaxProvider), red.Cut(e.Model, spend.MaxModel)
	e.Session, e.Operation = red.Cut(e.Session, spend.MaxSession), red.Cut(e.Operation, spend.MaxOperation)
}

// record keeps what is left.
func (r *usageRun) record() error {
	var list []spend.Entry
	r.each(func(u *usageTelling, i int) { list = append(list, u.entries[i]) })
	outcomes, err := spend.RecordTx(r.ctx, r.tx, r.workspace, list)
	if err != nil {
		return err
	}
	r.each(func(u *usageTelling, i int) { u.answers[i].Outcome, outcomes = outcomes[0], outcomes[1:] })
	return nil
}
