package repos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// approved is work on a branch of its own: a file with a text.
func approved(t *testing.T, r *Repos, job, file, text string) (w *Worktree, commit string) {
	t.Helper()
	w = begin(t, r, Attempt{Repo: "ledger", Job: job, Epoch: 1})
	write(t, w.Dir, file, text)
	commit, _, err := w.Commit(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w, commit
}

// withOrigin returns a clone of a repository, and its origin.
func withOrigin(t *testing.T) (r *Repos, at, origin string) {
	t.Helper()
	dir := t.TempDir()
	at = repository(t, dir, "ledger")
	origin = filepath.Join(t.TempDir(), "origin.git")
	gitIn(t, dir, "clone", "-q", "--bare", at, origin)
	gitIn(t, at, "remote", "add", "origin", origin)
	return host(t, dir, t.TempDir()), at, origin
}

func TestMergeIsExactlyWhatWasApproved(t *testing.T) {
	r, at, origin := withOrigin(t)
	w, commit := approved(t, r, "FB-1", "one.txt", "one")
	gitIn(t, at, "commit", "-q", "--allow-empty", "-m", "Mine, not pushed") // a person's own work stays alone
	request := MergeRequest{Repo: "ledger", Commit: commit, Branch: w.Branch, FastForward: true, Message: "Merge FB-1"}
	for range 2 { // a second time changes nothing
		merged, err := r.Merge(t.Context(), request)
		if err != nil || merged != commit || gitIn(t, origin, "rev-parse", "main") != commit {
			t.Fatalf("merged %s, %v", merged, err)
		}
	}
	_, second := approved(t, r, "FB-2", "two.txt", "two")
	gitIn(t, at, "fetch", "-q", "origin")
	if gitIn(t, at, "merge-base", second, "main") == gitIn(t, at, "rev-parse", "main") {
		t.Error("the work is built on what a person has not pushed")
	}
	gitIn(t, origin, "update-ref", "refs/heads/main", gitIn(t, origin, "commit-tree", "-p", commit, "-m", "Theirs", commit+"^{tree}"))
	if _, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: second, FastForward: true}); !errors.Is(err, ErrConflict) {
		t.Errorf("a fast-forward over other work: %v", err)
	}
	merged, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: second, Message: "Merge FB-2"})
	if err != nil || gitIn(t, origin, "show", merged+":one.txt")+gitIn(t, origin, "show", "main:two.txt") != "onetwo" {
		t.Errorf("merged %s, %v", merged, err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.State, "merges", "*")); len(left) > 0 {
		t.Errorf("directories are left: %s", left)
	}
}

func TestAConflictChangesNothing(t *testing.T) {
	r, _, origin := withOrigin(t)
	_, one := approved(t, r, "FB-1", "same.txt", "one")
	_, two := approved(t, r, "FB-2", "same.txt", "two")
	merged, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: one, Message: "Merge FB-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Merge(
		t.Context(),
		MergeRequest{Repo: "ledger", Commit: two, Message: "Merge FB-2"},
	); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(), "same.txt") {
		t.Errorf("the conflict is %v", err)
	}
	if gitIn(t, origin, "rev-parse", "main") != merged {
		t.Error("the branch was moved")
	}
}

// The check sees what comes out, and keeps it from being pushed.
func TestWhatDoesNotPassIsNotPushed(t *testing.T) {
	r, at, origin := withOrigin(t)
	_, commit := approved(t, r, "FB-1", "one.txt", "one")
	red := errors.New("2 tests fail")
	check := func(_ context.Context, dir string) error {
		if _, err := os.Stat(filepath.Join(dir, "one.txt")); err != nil {
			t.Errorf("the check does not see the work: %v", err)
		}
		return red
	}
	if _, err := r.Merge(
		t.Context(),
		MergeRequest{Repo: "ledger", Commit: commit, Check: check},
	); !errors.Is(err, ErrCheck) ||
		!errors.Is(err, red) {
		t.Errorf("the check: %v", err)
	}
	if gitIn(t, origin, "rev-parse", "main") != gitIn(t, at, "rev-parse", "main") {
		t.Error("it was pushed")
	}
}

// Somebody pushes while the check runs: the merge begins anew on what they pushed.
func TestNothingThatOthersPushIsLost(t *testing.T) {
	r, _, origin := withOrigin(t)
	_, commit := approved(t, r, "FB-1", "one.txt", "one")
	other := filepath.Join(t.TempDir(), "other")
	gitIn(t, filepath.Dir(other), "clone", "-q", origin, other)
	times := 0
	check := func(context.Context, string) error {
		if times++; times == 1 {
			write(t, other, "theirs.txt", "theirs")
			gitIn(t, other, "add", "-A")
			gitIn(t, other, "commit", "-q", "-m", "Theirs")
			gitIn(t, other, "push", "-q", "origin", "main")
		}
		return nil
	}
	if _, err := r.Merge(
		t.Context(),
		MergeRequest{Repo: "ledger", Commit: commit, Message: "Merge FB-1", Check: check},
	); err != nil ||
		times != 2 {
		t.Fatalf("after %d checks: %v", times, err)
	}
	if got := gitIn(t, origin, "show", "main:one.txt") + gitIn(t, origin, "show", "main:theirs.txt"); got != "onetheirs" {
		t.Errorf("main has %q", got)
	}
}

// Without an origin the clone's own branch moves, with the files of whoever has it checked
// out, unless they have changed some.
func TestMergeInAPersonsClone(t *testing.T) {
	dir := t.TempDir()
	at := repository(t, dir, "ledger")
	r := host(t, dir, t.TempDir())
	_, one := approved(t, r, "FB-1", "one.txt", "one")
	if _, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: one, Message: "Merge FB-1"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(
		filepath.Join(at, "one.txt"),
	); err != nil || string(text) != "one" ||
		gitIn(t, at, "status", "--porcelain") != "" {
		t.Errorf("the clone has %q, %v, and is not clean", text, err)
	}
	_, two := approved(t, r, "FB-2", "two.txt", "two")
	write(t, at, "README.md", "half a sentence")
	before := gitIn(t, at, "rev-parse", "main")
	if _, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: two, Message: "Merge FB-2"}); !errors.Is(err, ErrInTheWay) {
		t.Errorf("over a person's changes: %v", err)
	}
	if text, err := os.ReadFile(
		filepath.Join(at, "README.md"),
	); err != nil || string(text) != "half a sentence" ||
		gitIn(t, at, "rev-parse", "main") != before {
		t.Errorf("the person's work is %q, %v", text, err)
	}
}

func TestHostileMerges(t *testing.T) {
	r, _, _ := withOrigin(t)
	_, commit := approved(t, r, "FB-1", "one.txt", "one")
	for _, m := range []MergeRequest{{Commit: "--help"}, {Commit: "main"}, {Commit: commit, Into: "--delete"}, {Commit: commit, Into: "a..b"},
		{Commit: strings.Repeat("0", 40)}, {Commit: strings.Repeat("0", 40), Branch: "--upload-pack=x"}} {
		m.Repo = "ledger"
		if _, err := r.Merge(t.Context(), m); err == nil {
			t.Errorf("%+v was merged", m)
		}
	}
}
