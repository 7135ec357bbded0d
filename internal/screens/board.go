package screens

import (
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/spend"
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

// StatusColumn returns the column that a status is shown in, "" for archived jobs.
func StatusColumn(status jobs.Status) Column {
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
	PageSize = 50
	// countCap is where counting a status ends: the board says "1,000+".
	countCap = 1000
	// namedUnroutable is how many of the unroutable jobs are read, to be named.
	namedUnroutable = 5
	// DoneDays is how far back the column Done goes.
	DoneDays = 7
)

// Filter narrows the board. Zero fields narrow nothing.
type Filter struct {
	Products, Repos, Factories, Phases []string // one of each

	Query       string // part of key or title
	PriorityGTE *int
	Unroutable  bool // only ready jobs that no live factory can run, and for which none can be expected of a pool
}

// IsZero reports whether the filter narrows nothing.
func (f Filter) IsZero() bool {
	return len(f.Products)+len(f.Repos)+len(f.Factories)+len(f.Phases) == 0 && f.Query == "" && f.PriorityGTE == nil && !f.Unroutable
}

// allows reports whether a filter that takes these values, any where there are none, takes one.
func allows(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

// orEmpty returns the filter as statements take it: a list that narrows nothing is empty there, not null.
func (f Filter) orEmpty() Filter {
	for _, list := range []*[]string{&f.Products, &f.Repos, &f.Factories, &f.Phases} {
		*list = db.OrEmpty(*list)
	}
	return f
}

// Board is the whole board at one moment.
type Board struct {
	PageContext

	Columns     []ColumnPage
	Unroutable  Unroutable
	Total       int
	TotalCapped bool
}

// Unroutable are the ready jobs that no live factory can run, and for which none can be expected of
// a pool.
type Unroutable struct {
	First  []Card // the most urgent of them
	Count  int
	Capped bool // there are more than Count
}

// PageContext is what a page other than the board shows of its workspace.
type PageContext struct {
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
	// Scanned is how many jobs of a status were scanned if that was not all of them:
	// the next page goes on behind them. Otherwise it is 0.
	Scanned int
}

// Card is a job as the board shows it.
type Card struct {
	Job   jobs.Job
	Why   Reason
	Moves []Move
	Spent spend.Spent // on it so far
	// Collisions are other jobs that are worked on and touch the same files, each with cardPaths of
	// them.
	Collisions []collisions.Collision
	// Verified is how far the verification of its work is, of a job in review that has one; else nil.
	Verified *Progress
}
