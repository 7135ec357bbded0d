package factory

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
)

// handed is work that is to be merged.
type handed struct {
	title, branch, commit string
	by                    api.MergeBy
	method                api.MergeMethod // "" is that of a merge commit
	checks                string
}

// handIn has an agent that is no worker hand work in, and returns the key of its job.
func (s *serverAndRepos) handIn(h handed) (key string) {
	s.t.Helper()
	settings := api.ProductSettings{Repos: &[]string{"ledger"}, MergeBy: &h.by, MergeChecks: &h.checks}
	if h.method != "" {
		settings.MergeMethod = &h.method
	}
	if _, err := s.person.PutProductWithResponse(s.t.Context(), "books", settings); err != nil {
		s.t.Fatal(err)
	}
	return s.handInByHand(h)
}

// handInByHand does so in the product as it is.
func (s *serverAndRepos) handInByHand(h handed) (key string) {
	s.t.Helper()
	agent := s.agent("hand")
	made, err := s.person.CreateJobWithResponse(s.t.Context(), nil, api.NewJob{Title: h.title, Repo: new("ledger"), Factory: new("hand"),
		ReviewRequired: new(true)})
	if err != nil {
		s.t.Fatal(err)
	}
	key = made.JSON201.Key
	claimed, err := agent.ClaimJobsWithResponse(s.t.Context(), api.ClaimRequest{Job: &key})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = agent.CompleteJobWithResponse(s.t.Context(), api.Completion{Job: key, Epoch: claimed.JSON200.Jobs[0].Lease.Epoch,
		Commit: &h.commit, Branch: &h.branch})
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// agent registers one that is no worker, with the repository "ledger".
func (s *serverAndRepos) agent(name string) *api.Client {
	s.t.Helper()
	enrol, err := client.New(s.url(), s.token("enrolment-token"), api.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := enrol.RegisterAgentWithResponse(s.t.Context(), name, api.Registration{BootID: "boot",
		Factory: api.FactoryInfo{Name: name, Repos: &[]api.Repo{{Name: "ledger"}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	agent, err := client.New(s.url(), answer.JSON200.Token, api.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return agent
}

// orderMerge has work handed in and approved, and returns the job that merges it.
func (s *serverAndRepos) orderMerge(h handed) string {
	s.t.Helper()
	key := s.handIn(h)
	s.approve(key)
	return s.mergeOf(key)
}

// mergeOf waits until approved work has a job that merges it, and returns its key.
func (s *serverAndRepos) mergeOf(key string) (merge string) {
	s.t.Helper()
	s.until(key+" has a merge job", func() bool {
		list, err := s.person.ListJobsWithResponse(context.Background(), &api.ListJobsParams{Q: new("Merge " + key + ": ")})
		if err != nil || len(list.JSON200.Items) == 0 {
			return false
		}
		merge = list.JSON200.Items[0].Key
		return true
	})
	return merge
}

// Approved work is merged by whichever factory holds the repository, checked, and pushed.
func TestAFactoryMerges(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	one := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(one, api.JobStatusCompleted)
	s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), s.branch(one, 1)) })
	commit := s.git(s.origin("ledger"), "rev-parse", s.branch(one, 1))

	work := handed{title: "One", branch: s.branch(one, 1), commit: commit, by: api.MergeByWorker,
		checks: "echo 2 tests fail; test -e one.txt && exit 7"}
	red := s.untilStatus(s.orderMerge(work), api.JobStatusFailed)
	if red.FailureKind != "checks_failed" || !strings.Contains(red.LastError, "2 tests fail") || red.Attempts != 1 {
		t.Errorf("it failed with %s in %d attempts: %s", red.FailureKind, red.Attempts, red.LastError)
	}
	if _, there := s.fileAt("main", "one.txt"); there {
		t.Error("what did not pass was pushed")
	}
	work.checks = "grep -q one one.txt"
	green := s.untilStatus(s.orderMerge(work), api.JobStatusCompleted)
	if text, _ := s.fileAt(
		"main",
		"one.txt",
	); text != "one" ||
		!strings.Contains(string(green.Result), s.git(s.origin("ledger"), "rev-parse", "main")) {
		t.Errorf("main has %q; the result is %s", text, green.Result)
	}
	if said := s.git(s.origin("ledger"), "log", "-1", "--format=%B", "main"); !strings.HasPrefix(said, "Merge FB-4: One\n\nFleetboard-Job: FB-4") {
		t.Errorf("the merge says %q", said)
	}
}

// fileAt returns a file of a branch at the origin.
func (s *serverAndRepos) fileAt(branch, name string) (text string, there bool) {
	s.t.Helper()
	if !slices.Contains(strings.Fields(s.git(s.origin("ledger"), "ls-tree", "--name-only", branch)), name) {
		return "", false
	}
	return s.git(s.origin("ledger"), "show", branch+":"+name), true
}

// With a product whose work factories merge, an approval is all that a person does.
func TestAnApprovalIsMergedByItself(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"}, ReviewRequired: new(true),
		MergeBy: new(api.MergeByWorker), MergeChecks: new("grep -q one one.txt")}); err != nil {
		t.Fatal(err)
	}
	s.worker("desk")
	key := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(key, api.JobStatusInReview)
	if _, err := s.person.ApproveJobWithResponse(t.Context(), key, api.ApproveAction{}); err != nil {
		t.Fatal(err)
	}
	j := s.untilStatus(key, api.JobStatusCompleted)
	if text, _ := s.fileAt("main", "one.txt"); text != "one" || j.MergedCommit != s.git(s.origin("ledger"), "rev-parse", "main") {
		t.Errorf("main has %q; it was merged as %s", text, j.MergedCommit)
	}
}
