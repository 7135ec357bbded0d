package repos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	// retryLock is how often a taken lock is tried again.
	retryLock = 20 * time.Millisecond
	// fetchPatience is how long an attempt waits for the origin.
	fetchPatience = 30 * time.Second
)

// Files of the worker's in a mirror.
const (
	fetchedFile = "fleetboard-fetched" // its time is when the last fetch began
	defaultFile = "fleetboard-default" // the default branch, as it was said then
)

// There are two sorts of branches in a mirror: those of the origin, and those of attempts.
const (
	theirs = "refs/remotes/origin/"
	ours   = "refs/heads/"
)

// mirror is the worker's own repository of a source. All that attempts need is in it, and no
// object ever leaves it while it stands.
type mirror struct {
	source
	dir string
	log *slog.Logger
}

// mirrorFor returns the mirror of a source, whether or not it exists yet.
func (r *Repos) mirrorFor(s source) *mirror {
	return &mirror{source: s, dir: filepath.Join(r.State, "mirrors", s.base()+".git"), log: r.Log}
}

// git returns a call in the mirror, and network one that reaches the origin.
func (m *mirror) git() call { return call{repo: m.dir} }
func (m *mirror) network() call {
	c := call{repo: m.dir, settings: m.settings, longest: fetchPatience}
	if exists(m.trustFile()) {
		c.global = m.trustFile()
	}
	return c
}

// trustFile names the directories of other owners that the person trusts: git reads them
// where it reads the clone.
func (m *mirror) trustFile() string { return m.dir + ".trust" }

// trust writes the file, where there is something to write.
func (m *mirror) trust() error {
	var text strings.Builder
	for _, s := range m.settings {
		if s.key == "safe.directory" {
			fmt.Fprintf(&text, "[safe]\n\tdirectory = \"%s\"\n", inQuotes.Replace(s.value))
		}
	}
	if text.Len() == 0 {
		return removeFile(m.trustFile())
	}
	return os.WriteFile(m.trustFile(), []byte(text.String()), 0o600)
}

// removeFile removes a file; one that is not there is no error.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// resolveCommit returns the commit that a name or a reference stands for, and whether there is one.
func (m *mirror) resolveCommit(ctx context.Context, name string) (string, bool) {
	commit, err := m.git().run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return commit, err == nil
}

// has reports whether a commit is here.
func (m *mirror) has(ctx context.Context, commit string) bool {
	return m.git().ok(ctx, "cat-file", "-e", commit+"^{commit}")
}

// contains reports whether a commit or branch has all of a commit's work: itself, or everything that it
// changes, such as after a squash. Where nobody can tell it is not so.
func contains(ctx context.Context, git call, into, commit string) bool {
	if git.ok(ctx, "merge-base", "--is-ancestor", commit, into) {
		return true
	}
	merged, err := git.run(ctx, "merge-tree", "--write-tree", into, commit)
	if err != nil {
		return false
	}
	before, err := git.run(ctx, "rev-parse", into+"^{tree}")
	return err == nil && merged == before
}

// lock takes the mirror for what attempts share.
func (m *mirror) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return nil, err
	}
	l := flock.New(m.dir + ".lock")
	if _, err := l.TryLockContext(ctx, retryLock); err != nil {
		return nil, fmt.Errorf("the lock of %s: %w", m.name, err)
	}
	return func() { _ = l.Unlock() }, nil // closing the file frees it
}

// fresh makes the mirror, where it is not there, and fetches what is new. An origin that does
// not answer keeps no attempt from beginning where something is here; warning says so.
func (m *mirror) fresh(ctx context.Context) (warning string, err error) {
	asked := time.Now()
	unlock, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := m.trust(); err != nil {
		return "", err
	}
	made := !exists(m.dir)
	if made {
		if err := m.make(ctx); err != nil {
			return "", err
		}
	} else if m.fetched().After(asked) {
		return "", nil // somebody else has just done it
	}
	if warning, err = m.fetch(ctx); err != nil && made && !m.hasBranches(ctx) {
		err = errors.Join(err, os.RemoveAll(m.dir)) // nothing is in it; the next attempt makes it anew
	}
	return warning, err
}

