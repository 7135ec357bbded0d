package repos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofrs/flock"
)

const (
	branchPrefix     = "fleet/"
	quarantinePrefix = "fleet-quarantine/"
)

// Attempt is what a worktree is made for.
type Attempt struct {
	Repo string
	// Job is the job's key and ID what no other job of any server has.
	Job, ID string
	Epoch   int64
	// Base is a branch or commit to begin from; "" is the default branch.
	Base string
	// Continue is a commit or branch of an earlier attempt to go on from; where it is not to
	// be found, and where Base has all that it changes, the attempt begins from Base.
	Continue string
}

// Name names an attempt among branches and files: two servers may have jobs of one key.
func (a Attempt) Name() string { return fmt.Sprintf("%s-e%d", a.place(), a.Epoch) }

// place names the directory of a job's attempts, one after the other: programs find their
// sessions by it. What a name of a branch may not hold is written as _.
func (a Attempt) place() string {
	return strings.Trim(badInName.ReplaceAllString(a.Job, "_"), ".") + "-" + digest(a.ID+"\n"+a.Job)
}

// badInName is what must not be in names of branches and directories.
var badInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// Worktree is the work of an attempt. Its methods are for one goroutine at a time.
type Worktree struct {
	// Dir is where the agent works. It has a repository of its own, which borrows objects of
	// the mirror and shares nothing else with anybody.
	Dir    string
	Branch string
	// Base is the commit that the changes count from.
	Base string
	// Continued: it went on from Attempt.Continue.
	Continued bool
	// Contained: what Attempt.Continue changes is in Base already, where the attempt begins.
	Contained bool
	// Notes are sentences that a person should read: what was not as it should be.
	Notes []string

	repos   *Repos
	mirror  *mirror
	attempt Attempt
	private string // the directory of what the worker keeps of it
	tip     string // the newest commit of the branch
	from    string // the commit that it began on; "" where a worker of before made it
	lock    *flock.Flock
	beside  []string // other work trees of the agent's, of which all is kept
	rescued string   // where the directory goes in the end, since not all in it was saved; "" nowhere
}

// kept is what the worker keeps of an attempt in its private directory, from before the
// worktree is made until it is gone. The addresses are those of the claim.
type kept struct {
	Attempt
	Dir, Branch, BaseCommit string
	From                    string
	Mirror                  string
	Clone, Origin, Push     string
}

// keptFile is in the private directory.
const keptFile = "attempt.json"

// ErrGone is an attempt of which nothing is left.
var ErrGone = errors.New("nothing is left of the attempt")

// Begin makes the worktree and the branch of an attempt. Called again for the same one it
// is Reopen.
func (r *Repos) Begin(ctx context.Context, a Attempt) (*Worktree, error) {
	w, err := r.Reopen(ctx, a)
	if !errors.Is(err, ErrGone) {
		return w, err
	}
	s, err := r.source(ctx, a.Repo)
	if err != nil {
		return nil, err
	}
	m := r.mirrorFor(s)
	warning, err := m.fresh(ctx)
	if err != nil {
		return nil, err
	}
	w = &Worktree{repos: r, mirror: m, attempt: a, Branch: branchPrefix + a.Name(), private: r.privateDir(a)}
	w.note(warning)
	if err := w.takePlace(a.place(), a.Name()); err != nil {
		return nil, err
	}
	if err := w.add(ctx); err != nil {
		return nil, errors.Join(err, w.Close(ctx)) // no agent has been there
	}
	return w, nil
}

// Mirror returns the directory of the worker's own repository, which has the branch.
func (w *Worktree) Mirror() string { return w.mirror.dir }

// note keeps a sentence for people, "" none.
func (w *Worktree) note(sentence string) {
	if sentence != "" {
		w.Notes = append(w.Notes, sentence)
		w.repos.Log.Warn(sentence, "job", w.attempt.Job, "epoch", w.attempt.Epoch)
	}
}

