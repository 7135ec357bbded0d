package repos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// GCOptions say what to clean up.
type GCOptions struct {
	// DryRun removes nothing.
	DryRun bool
	// Awaited reports whether the worktree of an attempt, by its name, waits for the worker to go
	// on with it: it stays. nil is none.
	Awaited func(name string) bool
	// KeepUnused is how long a mirror stays that nobody uses.
	KeepUnused time.Duration
	// Ended returns the branches of jobs of a repository, by their keys, that ended so long ago
	// that the origin needs them no more. nil leaves the origins alone.
	Ended func(ctx context.Context, repo string, keys []string) ([]EndedBranch, error)
}

// Removal is something that was removed, or would be.
type Removal struct{ What, Why string }

// removal is one that is planned. do reports false where it is not to be removed any more.
type removal struct {
	Removal
	do func(context.Context) (bool, error)
}

// GC removes what nobody needs: worktrees whose process is gone, branches of attempts that
// are in the default branch or in another branch, branches at the origin of jobs that ended
// long ago, and mirrors that were not used for long. Work that is not merged and is nowhere
// else is never removed from this host, nor is a worktree in use; what was not committed in a
// worktree is committed first. All is planned before anything is removed, so that a dry run
// says what a run does.
func (r *Repos) GC(ctx context.Context, o GCOptions) ([]Removal, error) {
	planned, err := cleanup{r, o}.plan(ctx)
	faults := []error{err}
	removed := make([]Removal, 0, len(planned))
	for _, p := range planned {
		done := true
		if !o.DryRun {
			if done, err = p.do(ctx); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", p.What, err))
				continue
			}
		}
		if done {
			removed = append(removed, p.Removal)
		}
	}
	return removed, errors.Join(faults...)
}

// cleanup finds what nobody needs.
type cleanup struct {
	*Repos
	GCOptions
}

// plan lists what nobody needs, as things are now.
func (g cleanup) plan(ctx context.Context) (planned []removal, _ error) {
	var faults []error
	add := func(some []removal, err error) { planned, faults = append(planned, some...), append(faults, err) }
	add(g.planTrees(ctx))
	add(g.planMerges())
	add(g.planModules(ctx))
	mirrors, err := g.mirrors(ctx)
	faults = append(faults, err)
	for _, m := range mirrors {
		if !g.DryRun {
			faults = append(faults, m.pack(ctx))
		}
		add(g.planBranches(ctx, m))
		add(g.planOrigin(ctx, m))
		add(g.planMirror(ctx, m))
	}
	return planned, errors.Join(faults...)
}

const (
	// maxLoose and maxPacks are how many objects and packs a mirror may have before they are
	// packed together.
	maxLoose = 2000
	maxPacks = 30
)

// pack packs the objects of a mirror together, where there are many files of them. No object
// goes: attempts borrow them, also those that nothing names any more.
func (m *mirror) pack(ctx context.Context) error {
	counts, err := m.git().run(ctx, "count-objects", "-v")
	if err != nil {
		return err
	}
	var loose, packs int
	for line := range strings.Lines(counts) {
		for name, n := range map[string]*int{"count: %d": &loose, "packs: %d": &packs} {
			_, _ = fmt.Sscanf(line, name, n) // most lines are of others
		}
	}
	if loose < maxLoose && packs < maxPacks {
		return nil
	}
	c := m.git()
	c.longest = clonePatience
	return c.do(ctx, "repack", "--quiet", "-d", "--geometric=2")
}

// mirrors returns those of the host. Those of its clones know them.
func (g cleanup) mirrors(ctx context.Context) ([]*mirror, error) {
	dirs, err := filepath.Glob(filepath.Join(g.State, "mirrors", "*.git"))
	if err != nil {
		return nil, err
	}
	known := map[string]source{}
	clones, unread := g.clones()
	for _, at := range clones {
		if s, err := cloneAt(ctx, at); err == nil {
			known[s.base()] = s
		}
	}
	var all []*mirror
	for _, dir := range dirs {
		s, ok := known[repoName(dir)]
		if !ok {
			name := mirrorSuffix.ReplaceAllString(repoName(dir), "")
			reached, err := g.reach(ctx, name)
			if s = reached; err != nil || s.base() != repoName(dir) {
				s = source{name: name} // where it came from is not known any more
			}
		}
		all = append(all, &mirror{source: s, dir: dir, log: g.Log})
	}
	return all, unread
}

