package kanban

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// scan is how the jobs of one column that pass a filter are found: along the
// column, or in the lanes that the filter leaves.
type scan struct {
	*reader
	filter Filter
	column Column
	walked []string // statuses that are walked
	laned  []string // statuses whose jobs are found in lanes
	lanes  []int64  // that all of these are in; none for all lanes where none are found so
}

// lanedStatuses have an index by lane.
var lanedStatuses = []jobs.Status{jobs.Waiting, jobs.Ready, jobs.Completed, jobs.Failed, jobs.Aborted}

// scanOf looks what a filter leaves of a column. A product and a repo are
// questions of lanes; so is a factory, as long as a job was not claimed.
func (r *reader) scanOf(f Filter, c Column) (scan, error) {
	s := scan{reader: r, filter: f, column: c, lanes: []int64{}}
	for _, status := range statuses[c] {
		if slices.Contains(lanedStatuses, status) {
			s.laned = append(s.laned, string(status))
		} else {
			s.walked = append(s.walked, string(status))
		}
	}
	if f.Unroutable {
		s.walked = nil
		if c != Ready {
			s.laned = nil
			return s, nil
		}
	}
	byLane := f.Product != "" || f.Repo != "" || f.Factory != "" || f.Unroutable
	if s.finished() && f.Factory != "" || !byLane || len(s.laned) == 0 {
		return s.walk(nil), nil
	}
	lanes, err := r.lanesOf(f)
	switch {
	case err != nil:
		return s, err
	case len(lanes) == 0:
		s.laned = nil
	case f.Phase != "" || f.Query != "" || f.PriorityGTE != nil || len(lanes) > maxLanes:
		return s.walk(lanes), nil
	default:
		s.lanes = lanes
	}
	return s, nil
}

// walk is the scan without an index by lane. Of what it finds only jobs of some
// lanes count, where the filter asks for what is written nowhere else.
func (s scan) walk(lanes []int64) scan {
	s.walked, s.laned = append(s.walked, s.laned...), nil
	if s.filter.Unroutable {
		s.lanes = lanes
	}
	return s
}

// none reports that nothing passes.
func (s scan) none() bool { return len(s.walked)+len(s.laned) == 0 }

func (s scan) finished() bool { return s.column == Done || s.column == Failed }

func (s scan) days() int32 {
	if s.column == Failed {
		return failedDays
	}
	return DoneDays
}

// most is how many jobs of a status are looked at: with a filter that no index
// answers not all of them.
func (s scan) most() int32 {
	if s.filter.Open() {
		return pageSize + 1
	}
	return scanRows
}

