package api

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
)

func jobModel(j jobs.Job) Job {
	return Job{
		ID: j.ID, Key: j.Key, Title: j.Title, Body: j.Body, Kind: j.Kind, Product: j.Product, Repo: j.Repo, Phase: j.Phase,
		Priority: j.Priority, Status: JobStatus(j.Status), WaitReason: WaitReason(j.WaitReason),
		BlockedReason: j.BlockedReason, Question: j.Question, Answer: j.Answer, Capabilities: list(j.Capabilities), Factory: j.Factory,
		DependsOn: list(j.DependsOn), Tags: list(j.Tags), Files: list(j.Files),
		Acceptance: list(j.Acceptance), InputContext: object(j.InputContext), SecretKeys: list(j.SecretKeys),
		AcceptanceMet: list(j.AcceptanceMet), WaitsForChildren: j.WaitsForChildren,
		ProgressPercent: j.ProgressPercent, CurrentStep: j.CurrentStep, EstimatedComplexity: j.EstimatedComplexity,
		EstimatedMinutes: j.EstimatedMinutes, TokenBudget: j.TokenBudget, ReviewRequired: j.ReviewRequired,
		BudgetUSD: dollars(j.BudgetNanos), Complexity: j.Complexity, Tier: Tier(j.Tier),
		MaxRetries: j.MaxRetries, MaxLost: j.MaxLost, RetryBackoffSeconds: j.RetryBackoffSeconds,
		FailureCount: j.FailureCount, LostCount: j.LostCount, Attempts: j.Attempts, LastError: j.LastError,
		Feedback: j.Feedback, Lease: leaseModel(j.Lease), Checkpoint: j.Checkpoint, Result: j.Result,
		FailureKind: FailureKind(j.FailureKind), FilesTouched: list(j.FilesTouched), ApprovedHead: j.ApprovedHead,
		MergedCommit: j.MergedCommit, URL: j.URL,
		NotBefore: utcOrNil(j.NotBefore), IdempotencyKey: j.IdempotencyKey, Version: j.Version, CreatedBy: j.CreatedBy,
		CreatedAt: j.CreatedAt.UTC(), UpdatedAt: j.UpdatedAt.UTC(), ReadyAt: utcOrNil(j.ReadyAt),
		AssignedAt: utcOrNil(j.AssignedAt), StartedAt: utcOrNil(j.StartedAt), CompletedAt: utcOrNil(j.CompletedAt),
		FailedAt: utcOrNil(j.FailedAt),
	}
}

// claimedModel is a job as the agent reads it that has just got its lease: with
// the values of its secrets, and the size of model that it is worth.
func claimedModel(j jobs.Job) (Job, error) {
	model := jobModel(j)
	tier, why := estimates.ChooseTier(screens.EstimateAsk(j))
	model.Tier, model.TierWhy = Tier(tier), &why
	input, err := j.RevealedInput()
	model.InputContext = object(input)
	return model, err
}

// dollars are an amount as the API gives it; nil is none.
func dollars(n *int64) *string {
	if n == nil {
		return nil
	}
	text := spend.Nanos(*n).Fixed()
	return &text
}

// nanos read an amount of dollars. What is none is the greatest number, which the domain
// refuses in its own words.
func nanos(text *string) *int64 {
	if text == nil {
		return nil
	}
	n, err := spend.ParseAmount("budget_usd", *text, spend.MaxAmount)
	if err != nil {
		n = math.MaxInt64
	}
	amount := int64(n)
	return &amount
}

func leaseModel(l *jobs.Lease) *Lease {
	if l == nil {
		return nil
	}
	return &Lease{Agent: l.Agent, Factory: l.Factory, Epoch: l.Epoch, SessionKey: l.SessionKey,
		ClaimedAt: l.ClaimedAt.UTC(), ExpiresAt: l.ExpiresAt.UTC(), TTLSeconds: l.TTLSeconds,
		Directive: LeaseDirective(l.Directive), DirectiveReason: l.DirectiveReason}
}

func newJob(in NewJob) jobs.New {
	return jobs.New{
		Key: value(in.Key), Spec: jobs.Spec{Title: in.Title, Body: value(in.Body),
			Repo: value(in.Repo), Phase: value(in.Phase), Capabilities: value(in.Capabilities),
			Factory: value(in.Factory), DependsOn: value(in.DependsOn), Tags: value(in.Tags), Files: value(in.Files),
			Acceptance:          value(in.Acceptance),
			EstimatedComplexity: value(in.EstimatedComplexity),
			EstimatedMinutes:    in.EstimatedMinutes, TokenBudget: in.TokenBudget, ReviewOverride: in.ReviewRequired,
			BudgetNanos: nanos(in.BudgetUSD), Complexity: in.Complexity, Tier: jobs.Tier(value(in.Tier)),
			NotBefore:        in.NotBefore,
			WaitsForChildren: value(in.WaitsForChildren),
		}, Kind: value(in.Kind), Product: value(in.Product), Priority: in.Priority, InputContext: in.InputContext,
		SecretKeys: value(in.SecretKeys),
		MaxRetries: in.MaxRetries, MaxLost: in.MaxLost, RetryBackoffSeconds: in.RetryBackoffSeconds,
		IdempotencyKey: value(in.IdempotencyKey), BlockedReason: value(in.BlockedReason),
	}
}

