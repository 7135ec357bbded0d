package repos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	// retryLock is how often a taken lock is tried again.
	retryLock = 20 * time.Millisecond
	// freshFor is how long a repository that was fetched is new enough.
	freshFor = 10 * time.Second
	// fetchPatience is how long an attempt waits for the origin.
	fetchPatience = 30 * time.Second
)

// mirror returns the mirror of a repository that a pattern reaches, cloned where it is not
// there yet.
func (r *Repos) mirror(ctx context.Context, name string) (Repo, error) {
	for _, pattern := range r.Clone {
		origin := strings.Replace(pattern, "*", name, 1)
		repo, err := r.cloneMirror(ctx, name, origin)
		if err == nil {
			return repo, nil
		}
		if len(r.Clone) == 1 || ctx.Err() != nil {
			return Repo{}, err
		}
	}
	return Repo{}, fmt.Errorf("%w %q", ErrUnknown, name)
}

// cloneMirror clones under a lock of the host.
func (r *Repos) cloneMirror(ctx context.Context, name, origin string) (Repo, error) {
	dir := filepath.Join(r.State, "mirrors", name+".git")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return Repo{}, err
	}
	l := flock.New(dir + ".lock")
	if _, err := l.TryLockContext(ctx, retryLock); err != nil {
		return Repo{}, err
	}
	defer func() { _ = l.Unlock() }() // closing the file frees it
	if _, err := os.Stat(dir); err != nil {
		if err := clone(ctx, origin, dir); err != nil {
			return Repo{}, err
		}
	}
	repo := describe(ctx, dir)
	repo.Name = name
	return repo, nil
}

// clone makes a bare clone whose branches of the origin are remote ones, so that those of
// attempts are never mixed with them.
func clone(ctx context.Context, origin, dir string) error {
	half := dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	steps := [][]string{
		{"init", "--quiet", "--bare", half},
		{"-C", half, "remote", "add", "origin", origin},
		{"-C", half, "fetch", "--quiet", "origin"},
		{"-C", half, "remote", "set-head", "origin", "--auto"},
	}
	for _, args := range steps {
		if _, err := git(ctx, filepath.Dir(dir), args...); err != nil {
			return err
		}
	}
	return os.Rename(half, dir)
}

// refresh fetches what is new at the origin, where there is one. An origin that does not
// answer keeps no attempt from beginning.
func (r *Repos) refresh(ctx context.Context, repo Repo) {
	remote, err := hasOrigin(ctx, repo)
	if err != nil || !remote || fetched(repo.path).Add(freshFor).After(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	if _, err := git(ctx, repo.path, "fetch", "--quiet", "--no-tags", "origin"); err != nil {
		r.Log.Warn("the origin could not be fetched; the work begins from what is here: "+err.Error(), "repo", repo.Name)
	}
}

// fetched is when a repository was fetched last.
func fetched(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "FETCH_HEAD"))
	if err != nil {
		info, err = os.Stat(filepath.Join(dir, ".git", "FETCH_HEAD"))
	}
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