// privateDir is where the worker keeps what is its own of an attempt.
func (r *Repos) privateDir(a Attempt) string { return filepath.Join(r.State, "private", a.Name()) }

// worktrees is where those of a repository are.
func (r *Repos) worktrees(m *mirror) string { return filepath.Join(r.State, "worktrees", m.base()) }

// takePlace takes the first of the directories for the worktree that no other process uses.
func (w *Worktree) takePlace(names ...string) error {
	parent := w.repos.worktrees(w.mirror)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	for _, place := range names {
		w.Dir = filepath.Join(parent, place)
		w.lock = flock.New(w.Dir + ".lock")
		if taken, err := w.lock.TryLock(); err != nil || taken {
			return err
		}
	}
	return fmt.Errorf("another process works on %s in %s", w.attempt.Name(), w.mirror.name)
}

// add makes the branch and checks it out in the directory, in place of what an earlier
// attempt left there.
func (w *Worktree) add(ctx context.Context) error {
	if err := w.clear(ctx); err != nil {
		return err
	}
	from, err := w.start(ctx)
	if err != nil {
		return err
	}
	w.from = from
	if err := w.keep(); err != nil {
		return err
	}
	// One that stands there without a private directory is nobody's any more: it is ours by
	// its name, which has the job's own id in it.
	if err := w.moveBranch(ctx, from); err != nil {
		return err
	}
	return w.checkout(ctx, from)
}

// moveBranch moves the attempt's branch in the mirror.
func (w *Worktree) moveBranch(ctx context.Context, to string) error {
	if err := w.mirror.git().do(ctx, "update-ref", ours+w.Branch, to); err != nil {
		return err
	}
	w.tip = to
	return nil
}

