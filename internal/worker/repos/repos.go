package repos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"
)

// Options say where repositories are.
type Options struct {
	// Dir is a repository, or a directory of them; "" where only Clone offers some.
	Dir string
	// State is where worktrees and mirrors are made.
	State string
	// Clone are addresses with one * for the name: those that Reach has found are offered,
	// and cloned when a job needs one.
	Clone []string
	// Author makes the commits.
	Author Identity
	Log    *slog.Logger
}

// Identity is who commits.
type Identity struct{ Name, Email string }

// Repos are the repositories of a host. Its methods may be called by several goroutines.
type Repos struct {
	Options
	mu      sync.Mutex
	reached map[string]string // addresses by the names that Clone reaches
}

// Repo is a repository that is offered.
type Repo struct {
	Name string
	// URL is where it comes from, without credentials; "" where it is of this host alone.
	URL string
	// DefaultBranch is the one that attempts begin from; "" where nothing is committed yet.
	DefaultBranch string
	path          string // of the clone or mirror
}

// Open checks the options. The error says what is wrong with them.
func Open(o Options) (*Repos, error) {
	if o.Dir != "" {
		abs, err := filepath.Abs(o.Dir)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(abs); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("there is no directory %s", o.Dir)
		}
		o.Dir = abs
	}
	state, err := filepath.Abs(o.State)
	if err != nil {
		return nil, err
	}
	o.State = state
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	for _, p := range o.Clone {
		if strings.Count(p, "*") != 1 || strings.HasPrefix(p, "-") {
			return nil, fmt.Errorf(
				"%q must be an address with one * for the name, such as https://git.example.com/team/*",
				withoutCredentials(p),
			)
		}
	}
	return &Repos{Options: o, reached: map[string]string{}}, nil
}

// Discover finds the repositories in Dir and those that Reach found, sorted by name.
func (r *Repos) Discover(ctx context.Context) ([]Repo, error) {
	var found []Repo
	if r.Dir != "" && isRepository(r.Dir) {
		found = append(found, describe(ctx, r.Dir))
	} else if r.Dir != "" {
		entries, err := os.ReadDir(r.Dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if at := filepath.Join(r.Dir, e.Name()); isRepository(at) && goodName.MatchString(e.Name()) {
				found = append(found, describe(ctx, at))
			}
		}
	}
	found = append(found, r.reachable(found)...)
	slices.SortFunc(found, func(a, b Repo) int { return strings.Compare(a.Name, b.Name) })
	return found, ctx.Err()
}

// goodName is the name of a repository as the API takes it, without what paths and options
// are made of.
var goodName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_. -]{0,63}$`)

// isRepository reports whether a directory is a clone or a bare repository.
func isRepository(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		return true
	}
	_, head := os.Stat(filepath.Join(dir, "HEAD"))
	_, objects := os.Stat(filepath.Join(dir, "objects"))
	return head == nil && objects == nil
}

// describe says what is offered of a repository.
func describe(ctx context.Context, path string) Repo {
	repo := Repo{Name: strings.TrimSuffix(filepath.Base(path), ".git"), path: path}
	if origin, err := git(ctx, path, "remote", "get-url", "origin"); err == nil {
		repo.URL = publicURL(origin)
	}
	repo.DefaultBranch = defaultBranch(ctx, path)
	return repo
}

// defaultBranch is that of the origin, else the one that is checked out.
func defaultBranch(ctx context.Context, path string) string {
	if head, err := git(ctx, path, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"); err == nil {
		return strings.TrimPrefix(head, "origin/")
	}
	head, err := git(ctx, path, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil || strings.HasPrefix(head, branchPrefix) {
		return ""
	}
	if _, err := git(ctx, path, "rev-parse", "--verify", "--quiet", "refs/heads/"+head); err != nil {
		return ""
	}
	return head
}

// ErrUnknown is a repository that this host does not have.
var ErrUnknown = errors.New("this host does not have the repository")

// Find returns a repository by its name. The error is ErrUnknown where the host has none.
func (r *Repos) Find(ctx context.Context, name string) (Repo, error) {
	if !goodName.MatchString(name) {
		return Repo{}, fmt.Errorf("%w %q", ErrUnknown, name)
	}
	if r.Dir != "" {
		for _, at := range []string{filepath.Join(r.Dir, name), filepath.Join(r.Dir, name+".git"), r.Dir} {
			if strings.TrimSuffix(filepath.Base(at), ".git") == name && isRepository(at) {
				return describe(ctx, at), nil
			}
		}
	}
	return r.mirror(ctx, name)
}

// lock takes a repository's lock of this host, for what attempts share.
func (r *Repos) lock(ctx context.Context, repo Repo) (unlock func(), err error) {
	common, err := git(ctx, repo.path, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(common, "fleetboard.lock"))
	if _, err := l.TryLockContext(ctx, retryLock); err != nil {
		return nil, fmt.Errorf("the lock of %s: %w", repo.Name, err)
	}
	return func() { _ = l.Unlock() }, nil // closing the file frees it
}
