package factory

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fleetboard/handlers/api/apiclient"
)

// mergeJob submits what a worker is given to merge a job's work.
func (s *stage) mergeJob(key, commit, checks string) string {
	s.t.Helper()
	return s.orderMerge(map[string]string{"job": key, "commit": commit, "branch": "fleet/" + key + "-e1", "checks": checks})
}

// orderMerge submits a job of kind merge.
func (s *stage) orderMerge(order map[string]string) string {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"merge": order})
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.person.CreateJobWithResponse(s.t.Context(), nil,
		apiclient.NewJob{Title: "Merge " + order["job"], Kind: new("merge"), Repo: new("ledger"), ReviewRequired: new(false),
			InputContext: raw})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.JSON201.Key
}

// Approved work is merged by whichever factory holds the repository, checked, and pushed.
func TestAFactoryMerges(t *testing.T) {
	s := newStage(t)
	s.worker("desk")
	one := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(one, apiclient.JobStatusCompleted)
	s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), "fleet/"+one+"-e1") })
	commit := s.git(s.origin("ledger"), "rev-parse", "fleet/"+one+"-e1")

	red := s.untilStatus(s.mergeJob(one, commit, "echo 2 tests fail; test -e one.txt && exit 7"), apiclient.JobStatusFailed)
	if red.FailureKind != "checks_failed" || !strings.Contains(red.LastError, "2 tests fail") || red.Attempts != 1 {
		t.Errorf("it failed with %s in %d attempts: %s", red.FailureKind, red.Attempts, red.LastError)
	}
	if _, there := s.fileAt("main", "one.txt"); there {
		t.Error("what did not pass was pushed")
	}
	green := s.untilStatus(s.mergeJob(one, commit, "grep -q one one.txt"), apiclient.JobStatusCompleted)
	if text, _ := s.fileAt(
		"main",
		"one.txt",
	); text != "one" ||
		!strings.Contains(string(green.Result), s.git(s.origin("ledger"), "rev-parse", "main")) {
		t.Errorf("main has %q; the result is %s", text, green.Result)
	}
}

// fileAt is a file of a branch at the origin.
func (s *stage) fileAt(branch, name string) (text string, there bool) {
	s.t.Helper()
	if !slices.Contains(strings.Fields(s.git(s.origin("ledger"), "ls-tree", "--name-only", branch)), name) {
		return "", false
	}
	return s.git(s.origin("ledger"), "show", branch+":"+name), true
}

// With a product whose work factories merge, an approval is all that a person does.
func TestAnApprovalIsMergedByItself(t *testing.T) {
	s := newStage(t)
	if _, err := s.person.PutProductWithResponse(t.Context(), "books", apiclient.ProductSettings{Repos: &[]string{"ledger"}, ReviewRequired: new(true),
		MergeBy: new(apiclient.MergeByWorker), MergeChecks: new("grep -q one one.txt")}); err != nil {
		t.Fatal(err)
	}
	s.worker("desk")
	key := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(key, apiclient.JobStatusInReview)
	if _, err := s.person.ApproveJobWithResponse(t.Context(), key, apiclient.ApproveAction{}); err != nil {
		t.Fatal(err)
	}
	j := s.untilStatus(key, apiclient.JobStatusCompleted)
	if text, _ := s.fileAt("main", "one.txt"); text != "one" || j.MergedCommit != s.git(s.origin("ledger"), "rev-parse", "main") {
		t.Errorf("main has %q; it was merged as %s", text, j.MergedCommit)
	}
}
