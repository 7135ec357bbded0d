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
	"fleetboard/internal/tenancy"
)

// reportCall is a report of one lease, and who makes it.
type reportCall struct {
	who tenancy.Principal
	ref Ref
	report
}

// reportTogether answers the reports of many agents in one transaction.
func (s *Service) reportTogether(ctx context.Context, workspace ids.ID, list []*request[reportCall, Standing], patient bool) error {
	if patient {
		one := list[0]
		one.out, one.err = s.reportAlone(ctx, one.in)
		return nil
	}
	var run *reportRun
	err := s.scope(patient)(ctx, workspace, func(tx db.Tx) error {
		run = &reportRun{tellings: tellings{ctx: ctx, tx: tx, s: s, workspace: workspace}}
		for _, r := range list {
			run.all = append(run.all, &telling{who: r.in.who, ref: r.in.ref, report: r.in.report})
		}
		return run.run()
	})
	if err != nil {
		return err
	}
	if run.told {
		s.published(workspace, nil, run.started...)
		s.keepBudgets(ctx, workspace, budgeted(run.started))
	}
	for i, t := range run.all {
		list[i].out, list[i].err, list[i].apart = t.standing, t.err, t.apart
	}
	return nil
}

// reportRun is the reports of one transaction.
type reportRun struct {
	tellings
	all    []*telling
	agents map[ids.ID]dbsqlc.AgentsOfReportsRow
}

func (r *reportRun) run() error {
	for _, step := range []func() error{r.meet, r.name, r.hold, r.write, r.see} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// open are the reports of which it is not known yet what becomes of them.
func (r *reportRun) open() []*telling {
	return slices.DeleteFunc(slices.Clone(r.all), func(t *telling) bool { return t.err != nil || t.apart })
}

// meet refuses the tokens of boots that were replaced.
func (r *reportRun) meet() error {
	agents := make([]ids.ID, 0, len(r.all))
	for _, t := range r.all {
		agents = append(agents, t.who.Agent)
	}
	rows, err := q.AgentsOfReports(r.ctx, r.tx, dbsqlc.AgentsOfReportsParams{WorkspaceID: r.workspace, Ids: agents})
	if err != nil {
		return fmt.Errorf("read agents: %w", err)
	}
	r.agents = map[ids.ID]dbsqlc.AgentsOfReportsRow{}
	for _, row := range rows {
		r.agents[row.ID] = row
	}
	for _, t := range r.all {
		agent, known := r.agents[t.who.Agent]
		t.apart = agent.Busy
		if !known || agent.BootID != t.who.Boot || agent.Generation > t.who.Generation {
			t.err = superseded(t.who.Name)
		}
	}
	return nil
}

// name finds the jobs that are reported on. The second report of one job in a run
// is answered after the first one.
func (r *reportRun) name() error {
	var refs []string
	for _, t := range r.open() {
		refs = append(refs, t.ref.Job)
	}
	named, err := r.named(refs)
	if err != nil {
		return err
	}
	seen := map[ids.ID]bool{}
	for _, t := range r.open() {
		job, known := named[t.ref.Job]
		if !known {
			t.err = noSuchJob(t.ref.Job)
			continue
		}
		t.job, t.apart = job, seen[job]
		seen[job] = true
	}
	return nil
}

// hold locks the leases that are spoken of.
func (r *reportRun) hold() error {
	params := dbsqlc.LeasesHoldParams{WorkspaceID: r.workspace}
	for _, t := range r.open() {
		params.JobIds, params.AgentIds = append(params.JobIds, t.job), append(params.AgentIds, t.who.Agent)
	}
	if len(params.JobIds) == 0 {
		return nil
	}
	rows, err := q.LeasesHold(r.ctx, r.tx, params)
	if err != nil {
		return fmt.Errorf("hold leases: %w", err)
	}
	leases := map[ids.ID]dbsqlc.LeasesHoldRow{}
	for _, row := range rows {
		leases[row.ID] = row
	}
	for _, t := range r.open() {
		l := leases[t.job]
		t.key, t.percent, t.step, t.apart = l.Key, l.ProgressPercent, l.CurrentStep, l.Busy
		t.refused = !l.Live || l.AgentID != t.who.Agent || l.Epoch != t.ref.Epoch
		t.begins = t.starts && !t.refused && jobs.Status(l.Status) == jobs.Assigned
	}
	return r.prepare(r.open())
}

// write writes what was reported, and says of the others why it was not.
func (r *reportRun) write() error {
	if err := r.tell(r.open()); err != nil {
		return err
	}
	if err := r.refuse(r.open()); err != nil {
		return err
	}
	for _, t := range r.open() {
		if t.standing.Directive == Continue {
			t.standing.Directive = unasked(r.agents[t.who.Agent].Draining)
		}
	}
	return nil
}

// see counts the reports that were written as signs of life.
func (r *reportRun) see() error {
	var seen []ids.ID
	for _, t := range r.open() {
		if r.agents[t.who.Agent].Held {
			seen = append(seen, t.who.Agent)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	if err := q.AgentsHeard(r.ctx, r.tx, dbsqlc.AgentsHeardParams{WorkspaceID: r.workspace, Ids: seen}); err != nil {
		return fmt.Errorf("signs of life: %w", err)
	}
	return nil
}

func noSuchJob(keyOrID string) error {
	return fault.New(fault.NotFound, "There is no job %.64s in this workspace.", keyOrID)
}
