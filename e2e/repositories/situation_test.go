package repositories

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// situation is a repository in some state, what an agent does in it, and what must be
// afterwards. Beside what it says, nothing in the clone or at the origin may have changed.
type situation struct {
	// name is that of the repository too.
	name string
	// host is the machine that the repository is on; the zero one is plain.
	host host
	// format is of the objects; "" is sha1.
	format string
	// build makes the clone and the origin; nil is repository.build. Then prepare brings
	// them into a state.
	build, prepare func(*repository)
	// agent is what the agent does, in the shell. secret is a secret of the job, for the agent
	// in FLEETBOARD_SECRET_TOKEN.
	agent, secret string
	// attempts is how many the job takes; 0 is one. An attempt that fails is followed by
	// another.
	attempts int

	// base is the branch that the work begins from; "" is main. Where bare is said, the
	// attempt begins from nothing.
	base string
	bare bool
	// local says that there is no origin: the work is in the clone.
	local bool
	// adds is what the tree of the work has beside that of the base, or in its place; gone is
	// what it has no more. Where whole is said, adds is all that it has.
	adds  map[string]entry
	gone  []string
	whole bool
	// loose are paths of the tree that may hold anything.
	loose []string
	// nothing says that there is nothing to hand in: no branch is made.
	nothing bool
	// fails is the kind of failure of an attempt that hands nothing in: the job has failed then,
	// or waits for another host where the repository cannot be read.
	fails string
	// says is what a person must be able to read: in the job's log, its error or its result.
	says []string
	// pushes are the refs that the agent itself may change at the origin.
	pushes []string
	// ended is what happens when the job has ended, and also looks at more then.
	ended func(*repository)
	also  func(*repository, outcome)
	// next is what the agent of another job does then, and nextAdds what its tree has beside
	// that of the base; "" is no other job.
	next     string
	nextAdds map[string]entry

	repo   *repository
	before state
	key    string
}

// state is what is in a clone and at an origin.
type state struct {
	files, refs map[string]string
	tree        map[string]string // of the base
}

// outcome is how a job ended.
type outcome struct {
	job *api.Job
	// branch and commit are what was handed in, at where they must be.
	branch, commit, at string
}

// plain is a machine whose person has no settings but a name and those of Git LFS.
var plain = host{name: "plain", flags: []string{"--seats", "4"}, user: `
[filter "lfs"]
	clean = git-lfs clean -- %f
	smudge = git-lfs smudge -- %f
	process = git-lfs filter-process
	required = true
`}

// TestRepositories makes all situations, has a worker on each host work in them, and looks at
// each when its job has ended. One of them: -run 'TestRepositories//^name'.
func TestRepositories(t *testing.T) {
	t.Parallel()
	w := newServerAndHosts(t)
	hosts := map[string]host{}
	all := situations()
	for _, s := range all {
		if s.host.name == "" {
			s.host = plain
		}
		if _, made := hosts[s.host.name]; !made {
			w.newHost(s.host)
			hosts[s.host.name] = s.host
		}
	}
	each := func(do func(*testing.T, *situation)) {
		t.Run("", func(t *testing.T) {
			for _, s := range all {
				t.Run(s.name, func(t *testing.T) { do(t, s) })
			}
		})
	}
	each(func(t *testing.T, s *situation) { s.make(t, w) })
	for _, h := range hosts {
		w.startWorker(h)
	}
	for _, s := range all {
		if s.repo != nil {
			agent := strings.ReplaceAll(s.repo.expand(s.agent), "@ENROLMENT@", w.token("enrolment-token"))
			s.key = w.submit(t, s.repo.name, agent, s.describe)
		}
	}
	each(func(t *testing.T, s *situation) { s.judge(t, w) })
	for _, s := range all {
		if s.repo != nil && s.next != "" {
			s.key = w.submit(t, s.repo.name, s.repo.expand(s.next), nil)
		}
	}
	each(func(t *testing.T, s *situation) { s.judgeNext(t, w) })
	for _, h := range hosts {
		if text, err := os.ReadFile(filepath.Join(w.hostDir(h), "ran")); err == nil {
			t.Errorf("something of the settings of %s ran that the worker must not run:\n%s", h.name, text)
		}
	}
}

