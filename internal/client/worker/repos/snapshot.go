package repos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// snapshot commits all files of the worktree on top of a commit, where they are not as they
// are in it, and returns the newest commit. The index is the worker's own.
func (w *Worktree) snapshot(ctx context.Context, parent, message string) (string, error) {
	c, err := w.files()
	if err != nil {
		return "", err
	}
	if err := c.do(ctx, "read-tree", "-m", parent); err != nil {
		// An index that is no good is only slower to make again.
		if err := errors.Join(os.Remove(c.index), c.do(ctx, "read-tree", parent)); err != nil {
			return "", err
		}
	}
	if err := w.addAll(ctx, c); err != nil {
		return "", err
	}
	return w.commitIndex(ctx, c, parent, message)
}

// commitIndex commits an index on top of a commit, where it is not as that is, and returns
// the newest commit.
func (w *Worktree) commitIndex(ctx context.Context, c call, parent, message string) (string, error) {
	tree, err := c.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	was, err := c.run(ctx, "rev-parse", parent+"^{tree}")
	if err != nil || tree == was {
		return parent, err
	}
	c.env, c.stdin = append(c.env, w.repos.identity()...), strings.NewReader(message)
	return c.run(ctx, "commit-tree", "-p", parent, "-F", "-", tree)
}

// files returns a call that reads the worktree's files. Locks that a killed git left are removed:
// nobody else uses this index.
func (w *Worktree) files() (call, error) {
	c := w.mirror.git()
	c.settings = append(c.settings, w.mirror.filters()...)
	c.dir, c.workTree, c.index, c.longest = w.Dir, w.Dir, filepath.Join(w.private, "index"), clonePatience
	if err := removeFile(c.index + ".lock"); err != nil {
		return c, err
	}
	excludes, err := w.excludes()
	c.settings = append(c.settings, setting{"core.excludesFile", excludes})
	return c, err
}

// filters returns the settings of Git LFS, the only filter that the worker's git runs.
func (m *mirror) filters() (list []setting) {
	for _, s := range m.settings {
		if strings.HasPrefix(s.key, "filter.lfs.") || strings.HasPrefix(s.key, "lfs.") {
			list = append(list, s)
		}
	}
	return list
}

// excludes makes a file of what is not handed in: what the person's git ignores everywhere,
// and what the agent's repository leaves out.
func (w *Worktree) excludes() (string, error) {
	var all bytes.Buffer
	for _, from := range []string{w.mirror.ignored, filepath.Join(w.Dir, ".git", "info", "exclude")} {
		half := filepath.Join(w.private, "exclude.half")
		if err := copyText(from, half, 1<<20); err != nil {
			continue // a file that is none has no say
		}
		text, err := os.ReadFile(half)
		if err == nil {
			all.Write(text)
			all.WriteByte('\n')
		}
		_ = os.Remove(half) // it is often not there
	}
	file := filepath.Join(w.private, "exclude")
	return file, os.WriteFile(file, all.Bytes(), 0o600)
}

// addAll puts all files into the index. Repositories inside the worktree are added as files,
// unless .gitmodules names them; those that were submodules before stay what they are.
func (w *Worktree) addAll(ctx context.Context, c call) error {
	nested, err := w.nested()
	if err != nil {
		return err
	}
	links, err := gitLinks(ctx, c)
	if err != nil {
		return err
	}
	skip := make([]string, 0, len(nested)+len(links))
	skip = append(append(skip, nested...), links...)
	if err := w.addBut(ctx, c, skip); err != nil {
		return err
	}
	modules, err := w.submodules(ctx, c, nested)
	if err != nil {
		return err
	}
	stays := w.saveModules(ctx)
	for _, path := range nested {
		switch name := w.linkedTo(filepath.Join(w.Dir, path)); {
		case name != "":
			w.saveLinked(ctx, filepath.Join(w.Dir, path), name)
		case stays[path]:
		case modules[path]:
			err = w.addSubmodule(ctx, c, path)
		default:
			err = w.addNested(ctx, c, path)
		}
		if err != nil {
			return err
		}
	}
	if err := w.dropGone(ctx, c, links); err != nil {
		return err
	}
	return w.addForced(ctx, c)
}

