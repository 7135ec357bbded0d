package dispatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// endWithNext are the calls that end a lease, each with what is wanted for the seat.
var endWithNext = map[string]func(*testWorkspace, tenancy.Principal, jobs.Job, *lease.Next) (report.Ended, error){
	"complete": func(w *testWorkspace, a tenancy.Principal, j jobs.Job, next *lease.Next) (report.Ended, error) {
		return w.Dispatch.Complete(w.Ctx, a, ref(j), report.Completion{Next: next})
	},
	"fail": func(w *testWorkspace, a tenancy.Principal, j jobs.Job, next *lease.Next) (report.Ended, error) {
		return w.Dispatch.Fail(w.Ctx, a, ref(j), report.Failure{Error: "x", Next: next})
	},
	"release": func(w *testWorkspace, a tenancy.Principal, j jobs.Job, next *lease.Next) (report.Ended, error) {
		return w.Dispatch.Release(w.Ctx, a, ref(j), report.Release{Next: next})
	},
	"ask": func(w *testWorkspace, a tenancy.Principal, j jobs.Job, next *lease.Next) (report.Ended, error) {
		return w.Dispatch.Ask(w.Ctx, a, ref(j), report.Question{Text: "Which?", Next: next})
	},
}

// oneSeat returns an agent that works on one job at a time.
func (w *testWorkspace) oneSeat(name string) tenancy.Principal {
	return w.Agent(name, func(r *fleet.Registration) { r.MaxConcurrentJobs, r.Factory.Seats = 1, 1 })
}

// working is such an agent, with the job that it holds.
func (w *testWorkspace) working() (tenancy.Principal, jobs.Job) {
	w.T.Helper()
	agent := w.oneSeat("claude-1")
	w.Job("one")
	return agent, w.Claim(agent)
}

// got returns the one job that an agent got for its seat.
func (w *testWorkspace) got(ended report.Ended, err error) jobs.Job {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
	if ended.Next == nil || len(ended.Next.Jobs) != 1 {
		w.T.Fatalf("the seat got %+v; want one job", ended.Next)
	}
	return ended.Next.Jobs[0]
}

func (w *testWorkspace) transactionOf(j jobs.Job, event string) string {
	return dbfactory.Text(w.T, w.DB, `SELECT xid::text FROM event WHERE job_id = $1 AND type = $2`, j.ID, event)
}

func TestTheEndOfALeaseFillsTheSeatInTheSameTransaction(t *testing.T) {
	for verb, end := range endWithNext {
		t.Run(verb, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.oneSeat("claude-1")
			first := w.Job("first", priority(9))
			w.Job("second", priority(10))
			w.Job("third")
			second := w.Claim(agent)
			next := w.got(end(w, agent, second, &lease.Next{TTLSeconds: 60}))
			if want := map[bool]jobs.Job{true: second, false: first}[verb == "release"]; next.Key != want.Key || next.Lease.TTLSeconds != 60 {
				t.Errorf("the seat got %s for %d s; want %s for 60", next.Key, next.Lease.TTLSeconds, want.Key)
			}
			if verb == "complete" {
				if ended, began := w.transactionOf(second, "job.completed"), w.transactionOf(first, "job.claimed"); ended != began {
					t.Errorf("the end is of transaction %s, the claim of %s", ended, began)
				}
			}
			w.Nothing(agent, claim.ReasonNoSeats)
			w.Consistent()
		})
	}
}

func TestASeatStaysFreeWhereNothingIsToBeDone(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.oneSeat("claude-1")
	w.Job("only")
	ended, err := w.Dispatch.Complete(w.Ctx, agent, ref(w.Claim(agent)), report.Completion{Next: &lease.Next{}})
	if err != nil || ended.Next == nil || ended.Next.Reason != claim.ReasonEmpty || ended.Next.QueueVersion == "" {
		t.Errorf("the seat got %+v, %v; want nothing, for it is empty", ended.Next, err)
	}
	w.Job("asks for nothing")
	ended, err = w.Dispatch.Complete(w.Ctx, agent, ref(w.Claim(agent)), report.Completion{})
	if err != nil || ended.Next != nil {
		t.Errorf("without being asked the seat got %+v, %v", ended.Next, err)
	}
	w.Consistent()
}

// The answer may be lost: said again, the call gives the same leases.
func TestAnEndThatIsToldTwiceFillsOneSeat(t *testing.T) {
	for verb, end := range endWithNext {
		t.Run(verb, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			for range 3 {
				w.Job("job")
			}
			held, next := w.Claim(agent), &lease.Next{RequestID: "r-1"}
			first := w.got(end(w, agent, held, next))
			if again := w.got(end(w, agent, held, next)); again.Key != first.Key || again.Epoch != first.Epoch {
				t.Errorf("again it is %s, epoch %d; it was %s, %d", again.Key, again.Epoch, first.Key, first.Epoch)
			}
			if again, err := end(w, agent, held, nil); err != nil || again.Next != nil {
				t.Errorf("said again without asking: %+v, %v", again.Next, err)
			}
			w.leased(1)
			w.Consistent()
		})
	}
}

