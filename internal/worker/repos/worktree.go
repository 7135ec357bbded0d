package repos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofrs/flock"
)

const (
	branchPrefix     = "fleet/"
	quarantinePrefix = "fleet-quarantine/"
)

// Attempt is what a worktree is made for.
type Attempt struct {
	Repo, Job string
	Epoch     int64
	// Base is a branch or commit to begin from; "" is the default branch.
	Base string
	// Continue is a commit or branch of an earlier attempt to go on from; where it is not to
	// be found, the attempt begins from Base.
	Continue string
	// Place names the worktree's directory; "" and one that is in use stand for the name of
	// the attempt. A later attempt of the job finds itself at the same path so.
	Place string
}

// Worktree is the work of an attempt. Its methods are for one goroutine at a time.
type Worktree struct {
	Dir    string
	Branch string
	// Base is the commit that the changes count from.
	Base string
	// Continued: it went on from Attempt.Continue.
	Continued bool

	repos *Repos
	repo  Repo
	job   string
	epoch int64
	lock  *flock.Flock
}

// ErrGone is an attempt of which nothing is left.
var ErrGone = errors.New("nothing is left of the attempt")

// attemptName is the end of an attempt's branch and the name of its directory. What a
// name of a branch may not hold is written as _.
func attemptName(job string, epoch int64) string {
	return fmt.Sprintf("%s-e%d", strings.Trim(badInName.ReplaceAllString(job, "_"), "."), epoch)
}

// badInName is what must not be in names of branches and directories.
var badInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// Begin makes the worktree and the branch of an attempt. Called again for the same one it
// is Reopen.
func (r *Repos) Begin(ctx context.Context, a Attempt) (*Worktree, error) {
	w, err := r.Reopen(ctx, a.Repo, a.Job, a.Epoch)
	if !errors.Is(err, ErrGone) {
		return w, err
	}
	repo, err := r.Find(ctx, a.Repo)
	if err != nil {
		return nil, err
	}
	r.refresh(ctx, repo)
	w = &Worktree{repos: r, repo: repo, job: a.Job, epoch: a.Epoch, Branch: branchPrefix + attemptName(a.Job, a.Epoch)}
	if err := w.takePlace(a); err != nil {
		return nil, err
	}
	if err := w.add(ctx, a); err != nil {
		_ = w.lock.Unlock() // closing the file frees it
		return nil, err
	}
	return w, nil
}

// takePlace takes a directory for the worktree that no other process uses.
func (w *Worktree) takePlace(a Attempt) error {
	parent := w.repos.worktrees(w.repo.Name)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	for _, place := range []string{a.Place, attemptName(a.Job, a.Epoch)} {
		if place == "" {
			continue
		}
		w.Dir = filepath.Join(parent, badInName.ReplaceAllString(place, "_"))
		w.lock = flock.New(w.Dir + ".lock")
		if taken, err := w.lock.TryLock(); err != nil || taken {
			return err
		}
	}
	return fmt.Errorf("another process works on %s in %s", attemptName(a.Job, a.Epoch), w.repo.Name)
}

// add makes the branch and checks it out in the directory, in place of what an earlier
// attempt left there.
func (w *Worktree) add(ctx context.Context, a Attempt) error {
	unlock, err := w.repos.lock(ctx, w.repo)
	if err != nil {
		return err
	}
	defer unlock()
	if err := w.clear(ctx); err != nil {
		return err
	}
	base, err := w.start(ctx, a)
	if err != nil {
		return err
	}
	if _, err := git(ctx, w.repo.path, "worktree", "add", "--quiet", "--no-track", "-b", w.Branch, w.Dir, base); err != nil {
		return err
	}
	return w.noteBase(ctx)
}

// clear removes what stands in the worktree's place. Its branch keeps what was committed;
// what was not is committed as work in progress first.
func (w *Worktree) clear(ctx context.Context) error {
	if _, err := os.Stat(w.Dir); err == nil {
		left := &Worktree{Dir: w.Dir, repos: w.repos, repo: w.repo}
		if _, err := left.commit(ctx, "Work in progress: found by a later attempt"); err != nil {
			w.repos.Log.Warn("what an earlier attempt left could not be committed: "+err.Error(), "dir", w.Dir)
		}
		if _, err := git(ctx, w.repo.path, "worktree", "remove", "--force", "--force", w.Dir); err != nil {
			if err := os.RemoveAll(w.Dir); err != nil {
				return err
			}
		}
	}
	_, err := git(ctx, w.repo.path, "worktree", "prune")
	return err
}

