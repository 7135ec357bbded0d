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

// index is the worker's own index of the files of a worktree, as git reads them.
type index struct {
	w *Worktree
	call
}

// snapshot commits all files of the worktree on top of a commit, where they are not as they
// are in it, and returns the newest commit.
func (w *Worktree) snapshot(ctx context.Context, parent, message string) (string, error) {
	i, err := w.openIndex()
	if err != nil {
		return "", err
	}
	if err := i.do(ctx, "read-tree", "-m", parent); err != nil {
		// An index that is no good is only slower to make again.
		if err := errors.Join(os.Remove(i.index), i.do(ctx, "read-tree", parent)); err != nil {
			return "", err
		}
	}
	if err := i.addAll(ctx); err != nil {
		return "", err
	}
	return i.commit(ctx, parent, message)
}

// openIndex returns the index. Locks that a killed git left are removed: nobody else uses it.
func (w *Worktree) openIndex() (index, error) {
	i := index{w, w.mirror.git()}
	i.settings = append(i.settings, w.mirror.filters()...)
	i.dir, i.workTree, i.index, i.longest = w.Dir, w.Dir, filepath.Join(w.private, "index"), clonePatience
	if err := removeFile(i.index + ".lock"); err != nil {
		return i, err
	}
	excludes, err := w.excludes()
	i.settings = append(i.settings, setting{"core.excludesFile", excludes})
	return i, err
}

