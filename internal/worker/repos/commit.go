package repos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	// maxPatch is how much of a patch is told, in bytes, and maxFiles how many files.
	maxPatch = 100 << 10
	maxFiles = 1000
	// maxFile is the API's limit of a file's name, in bytes.
	maxFile = 512
)

// Commit commits all that was changed, with trailers that name the job and the epoch. It
// returns the branch's newest commit, also where nothing was changed.
func (w *Worktree) Commit(ctx context.Context, message string) (commit string, changed bool, err error) {
	before, err := git(ctx, w.Dir, "rev-parse", "HEAD")
	if err != nil {
		return "", false, err
	}
	commit, err = w.commit(ctx, w.withTrailers(message))
	return commit, commit != before, err
}

// SaveWIP commits what there is as work in progress, and returns the newest commit.
func (w *Worktree) SaveWIP(ctx context.Context, reason string) (string, error) {
	return w.commit(ctx, w.withTrailers("Work in progress: "+firstLine(reason)))
}

func (w *Worktree) withTrailers(message string) string {
	return fmt.Sprintf("%s\n\nFleetboard-Job: %s\nFleetboard-Epoch: %d\n", strings.TrimSpace(message), firstLine(w.job), w.epoch)
}

// firstLine is the first line of a text, without what could control a terminal.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, line)
}

// commit commits all changes, where there are some, and returns the newest commit.
func (w *Worktree) commit(ctx context.Context, message string) (string, error) {
	if _, err := git(ctx, w.Dir, "add", "--all"); err != nil {
		return "", err
	}
	status, err := git(ctx, w.Dir, "status", "--porcelain", "--ignore-submodules=dirty")
	if err != nil {
		return "", err
	}
	if status != "" {
		if _, err := gitWith(
			ctx,
			w.Dir,
			w.repos.identity(),
			"commit",
			"--quiet",
			"--no-verify",
			"--cleanup=verbatim",
			"-m",
			message,
		); err != nil {
			return "", err
		}
	}
	return git(ctx, w.Dir, "rev-parse", "HEAD")
}

// Diff is what an attempt changed.
type Diff struct {
	Files          []string // at most maxFiles
	Added, Deleted int      // lines
	// Patch is cut at maxPatch; Truncated says so, and Whole is all of it then.
	Patch, Whole string
	Truncated    bool
}

// Diff compares the branch with Base.
func (w *Worktree) Diff(ctx context.Context) (Diff, error) {
	numbers, err := git(ctx, w.Dir, "diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--numstat", "-z", w.Base, "HEAD", "--")
	if err != nil {
		return Diff{}, err
	}
	var d Diff
	for line := range strings.SplitSeq(numbers, "\x00") {
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) < 3 {
			continue
		}
		added, _ := strconv.Atoi(parts[0]) // "-" for what is no text
		deleted, _ := strconv.Atoi(parts[1])
		d.Added, d.Deleted = d.Added+added, d.Deleted+deleted
		if name := strings.ToValidUTF8(parts[2], "?"); len(d.Files) < maxFiles && len(name) <= maxFile {
			d.Files = append(d.Files, name)
		}
	}
	patch, err := git(ctx, w.Dir, "diff", "--no-ext-diff", "--no-textconv", "--no-color", w.Base, "HEAD", "--")
	if err != nil {
		return Diff{}, err
	}
	if d.Truncated = len(patch) > maxPatch; d.Truncated {
		d.Whole, patch = patch, patch[:maxPatch]
		patch = patch[:strings.LastIndexByte(patch, '\n')+1]
	}
	d.Patch = strings.ToValidUTF8(patch, "?")
	return d, nil
}

// firstCommit makes a commit without files, for a repository that has none.
func (r *Repos) firstCommit(ctx context.Context, repo Repo) (string, error) {
	tree, err := git(ctx, repo.path, "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	return gitWith(ctx, repo.path, r.identity(), "commit-tree", "-m", "Begin", tree)
}

// identity is the author in git's environment.
func (r *Repos) identity() []string {
	return []string{"GIT_AUTHOR_NAME=" + r.Author.Name, "GIT_AUTHOR_EMAIL=" + r.Author.Email, "GIT_COMMITTER_NAME=" + r.Author.Name,
		"GIT_COMMITTER_EMAIL=" + r.Author.Email}
}

// Push pushes the branch to the origin; it reports false where there is none.
func (w *Worktree) Push(ctx context.Context) (pushed bool, err error) {
	remote, err := hasOrigin(ctx, w.repo)
	if err != nil || !remote {
		return false, err
	}
	// A second call pushes the same, or what a continued attempt added.
	_, err = git(ctx, w.repo.path, "push", "--quiet", "--no-verify", "origin", "refs/heads/"+w.Branch+":refs/heads/"+w.Branch)
	return err == nil, err
}

// Quarantine renames the branch, so that nothing takes its work for accepted. Called again
// it changes nothing.
func (w *Worktree) Quarantine(ctx context.Context) error {
	unlock, err := w.repos.lock(ctx, w.repo)
	if err != nil {
		return err
	}
	defer unlock()
	if strings.HasPrefix(w.Branch, quarantinePrefix) {
		return nil
	}
	aside := quarantinePrefix + strings.TrimPrefix(w.Branch, branchPrefix)
	if _, err := git(ctx, w.repo.path, "branch", "--move", "--force", w.Branch, aside); err != nil {
		return err
	}
	w.Branch = aside
	return nil
}

// Close removes the directory; the branch stays. Called again it changes nothing.
func (w *Worktree) Close(ctx context.Context) error {
	unlock, err := w.repos.lock(ctx, w.repo)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(w.Dir); err == nil {
		if _, err := git(ctx, w.repo.path, "worktree", "remove", "--force", "--force", w.Dir); err != nil {
			if err := os.RemoveAll(w.Dir); err != nil {
				return err
			}
		}
	}
	_, err = git(ctx, w.repo.path, "worktree", "prune")
	return errors.Join(err, w.lock.Unlock())
}
