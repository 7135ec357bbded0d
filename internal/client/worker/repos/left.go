package repos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxRefs bounds the branches that are read of an agent's repository, and maxRefFile a
	// file of one, in bytes.
	maxRefs    = 100_000
	maxRefFile = 4 << 10
	// givenFile holds the branches that the agent's repository began with.
	givenFile = "given-refs"
	// leftPrefix is where the mirror keeps what agents leave beside their branch.
	leftPrefix = "refs/fleet/left/"
)

// take takes the commits that the agent left into the mirror, and moves the attempt's branch
// to where its HEAD is, whatever branch it is on. Nothing that the agent's repository says is
// run: its branches are copied as texts, and its objects are read by a repository of the
// worker's.
func (w *Worktree) take(ctx context.Context) error {
	w.Notes = nil
	if info, err := os.Lstat(filepath.Join(w.Dir, ".git")); err != nil || !info.IsDir() {
		w.note("The agent removed or replaced the repository in its directory; its files are handed in, and none of its own commits.")
		return nil //nolint:nilerr // the files are handed in
	}
	reading := w.reading()
	if err := reading.copyRefs(ctx); err != nil {
		w.toRescue()
		w.note(fmt.Sprintf("The agent's repository cannot be read; its files are handed in, and its directory is kept in %s: %v",
			w.rescued, err))
		return nil
	}
	head, err := reading.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		w.note("The agent's repository is on no commit; its files are handed in on top of what there was before.")
		head = w.tip
	}
	refs, err := reading.newRefs(ctx)
	if err != nil {
		return err
	}
	if err := reading.bring(ctx, head, refs); err != nil {
		w.toRescue()
		w.note(fmt.Sprintf("The agent's own commits cannot be read; its files are handed in, and its directory is kept in %s: %v",
			w.rescued, err))
		return nil
	}
	if !w.mirror.git().ok(ctx, "merge-base", "--is-ancestor", w.Base, head) {
		w.note(fmt.Sprintf("The work does not contain %.12s, which it began from: the agent rewrote or replaced the history.", w.Base))
	}
	if head == w.tip {
		return nil
	}
	return w.moveBranch(ctx, head)
}

// reading is a repository of the worker's that reads an agent's objects and has its branches.
type reading struct {
	w *Worktree
	call
}

func (w *Worktree) reading() reading {
	return reading{w, call{repo: filepath.Join(w.private, "reading.git")}}
}

// rememberRefs keeps which branches the agent was given.
func (r reading) rememberRefs() error {
	text, err := os.ReadFile(filepath.Join(r.w.Dir, ".git", "packed-refs"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.w.private, givenFile), text, 0o600)
}

// copyRefs makes the repository.
func (r reading) copyRefs(ctx context.Context) error {
	w := r.w
	if err := os.RemoveAll(r.repo); err != nil {
		return err
	}
	format := "sha1"
	if len(w.Base) == 64 {
		format = "sha256"
	}
	c := call{dir: w.private}
	if err := c.do(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format, r.repo); err != nil {
		return err
	}
	from := filepath.Join(w.Dir, ".git")
	borrowed := filepath.Join(from, "objects") + "\n" + filepath.Join(w.mirror.dir, "objects") + "\n"
	if err := os.MkdirAll(filepath.Join(r.repo, "objects", "info"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.repo, "objects", "info", "alternates"), []byte(borrowed), 0o600); err != nil {
		return err
	}
	for _, name := range []string{"HEAD", "packed-refs", "shallow"} {
		if err := copyText(filepath.Join(from, name), filepath.Join(r.repo, name), 64<<20); err != nil {
			return err
		}
	}
	count := 0
	return filepath.WalkDir(filepath.Join(from, "refs"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read is no branch
		}
		if count++; count > maxRefs {
			return fmt.Errorf("it has more than %d branches", maxRefs)
		}
		name, err := filepath.Rel(from, path)
		if err != nil || strings.HasSuffix(name, ".lock") {
			return err
		}
		to := filepath.Join(r.repo, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return copyText(path, to, maxRefFile)
	})
}

// copyText copies a regular file that is not too long; one that is not there is no error.
func copyText(from, to string, longest int64) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > longest {
		return fmt.Errorf("%s is no file of git's", filepath.Base(from))
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// ref is a branch, or another name of a commit, with the commit.
type ref struct{ name, commit string }

// newRefs returns the branches that the agent made or moved, and its stash.
func (r reading) newRefs(ctx context.Context) ([]ref, error) {
	text, err := os.ReadFile(filepath.Join(r.w.private, givenFile))
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		given[strings.TrimSpace(line)] = true
	}
	list, err := r.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/", "refs/stash")
	if err != nil {
		return nil, nil //nolint:nilerr // a broken branch is none; HEAD is read by itself
	}
	var refs []ref
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		if commit, name, _ := strings.Cut(line, " "); !given[line] {
			refs = append(refs, ref{name, commit})
		}
	}
	return refs, nil
}

// bring copies what HEAD and the branches hold into the mirror. Branches that HEAD does not
// contain are kept there and named.
func (r reading) bring(ctx context.Context, head string, refs []ref) error {
	w := r.w
	if head == w.tip && !slices.ContainsFunc(refs, func(one ref) bool { return one.commit != head }) {
		return nil
	}
	if err := r.do(ctx, "update-ref", "refs/left/head", head); err != nil {
		return err
	}
	at := leftPrefix + w.attempt.Name() + "/"
	specs := []string{"+refs/left/head:" + at + "head"}
	for _, one := range refs {
		specs = append(specs, "+"+one.name+":"+at+strings.TrimPrefix(one.name, "refs/"))
	}
	fetch := w.mirror.git()
	fetch.stdin, fetch.longest = strings.NewReader(strings.Join(specs, "\n")+"\n"), clonePatience
	if err := fetch.do(ctx, "fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head", "--stdin", r.repo); err != nil {
		return err
	}
	for _, one := range refs {
		kept := at + strings.TrimPrefix(one.name, "refs/")
		commit, ok := w.mirror.resolveCommit(ctx, kept)
		if !ok {
			continue
		}
		if w.mirror.git().ok(ctx, "merge-base", "--is-ancestor", commit, head) {
			if err := w.mirror.git().do(ctx, "update-ref", "-d", kept); err != nil {
				return err
			}
			continue
		}
		w.note(fmt.Sprintf("The agent also left commits on %s, which are not in what is handed in; the worker keeps them as %s in %s.",
			strings.TrimPrefix(one.name, ours), kept, w.mirror.dir))
	}
	return nil
}