// commit commits the index on top of a commit, where it is not as that is, and returns the newest
// commit.
func (i index) commit(ctx context.Context, parent, message string) (string, error) {
	tree, err := i.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	was, err := i.run(ctx, "rev-parse", parent+"^{tree}")
	if err != nil || tree == was {
		return parent, err
	}
	i.env, i.stdin = append(i.env, i.w.repos.identity()...), strings.NewReader(message)
	return i.run(ctx, "commit-tree", "-p", parent, "-F", "-", tree)
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
func (i index) addAll(ctx context.Context) error {
	w := i.w
	nested, err := nestedIn(w.Dir)
	if err != nil {
		return err
	}
	links, err := gitLinks(ctx, i.call)
	if err != nil {
		return err
	}
	skip := make([]string, 0, len(nested)+len(links))
	skip = append(append(skip, nested...), links...)
	if err := i.addBut(ctx, skip); err != nil {
		return err
	}
	modules, err := i.submodules(ctx, nested)
	if err != nil {
		return err
	}
	stays := ownModules{w}.save(ctx)
	for _, path := range nested {
		switch tree, isLinked := w.linkedTo(filepath.Join(w.Dir, path)); {
		case isLinked:
			tree.save(ctx)
		case stays[path]:
		case modules[path]:
			err = i.addSubmodule(ctx, path)
		default:
			err = i.addNested(ctx, path)
		}
		if err != nil {
			return err
		}
	}
	if err := i.dropGone(ctx, links); err != nil {
		return err
	}
	return i.addForced(ctx)
}

// addBut adds all but some paths. Files and directories that may not be read are made
// readable first, where that is what is in the way.
func (i index) addBut(ctx context.Context, skip []string) error {
	specs := allBut(skip)
	add := func(how ...string) error {
		i.stdin = strings.NewReader(specs)
		return i.do(ctx, append([]string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}, how...)...)
	}
	err := add()
	if err == nil || ctx.Err() != nil {
		return err
	}
	if makeReadable(i.w.Dir) {
		if err = add(); err == nil {
			return nil
		}
	}
	if again := add("--ignore-errors"); again != nil && status(again) != 1 {
		return again
	}
	i.w.toRescue()
	i.w.note(fmt.Sprintf("Not all files can be handed in; the agent's directory is kept in %s: %v", i.w.rescued, err))
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

// nestedIn returns the directories below another that are repositories of their own, as paths from
// it. What is in them is not looked at.
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
func (i index) submodules(ctx context.Context, nested []string) (map[string]bool, error) {
	paths := map[string]bool{}
	if len(nested) == 0 {
		return paths, nil
	}
	before, err := i.run(ctx, "ls-tree", "-r", "-z", i.w.Base)
	if err != nil {
		return nil, err
	}
	for _, path := range parseGitLinks(before) {
		paths[path] = true
	}
	half := filepath.Join(i.w.private, "gitmodules")
	if err := copyText(filepath.Join(i.w.Dir, ".gitmodules"), half, 1<<20); err != nil {
		return paths, nil //nolint:nilerr // a file that cannot be one names nothing
	}
	list, _ := i.run(ctx, "config", "--file", half, "--no-includes", "--null", "--get-regexp", `^submodule\..*\.path$`) // there may be none
	_ = os.Remove(half)                                                                                                 // nor the file
	for entry := range strings.SplitSeq(list, "\x00") {
		if _, path, ok := strings.Cut(entry, "\n"); ok {
			paths[filepath.Clean(path)] = true
		}
	}
	return paths, nil
}

// addSubmodule has the index name the commit that a submodule is on.
func (i index) addSubmodule(ctx context.Context, path string) error {
	commit, err := readHead(filepath.Join(i.w.Dir, path))
	if err != nil {
		i.w.note(fmt.Sprintf("The submodule %s stays as it was: %v", path, err))
		return nil
	}
	return i.do(ctx, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
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
func (i index) dropGone(ctx context.Context, links []string) error {
	for _, path := range links {
		if info, err := os.Lstat(filepath.Join(i.w.Dir, path)); err == nil && info.IsDir() {
			continue
		}
		if err := i.do(ctx, "update-index", "--force-remove", "--", path); err != nil {
			return err
		}
	}
	return nil
}

// addNested adds the files of a repository inside the worktree, but for what git ignores.
func (i index) addNested(ctx context.Context, path string) error {
	var names []string
	err := filepath.WalkDir(filepath.Join(i.w.Dir, path), func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			return skipDir(e)
		}
		if e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0 {
			name, err := filepath.Rel(i.w.Dir, at)
			names = append(names, name)
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	names = i.notIgnored(ctx, path, names)
	if len(names) == 0 {
		return nil
	}
	i.w.note(fmt.Sprintf("%s is a repository of its own; it is handed in as files, without its history.", path))
	if err := i.do(ctx, "update-index", "--force-remove", "--", path); err != nil {
		return err
	}
	return i.addNames(ctx, names)
}

// notIgnored leaves out the names that git ignores.
func (i index) notIgnored(ctx context.Context, path string, names []string) []string {
	if i.ok(ctx, "check-ignore", "--quiet", "--no-index", "--", path+"/") {
		return nil
	}
	i.stdin = strings.NewReader(strings.Join(names, "\x00"))
	list, _ := i.run(ctx, "check-ignore", "-z", "--stdin", "--no-index") // it ends with 1 where it finds none
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

// isBehindLink reports whether a directory on the way from a root to a file is a link: the link is handed
// in, and what it leads to is no file of the repository.
func isBehindLink(root, name string) bool {
	for dir := filepath.Dir(name); dir != "." && dir != string(filepath.Separator); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(root, dir)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

func (i index) addNames(ctx context.Context, names []string) error {
	i.stdin = strings.NewReader(strings.Join(names, "\x00") + "\x00")
	return i.do(ctx, "update-index", "--add", "--remove", "-z", "--stdin")
}

// addForced adds files that git ignores and the agent has added all the same.
func (i index) addForced(ctx context.Context) error {
	theirIndex := filepath.Join(i.w.private, "agent-index")
	_ = os.Remove(theirIndex)
	if err := copyText(filepath.Join(i.w.Dir, ".git", "index"), theirIndex, 1<<30); err != nil || !exists(theirIndex) {
		return nil //nolint:nilerr // what is no index adds nothing
	}
	reading := i.call
	reading.index = theirIndex
	added, err := reading.run(ctx, "ls-files", "-z")
	if err != nil {
		return nil //nolint:nilerr // an index that cannot be read adds nothing
	}
	known, err := i.run(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for name := range strings.SplitSeq(known, "\x00") {
		here[name] = true
	}
	var names []string
	for name := range strings.SplitSeq(added, "\x00") {
		if name == "" || here[name] || isBehindLink(i.w.Dir, name) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(i.w.Dir, name)); err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return i.addNames(ctx, names)
}