// fetched is when the last fetch of the mirror began.
func (m *mirror) fetched() time.Time {
	info, err := os.Stat(filepath.Join(m.dir, fetchedFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// make makes the mirror from what is here: what the person's clone has is not fetched again.
func (m *mirror) make(ctx context.Context) error {
	half := &mirror{source: m.source, dir: m.dir + ".half", log: m.log}
	if err := os.RemoveAll(half.dir); err != nil {
		return err
	}
	format := m.format(ctx)
	c := call{dir: filepath.Dir(m.dir)}
	if err := c.do(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format, half.dir); err != nil {
		return err
	}
	if err := half.seed(ctx); err != nil {
		m.log.Info("the clone's objects are fetched: "+err.Error(), "repo", m.name)
	}
	return os.Rename(half.dir, m.dir)
}

// format is that of the objects.
func (m *mirror) format(ctx context.Context) string {
	if m.clone != "" {
		if format, err := m.inClone().run(ctx, "rev-parse", "--show-object-format"); err == nil {
			return format
		}
	}
	list, err := call{dir: filepath.Dir(m.dir), settings: m.settings, longest: fetchPatience}.run(ctx, "ls-remote", "--quiet", m.from())
	if hash, _, ok := strings.Cut(list, "\t"); err == nil && ok && len(hash) == 64 {
		return "sha256"
	}
	return "sha1"
}

func (m *mirror) hasBranches(ctx context.Context) bool {
	some, err := m.git().run(ctx, "for-each-ref", "--count=1", theirs)
	return err == nil && some != ""
}

// fetch fetches the branches and tags, and reads the default branch.
func (m *mirror) fetch(ctx context.Context) (warning string, err error) {
	began, c := time.Now(), m.network()
	if !m.hasBranches(ctx) || m.origin == "" {
		c.longest = clonePatience
	}
	err = c.do(ctx, "fetch", "--quiet", "--force", "--prune", "--no-tags", "--update-shallow", "--no-write-fetch-head",
		"--end-of-options", m.from(), "+refs/heads/*:"+theirs+"*", "+refs/tags/*:refs/tags/*")
	if err == nil {
		err = m.askDefault(ctx)
	}
	if m.origin != "" && m.clone != "" && !m.hasBranches(ctx) && ctx.Err() == nil { // nothing was pushed yet
		if borrowed := m.borrow(ctx); err == nil || borrowed != nil {
			err = errors.Join(err, borrowed)
		} else {
			warning, err = notFetched(err), nil
		}
	}
	if err != nil && m.origin != "" && m.hasBranches(ctx) && ctx.Err() == nil {
		warning, err = notFetched(err), m.guessDefault(ctx)
	}
	return warning, errors.Join(err, m.touch(began), m.copyExcludes())
}

// fetchBranch fetches a branch from where the repository comes from.
func (m *mirror) fetchBranch(ctx context.Context, branch string) error {
	return m.network().do(ctx, "fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head", "--end-of-options", m.from(),
		"+"+ours+branch+":"+theirs+branch)
}

func notFetched(err error) string {
	return "The origin could not be fetched, so the work begins from what is here: " + err.Error()
}

// borrow fetches the branches of the clone, where there are none of the origin.
func (m *mirror) borrow(ctx context.Context) error {
	c := m.network()
	c.longest = clonePatience
	return c.do(ctx, "fetch", "--quiet", "--force", "--prune", "--no-tags", "--update-shallow", "--no-write-fetch-head",
		m.gitDir, "+refs/heads/*:refs/clone/*")
}

// touch notes when a fetch began.
func (m *mirror) touch(began time.Time) error {
	file := filepath.Join(m.dir, fetchedFile)
	return errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, began, began))
}

// copyExcludes has the mirror leave out what the person's clone does.
func (m *mirror) copyExcludes() error {
	if m.clone == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(m.gitDir, "info", "exclude"))
	if err != nil {
		return nil //nolint:nilerr // most clones have no such file
	}
	if err := os.MkdirAll(filepath.Join(m.dir, "info"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.dir, "info", "exclude"), text, 0o600)
}

// seed takes what the clone has into an empty mirror: its files are linked where they can be,
// so that they are on the disk once.
func (m *mirror) seed(ctx context.Context) error {
	if m.clone == "" || exists(filepath.Join(m.gitDir, "shallow")) {
		return nil
	}
	from := filepath.Join(m.gitDir, "objects")
	if promised, _ := filepath.Glob(filepath.Join(from, "pack", "*.promisor")); len(promised) > 0 {
		return nil // it does not have all
	}
	refs, prefix := "refs/remotes/origin/", "refs/remotes/origin/"
	if m.origin == "" {
		prefix, refs = ours, ours
	}
	list, err := m.inClone().run(ctx, "for-each-ref", "--format=%(objecttype) %(objectname) %(refname) %(symref)", refs)
	if err != nil || list == "" {
		return err
	}
	if exists(filepath.Join(from, "info", "alternates")) {
		c := m.network()
		c.longest = clonePatience
		return c.do(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", m.gitDir, "+"+prefix+"*:"+theirs+"*")
	}
	if err := linkObjects(from, filepath.Join(m.dir, "objects")); err != nil {
		return err
	}
	var updates strings.Builder
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "commit" { // a symbolic one has four
			fmt.Fprintf(&updates, "create %s%s %s\n", theirs, strings.TrimPrefix(f[2], prefix), f[1])
		}
	}
	c := m.git()
	c.stdin = strings.NewReader(updates.String())
	return c.do(ctx, "update-ref", "--stdin")
}

// errRepacked is a clone whose objects moved while they were linked.
var errRepacked = errors.New("the clone is being repacked")

// linkObjects links or copies the objects of a repository to another one.
func linkObjects(from, to string) error {
	before, err := packs(from)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == "." || name == "pack" || len(name) == 2):
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case e.IsDir():
			return filepath.SkipDir
		case !e.Type().IsRegular() || !isObject(name):
			return nil
		}
		if os.Link(path, filepath.Join(to, name)) == nil { //nolint:gosec // the clone is the person's own
			return nil
		}
		return copyFile(path, filepath.Join(to, name))
	})
	if err != nil {
		return err
	}
	if after, err := packs(from); err != nil || !slices.Equal(before, after) {
		return errors.Join(err, errRepacked)
	}
	return nil
}

// packs returns the packs of a directory of objects.
func packs(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "pack", "*.pack")) }

// isObject reports whether a file among objects is one, or a pack of them.
func isObject(name string) bool {
	dir, file := filepath.Split(name)
	switch filepath.Ext(file) {
	case ".pack", ".idx", ".rev":
		return dir == "pack/"
	case "":
		return len(dir) == 3 && !strings.HasPrefix(file, "tmp_")
	}
	return false
}

// copyFile copies a file that is not there yet.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	return errors.Join(err, out.Close())
}
