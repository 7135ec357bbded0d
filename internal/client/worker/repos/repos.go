package repos

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	// Submodules are hosts beside that of the origin from which submodules are fetched.
	Submodules []string
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
	faults  faults            // what keeps clones from being offered
}

// Repo is a repository that is offered.
type Repo struct {
	Name string
	// URL is where it comes from, without credentials; "" where it is of this host alone.
	URL string
	// DefaultBranch is the one that attempts begin from, as far as it is known; "" where
	// nothing is committed yet.
	DefaultBranch string
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
	return &Repos{Options: o, reached: map[string]string{}, faults: faults{log: o.Log, at: map[string]Unreadable{}}}, nil
}

// Discover finds the repositories in Dir and those that Reach found, sorted by name.
func (r *Repos) Discover(ctx context.Context) ([]Repo, error) {
	var found []Repo
	clones, err := r.clones()
	if err != nil {
		return nil, err
	}
	r.faults.forgetGone(clones)
	for _, at := range clones {
		s, err := cloneAt(ctx, at)
		if err != nil {
			r.faults.note(at, err)
			continue
		}
		r.faults.forget(at)
		found = append(found, r.describe(ctx, s))
	}
	found = append(found, r.reachable(found)...)
	slices.SortFunc(found, func(a, b Repo) int { return strings.Compare(a.Name, b.Name) })
	return found, ctx.Err()
}

// Check reports whether an attempt could begin in a repository: its mirror is made, or fetched.
func (r *Repos) Check(ctx context.Context, name string) error {
	s, err := r.source(ctx, name)
	if err != nil {
		return err
	}
	_, err = r.mirrorFor(s).fresh(ctx)
	return err
}

// clones returns the directories of repositories in Dir.
func (r *Repos) clones() (dirs []string, err error) {
	if r.Dir == "" {
		return nil, nil
	}
	if isRepository(r.Dir) {
		return []string{r.Dir}, nil
	}
	entries, err := os.ReadDir(r.Dir)
	for _, e := range entries {
		if at := filepath.Join(r.Dir, e.Name()); goodName.MatchString(e.Name()) && isRepository(at) {
			dirs = append(dirs, at)
		}
	}
	return dirs, err
}

// goodName is the name of a repository as the API takes it, without what paths and options
// are made of.
var goodName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_. -]{0,63}$`)

// isRepository reports whether a directory is a clone or a bare repository.
func isRepository(dir string) bool {
	return exists(filepath.Join(dir, ".git")) || exists(filepath.Join(dir, "HEAD")) && exists(filepath.Join(dir, "objects"))
}

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// isOwnDir reports whether a path below the state is a directory there, and not a link to
// somebody else's.
func (r *Repos) isOwnDir(path string) bool {
	state, err := filepath.EvalSymlinks(r.State)
	if err != nil {
		return false
	}
	name, err := filepath.Rel(r.State, path)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	info, gone := os.Lstat(path)
	return err == nil && gone == nil && info.IsDir() && real == filepath.Join(state, name)
}

// describe says what is offered of a repository.
func (r *Repos) describe(ctx context.Context, s source) Repo {
	return Repo{Name: s.name, URL: publicURL(s.origin), DefaultBranch: cmp.Or(r.mirrorFor(s).knownDefault(), s.offered(ctx))}
}

// ErrUnknown is a repository that this host does not have.
var ErrUnknown = errors.New("this host does not have the repository")

// Find returns a repository by its name. The error is ErrUnknown where the host has none.
func (r *Repos) Find(ctx context.Context, name string) (Repo, error) {
	s, err := r.source(ctx, name)
	if err != nil {
		return Repo{}, err
	}
	return r.describe(ctx, s), nil
}

// source is where a repository of a name comes from.
func (r *Repos) source(ctx context.Context, name string) (source, error) {
	if !goodName.MatchString(name) {
		return source{}, fmt.Errorf("%w %q", ErrUnknown, name)
	}
	if r.Dir != "" {
		for _, at := range []string{filepath.Join(r.Dir, name), filepath.Join(r.Dir, name+".git"), r.Dir} {
			if repoName(at) == name && isRepository(at) {
				return cloneAt(ctx, at)
			}
		}
	}
	return r.reach(ctx, name)
}

// repoName returns the name of a repository in a directory.
func repoName(dir string) string { return strings.TrimSuffix(filepath.Base(dir), ".git") }

// source is where a repository comes from: a person's clone, or an address.
type source struct {
	name   string
	clone  string // the directory of the person's clone; "" for none
	gitDir string // that of the clone
	person
}

// cloneAt reads a person's clone. The error has git's words where it cannot be read.
func cloneAt(ctx context.Context, dir string) (source, error) {
	p, err := personIn(ctx, dir)
	if err != nil {
		return source{}, err
	}
	s := source{name: repoName(dir), clone: dir, person: p}
	s.gitDir, err = s.inClone().run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	return s, err
}

// from returns the address that the mirror is fetched from.
func (s source) from() string { return cmp.Or(s.origin, s.gitDir) }

// base returns a name that no other repository of the host has: two of one name never share.
func (s source) base() string { return s.name + "-" + digest(withoutCredentials(s.from())) }

// digest returns a short name of a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:8]
}

// inClone returns a call in the person's clone.
func (s source) inClone() call { return call{dir: s.clone, settings: s.settings} }

// offered returns the branch that attempts probably begin from, as far as the clone says; "" where
// nothing is committed yet.
func (s source) offered(ctx context.Context) string {
	if s.clone == "" {
		return ""
	}
	if at, err := s.inClone().run(ctx, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		return strings.TrimPrefix(at, "refs/remotes/origin/")
	}
	branch := s.headBranch(ctx)
	if branch == "" || !s.inClone().ok(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch) {
		return ""
	}
	return branch
}

// headBranch returns the branch that the clone's HEAD names, whether or not it has a commit; ""
// where it is detached, and for a branch of the worker's.
func (s source) headBranch(ctx context.Context) string {
	at, err := s.inClone().run(ctx, "symbolic-ref", "--quiet", "HEAD")
	if branch := strings.TrimPrefix(at, "refs/heads/"); err == nil && !strings.HasPrefix(branch, branchPrefix) {
		return branch
	}
	return ""
}
