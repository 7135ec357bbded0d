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
}

// Removal is something that was removed, or would be.
type Removal struct{ What, Why string }

// GC removes what nobody needs: worktrees whose process is gone, branches of attempts that
// are in the default branch or in another branch, and mirrors that were not used for long.
// Work that is not merged and is nowhere else is never removed, nor is a worktree in use; what
// was not committed in a worktree is committed first. Called again it finds nothing more.
func (r *Repos) GC(ctx context.Context, o GCOptions) ([]Removal, error) {
	removed, err := r.gcTrees(ctx, o)
	faults := []error{err}
	some, err := r.gcMerges(o)
	removed, faults = append(removed, some...), append(faults, err)
	mirrors, err := r.mirrors(ctx)
	faults = append(faults, err)
	for _, m := range mirrors {
		if !o.DryRun {
			faults = append(faults, m.pack(ctx))
		}
		for _, collect := range []func(context.Context, *mirror, GCOptions) ([]Removal, error){r.gcBranches, r.gcMirror} {
			some, err := collect(ctx, m, o)
			removed, faults = append(removed, some...), append(faults, err)
		}
	}
	return removed, errors.Join(faults...)
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

// mirrors are those of the host. Those of its clones know them.
func (r *Repos) mirrors(ctx context.Context) ([]*mirror, error) {
	dirs, err := filepath.Glob(filepath.Join(r.State, "mirrors", "*.git"))
	if err != nil {
		return nil, err
	}
	known := map[string]source{}
	clones, err := r.clones()
	for _, at := range clones {
		if s, err := cloneAt(ctx, at); err == nil {
			known[s.base()] = s
		}
	}
	var all []*mirror
	for _, dir := range dirs {
		s, ok := known[repoName(dir)]
		if !ok {
			s.name = mirrorSuffix.ReplaceAllString(repoName(dir), "")
		}
		all = append(all, &mirror{source: s, dir: dir, log: r.Log})
	}
	return all, err
}

// mirrorSuffix is what the name of a mirror has after that of the repository.
var mirrorSuffix = regexp.MustCompile(`-[0-9a-f]{8}$`)

// gcTrees removes the worktrees that no process uses, after it has saved what is in them.
func (r *Repos) gcTrees(ctx context.Context, o GCOptions) (removed []Removal, err error) {
	all, err := r.leftBehind(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if o.Awaited != nil && o.Awaited(w.attempt.Name()) {
			continue
		}
		w.lock = flock.New(w.Dir + ".lock")
		if free, err := w.lock.TryLock(); err != nil || !free {
			continue // an attempt works in it
		}
		if exists(w.Dir) && w.owner() == w.attempt.Name() {
			removed = append(removed, Removal{"worktree " + w.Dir, "no process works in it"})
			err = w.putAway(ctx, o)
		} else if w.tip == "" && !o.DryRun { // its work is elsewhere, or it never had any
			err = os.RemoveAll(w.private)
		}
		if err := errors.Join(err, w.lock.Unlock()); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// putAway saves what is in a worktree and removes its directory. What is known of the attempt
// stays as long as its branch does: its report may not have been sent.
func (w *Worktree) putAway(ctx context.Context, o GCOptions) error {
	if o.DryRun {
		return nil
	}
	if w.tip != "" {
		w.saveLeft(ctx, "the worker was killed")
	}
	return w.removeDir()
}

// gcMerges removes the directories of merges whose process is gone: nothing of theirs is
// anybody's work.
func (r *Repos) gcMerges(o GCOptions) (removed []Removal, err error) {
	places, err := filepath.Glob(filepath.Join(r.State, "merges", "merge-*"))
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		if strings.HasSuffix(place, ".lock") {
			continue
		}
		l := flock.New(place + ".lock")
		if free, err := l.TryLock(); err != nil || !free {
			continue
		}
		removed = append(removed, Removal{"merge " + place, "no process works in it"})
		if !o.DryRun {
			err = errors.Join(removeAll(place), os.Remove(place+".lock"))
		}
		if err := errors.Join(err, l.Unlock()); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// gcBranches removes the branches of attempts whose work is elsewhere too, but for those
// that an attempt works on.
func (r *Repos) gcBranches(ctx context.Context, m *mirror, o GCOptions) (removed []Removal, err error) {
	list, err := m.git().run(ctx, "for-each-ref", "--format=%(refname)", ours+branchPrefix, ours+quarantinePrefix)
	if err != nil {
		return nil, err
	}
	used, err := r.branchesInUse(ctx)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{} // a dry run says what a run does
	for ref := range strings.FieldsSeq(list) {
		branch := strings.TrimPrefix(ref, ours)
		if used[branch] {
			continue
		}
		where, err := m.elsewhere(ctx, branch, gone)
		if err != nil {
			return removed, err
		}
		if where == "" {
			continue
		}
		gone[branch] = true
		removed = append(removed, Removal{"branch " + branch + " of " + m.name, "its work is in " + where})
		if !o.DryRun {
			if err := m.dropBranch(ctx, branch); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// keepPending is how long the branch of an attempt stays whose directory is gone and that may
// still be pushed.
const keepPending = 24 * time.Hour

// branchesInUse are those of attempts that have not ended.
func (r *Repos) branchesInUse(ctx context.Context) (map[string]bool, error) {
	all, err := r.leftBehind(ctx)
	used := map[string]bool{}
	for _, w := range all {
		info, err := os.Stat(filepath.Join(w.private, keptFile))
		used[w.Branch] = exists(w.Dir) && w.owner() == w.attempt.Name() || err == nil && time.Since(info.ModTime()) < keepPending
	}
	return used, err
}

// dropBranch removes a branch of the mirror and, where there is no origin, the one that was
// put into the clone, if it is the same.
func (m *mirror) dropBranch(ctx context.Context, branch string) error {
	commit, ok := m.resolveCommit(ctx, ours+branch)
	if ok && m.origin == "" && m.clone != "" {
		if place, err := m.findCheckout(ctx, branch); err == nil && place == "" {
			_ = m.inClone().do(ctx, "update-ref", "-d", ours+branch, commit) // the person may have moved it
		}
	}
	return m.git().do(ctx, "update-ref", "-d", ours+branch)
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

// gcMirror removes a mirror that nobody used for long and that holds nothing of its own.
func (r *Repos) gcMirror(ctx context.Context, m *mirror, o GCOptions) ([]Removal, error) {
	if time.Since(m.fetched()) < o.KeepUnused {
		return nil, nil
	}
	l := flock.New(m.dir + ".lock")
	if free, err := l.TryLock(); err != nil || !free {
		return nil, err
	}
	defer func() { _ = l.Unlock() }() // closing the file frees it
	all, err := r.leftBehind(ctx)
	if err != nil || slices.ContainsFunc(all, func(w *Worktree) bool { return w.mirror.dir == m.dir && exists(w.Dir) }) {
		return nil, err
	}
	own, err := m.git().run(ctx, "rev-list", "--max-count=1", "--branches", "--glob="+leftPrefix, "--not", "--remotes")
	if err != nil || own != "" {
		return nil, err
	}
	removal := []Removal{{"mirror " + m.dir, "it was not used for " + o.KeepUnused.String()}}
	if o.DryRun {
		return removal, nil
	}
	return removal, os.RemoveAll(m.dir)
}
