package dispatch_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// stray returns a job that runs, and whose lease somebody has deleted.
func (w *testWorkspace) stray(status jobs.Status) (tenancy.Principal, jobs.Job) {
	w.T.Helper()
	agent := w.Agent("ada")
	w.budget(100)
	w.Job("one")
	j := w.Claim(agent)
	if status == jobs.Running {
		if _, err := w.Dispatch.Start(w.Ctx, agent, ref(j), nil); err != nil {
			w.T.Fatal(err)
		}
	}
	w.spends(agent, j, "m", 1)
	dbfactory.Exec(w.T, w.DB, `DELETE FROM job_lease`)
	return agent, j
}

// A person takes back, pauses or cancels a job that is said to run and has no lease: its
// attempt is closed and what it had reserved of budgets is free.
func TestAJobWithoutItsLeaseIsTakenBack(t *testing.T) {
	for verb, want := range map[jobs.Trigger]jobs.Status{jobs.ByRelease: jobs.Ready, jobs.ByPause: jobs.Paused, jobs.ByCancel: jobs.Aborted} {
		for _, status := range []jobs.Status{jobs.Assigned, jobs.Running} {
			t.Run(string(verb)+"_"+string(status), func(t *testing.T) {
				w := newTestWorkspace(t)
				_, j := w.stray(status)
				if found := w.audited(); found["lease"] != 1 || found["attempt"] != 1 || found["reservation"] != 1 {
					t.Errorf("the audit finds %v", found)
				}
				after, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: verb, Reason: "lost"})
				if err != nil || after.Status != want {
					t.Fatalf("it is %s, %v; want %s", after.Status, err, want)
				}
				if found := w.audited(); len(found) > 0 {
					t.Errorf("afterwards the audit finds %v", found)
				}
				w.ledgerIsRight()
				w.Consistent()
			})
		}
	}
}

// Whatever else is done with a job that is said to run and has no lease is refused in words,
// or passes it over.
func TestAJobWithoutItsLeaseHarmsNobody(t *testing.T) {
	type call func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error
	act := func(verb jobs.Trigger) call {
		return func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: verb, Reason: "because"})
			return err
		}
	}
	calls := map[string]call{
		"complete": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{})
			return err
		},
		"fail": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Fail(w.Ctx, agent, ref(j), report.Failure{Error: "broken"})
			return err
		},
		"give back": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{Reason: "tired"})
			return err
		},
		"ask": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Ask(w.Ctx, agent, ref(j), report.Question{Text: "Which?"})
			return err
		},
		"progress": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Progress(w.Ctx, agent, ref(j), report.Progress{Percent: number(3)})
			return err
		},
		"renew": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Renew(w.Ctx, agent, ref(j), 0)
			return err
		},
		"budget": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.CheckBudget(w.Ctx, agent, ref(j), report.BudgetCheck{At: report.AtCheckpoint})
			return err
		},
		"heartbeat": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			got, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: agent.Name, BootID: agent.Boot, Status: "working",
				Leases: []report.HeartbeatLease{{Job: j.Key, Epoch: j.Epoch, ProgressPercent: number(4)}}})
			if err == nil && got.Leases[0].Directive != lease.Fenced {
				w.T.Errorf("the holder is told %s", got.Leases[0].Directive)
			}
			return err
		},
		"usage beyond the budget": func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) error {
			w.spends(agent, j, "n", 200)
			return nil
		},
		"recover": func(w *testWorkspace, _ tenancy.Principal, _ jobs.Job) error {
			_, err := w.Dispatch.Recover(w.Ctx, w.Owner)
			return err
		},
		"reclaim": func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) error {
			_, err := w.Dispatch.Reclaim(w.Ctx, w.Owner, j.Key)
			return err
		},
		"terminate": func(w *testWorkspace, agent tenancy.Principal, _ jobs.Job) error {
			_, err := w.Dispatch.Terminate(w.Ctx, w.Owner, agent.Name, "over", false)
			return err
		},
		"cut off": func(w *testWorkspace, agent tenancy.Principal, _ jobs.Job) error {
			_, err := w.Dispatch.CutOff(w.Ctx, w.Owner, agent.Name, "hostile")
			return err
		},
	}
	for _, verb := range []jobs.Trigger{jobs.ByBlock, jobs.ByUnblock, jobs.ByAnswer, jobs.ByResume, jobs.ByRetry, jobs.ByApprove, jobs.ByReject,
		jobs.ByMerge, jobs.ByFinish, jobs.ByMergeFail, jobs.ByArchive} {
		calls["person "+string(verb)] = act(verb)
	}
	for how, do := range calls {
		t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			agent, j := w.stray(jobs.Running)
			if err := do(w, agent, j); err != nil && fault.From(err).Code == fault.Internal {
				t.Errorf("it fails: %v", err)
			}
			if now := w.Get(j); now.Status != jobs.Running || w.audited()["lease"] != 1 {
				t.Errorf("it is %s, and the audit finds %v", now.Status, w.audited())
			}
		})
	}
}
