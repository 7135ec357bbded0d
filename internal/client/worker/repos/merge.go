package repos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// MergeRequest is work that is to be merged.
type MergeRequest struct {
	Repo string
	// Commit is what was approved, and Branch the one that it was handed in on, which is
	// fetched where the commit is not here.
	Commit, Branch string
	// Into is the branch to merge into; "" is the default branch.
	Into string
	// FastForward refuses work that Into is not a part of; otherwise there is a merge
	// commit.
	FastForward bool
	// Message is that of the merge commit.
	Message string
	// Check must pass in a worktree of the result before anything is moved; nil checks
	// nothing.
	Check func(ctx context.Context, dir string) error
}

// What keeps work from being merged; the error's text says more.
var (
	// ErrConflict: it does not fit to what the branch has become.
	ErrConflict = errors.New("the work conflicts with the branch")
	// ErrCheck: what came out did not pass the check.
	ErrCheck = errors.New("the check of the merged work failed")
	// ErrInTheWay: somebody works on the branch in this clone, with changes that are not
	// committed.
	ErrInTheWay = errors.New("the branch is checked out with changes that are not committed")
)

// mergeTries is how often a merge begins anew when somebody else pushes meanwhile.
const mergeTries = 5

// merge is work that is merged into a branch of a mirror.
type merge struct {
	*mirror
	MergeRequest // Into is filled in

	repos *Repos
}

// Merge merges exactly the commit that was approved and returns the branch's new commit.
// Where there is an origin, it is pushed there, and nothing that somebody else pushes
// meanwhile is lost. A commit that is merged already is no error.
func (r *Repos) Merge(ctx context.Context, q MergeRequest) (commit string, err error) {
	m, err := r.newMerge(ctx, q)
	if err != nil {
		return "", err
	}
	for range mergeTries {
		commit, err = m.once(ctx)
		if !errors.Is(err, errMoved) {
			return commit, err
		}
	}
	return "", fmt.Errorf("%s moves faster than it can be merged into: %w", m.Into, err)
}

// newMerge finds the mirror of a merge's repository, and fills in the branch.
func (r *Repos) newMerge(ctx context.Context, q MergeRequest) (*merge, error) {
	s, err := r.source(ctx, q.Repo)
	if err != nil {
		return nil, err
	}
	m := &merge{r.mirrorFor(s), q, r}
	if m.Into == "" || !exists(m.dir) {
		if _, err := m.fresh(ctx); err != nil {
			return nil, err
		}
	}
	if m.Into == "" {
		m.Into = cmp.Or(m.knownDefault(), m.unborn(ctx))
	}
	if !goodBranch(m.Into) || !isHash.MatchString(m.Commit) {
		return nil, fmt.Errorf("%q cannot be merged into %q", m.Commit, m.Into)
	}
	return m, nil
}

// once merges into what the branch is now.
func (m *merge) once(ctx context.Context) (string, error) {
	old, err := m.target(ctx)
	if err != nil {
		return "", err
	}
	if old != "" && m.isMergedInto(ctx, old) {
		return old, nil // it is in there
	}
	merged, err := m.result(ctx, old)
	if err != nil {
		return "", err
	}
	return merged, m.move(ctx, old, merged)
}

// isMergedInto reports whether a commit has the work.
func (m *merge) isMergedInto(ctx context.Context, commit string) bool {
	return m.git().ok(ctx, "merge-base", "--is-ancestor", m.Commit, commit)
}

// result returns the commit that comes out of a merge into a commit. No branch has it yet. A check
// runs in a directory that has a repository of its own.
func (m *merge) result(ctx context.Context, old string) (string, error) {
	place, drop, err := m.makePlace()
	if err != nil {
		return "", err
	}
	defer drop()
	dir, index := filepath.Join(place, repoName(m.name)), filepath.Join(place, "index")
	if err := m.checkout(ctx, dir, index, cmp.Or(old, m.Commit)); err != nil {
		return "", err
	}
	merged := m.Commit // the first one of a branch is the branch
	if old != "" {
		if merged, err = m.combine(ctx, place, dir, old); err != nil {
			return "", err
		}
	}
	if m.Check == nil {
		return merged, nil
	}
	if err := m.furnish(ctx, dir, index, "", merged, m.repos.Author); err != nil {
		return "", err
	}
	if err := m.fillForCheck(ctx, dir, merged); err != nil {
		return "", err
	}
	if err := m.Check(ctx, dir); err != nil {
		return "", fmt.Errorf("%w: %w", ErrCheck, err)
	}
	return merged, nil
}

