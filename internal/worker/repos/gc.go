package repos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// GCOptions say what to clean up.
type GCOptions struct {
	// DryRun removes nothing.
	DryRun bool
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
	found, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	var removed []Removal
	var faults []error
	for _, repo := range found {
		for _, collect := range []func(context.Context, Repo, GCOptions) ([]Removal, error){r.gcTrees, r.gcBranches, r.gcMirror} {
			some, err := collect(ctx, repo, o)
			removed, faults = append(removed, some...), append(faults, err)
		}
	}
	return removed, errors.Join(faults...)
}

// all are the repositories of the host and its mirrors.
func (r *Repos) all(ctx context.Context) ([]Repo, error) {
	found, err := r.Discover(ctx)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(repo Repo) bool { return repo.path == "" })
	mirrors, err := filepath.Glob(filepath.Join(r.State, "mirrors", "*.git"))
	for _, dir := range mirrors {
		found = append(found, describe(ctx, dir))
	}
	return found, err
}

// gcTrees removes the worktrees that no process uses.
func (r *Repos) gcTrees(ctx context.Context, repo Repo, o GCOptions) (removed []Removal, err error) {
	dirs, err := filepath.Glob(filepath.Join(r.worktrees(repo.Name), "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue // its lock
		}
		l := flock.New(dir + ".lock")
		if free, err := l.TryLock(); err != nil || !free {
			continue // an attempt works in it
		}
		removed = append(removed, Removal{"worktree " + dir, "no process works in it"})
		if !o.DryRun {
			w := &Worktree{Dir: dir, repos: r, repo: repo, lock: l}
			if err := r.removeTree(ctx, w); err != nil {
				return removed, errors.Join(err, l.Unlock())
			}
		}
		if err := l.Unlock(); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func (r *Repos) removeTree(ctx context.Context, w *Worktree) error {
	unlock, err := r.lock(ctx, w.repo)
	if err != nil {
		return err
	}
	defer unlock()
	return w.clear(ctx)
}

// gcBranches removes the branches of attempts whose work is elsewhere too.
func (r *Repos) gcBranches(ctx context.Context, repo Repo, o GCOptions) (removed []Removal, err error) {
	unlock, err := r.lock(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := git(
		ctx,
		repo.path,
		"for-each-ref",
		"--format=%(refname:short)",
		"refs/heads/"+branchPrefix,
		"refs/heads/"+quarantinePrefix,
	)
	if err != nil {
		return nil, err
	}
	for branch := range strings.FieldsSeq(list) {
		if place, err := placeOf(ctx, repo, branch); err != nil || place != "" {
			continue // it is checked out
		}
		where, err := elsewhere(ctx, repo, branch)
		if err != nil {
			return removed, err
		}
		if where == "" {
			continue
		}
		removed = append(removed, Removal{"branch " + branch + " of " + repo.Name, "its work is in " + where})
		if o.DryRun {
			continue
		}
		if _, err := git(ctx, repo.path, "branch", "--quiet", "--delete", "--force", branch); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// elsewhere is another branch that holds the newest commit of a branch: the default one
// before others; "" for none.
func elsewhere(ctx context.Context, repo Repo, branch string) (string, error) {
	for _, ref := range []string{"refs/remotes/origin/" + repo.DefaultBranch, "refs/heads/" + repo.DefaultBranch} {
		if _, err := git(ctx, repo.path, "merge-base", "--is-ancestor", "refs/heads/"+branch, ref); err == nil {
			return repo.DefaultBranch, nil
		}
	}
	holders, err := git(ctx, repo.path, "for-each-ref", "--format=%(refname:short)", "--contains", "refs/heads/"+branch, "refs/heads/")
	if err != nil {
		return "", err
	}
	for holder := range strings.FieldsSeq(holders) {
		if holder != branch {
			return holder, nil
		}
	}
	return "", nil
}

// gcMirror removes a mirror that nobody used for long and that holds nothing of its own.
func (r *Repos) gcMirror(ctx context.Context, repo Repo, o GCOptions) ([]Removal, error) {
	if filepath.Dir(repo.path) != filepath.Join(r.State, "mirrors") || time.Since(fetched(repo.path)) < o.KeepUnused {
		return nil, nil
	}
	l := flock.New(repo.path + ".lock")
	if free, err := l.TryLock(); err != nil || !free {
		return nil, err
	}
	defer func() { _ = l.Unlock() }() // closing the file frees it
	trees, err := git(ctx, repo.path, "worktree", "list", "--porcelain")
	if err != nil || strings.Count(trees, "worktree ") > 1 {
		return nil, err
	}
	own, err := git(ctx, repo.path, "log", "--format=%h", "--max-count=1", "--branches", "--not", "--remotes")
	if err != nil || own != "" {
		return nil, err
	}
	removal := []Removal{{"mirror " + repo.path, "it was not used for " + o.KeepUnused.String()}}
	if o.DryRun {
		return removal, nil
	}
	return removal, os.RemoveAll(repo.path)
}