// mirrorSuffix is what the name of a mirror has after that of the repository.
var mirrorSuffix = regexp.MustCompile(`-[0-9a-f]{8}$`)

// planTrees lists the worktrees that no process uses. What is in them is saved before they go.
func (g cleanup) planTrees(ctx context.Context) (planned []removal, err error) {
	all, err := g.leftBehind(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if g.Awaited != nil && g.Awaited(w.attempt.Name()) {
			continue
		}
		left := leftover{w}
		why := left.unused()
		if why == "" {
			continue
		}
		planned = append(planned, removal{Removal{left.describe(), why}, func(ctx context.Context) (bool, error) {
			return left.putAway(ctx, why)
		}})
	}
	return planned, nil
}

// Why a worktree is removed.
const (
	whyNobody  = "no process works in it"
	whyNothing = "the attempt left nothing"
)

// leftover is what is left of an attempt whose process may be gone.
type leftover struct{ *Worktree }

func (w leftover) describe() string {
	if w.isInPlace() {
		return "worktree " + w.Dir
	}
	return "notes " + w.private
}

// unused is why what is left of an attempt is not needed, "" where it is.
func (w leftover) unused() string {
	lock := flock.New(w.Dir + ".lock")
	if free, err := lock.TryLock(); err != nil || !free {
		return "" // an attempt works in it
	}
	defer func() { _ = lock.Unlock() }() // closing the file frees it
	switch {
	case w.isInPlace():
		return whyNobody
	case w.tip == "": // its work is elsewhere, or it never had any
		return whyNothing
	}
	return ""
}

// putAway saves what is in a worktree and removes its directory, if that is still not needed.
// What is known of the attempt stays as long as its branch does: its report may not have been
// sent.
func (w leftover) putAway(ctx context.Context, why string) (bool, error) {
	w.lock = flock.New(w.Dir + ".lock")
	if free, err := w.lock.TryLock(); err != nil || !free {
		return false, err // an attempt works in it by now
	}
	defer func() { _ = w.lock.Unlock() }() // closing the file frees it
	if why == whyNothing {
		return true, os.RemoveAll(w.private)
	}
	if !w.isInPlace() {
		return false, nil
	}
	if w.tip != "" {
		w.saveLeft(ctx, "the worker was killed")
	}
	return true, w.removeDir()
}

// planMerges lists the directories of merges whose process is gone: nothing of theirs is
// anybody's work.
func (g cleanup) planMerges() (planned []removal, err error) {
	places, err := filepath.Glob(filepath.Join(g.State, "merges", "merge-*"))
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		if strings.HasSuffix(place, ".lock") {
			continue
		}
		remove := func(drop bool) (bool, error) {
			l := flock.New(place + ".lock")
			if free, err := l.TryLock(); err != nil || !free {
				return false, nil //nolint:nilerr // a process works in it
			}
			var err error
			if drop {
				err = errors.Join(removeAll(place), os.Remove(place+".lock"))
			}
			return true, errors.Join(err, l.Unlock())
		}
		if free, err := remove(false); free && err == nil {
			planned = append(planned, removal{Removal{"merge " + place, whyNobody},
				func(context.Context) (bool, error) { return remove(true) }})
		}
	}
	return planned, nil
}

// planBranches lists the branches of attempts whose work is elsewhere too, but for those that
// an attempt works on.
func (g cleanup) planBranches(ctx context.Context, m *mirror) (planned []removal, err error) {
	list, err := m.git().run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", ours+branchPrefix, ours+quarantinePrefix)
	if err != nil {
		return nil, err
	}
	used, err := g.branchesInUse(ctx)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{} // of two branches with the same work one stays
	for line := range strings.Lines(list) {
		ref, tip, _ := strings.Cut(strings.TrimSpace(line), " ")
		branch := strings.TrimPrefix(ref, ours)
		if used[branch] {
			continue
		}
		where, err := m.elsewhere(ctx, branch, gone)
		if err != nil {
			return planned, err
		}
		if where == "" {
			continue
		}
		gone[branch] = true
		planned = append(planned, removal{Removal{"branch " + branch + " of " + m.name, "its work is in " + where},
			func(ctx context.Context) (bool, error) { return m.dropBranch(ctx, branch, tip) }})
	}
	return planned, nil
}

