package jobs

import (
	"context"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/globs"
	"github.com/fleetboard/fleetboard/internal/jobs/sharing"
)

// markCrowded marks those of the jobs as busy whose files another job of their repo may touch. Of
// jobs of one repo the most urgent come first. Who decides about a repo holds its lock, so that
// no two decide at once; whoever does not get it waits, and is looked at again.
func (a *admission) markCrowded(list []*Job, busy map[ids.ID]bool) error {
	var repos []string
	for _, j := range list {
		repos, busy[j.ID] = append(repos, j.Repo), true
	}
	if len(repos) == 0 {
		return nil
	}
	slices.Sort(repos)
	wanted := slices.Compact(repos)
	repos, err := lockSlotsTx(a.ctx, a.tx, a.workspace, wanted)
	a.contended = slices.DeleteFunc(slices.Clone(wanted), func(repo string) bool { return slices.Contains(repos, repo) })
	if err != nil || len(repos) == 0 {
		return err
	}
	found, err := sharingTx(a.ctx, a.tx, a.workspace, repos, false)
	if err != nil {
		return err
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y *Job) int { return y.Priority - x.Priority })
	for _, j := range list {
		in := found[j.Repo]
		if in == nil {
			continue // somebody else decides at this moment
		}
		r := sharing.Rival{ID: j.ID, Priority: j.Priority, Yields: true, Files: globs.Parse(j.claimed())}
		yielding, may := in.MayHave(r)
		if may {
			if may, err = a.preempt(yielding, j.Priority); err != nil {
				return err
			}
		}
		if !may {
			in.AddWaiter(r) // no other one of the list passes it
			continue
		}
		in.Let(r, yielding)
		a.slots = append(a.slots, slot{Repo: j.Repo, JobID: j.ID, Files: j.claimed()})
		delete(busy, j.ID)
	}
	return nil
}

// claimed returns the files for which a job of a product that serialises by path has its slot.
func (s Spec) claimed() []string {
	if len(s.Files) == 0 {
		return []string{"**"}
	}
	return s.Files
}

// nextByPathsTx gives the jobs that may have paths of the repos by now, of each repo in the
// order in which they come next.
func nextByPathsTx(ctx context.Context, tx db.Tx, workspace ids.ID, repos []string) ([]ids.ID, error) {
	found, err := sharingTx(ctx, tx, workspace, repos, false)
	if err != nil {
		return nil, err
	}
	var next []ids.ID
	for _, repo := range repos {
		in := found[repo]
		for _, w := range in.Waiters() {
			if yielding, may := in.MayHave(w); may {
				next = append(next, w.ID)
				in.Let(w, yielding)
			}
		}
	}
	return next, nil
}

// PathsBusy is what a job waits for that waits for paths: another one of its repo.
type PathsBusy struct {
	Job   string   // its key
	Agent string   // that works on it, if any
	Waits bool     // it waits too, and comes first
	Paths []string // some that both may touch
}

// PathsBusyTx says for jobs that wait for paths which other job each of them waits for first: one
// that is worked on before one that is ready, and those before one that waits too. A job is
// left out where there is none any more, as in the moment in which they all may go on.
func PathsBusyTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Job) (map[ids.ID]PathsBusy, error) {
	var repos []string
	for _, j := range list {
		if !slices.Contains(repos, j.Repo) {
			repos = append(repos, j.Repo)
		}
	}
	if len(repos) == 0 {
		return nil, nil
	}
	found, err := sharingTx(ctx, tx, workspace, repos, true)
	if err != nil {
		return nil, err
	}
	busy, others := map[ids.ID]PathsBusy{}, map[ids.ID][]ids.ID{}
	for _, j := range list {
		in := found[j.Repo]
		r := sharing.Rival{ID: j.ID, Priority: j.Priority, Files: globs.Parse(j.claimed())}
		if other, paths, waits, is := in.Blocking(r); is {
			busy[j.ID], others[other] = PathsBusy{Waits: waits, Paths: paths}, append(others[other], j.ID)
		}
	}
	rows, err := q.SlotWorkers(ctx, tx, workspace, slices.Collect(maps.Keys(others)))
	for _, row := range rows {
		for _, id := range others[row.ID] {
			one := busy[id]
			one.Job, one.Agent = row.Key, row.Agent
			busy[id] = one
		}
	}
	return busy, err
}
