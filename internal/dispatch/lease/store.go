package lease

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// AttemptTx reads how the attempt of a lease ended; the zero value where there was
// none.
func AttemptTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, epoch int64) (Attempt, error) {
	row, err := q.AttemptEnd(ctx, tx, workspace, job, epoch)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Attempt{}, fmt.Errorf("read attempt: %w", err)
	}
	return Attempt{agent: row.Agent, outcome: row.Outcome, digest: row.EndDigest}, nil
}

func closeAttempt(ctx context.Context, tx db.Tx, workspace ids.ID, of spend.Lease, e AttemptEnd) error {
	return q.AttemptClose(ctx, tx, dbsqlc.AttemptCloseParams{WorkspaceID: workspace, JobID: of.Job, Epoch: of.Epoch, Outcome: e.Outcome,
		Error: e.Error})
}

// endLeases closes the leases and their attempts, and returns what was reported under
// each by its job.
func endLeases(ctx context.Context, tx db.Tx, workspace ids.ID, list []End) (map[ids.ID]progress, error) {
	type row struct {
		JobID     ids.ID          `json:"job_id"`
		Epoch     int64           `json:"epoch"`
		Outcome   string          `json:"outcome"`
		Error     string          `json:"error"`
		ErrorKind string          `json:"error_kind"`
		Result    json.RawMessage `json:"result"`
		EndDigest *string         `json:"end_digest"`
		Wrong     string          `json:"wrong"`
		Follows   bool            `json:"delivery_follows,omitempty"`
	}
	rows, in := make([]row, 0, len(list)), make([]ids.ID, 0, len(list))
	for _, e := range list {
		one := row{JobID: e.Before.ID, Epoch: e.Before.Epoch, Outcome: e.Outcome, Error: e.Error, ErrorKind: e.Kind, Result: e.Result,
			Wrong: e.logMessage(), Follows: e.DeliveryFollows}
		if e.Digest != nil {
			digest := hex.EncodeToString(e.Digest)
			one.EndDigest = &digest
		}
		rows, in = append(rows, one), append(in, one.JobID)
	}
	endings, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode ends of leases: %w", err)
	}
	ended, err := q.LeasesEnd(ctx, tx, endings, workspace, in)
	if err != nil {
		return nil, err
	}
	reported := make(map[ids.ID]progress, len(ended))
	for _, e := range ended {
		reported[e.JobID] = progress{percent: e.ProgressPercent, step: e.CurrentStep, checkpoint: e.Checkpoint, touches: e.Touches}
	}
	return reported, nil
}

// leasedJobs returns the jobs that an agent holds, in the order in which all lock.
func leasedJobs(ctx context.Context, tx db.Tx, workspace, agent ids.ID) ([]ids.ID, error) {
	return q.LeaseJobsOfAgent(ctx, tx, workspace, agent)
}

// writeDirective writes a directive of a person, or of a loop, on a job's lease.
func writeDirective(ctx context.Context, tx db.Tx, who tenancy.Principal, job ids.ID, directive, reason string) error {
	by := who.Actor()
	_, err := q.LeaseDirect(ctx, tx, dbsqlc.LeaseDirectParams{WorkspaceID: who.Workspace, JobID: job,
		Directive: directive, Reason: reason, Actor: by.Name, ActorKind: string(by.Kind), ActorID: by.ID, GraceSeconds: GraceSeconds})
	if err != nil {
		return err
	}
	return nil
}

// readAgents counts calls as signs of life of their agents, and reads those.
func readAgents(ctx context.Context, tx db.Tx, workspace ids.ID, callers []tenancy.Principal) (Agents, error) {
	var (
		list        []ids.ID
		boots       []string
		generations []int64
	)
	for _, who := range callers {
		list, boots, generations = append(list, who.Agent), append(boots, who.Boot), append(generations, who.Generation)
	}
	rows, err := q.AgentsTouch(ctx, tx, list, boots, generations, workspace)
	if err != nil {
		return nil, err
	}
	agents := make(Agents, len(rows))
	for _, row := range rows {
		agents[row.ID] = Agent{Draining: row.Draining, boot: row.BootID, generation: row.Generation}
	}
	return agents, nil
}

// OwnUse is what a job has used beside its own ceilings, which are nil where it has none.
type OwnUse struct {
	Key         string
	TokenBudget *int64
	Budget      *spend.Nanos
	Tokens      int64
	Cost        spend.Nanos

	overTokens, overMoney bool
}

// OwnUseTx reads what a job has used, and whether that is more than its own ceilings.
func OwnUseTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (OwnUse, error) {
	row, err := q.UsageAgainstBudget(ctx, tx, workspace, job)
	if err != nil {
		return OwnUse{}, err
	}
	return OwnUse{Key: row.Key, TokenBudget: row.TokenBudget, Budget: (*spend.Nanos)(row.BudgetNanos), Tokens: row.Used,
		Cost: spend.Nanos(row.ChargedNanos), overTokens: row.IsOverTokens, overMoney: row.IsOverMoney}, nil
}

// warnForBudget warns the holder of a lease that a budget is nearly used up, and reports
// whether it did: not where it has a directive already, or the lease has ended.
func warnForBudget(ctx context.Context, tx db.Tx, workspace ids.ID, of spend.Lease, reason string) (bool, error) {
	n, err := q.LeaseWarnForBudget(ctx, tx, reason, workspace, of.Job, of.Epoch)
	if err != nil {
		return false, err
	}
	return n > 0, nil
}

// unwarnForBudgets takes back what budgets have warned the holders of jobs of.
func unwarnForBudgets(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) error {
	if len(list) == 0 {
		return nil
	}
	return q.LeasesUnwarnForBudget(ctx, tx, workspace, list)
}

// dependents returns the jobs that wait for one by links of these types.
func dependents(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job, types ...jobs.LinkType) ([]ids.ID, error) {
	var links []string
	for _, t := range types {
		links = append(links, string(t))
	}
	waiting, err := q.JobDependents(ctx, tx, workspace, job.ID, links, maxPromoted)
	if err != nil {
		return nil, fmt.Errorf("dependents of %s: %w", job.Key, err)
	}
	return waiting, nil
}

// readyParents returns the ready jobs that are to wait for a child.
func readyParents(ctx context.Context, tx db.Tx, workspace ids.ID, child jobs.Job) ([]ids.ID, error) {
	parents, err := q.JobReadyParents(ctx, tx, workspace, child.ID)
	if err != nil {
		return nil, fmt.Errorf("parents of %s: %w", child.Key, err)
	}
	return parents, nil
}

// releasedDependents are jobs that are to wait for another one and are ready, or were
// claimed since a time.
func releasedDependents(ctx context.Context, tx db.Tx, workspace ids.ID, job jobs.Job, since time.Time) ([]ids.ID, error) {
	list, err := q.JobReleasedDependents(ctx, tx, workspace, job.ID, since)
	if err != nil {
		return nil, fmt.Errorf("released dependents of %s: %w", job.Key, err)
	}
	return list, nil
}

// independent are jobs that wait for others all of which are completed.
func independent(ctx context.Context, tx db.Tx, workspace ids.ID) ([]ids.ID, error) {
	return q.JobDependencyFreed(ctx, tx, workspace, MaxSwept)
}