// situations returns all of them.
func situations() (all []*situation) {
	for _, list := range [][]situation{ordinary(), names(), clones(), settings(), agents(), attempts(), hostile(), secrets(), extensions()} {
		for _, s := range list {
			all = append(all, &s)
		}
	}
	return all
}

// describe gives a job its secret and its attempts.
func (s *situation) describe(j *api.NewJob, in map[string]any) {
	if s.attempts > 1 {
		j.MaxRetries, j.RetryBackoffSeconds = new(s.attempts-1), new(1)
	}
	if s.secret != "" {
		in["token"], j.SecretKeys = s.secret, &[]string{"token"}
	}
}

// make makes the repository.
func (s *situation) make(t *testing.T, w *serverAndHosts) {
	r := &repository{t: t, host: w.hostDir(s.host), name: s.name, place: s.name, format: s.format}
	if r.format == "" {
		r.format = "sha1"
	}
	if s.build == nil {
		s.build = (*repository).build
	}
	s.build(r)
	if s.prepare != nil {
		s.prepare(r)
	}
	s.before = s.state(r)
	s.repo = r
}

// state returns how the clone and the origin are now. Objects are no part of it: that none is lost
// is shown by the refs.
func (s *situation) state(r *repository) state {
	r.t.Helper()
	base := "main"
	if s.base != "" {
		base = s.base
	}
	now := state{files: fingerprint(r.t, r.clone()), refs: r.refs(s.at(r)), tree: map[string]string{}}
	if !s.bare {
		now.tree = r.tree(s.at(r), base)
	}
	return now
}

// at returns the repository in which the work must be.
func (s *situation) at(r *repository) string {
	if s.local {
		return r.clone()
	}
	return r.origin()
}

// judge waits for the job's end and looks at what is there then.
func (s *situation) judge(t *testing.T, w *serverAndHosts) {
	if s.repo == nil {
		return // it could not be made, or was not wanted
	}
	s.repo.t = t
	wait := w.untilEnded
	if s.fails == cloneFailed {
		wait = w.untilGivenBack
	}
	o := outcome{job: wait(t, s.key), at: s.at(s.repo)}
	defer func() {
		if t.Failed() {
			t.Logf("%s is %s (%s): %s\nresult %s\nlog %s", s.key, o.job.Status, o.job.FailureKind, o.job.LastError, o.job.Result, w.logOf(t, s.key))
		}
	}()
	if s.ended != nil {
		s.ended(s.repo)
	}
	s.judgeEnd(w, &o)
	if o.branch != "" {
		s.judgeWork(o.branch, o.commit, s.adds)
	}
	s.judgeNames(o)
	s.judgeClone()
	if s.also != nil {
		s.also(s.repo, o)
	}
	s.judgeMarks()
}

// judgeEnd looks at what the job says.
func (s *situation) judgeEnd(w *serverAndHosts, o *outcome) {
	t := s.repo.t
	t.Helper()
	if s.fails != "" {
		if o.job.Status == api.JobStatusCompleted || string(o.job.FailureKind) != s.fails {
			t.Errorf("it is %s, %q; it must have failed with %q", o.job.Status, o.job.FailureKind, s.fails)
		}
	} else if o.job.Status != api.JobStatusCompleted {
		t.Errorf("it is %s", o.job.Status)
	}
	if want := max(1, s.attempts); o.job.Attempts != want {
		t.Errorf("it took %d attempts, not %d", o.job.Attempts, want)
	}
	said := o.job.LastError + string(o.job.Result) + w.logOf(t, s.key)
	for _, want := range s.says {
		if !strings.Contains(said, want) {
			t.Errorf("nobody says %q", want)
		}
	}
	if o.job.Status != api.JobStatusCompleted {
		return
	}
	o.branch, o.commit = handedIn(t, o.job)
	if s.nothing != (o.branch == "") {
		t.Errorf("it handed in the branch %q", o.branch)
	}
}

