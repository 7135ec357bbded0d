package jobs

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// MaxBranchJobs is how many jobs one question about branches may name.
	MaxBranchJobs = 500
	// maxBranchAttempts is how many attempts of a job have their branches listed.
	maxBranchAttempts = 100
)

// EndedBranch is the branch of an attempt on a job that ended longer ago than its product keeps
// branches.
type EndedBranch struct {
	JobID ids.ID `json:"job_id"`
	Key   string `json:"job"`
	Epoch int64  `json:"epoch"`
	// Branch and Commit are as the attempt's agent reported them; "" where it reported none.
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	// Merged: the job's work was merged. Unmerged: it was completed with this attempt's work,
	// and nobody has said that it was merged.
	Merged   bool      `json:"merged"`
	Unmerged bool      `json:"unmerged"`
	Approved string    `json:"approved_head"` // the commit that was approved last, "" for none
	EndedAt  time.Time `json:"ended_at"`
}

// EndedBranches returns the branches of those of the jobs in a repo, by their keys, that ended
// longer ago than their products keep branches. Fault: Validation.
func (s *Service) EndedBranches(ctx context.Context, who tenancy.Principal, repo string, keys []string) (list []EndedBranch, err error) {
	p := fault.Problems{}
	p.Repo("repo", repo, MaxRepo)
	p.List("jobs", keys, MaxBranchJobs, MaxKey)
	if err := p.Err(); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = endedBranchesTx(ctx, tx, who.Workspace, repo, keys)
		return err
	})
	return list, err
}

func endedBranchesTx(ctx context.Context, tx db.Tx, workspace ids.ID, repo string, keys []string) ([]EndedBranch, error) {
	rows, err := q.BranchesEnded(ctx, tx, maxBranchAttempts, workspace, keys, repo)
	if err != nil {
		return nil, err
	}
	list := make([]EndedBranch, 0, len(rows))
	for _, r := range rows {
		list = append(list, EndedBranch(r))
	}
	return list, nil
}
