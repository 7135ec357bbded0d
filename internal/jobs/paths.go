package jobs

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/globs"
)

const (
	// maxSharing is how many jobs may share one repo, and how many of those that wait for
	// paths of it are looked at: the cost of an admission is bounded by both. The most urgent
	// come first, so that the rest only wait longer.
	maxSharing = 1000
	// reposAtOnce is of how many repos the slots are read at once.
	reposAtOnce = 20
)

// claimed returns the files for which a job of a product that serialises by path has its slot.
func (s Spec) claimed() []string {
	if len(s.Files) == 0 {
		return []string{"**"}
	}
	return s.Files
}

// rival is a job that has paths of a repo, or waits for them.
type rival struct {
	id       ids.ID
	priority int
	yields   bool // it is ready: a more urgent job takes its place
	files    globs.Set
}

// filesOf returns what a slot, or what waits for one, is for.
func filesOf(files []string, whole bool) globs.Set {
	if whole {
		return globs.Everything
	}
	return globs.Parse(files)
}

// sharing is who has the paths of one repo, and who waits for them, the next one first.
type sharing struct {
	holders, waiters []rival
	full             bool // there are more waiters
	steps            globs.Steps
}

// newSharing reads the paths of repos. All of them are in the map.
func newSharing(ctx context.Context, tx db.Tx, workspace ids.ID, repos []string) (map[string]*sharing, error) {
	waiting, err := q.HeldPaths(ctx, tx, repos, workspace, maxSharing+1)
	if err != nil {
		return nil, err
	}
	slots, err := slotsTx(ctx, tx, workspace, repos)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(waiting, func(a, b dbsqlc.HeldPathsRow) int {
		return cmp.Or(b.Priority-a.Priority, a.StatusAt.Compare(b.StatusAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	found := map[string]*sharing{}
	for _, repo := range repos {
		found[repo] = &sharing{steps: globs.DefaultSteps}
	}
	for _, s := range slots {
		in := found[s.Repo]
		in.holders = append(in.holders, rival{s.JobID, s.Priority, Status(s.Status) == Ready, filesOf(s.Files, s.Files == nil)})
	}
	for _, w := range waiting {
		in := found[w.Repo]
		if in.full = len(in.waiters) == maxSharing; !in.full {
			in.waiters = append(in.waiters, rival{w.ID, w.Priority, false, filesOf(w.Files, WaitReason(w.WaitReason) == WaitRepoBusy)})
		}
	}
	return found, nil
}

// mayHave reports whether a job may have its files: no job has one of them, and none waits for
// one that comes before this job, unless this one has its place already. Those that have to
// yield are returned.
func (s *sharing) mayHave(r rival) (yielding []ids.ID, may bool) {
	place := slices.IndexFunc(s.waiters, func(w rival) bool { return w.id == r.id })
	has := slices.ContainsFunc(s.holders, func(h rival) bool { return h.id == r.id })
	if !has && (place < 0 && s.full || len(s.holders) >= maxSharing) {
		return nil, false
	}
	for i, w := range s.waiters {
		if has {
			break
		}
		ahead := w.priority > r.priority || w.priority == r.priority && (place < 0 || i < place)
		if ahead && w.id != r.id && w.files.Overlaps(r.files, &s.steps) {
			return nil, false
		}
	}
	for _, h := range s.holders {
		if h.id == r.id || !h.files.Overlaps(r.files, &s.steps) {
			continue
		}
		if !h.yields || h.priority >= r.priority {
			return nil, false
		}
		yielding = append(yielding, h.id)
	}
	return yielding, true
}

// let notes that a job has its files from now on.
func (s *sharing) let(r rival, yielding []ids.ID) {
	s.holders = slices.DeleteFunc(s.holders, func(h rival) bool { return h.id == r.id || slices.Contains(yielding, h.id) })
	s.holders = append(s.holders, r)
	s.waiters = slices.DeleteFunc(s.waiters, func(w rival) bool { return w.id == r.id })
}

// nextByPathsTx gives the jobs that may have paths of the repos by now, of each repo in the
// order in which they come next.
func nextByPathsTx(ctx context.Context, tx db.Tx, workspace ids.ID, repos []string) ([]ids.ID, error) {
	found, err := newSharing(ctx, tx, workspace, repos)
	if err != nil {
		return nil, err
	}
	var next []ids.ID
	for _, repo := range repos {
		in := found[repo]
		for _, w := range slices.Clone(in.waiters) {
			if yielding, may := in.mayHave(w); may {
				next = append(next, w.id)
				in.let(w, yielding)
			}
		}
	}
	return next, nil
}

// crowded marks those of the jobs as busy whose files another job of their repo may touch. Of
// jobs of one repo the most urgent come first. Who decides about a repo holds its lock, so that
// no two decide at once; whoever does not get it waits, and is looked at again.
func (a *admission) crowded(list []*Job, busy map[ids.ID]bool) error {
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
	found, err := newSharing(a.ctx, a.tx, a.workspace, repos)
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
		r := rival{j.ID, j.Priority, true, globs.Parse(j.claimed())}
		yielding, may := in.mayHave(r)
		if may {
			if may, err = a.preempt(yielding, j.Priority); err != nil {
				return err
			}
		}
		if !may {
			in.waiters = append(in.waiters, r) // no other one of the list passes it
			continue
		}
		in.let(r, yielding)
		a.slots = append(a.slots, slot{Repo: j.Repo, JobID: j.ID, Files: j.claimed()})
		delete(busy, j.ID)
	}
	return nil
}

// PathsBusy is what a job waits for that waits for paths: another one of its repo.
type PathsBusy struct {
	Job   string   // its key
	Agent string   // that works on it, if any
	Waits bool     // it waits too, and comes first
	Paths []string // some that both may touch
}

// maxWitnesses is how many paths are named that two jobs may touch.
const maxWitnesses = 5

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
	found, err := newSharing(ctx, tx, workspace, repos)
	if err != nil {
		return nil, err
	}
	busy, others := map[ids.ID]PathsBusy{}, map[ids.ID][]ids.ID{}
	for _, j := range list {
		in := found[j.Repo]
		r := rival{id: j.ID, priority: j.Priority, files: globs.Parse(j.claimed())}
		if other, paths, waits, is := in.blocking(r); is {
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

// blocking returns the job that keeps another one waiting, and paths that both may touch.
func (s *sharing) blocking(r rival) (other ids.ID, paths []string, waits, is bool) {
	holders := slices.Clone(s.holders)
	slices.SortStableFunc(holders, func(a, b rival) int {
		switch {
		case a.yields == b.yields:
			return 0
		case b.yields:
			return -1
		}
		return 1
	})
	for _, h := range holders {
		if paths, overlap := h.files.Overlap(r.files, maxWitnesses, &s.steps); overlap && h.id != r.id {
			return h.id, paths, false, true
		}
	}
	for _, w := range s.waiters {
		if w.id == r.id {
			break
		}
		if paths, overlap := w.files.Overlap(r.files, maxWitnesses, &s.steps); overlap {
			return w.id, paths, true, true
		}
	}
	return ids.Nil, nil, false, false
}
