package repos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// linkedTo returns the name under which a directory is a work tree of the agent's own repository,
// as `git worktree add` makes them; "" where it is none.
func (w *Worktree) linkedTo(dir string) string {
	at, err := gitDirIn(dir)
	if err != nil {
		return ""
	}
	name, err := filepath.Rel(filepath.Join(w.Dir, ".git", "worktrees"), at)
	if err != nil || !filepath.IsLocal(name) || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// saveBeside keeps what is in work trees that the agent made beside its directory. Those are
// removed with it.
func (w *Worktree) saveBeside(ctx context.Context) {
	beside, err := os.ReadDir(filepath.Dir(w.Dir))
	if err != nil {
		return
	}
	for _, e := range beside {
		dir := filepath.Join(filepath.Dir(w.Dir), e.Name())
		if dir == w.Dir || !w.repos.isOwnDir(dir) {
			continue
		}
		if name := w.linkedTo(dir); name != "" && w.saveLinked(ctx, dir, name) {
			w.beside = append(w.beside, dir)
		}
	}
}

// saveLinked keeps what is in another work tree of the agent's, with what is not committed
// there, where it is not in what is handed in. It is no part of that. It reports whether all
// is kept; where it is not, the agent's directory is rescued.
func (w *Worktree) saveLinked(ctx context.Context, dir, name string) bool {
	kept := leftPrefix + w.attempt.Name() + "/worktrees/" + badInName.ReplaceAllString(name, "_")
	commit, err := w.commitLinked(ctx, dir, name, kept)
	if err == nil && w.mirror.git().ok(ctx, "merge-base", "--is-ancestor", commit, w.tip) {
		err = w.mirror.git().do(ctx, "update-ref", "-d", kept)
	} else if err == nil {
		err = w.mirror.git().do(ctx, "update-ref", kept, commit)
		w.note(fmt.Sprintf("The agent also left work in its work tree %s, which is not in what is handed in; "+
			"the worker keeps it as %s in %s.", filepath.Base(dir), kept, w.mirror.dir))
	}
	if err != nil {
		w.toRescue()
		w.note(fmt.Sprintf("The work tree %s of the agent's cannot be saved; the agent's directory is kept in %s: %v", dir, w.rescued, err))
	}
	return err == nil
}

// commitLinked commits the files of a work tree on top of the commit that it is on.
func (w *Worktree) commitLinked(ctx context.Context, dir, name, kept string) (string, error) {
	head, err := w.bringLinked(ctx, name, kept)
	if err != nil {
		return "", err
	}
	c, err := w.files()
	if err != nil {
		return "", err
	}
	c.dir, c.workTree, c.index = dir, dir, filepath.Join(w.private, "linked-index")
	if err := removeFile(c.index); err != nil {
		return "", err
	}
	if err := c.do(ctx, "read-tree", head); err != nil {
		return "", err
	}
	if err := c.do(ctx, "add", "--all"); err != nil {
		return "", err
	}
	return w.commitIndex(ctx, c, head, w.withTrailers("Work in progress in "+firstLine(filepath.Base(dir))))
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
