package worker

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// cleanUpEvery is how often a worker removes what nobody needs; firstCleanUp is when it
	// does so for the first time, after what a killed worker left was taken up.
	cleanUpEvery = time.Hour
	firstCleanUp = 10 * time.Second
	// KeepUnused is how long a mirror stays that nobody uses.
	KeepUnused = 30 * 24 * time.Hour
)

// cleanUps removes from time to time what nobody needs any more, until ctx ends.
func (w *Worker) cleanUps(ctx context.Context) {
	for wait := firstCleanUp; signal.Sleep(ctx, signal.Jitter(wait, 0.5)) == nil; wait = cleanUpEvery {
		removed, err := w.Repos.GC(ctx, repos.GCOptions{KeepUnused: KeepUnused, Awaited: w.remembers, Ended: w.endedBranches})
		for _, r := range removed {
			w.Log.Info("removed "+r.What, "why", r.Why)
		}
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("cleaning up failed: " + err.Error())
		}
	}
}

// scratch returns the directory of an attempt, by its name: what is there is taken up again after
// a kill.
func (w *Worker) scratch(attempt string) string { return filepath.Join(w.State, "attempts", attempt) }

// remembers reports whether an attempt has not ended.
func (w *Worker) remembers(attempt string) bool {
	_, err := os.Lstat(w.scratch(attempt))
	return err == nil
}

// endedBranches reads from the server which jobs ended long enough ago.
func (w *Worker) endedBranches(ctx context.Context, repo string, keys []string) (list []repos.EndedBranch, err error) {
	err = w.enrolled(ctx, func() (err error) {
		list, err = EndedBranches(ctx, w.api, repo, keys)
		return err
	})
	return list, err
}

// EndedBranches reads from a server the branches of those of the jobs of a repository, by their
// keys, that ended longer ago than their products keep branches.
func EndedBranches(ctx context.Context, to *api.Client, repo string, keys []string) ([]repos.EndedBranch, error) {
	answer, err := to.ListEndedBranchesWithResponse(ctx, api.EndedBranchesRequest{Repo: repo, Jobs: keys})
	if err != nil {
		return nil, err
	}
	list := make([]repos.EndedBranch, 0, len(answer.JSON200.Items))
	for _, b := range answer.JSON200.Items {
		list = append(list, repos.EndedBranch{Job: b.Job, ID: b.JobID.String(), Epoch: b.Epoch, Commit: b.Commit, Merged: b.Merged,
			Unmerged: b.Unmerged, Approved: b.ApprovedHead, EndedAt: b.EndedAt})
	}
	return list, nil
}