// keepPending is how long the branch of an attempt stays whose directory is gone and that may
// still be pushed.
const keepPending = 24 * time.Hour

// branchesInUse returns those of attempts that have not ended.
func (g cleanup) branchesInUse(ctx context.Context) (map[string]bool, error) {
	all, err := g.leftBehind(ctx)
	used := map[string]bool{}
	for _, w := range all {
		info, err := os.Stat(filepath.Join(w.private, keptFile))
		used[w.Branch] = w.isInPlace() || err == nil && time.Since(info.ModTime()) < keepPending
	}
	return used, err
}

// dropBranch removes a branch of the mirror and, where there is no origin, the one that was
// put into the clone, if they are still the commit and its work is still elsewhere.
func (m *mirror) dropBranch(ctx context.Context, branch, commit string) (bool, error) {
	if now, ok := m.resolveCommit(ctx, ours+branch); !ok || now != commit {
		return false, nil
	}
	if where, err := m.elsewhere(ctx, branch, nil); where == "" || err != nil {
		return false, err
	}
	if m.origin == "" && m.clone != "" {
		if place, err := m.findCheckout(ctx, branch); err == nil && place == "" {
			_ = m.inClone().do(ctx, "update-ref", "-d", ours+branch, commit) // the person may have moved it
		}
	}
	return true, m.git().do(ctx, "update-ref", "-d", ours+branch, commit)
}

// elsewhere is another branch that holds the newest commit of a branch: the default one
// before others; "" for none.
func (m *mirror) elsewhere(ctx context.Context, branch string, gone map[string]bool) (string, error) {
	if name := m.knownDefault(); name != "" && m.git().ok(ctx, "merge-base", "--is-ancestor", ours+branch, theirs+name) {
		return name, nil
	}
	holders, err := m.git().run(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "--contains", ours+branch, ours)
	if err != nil {
		return "", err
	}
	for holder := range strings.FieldsSeq(holders) {
		if holder != branch && !gone[holder] {
			return holder, nil
		}
	}
	return "", nil
}

// planMirror lists a mirror that nobody used for long and that holds nothing of its own.
func (g cleanup) planMirror(ctx context.Context, m *mirror) ([]removal, error) {
	unused, err := g.isUnused(ctx, m, func() error { return nil })
	if !unused || err != nil {
		return nil, err
	}
	why := "it was not used for " + g.KeepUnused.String()
	return []removal{{Removal{"mirror " + m.dir, why}, func(ctx context.Context) (bool, error) {
		return g.isUnused(ctx, m, func() error { return os.RemoveAll(m.dir) })
	}}}, nil
}

// isUnused reports whether a mirror was not used for KeepUnused and holds nothing of its own. Where
// it is so, it does something while nobody else can begin to use it.
func (g cleanup) isUnused(ctx context.Context, m *mirror, do func() error) (bool, error) {
	if time.Since(m.fetched()) < g.KeepUnused {
		return false, nil
	}
	l := flock.New(m.dir + ".lock")
	if free, err := l.TryLock(); err != nil || !free {
		return false, err
	}
	defer func() { _ = l.Unlock() }() // closing the file frees it
	all, err := g.leftBehind(ctx)
	if err != nil || slices.ContainsFunc(all, func(w *Worktree) bool { return w.mirror.dir == m.dir && exists(w.Dir) }) {
		return false, err
	}
	own, err := m.git().run(ctx, "rev-list", "--max-count=1", "--branches", "--glob="+leftPrefix, "--not", "--remotes")
	if err != nil || own != "" {
		return false, err
	}
	return true, do()
}
