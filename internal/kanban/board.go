package kanban

import (
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
)

// Column is a column of the board.
type Column string

// The columns, from left to right.
const (
	Waiting Column = "waiting"
	Ready   Column = "ready"
	Running Column = "running"
	Review  Column = "review"
	Done    Column = "done"
	Failed  Column = "failed"
)

// Columns lists them in order.
var Columns = []Column{Waiting, Ready, Running, Review, Done, Failed}

var statuses = map[Column][]jobs.Status{
	Waiting: {jobs.Blocked, jobs.Waiting, jobs.Paused},
	Ready:   {jobs.Ready},
	Running: {jobs.Running, jobs.Assigned},
	Review:  {jobs.InReview, jobs.Approved},
	Done:    {jobs.Completed},
	Failed:  {jobs.Failed, jobs.Aborted},
}

// ColumnOf is the column that a status is shown in, "" for archived jobs.
func ColumnOf(status jobs.Status) Column {
	for column, list := range statuses {
		for _, s := range list {
			if s == status {
				return column
			}
		}
	}
	return ""
}

// Limits of the board.
const (
	pageSize = 50
	// countCap is where counting a status ends: the board says "1,000+".
	countCap = 1000
	// DoneDays is how far back the column Done goes.
	DoneDays = 7
)

// Filter narrows the board. Zero fields narrow nothing.
type Filter struct {
	Product, Repo, Factory, Phase string
	Query                         string // part of key or title
	PriorityGTE                   *int
	Unroutable                    bool // only ready jobs that no live factory can run
}

// Open reports whether the filter narrows nothing.
func (f Filter) Open() bool { return f == Filter{} }

// Board is the whole board at one moment.
type Board struct {
	Surroundings

	Columns         []ColumnPage
	Unroutable      []Card // the first ready jobs that no live factory can run
	UnroutableCount int    // at most pageSize; more are not counted
	Total           int
	TotalCapped     bool
}

// Surroundings are what a page other than the board shows of its workspace.
type Surroundings struct {
	Cursor   string // the place in the log from which on the page is to be kept up to date
	Fleet    fleet.Snapshot
	Products []string
	Repos    []string
	Phases   []string
}

// ColumnPage is a page of one column.
type ColumnPage struct {
	Column Column
	Cards  []Card
	Count  int
	Capped bool   // there are more than Count
	Next   string // cursor of the next page, "" after the last one
}

// Card is a job as the board shows it.
type Card struct {
	Job   jobs.Job
	Why   Reason // zero for running and finished jobs
	Moves []Move
}

// Move is what dragging a card to a column means for it now.
type Move struct {
	To   Column
	Verb jobs.Trigger
}

// moves are the triggers that need nothing but the will, by status.
var moves = map[jobs.Status][]Move{
	jobs.Waiting:   {{Failed, jobs.ByCancel}},
	jobs.Blocked:   {{Ready, jobs.ByUnblock}, {Failed, jobs.ByCancel}},
	jobs.Paused:    {{Ready, jobs.ByResume}, {Failed, jobs.ByCancel}},
	jobs.Ready:     {{Waiting, jobs.ByPause}, {Failed, jobs.ByCancel}},
	jobs.Assigned:  {{Waiting, jobs.ByPause}, {Ready, jobs.ByRelease}, {Failed, jobs.ByCancel}},
	jobs.Running:   {{Waiting, jobs.ByPause}, {Ready, jobs.ByRelease}, {Failed, jobs.ByCancel}},
	jobs.InReview:  {{Failed, jobs.ByCancel}},
	jobs.Approved:  {{Done, jobs.ByMerge}, {Failed, jobs.ByCancel}},
	jobs.Completed: {{Ready, jobs.ByRetry}},
	jobs.Failed:    {{Ready, jobs.ByRetry}},
	jobs.Aborted:   {{Ready, jobs.ByRetry}},
}

// MoveVerb is what moving a card to a column means; false where it means nothing.
func MoveVerb(status jobs.Status, to Column) (jobs.Trigger, bool) {
	for _, m := range moves[status] {
		if m.To == to {
			return m.Verb, true
		}
	}
	return "", false
}

// Codes of a Reason.
const (
	CodeDependency    = "dependency"
	CodeNotBefore     = "not_before"
	CodeRetryBackoff  = "retry_backoff"
	CodeBudget        = "budget"
	CodeRepoBusy      = "repo_busy"
	CodeReviewBacklog = "review_backlog"
	CodePaused        = "paused"
	CodeBlocked       = "blocked"
	CodeQuestion      = "question"
	CodeNoFactory     = "no_factory"
	CodeSeatsTaken    = "seats_taken"
	CodeCanStart      = "can_start"
	CodeInReview      = "in_review"
	CodeApproved      = "approved"
)

// Reason is why a job does not run now.
type Reason struct {
	Code      string
	Keys      []string   // jobs that are waited for
	Until     *time.Time // when the wait ends by itself
	Missing   []string   // what no live factory offers
	Nearest   string     // the factory that misses the least
	Seats     int        // of the factories that could run it
	Free      int        // of those, free now
	Factories []string   // that could run it
	Text      string     // a person's or an agent's words
}
