package repos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gc cleans up and returns what was removed, a line each.
func gc(t *testing.T, r *Repos, o GCOptions) string {
	t.Helper()
	removed, err := r.GC(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, x := range removed {
		lines = append(lines, x.What+": "+x.Why)
	}
	return strings.Join(lines, "\n")
}

// merged, in use, left by a killed process, unmerged, continued by a later attempt: only
// what is nowhere needed goes.
func TestGCRemovesWhatNobodyNeeds(t *testing.T) {
	r, _, _ := withOrigin(t)
	one, merged := approved(t, r, "FB-1", "one.txt", "one")
	if _, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: merged}); err != nil {
		t.Fatal(err)
	}
	two, unmerged := approved(t, r, "FB-2", "two.txt", "two")
	again := begin(t, r, Attempt{Repo: "ledger", Job: "FB-2", Epoch: 2, Continue: unmerged})
	write(t, again.Dir, "more.txt", "more")
	later := must[string](t)(again.SaveWIP(t.Context(), "asks"))
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	used := begin(t, r, Attempt{Repo: "ledger", Job: "FB-3", Epoch: 1})
	write(t, used.Dir, "three.txt", "three")
	dead := begin(t, r, Attempt{Repo: "ledger", Job: "FB-4", Epoch: 1})
	write(t, dead.Dir, "four.txt", "four")
	_ = dead.lock.Unlock() // its process was killed

	plan := gc(t, r, GCOptions{DryRun: true})
	if plan != gc(t, r, GCOptions{DryRun: true}) || gitIn(t, one.mirror.dir, "rev-parse", one.Branch) != merged {
		t.Error("a dry run removes something")
	}
	did := gc(t, r, GCOptions{})
	for _, want := range []string{one.Branch + " of ledger: its work is in main", two.Branch + " of ledger: its work is in " + again.Branch, filepath.Base(dead.Dir) + ": no process"} {
		if !strings.Contains(did, want) || !strings.Contains(plan, want) {
			t.Errorf("it lacks %q:\n%s\nplanned:\n%s", want, did, plan)
		}
	}
	if gitIn(t, one.mirror.dir, "rev-parse", again.Branch) != later || gitIn(t, one.mirror.dir, "show", dead.Branch+":four.txt") != "four" {
		t.Error("work is lost")
	}
	if text, err := os.ReadFile(filepath.Join(used.Dir, "three.txt")); err != nil || string(text) != "three" {
		t.Errorf("a worktree in use has %q, %v", text, err)
	}
	if more := gc(t, r, GCOptions{}); more != "" {
		t.Errorf("a second time it removes\n%s", more)
	}
}

// Between the plan and the removal the only other branch with the work may go.
func TestABranchWhoseOtherGoesMeanwhileStays(t *testing.T) {
	r, _, _ := withOrigin(t)
	one, commit := approved(t, r, "FB-1", "one.txt", "one")
	again := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2, Continue: commit})
	write(t, again.Dir, "more.txt", "more")
	must[string](t)(again.SaveWIP(t.Context(), "asks"))
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	planned := must[[]removal](t)(cleanup{r, GCOptions{KeepUnused: time.Hour}}.plan(t.Context()))
	if len(planned) != 1 || !strings.Contains(planned[0].What, one.Branch) {
		t.Fatalf("planned: %+v", planned)
	}
	gitIn(t, one.mirror.dir, "update-ref", "-d", "refs/heads/"+again.Branch)
	if done, err := planned[0].do(t.Context()); done || err != nil {
		t.Errorf("it is removed: %v, %v", done, err)
	}
	if gitIn(t, one.mirror.dir, "rev-parse", one.Branch) != commit {
		t.Error("work is lost")
	}
}

func TestGCKeepsMirrorsWithWorkOfTheirOwn(t *testing.T) {
	origins, state := t.TempDir(), t.TempDir()
	at := repository(t, origins, "ledger")
	r := host(t, "", state, "file://"+origins+"/*")
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	write(t, w.Dir, "one.txt", "one")
	saved := must[string](t)(w.SaveWIP(t.Context(), "paused"))
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if did := gc(t, r, GCOptions{KeepUnused: time.Nanosecond}); did != "" {
		t.Errorf("it removes\n%s", did)
	}
	gitIn(t, w.mirror.dir, "push", "-q", at, w.Branch)
	gitIn(t, w.mirror.dir, "fetch", "-q", at, "+refs/heads/*:refs/remotes/origin/*")
	if did := gc(t, r, GCOptions{KeepUnused: time.Hour}); did != "" {
		t.Errorf("before its time it removes\n%s", did)
	}
	if did := gc(
		t,
		r,
		GCOptions{KeepUnused: time.Nanosecond},
	); !strings.Contains(did, "mirror ") ||
		gitIn(t, at, "rev-parse", w.Branch) != saved {
		t.Errorf("it removes %q", did)
	}
}