// handedIn returns the branch and the commit that a job's result names.
func handedIn(t *testing.T, j *api.Job) (branch, commit string) {
	t.Helper()
	var result struct{ Branch, Commit string }
	if err := json.Unmarshal(j.Result, &result); err != nil {
		t.Fatalf("the result %s: %v", j.Result, err)
	}
	return result.Branch, result.Commit
}

// judgeWork compares what is on a branch with what must be there.
func (s *situation) judgeWork(branch, commit string, adds map[string]entry) {
	t, r := s.repo.t, s.repo
	t.Helper()
	at := s.at(r)
	there := func() bool { return r.refs(at)["refs/heads/"+branch] == commit }
	if !processtest.Soon(patience, there) {
		t.Errorf("%s is not the commit %s in %s: %v", branch, commit, at, r.refs(at))
		return
	}
	want := map[string]string{}
	if !s.whole {
		maps.Copy(want, s.before.tree)
	}
	for name, e := range adds {
		want[name] = r.line(e)
	}
	for _, name := range s.gone {
		delete(want, name)
	}
	got := r.tree(at, commit)
	for _, name := range s.loose {
		delete(got, name)
		delete(want, name)
	}
	if wrong := differences(want, got); len(wrong) > 0 {
		t.Errorf("the tree of the work is not what it must be:\n%s", strings.Join(wrong, "\n"))
	}
	if out, err := r.tryGit(at, "fsck", "--connectivity-only", "--no-dangling", commit); err != nil {
		t.Errorf("%s is not whole: %s", commit, out)
	}
}

// judgeNames looks at all other branches and tags where the work is.
func (s *situation) judgeNames(o outcome) {
	t, r := s.repo.t, s.repo
	t.Helper()
	now := r.refs(o.at)
	delete(now, "refs/heads/"+o.branch)
	if s.attempts > 1 && s.secret == "" { // those that failed are handed over too
		maps.DeleteFunc(now, func(name, _ string) bool { return strings.HasPrefix(name, "refs/heads/fleet/"+s.key+"-") })
	}
	before := maps.Clone(s.before.refs)
	for _, name := range s.pushes {
		delete(now, name)
		delete(before, name)
	}
	if wrong := differences(before, now); len(wrong) > 0 {
		t.Errorf("other refs have changed in %s:\n%s", o.at, strings.Join(wrong, "\n"))
	}
}

// ofWork are files of a clone without an origin that hold the work, and its objects.
var ofWork = regexp.MustCompile(`^(\.git/)?(objects/|(logs/)?refs/heads/fleet/)`)

// judgeClone looks at the person's clone: nothing in it may be otherwise.
func (s *situation) judgeClone() {
	t, r := s.repo.t, s.repo
	t.Helper()
	wrong := differences(s.before.files, fingerprint(t, r.clone()))
	if s.local {
		wrong = slices.DeleteFunc(wrong, func(line string) bool {
			name, ok := strings.CutPrefix(line, `new: "`)
			return ok && ofWork.MatchString(name)
		})
	}
	if len(wrong) > 0 {
		t.Errorf("the person's clone was changed:\n%s", strings.Join(wrong, "\n"))
	}
}

// judgeMarks looks for what is written where something ran that the worker must not run.
func (s *situation) judgeMarks() {
	t := s.repo.t
	t.Helper()
	if text, err := os.ReadFile(s.repo.mark()); err == nil {
		t.Errorf("something ran that the worker must not run:\n%s", text)
	}
}

// judgeNext looks at another job that was done in the repository, which must know nothing of
// the first.
func (s *situation) judgeNext(t *testing.T, w *serverAndHosts) {
	if s.repo == nil || s.next == "" {
		return
	}
	s.repo.t = t
	j := w.untilEnded(t, s.key)
	if j.Status != api.JobStatusCompleted {
		t.Errorf("the next job is %s: %s", j.Status, j.LastError)
		return
	}
	branch, commit := handedIn(t, j)
	s.gone, s.whole = nil, false
	s.judgeWork(branch, commit, s.nextAdds)
	s.judgeMarks()
}
