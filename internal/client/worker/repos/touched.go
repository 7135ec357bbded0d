package repos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// touchedPatience is how long one look at what an attempt touches may take.
	touchedPatience = 20 * time.Second
	// maxTouched is how many files it names, maxTouchedBytes how long the names are together.
	maxTouched      = 5000
	maxTouchedBytes = 2 << 20
)

// Touched looks which files of a worktree an attempt touches while its agent works. It changes
// nothing, and runs nothing that the agent's repository says. Its methods are for one goroutine.
type Touched struct {
	w       *Worktree
	private string   // the directory of its index
	head    string   // the commit that was compared last
	commits []string // what had changed until then
}

// Touched returns a look at the worktree. Nothing else uses the worktree while it looks.
func (w *Worktree) Touched() *Touched { return &Touched{w: w, private: w.private} }

// Look returns the files that are not as they were when the attempt began: those that its commits
// changed, those that are changed in the directory, and new ones that git does not ignore; a
// submodule by its path. They are as git has their names, each once, at most maxTouched.
func (t *Touched) Look(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, touchedPatience)
	defer cancel()
	call, err := t.open()
	if err != nil {
		return nil, err
	}
	changed, err := names(ctx, call, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty",
		"--name-only", "-z", t.w.Base, "--")
	if err != nil {
		return nil, err
	}
	added, err := names(ctx, call, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	t.compareCommits(ctx, call)
	seen := map[string]bool{}
	var list []string
	for _, some := range [][]string{changed, t.commits, added} {
		for _, name := range some {
			name = strings.TrimSuffix(name, "/") // a repository of its own
			if name != "" && !seen[name] && len(list) < maxTouched {
				seen[name], list = true, append(list, name)
			}
		}
	}
	return list, nil
}

// open returns git with an index of its own, which is as the worktree was at the beginning: so git
// sees which files are the same without reading them.
func (t *Touched) open() (call, error) {
	i, err := t.w.openIndex()
	if err != nil {
		return i.call, err
	}
	from := i.index
	i.index, i.longest = filepath.Join(t.private, "touched-index"), touchedPatience
	if exists(i.index) {
		return i.call, nil
	}
	about, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return i.call, nil
	}
	if err != nil {
		return i.call, err
	}
	if err := copyText(from, i.index, 1<<30); err != nil {
		return i.call, err
	}
	// Files that were written as late as the index are looked at again.
	return i.call, os.Chtimes(i.index, about.ModTime(), about.ModTime())
}

// compareCommits compares the commit that the agent's repository is on with the beginning, where it is
// another one than before. Its objects are read where they are. What cannot be read changes nothing.
func (t *Touched) compareCommits(ctx context.Context, c call) {
	head, err := readHead(t.w.Dir)
	if err != nil || head == t.head {
		return
	}
	if head == t.w.Base {
		t.head, t.commits = head, nil
		return
	}
	c.workTree, c.index = "", ""
	c.env = append(c.env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quotedPath(filepath.Join(t.w.Dir, ".git", "objects")))
	list, err := names(ctx, c, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty", t.w.Base, head)
	if err == nil {
		t.head, t.commits = head, list
	}
}

// quotedPath writes a path as an element of a list of paths.
func quotedPath(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// names runs git and returns the names that it prints, each with a NUL behind it; those beyond
// maxTouchedBytes are left out.
func names(ctx context.Context, c call, args ...string) ([]string, error) {
	var text strings.Builder
	out := &bounded{to: &text, left: maxTouchedBytes}
	if err := c.stream(ctx, out, args...); err != nil && !out.full {
		return nil, err
	}
	var list []string
	for name := range strings.SplitSeq(text.String(), "\x00") {
		list = append(list, name)
	}
	return list[:len(list)-1], nil
}
