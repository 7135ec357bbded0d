package screens

import (
	"cmp"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func (r *reader) readDependencies(f facts, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	rows, err := q.BoardOpenDependencies(r.ctx, r.tx, r.workspace, list)
	if err != nil {
		return err
	}
	for _, row := range rows {
		f.dependencies[row.JobID] = append(f.dependencies[row.JobID], dependency{key: row.Key, status: jobs.Status(row.Status)})
	}
	return nil
}

func (r *reader) readLost(f facts, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	lost, err := q.BoardLost(r.ctx, r.tx, r.workspace, list)
	if err != nil {
		return err
	}
	for _, id := range lost {
		f.lost[id] = true
	}
	return nil
}

func (r *reader) readRepos(f facts, repos []string) error {
	if len(repos) == 0 {
		return nil
	}
	rows, err := q.BoardRepoHolders(r.ctx, r.tx, r.workspace, repos)
	if err != nil {
		return err
	}
	for _, row := range rows {
		f.repos[row.Repo] = repoHolder{key: row.Key, agent: row.Agent}
	}
	return nil
}

func (r *reader) readBacklog(f facts, products []ids.ID) error {
	if len(products) == 0 {
		return nil
	}
	rows, err := q.BoardReviewBacklog(r.ctx, r.tx, r.workspace, countCap, products)
	if err != nil {
		return err
	}
	for _, row := range rows {
		f.backlog[row.ProductID] = row.Jobs
	}
	return nil
}

func (r *reader) readOverBudget(f facts, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	over, err := q.BoardOverBudget(r.ctx, r.tx, r.workspace, list)
	if err != nil {
		return err
	}
	for _, id := range over {
		f.money.own[id] = true
	}
	return nil
}

// readRefused reads which budgets have too little left for jobs, and which models they hold.
func (r *reader) readRefused(f *facts, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	active, err := budgeting.ActiveTx(r.ctx, r.tx, r.workspace)
	if err != nil || !active.Any {
		return err
	}
	if f.money.refused, err = budgeting.RefusalsTx(r.ctx, r.tx, r.workspace, list); err != nil || !active.HoldsUnpriced {
		return err
	}
	f.money.unpriced, err = budgeting.UnpricedTx(r.ctx, r.tx, r.workspace)
	return err
}

// delivered is what is reported of the commit of the last attempt on a job, and its factory.
type delivered struct {
	attempts.Delivery

	factory string
}

// readDelivery reads what is reported of the commit that a job was handed in with, as long as
// that is not merged.
func (r *reader) readDelivery(j jobs.Job) (delivered, error) {
	handedIn := []jobs.Status{jobs.InReview, jobs.Approved, jobs.Completed}
	if !slices.Contains(handedIn, j.Status) || j.MergedCommit != "" || j.Attempts == 0 {
		return delivered{}, nil
	}
	row, err := q.AttemptDeliveryOfJob(r.ctx, r.tx, r.workspace, j.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return delivered{}, nil
	}
	if err != nil {
		return delivered{}, err
	}
	return delivered{attempts.Delivery{State: attempts.DeliveryState(row.Delivery), Branch: row.DeliveryBranch, Commit: row.DeliveryCommit,
		Detail: row.DeliveryDetail, At: row.DeliveryAt}, row.Factory}, nil
}

// refusal returns the reason that the origin did not take the branch, nil where it did.
func (d delivered) refusal() *Reason {
	if d.State != attempts.Refused {
		return nil
	}
	return &Reason{Code: CodeDeliveryRefused, Since: d.At, Text: d.Detail, Factories: []string{d.factory}, Delivery: d.Delivery}
}

// mergeReason reads who merges an approved job, how, and why the last merge failed or the
// next one waits.
func (r *reader) mergeReason(j jobs.Job, told delivered) (*Reason, error) {
	row, err := q.JobMergeWaits(r.ctx, r.tx, r.workspace, j.ID)
	if err != nil {
		return nil, err
	}
	why := &Reason{Code: CodeMergeWaits, Since: &j.StatusAt, Text: cmp.Or(row.LastError, j.LastError),
		Merge: Way{Who: row.MergeBy, How: row.Method, Into: row.IntoBranch}}
	switch {
	case row.MergeKey != "":
		why.Keys = []string{row.MergeKey}
		if row.Agent != "" {
			why.By, why.Factories = tenancy.Actor{Kind: tenancy.KindAgent, Name: row.Agent}, []string{row.Factory}
		}
	case row.MergeBy != jobs.MergeByPerson && j.ApprovedHead == "":
		why.Merge.How = MergeOfNothing
	case row.MergeBy == jobs.MergeByPerson || j.Repo == "":
		why.Merge = Way{Who: jobs.MergeByPerson, How: MergeByHand}
	case told.IsMissing(j.ApprovedHead):
		why.Delivery, why.Factories = told.Delivery, []string{told.factory}
	}
	if why.Merge.Who == jobs.MergeByPullRequest && why.Merge.How != MergeOfNothing {
		why.Merge.How = jobs.MergeByPullRequest
	}
	return why, nil
}

// jobsOnSeats reads the keys of jobs that sit on seats of the factories.
func (r *reader) jobsOnSeats(factories []ids.ID) ([]string, error) {
	return q.BoardSeatHolders(r.ctx, r.tx, factories, r.workspace, namedHolders)
}

// readSeat returns the request for a seat that a job is to give, or to get; nil where none stands.
func readSeat(r *reader, j jobs.Job) (*Reason, error) {
	rows, err := q.PreemptionOfJob(r.ctx, r.tx, r.workspace, j.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	row := rows[0]
	why := &Reason{Code: CodePreemptPending, Keys: []string{row.Job}, Since: &row.AskedAt, Until: &row.ExpiresAt}
	if row.Job == j.Key {
		why.Code, why.Keys = CodeAwaitsSeat, []string{row.Victim}
		why.By, why.Factories = tenancy.Actor{Kind: tenancy.KindAgent, Name: row.Agent}, []string{row.Factory}
	}
	return why, nil
}