func TestWhatIsRefusedFillsNoSeat(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	w.Job("two")
	stale := lease.Ref{Job: held.Key, Epoch: held.Epoch + 1}
	for name, c := range map[string]struct {
		ref  lease.Ref
		next lease.Next
		want fault.Code
	}{
		"another epoch": {stale, lease.Next{}, fault.StaleEpoch},
		"max":           {ref(held), lease.Next{Max: 101}, fault.Validation},
		"ttl":           {ref(held), lease.Next{TTLSeconds: 9}, fault.Validation},
	} {
		if _, err := w.Dispatch.Complete(w.Ctx, agent, c.ref, report.Completion{Next: &c.next}); !fault.Is(err, c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
	w.Want(held, jobs.Assigned)
	w.leased(1)
	w.Consistent()
}

// Somebody else has the factory locked: the lease ends at once, and the claim follows.
func TestTheEndOfALeaseWaitsForNobodysSeat(t *testing.T) {
	w := newTestWorkspace(t)
	agent, held := w.working()
	two := w.Job("two")
	letGo := w.Hold(`SELECT FROM factory FOR UPDATE`)
	answer := make(chan report.Ended, 1)
	failed := make(chan error, 1)
	go func() {
		ended, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Next: &lease.Next{}})
		answer <- ended
		failed <- err
	}()
	w.Blocked(1)
	w.Want(held, jobs.Completed)
	letGo()
	if got := w.got(<-answer, <-failed); got.Key != two.Key {
		t.Errorf("the seat got %s; want %s", got.Key, two.Key)
	}
	w.Consistent()
}

// Nor is the end of the lease undone where the seat cannot be filled at all.
func TestASeatThatCannotBeFilledIsTriedAgain(t *testing.T) {
	w := newTestWorkspace(t)
	agent, held := w.working()
	two := w.Job("two")
	letGo := w.Hold(`SELECT FROM factory FOR UPDATE`)
	ended, err := w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Next: &lease.Next{RequestID: "r-1"}})
	if err != nil || ended.Status != jobs.Completed || ended.Next == nil || ended.Next.Reason != report.ReasonTryAgain {
		t.Errorf("the end is %s, the seat got %+v, %v; want to try again", ended.Status, ended.Next, err)
	}
	letGo()
	if got := w.got(w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Next: &lease.Next{RequestID: "r-1"}})); got.Key != two.Key {
		t.Errorf("said again the seat got %s; want %s", got.Key, two.Key)
	}
	w.Consistent()
}

// A transaction that ends a lease, counts the seats that are left and is rolled back has
// ended nothing: the lease counts again.
func TestASeatThatWasNotFreedCounts(t *testing.T) {
	w := newTestWorkspace(t)
	agent, held := w.working()
	w.Job("two")
	undone := errors.New("undone")
	err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
		_, err := lease.ReleaseTx(w.Ctx, tx, agent, agent.Agent, "x", func(jobs.Job) bool { return true })
		if err != nil {
			return err
		}
		seat := &lease.Seat{Ctx: w.Ctx, Who: agent}
		if _, err := w.Dispatch.FillTx(w.Ctx, tx, w.Workspace, []*lease.Seat{seat}); err != nil || len(seat.Claimed.Jobs) != 1 {
			t.Errorf("the seat got %+v, %v; want one job", seat.Claimed, err)
		}
		return undone
	}, db.NoWait)
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	w.Want(held, jobs.Assigned)
	w.Nothing(agent, claim.ReasonNoSeats)
	w.Consistent()
}

func TestASeatOfACallerWhoWentAwayIsFree(t *testing.T) {
	w := newTestWorkspace(t)
	agent, held := w.working()
	gone, leave := context.WithCancel(w.Ctx)
	leave()
	seat := lease.Seat{Who: agent, Claimed: lease.Claimed{Jobs: []jobs.Job{held}}, Filled: true}
	seat.RequestID = "r-1"
	if _, err := w.Dispatch.Deliver(gone, seat); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.Want(held, jobs.Assigned) // who named its request calls again
	seat.RequestID = ""
	if _, err := w.Dispatch.Deliver(gone, seat); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.Want(held, jobs.Ready)
	w.Consistent()
}

// Work comes back where no coordinator runs, also when nobody claims but by the end of a job.
func TestASeatThatIsFilledTakesLapsedLeasesBack(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("lost")
	lost := w.Claim(w.Agent("claude-2"))
	agent, held := w.working()
	w.Job("two")
	w.Expire(lost)
	fresh := inWorkspace(t, w.DB, w.Workspace) // which has not looked for any yet
	w.got(fresh.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Next: &lease.Next{}}))
	w.Want(lost, jobs.Ready)
	w.Consistent()
}

// Seats are filled as claims are: by what a budget has enough left for.
func TestASeatIsFilledWithinTheBudget(t *testing.T) {
	w := newTestWorkspace(t)
	agent, held := w.working()
	b := w.budget(100)
	two := w.Job("two")
	if next := w.got(w.Dispatch.Complete(w.Ctx, agent, ref(held), report.Completion{Next: &lease.Next{}})); next.Key != two.Key {
		t.Errorf("the seat got %s; want %s", next.Key, two.Key)
	}
	if reserved := dbfactory.Int(t, w.DB, `SELECT count(*) FROM budget_ledger WHERE budget_id = $1 AND kind = 'reserve'`, b.ID); reserved != 1 {
		t.Errorf("%d reservations; want 1", reserved)
	}
	w.ledgerIsRight()
	w.Consistent()
}
