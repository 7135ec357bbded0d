package repos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	// maxModules is how many submodules an attempt gets, and maxModuleDepth how deep they are
	// within one another.
	maxModules     = 64
	maxModuleDepth = 3
	// maxModuleSize bounds what the fetch of one brings, in bytes. It is looked at so often.
	maxModuleSize  = 2 << 30
	moduleInterval = time.Second
	// maxModuleFile bounds .gitmodules, in bytes.
	maxModuleFile = 1 << 20
	// modulesFile in the private directory of an attempt names what it borrows from.
	modulesFile = "modules"
)

// module is a submodule of a commit. All of it is text of the repository.
type module struct{ path, commit, url string }

// modules fills in the submodules of one checkout.
type modules struct {
	r    *Repos
	left int      // how many more may be fetched
	said []string // what could not be had
	used []usedModule
}

// usedModule is a submodule that was checked out, as the worker keeps it.
type usedModule struct {
	Path, Commit string // the path is from the attempt's directory
	Mirror       string // the directory that objects are borrowed from
	Origin       string
	Foreign      bool
}

// fill checks out the submodules of a commit below its directory, and theirs. One that cannot
// be had is said, and its directory stays empty.
func (f *modules) fill(ctx context.Context, m *mirror, dir, commit, prefix string, depth int) error {
	list, err := m.readModules(ctx, commit)
	if err != nil {
		return err
	}
	for _, one := range list {
		name := filepath.Join(prefix, one.path)
		if err := f.one(ctx, m, one, filepath.Join(dir, one.path), name, depth); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f.said = append(f.said, fmt.Sprintf("The submodule %s is not checked out, so its directory is empty: %s.",
				firstLine(name), strings.TrimSuffix(firstLine(err.Error()), ".")))
		}
	}
	return nil
}

