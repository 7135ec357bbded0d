package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// Job is a job on the wire: what the domain has of it, and what some answers add.
type Job struct {
	jobs.Job
	BudgetUSD             *string           `json:"budget_usd"`
	Budget                *ClaimedBudget    `json:"budget,omitempty"`
	FeedbackComments      []FeedbackComment `json:"feedback_comments,omitempty"`
	EstimatedUSD          *string           `json:"estimated_usd,omitempty"`
	Models                *tiermodel.Table  `json:"models,omitempty"`
	Next                  *Next             `json:"next,omitempty"`
	Order                 *Order            `json:"order,omitempty"`
	ProofCommand          string            `json:"proof_command,omitempty"`
	Routability           *Routability      `json:"routability,omitempty"`
	Routable              *bool             `json:"routable,omitempty"`
	SpentSinceProgressUSD *string           `json:"spent_since_progress_usd,omitempty"`
	SpentUSD              *string           `json:"spent_usd,omitempty"`
	TierWhy               *string           `json:"tier_why,omitempty"`
	Traceparent           string            `json:"traceparent,omitempty"`
	Usage                 *Usage            `json:"usage,omitempty"`
	UsageResults          *UsageResults     `json:"usage_results,omitempty"`
	VerifyUSD             *string           `json:"verify_usd,omitempty"`
}

// Attempt is an attempt on the wire.
type Attempt struct {
	attempts.Attempt
	Job      string    `json:"job"`
	Delivery *Delivery `json:"delivery"`
	Usage    Usage     `json:"usage"`
}

type (
	// CoordinatorLogLine is a line of the coordinator's log.
	CoordinatorLogLine = coordinator.LogLine
	// Delivery is what became of an attempt's commit.
	Delivery = attempts.Delivery
	// EndedBranch is a branch whose job ended long enough ago.
	EndedBranch = jobs.EndedBranch
	// Export is a reader of messages or events with a place of its own.
	Export = bus.Export
	// LogLine is a line of a job's log.
	LogLine = joblog.Line
)

// part is a part of a list.
type part[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"`
}

// whole is a whole list.
type whole[T any] struct {
	Items []T `json:"items"`
}

type (
	// AttemptPage is a page of attempts.
	AttemptPage = part[Attempt]
	// CoordinatorLogPage is a page of the coordinator's log.
	CoordinatorLogPage = part[CoordinatorLogLine]
	// EndedBranches are the branches that may be removed.
	EndedBranches = whole[EndedBranch]
	// ExportList is the exports of a workspace.
	ExportList = whole[Export]
	// FoundJobs are the jobs that a search found.
	FoundJobs = whole[FoundJob]
	// JobPage is a page of jobs.
	JobPage = part[Job]
	// LogPage is a page of a job's log.
	LogPage = part[LogLine]
	// Order is what the worker is to do with a job that it claimed.
	Order struct {
		Merge  *lease.MergeOrder  `json:"merge,omitempty"`
		Verify *lease.VerifyOrder `json:"verify,omitempty"`
	}
	// FoundInLog is where in its log a job was found.
	FoundInLog struct {
		Epoch int64    `json:"epoch"`
		Line  *LogLine `json:"line,omitempty"`
	}
	// ListedJobs is a page of jobs; parts of them are a jobFieldsPage.
	ListedJobs = JobPage
	// CreatedJobs are the jobs of a batch.
	CreatedJobs struct {
		Jobs []Job `json:"jobs"`
	}
	// Claimed is what a claim gave.
	Claimed struct {
		Jobs         []Job   `json:"jobs"`
		Offers       []Offer `json:"offers,omitempty"`
		QueueVersion string  `json:"queue_version"`
	}
	// Next is what a call that ended a lease gave for the seat.
	Next struct {
		Claimed
		Reason *NextReason `json:"reason,omitempty"`
	}
	// FoundJob is a job that a search found.
	FoundJob struct {
		Job     Job         `json:"job"`
		Log     *FoundInLog `json:"log,omitempty"`
		Passage string      `json:"passage"`
	}
)

// NewJob is a new job on the wire.
type NewJob struct {
	jobs.New
	BudgetUSD      *string    `json:"budget_usd"`
	DiscoveredFrom *Discovery `json:"discovered_from"`
}

// NewJobs are new jobs on the wire.
type NewJobs struct {
	Jobs []NewJob `json:"jobs"`
}

type (
	// CreateJobJSONRequestBody is what the generated code reads to create a job.
	CreateJobJSONRequestBody = NewJob
	// CreateJobsJSONRequestBody is what it reads to create several.
	CreateJobsJSONRequestBody = NewJobs
	// PatchJobJSONRequestBody is what it reads to edit a job.
	PatchJobJSONRequestBody = JobPatch
)