// addBut adds all but some paths. Files and directories that may not be read are made
// readable first, where that is what is in the way.
func (w *Worktree) addBut(ctx context.Context, c call, skip []string) error {
	specs := allBut(skip)
	add := func(how ...string) error {
		c.stdin = strings.NewReader(specs)
		return c.do(ctx, append([]string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}, how...)...)
	}
	err := add()
	if err == nil || ctx.Err() != nil {
		return err
	}
	if makeReadable(w.Dir) {
		if err = add(); err == nil {
			return nil
		}
	}
	if again := add("--ignore-errors"); again != nil && status(again) != 1 {
		return again
	}
	w.toRescue()
	w.note(fmt.Sprintf("Not all files can be handed in; the agent's directory is kept in %s: %v", w.rescued, err))
	return nil
}

// allBut returns the pathspecs of all but some paths.
func allBut(skip []string) string {
	var specs strings.Builder
	specs.WriteString(".\x00")
	for _, path := range skip {
		specs.WriteString(":(exclude,literal)" + path + "\x00")
	}
	return specs.String()
}

// makeReadable gives the worker's user the right to read what is in a directory; it reports
// whether anything had to be changed. It never leaves the directory, whatever links are made
// meanwhile.
func makeReadable(dir string) (changed bool) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(dir, 0o700) == nil {
		changed = true
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return changed
	}
	defer func() { _ = root.Close() }() // it was read
	return readableIn(root, ".") || changed
}

func readableIn(root *os.Root, dir string) (changed bool) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		want := fs.FileMode(0o400)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode()&want != want && root.Chmod(path, info.Mode().Perm()|want) == nil {
			changed = true
		}
		if info.IsDir() {
			changed = readableIn(root, path) || changed
		}
	}
	return changed
}

// removeAll removes a directory, also where tools left read-only ones in it.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err != nil && makeReadable(dir) {
		err = os.RemoveAll(dir)
	}
	return err
}

// gitLinks returns the paths of submodules in the index.
func gitLinks(ctx context.Context, c call) ([]string, error) {
	list, err := c.run(ctx, "ls-files", "--stage", "-z")
	return parseGitLinks(list), err
}

// parseGitLinks returns the paths of submodules in a list of files.
func parseGitLinks(list string) (paths []string) {
	for entry := range strings.SplitSeq(list, "\x00") {
		if about, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(about, "160000 ") {
			paths = append(paths, path)
		}
	}
	return paths
}

// nested returns the directories below the worktree that are repositories of their own, as paths
// from it. What is in them is not looked at.
func (w *Worktree) nested() (paths []string, err error) { return nestedIn(w.Dir) }

// nestedIn returns the directories below another that are repositories of their own.
func nestedIn(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // adding says what cannot be read
		case path == filepath.Join(dir, ".git"):
			return skipDir(e)
		case e.IsDir() && path != dir && exists(filepath.Join(path, ".git")):
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			paths = append(paths, name)
			return filepath.SkipDir
		}
		return nil
	})
	return paths, err
}

func skipDir(e fs.DirEntry) error {
	if e.IsDir() {
		return filepath.SkipDir
	}
	return nil
}

// submodules returns the paths that .gitmodules names, and those of submodules that the attempt
// began with.
func (w *Worktree) submodules(ctx context.Context, c call, nested []string) (map[string]bool, error) {
	paths := map[string]bool{}
	if len(nested) == 0 {
		return paths, nil
	}
	before, err := c.run(ctx, "ls-tree", "-r", "-z", w.Base)
	if err != nil {
		return nil, err
	}
	for _, path := range parseGitLinks(before) {
		paths[path] = true
	}
	half := filepath.Join(w.private, "gitmodules")
	if err := copyText(filepath.Join(w.Dir, ".gitmodules"), half, 1<<20); err != nil {
		return paths, nil //nolint:nilerr // a file that cannot be one names nothing
	}
	list, _ := c.run(ctx, "config", "--file", half, "--no-includes", "--null", "--get-regexp", `^submodule\..*\.path$`) // there may be none
	_ = os.Remove(half)                                                                                                 // nor the file
	for entry := range strings.SplitSeq(list, "\x00") {
		if _, path, ok := strings.Cut(entry, "\n"); ok {
			paths[filepath.Clean(path)] = true
		}
	}
	return paths, nil
}

