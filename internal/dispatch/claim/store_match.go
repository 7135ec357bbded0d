package claim

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// readFirst reads the first n ready jobs of each of the lanes, from its key on.
func readFirst(ctx context.Context, tx db.Tx, workspace ids.ID, lanes []int64, from []readyKey, n int) ([]*candidate, error) {
	params := dbsqlc.ReadyFirstParams{WorkspaceID: workspace, Lanes: lanes, MaxRows: n}
	for _, k := range from {
		params.Priorities, params.Places = append(params.Priorities, k.priority), append(params.Places, k.place)
		params.TieBreaks = append(params.TieBreaks, []byte(k.tieBreak))
	}
	rows, err := q.ReadyFirst(ctx, tx, params)
	list := make([]*candidate, 0, len(rows))
	for _, r := range rows {
		list = append(list, &candidate{lane: r.LaneID, readyKey: readyKey{r.Priority, r.Place, string(r.TieBreak), r.JobID}})
	}
	return list, err
}

// readStanding reads the ready jobs of which offers stand.
func readStanding(ctx context.Context, tx db.Tx, workspace ids.ID) ([]*candidate, error) {
	rows, err := q.OffersStanding(ctx, tx, workspace, maxStanding)
	list := make([]*candidate, 0, len(rows))
	for _, r := range rows {
		list = append(list, &candidate{lane: r.LaneID, readyKey: readyKey{r.Priority, r.Place, string(r.TieBreak), r.JobID}})
	}
	return list, err
}

// takeMatched takes jobs out of the queue, as they were looked at, and returns those that nobody else
// is taking or has changed.
func takeMatched(ctx context.Context, tx db.Tx, workspace ids.ID, picks []pick) (map[ids.ID]bool, error) {
	var jobs []ids.ID
	var lanes []int64
	var versions []int
	for _, p := range picks {
		jobs, lanes, versions = append(jobs, p.job), append(lanes, p.lane), append(versions, p.Version)
	}
	rows, err := q.ReadyTakeMatched(ctx, tx, workspace, jobs, lanes, versions)
	taken := make(map[ids.ID]bool, len(rows))
	for _, id := range rows {
		taken[id] = true
	}
	return taken, err
}
