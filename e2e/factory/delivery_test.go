package factory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fleetboard/handlers/api/apiclient"
)

// An origin that is away for a while costs no seat and no work: the branch is pushed once it
// is back, also by the next process.
func TestABranchWaitsForItsOrigin(t *testing.T) {
	s := newStage(t)
	w := s.worker("desk")
	s.untilStatus(s.submit(step{"run": "true"}), apiclient.JobStatusCompleted) // the mirror is there
	if err := os.Rename(s.origin("ledger"), s.origin("ledger")+".away"); err != nil {
		t.Fatal(err)
	}
	first, second := s.submit(step{"run": "echo one > one.txt"}), s.submit(step{"run": "echo two > two.txt"})
	s.untilStatus(first, apiclient.JobStatusCompleted)
	s.untilStatus(second, apiclient.JobStatusCompleted)
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

// An origin that refuses a branch is heard in the job's thread, in its own words, and the work
// stays in the mirror.
func TestARefusedBranchIsToldOnTheJob(t *testing.T) {
	s := newStage(t)
	hook := filepath.Join(s.origin("ledger"), "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho branches need a ticket >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.worker("desk")
	key := s.submit(step{"run": "echo one > one.txt"})
	s.untilStatus(key, apiclient.JobStatusCompleted)
	s.until("the refusal is told", func() bool {
		thread, err := s.person.ReadThreadWithResponse(t.Context(), key, nil)
		return err == nil && strings.Contains(string(thread.Body), "branches need a ticket")
	})
	if got := s.git(s.mirror("desk", "ledger"), "show", s.branch(key, 1)+":one.txt"); got != "one" {
		t.Errorf("the mirror has %q", got)
	}
}
