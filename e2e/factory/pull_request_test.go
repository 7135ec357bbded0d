package factory

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/forgetest"
)

// atForge has the repository "ledger" come from a forge, and workers know it.
func (s *serverAndRepos) atForge(serve func(*testing.T, string) *forgetest.Server, kind string) *forgetest.Server {
	s.t.Helper()
	f := serve(s.t, s.origin("ledger"))
	s.git(s.clone("ledger"), "remote", "set-url", "origin", f.Origin())
	s.env = append(s.env, strings.ToUpper(kind)+"_TOKEN="+forgetest.Token)
	return f
}

// forgeFlags have a worker poll often, and wait long for a first check.
func forgeFlags(kind, url string) []string {
	return []string{"--forge", kind + "=" + url, "--forge-poll", "100ms", "--forge-quiet", "1h"}
}

// pullOf waits until a merge job has opened a pull request, and returns its address.
func (s *serverAndRepos) pullOf(merge string) (url string) {
	s.t.Helper()
	s.until(merge+" has opened a pull request", func() bool {
		answer, err := s.person.GetJobWithResponse(context.Background(), merge)
		var kept struct{ URL string }
		if err == nil { // it is there
			_ = json.Unmarshal(answer.JSON200.Checkpoint, &kept)
		}
		url = kept.URL
		return url != ""
	})
	return url
}

// approve is a person's decision.
func (s *serverAndRepos) approve(key string) {
	s.t.Helper()
	if _, err := s.person.ApproveJobWithResponse(s.t.Context(), key, api.ApproveAction{}); err != nil {
		s.t.Fatal(err)
	}
}

// mergesByPullRequest is the way of a job from its approval over a red check to its merge.
func (s *serverAndRepos) mergesByPullRequest(check func(commit, state string)) {
	s.t.Helper()
	if _, err := s.person.PutProductWithResponse(s.t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"},
		ReviewRequired: new(true), MergeBy: new(api.MergeByPullRequest)}); err != nil {
		s.t.Fatal(err)
	}
	key := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(key, api.JobStatusInReview)
	s.approve(key)
	url := s.pullOf("FB-2")
	commit := s.git(s.origin("ledger"), "rev-parse", s.branch(key, 1))
	check(commit, "failure")
	if j := s.untilStatus(key, api.JobStatusInReview); !strings.Contains(j.LastError, "ci/build") || !strings.Contains(j.LastError, url) {
		s.t.Errorf("the reason is %q", j.LastError)
	}
	if red := s.job("FB-2"); red.FailureKind != "checks_failed" || red.Attempts != 1 {
		s.t.Errorf("the merge failed as %s in %d attempts", red.FailureKind, red.Attempts)
	}
	check(commit, "success")
	s.approve(key)
	j := s.untilStatus(key, api.JobStatusCompleted)
	if text, _ := s.atMain("one.txt"); text != "one" || j.MergedCommit != s.tip() || j.URL != url {
		s.t.Errorf("main has %q and is %s; it was merged as %s by %s, and %s was opened", text, s.tip(), j.MergedCommit, j.URL, url)
	}
}

// tip returns the newest commit of main at the origin.
func (s *serverAndRepos) tip() string {
	s.t.Helper()
	return strings.Fields(s.git(s.clone("ledger"), "ls-remote", "origin", "refs/heads/main"))[0]
}

// atMain returns a file of main at the origin, whatever that is.
func (s *serverAndRepos) atMain(name string) (text string, there bool) {
	s.t.Helper()
	s.git(s.clone("ledger"), "fetch", "-q", "origin", "main")
	for _, one := range strings.Fields(s.git(s.clone("ledger"), "ls-tree", "--name-only", "FETCH_HEAD")) {
		if one == name {
			return s.git(s.clone("ledger"), "show", "FETCH_HEAD:"+name), true
		}
	}
	return "", false
}

// An approval becomes a pull request; red checks send the work back to review, and green
// ones merge it.
func TestAPullRequestMerges(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	forge := s.atForge(forgetest.NewGitea, "gitea")
	w := s.worker("desk", forgeFlags("gitea", forge.URL)...)
	s.mergesByPullRequest(func(commit, state string) { forge.SetStatus(commit, "ci/build", state) })
	if texts := forge.Texts(); len(texts) != 1 || !strings.HasPrefix(texts[0], "Play a script\n") || !strings.Contains(texts[0], "Fleetboard-Job: FB-1") {
		t.Errorf("the pull requests say %q", texts)
	}
	if strings.Contains(w.Output(), forgetest.Token) {
		t.Error("the token is in the worker's log")
	}
}

