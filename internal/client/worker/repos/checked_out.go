package repos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// CheckOutRequest is a commit that somebody is to look at.
type CheckOutRequest struct {
	Repo string
	// Commit is what was handed in, and Branch the one that it was handed in on, which is
	// fetched where the commit is not here.
	Commit, Branch string
	// Into is the branch that the changes count from; "" is the default branch.
	Into string
}

// ErrNoCommit is a commit that is neither on this host nor, on its branch, at the origin.
var ErrNoCommit = errors.New("the commit is not to be found")

// CheckedOut is a commit in a directory of its own. It has a repository without a branch and
// without an origin, and whatever is done there is thrown away.
type CheckedOut struct {
	Dir string
	// Commit is its whole name, and Base the commit from which it left Into.
	Commit, Base string

	merge *merge
	place string
	drop  func()
}

// hexName is a commit, by its whole name or the beginning of it.
var hexName = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// emptyTrees are the names of the tree that holds nothing, by the length of names.
var emptyTrees = map[int]string{40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}

// CheckOut checks out exactly a commit. The error is ErrNoCommit where it is not to be found.
func (r *Repos) CheckOut(ctx context.Context, q CheckOutRequest) (*CheckedOut, error) {
	s, err := r.source(ctx, q.Repo)
	if err != nil {
		return nil, err
	}
	m := &merge{r.mirrorFor(s), MergeRequest{Repo: q.Repo, Commit: q.Commit, Branch: q.Branch, Into: q.Into}, r}
	if _, err := m.fresh(ctx); err != nil {
		return nil, err
	}
	commit, err := m.find(ctx)
	if err != nil {
		return nil, err
	}
	m.Commit = commit
	c := &CheckedOut{Commit: commit, Base: m.fork(ctx), merge: m}
	if c.place, c.drop, err = m.makePlace(); err != nil {
		return nil, err
	}
	c.Dir = filepath.Join(c.place, repoName(m.name))
	if err := c.fill(ctx); err != nil {
		c.drop()
		return nil, err
	}
	return c, nil
}

// find returns the whole name of the commit, which is fetched where it is not here.
func (m *merge) find(ctx context.Context) (string, error) {
	if !hexName.MatchString(m.Commit) {
		return "", fmt.Errorf("%w: %q is not the name of a commit", ErrNoCommit, m.Commit)
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := m.bring(ctx); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoCommit, err)
	}
	commit, ok := m.resolveCommit(ctx, m.Commit)
	if !ok || !strings.HasPrefix(commit, m.Commit) { // a branch may be named like one
		return "", fmt.Errorf("%w: %s names none in %s", ErrNoCommit, m.Commit, m.name)
	}
	return commit, nil
}

// fork returns the commit from which the commit left the branch, or the default one where that is not there;
// the tree that holds nothing where it left none.
func (m *merge) fork(ctx context.Context) string {
	for _, into := range []string{m.Into, m.knownDefault()} {
		if !goodBranch(into) {
			continue
		}
		if base, err := m.git().run(ctx, "merge-base", theirs+into, m.Commit); err == nil {
			return base
		}
	}
	return emptyTrees[len(m.Commit)]
}

// fill checks the commit out, with its submodules.
func (c *CheckedOut) fill(ctx context.Context) error {
	index := filepath.Join(c.place, "index")
	if err := c.merge.checkout(ctx, c.Dir, index, c.Commit); err != nil {
		return err
	}
	if err := c.merge.furnish(ctx, c.Dir, index, "", c.Commit, c.merge.repos.Author); err != nil {
		return err
	}
	at := call{dir: c.Dir, repo: filepath.Join(c.Dir, ".git")}
	if c.merge.origin != "" {
		if err := at.do(ctx, "config", "--remove-section", "remote.origin"); err != nil {
			return err
		}
	}
	return c.merge.fillForCheck(ctx, c.Dir, c.Commit)
}

// Renew checks the commit out again, in place of whatever the directory has become.
func (c *CheckedOut) Renew(ctx context.Context) error {
	if err := errors.Join(removeAll(c.Dir), removeFile(filepath.Join(c.place, "index"))); err != nil {
		return err
	}
	return c.fill(ctx)
}

// maxHeld is how many files are held back.
const maxHeld = 200

// HoldBack has those files that the commit changes and that are meant lie in the directory as they were before
// it, or not at all where they are new. It returns their names.
func (c *CheckedOut) HoldBack(ctx context.Context, isMeant func(path string) bool) (held []string, err error) {
	diff := changes{c.merge.mirror, c.Base, c.Commit}
	err = diff.parts(ctx, 0, func(path string) {
		if path != "" && isMeant(path) {
			held = append(held, path)
		}
	}, "--no-renames", "--name-only", "-z")
	if err == nil && len(held) > maxHeld {
		err = fmt.Errorf("the commit changes %d files that instruct agents: at most %d are held back", len(held), maxHeld)
	}
	at := call{dir: c.Dir, repo: filepath.Join(c.Dir, ".git"), workTree: c.Dir}
	var before []string
	for _, path := range held {
		if c.merge.git().ok(ctx, "cat-file", "-e", c.Base+":"+path) {
			before = append(before, path)
		}
		if err == nil { // also what was there before: the commit may have made it something else
			err = at.do(ctx, "--literal-pathspecs", "rm", "-q", "-r", "-f", "--ignore-unmatch", "--", path)
		}
	}
	for _, path := range before {
		if err == nil {
			err = at.do(ctx, "--literal-pathspecs", "checkout", "-q", c.Base, "--", path)
		}
	}
	return held, err
}

// Diff returns what the commit changes since it left the branch. Whole, where there is one, goes with the
// directory.
func (c *CheckedOut) Diff(ctx context.Context) (d Diff, err error) {
	diff := changes{c.merge.mirror, c.Base, c.Commit}
	if err := diff.count(ctx, &d); err != nil {
		return Diff{}, err
	}
	return d, diff.writePatch(ctx, &d, filepath.Join(c.place, "patch"))
}

// Close removes the directory.
func (c *CheckedOut) Close() { c.drop() }
