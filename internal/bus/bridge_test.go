package bus_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

type fleetRegistration = fleet.Registration

// thread is that of a job once it has so many messages: events are seen when older
// transactions of other tests have ended.
func (p *post) thread(by *bus.Service, job jobs.Job, want int) []bus.Message {
	p.T.Helper()
	for {
		if _, err := by.Bridge(p.Ctx); err != nil {
			p.T.Fatal(err)
		}
		list, err := p.bus.Thread(p.Ctx, p.Owner, job.Key, 0, 100)
		if err != nil {
			p.T.Fatal(err)
		}
		if len(list) >= want {
			return list
		}
	}
}

// act is what the owner does to a job, and with which words.
func (p *post) act(job jobs.Job, verb jobs.Trigger, words string) {
	p.T.Helper()
	if _, err := p.Dispatch.Act(p.Ctx, p.Owner, job.Key, actions.Action{Verb: verb, Reason: words}); err != nil {
		p.T.Fatal(err)
	}
}

// What happens to a job is reported in its thread, each event once, whoever looks and however
// often, and to the agent that submitted it.
func TestWhatHappensIsToldOnce(t *testing.T) {
	p := newPost(t)
	boss, ada := p.as("boss", "orchestrator"), p.as("ada", "worker")
	job := p.Job("work", dispatchtest.Reviewed)
	held := p.Claim(ada)
	p.Complete(ada, held)
	p.act(job, jobs.ByReject, "more tests")
	other := bus.NewService(p.DB, p.Wake, p.Jobs.Secrets, nil, nil)
	t.Cleanup(other.Close)
	var both sync.WaitGroup
	both.Go(func() { p.thread(other, job, 5) })
	thread := p.thread(p.bus, job, 5)
	both.Wait()
	var got []string
	for _, m := range thread {
		got = append(got, m.Type)
	}
	// The result is sent to the factory that handed the work in, and to the orchestrators.
	want := []string{bus.StateChange, bus.TaskClaim, bus.ReviewRequest, bus.ReviewResult, bus.ReviewResult}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the thread (-want +got):\n%s", diff)
	}
	inbox := p.read(boss, bus.Query{})
	if len(inbox.Messages) == 0 {
		t.Error("the orchestrator heard nothing")
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message WHERE type = 'agent_started'`); n != 2 {
		t.Errorf("%d agents are told to have started; want 2", n)
	}
}

// Where no orchestrator lives, routine is no message: the log has it. What was handed in,
// decided, asked and answered is in the thread all the same.
func TestRoutineIsNoMessageWhereNobodyHearsIt(t *testing.T) {
	p := newPost(t)
	ada := p.as("ada", "worker")
	p.Job("routine")
	p.Complete(ada, p.Claim(ada))
	reviewed := p.Job("reviewed", dispatchtest.Reviewed)
	p.Complete(ada, p.Claim(ada))
	p.act(reviewed, jobs.ByReject, "more tests")
	held := p.Claim(ada)
	asked, err := p.Dispatch.Ask(p.Ctx, ada, dispatchtest.Ref(held), report.Question{Text: "Which schema?"})
	if err != nil {
		t.Fatal(err)
	}
	p.act(asked.Job, jobs.ByAnswer, "The second.")

	var got []string
	for _, m := range p.thread(p.bus, reviewed, 4) {
		got = append(got, m.Type)
	}
	want := []string{bus.ReviewRequest, bus.ReviewResult, bus.TaskBlocked, bus.StateChange}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the thread (-want +got):\n%s", diff)
	}
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message`); n != len(want) {
		t.Errorf("there are %d messages; want those %d", n, len(want))
	}
}

// What an open transaction keeps back when the bridge looks is sent at its next look, without
// another event.
func TestWhatWasHeldBackIsToldAtTheNextLook(t *testing.T) {
	p := newPost(t)
	ada := p.as("ada", "worker")
	look := func() int {
		t.Helper()
		n, err := p.bus.Bridge(p.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	look()
	release := p.Hold(`SELECT pg_current_xact_id()`)
	p.Job("reviewed", dispatchtest.Reviewed)
	p.Complete(ada, p.Claim(ada))
	if n := look(); n != 0 {
		t.Errorf("%d messages tell what may be overtaken", n)
	}
	release()
	for dbfactory.Int(t, p.DB, `SELECT ((SELECT max(xid) FROM event) >= log_horizon())::int`) != 0 {
		look() // tests of others hold the horizon back too
	}
	look()
	if n := dbfactory.Int(t, p.DB, `SELECT count(*) FROM message WHERE type = 'review_request'`); n != 1 {
		t.Errorf("the review was asked for %d times; want once", n)
	}
}
