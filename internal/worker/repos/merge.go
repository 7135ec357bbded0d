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

// Merge merges exactly the commit that was approved and returns the branch's new commit.
// Where there is an origin, it is pushed there, and nothing that somebody else pushes
// meanwhile is lost. A commit that is merged already is no error.
func (r *Repos) Merge(ctx context.Context, m MergeRequest) (commit string, err error) {
	repo, m, remote, err := r.whereTo(ctx, m)
	if err != nil {
		return "", err
	}
	for range mergeTries {
		commit, err = r.mergeOnce(ctx, repo, m, remote)
		if !errors.Is(err, errMoved) {
			return commit, err
		}
	}
	return "", fmt.Errorf("%s moves faster than it can be merged into: %w", m.Into, err)
}

// whereTo finds the repository of a merge, fills in the branch, and tells whether there is
// an origin.
func (r *Repos) whereTo(ctx context.Context, m MergeRequest) (Repo, MergeRequest, bool, error) {
	repo, err := r.Find(ctx, m.Repo)
	if err != nil {
		return Repo{}, m, false, err
	}
	if m.Into == "" {
		m.Into = cmp.Or(repo.DefaultBranch, unborn(ctx, repo))
	}
	if !goodBranch(m.Into) || !isHash.MatchString(m.Commit) {
		return Repo{}, m, false, fmt.Errorf("%q cannot be merged into %q", m.Commit, m.Into)
	}
	remote, err := hasOrigin(ctx, repo)
	return repo, m, remote, err
}

// errMoved is a branch that somebody else moved meanwhile.
var errMoved = errors.New("the branch was moved meanwhile")

// mergeOnce merges into what the branch is now.
func (r *Repos) mergeOnce(ctx context.Context, repo Repo, m MergeRequest, remote bool) (string, error) {
	old, err := r.target(ctx, repo, m, remote)
	if err != nil {
		return "", err
	}
	if old != "" {
		if _, err := git(ctx, repo.path, "merge-base", "--is-ancestor", m.Commit, old); err == nil {
			return old, nil // it is in there
		}
	}
	merged, err := r.result(ctx, repo, m, old)
	if err != nil {
		return "", err
	}
	return merged, r.move(ctx, repo, m.Into, old, merged, remote)
}

// result is the commit that comes out of a merge into a commit. No branch has it yet.
func (r *Repos) result(ctx context.Context, repo Repo, m MergeRequest, old string) (string, error) {
	dir, drop, err := r.mergePlace(repo)
	if err != nil {
		return "", err
	}
	defer func() { drop(context.WithoutCancel(ctx)) }()
	if err := r.detach(ctx, repo, dir, cmp.Or(old, m.Commit)); err != nil {
		return "", err
	}
	merged := m.Commit // the first one of a branch is the branch
	if old != "" {
		if merged, err = r.combine(ctx, dir, m); err != nil {
			return "", err
		}
	}
	if m.Check != nil {
		if err := m.Check(ctx, dir); err != nil {
			return "", fmt.Errorf("%w: %w", ErrCheck, err)
		}
	}
	return merged, nil
}

// target is the commit of the branch that is merged into, "" where nothing is committed in
// the repository yet, and makes sure that the approved one is here.
func (r *Repos) target(ctx context.Context, repo Repo, m MergeRequest, remote bool) (string, error) {
	ref := "refs/heads/" + m.Into
	if remote {
		ref = "refs/remotes/origin/" + m.Into
		if _, err := git(ctx, repo.path, "fetch", "--quiet", "origin", "+refs/heads/"+m.Into+":"+ref); err != nil {
			return "", r.orEmpty(ctx, repo, m, remote, err)
		}
	}
	if err := r.bring(ctx, repo, m, remote); err != nil {
		return "", err
	}
	old, err := git(ctx, repo.path, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if err != nil {
		return "", r.orEmpty(ctx, repo, m, remote, fmt.Errorf("there is no branch %s in %s", m.Into, repo.Name))
	}
	return old, nil
}

// bring makes sure that the approved commit is here.
func (r *Repos) bring(ctx context.Context, repo Repo, m MergeRequest, remote bool) error {
	if _, err := git(ctx, repo.path, "cat-file", "-e", m.Commit+"^{commit}"); err == nil {
		return nil
	}
	if !remote || !goodBranch(m.Branch) {
		return fmt.Errorf("the commit %s is not in %s", m.Commit, repo.Name)
	}
	_, err := git(ctx, repo.path, "fetch", "--quiet", "origin", "+refs/heads/"+m.Branch+":refs/remotes/origin/"+m.Branch)
	return err
}

// orEmpty forgives that there is no branch to merge into where there is none at all, but for
// those of attempts: the approved commit becomes the first one.
func (r *Repos) orEmpty(ctx context.Context, repo Repo, m MergeRequest, remote bool, missing error) error {
	list := []string{"for-each-ref", "--format=%(objectname)\t%(refname)", "refs/heads"}
	if remote {
		list = []string{"ls-remote", "--quiet", "--heads", "origin"}
	}
	branches, err := git(ctx, repo.path, list...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(branches) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "\trefs/heads/")
		if !strings.HasPrefix(name, branchPrefix) && !strings.HasPrefix(name, quarantinePrefix) && !strings.HasPrefix(name, asidePrefix) && name != "" {
			return missing
		}
	}
	return r.bring(ctx, repo, m, remote)
}

