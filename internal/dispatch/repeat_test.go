package dispatch_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ending is a report that ends a lease, and one that says something else.
type ending struct {
	outcome    string
	tell       racer
	otherwise  racer
	afterwards jobs.Status
}

var endings = map[string]ending{
	"complete": {"completed", completes, completesOtherwise, jobs.Completed},
	"fail":     {"failed", fails, failsOtherwise, jobs.Waiting},
	"release":  {"released", releases, releasesOtherwise, jobs.Ready},
	"ask":      {"asked", asks, asksOtherwise, jobs.Blocked},
}

var (
	failsOtherwise = racer{"another failure", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Fail(w.Ctx, a, ref(j), report.Failure{Error: "x"})
		return err
	}}
	releasesOtherwise = racer{"another release", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Release(w.Ctx, a, ref(j), report.Release{Checkpoint: []byte(`{"at": 2}`)})
		return err
	}}
	asksOtherwise = racer{"another question", func(w *testWorkspace, a tenancy.Principal, j jobs.Job) error {
		_, err := w.Dispatch.Ask(w.Ctx, a, ref(j), report.Question{Text: "Where?", Checkpoint: []byte(`{"at": 1}`)})
		return err
	}}
)

// What ended a lease may be sent again: it gets the answer that was lost. Anything
// else about the lease is answered with what was recorded. Neither changes anything, also
// once the job was given to somebody else.
func TestAnEndIsToldTwice(t *testing.T) {
	for verb, e := range endings {
		t.Run(verb, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent, other := w.Agent("claude-1"), w.Agent("claude-2")
			w.Job("one", retries(5, 60))
			held := w.Claim(agent)
			w.must(e.tell, agent, held)
			before := w.Want(held, e.afterwards)
			check := func(when string) {
				t.Helper()
				if err := e.tell.run(w, agent, held); err != nil {
					t.Errorf("%s, told again: %v", when, err)
				}
				for _, different := range []racer{e.otherwise, starts, endings["complete"].otherwise} {
					w.alreadyEnded(different, agent, held, e.outcome)
				}
				if err := e.tell.run(w, other, held); !fault.Is(err, fault.StaleEpoch) && !fault.Is(err, fault.LeaseExpired) {
					t.Errorf("%s, told by another agent: %v", when, err)
				}
			}
			check("right after")
			if after := w.Get(held); after.Version != before.Version {
				t.Errorf("version %d became %d", before.Version, after.Version)
			}
			switch verb {
			case "complete":
				w.Act(held, jobs.ByRetry)
			case "ask":
				w.Act(held, jobs.ByUnblock)
			case "fail":
				w.backoffOver()
			}
			if next := w.Claim(other); next.Epoch != held.Epoch+1 {
				t.Fatalf("epoch %d was given", next.Epoch)
			}
			check("given to somebody else")
			w.Consistent()
		})
	}
}

// alreadyEnded asserts that a report is refused with how its lease was ended.
func (w *testWorkspace) alreadyEnded(r racer, agent tenancy.Principal, held jobs.Job, outcome string) {
	w.T.Helper()
	err := r.run(w, agent, held)
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Code != fault.AlreadyEnded || refused.Details["outcome"] != outcome {
		w.T.Errorf("%s: %v; want already_ended with outcome %s", r.name, err, outcome)
	}
}

// backoffOver lets the time pass that failed jobs wait for.
func (w *testWorkspace) backoffOver() {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE job SET not_before = clock_timestamp() WHERE wait_reason = 'retry_backoff'`)
	if _, err := w.Dispatch.Promote(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
}

// An end that carried out a person's directive may be sent again too.
func TestACarriedOutDirectiveIsToldTwice(t *testing.T) {
	for directive, code := range map[jobs.Trigger]fault.Code{jobs.ByPause: fault.Paused, jobs.ByCancel: fault.Cancelled} {
		for verb, e := range endings {
			if verb == "complete" {
				continue
			}
			t.Run(string(directive)+" "+verb, func(t *testing.T) {
				w := newTestWorkspace(t)
				agent := w.Agent("claude-1")
				w.Job("one")
				held := w.Claim(agent)
				w.Act(held, directive)
				w.must(e.tell, agent, held)
				if err := e.tell.run(w, agent, held); err != nil {
					t.Errorf("told again: %v", err)
				}
				if err := e.otherwise.run(w, agent, held); !fault.Is(err, code) {
					t.Errorf("told otherwise: %v; want %s", err, code)
				}
			})
		}
	}
}

// What somebody else decided is never taken for the agent's own word.
func TestWhatOthersEndedIsNotRepeated(t *testing.T) {
	for name, end := range map[string]func(w *testWorkspace, held jobs.Job){
		"expired":           func(w *testWorkspace, held jobs.Job) { w.Expire(held); w.sweeps("reap", 1) },
		"taken by a person": func(w *testWorkspace, held jobs.Job) { w.Act(held, jobs.ByRelease) },
		"agent started again": func(w *testWorkspace, held jobs.Job) {
			w.must(reboots, tenancy.Principal{Name: "claude-1", Factory: "factory-of-claude-1"}, held)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			w.Job("one")
			held := w.Claim(agent)
			end(w, held)
			for verb, e := range endings {
				if err := e.tell.run(w, agent, held); !fault.Is(err, fault.LeaseExpired) {
					t.Errorf("%s: %v; want lease_expired", verb, err)
				}
			}
		})
	}
}

// Lines with ids are kept once in each lease, however often they are sent; lines
// without are kept as often as they come.
func TestLogLinesAreKeptOnce(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", retries(5, 0))
	held := w.Claim(agent)
	line := func(id, message string) joblog.Line {
		return joblog.Line{LineID: id, Level: joblog.Info, Message: message, Details: json.RawMessage(`{}`)}
	}
	w.write(agent, held, line("a", "first"), line("b", "second"))
	w.write(agent, held, line("b", "second"), line("c", "third"), line("c", "third, again"))
	w.write(agent, held, line("", "no id"), line("", "no id"))
	want := []string{"first", "second", "third", "no id", "no id"}
	if got := w.written(held); !slices.Equal(got, want) {
		t.Errorf("the log is %q; want %q", got, want)
	}
	w.must(releases, agent, held)
	again := w.Claim(agent)
	w.write(agent, again, line("a", "another lease"))
	if got := w.written(held); !slices.Equal(got, append(want, "another lease")) {
		t.Errorf("the log is %q", got)
	}
}

// Lines whose answer was lost are reported as kept also after the lease has ended;
// what is new then is refused.
func TestKeptLinesAreKnownAfterTheEnd(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	known := joblog.Line{LineID: "a", Level: joblog.Info, Message: "first"}
	w.write(agent, held, known)
	w.must(completes, agent, held)
	standing, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), []joblog.Line{known})
	if err != nil || standing.ExpiresAt != nil {
		t.Errorf("kept lines told again: %+v, %v", standing, err)
	}
	fresh := joblog.Line{LineID: "b", Level: joblog.Info, Message: "second"}
	for _, lines := range [][]joblog.Line{{known, fresh}, {{Level: joblog.Info, Message: "first"}}} {
		if _, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), lines); !fault.Is(err, fault.AlreadyEnded) {
			t.Errorf("new lines after the end: %v; want already_ended", err)
		}
	}
	if got := w.written(held); !slices.Equal(got, []string{"first"}) {
		t.Errorf("the log is %q", got)
	}
}
