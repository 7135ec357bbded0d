package usage

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Dimension is what usage is grouped and filtered by.
type Dimension string

// The dimensions. Job is a key, Day a day such as 2026-11-23 and Hour the instant of its
// beginning, both in UTC; the others are names.
const (
	Product  Dimension = "product"
	Phase    Dimension = "phase"
	Repo     Dimension = "repo"
	Model    Dimension = "model"
	Provider Dimension = "provider"
	Agent    Dimension = "agent"
	Factory  Dimension = "factory"
	Job      Dimension = "job"
	Day      Dimension = "day"
	Hour     Dimension = "hour"
	// Purpose is "verify" for what the verification of work cost, else "work".
	Purpose Dimension = "purpose"
)

// total is the group that all usage is in.
const total Dimension = "total"

// Dimensions lists them.
var Dimensions = []Dimension{Product, Phase, Repo, Model, Provider, Agent, Factory, Job, Day, Hour, Purpose}

// Filters are those that usage is filtered by.
var Filters = []Dimension{Product, Phase, Repo, Model, Provider, Agent, Factory, Job}

// Limits of a query.
const (
	MaxGroups  = 10_000
	MaxEntries = 1000 // on a page
	MaxSpan    = 366 * 24 * time.Hour
	// maxValue is how long what a filter names may be.
	maxValue = 200
	// maxValues is how many values of a dimension a filter names.
	maxValues = 20
)

// Query says which usage is reported. From is moved back and Until on to whole hours.
type Query struct {
	From, Until time.Time
	// Filter names what usage must be of, one of the names of each dimension. The empty name is
	// one too: of no phase.
	Filter map[Dimension][]string
}

// checked returns the query in whole hours. Validation by field.
func (q Query) checked() (Query, error) {
	p := fault.Problems{}
	q.From = q.From.UTC().Truncate(time.Hour)
	if end := q.Until.UTC().Truncate(time.Hour); end.Equal(q.Until.UTC()) {
		q.Until = end
	} else {
		q.Until = end.Add(time.Hour)
	}
	switch year := q.From.Year(); {
	case year < 2000 || year > 2200:
		p.Add("from", "Its year must be 2000 to 2200 (it is %d).", year)
	case !q.Until.After(q.From):
		p.Add("to", "It must be after from.")
	case q.Until.Sub(q.From) > MaxSpan:
		p.Add("to", "It must be at most 366 days after from.")
	}
	for dimension, values := range q.Filter {
		if !slices.Contains(Filters, dimension) {
			p.Add(string(dimension), "Usage is not filtered by it.")
		}
		if len(values) > maxValues {
			p.Add(string(dimension), "The filter takes at most %d values; these are %d.", maxValues, len(values))
			continue
		}
		for _, value := range values {
			p.Text(string(dimension), value, maxValue)
		}
	}
	return q, p.Err()
}

// checkDimensions refuses those that there are not.
func checkDimensions(by []Dimension) error {
	p := fault.Problems{}
	for i, d := range by {
		if !slices.Contains(Dimensions, d) {
			p.Add(fmt.Sprintf("group_by[%d]", i), "There is no such dimension.")
		}
	}
	return p.Err()
}