// target returns the commit of the branch that is merged into, "" where nothing is committed in
// the repository yet, and makes sure that the approved one is here.
func (m *merge) target(ctx context.Context) (string, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := m.fetchBranch(ctx, m.Into); err != nil {
		return "", m.orEmpty(ctx, err)
	}
	if err := m.bring(ctx); err != nil {
		return "", err
	}
	old, ok := m.resolveCommit(ctx, theirs+m.Into)
	if !ok {
		return "", fmt.Errorf("there is no branch %s in %s", m.Into, m.name)
	}
	return old, nil
}

// bring makes sure that the approved commit is here.
func (m *merge) bring(ctx context.Context) error {
	if m.has(ctx, m.Commit) {
		return nil
	}
	if !goodBranch(m.Branch) {
		return fmt.Errorf("the commit %s is not in %s", m.Commit, m.name)
	}
	if err := m.fetchBranch(ctx, m.Branch); err != nil {
		return err
	}
	if !m.has(ctx, m.Commit) {
		return fmt.Errorf("the commit %s is not on %s", m.Commit, m.Branch)
	}
	return nil
}

// orEmpty forgives that there is no branch to merge into where there is none at all, but for
// those of attempts: the approved commit becomes the first one.
func (m *merge) orEmpty(ctx context.Context, missing error) error {
	branches, err := m.network().run(ctx, "ls-remote", "--quiet", "--heads", "--end-of-options", m.from())
	if err != nil {
		return err
	}
	for line := range strings.Lines(branches) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "\t"+ours)
		if !isOurs(name) && name != "" {
			return missing
		}
	}
	return m.bring(ctx)
}

// makePlace makes a directory for a merge. Its lock keeps gc out as long as this process
// lives.
func (m *merge) makePlace() (place string, drop func(), err error) {
	parent := filepath.Join(m.repos.State, "merges")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	if place, err = os.MkdirTemp(parent, "merge-"); err != nil {
		return "", nil, err
	}
	l := flock.New(place + ".lock")
	if err := l.Lock(); err != nil {
		return "", nil, err
	}
	return place, func() {
		if err := errors.Join(removeAll(place), l.Unlock(), os.Remove(place+".lock")); err != nil {
			m.log.Warn("the directory of a merge stays: "+err.Error(), "dir", place)
		}
	}, nil
}

// combine merges the approved commit into what is checked out in a directory, in a repository
// that writes its objects into the mirror.
func (m *merge) combine(ctx context.Context, place, dir, old string) (string, error) {
	c, err := m.makeRepository(ctx, place, dir, old)
	if err != nil {
		return "", err
	}
	c.env = m.repos.identity()
	how := []string{"--no-ff", "-m", cmp.Or(m.Message, "Merge "+m.Commit)}
	if m.FastForward {
		how = []string{"--ff-only"}
	}
	args := append([]string{"merge", "--quiet", "--no-verify", "--no-gpg-sign"}, append(how, m.Commit)...)
	if _, err := c.run(ctx, args...); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		conflicts, listed := c.run(ctx, "diff", "--name-only", "--diff-filter=U")
		if listed == nil && conflicts != "" {
			return "", fmt.Errorf("%w in %s", ErrConflict, strings.ReplaceAll(conflicts, "\n", ", "))
		}
		if m.FastForward {
			return "", fmt.Errorf(
				"%w: %s has moved on since the work began, and the product merges by fast-forward only",
				ErrConflict,
				m.Into,
			)
		}
		return "", fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return c.run(ctx, "rev-parse", "HEAD")
}

// makeRepository makes the repository of a merge, beside the directory.
func (m *merge) makeRepository(ctx context.Context, place, dir, old string) (call, error) {
	format := "sha1"
	if len(old) == 64 {
		format = "sha256"
	}
	at := filepath.Join(place, "merge.git")
	if err := (call{dir: place}).do(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format, at); err != nil {
		return call{}, err
	}
	if err := copyText(filepath.Join(m.dir, "shallow"), filepath.Join(at, "shallow"), 64<<20); err != nil {
		return call{}, err
	}
	c := call{dir: dir, repo: at, workTree: dir, index: filepath.Join(place, "index"), objects: filepath.Join(m.dir, "objects"),
		settings: m.filters(), longest: clonePatience}
	return c, c.do(ctx, "update-ref", "--no-deref", "HEAD", old)
}

// fillForCheck checks out the submodules of merged work.
func (m *merge) fillForCheck(ctx context.Context, dir, commit string) error {
	f := &modules{r: m.repos, left: maxModules}
	err := f.fill(ctx, m.mirror, dir, commit, "", 1)
	for _, sentence := range f.said {
		m.log.Warn(sentence, "repo", m.name, "commit", commit)
	}
	return err
}

// goodBranch reports whether a name may be that of a branch, and is no option.
func goodBranch(name string) bool {
	return name != "" && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, ".lock") &&
		!strings.ContainsAny(name, " ~^:?*[\\\x00\n") && !strings.Contains(name, "..") && !strings.Contains(name, "@{")
}