func jobModel(j jobs.Job) Job {
	for _, l := range []*[]string{&j.Capabilities, &j.DependsOn, &j.Tags, &j.Files, &j.Acceptance, &j.SecretKeys, &j.FilesTouched} {
		*l = list(*l)
	}
	j.AcceptanceMet, j.InputContext = list(j.AcceptanceMet), object(j.InputContext)
	return Job{Job: j, BudgetUSD: dollars(j.BudgetNanos)}
}

// claimedModel returns a job as the agent reads it that has just got its lease: with
// the values of its secrets, the size of model that it is worth, and its product's models.
func claimedModel(j jobs.Job) (Job, error) {
	model := jobModel(j)
	tier, why := estimates.ChooseTier(screens.EstimateAsk(j))
	model.Tier, model.TierWhy = jobs.Tier(tier), &why
	models := j.ProductModels.Clone()
	model.Models = &models
	input, err := j.RevealedInput()
	model.InputContext = object(input)
	return model, err
}

// dollars returns an amount as the API gives it; nil is none.
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

func newJob(in NewJob) jobs.New {
	in.BudgetNanos = nanos(in.BudgetUSD)
	return in.New
}

// nullFields returns the members of a body that are null: the fields that an edit clears.
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

// JobPatch is an edit of a job on the wire. What is null is cleared.
type JobPatch struct{ jobs.Patch }

// UnmarshalJSON reads an edit that its schema allows.
func (p *JobPatch) UnmarshalJSON(body []byte) error {
	var members map[string]json.RawMessage
	if err := cmp.Or(json.Unmarshal(body, &members), json.Unmarshal(members["version"], &p.Version)); err != nil {
		return fmt.Errorf("decode edit: %w", err)
	}
	for _, f := range jobs.Fields {
		value, given := members[f.Name]
		if !given {
			continue
		}
		p.Set = append(p.Set, f.Name)
		if string(value) == "null" {
			f.Clear(&p.Spec)
			continue
		}
		into, amount := f.In(&p.Spec), new(string)
		if f.Name == "budget_usd" {
			into = amount
		}
		if err := json.Unmarshal(value, into); err != nil {
			return fmt.Errorf("decode %s: %w", f.Name, err)
		}
		if into == any(amount) {
			p.BudgetNanos = nanos(amount)
		}
	}
	return nil
}

func jobFilter(in ListJobsParams) jobs.Filter {
	f := jobs.Filter{
		Keys: value(in.Key), Product: value(in.Product), Repo: value(in.Repo), Phase: value(in.Phase), Tag: value(in.Tag),
		FailureKind: string(value(in.FailureKind)), WaitReason: string(value(in.WaitReason)),
		Verdict: string(value(in.Verdict)), RoundGTE: value(in.RoundGTE),
		Factory: value(in.Factory), Agent: value(in.Agent), PriorityGTE: in.PriorityGTE, ReadyOnly: value(in.ReadyOnly),
		Query: value(in.Q), UpdatedSince: in.UpdatedSince, Sort: jobs.Sort(value(in.Sort)),
		Cursor: value(in.Cursor), Limit: limit(in.Limit),
	}
	for _, status := range value(in.Status) {
		f.Statuses = append(f.Statuses, jobs.Status(status))
	}
	return f
}

// attemptModel returns an attempt on the job with that key.
func attemptModel(key string, a attempts.Attempt, used spend.Usage) Attempt {
	return Attempt{Attempt: a, Job: key, Usage: usageModel(used), Delivery: deliveryModel(a.Delivery)}
}

// eventModel returns an event of the job with that key.
func eventModel(e eventlog.Event, key string) Event {
	changes := make([]Change, 0, len(e.Changes))
	for _, c := range e.Changes {
		changes = append(changes, Change{Field: c.Field, Old: c.Old, New: c.New, OldSha256: nilIfZero(c.OldSHA256),
			NewSha256: nilIfZero(c.NewSHA256)})
	}
	return Event{ID: e.ID, Cursor: e.Cursor.String(), Type: string(e.Type), Job: key, Actor: e.Actor.Name, ActorKind: string(e.Actor.Kind),
		ActorID: e.Actor.ID, Epoch: e.Epoch, At: e.At.UTC(), Changes: changes, Payload: object(e.Payload)}
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

// value returns what a pointer points to, else the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// nilIfZero returns a pointer to a text or a number, nil where it is empty or 0.
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

// object returns a free object, {} where there is none.
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