// nullFields are the members of a body that are null: the fields that an edit clears.
func nullFields(body []byte) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil // what is no object was refused
	}
	var nulls []string
	for name, value := range members {
		if string(value) == "null" {
			nulls = append(nulls, name)
		}
	}
	return nulls
}

// jobPatch reads an edit that was checked by its schema. What is null is cleared.
func jobPatch(body []byte) (jobs.Patch, error) {
	var members map[string]json.RawMessage
	p := jobs.Patch{}
	if err := json.Unmarshal(body, &members); err != nil {
		return p, fmt.Errorf("decode edit: %w", err)
	}
	if err := json.Unmarshal(members["version"], &p.Version); err != nil {
		return p, fmt.Errorf("decode version: %w", err)
	}
	for _, f := range jobs.Fields {
		value, given := members[f.Name]
		if !given {
			continue
		}
		p.Set = append(p.Set, f.Name)
		switch {
		case string(value) == "null":
			f.Clear(&p.Spec)
		case f.Name == "budget_usd":
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return p, fmt.Errorf("decode %s: %w", f.Name, err)
			}
			p.BudgetNanos = nanos(&text)
		default:
			if err := json.Unmarshal(value, f.In(&p.Spec)); err != nil {
				return p, fmt.Errorf("decode %s: %w", f.Name, err)
			}
		}
	}
	return p, nil
}

func jobFilter(in ListJobsParams) jobs.Filter {
	f := jobs.Filter{
		Keys: value(in.Key), Product: value(in.Product), Repo: value(in.Repo), Phase: value(in.Phase), Tag: value(in.Tag),
		FailureKind: string(value(in.FailureKind)), WaitReason: string(value(in.WaitReason)),
		Factory: value(in.Factory), Agent: value(in.Agent), PriorityGTE: in.PriorityGTE, ReadyOnly: value(in.ReadyOnly),
		Query: value(in.Q), UpdatedSince: in.UpdatedSince, Sort: jobs.Sort(value(in.Sort)),
		Cursor: value(in.Cursor), Limit: limit(in.Limit),
	}
	for _, status := range value(in.Status) {
		f.Statuses = append(f.Statuses, jobs.Status(status))
	}
	return f
}

// attemptModel is an attempt on the job with that key.
func attemptModel(key string, a attempts.Attempt, used spend.Usage) Attempt {
	return Attempt{
		Job: key, Epoch: a.Epoch, Agent: a.Agent, Factory: a.Factory, Model: a.Model, SessionKey: a.SessionKey,
		ClaimedAt: a.ClaimedAt.UTC(), StartedAt: utcOrNil(a.StartedAt), EndedAt: utcOrNil(a.EndedAt), Outcome: AttemptOutcome(a.Outcome),
		Error: a.Error, ErrorKind: a.ErrorKind, ProgressPercent: a.ProgressPercent, CurrentStep: a.CurrentStep,
		Checkpoint: a.Checkpoint, Result: a.Result, Usage: usageModel(used), Delivery: deliveryModel(a.Delivery),
	}
}

// eventModel is an event of the job with that key.
func eventModel(e eventlog.Event, key string) Event {
	changes := make([]Change, 0, len(e.Changes))
	for _, c := range e.Changes {
		changes = append(changes, Change{Field: c.Field, Old: c.Old, New: c.New, OldSha256: nilIfZero(c.OldSHA256),
			NewSha256: nilIfZero(c.NewSHA256)})
	}
	return Event{ID: e.ID, Cursor: e.Cursor.String(), Type: string(e.Type), Job: key, Actor: e.Actor.Name, ActorKind: string(e.Actor.Kind),
		ActorID: e.Actor.ID, Epoch: e.Epoch, At: e.At.UTC(), Changes: changes, Payload: object(e.Payload)}
}

func productModel(p jobs.Product) Product {
	return Product{Name: p.Name, Repos: list(p.Repos), ReviewRequired: p.ReviewRequired, OneJobPerRepo: p.OneJobPerRepo,
		ReviewLimit: p.ReviewLimit, Paused: p.Paused, MergeBy: MergeBy(p.Merge.By), MergeMethod: MergeMethod(p.Merge.Method),
		MergeInto: p.Merge.Into, MergeChecks: p.Merge.Checks, BranchRetentionDays: p.BranchRetention}
}

func statsModel(in jobs.Stats) Stats {
	out := Stats{ByStatus: counts(in.ByStatus), ExpiredLeases: in.ExpiredLeases, Products: []ProductStats{}}
	if in.OldestReadyAge != nil {
		seconds := int64(in.OldestReadyAge.Seconds())
		out.OldestReadyAgeSeconds = &seconds
	}
	for _, p := range in.Products {
		out.Products = append(out.Products, ProductStats{Product: p.Product, ByStatus: counts(p.ByStatus)})
	}
	return out
}

// counts names every status, also those without a job.
func counts(by map[jobs.Status]int) CountsByStatus {
	all := CountsByStatus{}
	for _, status := range jobs.Statuses {
		all[string(status)] = by[status]
	}
	return all
}

func toNeeds(j jobs.Job) fleet.Needs {
	return fleet.Needs{Repo: j.Repo, Capabilities: j.Capabilities, Factory: j.Factory}
}

// value is what a pointer points to, else the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// nilIfZero is a pointer to a text or a number, nil where it is empty or 0.
func nilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// list is never nil, so that JSON shows [] and not null.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// object is a free object, {} where there is none.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

func utcOrNil(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}