// keep writes down what a process that starts after a crash must know.
func (w *Worktree) keep() error {
	if err := os.MkdirAll(w.private, 0o700); err != nil {
		return err
	}
	m := w.mirror
	raw, err := json.Marshal(kept{Attempt: w.attempt, Dir: w.Dir, Branch: w.Branch, BaseCommit: w.Base, From: w.from,
		Mirror: m.dir, Clone: m.clone, Origin: m.origin, Push: m.push})
	if err != nil {
		return err
	}
	half := filepath.Join(w.private, keptFile+".half")
	if err := os.WriteFile(half, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(half, filepath.Join(w.private, keptFile))
}

// clear saves and removes what stands in the worktree's place.
func (w *Worktree) clear(ctx context.Context) error {
	if !exists(w.Dir) {
		return nil
	}
	all, err := w.repos.leftBehind(ctx)
	if err != nil {
		return err
	}
	for _, left := range all {
		if left.Dir == w.Dir && left.isInPlace() {
			left.saveLeft(ctx, "found by a later attempt")
			if err := left.removeDir(); err != nil {
				return err
			}
		}
	}
	if exists(w.Dir) { // nobody knows whose it is
		return rescue(w.Dir, w.repos.rescuePlace(filepath.Base(w.Dir)), "No attempt is known that worked here.")
	}
	return nil
}

// saveLeft commits what a process that was killed left. What cannot be committed is rescued.
func (w *Worktree) saveLeft(ctx context.Context, reason string) {
	if _, err := w.SaveWIP(ctx, reason); err != nil {
		w.repos.Log.Warn("what an earlier attempt left could not be committed: "+err.Error(), "dir", w.Dir, "kept_in", w.rescued)
	}
}

// leftBehind returns the attempts of which there is a private directory. They have no lock.
func (r *Repos) leftBehind(ctx context.Context) ([]*Worktree, error) {
	files, err := filepath.Glob(filepath.Join(r.State, "private", "*", keptFile))
	var all []*Worktree
	for _, file := range files {
		w, err := r.read(ctx, filepath.Dir(file))
		if err != nil {
			r.Log.Warn("what is known of an attempt cannot be read: "+err.Error(), "file", file)
			continue
		}
		all = append(all, w)
	}
	return all, err
}

// read reads the private directory of an attempt.
func (r *Repos) read(ctx context.Context, private string) (*Worktree, error) {
	raw, err := os.ReadFile(filepath.Join(private, keptFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrGone
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	if err != nil {
		return nil, err
	}
	m := &mirror{dir: k.Mirror, log: r.Log, source: source{name: k.Repo, clone: k.Clone}}
	at := r.State
	if exists(k.Clone) {
		at = k.Clone
		if m.source, err = cloneAt(ctx, k.Clone); err != nil {
			r.Log.Warn("the clone cannot be read: "+err.Error(), "repo", k.Repo)
		}
	}
	if m.person, err = personIn(ctx, at); err != nil {
		return nil, err
	}
	m.name, m.origin, m.push = k.Repo, k.Origin, k.Push
	w := &Worktree{repos: r, mirror: m, attempt: k.Attempt, private: private, Dir: k.Dir, Branch: k.Branch, Base: k.BaseCommit,
		from: k.From}
	w.tip, _ = m.resolveCommit(ctx, ours+k.Branch) // "" where it was killed before it had one
	return w, nil
}

// start returns the commit that the attempt begins from, and sets Base: the commit that its
// changes count from.
func (w *Worktree) start(ctx context.Context) (commit string, err error) {
	if w.Base, err = w.base(ctx); err != nil {
		return "", err
	}
	if w.attempt.Continue == "" {
		return w.Base, nil
	}
	left, ok := w.mirror.resolve(ctx, w.attempt.Continue)
	if !ok {
		return w.Base, nil
	}
	if contains(ctx, w.mirror.git(), w.Base, left) {
		w.Contained = true
		return w.Base, nil
	}
	w.Continued = true
	if common, err := w.mirror.git().run(ctx, "merge-base", w.Base, left); err == nil {
		w.Base = common
	}
	return left, nil
}

// base is where the attempt would begin if there were none before it.
func (w *Worktree) base(ctx context.Context) (string, error) {
	if from := w.attempt.Base; from != "" {
		base, ok := w.mirror.resolve(ctx, from)
		if !ok {
			return "", fmt.Errorf("there is no %s in %s", from, w.mirror.name)
		}
		return base, nil
	}
	_, commit, err := w.mirror.beginning(ctx)
	if err != nil || commit != "" {
		return commit, err
	}
	return w.repos.firstCommit(ctx, w.mirror)
}

// isHash is the whole name of a commit.
var isHash = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// resolve returns the commit of a branch or of a commit's name. The origin's branch comes before
// one of an attempt, and both before a person's own, which may hold what is not for others.
func (m *mirror) resolve(ctx context.Context, name string) (string, bool) {
	if !goodBranch(name) {
		return "", false
	}
	for _, prefix := range []string{theirs, ours, "refs/clone/"} {
		if commit, ok := m.resolveCommit(ctx, prefix+name); ok {
			return commit, true
		}
	}
	if !isHash.MatchString(name) {
		return "", false
	}
	return m.resolveCommit(ctx, name)
}

// Reopen returns the worktree of an attempt whose process has ended: where it was, or made
// again from its branch. The error is ErrGone where there is neither.
func (r *Repos) Reopen(ctx context.Context, a Attempt) (*Worktree, error) {
	w, err := r.read(ctx, r.privateDir(a))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(w.Dir), 0o700); err != nil {
		return nil, err
	}
	w.lock = flock.New(w.Dir + ".lock")
	if taken, err := w.lock.TryLock(); err != nil || !taken {
		return nil, errors.Join(err, fmt.Errorf("another process works in %s", w.Dir))
	}
	if err := w.again(ctx); err != nil {
		return nil, errors.Join(err, w.lock.Unlock())
	}
	return w, nil
}

// again makes the directory good again where it is gone or only half made, or has become
// that of another attempt.
func (w *Worktree) again(ctx context.Context) error {
	if w.tip == "" { // killed before anything was made
		return errors.Join(ErrGone, os.RemoveAll(w.private))
	}
	if exists(w.Dir) && w.owner() != w.attempt.Name() {
		if err := errors.Join(w.lock.Unlock(), w.takePlace(w.attempt.Name()), w.clear(ctx), w.keep()); err != nil {
			return err
		}
	}
	if exists(w.Dir) && exists(filepath.Join(w.private, madeFile)) {
		return nil
	}
	if err := os.RemoveAll(w.Dir); err != nil { // the agent had not begun
		return err
	}
	return w.checkout(ctx, w.tip)
}

// owner returns the attempt whose files are in the directory; the file that is locked says so.
func (w *Worktree) owner() string {
	name, _ := os.ReadFile(w.Dir + ".lock") // it is there: it is locked
	return string(name)
}

// isInPlace reports whether the directory has the attempt's files.
func (w *Worktree) isInPlace() bool { return exists(w.Dir) && w.owner() == w.attempt.Name() }

// madeFile is in the private directory as soon as the worktree is whole.
const madeFile = "made"

// checkout makes the directory: the files of a commit, and a repository for the agent.
func (w *Worktree) checkout(ctx context.Context, commit string) error {
	if err := os.WriteFile(w.Dir+".lock", []byte(w.attempt.Name()), 0o600); err != nil {
		return err
	}
	made := filepath.Join(w.private, madeFile)
	if err := removeFile(made); err != nil {
		return err
	}
	index := filepath.Join(w.private, "index")
	for _, stale := range []string{index, index + ".lock"} {
		if err := removeFile(stale); err != nil {
			return err
		}
	}
	if err := w.mirror.checkout(ctx, w.Dir, index, commit); err != nil {
		return err
	}
	if err := w.mirror.furnish(ctx, w.Dir, index, w.Branch, commit, w.repos.Author); err != nil {
		return err
	}
	if err := w.reading().rememberRefs(); err != nil {
		return err
	}
	files, err := w.openIndex()
	if err != nil {
		return err
	}
	said, err := files.lacks(ctx, commit)
	if err == nil {
		var more []string
		more, err = ownModules{w}.fill(ctx, commit)
		said = append(said, more...)
	}
	for _, sentence := range said {
		w.note(sentence)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(made, nil, 0o600)
}

// Leave removes the directory, so that a later attempt may have its place; the branch stays,
// and can be pushed. What could not be saved whole is moved to the rescue directory instead.
// Called again it changes nothing.
func (w *Worktree) Leave() error {
	if w.lock == nil {
		return nil
	}
	return errors.Join(w.removeDir(), w.lock.Unlock())
}

// Close leaves the directory and forgets the attempt; its branch stays in the mirror.
func (w *Worktree) Close(context.Context) error {
	if err := w.Leave(); err != nil {
		return err
	}
	return os.RemoveAll(w.private)
}

// Left returns what is left of an attempt that needs no directory any more, to push its branch.
// A directory that a killed process had not removed yet is removed with Leave. The error is
// ErrGone where nothing is left.
func (r *Repos) Left(ctx context.Context, a Attempt) (*Worktree, error) {
	w, err := r.read(ctx, r.privateDir(a))
	if err == nil && w.tip == "" {
		err = errors.Join(ErrGone, os.RemoveAll(w.private))
	}
	if err != nil || !exists(w.Dir) {
		return w, err
	}
	lock := flock.New(w.Dir + ".lock")
	if free, err := lock.TryLock(); err != nil || !free {
		return w, err // a later attempt works there
	}
	w.lock = lock
	return w, nil
}

// removeDir removes the directory of the files, or rescues it, if it is the attempt's.
func (w *Worktree) removeDir() error {
	if exists(w.Dir) && w.owner() != w.attempt.Name() {
		return nil
	}
	for _, dir := range w.beside {
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	if w.rescued != "" && exists(w.Dir) {
		return rescue(w.Dir, w.rescued, strings.Join(w.Notes, "\n"))
	}
	return removeAll(w.Dir)
}
