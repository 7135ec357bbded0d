package repos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// errMoved is a branch that somebody else moved meanwhile.
var errMoved = errors.New("the branch was moved meanwhile")

// move moves the branch from one commit to another: at the origin or, where there is none, in
// the person's clone where nobody's work is in the way. The error is errMoved where the branch
// was moved meanwhile.
func (m *merge) move(ctx context.Context, from, to string) error {
	if m.origin == "" {
		return m.moveInClone(ctx, from, to)
	}
	err := m.pushCommit(ctx, m.Into, from, to)
	if err == nil {
		return m.noteMoved(ctx, to)
	}
	moved := &merge{m.mirror, MergeRequest{Into: m.Into, Commit: to}, m.repos}
	if now, fetched := moved.target(ctx); fetched == nil && now != from {
		return errMoved
	}
	return err
}

// pushCommit has a branch at the origin be a commit, if it is another one now.
func (m *merge) pushCommit(ctx context.Context, branch, from, to string) error {
	c := m.network()
	c.longest = clonePatience
	return c.do(ctx, "push", "--quiet", "--no-verify", "--force-with-lease="+ours+branch+":"+from,
		"--end-of-options", m.push, to+":"+ours+branch)
}

// noteMoved has later attempts begin from what was just pushed.
func (m *merge) noteMoved(ctx context.Context, commit string) error {
	if m.knownDefault() == "" {
		if err := os.WriteFile(filepath.Join(m.dir, defaultFile), []byte(m.Into), 0o600); err != nil {
			return err
		}
	}
	return m.git().do(ctx, "update-ref", theirs+m.Into, commit)
}

// moveInClone moves the branch in the person's clone.
func (m *merge) moveInClone(ctx context.Context, from, to string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	handed := "refs/fleet/merged/" + to
	if err := m.git().do(ctx, "update-ref", handed, to); err != nil {
		return err
	}
	if err := m.give(ctx, handed, ""); err != nil {
		return err
	}
	if err := m.git().do(ctx, "update-ref", "-d", handed); err != nil {
		return err
	}
	place, err := m.findCheckout(ctx, m.Into)
	if err != nil {
		return err
	}
	if place != "" {
		return m.moveCheckedOut(ctx, place, from, to)
	}
	if !m.inClone().ok(ctx, "update-ref", ours+m.Into, to, from) {
		return errMoved
	}
	return nil
}

// findCheckout returns the directory in which the person has checked out a branch, "" for none.
func (m *mirror) findCheckout(ctx context.Context, branch string) (string, error) {
	out, err := m.inClone().run(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	dir, bare := "", false
	for line := range strings.SplitSeq(out, "\n") {
		if at, ok := strings.CutPrefix(line, "worktree "); ok {
			dir, bare = at, false
		}
		if line == "bare" {
			bare = true
		}
		if line == "branch "+ours+branch && !bare && exists(dir) {
			return dir, nil
		}
	}
	return "", nil
}

// moveCheckedOut moves a branch that a person has checked out, with its files.
func (m *merge) moveCheckedOut(ctx context.Context, dir, from, to string) error {
	c := m.inClone()
	c.dir = dir
	now, err := c.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	if now != from || err != nil && from != "" {
		return errMoved
	}
	changes, err := c.run(ctx, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("%w, in %s", ErrInTheWay, filepath.Base(dir))
	}
	return c.do(ctx, "merge", "--quiet", "--ff-only", to)
}
