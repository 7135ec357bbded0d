package repos

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxPointer is the length of the longest file that may be a pointer of Git LFS, in bytes.
const maxPointer = 1024

// pointer is how such a file begins, with the name of the contents.
var pointer = regexp.MustCompile(`^version https://[^\n]*\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\n`)

// pointerTo returns the name of the contents that a file points to, "" where it is no pointer.
func pointerTo(text []byte) string {
	if found := pointer.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// largeFile is where the mirror keeps contents of Git LFS, "" for none.
func (m *mirror) largeFile(name string) string {
	if name == "" {
		return ""
	}
	return filepath.Join(m.dir, "lfs", "objects", name[:2], name[2:4], name)
}

// pushLargeFiles pushes the contents that the branch's new pointers of Git LFS name, before
// the branch: nobody can check it out without them.
func (w *Worktree) pushLargeFiles(ctx context.Context) error {
	if !w.mirror.network().hasLargeFiles() {
		return nil
	}
	var names []string
	err := w.changes().eachPointer(ctx, func(_, name string) {
		if exists(w.mirror.largeFile(name)) {
			names = append(names, name)
		}
	})
	if err != nil || len(names) == 0 {
		return err
	}
	c := w.mirror.network()
	c.settings = append(append(c.settings[:len(c.settings):len(c.settings)], w.mirror.filters()...),
		setting{"remote.origin.url", w.mirror.push}, setting{"lfs.locksverify", "false"})
	c.settings = append(c.settings, w.largeFileStore(ctx)...)
	c.longest, c.stdin = clonePatience, strings.NewReader(strings.Join(names, "\n")+"\n")
	return c.do(ctx, "lfs", "push", "--object-id", "origin", "--stdin")
}

// eachPointer calls do with each pointer of Git LFS that the branch has and the origin has not,
// with its path and the name of its contents.
func (c changes) eachPointer(ctx context.Context, do func(path, name string)) error {
	if !c.mirror.git().ok(ctx, "grep", "--quiet", "--fixed-strings", "-e", "filter=lfs", c.tip, "--", ":(glob)**/.gitattributes") {
		return nil
	}
	return c.eachNew(ctx, func(o object) error {
		if o.sort != "blob" {
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(o.text, maxPointer))
		if name := pointerTo(text); name != "" {
			do(o.path, name)
		}
		return err
	})
}

// findMissing finds the new pointers whose contents are not on this host: whoever checks the
// branch out gets pointers, unless the origin has the contents already.
func (c changes) findMissing(ctx context.Context, d *Diff) error {
	return c.eachPointer(ctx, func(path, name string) {
		if exists(c.mirror.largeFile(name)) {
			return
		}
		if d.MissingCount++; len(d.Missing) < maxConflicts {
			d.Missing = append(d.Missing, path)
		}
	})
}

// largeFileStore is where .lfsconfig says that contents are kept, as far as it did before the
// attempt: an agent does not say where they go.
func (w *Worktree) largeFileStore(ctx context.Context) (list []setting) {
	for _, key := range []string{"lfs.url", "lfs.pushurl"} {
		if url, err := w.mirror.git().run(ctx, "config", "--blob", w.Base+":.lfsconfig", "--get", key); err == nil {
			list = append(list, setting{key, url})
		}
	}
	return list
}

// pointersIn returns those of some files below a directory that are pointers of Git LFS: their
// contents are not there.
func pointersIn(dir string, names []string) (pointers []string) {
	for _, name := range names {
		if isPointer(filepath.Join(dir, name)) {
			pointers = append(pointers, name)
		}
	}
	return pointers
}

func isPointer(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPointer {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && pointerTo(text) != ""
}

// withoutLargeFiles checks a commit out where Git LFS does not get at contents: pointers stand
// in their places.
func withoutLargeFiles(ctx context.Context, c call, commit string, cause error) error {
	if err := os.Remove(c.index); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !c.hasLargeFiles() || ctx.Err() != nil {
		return cause
	}
	c.env = append(c.env, "GIT_LFS_SKIP_SMUDGE=1")
	return c.do(ctx, "read-tree", "--reset", "-u", commit)
}

// hasLargeFiles reports whether Git LFS is set up for a call.
func (c call) hasLargeFiles() bool {
	for _, s := range c.settings {
		if strings.HasPrefix(s.key, "filter.lfs.") {
			return true
		}
	}
	return false
}
