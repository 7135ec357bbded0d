package repositories

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/envtest"
)

// slow is a machine whose disk is slow: each call of git that writes waits first.
var slow = host{name: "slow", flags: []string{"--seats", "4"}, pause: "0.15"}

// Twenty kills of a worker, or FLEETBOARD_KILLS, fall on it while it saves, pushes and cleans
// up, on a slow disk. In the end each job is done once, by the attempt whose branch is where it
// must be, there is no branch that nobody reported, and whatever an agent had finished is in
// some branch.
func TestKillsWhileWorkIsSaved(t *testing.T) {
	t.Parallel() // it waits most of the time
	kills, seed := envtest.Number(t, "FLEETBOARD_KILLS", 20), envtest.Number(t, "FLEETBOARD_KILLS_SEED", time.Now().UnixNano()%1_000_000)
	t.Logf("FLEETBOARD_KILLS_SEED=%d FLEETBOARD_KILLS=%d", seed, kills)
	draw := rand.New(rand.NewPCG(uint64(seed), 0))
	w := newServerAndHosts(t)
	w.newHost(slow)
	var repos []*repository
	for i := range 4 {
		r := &repository{t: t, host: w.hostDir(slow), name: "kills-" + decimal(i), place: "kills-" + decimal(i), format: "sha1"}
		r.build()
		if i == 3 {
			r.git(r.clone(), "remote", "remove", "origin")
		}
		r.hook(r.origin(), "pre-receive", "sleep 0.3")
		repos = append(repos, r)
	}
	jobs := map[string]*repository{}
	for i := range 4 + 3*kills/5 {
		r := repos[i%len(repos)]
		key := w.submit(t, r.name, r.expand(`e=$FLEETBOARD_JOB-$FLEETBOARD_EPOCH; echo $e > committed-$e; git add -A; git commit -q --allow-empty -m "Work $e"; `+
			`echo left $e > left-$e; touch @HOST@/finished-$e`), func(j *api.NewJob, _ map[string]any) {
			j.MaxRetries, j.MaxLost, j.RetryBackoffSeconds = new(50), new(50), new(1)
		})
		jobs[key] = r
	}
	p := w.startWorker(slow)
	for range kills {
		<-time.After(time.Duration(300+draw.IntN(1500)) * time.Millisecond)
		p.Kill()
		p.Start()
	}
	for key, r := range jobs {
		w.judgeKilled(t, key, r)
	}
	// Soon after its start a worker removes what nobody needs, then each hour. It ends by itself here:
	// what it knows of an attempt that was reported but not put away yet would stay for a day.
	p.Signal(syscall.SIGTERM)
	p.AwaitEnd(time.Minute)
	p.Start()
	for _, dir := range []string{"worktrees/*/*/*", "private/*", "outbox/*.json"} {
		until(t, "nothing is left in "+dir, func() bool {
			left, err := filepath.Glob(filepath.Join(w.hostDir(slow), "state", dir))
			return err == nil && len(left) == 0
		})
	}
	w.judgeFinished(t, repos)
}

// judgeKilled looks at a job and its branches.
func (w *serverAndHosts) judgeKilled(t *testing.T, key string, r *repository) {
	t.Helper()
	j := w.untilEnded(t, key)
	if j.Status != api.JobStatusCompleted {
		t.Errorf("%s is %s: %s", key, j.Status, j.LastError)
		return
	}
	branch, commit := handedIn(t, j)
	at := r.origin()
	if _, err := r.tryGit(r.clone(), "remote", "get-url", "origin"); err != nil {
		at = r.clone()
	}
	until(t, branch+" is in "+at, func() bool { return r.refs(at)["refs/heads/"+branch] == commit })
	epoch := branch[strings.LastIndex(branch, "-e")+2:]
	tree := r.tree(at, commit)
	name := key + "-" + epoch
	for path, text := range map[string]string{"committed-" + name: name + "\n", "left-" + name: "left " + name + "\n"} {
		if tree[path] != r.line(file(text)) {
			t.Errorf("%s is not in the work of %s: %v", path, key, tree)
		}
	}
	attempts, err := w.person.ListAttemptsWithResponse(t.Context(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	var accepted int
	for _, a := range attempts.JSON200.Items {
		if a.Outcome == api.AttemptOutcomeCompleted {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%s was accepted %d times", key, accepted)
	}
	for name := range r.refs(at) {
		if strings.HasPrefix(name, "refs/heads/fleet/"+key+"-") && !slices.ContainsFunc(attempts.JSON200.Items, func(a api.Attempt) bool {
			return strings.HasSuffix(name, fmt.Sprintf("-e%d", a.Epoch)) && a.Outcome != api.AttemptOutcomeLost
		}) {
			t.Errorf("%s belongs to no attempt that was reported", name)
		}
	}
}

// judgeFinished looks for whatever an agent had finished, in all branches of the mirrors.
func (w *serverAndHosts) judgeFinished(t *testing.T, repos []*repository) {
	t.Helper()
	finished, err := filepath.Glob(filepath.Join(w.hostDir(slow), "finished-*"))
	if err != nil || len(finished) == 0 {
		t.Fatalf("nothing was finished: %v", err)
	}
	mirrors, err := filepath.Glob(filepath.Join(w.hostDir(slow), "state", "mirrors", "*.git"))
	if err != nil {
		t.Fatal(err)
	}
	var known strings.Builder
	for _, mirror := range mirrors {
		known.WriteString(repos[0].git(mirror, "rev-list", "--all", "--objects") + "\n")
	}
	for _, mark := range finished {
		name := strings.TrimPrefix(filepath.Base(mark), "finished-")
		for _, want := range []string{" committed-" + name + "\n", " left-" + name + "\n"} {
			if !strings.Contains(known.String(), want) {
				t.Errorf("%q is in no branch of a mirror", want)
			}
		}
	}
	t.Logf("%d attempts were finished by their agents", len(finished))
}