// addSubmodule has the index name the commit that a submodule is on.
func (w *Worktree) addSubmodule(ctx context.Context, c call, path string) error {
	commit, err := readHead(filepath.Join(w.Dir, path))
	if err != nil {
		w.note(fmt.Sprintf("The submodule %s stays as it was: %v", path, err))
		return nil
	}
	return c.do(ctx, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
}

// readHead reads as text which commit the repository in a directory is on.
func readHead(dir string) (string, error) {
	at, err := gitDirIn(dir)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(at, "HEAD"))
	if err != nil {
		return "", err
	}
	head := strings.TrimSpace(string(text))
	name, isRef := strings.CutPrefix(head, "ref: ")
	if isRef && filepath.IsLocal(name) {
		if text, err = os.ReadFile(filepath.Join(at, name)); err == nil {
			head = strings.TrimSpace(string(text))
		} else if text, err = os.ReadFile(filepath.Join(at, "packed-refs")); err == nil {
			for line := range strings.Lines(string(text)) {
				if commit, is := strings.CutSuffix(strings.TrimSpace(line), " "+name); is {
					head = commit
				}
			}
		}
	}
	if !isHash.MatchString(head) {
		return "", errors.New("it is on no commit")
	}
	return head, nil
}

// gitDirIn returns the repository that .git in a directory is or names.
func gitDirIn(dir string) (string, error) {
	at := filepath.Join(dir, ".git")
	info, err := os.Lstat(at)
	if err != nil || info.IsDir() {
		return at, err
	}
	half, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(half)), "gitdir: ")
	if !ok {
		return "", errors.New("its .git names no repository")
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return name, nil
}

// dropGone takes submodules out of the index that are not there any more.
func (w *Worktree) dropGone(ctx context.Context, c call, links []string) error {
	for _, path := range links {
		if info, err := os.Lstat(filepath.Join(w.Dir, path)); err == nil && info.IsDir() {
			continue
		}
		if err := c.do(ctx, "update-index", "--force-remove", "--", path); err != nil {
			return err
		}
	}
	return nil
}

// addNested adds the files of a repository inside the worktree, but for what git ignores.
func (w *Worktree) addNested(ctx context.Context, c call, path string) error {
	var names []string
	err := filepath.WalkDir(filepath.Join(w.Dir, path), func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			return skipDir(e)
		}
		if e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0 {
			name, err := filepath.Rel(w.Dir, at)
			names = append(names, name)
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	names = w.notIgnored(ctx, c, path, names)
	if len(names) == 0 {
		return nil
	}
	w.note(fmt.Sprintf("%s is a repository of its own; it is handed in as files, without its history.", path))
	if err := c.do(ctx, "update-index", "--force-remove", "--", path); err != nil {
		return err
	}
	return addNames(ctx, c, names)
}

// notIgnored leaves out the names that git ignores.
func (w *Worktree) notIgnored(ctx context.Context, c call, path string, names []string) []string {
	if c.ok(ctx, "check-ignore", "--quiet", "--no-index", "--", path+"/") {
		return nil
	}
	c.stdin = strings.NewReader(strings.Join(names, "\x00"))
	list, _ := c.run(ctx, "check-ignore", "-z", "--stdin", "--no-index") // it ends with 1 where it finds none
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(list, "\x00") {
		ignored[name] = true
	}
	kept := names[:0]
	for _, name := range names {
		if !ignored[name] {
			kept = append(kept, name)
		}
	}
	return kept
}

func addNames(ctx context.Context, c call, names []string) error {
	c.stdin = strings.NewReader(strings.Join(names, "\x00") + "\x00")
	return c.do(ctx, "update-index", "--add", "--remove", "-z", "--stdin")
}

// addForced adds files that git ignores and the agent has added all the same.
func (w *Worktree) addForced(ctx context.Context, c call) error {
	theirIndex := filepath.Join(w.private, "agent-index")
	_ = os.Remove(theirIndex)
	if err := copyText(filepath.Join(w.Dir, ".git", "index"), theirIndex, 1<<30); err != nil || !exists(theirIndex) {
		return nil //nolint:nilerr // what is no index adds nothing
	}
	reading := c
	reading.index = theirIndex
	added, err := reading.run(ctx, "ls-files", "-z")
	if err != nil {
		return nil //nolint:nilerr // an index that cannot be read adds nothing
	}
	known, err := c.run(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for name := range strings.SplitSeq(known, "\x00") {
		here[name] = true
	}
	var names []string
	for name := range strings.SplitSeq(added, "\x00") {
		if name == "" || here[name] {
			continue
		}
		if info, err := os.Lstat(filepath.Join(w.Dir, name)); err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return addNames(ctx, c, names)
}
