package screens

import (
	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// along finds what follows a place by walking the column.
func (s scan) along(at cursor) (list []place, err error) {
	f := s.filter
	if s.finished() {
		rows, err := q.BoardFinished(s.ctx, s.tx, dbsqlc.BoardFinishedParams{
			WorkspaceID: s.workspace, Statuses: s.inColumn, Days: s.days(), AfterAt: at.before(), AfterID: at.beforeID(),
			PriorityGte: f.priority(), Products: f.Products, Repos: f.Repos, Phases: f.Phases, Factories: f.Factories,
			Q: db.EscapeLike(f.Query), MaxScan: s.most(), MaxRows: PageSize + 1})
		for _, r := range rows {
			list = append(list, place{id: r.ID, priority: r.Priority, at: r.StatusAt})
		}
		return list, wrapped("finished jobs", err)
	}
	if s.column == Ready {
		return s.alongReady(at)
	}
	rows, err := q.BoardOpen(s.ctx, s.tx, dbsqlc.BoardOpenParams{
		WorkspaceID: s.workspace, Statuses: s.inColumn, AfterPriority: at.priority, AfterAt: at.at, AfterID: at.id,
		PriorityGte: f.priority(), Products: f.Products, Repos: f.Repos, Phases: f.Phases, Factories: f.Factories,
		Q: db.EscapeLike(f.Query), Lanes: s.lanes, MaxScan: s.most(), MaxRows: PageSize + 1})
	for _, r := range rows {
		list = append(list, place{id: r.ID, priority: r.Priority, at: r.StatusAt})
	}
	return list, wrapped("open jobs", err)
}

// alongReady finds what follows a place by walking the ready jobs in the order of claims.
func (s scan) alongReady(at cursor) ([]place, error) {
	f := s.filter
	rows, err := q.BoardReady(s.ctx, s.tx, dbsqlc.BoardReadyParams{
		WorkspaceID: s.workspace, AfterPriority: at.priority, AfterPlace: at.at, AfterTieBreak: at.tieBreak,
		PriorityGte: f.priority(), Products: f.Products, Repos: f.Repos, Phases: f.Phases, Factories: f.Factories,
		Q: db.EscapeLike(f.Query), Lanes: s.lanes, MaxScan: s.most(), MaxRows: PageSize + 1})
	return places(rows), wrapped("ready jobs", err)
}

// places returns where ready jobs stand in the order of claims.
func places[R dbsqlc.BoardReadyRow | dbsqlc.BoardReadyEdgeRow | dbsqlc.BoardLaneReadyRow | dbsqlc.BoardReadyKeysRow](rows []R) []place {
	list := make([]place, len(rows))
	for i, row := range rows {
		r := dbsqlc.BoardReadyRow(row)
		list[i] = place{r.ID, r.Priority, r.Place, string(r.TieBreak)}
	}
	return list
}

// readyPlace returns where a ready job stands in the order of claims; none where it has none any more.
func (s scan) readyPlace(job ids.ID) ([]place, error) {
	rows, err := q.BoardReadyKeys(s.ctx, s.tx, s.workspace, []ids.ID{job})
	return places(rows), err
}

// inLanes finds what follows a place lane by lane.
func (s scan) inLanes(at cursor) (list []place, err error) {
	if s.finished() {
		rows, err := q.BoardLaneFinished(s.ctx, s.tx, dbsqlc.BoardLaneFinishedParams{
			WorkspaceID: s.workspace, Statuses: s.byLane, Lanes: s.lanes, Days: s.days(), AfterAt: at.before(), AfterID: at.beforeID(),
			MaxRows: PageSize + 1})
		for _, r := range rows {
			list = append(list, place{id: r.ID, priority: r.Priority, at: r.StatusAt})
		}
		return list, wrapped("finished jobs of lanes", err)
	}
	if s.column == Ready {
		rows, err := q.BoardLaneReady(s.ctx, s.tx, dbsqlc.BoardLaneReadyParams{WorkspaceID: s.workspace, Lanes: s.lanes,
			AfterPriority: at.priority, AfterPlace: at.at, AfterTieBreak: at.tieBreak, MaxRows: PageSize + 1})
		return places(rows), wrapped("ready jobs of lanes", err)
	}
	rows, err := q.BoardLaneOpen(s.ctx, s.tx, dbsqlc.BoardLaneOpenParams{
		WorkspaceID: s.workspace, Statuses: s.byLane, Lanes: s.lanes, AfterPriority: at.priority, AfterAt: at.at, AfterID: at.id,
		MaxRows: PageSize + 1})
	for _, r := range rows {
		list = append(list, place{id: r.ID, priority: r.Priority, at: r.StatusAt})
	}
	return list, wrapped("open jobs of lanes", err)
}

// findEdge reads the last job that a walk from a place looks at; none where it comes to
// the end before.
func (s scan) findEdge(at cursor) (list []place, err error) {
	if s.finished() {
		rows, err := q.BoardFinishedEdge(s.ctx, s.tx, dbsqlc.BoardFinishedEdgeParams{
			WorkspaceID: s.workspace, Statuses: s.inColumn, Days: s.days(), AfterAt: at.before(), AfterID: at.beforeID(),
			MaxScan: scanRows})
		for _, r := range rows {
			list = append(list, place{id: r.ID, priority: r.Priority, at: r.StatusAt})
		}
		return list, err
	}
	if s.column == Ready {
		rows, err := q.BoardReadyEdge(s.ctx, s.tx, dbsqlc.BoardReadyEdgeParams{WorkspaceID: s.workspace, AfterPriority: at.priority,
			AfterPlace: at.at, AfterTieBreak: at.tieBreak, MaxScan: scanRows})
		return places(rows), err
	}
	rows, err := q.BoardOpenEdge(s.ctx, s.tx, dbsqlc.BoardOpenEdgeParams{
		WorkspaceID: s.workspace, Statuses: s.inColumn, AfterPriority: at.priority, AfterAt: at.at, AfterID: at.id, MaxScan: scanRows})
	for _, r := range rows {
		list = append(list, place{id: r.ID, priority: r.Priority, at: r.StatusAt})
	}
	return list, err
}

// countInColumn counts what passes along the column, by status.
func (s scan) countInColumn(counts map[string]int) error {
	f := s.filter
	rows, err := q.BoardCount(s.ctx, s.tx, dbsqlc.BoardCountParams{
		WorkspaceID: s.workspace, Statuses: s.inColumn, Days: DoneDays, PriorityGte: f.priority(), Products: f.Products, Repos: f.Repos,
		Phases: f.Phases, Factories: f.Factories, Q: db.EscapeLike(f.Query), Lanes: s.lanes, MaxScan: scanRows, MaxRows: countCap + 1})
	if err != nil {
		return err
	}
	for _, row := range rows {
		counts[row.Status] = row.Jobs
	}
	return nil
}

// countLanes counts what passes in the lanes, by status.
func (s scan) countByLane(counts map[string]int) error {
	rows, err := q.BoardLaneCount(s.ctx, s.tx, dbsqlc.BoardLaneCountParams{
		WorkspaceID: s.workspace, Statuses: s.byLane, Lanes: s.lanes, Days: DoneDays, MaxRows: countCap + 1})
	if err != nil {
		return err
	}
	for _, row := range rows {
		counts[row.Status] = row.Jobs
	}
	return nil
}
