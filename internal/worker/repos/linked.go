package repos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// linkedTo is the name under which a directory is a work tree of the agent's own repository,
// as `git worktree add` makes them; "" where it is none.
func (w *Worktree) linkedTo(path string) string {
	at, err := gitDirIn(filepath.Join(w.Dir, path))
	if err != nil {
		return ""
	}
	name, err := filepath.Rel(filepath.Join(w.Dir, ".git", "worktrees"), at)
	if err != nil || !filepath.IsLocal(name) || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// saveLinked keeps what is in another work tree of the agent's, with what is not committed
// there, where it is not in what is handed in. It is no part of that.
func (w *Worktree) saveLinked(ctx context.Context, path, name string) error {
	kept := leftPrefix + w.attempt.Name() + "/worktrees/" + badInName.ReplaceAllString(name, "_")
	head, err := w.bringLinked(ctx, name, kept)
	if err != nil {
		w.toRescue()
		w.note(fmt.Sprintf("The work tree %s of the agent's cannot be read; the agent's directory is kept in %s: %v", path, w.rescued, err))
		return nil
	}
	c, err := w.files()
	if err != nil {
		return err
	}
	c.dir, c.workTree, c.index = filepath.Join(w.Dir, path), filepath.Join(w.Dir, path), filepath.Join(w.private, "linked-index")
	if err := removeFile(c.index); err != nil {
		return err
	}
	if err := c.do(ctx, "read-tree", head); err != nil {
		return err
	}
	if err := c.do(ctx, "add", "--all"); err != nil {
		return err
	}
	commit, err := w.commitIndex(ctx, c, head, w.withTrailers("Work in progress in "+firstLine(path)))
	if err != nil {
		return err
	}
	if commit == head && w.mirror.git().ok(ctx, "merge-base", "--is-ancestor", head, w.tip) {
		return w.mirror.git().do(ctx, "update-ref", "-d", kept)
	}
	w.note(fmt.Sprintf("The agent also left work in its work tree %s, which is not in what is handed in; the worker keeps it as %s in %s.",
		path, kept, w.mirror.dir))
	return w.mirror.git().do(ctx, "update-ref", kept, commit)
}

// bringLinked copies the commit that a work tree is on into the mirror, as a reference.
func (w *Worktree) bringLinked(ctx context.Context, name, kept string) (string, error) {
	half := filepath.Join(w.private, "linked-head")
	if err := copyText(filepath.Join(w.Dir, ".git", "worktrees", name, "HEAD"), half, maxRefFile); err != nil {
		return "", err
	}
	text, err := os.ReadFile(half)
	if err != nil {
		return "", err
	}
	reading := call{repo: filepath.Join(w.private, "reading.git")}
	commit, err := reading.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options",
		strings.TrimPrefix(strings.TrimSpace(string(text)), "ref: ")+"^{commit}")
	if err != nil {
		return "", err
	}
	if err := reading.do(ctx, "update-ref", "refs/left/linked", commit); err != nil {
		return "", err
	}
	return commit, w.mirror.git().do(ctx, "fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head", reading.repo,
		"+refs/left/linked:"+kept)
}
