package repos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// branchesAt returns the branches of a repository with their commits.
func branchesAt(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(gitIn(t, dir, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")) {
		name, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = commit
	}
	return all
}

// server answers as one does, and notes the calls that it got.
type server struct {
	ended []EndedBranch
	asked []string
}

func (s *server) answer(_ context.Context, repo string, keys []string) (list []EndedBranch, err error) {
	s.asked = append(s.asked, keys...)
	for _, e := range s.ended {
		if repo == "ledger" && slices.Contains(keys, e.Job) {
			list = append(list, e)
		}
	}
	return list, nil
}

// pushed returns an attempt with work, at the origin.
func pushed(t *testing.T, r *Repos, a Attempt, file string) (branch, commit string) {
	t.Helper()
	w := begin(t, r, a)
	write(t, w.Dir, file, a.Job)
	commit, _, err := w.Commit(t.Context(), a.Job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.Branch, commit
}

// squash puts the work of a commit into main as one commit of its own.
func squash(t *testing.T, origin, commit string) {
	t.Helper()
	tree := gitIn(t, origin, "merge-tree", "--write-tree", "main", commit)
	gitIn(t, origin, "update-ref", "refs/heads/main", gitIn(t, origin, "commit-tree", "-p", "main", "-m", "Squashed", tree))
}

// Of branches at the origin those go that a worker made for a job of this server which ended
// long enough ago, with its work merged or without it. What is unmerged, what somebody else
// touched, and what is another server's stays.
func TestGCCleansTheOrigin(t *testing.T) {
	r, _, origin := withOrigin(t)
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &server{}
	work := func(key, id string, epoch int64, e EndedBranch) (branch, commit string) {
		branch, commit = pushed(t, r, Attempt{Repo: "ledger", Job: key, ID: id, Epoch: epoch}, fmt.Sprintf("%s-%d.txt", strings.ReplaceAll(key, "/", ""), epoch))
		e.Job, e.ID, e.Epoch, e.EndedAt = key, id, epoch, day
		if e.Commit == "" {
			e.Commit = commit
		}
		if id != "running" {
			s.ended = append(s.ended, e)
		}
		return branch, commit
	}
	merged, _ := work("FB-1", "a", 1, EndedBranch{Merged: true})
	inMain, commit := work("FB-2", "b", 1, EndedBranch{Unmerged: true})
	gitIn(t, origin, "update-ref", "refs/heads/main", commit)
	squashed, commit := work("FB-3", "c", 1, EndedBranch{Unmerged: true})
	squash(t, origin, commit)
	squash(t, origin, gitIn(t, origin, "rev-parse", merged)) // main moves on
	rejected, _ := work("FB-4", "d", 1, EndedBranch{})
	unmerged, _ := work("FB-4", "d", 2, EndedBranch{Unmerged: true})
	failed, _ := work("team/x_5.1", "e", 1, EndedBranch{})
	running, _ := work("FB-6", "running", 1, EndedBranch{})
	moved, commit := work("FB-7", "f", 1, EndedBranch{Merged: true})
	gitIn(t, origin, "update-ref", "refs/heads/"+moved, gitIn(t, origin, "commit-tree", "-p", commit, "-m", "Theirs", commit+"^{tree}"))
	untold, _ := work("FB-8", "g", 1, EndedBranch{Commit: "-"})
	foreign, _ := pushed(t, r, Attempt{Repo: "ledger", Job: "FB-1", ID: "of another server", Epoch: 1}, "foreign.txt")
	for _, name := range []string{"fleet/mine", "fleet/FB-1", "fleet/FB-1-00000000-e1", "release/1"} {
		gitIn(t, origin, "update-ref", "refs/heads/"+name, "main")
	}
	aside := "fleetboard/merge/FB-1"
	gitIn(t, origin, "update-ref", "refs/heads/"+aside, gitIn(t, origin, "rev-parse", merged))

	before := branchesAt(t, origin)
	o := GCOptions{Ended: s.answer, KeepUnused: time.Hour}
	dry := o
	dry.DryRun = true
	plan := gc(t, r, dry)
	if after := branchesAt(t, origin); !maps.Equal(before, after) {
		t.Fatal("a dry run removes branches of the origin")
	}
	if did := gc(t, r, o); did != plan {
		t.Errorf("planned:\n%s\ndone:\n%s", plan, did)
	}
	after := branchesAt(t, origin)
	for _, gone := range []string{merged, inMain, squashed, rejected, failed, aside} {
		if after[gone] != "" {
			t.Errorf("%s stays", gone)
		}
	}
	for _, stays := range []string{unmerged, running, moved, untold, foreign, "main", "fleet/mine", "fleet/FB-1", "fleet/FB-1-00000000-e1", "release/1"} {
		if after[stays] != before[stays] {
			t.Errorf("%s was %s and is %s", stays, before[stays], after[stays])
		}
	}
	if want := "branch " + merged + " at the origin of ledger: FB-1 ended on 2026-03-01, and its work is merged"; !strings.Contains(plan, want) {
		t.Errorf("it lacks %q:\n%s", want, plan)
	}
	if slices.Contains(s.asked, "main") || !slices.Contains(s.asked, "team/x_5.1") {
		t.Errorf("it asked for %q", s.asked)
	}
	if more := gc(t, r, o); strings.Contains(more, "origin") {
		t.Errorf("a second time it removes\n%s", more)
	}
}

// Between the look and the removal the default branch may be set back: what was merged is only
// on its branch then.
func TestABranchWhoseMergeIsTakenBackStays(t *testing.T) {
	r, _, origin := withOrigin(t)
	before := gitIn(t, origin, "rev-parse", "main")
	branch, commit := pushed(t, r, Attempt{Repo: "ledger", Job: "FB-1", ID: "a", Epoch: 1}, "one.txt")
	gitIn(t, origin, "update-ref", "refs/heads/main", commit)
	s := &server{ended: []EndedBranch{{Job: "FB-1", ID: "a", Epoch: 1, Commit: commit, Unmerged: true}}}
	planned := must[[]removal](t)(cleanup{r, GCOptions{Ended: s.answer}}.planOrigin(t.Context(), r.mirrorFor(must[source](t)(r.source(t.Context(), "ledger")))))
	if len(planned) != 1 {
		t.Fatalf("planned: %+v", planned)
	}
	gitIn(t, origin, "update-ref", "refs/heads/main", before)
	if done, err := planned[0].do(t.Context()); done || err != nil {
		t.Errorf("it is removed: %v, %v", done, err)
	}
	if now := branchesAt(t, origin); now[branch] != commit {
		t.Errorf("the origin has %v", now)
	}
}

// The look at the branches of a mirror whose default branch nobody knows leaves no lock behind.
func TestAMirrorOfNoKnownDefaultIsNotLeftLocked(t *testing.T) {
	r, _, _ := withOrigin(t)
	_, commit := pushed(t, r, Attempt{Repo: "ledger", Job: "FB-1", ID: "a", Epoch: 1}, "one.txt")
	m := r.mirrorFor(must[source](t)(r.source(t.Context(), "ledger")))
	if err := os.Remove(filepath.Join(m.dir, defaultFile)); err != nil {
		t.Fatal(err)
	}
	s := &server{ended: []EndedBranch{{Job: "FB-1", ID: "a", Epoch: 1, Commit: commit, Unmerged: true}}}
	if planned := must[[]removal](t)(cleanup{r, GCOptions{Ended: s.answer}}.planOrigin(t.Context(), m)); len(planned) > 0 {
		t.Errorf("planned: %+v", planned)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	unlock, err := m.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// A branch that is moved between the look and the removal stays, and so does one that the
// origin protects; neither is said to be removed.
func TestABranchThatMovesMeanwhileStays(t *testing.T) {
	r, _, origin := withOrigin(t)
	branch, commit := pushed(t, r, Attempt{Repo: "ledger", Job: "FB-1", ID: "a", Epoch: 1}, "one.txt")
	guarded, kept := pushed(t, r, Attempt{Repo: "ledger", Job: "FB-2", ID: "b", Epoch: 1}, "two.txt")
	s := &server{ended: []EndedBranch{{Job: "FB-1", ID: "a", Epoch: 1, Commit: commit}, {Job: "FB-2", ID: "b", Epoch: 1, Commit: kept}}}
	write(t, origin, "hooks/update", "#!/bin/sh\n[ \"$1\" != refs/heads/"+guarded+" ]\n")
	if err := os.Chmod(origin+"/hooks/update", 0o700); err != nil {
		t.Fatal(err)
	}
	planned, err := cleanup{r, GCOptions{Ended: s.answer, KeepUnused: time.Hour}}.plan(t.Context())
	if err != nil || len(planned) < 2 {
		t.Fatalf("planned %d: %v", len(planned), err)
	}
	theirs := gitIn(t, origin, "commit-tree", "-p", commit, "-m", "Theirs", commit+"^{tree}")
	gitIn(t, origin, "update-ref", "refs/heads/"+branch, theirs)
	for _, p := range planned {
		if done, err := p.do(t.Context()); strings.Contains(p.What, "origin") && (done || err != nil) {
			t.Errorf("%s: %v, %v", p.What, done, err)
		}
	}
	if now := branchesAt(t, origin); now[branch] != theirs || now[guarded] != kept {
		t.Errorf("the origin has %v", now)
	}
}

// Whatever state a host is in, a dry run says exactly what the run after it does, and no work
// is lost: each commit that was made is in the mirror, or its branch was contained or ended.
func TestAPlanIsWhatTheRunDoes(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			r, _, origin := withOrigin(t)
			s := &server{}
			last := ""
			for n := range 3 + random.IntN(4) {
				a := Attempt{Repo: "ledger", Job: fmt.Sprintf("FB-%d", n), ID: fmt.Sprint(n), Epoch: 1}
				if random.IntN(3) == 0 {
					a.Continue = last
				}
				w := begin(t, r, a)
				if random.IntN(4) > 0 {
					write(t, w.Dir, fmt.Sprintf("%d.txt", n), "work")
				}
				switch random.IntN(4) {
				case 0: // it works on
					continue
				case 1: // its process was killed
					_ = w.lock.Unlock()
					continue
				}
				commit, _, err := w.Commit(t.Context(), a.Job)
				if err != nil {
					t.Fatal(err)
				}
				last = commit
				if random.IntN(3) > 0 {
					if _, err := w.Push(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				switch random.IntN(4) {
				case 0:
					squash(t, origin, firstOf(t, r, commit, origin))
				case 1:
					s.ended = append(s.ended, EndedBranch{Job: a.Job, ID: a.ID, Epoch: 1, Commit: commit, Unmerged: random.IntN(2) == 0})
				}
			}
			for round := range 3 {
				o := GCOptions{Ended: s.answer, KeepUnused: time.Hour}
				if random.IntN(4) == 0 {
					o.KeepUnused = time.Nanosecond
				}
				dry := o
				dry.DryRun = true
				plan := gc(t, r, dry)
				if did := gc(t, r, o); did != plan {
					t.Fatalf("round %d planned:\n%s\ndone:\n%s", round, plan, did)
				}
			}
		})
	}
}

// firstOf makes sure that the origin has a commit, on no branch, and returns it.
func firstOf(t *testing.T, r *Repos, commit, origin string) string {
	t.Helper()
	gitIn(t, mirrorIn(t, r, "ledger"), "push", "-q", origin, commit+":refs/tests/"+commit)
	return commit
}

// An attempt that added nothing, also to what an earlier one left, pushes nothing but where it
// hands in.
func TestWhatAnAttemptAdded(t *testing.T) {
	r, _, _ := withOrigin(t)
	one := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	if !one.IsEmpty() {
		t.Error("one that begins has added something")
	}
	write(t, one.Dir, "one.txt", "one")
	saved := must[string](t)(one.SaveWIP(t.Context(), "asks"))
	if one.IsEmpty() {
		t.Error("one with work has added nothing")
	}
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	two := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2, Continue: saved})
	must[string](t)(two.SaveWIP(t.Context(), "fails"))
	if again := must[*Worktree](t)(r.Left(t.Context(), two.attempt)); !two.IsEmpty() || !again.IsEmpty() {
		t.Error("one that goes on and changes nothing has added something")
	}
}
