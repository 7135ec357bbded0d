package factory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// An origin that is away for a while costs no seat and no work: the branch is pushed once it
// is back, also by the next process.
func TestABranchWaitsForItsOrigin(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	w := s.worker("desk")
	s.untilStatus(s.submit(step{"run": "true"}), api.JobStatusCompleted) // the mirror is there
	if err := os.Rename(s.origin("ledger"), s.origin("ledger")+".away"); err != nil {
		t.Fatal(err)
	}
	first, second := s.submit(step{"run": "echo one > one.txt"}), s.submit(step{"run": "echo two > two.txt"})
	s.untilStatus(first, api.JobStatusCompleted)
	s.untilStatus(second, api.JobStatusCompleted)
	s.until("both could not be pushed", func() bool {
		log := w.Output()
		return strings.Contains(log, "branch="+s.branch(first, 1)) && strings.Contains(log, "branch="+s.branch(second, 1))
	})
	w.Kill()
	if err := os.Rename(s.origin("ledger")+".away", s.origin("ledger")); err != nil {
		t.Fatal(err)
	}
	w.Start()
	s.until("both are pushed", func() bool {
		pushed := s.branches(s.origin("ledger"))
		return slices.Contains(pushed, s.branch(first, 1)) && slices.Contains(pushed, s.branch(second, 1))
	})
}

// delivery returns what is reported of the commit of the newest attempt on a job, nil for nothing.
func (s *serverAndRepos) delivery(key string) *api.Delivery {
	s.t.Helper()
	answer, err := s.person.ListAttemptsWithResponse(s.t.Context(), key, nil)
	if err != nil || len(answer.JSON200.Items) == 0 {
		return nil
	}
	return answer.JSON200.Items[0].Delivery
}

// untilDelivered waits until something is reported of a commit.
func (s *serverAndRepos) untilDelivered(key string, want api.DeliveryState) (d *api.Delivery) {
	s.t.Helper()
	s.until(fmt.Sprintf("the commit of %s is %s", key, want), func() bool {
		d = s.delivery(key)
		return d != nil && d.State == want
	})
	return d
}

// hook has the origin run a script before it takes a branch.
func (s *serverAndRepos) hook(script string) {
	s.t.Helper()
	at := filepath.Join(s.origin("ledger"), "hooks", "pre-receive")
	if err := os.WriteFile(at, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// why returns the codes of the explanation of a job, with the words of each.
func (s *serverAndRepos) why(key string) map[string]string {
	s.t.Helper()
	answer, err := s.person.ExplainJobWithResponse(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range answer.JSON200.Reasons {
		all[r.Code] = r.Detail
	}
	return all
}

// A branch that the origin refuses is a state of the attempt, in the origin's own words, and
// is written in the job's thread; the work stays in the mirror, and its merge waits. Once the
// origin takes the branch, the merge goes on.
func TestARefusedBranchIsToldOnTheJob(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.hook("echo branches need a ticket >&2; exit 1")
	_, err := s.person.PutProductWithResponse(t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"}, MergeBy: new(api.MergeByWorker)})
	if err != nil {
		t.Fatal(err)
	}
	w := s.worker("desk")
	key := s.submitAs(api.NewJob{Title: "Play a script", Repo: new("ledger"), ReviewRequired: new(true)}, step{"run": "echo one > one.txt"})
	s.untilStatus(key, api.JobStatusInReview)
	d := s.untilDelivered(key, api.DeliveryStateRefused)
	if !strings.HasPrefix(d.Detail, "branches need a ticket\n") || !strings.Contains(d.Detail, "pre-receive hook declined") || strings.Contains(d.Detail, s.dir) ||
		d.Branch != s.branch(key, 1) {
		t.Errorf("the refusal is %+v", d)
	}
	s.until("the refusal is told in the thread", func() bool {
		thread, err := s.person.ReadThreadWithResponse(t.Context(), key, nil)
		return err == nil && strings.Contains(string(thread.Body), "branches need a ticket")
	})
	if got := s.git(s.mirror("desk", "ledger"), "show", s.branch(key, 1)+":one.txt"); got != "one" {
		t.Errorf("the mirror has %q", got)
	}
	s.approve(key)
	told := s.why(key)
	if !strings.Contains(told["delivery_refused"], "branches need a ticket") || !strings.Contains(told["merge_waits"], "It waits: the origin refused") {
		t.Errorf("it is explained as %v", told)
	}
	w.Kill()
	s.hook("exit 0")
	w.Start()
	s.untilDelivered(key, api.DeliveryStatePushed)
	if j := s.untilStatus(key, api.JobStatusCompleted); j.MergedCommit == "" {
		t.Error("it is completed without a merge")
	}
	s.until("nothing is left to tell", func() bool { return s.unsent("desk") == 0 })
	if got := count(s.events(key), "job.delivery_refused"); got != 1 {
		t.Errorf("it was refused %d times", got)
	}
}

// A worker that is killed after its push and before its report sends that afterwards, and pushes
// nothing again: somebody may have removed the branch meanwhile.
func TestAPushIsToldAfterACrash(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	at := filepath.Join(s.dir, "push")
	s.hook("touch " + at + "; until test -e " + at + "-go; do sleep 0.1; done")
	cut := newProxy(t, s.address)
	w := s.worker("desk", "--server", cut.url())
	key := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(key, api.JobStatusCompleted)
	s.untilFile("push")
	cut.set(true)
	s.release("push")
	s.until("the push waits to be told", func() bool { return strings.Contains(w.Output(), "what became of the branch waits for the server") })
	w.Kill()
	if d := s.delivery(key); d != nil {
		t.Fatalf("it was told already: %+v", d)
	}
	s.git(s.origin("ledger"), "branch", "-D", s.branch(key, 1))
	cut.set(false)
	w.Start()
	s.untilDelivered(key, api.DeliveryStatePushed)
	s.until("nothing is left to tell", func() bool { return s.unsent("desk") == 0 })
	if slices.Contains(s.branches(s.origin("ledger")), s.branch(key, 1)) {
		t.Error("the branch was pushed again")
	}
}

// Without an origin the branch stands in the person's clone, and so it is reported.
func TestABranchWithoutAnOriginIsLocal(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.git(s.clone("ledger"), "remote", "remove", "origin")
	s.worker("desk")
	key := s.submit(step{"run": "echo one > one.txt"})
	d := s.untilDelivered(key, api.DeliveryStateLocal)
	if got := s.git(s.clone("ledger"), "rev-parse", d.Branch); got != d.Commit {
		t.Errorf("the clone has %s, and %+v is told", got, d)
	}
}
