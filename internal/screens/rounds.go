package screens

import (
	"context"
	"math"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// MaxRounds is how many verifications of a job are read at once, at most: each may have a hundred findings.
const MaxRounds = 20

// PageRounds is how many verifications a page shows: as many as there are before a person decides,
// where no person sends the work back between them.
const PageRounds = jobs.MaxRounds + 1

// Round is a verification of what a job was handed in with.
type Round struct {
	Progress

	Epoch    int64 // of the attempt that handed in
	Commit   string
	Branch   string
	Model    string // that the agent runs
	Criteria []verdict.Criterion
	Findings []verdict.Finding
	SentBack bool // the verdict has sent the work back to its agent
	Cost     spend.Nanos
}

// Rounds reads the verifications of a job that were made for attempts before one, 0 for all, the newest
// first, and whether there are older ones. NotFound where there is no such job.
func (s *Service) Rounds(ctx context.Context, who tenancy.Principal, keyOrID string, before int64, limit int) (
	list []Round, more bool, err error,
) {
	err = s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		job, err := jobs.LoadTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return err
		}
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		list, more, err = verifications{r}.rounds(job.ID, before, limit)
		return err
	})
	return list, more, err
}

// rounds reads at most limit verifications of a job.
func (r verifications) rounds(job ids.ID, before int64, limit int) (list []Round, more bool, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	list, err = r.readRounds(job, before, limit+1)
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	return list, more, err
}