// page finds what follows a place, one more than a page has where there is more.
func (s scan) page(at cursor) ([]place, error) {
	var list []place
	for _, find := range []struct {
		in   []string
		find func(cursor) ([]place, error)
	}{{s.walked, s.along}, {s.laned, s.inLanes}} {
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
	return list[:min(len(list), pageSize+1)], nil
}

func (s scan) along(at cursor) (list []place, err error) {
	f := s.filter
	if s.finished() {
		rows, err := q.BoardFinished(s.ctx, s.tx, dbsqlc.BoardFinishedParams{
			WorkspaceID: s.workspace, Statuses: s.walked, Days: s.days(), AfterAt: at.before(), AfterID: at.beforeID(),
			PriorityGte: f.priority(), Product: f.Product, Repo: f.Repo, Phase: f.Phase, Factory: f.Factory,
			Q: db.EscapeLike(f.Query), MaxScan: s.most(), MaxRows: pageSize + 1})
		for _, r := range rows {
			list = append(list, place{r.ID, int32(r.Priority), r.StatusAt})
		}
		return list, wrapped("finished jobs", err)
	}
	rows, err := q.BoardOpen(s.ctx, s.tx, dbsqlc.BoardOpenParams{
		WorkspaceID: s.workspace, Statuses: s.walked, AfterPriority: at.priority, AfterAt: at.at, AfterID: at.id,
		PriorityGte: f.priority(), Product: f.Product, Repo: f.Repo, Phase: f.Phase, Factory: f.Factory,
		Q: db.EscapeLike(f.Query), Lanes: s.lanes, MaxScan: s.most(), MaxRows: pageSize + 1})
	for _, r := range rows {
		list = append(list, place{r.ID, int32(r.Priority), r.StatusAt})
	}
	return list, wrapped("open jobs", err)
}

func (s scan) inLanes(at cursor) (list []place, err error) {
	if s.finished() {
		rows, err := q.BoardLaneFinished(s.ctx, s.tx, dbsqlc.BoardLaneFinishedParams{
			WorkspaceID: s.workspace, Statuses: s.laned, Lanes: s.lanes, Days: s.days(), AfterAt: at.before(), AfterID: at.beforeID(),
			MaxRows: pageSize + 1})
		for _, r := range rows {
			list = append(list, place{r.ID, int32(r.Priority), r.StatusAt})
		}
		return list, wrapped("finished jobs of lanes", err)
	}
	rows, err := q.BoardLaneOpen(s.ctx, s.tx, dbsqlc.BoardLaneOpenParams{
		WorkspaceID: s.workspace, Statuses: s.laned, Lanes: s.lanes, AfterPriority: at.priority, AfterAt: at.at, AfterID: at.id,
		MaxRows: pageSize + 1})
	for _, r := range rows {
		list = append(list, place{r.ID, int32(r.Priority), r.StatusAt})
	}
	return list, wrapped("open jobs of lanes", err)
}

// withNamed puts the job whose key was searched for on the first page of its
// column, however deep in it the job stands, and on no other.
func (s scan) withNamed(list []place, at cursor) ([]place, error) {
	f := s.filter
	if f.Query == "" {
		return list, nil
	}
	j, err := s.namedBy(f.Query)
	if err != nil || j == nil || ColumnOf(j.Status) != s.column || s.column == Done && time.Since(j.StatusAt) > DoneDays*24*time.Hour ||
		f.Product != "" && j.Product != f.Product || f.Repo != "" && j.Repo != f.Repo || f.Phase != "" && j.Phase != f.Phase ||
		f.Factory != "" || f.Unroutable || j.Priority < int(f.priority()) {
		return list, err
	}
	list = slices.DeleteFunc(list, func(p place) bool { return p.id == j.ID })
	if at.start {
		list = append(list, place{j.ID, int32(j.Priority), j.StatusAt}) //nolint:gosec // 0..10
		slices.SortFunc(list, s.column.inOrder)
	}
	return list, nil
}

// namedBy reads the job with a key; nil where there is none.
func (r *reader) namedBy(key string) (*jobs.Job, error) {
	if r.namedRead {
		return r.named, nil
	}
	rows, err := q.JobIDs(r.ctx, r.tx, dbsqlc.JobIDsParams{WorkspaceID: r.workspace, Keys: []string{key, strings.ToUpper(key)},
		Ids: []ids.ID{}})
	if err != nil {
		return nil, fmt.Errorf("job by key: %w", err)
	}
	r.namedRead = true
	if len(rows) == 0 {
		return nil, nil
	}
	found, err := jobs.LoadManyTx(r.ctx, r.tx, r.workspace, []ids.ID{rows[0].ID})
	if err == nil && len(found) == 1 {
		r.named = &found[0]
	}
	return r.named, err
}

// edge is how far a walk looked; nil where it came to the end.
func (s scan) edge(at cursor) (*place, error) {
	if s.filter.Open() || len(s.walked) == 0 {
		return nil, nil
	}
	if s.finished() {
		rows, err := q.BoardFinishedEdge(s.ctx, s.tx, dbsqlc.BoardFinishedEdgeParams{
			WorkspaceID: s.workspace, Statuses: s.walked, Days: s.days(), AfterAt: at.before(), AfterID: at.beforeID(), MaxScan: scanRows})
		if err != nil || len(rows) == 0 {
			return nil, wrapped("the end of a walk", err)
		}
		return &place{rows[0].ID, int32(rows[0].Priority), rows[0].StatusAt}, nil
	}
	rows, err := q.BoardOpenEdge(s.ctx, s.tx, dbsqlc.BoardOpenEdgeParams{
		WorkspaceID: s.workspace, Statuses: s.walked, AfterPriority: at.priority, AfterAt: at.at, AfterID: at.id, MaxScan: scanRows})
	if err != nil || len(rows) == 0 {
		return nil, wrapped("the end of a walk", err)
	}
	return &place{rows[0].ID, int32(rows[0].Priority), rows[0].StatusAt}, nil
}

// count counts what passes, each status up to countCap.
func (s scan) count() (n int, capped bool, err error) {
	f := s.filter
	counts := map[string]int32{}
	if len(s.walked) > 0 {
		rows, err := q.BoardCount(s.ctx, s.tx, dbsqlc.BoardCountParams{
			WorkspaceID: s.workspace, Statuses: s.walked, Days: DoneDays, PriorityGte: f.priority(), Product: f.Product, Repo: f.Repo,
			Phase: f.Phase, Factory: f.Factory, Q: db.EscapeLike(f.Query), Lanes: s.lanes, MaxScan: scanRows, MaxRows: countCap + 1})
		if err != nil {
			return 0, false, fmt.Errorf("count jobs: %w", err)
		}
		for _, row := range rows {
			counts[row.Status] = row.Jobs
		}
	}
	if len(s.laned) > 0 {
		rows, err := q.BoardLaneCount(s.ctx, s.tx, dbsqlc.BoardLaneCountParams{
			WorkspaceID: s.workspace, Statuses: s.laned, Lanes: s.lanes, Days: DoneDays, MaxRows: countCap + 1})
		if err != nil {
			return 0, false, fmt.Errorf("count jobs of lanes: %w", err)
		}
		for _, row := range rows {
			counts[row.Status] = row.Jobs
		}
	}
	for _, jobs := range counts {
		n += int(min(jobs, countCap))
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
