package screens

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// scan is how the jobs of one column that pass a filter are found: along the
// column, or in the lanes that the filter leaves.
type scan struct {
	*reader
	filter   Filter
	column   Column
	inColumn []string // statuses whose jobs are found by walking the column
	byLane   []string // statuses whose jobs are found lane by lane
	lanes    []int64  // that all of these are in; none for all lanes where none are found so
}

// statusesByLane have an index by lane.
var statusesByLane = []jobs.Status{jobs.Waiting, jobs.Ready, jobs.Completed, jobs.Failed, jobs.Aborted}

// planScan looks what a filter leaves of a column. A product and a repo are
// questions of lanes; so is a factory, as long as a job was not claimed.
func (r *reader) planScan(f Filter, c Column) (scan, error) {
	s := scan{reader: r, filter: f.orEmpty(), column: c, lanes: []int64{}}
	for _, status := range statuses[c] {
		if slices.Contains(statusesByLane, status) {
			s.byLane = append(s.byLane, string(status))
		} else {
			s.inColumn = append(s.inColumn, string(status))
		}
	}
	if f.Unroutable {
		s.inColumn = nil
		if c != Ready {
			s.byLane = nil
			return s, nil
		}
	}
	narrow := len(f.Products)+len(f.Repos)+len(f.Factories) > 0 || f.Unroutable
	if s.finished() && len(f.Factories) > 0 || !narrow || len(s.byLane) == 0 {
		return s.walk(nil), nil
	}
	lanes, err := r.findLanes(f)
	switch {
	case err != nil:
		return s, err
	case len(lanes) == 0:
		s.byLane = nil
	case len(f.Phases) > 0 || f.Query != "" || f.PriorityGTE != nil || len(lanes) > maxLanes:
		return s.walk(lanes), nil
	default:
		s.lanes = lanes
	}
	return s, nil
}

// walk returns the scan without an index by lane. Of what it finds only jobs of some
// lanes count, where the filter requires what is written nowhere else.
func (s scan) walk(lanes []int64) scan {
	s.inColumn, s.byLane = append(s.inColumn, s.byLane...), nil
	if s.filter.Unroutable {
		s.lanes = lanes
	}
	return s
}

// none reports that nothing passes.
func (s scan) none() bool { return len(s.inColumn)+len(s.byLane) == 0 }

func (s scan) finished() bool { return s.column == Done || s.column == Failed }

func (s scan) days() int {
	if s.column == Failed {
		return failedDays
	}
	return DoneDays
}

// most returns how many jobs of a status are looked at: with a filter that no index
// answers not all of them.
func (s scan) most() int {
	if s.filter.IsZero() {
		return PageSize + 1
	}
	return scanRows
}

// page finds what follows a place, one more than a page has where there is more.
func (s scan) page(at cursor) ([]place, error) {
	var list []place
	for _, find := range []struct {
		in   []string
		find func(cursor) ([]place, error)
	}{{s.inColumn, s.along}, {s.byLane, s.inLanes}} {
		if len(find.in) == 0 {
			continue
		}
		found, err := find.find(at)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, s.column.inOrder)
	return list[:min(len(list), PageSize+1)], nil
}

// withNamed puts the job whose key was searched for on the first page of its
// column, however deep in it the job stands, and on no other.
func (s scan) withNamed(list []place, at cursor) ([]place, error) {
	f := s.filter
	if f.Query == "" {
		return list, nil
	}
	j, err := s.namedBy(f.Query)
	if err != nil || j == nil || StatusColumn(j.Status) != s.column || s.column == Done && time.Since(j.StatusAt) > DoneDays*24*time.Hour ||
		!allows(f.Products, j.Product) || !allows(f.Repos, j.Repo) || !allows(f.Phases, j.Phase) ||
		len(f.Factories) > 0 || f.Unroutable || j.Priority < f.priority() {
		return list, err
	}
	list = slices.DeleteFunc(list, func(p place) bool { return p.id == j.ID })
	if at.start {
		named := []place{{id: j.ID, priority: j.Priority, at: j.StatusAt}}
		if s.column == Ready {
			if named, err = s.readyPlace(j.ID); err != nil {
				return nil, err
			}
		}
		list = append(list, named...)
		slices.SortFunc(list, s.column.inOrder)
	}
	return list, nil
}

// namedBy reads the job with a key, once; nil where there is none.
func (r *reader) namedBy(key string) (*jobs.Job, error) {
	if r.namedRead {
		return r.named, nil
	}
	found, err := r.idsOfKey(key)
	if err != nil {
		return nil, err
	}
	r.namedRead = true
	if len(found) == 0 {
		return nil, nil
	}
	list, err := jobs.LoadManyTx(r.ctx, r.tx, r.workspace, found[:1])
	if err == nil && len(list) == 1 {
		r.named = &list[0]
	}
	return r.named, err
}

// edge returns how far a walk looked; nil where it came to the end.
func (s scan) edge(at cursor) (*place, error) {
	if s.filter.IsZero() || len(s.inColumn) == 0 {
		return nil, nil
	}
	list, err := s.findEdge(at)
	if err != nil || len(list) == 0 {
		return nil, wrapped("the end of a walk", err)
	}
	return &list[0], nil
}

// count counts what passes, each status up to countCap.
func (s scan) count() (n int, capped bool, err error) {
	counts := map[string]int{}
	if len(s.inColumn) > 0 {
		if err := s.countInColumn(counts); err != nil {
			return 0, false, err
		}
	}
	if len(s.byLane) > 0 {
		if err := s.countByLane(counts); err != nil {
			return 0, false, err
		}
	}
	for _, jobs := range counts {
		n += min(jobs, countCap)
		capped = capped || jobs > countCap
	}
	return n, capped, nil
}

func wrapped(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