// one checks out one of them.
func (f *modules) one(ctx context.Context, m *mirror, one module, dir, name string, depth int) error {
	switch {
	case depth > maxModuleDepth:
		return fmt.Errorf("submodules are checked out %d deep at most", maxModuleDepth)
	case f.left <= 0:
		return fmt.Errorf("at most %d submodules are checked out", maxModules)
	}
	if !f.r.isOwnDir(dir) {
		return errors.New("its directory leads elsewhere")
	}
	f.left--
	sub, foreign, err := f.r.moduleMirror(ctx, m, one)
	if err != nil {
		return err
	}
	if sub.hasOwnStore(ctx, one.commit) {
		sub.settings = withoutFilters(sub.settings)
		f.said = append(f.said, fmt.Sprintf("Files of Git LFS in the submodule %s are pointers only, "+
			"since it names a store of its own for them.", firstLine(name)))
	}
	index, err := os.MkdirTemp("", "fleet-module-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(index) }() // it is of this call alone
	at := filepath.Join(index, "index")
	if err := sub.checkout(ctx, dir, at, one.commit); err != nil {
		return errors.Join(err, emptyDir(dir))
	}
	if err := sub.furnish(ctx, dir, at, "", one.commit, f.r.Author); err != nil {
		return errors.Join(err, emptyDir(dir))
	}
	f.used = append(f.used, usedModule{Path: name, Commit: one.commit, Mirror: sub.dir, Origin: sub.origin, Foreign: foreign})
	return f.fill(ctx, sub.mirror, dir, one.commit, name, depth+1)
}

// emptyDir leaves a directory as a checkout without submodules does.
func emptyDir(dir string) error { return errors.Join(removeAll(dir), os.MkdirAll(dir, 0o700)) }

// readModules returns the submodules of a commit, with the addresses that its .gitmodules says.
func (m *mirror) readModules(ctx context.Context, commit string) ([]module, error) {
	list, err := m.git().run(ctx, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, err
	}
	var found []module
	for entry := range strings.SplitSeq(list, "\x00") {
		about, path, _ := strings.Cut(entry, "\t")
		if parts := strings.Fields(about); len(parts) == 3 && parts[0] == "160000" && filepath.IsLocal(path) {
			found = append(found, module{path: path, commit: parts[2]})
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	urls := m.moduleURLs(ctx, commit)
	for i := range found {
		found[i].url = urls[found[i].path]
	}
	return found, nil
}

// moduleURLs returns the addresses in a commit's .gitmodules, by their paths.
func (m *mirror) moduleURLs(ctx context.Context, commit string) map[string]string {
	blob := commit + ":.gitmodules"
	var size int64
	said, err := m.git().run(ctx, "cat-file", "-s", blob)
	if _, unread := fmt.Sscan(said, &size); err != nil || unread != nil || size > maxModuleFile {
		return nil
	}
	list, _ := m.git().run(ctx, "config", "--blob", blob, "--no-includes", "--null",
		"--get-regexp", `^submodule\..*\.(path|url)$`) // there may be none
	paths, urls := map[string]string{}, map[string]string{}
	for entry := range strings.SplitSeq(list, "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if name, ok := strings.CutSuffix(key, ".path"); ok {
			paths[name] = filepath.Clean(value)
		} else if name, ok := strings.CutSuffix(key, ".url"); ok {
			urls[name] = value
		}
	}
	byPath := map[string]string{}
	for name, path := range paths {
		byPath[path] = urls[name]
	}
	return byPath
}

// moduleMirror is the worker's own repository of a submodule. It has the commits that checkouts
// named, and no branches of its own.
type moduleMirror struct{ *mirror }

// moduleMirror returns the worker's own repository of a submodule, with the commit.
func (r *Repos) moduleMirror(ctx context.Context, m *mirror, one module) (sub moduleMirror, foreign bool, err error) {
	address, foreign, err := m.moduleAddress(ctx, one.url, r.Submodules)
	if err != nil {
		return moduleMirror{}, false, err
	}
	sub = r.moduleAt(m.person, usedModule{Path: one.path, Origin: address, Foreign: foreign,
		Mirror: filepath.Join(r.State, "modules", digest(withoutCredentials(address))+".git")})
	return sub, foreign, sub.bring(ctx, one.commit)
}

// moduleAt returns the worker's own repository of a submodule.
func (r *Repos) moduleAt(p person, u usedModule) moduleMirror {
	p.origin, p.push = u.Origin, ""
	if u.Foreign {
		p.settings = forOthers(p.settings)
	}
	return moduleMirror{&mirror{dir: u.Mirror, log: r.Log, source: source{name: filepath.Base(u.Path), person: p}}}
}

// bring makes sure that a commit is here.
func (m moduleMirror) bring(ctx context.Context, commit string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !exists(m.dir) {
		format := "sha1"
		if len(commit) == 64 {
			format = "sha256"
		}
		c := call{dir: filepath.Dir(m.dir)}
		if err := c.do(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format, m.dir); err != nil {
			return err
		}
	}
	return errors.Join(m.fetchCommit(ctx, commit), m.touch(time.Now()))
}

// hasOwnStore reports whether a commit says where Git LFS is to get its files: an address that
// nobody has allowed.
func (m moduleMirror) hasOwnStore(ctx context.Context, commit string) bool {
	return m.git().ok(ctx, "cat-file", "-e", commit+":.lfsconfig")
}

// withoutFilters are settings without those of Git LFS.
func withoutFilters(settings []setting) (list []setting) {
	for _, s := range settings {
		if !strings.HasPrefix(s.key, "filter.lfs.") {
			list = append(list, s)
		}
	}
	return list
}

// fetchCommit fetches a commit where it is not here: alone or, where its origin
// gives none alone, with its branches.
func (m moduleMirror) fetchCommit(ctx context.Context, commit string) error {
	if m.has(ctx, commit) {
		return nil
	}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go watchSize(limited, m.dir, maxModuleSize, cancel)
	c := m.network()
	c.longest, c.env = clonePatience, append(c.env, "GIT_ALLOW_PROTOCOL="+parseProtocol(m.origin))
	fetch := func(args ...string) error {
		err := c.do(limited, append([]string{"fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head"}, args...)...)
		if cause := context.Cause(limited); err != nil && cause != nil {
			return cause
		}
		return err
	}
	err := fetch("--depth=1", "--end-of-options", m.origin, "+"+commit+":refs/fleet/modules/"+commit)
	if err != nil && limited.Err() == nil {
		err = fetch("--end-of-options", m.origin, "+refs/heads/*:"+theirs+"*", "+refs/tags/*:refs/tags/*")
	}
	if err != nil {
		return err
	}
	if !m.has(ctx, commit) {
		return fmt.Errorf("its origin does not have the commit %.12s", commit)
	}
	return nil
}

// errTooLarge is a submodule that brings too much.
var errTooLarge = fmt.Errorf("it is larger than %d GB", maxModuleSize>>30)

// watchSize ends a fetch that brings more than it may.
func watchSize(ctx context.Context, dir string, most int64, end context.CancelCauseFunc) {
	tick := time.NewTicker(moduleInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if measureFiles(filepath.Join(dir, "objects")) > most {
			end(errTooLarge)
			return
		}
	}
}

// measureFiles returns how much the files below a directory have, in bytes.
func measureFiles(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error { // what goes meanwhile has no size
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // see above
		}
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// ownModules are the submodules of a worktree, as the worker keeps them.
type ownModules struct{ *Worktree }

// fill checks out the submodules of the attempt, and returns sentences about those that
// are not to be had. A failure of one keeps no attempt from beginning.
func (w ownModules) fill(ctx context.Context, commit string) (said []string, err error) {
	f := &modules{r: w.repos, left: maxModules}
	if err := f.fill(ctx, w.mirror, w.Dir, commit, "", 1); err != nil {
		return nil, err
	}
	said = f.said
	if more := len(said) - maxNamed; more > 0 {
		said = append(said[:maxNamed:maxNamed], fmt.Sprintf("%d more submodules are not checked out.", more))
	}
	raw, err := json.Marshal(f.used)
	if err != nil {
		return nil, err
	}
	return said, os.WriteFile(filepath.Join(w.private, modulesFile), raw, 0o600)
}

// used returns the submodules that were checked out.
func (w ownModules) used() (list []usedModule) {
	raw, err := os.ReadFile(filepath.Join(w.private, modulesFile))
	if err == nil {
		_ = json.Unmarshal(raw, &list) // the worker wrote it
	}
	return list
}

// save looks at what the agent did in submodules. Nothing of that is pushed, so what is
// not at their origins is kept with the agent's directory. It returns the submodules whose new
// commits nobody could fetch: what is handed in names those of before.
func (w ownModules) save(ctx context.Context) map[string]bool {
	stays := map[string]bool{}
	for _, u := range w.used() {
		dir := filepath.Join(w.Dir, u.Path)
		if !exists(dir) || !w.repos.isOwnDir(dir) {
			continue // it is removed from what is handed in
		}
		why, err := u.unsaved(ctx, w.Worktree, dir)
		if err != nil {
			why = "what is in it cannot be read: " + firstLine(err.Error())
			stays[u.Path] = true
		}
		if why == unknownCommit {
			stays[u.Path] = true
		}
		if why != "" {
			w.toRescue()
			w.note(fmt.Sprintf("Work in the submodule %s is not handed in, since %s; the agent's directory is kept in %s.",
				firstLine(u.Path), why, w.rescued))
		}
	}
	return stays
}

// Why work in a submodule is not handed in.
const (
	unknownCommit = "its commit is not at its origin"
	changedFiles  = "files in it are not committed"
)

// unsaved is why what is in a submodule of a worktree is not at its origin, "" where all of it is.
func (u usedModule) unsaved(ctx context.Context, w *Worktree, dir string) (string, error) {
	head, err := readHead(dir)
	if err != nil {
		entries, unread := os.ReadDir(dir)
		if unread == nil && len(entries) == 0 {
			return "", nil // as in a checkout without submodules
		}
		return "", err
	}
	sub := w.repos.moduleAt(w.mirror.person, u)
	if err := sub.bring(ctx, head); err != nil {
		return unknownCommit, nil //nolint:nilerr // it says so
	}
	c := sub.git()
	c.settings = append(c.settings, sub.filters()...)
	c.dir, c.workTree, c.index, c.longest = dir, dir, filepath.Join(w.private, "module-index"), clonePatience
	if err := errors.Join(removeFile(c.index), removeFile(c.index+".lock"), c.do(ctx, "read-tree", head)); err != nil {
		return "", err
	}
	skip, err := gitLinks(ctx, c)
	if err != nil {
		return "", err
	}
	inner, err := nestedIn(dir)
	if err != nil {
		return "", err
	}
	for _, path := range inner {
		if !slices.Contains(skip, path) {
			return changedFiles, nil // a repository that the agent made
		}
	}
	c.stdin = strings.NewReader(allBut(skip))
	if err := c.do(ctx, "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
		return "", err
	}
	tree, err := c.run(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	was, err := c.run(ctx, "rev-parse", head+"^{tree}")
	if err == nil && tree != was {
		return changedFiles, nil
	}
	return "", err
}

// planModules lists the worker's repositories of submodules that nobody used for long.
func (g cleanup) planModules(ctx context.Context) (planned []removal, err error) {
	dirs, err := filepath.Glob(filepath.Join(g.State, "modules", "*.git"))
	if err != nil || len(dirs) == 0 {
		return nil, err
	}
	for _, dir := range dirs {
		remove := func(ctx context.Context, drop bool) (bool, error) { return g.dropModule(ctx, dir, drop) }
		if unused, err := remove(ctx, false); err != nil {
			return planned, err
		} else if unused {
			planned = append(planned, removal{Removal{"submodule " + dir, "it was not used for " + g.KeepUnused.String()},
				func(ctx context.Context) (bool, error) { return remove(ctx, true) }})
		}
	}
	return planned, nil
}

// dropModule reports whether a repository of a submodule was not used for KeepUnused, and removes
// it then if it is to.
func (g cleanup) dropModule(ctx context.Context, dir string, drop bool) (bool, error) {
	m := &mirror{dir: dir, log: g.Log}
	if time.Since(m.fetched()) < g.KeepUnused {
		return false, nil
	}
	l := flock.New(dir + ".lock")
	if free, err := l.TryLock(); err != nil || !free {
		return false, err
	}
	defer func() { _ = l.Unlock() }() // closing the file frees it
	all, err := g.leftBehind(ctx)
	if err != nil {
		return false, err
	}
	for _, w := range all {
		borrows := func(u usedModule) bool { return u.Mirror == dir }
		if exists(w.Dir) && slices.ContainsFunc(ownModules{w}.used(), borrows) {
			return false, nil
		}
	}
	if drop {
		err = os.RemoveAll(dir)
	}
	return true, err
}
