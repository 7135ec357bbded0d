package repos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// linkedTree is a work tree of the agent's own repository, as `git worktree add` makes them.
type linkedTree struct {
	w         *Worktree
	dir, name string
	kept      string // the reference that keeps what is in it
}

// linkedTo returns the work tree that a directory is; ok is false where it is none.
func (w *Worktree) linkedTo(dir string) (t linkedTree, ok bool) {
	at, err := gitDirIn(dir)
	if err != nil {
		return t, false
	}
	name, err := filepath.Rel(filepath.Join(w.Dir, ".git", "worktrees"), at)
	if err != nil || !filepath.IsLocal(name) || strings.Contains(name, "/") {
		return t, false
	}
	return linkedTree{w, dir, name, leftPrefix + w.attempt.Name() + "/worktrees/" + badInName.ReplaceAllString(name, "_")}, true
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
		if t, ok := w.linkedTo(dir); ok && t.save(ctx) {
			w.beside = append(w.beside, dir)
		}
	}
}

// save keeps what is in the work tree, with what is not committed there, where it is not in what
// is handed in. It is no part of that. It reports whether all is kept; where it is not, the agent's
// directory is rescued.
func (t linkedTree) save(ctx context.Context) bool {
	w := t.w
	commit, err := t.commit(ctx)
	if err == nil && w.mirror.git().ok(ctx, "merge-base", "--is-ancestor", commit, w.tip) {
		err = w.mirror.git().do(ctx, "update-ref", "-d", t.kept)
	} else if err == nil {
		err = w.mirror.git().do(ctx, "update-ref", t.kept, commit)
		w.note(fmt.Sprintf("The agent also left work in its work tree %s, which is not in what is handed in; "+
			"the worker keeps it as %s in %s.", filepath.Base(t.dir), t.kept, w.mirror.dir))
	}
	if err != nil {
		w.toRescue()
		w.note(fmt.Sprintf("The work tree %s of the agent's cannot be saved; the agent's directory is kept in %s: %v",
			t.dir, w.rescued, err))
	}
	return err == nil
}

// commit commits the files on top of the commit that the work tree is on.
func (t linkedTree) commit(ctx context.Context) (string, error) {
	head, err := t.bringHead(ctx)
	if err != nil {
		return "", err
	}
	files, err := t.w.openIndex()
	if err != nil {
		return "", err
	}
	files.dir, files.workTree, files.index = t.dir, t.dir, filepath.Join(t.w.private, "linked-index")
	if err := removeFile(files.index); err != nil {
		return "", err
	}
	if err := files.do(ctx, "read-tree", head); err != nil {
		return "", err
	}
	if err := files.do(ctx, "add", "--all"); err != nil {
		return "", err
	}
	return files.commit(ctx, head, t.w.attempt.withTrailers("Work in progress in "+firstLine(filepath.Base(t.dir))))
}

// bringHead copies the commit that the work tree is on into the mirror.
func (t linkedTree) bringHead(ctx context.Context) (string, error) {
	half := filepath.Join(t.w.private, "linked-head")
	if err := copyText(filepath.Join(t.w.Dir, ".git", "worktrees", t.name, "HEAD"), half, maxRefFile); err != nil {
		return "", err
	}
	text, err := os.ReadFile(half)
	if err != nil {
		return "", err
	}
	reading := t.w.reading()
	commit, err := reading.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options",
		strings.TrimPrefix(strings.TrimSpace(string(text)), "ref: ")+"^{commit}")
	if err != nil {
		return "", err
	}
	if err := reading.do(ctx, "update-ref", "refs/left/linked", commit); err != nil {
		return "", err
	}
	return commit, t.w.mirror.git().do(ctx, "fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head", reading.repo,
		"+refs/left/linked:"+t.kept)
}
