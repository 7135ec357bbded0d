package repos

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// work returns an attempt with something to push.
func work(t *testing.T, r *Repos, job string) *Worktree {
	t.Helper()
	w := begin(t, r, Attempt{Repo: "ledger", Job: job, Epoch: 1})
	write(t, w.Dir, "work", job)
	if _, _, err := w.Commit(t.Context(), "Work"); err != nil {
		t.Fatal(err)
	}
	return w
}

// An origin that refuses a branch has decided, with its own words; one that is away has not.
func TestARefusalIsADecision(t *testing.T) {
	r, _, origin := withOrigin(t)
	w := work(t, r, "FB-1")
	hook := filepath.Join(origin, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho branches need a ticket >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Push(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "branches need a ticket") {
		t.Errorf("the hook says %v", err)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(origin, origin+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Push(t.Context()); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("an origin that is away says %v", err)
	}
	if err := os.Rename(origin+".away", origin); err != nil {
		t.Fatal(err)
	}
	if pushed, err := w.Push(t.Context()); err != nil || !pushed {
		t.Errorf("it is pushed %v, %v", pushed, err)
	}
}

// A branch is pushed after its directory is gone and a later attempt works in its place, also
// by the next process.
func TestABranchIsPushedAfterItsDirectoryIsGone(t *testing.T) {
	r, _, origin := withOrigin(t)
	w := work(t, r, "FB-1")
	if err := w.Leave(); err != nil || exists(w.Dir) {
		t.Fatalf("the directory stays: %v", err)
	}
	next := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2, Continue: w.tip})
	if next.Dir != w.Dir {
		t.Errorf("the next attempt is in %s", next.Dir)
	}
	write(t, next.Dir, "more", "more")
	left := must[*Worktree](t)(r.Left(t.Context(), w.attempt))
	if pushed, err := left.Push(t.Context()); err != nil || !pushed || gitIn(t, origin, "rev-parse", w.Branch) != w.tip {
		t.Errorf("it is pushed %v, %v", pushed, err)
	}
	if err := left.Close(t.Context()); err != nil || !exists(filepath.Join(next.Dir, "more")) {
		t.Errorf("closing the first attempt took the files of the next one: %v", err)
	}
	if _, err := r.Left(t.Context(), w.attempt); !errors.Is(err, ErrGone) {
		t.Errorf("after that there is left: %v", err)
	}
}

// A directory that a killed process had not removed yet goes when its branch has been handed
// over.
func TestADirectoryThatStayedIsRemovedWithItsAttempt(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := work(t, r, "FB-1")
	_ = w.lock.Unlock() // its process was killed
	left := must[*Worktree](t)(r.Left(t.Context(), w.attempt))
	if err := left.Close(t.Context()); err != nil || exists(w.Dir) {
		t.Errorf("the directory stays: %v", err)
	}
}

// Work of a killed process whose place another attempt has taken is made again elsewhere.
func TestAPlaceThatWasTakenIsNotTouched(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := work(t, r, "FB-1")
	_ = w.lock.Unlock() // its process was killed
	next := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2})
	write(t, next.Dir, "more", "more")
	_ = next.lock.Unlock()
	again := must[*Worktree](t)(r.Reopen(t.Context(), w.attempt))
	if again.Dir == next.Dir || !exists(filepath.Join(again.Dir, "work")) || exists(filepath.Join(again.Dir, "more")) {
		t.Errorf("it is made again in %s", again.Dir)
	}
	if !exists(filepath.Join(next.Dir, "more")) {
		t.Error("the files of the next attempt are gone")
	}
}

// A beginning that fails leaves nothing in its place, and nothing of others is touched.
func TestABeginningThatFailsLeavesNothing(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.mirror.dir, "objects")); err != nil { // the disk broke
		t.Fatal(err)
	}
	if _, err := r.Begin(t.Context(), Attempt{Repo: "ledger", Job: "FB-1", Epoch: 2}); err == nil {
		t.Fatal("it begins")
	}
	if exists(w.Dir) || len(must[[]Rescued](t)(r.Rescued())) > 0 {
		t.Error("a directory is left")
	}
	if left, _ := filepath.Glob(filepath.Join(r.State, "private", "*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
