package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// insertJobsTx writes new jobs with their events, and gives the time of it.
func insertJobsTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []Job) (time.Time, error) {
	p := dbsqlc.JobInsertParams{WorkspaceID: who.Workspace, CreatedBy: who.Name, ActorKind: string(who.Kind), ActorID: who.Actor().ID}
	for _, j := range list {
		addState(&p, j)
		if err := addText(&p, j); err != nil {
			return time.Time{}, err
		}
	}
	return q.JobInsert(ctx, tx, p)
}

// addState adds what stands in the job's own row. Ranges were checked by validate.
func addState(p *dbsqlc.JobInsertParams, j Job) {
	p.Ids, p.ProductIds = append(p.Ids, j.ID.String()), append(p.ProductIds, j.ProductID.String())
	p.Keys, p.Titles, p.Kinds = append(p.Keys, j.Key), append(p.Titles, j.Title), append(p.Kinds, j.Kind)
	p.Repos, p.Phases = append(p.Repos, j.Repo), append(p.Phases, j.Phase)
	p.Priorities = append(p.Priorities, j.Priority)
	p.Capabilities, p.Factories = append(p.Capabilities, literal(j.Capabilities)), append(p.Factories, j.Factory)
	p.LaneIds, p.Tags = append(p.LaneIds, j.LaneID), append(p.Tags, literal(j.Tags))
	p.Files = append(p.Files, literal(j.Files))
	p.Statuses, p.WaitReasons = append(p.Statuses, string(j.Status)), append(p.WaitReasons, string(j.WaitReason))
	p.BlockedReasons = append(p.BlockedReasons, j.BlockedReason)
	p.MaxRetries = append(p.MaxRetries, j.MaxRetries)
	p.MaxLost = append(p.MaxLost, j.MaxLost)
	p.RetryBackoffSeconds = append(p.RetryBackoffSeconds, j.RetryBackoffSeconds)
	p.ReviewRequired = append(p.ReviewRequired, optionalText(j.ReviewOverride, strconv.FormatBool))
	p.EstimatedComplexity = append(p.EstimatedComplexity, j.EstimatedComplexity)
	p.EstimatedMinutes = append(p.EstimatedMinutes, orDefault(j.EstimatedMinutes, 0))
	p.TokenBudgets = append(p.TokenBudgets, orDefault(j.TokenBudget, 0))
	p.BudgetNanos, p.Tiers = append(p.BudgetNanos, orDefault(j.BudgetNanos, 0)), append(p.Tiers, string(j.Tier))
	p.Complexities = append(p.Complexities, orDefault(j.Complexity, 0))
	p.NotBefore = append(p.NotBefore, optionalText(j.NotBefore, func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }))
	p.IdempotencyKeys = append(p.IdempotencyKeys, j.IdempotencyKey)
	p.WaitsForChildren = append(p.WaitsForChildren, j.WaitsForChildren)
}

// addText adds what people wrote at length, and the event.
func addText(p *dbsqlc.JobInsertParams, j Job) error {
	acceptance, err := json.Marshal(j.Acceptance)
	if err != nil {
		return fmt.Errorf("encode acceptance: %w", err)
	}
	stored, err := eventlog.Encode(j.beginning(), map[string]any{"title": j.Title})
	if err != nil {
		return err
	}
	p.Bodies, p.Acceptances = append(p.Bodies, j.Body), append(p.Acceptances, string(acceptance))
	p.InputContexts, p.SecretKeys = append(p.InputContexts, string(j.InputContext)), append(p.SecretKeys, literal(j.SecretKeys))
	p.Changes, p.Payloads = append(p.Changes, string(stored.Changes)), append(p.Payloads, string(stored.Payload))
	for _, c := range stored.Contents {
		p.ContentJobs = append(p.ContentJobs, j.ID.String())
		p.ContentSums, p.ContentBodies = append(p.ContentSums, c.SHA256), append(p.ContentBodies, c.Body)
	}
	return nil
}

func optionalText[T any](v *T, text func(T) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

// literalEscape escapes what ends an entry of an array literal.
var literalEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// literal returns a list as PostgreSQL reads a text[].
func literal(list []string) string {
	if len(list) == 0 {
		return "{}"
	}
	var b strings.Builder
	for i, entry := range list {
		b.WriteString([]string{`{"`, `","`}[min(i, 1)])
		b.WriteString(literalEscape.Replace(entry))
	}
	b.WriteString(`"}`)
	return b.String()
}

// insertRequestsTx keeps the digests of the requests that made jobs with idempotency keys.
func insertRequestsTx(ctx context.Context, tx db.Tx, workspace ids.ID, digests map[ids.ID][]byte) error {
	if len(digests) == 0 {
		return nil
	}
	var (
		in    []ids.ID
		asked [][]byte
	)
	for job, digest := range digests {
		in, asked = append(in, job), append(asked, digest)
	}
	return q.JobRequestInsert(ctx, tx, workspace, in, asked)
}

// madeWithKeyTx gives the job that was made with an idempotency key, if any.
func madeWithKeyTx(ctx context.Context, tx db.Tx, workspace ids.ID, key string) ([]ids.ID, error) {
	return q.JobByIdempotencyKey(ctx, tx, workspace, &key)
}

func insertDependenciesTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []link) error {
	if len(list) == 0 {
		return nil
	}
	var from, to []ids.ID
	for _, l := range list {
		from, to = append(from, l.job), append(to, l.dependsOn)
	}
	return q.JobDependencyInsert(ctx, tx, who.Workspace, from, to, who.Name)
}

// lockDependenciesTx keeps jobs from being completed until the transaction ends, and gives
// those that new jobs have to wait for.
func lockDependenciesTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) (open []ids.ID, err error) {
	if err := q.JobKeepUncompleted(ctx, tx, workspace, list); err != nil {
		return nil, err
	}
	// A second statement: the first one's snapshot is from before the wait.
	return q.JobDependencyOpenAmong(ctx, tx, workspace, list)
}

// takeNumbersTx takes the next n numbers of a workspace's keys.
func takeNumbersTx(ctx context.Context, tx db.Tx, workspace ids.ID, n int) (prefix string, first int64, err error) {
	row, err := q.JobKeysTake(ctx, tx, int64(n), workspace)
	if err != nil {
		return "", 0, err
	}
	return row.Prefix, row.First, nil
}

// ensureLaneTx gives the lane of the needs, made where it is new.
func ensureLaneTx(ctx context.Context, tx db.Tx, workspace ids.ID, n Needs) (int64, error) {
	lane, err := makeLaneTx(ctx, tx, workspace, n)
	if err != nil || lane != 0 {
		return lane, err
	}
	return q.LaneByDigest(ctx, tx, workspace, n.digest())
}

// makeLaneTx is ensureLaneTx in one statement: it gives 0 where another transaction made
// the lane while this one waited for it.
func makeLaneTx(ctx context.Context, tx db.Tx, workspace ids.ID, n Needs) (int64, error) {
	lane, err := q.LaneIntern(ctx, tx, dbsqlc.LaneInternParams{
		WorkspaceID: workspace, ProductID: n.Product, Needs: n.Tokens(), Factory: n.Factory, Digest: n.digest()})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("ensure lane: %w", err)
	}
	return lane, nil
}

// laneTx finds the lane of these needs, which is there.
func laneTx(ctx context.Context, tx db.Tx, workspace ids.ID, n Needs) (int64, error) {
	return q.LaneByDigest(ctx, tx, workspace, n.digest())
}
