package offer

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// Versioned is the last offer of a job, and the version that was offered.
type Versioned struct {
	Version int
	*Last
}

// LastTx reads the last offers of jobs.
func LastTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) (map[ids.ID]Versioned, error) {
	rows, err := q.OffersOfJobs(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	byJob := make(map[ids.ID]Versioned, len(rows))
	for _, r := range rows {
		byJob[r.JobID] = Versioned{r.JobVersion, &Last{FactoryID: r.FactoryID, Factory: r.Factory, Score: r.Score, Turn: r.Turn,
			Tried: r.Tried, ExpiresAt: r.ExpiresAt, Stands: seconds(r.Stands), SinceFirst: seconds(r.SinceFirst)}}
	}
	return byJob, nil
}

// WriteTx writes offers, but of jobs that somebody else is taking or offering at this moment, and returns
// those that it wrote, with their ends.
func WriteTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Made) ([]Made, error) {
	if len(list) == 0 {
		return nil, nil
	}
	p := dbsqlc.OffersPutParams{WorkspaceID: workspace}
	byJob := make(map[ids.ID]Made, len(list))
	for _, m := range list {
		byJob[m.Job] = m
		p.JobIds, p.Versions = append(p.JobIds, m.Job), append(p.Versions, int(m.Version))
		p.FactoryIds, p.Factories = append(p.FactoryIds, m.FactoryID), append(p.Factories, m.Factory)
		p.Scores, p.Turns, p.Seconds = append(p.Scores, m.Score), append(p.Turns, m.Turn), append(p.Seconds, m.Lasts.Seconds())
	}
	rows, err := q.OffersPut(ctx, tx, p)
	written := make([]Made, 0, len(rows))
	for _, r := range rows {
		m := byJob[r.JobID]
		m.Workspace, m.ExpiresAt = workspace, r.ExpiresAt
		written = append(written, m)
	}
	return written, err
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
