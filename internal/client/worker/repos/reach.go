package repos

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Reach finds out which of the names Clone reaches, by calling the hosts.
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

// origin returns the first address of a name at which there is a repository.
func (r *Repos) origin(ctx context.Context, name string) (string, bool) {
	p, err := personIn(ctx, r.State)
	if err != nil {
		return "", false
	}
	for _, pattern := range r.Clone {
		origin := strings.Replace(pattern, "*", name, 1)
		c := call{dir: r.State, settings: p.settings, longest: fetchPatience}
		if c.ok(ctx, "ls-remote", "--quiet", "--exit-code", origin, "HEAD") {
			return origin, true
		}
	}
	return "", false
}

// reachable returns those that Reach found, but for those that are here.
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

// reach returns the repository at an address that a pattern reaches.
func (r *Repos) reach(ctx context.Context, name string) (source, error) {
	r.mu.Lock()
	origin := r.reached[name]
	r.mu.Unlock()
	if origin == "" {
		var ok bool
		if origin, ok = r.origin(ctx, name); !ok {
			return source{}, fmt.Errorf("%w %q", ErrUnknown, name)
		}
	}
	p, err := personIn(ctx, r.State)
	p.origin, p.push = origin, origin
	return source{name: name, person: p}, err
}
