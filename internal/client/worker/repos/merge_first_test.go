package repos

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// empty returns a clone in which nothing is committed yet, of an origin that is as empty where one
// is wanted.
func empty(t *testing.T, withOrigin bool) (r *Repos, at, origin string) {
	t.Helper()
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q", "-b", "main", "ledger")
	at, origin = filepath.Join(dir, "ledger"), filepath.Join(t.TempDir(), "origin.git")
	if withOrigin {
		gitIn(t, dir, "init", "-q", "--bare", "-b", "main", origin)
		gitIn(t, at, "remote", "add", "origin", origin)
	}
	return host(t, dir, t.TempDir()), at, origin
}

// The first commit of an empty repository becomes its branch, checked as every other; work
// that began beside it conflicts, and loses nothing.
func TestTheFirstCommitOfAnEmptyRepositoryIsMerged(t *testing.T) {
	for name, at := range map[string]struct {
		origin, fast bool
		into         string
	}{"with an origin": {origin: true}, "here alone": {}, "by fast-forward": {origin: true, fast: true}, "into another branch": {origin: true, into: "trunk"},
		"here, into another branch": {into: "trunk"}} {
		t.Run(name, func(t *testing.T) {
			r, clone, origin := empty(t, at.origin)
			first, one := approved(t, r, "FB-1", "one.txt", "one")
			_, two := approved(t, r, "FB-2", "two.txt", "two")
			checked := false
			merged, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: one, Branch: first.Branch, Into: at.into, FastForward: at.fast,
				Message: "Merge FB-1", Check: func(context.Context, string) error { checked = true; return nil }})
			if err != nil || merged != one || !checked {
				t.Fatalf("merged %s, checked %v: %v", merged, checked, err)
			}
			branch, where := at.into, clone
			if branch == "" {
				branch = "main"
			}
			if at.origin {
				where = origin
			}
			if now := gitIn(t, where, "rev-parse", "refs/heads/"+branch); now != one {
				t.Errorf("%s is at %s", branch, now)
			}
			if !at.origin && at.into == "" && gitIn(t, clone, "status", "--porcelain")+gitIn(t, clone, "show", "HEAD:one.txt") != "one" {
				t.Errorf("the clone has %s", gitIn(t, clone, "status", "--porcelain"))
			}
			_, err = r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: two, Into: at.into, Message: "Merge FB-2"})
			if err != nil && !strings.Contains(err.Error(), "unrelated") {
				t.Errorf("the second one: %v", err)
			}
			if now := gitIn(t, where, "rev-parse", "refs/heads/"+branch); err != nil && now != one {
				t.Errorf("%s is at %s after a conflict", branch, now)
			}
		})
	}
}

// A branch that is not there is no empty repository.
func TestABranchThatIsMissingIsNotMade(t *testing.T) {
	r, _, origin := withOrigin(t)
	_, one := approved(t, r, "FB-1", "one.txt", "one")
	before := gitIn(t, origin, "for-each-ref")
	if merged, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: one, Into: "mian"}); err == nil {
		t.Errorf("it was merged as %s", merged)
	}
	if gitIn(t, origin, "for-each-ref") != before {
		t.Error("the origin has changed")
	}
}

// The first commit is published as the branch itself.
func TestTheFirstCommitNeedsNoPullRequest(t *testing.T) {
	r, _, origin := empty(t, true)
	w, one := approved(t, r, "FB-1", "one.txt", "one")
	p, err := r.Publish(t.Context(), MergeRequest{Repo: "ledger", Commit: one, Branch: w.Branch}, "FB-1", Earlier{})
	if err != nil || p.Merged != one || gitIn(t, origin, "rev-parse", "main") != one {
		t.Errorf("published %+v: %v", p, err)
	}
}
