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
	r, at, _ := withOrigin(t)
	_, merged := approved(t, r, "FB-1", "one.txt", "one")
	if _, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: merged}); err != nil {
		t.Fatal(err)
	}
	_, unmerged := approved(t, r, "FB-2", "two.txt", "two")
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
	if plan != gc(t, r, GCOptions{DryRun: true}) || gitIn(t, at, "rev-parse", "fleet/FB-1-e1") != merged {
		t.Error("a dry run removes something")
	}
	did := gc(t, r, GCOptions{})
	for _, want := range []string{"fleet/FB-1-e1 of ledger: its work is in main", "fleet/FB-2-e1 of ledger: its work is in fleet/FB-2-e2", filepath.Base(dead.Dir) + ": no process"} {
		if !strings.Contains(did, want) || !strings.Contains(plan, want) {
			t.Errorf("it lacks %q:\n%s\nplanned:\n%s", want, did, plan)
		}
	}
	if gitIn(t, at, "rev-parse", "fleet/FB-2-e2") != later || gitIn(t, at, "show", "fleet/FB-4-e1:four.txt") != "four" {
		t.Error("work is lost")
	}
	if text, err := os.ReadFile(filepath.Join(used.Dir, "three.txt")); err != nil || string(text) != "three" {
		t.Errorf("a worktree in use has %q, %v", text, err)
	}
	if more := gc(t, r, GCOptions{}); more != "" {
		t.Errorf("a second time it removes\n%s", more)
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
	gitIn(t, filepath.Join(state, "mirrors", "ledger.git"), "push", "-q", "origin", "fleet/FB-1-e1")
	gitIn(t, filepath.Join(state, "mirrors", "ledger.git"), "fetch", "-q", "origin")
	if did := gc(t, r, GCOptions{KeepUnused: time.Hour}); did != "" {
		t.Errorf("before its time it removes\n%s", did)
	}
	if did := gc(
		t,
		r,
		GCOptions{KeepUnused: time.Nanosecond},
	); !strings.Contains(did, "mirror ") ||
		gitIn(t, at, "rev-parse", "fleet/FB-1-e1") != saved {
		t.Errorf("it removes %q", did)
	}
}