// unborn is the branch that the first commit of an empty repository is for, "" where there is
// none.
func unborn(ctx context.Context, repo Repo) string {
	head, err := git(ctx, repo.path, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil || strings.HasPrefix(head, branchPrefix) {
		return ""
	}
	return head
}

// detach makes a worktree of a commit without a branch.
func (r *Repos) detach(ctx context.Context, repo Repo, dir, commit string) error {
	unlock, err := r.lock(ctx, repo)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = git(ctx, repo.path, "worktree", "add", "--quiet", "--force", "--detach", dir, commit)
	return err
}

// mergePlace makes a directory for a merge. Its lock keeps gc out as long as this process
// lives.
func (r *Repos) mergePlace(repo Repo) (dir string, drop func(context.Context), err error) {
	if err := os.MkdirAll(r.worktrees(repo.Name), 0o700); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(r.worktrees(repo.Name), "merge-"); err != nil {
		return "", nil, err
	}
	l := flock.New(dir + ".lock")
	if err := l.Lock(); err != nil {
		return "", nil, err
	}
	return dir, func(ctx context.Context) {
		r.dropTree(ctx, repo, dir)
		_ = errors.Join(l.Unlock(), os.Remove(dir+".lock")) // gc finds what stays
	}, nil
}

// dropTree removes a worktree of a merge.
func (r *Repos) dropTree(ctx context.Context, repo Repo, dir string) {
	unlock, err := r.lock(ctx, repo)
	if err == nil {
		defer unlock()
		_, err = git(ctx, repo.path, "worktree", "remove", "--force", "--force", dir)
	}
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		r.Log.Warn("the worktree of a merge stays: "+err.Error(), "dir", dir)
	}
}

// combine merges the approved commit into what is checked out in a directory.
func (r *Repos) combine(ctx context.Context, dir string, m MergeRequest) (string, error) {
	how := []string{"--no-ff", "-m", m.Message}
	if m.Message == "" {
		how[2] = "Merge " + m.Commit
	}
	if m.FastForward {
		how = []string{"--ff-only"}
	}
	args := append([]string{"merge", "--quiet", "--no-verify", "--no-gpg-sign"}, append(how, m.Commit)...)
	if _, err := gitWith(ctx, dir, r.identity(), args...); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		conflicts, listed := git(ctx, dir, "diff", "--name-only", "--diff-filter=U")
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
	return git(ctx, dir, "rev-parse", "HEAD")
}

// move moves a branch from one commit to another: at the origin where there is one, and
// here where nobody's work is in the way. The error is errMoved where the branch was moved
// meanwhile.
func (r *Repos) move(ctx context.Context, repo Repo, branch, from, to string, remote bool) error {
	if remote {
		_, err := git(
			ctx,
			repo.path,
			"push",
			"--quiet",
			"--no-verify",
			"--force-with-lease=refs/heads/"+branch+":"+from,
			"origin",
			to+":refs/heads/"+branch,
		)
		if err != nil {
			if now, fetched := r.target(ctx, repo, MergeRequest{Into: branch, Commit: to}, true); fetched == nil && now != from {
				return errMoved
			}
			return err
		}
		if from == "" {
			noteFirst(ctx, repo, branch, to)
		}
		return nil // a person's own branch follows when the person pulls
	}
	unlock, err := r.lock(ctx, repo)
	if err != nil {
		return err
	}
	defer unlock()
	place, err := placeOf(ctx, repo, branch)
	if err != nil {
		return err
	}
	if place == "" {
		if _, err := git(ctx, repo.path, "update-ref", "refs/heads/"+branch, to, from); err != nil {
			return errMoved
		}
		return nil
	}
	return r.moveCheckedOut(ctx, place, from, to)
}

// noteFirst has later attempts begin from what was just pushed as the first branch.
func noteFirst(ctx context.Context, repo Repo, branch, commit string) {
	_, _ = git(ctx, repo.path, "update-ref", "refs/remotes/origin/"+branch, commit) // the next fetch does it too
	_, _ = git(ctx, repo.path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/"+branch)
}

// moveCheckedOut moves a branch that a person has checked out, with its files.
func (r *Repos) moveCheckedOut(ctx context.Context, dir, from, to string) error {
	now, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if now != from || err != nil && from != "" {
		return errMoved
	}
	changes, err := git(ctx, dir, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("%w, in %s", ErrInTheWay, filepath.Base(dir))
	}
	_, err = git(ctx, dir, "merge", "--quiet", "--ff-only", to)
	return err
}

// goodBranch reports whether a name may be that of a branch, and is no option.
func goodBranch(name string) bool {
	return name != "" && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, ".lock") &&
		!strings.ContainsAny(name, " ~^:?*[\\\x00\n") && !strings.Contains(name, "..") && !strings.Contains(name, "@{")
}

// hasOrigin reports whether a repository has a remote of that name.
func hasOrigin(ctx context.Context, repo Repo) (bool, error) {
	remotes, err := git(ctx, repo.path, "remote")
	for name := range strings.FieldsSeq(remotes) {
		if name == "origin" {
			return true, err
		}
	}
	return false, err
}
