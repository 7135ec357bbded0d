package repos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// Reach finds out which of the names Clone reaches, by asking the hosts.
func (r *Repos) Reach(ctx context.Context, names []string) {
	for _, name := range names {
		if ctx.Err() != nil || len(r.Clone) == 0 || !goodName.MatchString(name) {
			continue
		}
		origin, ok := r.origin(ctx, name)
		r.mu.Lock()
		if ok {
			r.reached[name] = origin
		} else {
			delete(r.reached, name)
		}
		r.mu.Unlock()
	}
}

// origin is the first address of a name at which there is a repository.
func (r *Repos) origin(ctx context.Context, name string) (string, bool) {
	for _, pattern := range r.Clone {
		origin := strings.Replace(pattern, "*", name, 1)
		ctx, cancel := context.WithTimeout(ctx, fetchPatience)
		_, err := git(ctx, r.State, "ls-remote", "--quiet", "--exit-code", origin, "HEAD")
		cancel()
		if err == nil {
			return origin, true
		}
	}
	return "", false
}

// reachable are those that Reach found, but for those that are here.
func (r *Repos) reachable(here []Repo) []Repo {
	r.mu.Lock()
	defer r.mu.Unlock()
	var more []Repo
	for name, origin := range r.reached {
		if !slices.ContainsFunc(here, func(repo Repo) bool { return repo.Name == name }) {
			more = append(more, Repo{Name: name, URL: publicURL(origin)})
		}
	}
	return more
}

// mirror returns the mirror of a repository that a pattern reaches, cloned where it is not
// there yet.
func (r *Repos) mirror(ctx context.Context, name string) (Repo, error) {
	r.mu.Lock()
	origin := r.reached[name]
	r.mu.Unlock()
	if origin == "" {
		var ok bool
		if origin, ok = r.origin(ctx, name); !ok {
			return Repo{}, fmt.Errorf("%w %q", ErrUnknown, name)
		}
	}
	return r.cloneMirror(ctx, name, origin)
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
		if _, err := gitFor(ctx, clonePatience, filepath.Dir(dir), nil, args...); err != nil {
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