// Without a token the worker takes no such job, and the board says what is missing.
func TestAFactoryWithoutATokenOpensNothing(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	forge := s.atForge(forgetest.NewGitea, "gitea")
	s.env = nil
	s.worker("desk", forgeFlags("gitea", forge.URL)...)
	merge := s.orderMerge(handed{by: api.MergeByPullRequest, title: "work", commit: s.tip(), branch: "main"})
	s.untilStatus(s.submit(step{"run": "true"}), api.JobStatusCompleted)
	if j := s.job(merge); j.Status != api.JobStatusReady || j.Attempts != 0 {
		t.Errorf("it is %s after %d attempts", j.Status, j.Attempts)
	}
}

// work pushes a branch that writes a file, and returns its commit.
func (s *serverAndRepos) work(name, text string) (branch, commit string) {
	s.t.Helper()
	at, branch := filepath.Join(s.dir, "mara"), "work-"+strings.NewReplacer(".", "-", " ", "-").Replace(name+" "+text)
	s.git(s.dir, "clone", "-q", s.git(s.clone("ledger"), "remote", "get-url", "origin"), at+branch)
	s.git(at+branch, "checkout", "-q", "-b", branch)
	if err := os.WriteFile(filepath.Join(at+branch, name), []byte(text+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.git(at+branch, "add", "-A")
	s.git(at+branch, "commit", "-q", "-m", text)
	s.git(at+branch, "push", "-q", "origin", branch)
	return branch, s.git(at+branch, "rev-parse", "HEAD")
}

// What people do to a pull request decides what becomes of the merge.
func TestWhatPeopleDoToAPullRequest(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	forge := s.atForge(forgetest.NewGitHub, "github")
	w := s.worker("desk", forgeFlags("github", forge.URL)...)
	begin := func(name string) (merge, branch, commit string) {
		branch, commit = s.work(name, "work")
		merge = s.orderMerge(handed{by: api.MergeByPullRequest, title: name, commit: commit, branch: branch})
		s.pullOf(merge)
		return merge, branch, commit
	}
	number := func() int { return len(forge.Branches()) }
	fails := func(merge string, kind api.FailureKind, said string) {
		t.Helper()
		j := s.untilStatus(merge, api.JobStatusFailed)
		if j.FailureKind != kind || !strings.Contains(j.LastError, said) || j.Attempts != 1 {
			t.Errorf("it failed as %s in %d attempts: %s", j.FailureKind, j.Attempts, j.LastError)
		}
	}

	merge, _, _ := begin("closed.txt")
	forge.Close(number())
	fails(merge, "other", "was closed")

	merge, branch, _ := begin("moved.txt")
	s.until("it waits for checks", func() bool { return strings.Contains(s.job(merge).CurrentStep, "waits for checks") })
	s.git(s.origin("ledger"), "update-ref", "refs/heads/"+branch, s.git(s.origin("ledger"), "commit-tree", "-p", branch, "-m", "More", branch+"^{tree}"))
	fails(merge, "other", "was moved to")

	merge, _, _ = begin("conflict.txt")
	_, theirs := s.work("conflict.txt", "theirs")
	s.git(s.origin("ledger"), "update-ref", "refs/heads/main", theirs)
	fails(merge, "merge_conflict", "conflict.txt")

	merge, _, _ = begin("person.txt")
	by := forge.Merge(number())
	if j := s.untilStatus(merge, api.JobStatusCompleted); !strings.Contains(string(j.Result), by) {
		t.Errorf("a person merged it as %s; the result is %s", by, j.Result)
	}

	// The worker is killed while it waits for a review, and goes on with the pull request.
	forge.WantReviews(1)
	merge, _, commit := begin("review.txt")
	forge.Refuse(forgetest.Refusal{Status: 502, Body: "<html>"})
	forge.SetStatus(commit, "@build", "success")
	s.until("it waits for a review", func() bool { return strings.Contains(s.job(merge).CurrentStep, "approving review") })
	w.Kill()
	opened := number()
	w.Start()
	s.until("it goes on", func() bool { return strings.Contains(w.Output(), "goes on with an attempt") })
	// At the signal to end, it gives the job back, although nobody has approved yet.
	w.Signal(syscall.SIGTERM)
	w.AwaitEnd(patience)
	if j := s.untilStatus(merge, api.JobStatusReady); j.Attempts != 1 {
		t.Errorf("the killed worker began anew: %d attempts", j.Attempts)
	}
	forge.Approve(number())
	w.Start()
	j := s.untilStatus(merge, api.JobStatusCompleted)
	if text, _ := s.atMain("review.txt"); text != "work" || j.Attempts != 2 || number() != opened {
		t.Errorf("main has %q after %d attempts, and %d pull requests instead of %d", text, j.Attempts, number(), opened)
	}

	// What is merged already needs no pull request.
	merge = s.orderMerge(handed{by: api.MergeByPullRequest, title: "again", commit: commit, branch: "main"})
	if s.untilStatus(merge, api.JobStatusCompleted); number() != opened {
		t.Error("merged work got a pull request")
	}
}
