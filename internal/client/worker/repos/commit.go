package repos

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Commit commits all that was changed on top of what the agent left, with trailers that name
// the job and the epoch. It returns the branch's newest commit, also where nothing was changed.
func (w *Worktree) Commit(ctx context.Context, message string) (commit string, changed bool, err error) {
	before := w.tip
	commit, err = w.commit(ctx, w.attempt.withTrailers(message))
	return commit, commit != before, err
}

// SaveWIP commits what there is as work in progress, and returns the newest commit.
func (w *Worktree) SaveWIP(ctx context.Context, reason string) (string, error) {
	return w.commit(ctx, w.attempt.withTrailers("Work in progress: "+firstLine(reason)))
}

func (a Attempt) withTrailers(message string) string {
	text := fmt.Sprintf("%s\n\nFleetboard-Job: %s\nFleetboard-Epoch: %d\n",
		strings.TrimSpace(message), firstLine(a.Job), a.Epoch)
	if a.ID != "" {
		text += "Fleetboard-Job-Id: " + firstLine(a.ID) + "\n"
	}
	return strings.ReplaceAll(text, "\x00", "")
}

// firstLine returns the first line of a text, without what could control a terminal.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, line)
}

// commit takes the agent's commits, commits all other changes on top, and returns the newest
// commit. Where that fails, the directory is rescued in the end.
func (w *Worktree) commit(ctx context.Context, message string) (string, error) {
	if !w.repos.isOwnDir(w.Dir) {
		w.note("The agent's directory is gone, or is a link to elsewhere; what was committed before is handed in.")
		return w.tip, nil
	}
	err := w.take(ctx)
	if err == nil {
		var commit string
		if commit, err = w.snapshot(ctx, w.tip, message); err == nil && commit != w.tip {
			err = w.moveBranch(ctx, commit)
		}
	}
	if err == nil {
		w.saveBeside(ctx)
	}
	if err != nil {
		w.toRescue()
		return "", fmt.Errorf("%w (the directory is kept in %s)", err, w.rescued)
	}
	return w.tip, nil
}

// firstRef is the commit without files that attempts begin from where there is no other one.
const firstRef = "refs/fleet/first"

// firstCommit makes a commit without files, for a repository that has none. All attempts have
// the same one, so that the work of one fits to that of another.
func (r *Repos) firstCommit(ctx context.Context, m *mirror) (string, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if commit, ok := m.resolveCommit(ctx, firstRef); ok {
		return commit, nil
	}
	c := m.git()
	tree, err := c.run(ctx, "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	c.env = r.identity()
	commit, err := c.run(ctx, "commit-tree", "-m", "Begin", tree)
	if err != nil {
		return "", err
	}
	return commit, m.git().do(ctx, "update-ref", firstRef, commit)
}

// identity returns the author in git's environment.
func (r *Repos) identity() []string {
	return []string{"GIT_AUTHOR_NAME=" + r.Author.Name, "GIT_AUTHOR_EMAIL=" + r.Author.Email, "GIT_COMMITTER_NAME=" + r.Author.Name,
		"GIT_COMMITTER_EMAIL=" + r.Author.Email}
}

// IsEmpty reports whether the attempt added nothing to what it began on: another branch has
// that.
func (w *Worktree) IsEmpty() bool { return w.tip == w.from }

// Push pushes the branch to the origin. It reports false where there is none: the branch is
// put into the person's clone then. A branch with nothing on it goes nowhere.
func (w *Worktree) Push(ctx context.Context) (pushed bool, err error) {
	ref := ours + w.Branch
	switch {
	case w.IsUnchanged():
		return false, nil
	case w.mirror.push != "":
		if err := w.pushLargeFiles(ctx); err != nil {
			return false, err
		}
		c := w.mirror.network()
		c.longest = clonePatience
		// A second call pushes the same.
		err = c.do(ctx, "push", "--quiet", "--no-verify", "--end-of-options", w.mirror.push, w.tip+":"+ref)
		return err == nil, refusal(err)
	}
	return false, w.mirror.give(ctx, ref, ref)
}

// ErrRefused is a push that the origin has decided about: pushing again would bring the same.
var ErrRefused = errors.New("the origin refused the branch")

// refusal returns the error of a push, as the origin put it where it was refused.
func refusal(err error) error {
	if err != nil && refusedLine.MatchString(err.Error()) && !passing.MatchString(err.Error()) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// refusedLine is what git prints of a branch that is not taken, and passing are reasons that
// pass.
var (
	refusedLine = regexp.MustCompile(`(?m)! \[(remote )?rejected\]`)
	passing     = regexp.MustCompile(`\((unpacker error|cannot lock ref.*|failed to (lock|update ref).*|Internal Server Error.*)\)`)
)

// originSaid are the lines of the origin among what git prints.
var originSaid = regexp.MustCompile(`(?m)(?:^|: )remote:[ \t]*(.*\S)|^\s*(! \[(?:remote )?rejected\].*)$`)

// RefusalWords returns the origin's own words in the error of a push, and all of the error where it
// has none.
func RefusalWords(err error) string {
	var lines []string
	for _, found := range originSaid.FindAllStringSubmatch(err.Error(), -1) {
		lines = append(lines, found[1]+found[2])
	}
	if len(lines) == 0 {
		return err.Error()
	}
	return strings.Join(lines, "\n")
}

// IsUnchanged reports whether the branch has nothing that is to go anywhere.
func (w *Worktree) IsUnchanged() bool { return w.tip == w.Base && !w.Continued }

// Tip returns the newest commit of the branch.
func (w *Worktree) Tip() string { return w.tip }

// give puts a branch of the mirror into the person's clone, without hooks. It never moves
// what is checked out there.
func (m *mirror) give(ctx context.Context, from, to string) error {
	c := m.inClone()
	c.longest = clonePatience
	spec := from
	if to != "" {
		spec = "+" + from + ":" + to
	}
	return c.do(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules",
		"--end-of-options", m.dir, spec)
}

// Quarantine renames the branch, so that nothing takes its work for accepted. Called again
// it changes nothing.
func (w *Worktree) Quarantine(ctx context.Context) error {
	if strings.HasPrefix(w.Branch, quarantinePrefix) || w.tip == "" {
		return nil
	}
	before, tip := w.Branch, w.tip
	w.Branch = quarantinePrefix + strings.TrimPrefix(w.Branch, branchPrefix)
	if err := w.moveBranch(ctx, tip); err != nil {
		return err
	}
	if err := w.mirror.git().do(ctx, "update-ref", "-d", ours+before); err != nil {
		return err
	}
	return w.keep()
}