// start is the commit that the attempt begins from, and sets Base: the commit that its
// changes count from.
func (w *Worktree) start(ctx context.Context, a Attempt) (commit string, err error) {
	from := a.Base
	if from == "" {
		from = w.repo.DefaultBranch
	}
	if from == "" { // nothing is committed yet
		w.Base, err = w.repos.firstCommit(ctx, w.repo)
		return w.Base, err
	}
	base, ok := w.resolve(ctx, from)
	if !ok {
		return "", fmt.Errorf("there is no %s in %s", from, w.repo.Name)
	}
	w.Base = base
	if a.Continue == "" {
		return base, nil
	}
	left, ok := w.resolve(ctx, a.Continue)
	if !ok {
		return base, nil
	}
	w.Continued = true
	if common, err := git(ctx, w.repo.path, "merge-base", base, left); err == nil {
		w.Base = common
	}
	return left, nil
}

// resolve is the commit of a branch or of a commit's name. The origin's branch comes before
// a person's own of that name, which may hold what is not for others.
func (w *Worktree) resolve(ctx context.Context, name string) (string, bool) {
	if !goodBranch(name) {
		return "", false
	}
	for _, prefix := range []string{"refs/remotes/origin/", "refs/heads/"} {
		if commit, err := git(
			ctx,
			w.repo.path,
			"rev-parse",
			"--verify",
			"--quiet",
			"--end-of-options",
			prefix+name+"^{commit}",
		); err == nil {
			return commit, true
		}
	}
	if !isHash.MatchString(name) {
		return "", false
	}
	if commit, err := git(ctx, w.repo.path, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}"); err == nil {
		return commit, true
	}
	if _, err := git(
		ctx,
		w.repo.path,
		"fetch",
		"--quiet",
		"origin",
		"+refs/heads/"+branchPrefix+"*:refs/remotes/origin/"+branchPrefix+"*",
	); err != nil {
		return "", false
	}
	commit, err := git(ctx, w.repo.path, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return commit, err == nil
}

// isHash is the whole name of a commit.
var isHash = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// baseKey is where the base of a branch is kept, for Reopen.
func baseKey(branch string) string { return "branch." + branch + ".fleetboard-base" }

func (w *Worktree) noteBase(ctx context.Context) error {
	_, err := git(ctx, w.repo.path, "config", baseKey(w.Branch), w.Base)
	return err
}

// worktrees is where those of a repository are.
func (r *Repos) worktrees(repo string) string { return filepath.Join(r.State, "worktrees", repo) }

// Reopen returns the worktree of an attempt whose process has ended: where it was, or made
// again from its branch. The error is ErrGone where there is neither.
func (r *Repos) Reopen(ctx context.Context, name, job string, epoch int64) (*Worktree, error) {
	repo, err := r.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	w := &Worktree{repos: r, repo: repo, job: job, epoch: epoch, Branch: branchPrefix + attemptName(job, epoch)}
	if _, err := git(ctx, repo.path, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.Branch); err != nil {
		return nil, ErrGone
	}
	if w.Base, err = git(ctx, repo.path, "config", baseKey(w.Branch)); err != nil {
		return nil, err
	}
	w.Dir, err = placeOf(ctx, repo, w.Branch)
	if err != nil {
		return nil, err
	}
	made := w.Dir == ""
	if made {
		w.Dir = filepath.Join(r.worktrees(name), attemptName(job, epoch))
		if err := os.MkdirAll(filepath.Dir(w.Dir), 0o700); err != nil {
			return nil, err
		}
	}
	w.lock = flock.New(w.Dir + ".lock")
	if taken, err := w.lock.TryLock(); err != nil || !taken {
		return nil, errors.Join(err, fmt.Errorf("another process works in %s", w.Dir))
	}
	if err := w.again(ctx, made); err != nil {
		_ = w.lock.Unlock() // closing the file frees it
		return nil, err
	}
	return w, nil
}

// again makes the directory good again: one that is gone is made, and a lock that a
// killed git left is removed.
func (w *Worktree) again(ctx context.Context, made bool) error {
	unlock, err := w.repos.lock(ctx, w.repo)
	if err != nil {
		return err
	}
	defer unlock()
	if !made {
		if dir, err := git(ctx, w.Dir, "rev-parse", "--path-format=absolute", "--git-dir"); err == nil {
			_ = os.Remove(filepath.Join(dir, "index.lock")) // its process is dead; often there is none
			return nil
		}
	}
	if err := w.clear(ctx); err != nil {
		return err
	}
	_, err = git(ctx, w.repo.path, "worktree", "add", "--quiet", w.Dir, w.Branch)
	return err
}

// placeOf is where a branch is checked out, "" for nowhere.
func placeOf(ctx context.Context, repo Repo, branch string) (string, error) {
	out, err := git(ctx, repo.path, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	dir := ""
	for line := range strings.SplitSeq(out, "\n") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = at
		}
		if line == "branch refs/heads/"+branch {
			if _, err := os.Stat(dir); err != nil {
				return "", nil
			}
			return dir, nil
		}
	}
	return "", nil
}
