package dispatch_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// take claims one job by its key.
func (w *testWorkspace) take(agent tenancy.Principal, j jobs.Job) jobs.Job {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: j.Key})
	if err != nil || len(got.Jobs) != 1 {
		w.T.Fatalf("claim %s: %d jobs, %v", j.Key, len(got.Jobs), err)
	}
	return got.Jobs[0]
}

// file files a job while another one is worked on, which must be possible.
func (w *testWorkspace) file(agent tenancy.Principal, held jobs.Job, change ...func(*jobs.New)) jobs.Job {
	w.T.Helper()
	made, err := w.submit(agent, ref(held), change...)
	if err != nil {
		w.T.Fatalf("file from %s: %v", held.Key, err)
	}
	return made
}

// below makes open jobs below a root, as agents file them, hours ago.
func (w *testWorkspace) below(root jobs.Job, n, hours int) {
	w.T.Helper()
	for _, j := range w.many(n) {
		dbfactory.Exec(w.T, w.DB, `UPDATE job SET root_id = $1, depth = 1, created_at = created_at - make_interval(hours => $3) WHERE id = $2`,
			root.ID, j.ID, hours)
	}
}

// many are new jobs of the owner.
func (w *testWorkspace) many(n int) []jobs.Job {
	w.T.Helper()
	list := make([]jobs.New, n)
	for i := range list {
		list[i] = jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}}
	}
	made, err := w.Jobs.Create(w.Ctx, w.Owner, nil, list...)
	if err != nil {
		w.T.Fatal(err)
	}
	return made.Jobs
}

// An agent's job has at most the urgency of the one that it was found by, and what is left
// of that one's own ceilings; nothing that is left out is beyond them either.
func TestAnAgentsJobStaysWithinTheOneAtWork(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	money := func(n int64) func(*jobs.New) { return func(j *jobs.New) { j.BudgetNanos = &n } }
	tokens := func(n int64) func(*jobs.New) { return func(j *jobs.New) { j.TokenBudget = &n } }
	const dollar = 1_000_000_000
	calm := w.take(ada, w.Job("calm", priority(3)))
	urgent := w.take(ada, w.Job("urgent", priority(8)))
	rich := w.take(ada, w.Job("rich", money(10*dollar), tokens(1000)))
	w.uses(ada, rich, "one", 400, "4")
	poor := w.take(ada, w.Job("poor", money(dollar), tokens(100)))
	w.uses(ada, poor, "two", 100, "1")
	for name, c := range map[string]struct {
		held   jobs.Job
		change func(*jobs.New)
		refuse string // fields
	}{
		"as urgent":              {calm, priority(3), ""},
		"less urgent":            {calm, priority(0), ""},
		"more urgent":            {calm, priority(4), "priority"},
		"at once":                {urgent, priority(10), "priority"},
		"for a factory":          {calm, func(n *jobs.New) { n.Factory = "factory-of-ada" }, "factory"},
		"all that is left":       {rich, money(6 * dollar), ""},
		"more than is left":      {rich, money(6*dollar + 1), "budget_usd"},
		"all tokens left":        {rich, tokens(600), ""},
		"more tokens than left":  {rich, tokens(601), "token_budget"},
		"without a ceiling":      {calm, money(1000 * dollar), ""},
		"of what is spent":       {poor, money(1), "budget_usd token_budget"},
		"nothing of it is left":  {poor, func(*jobs.New) {}, "budget_usd token_budget"},
		"everything wrong":       {rich, func(n *jobs.New) { priority(10)(n); money(7 * dollar)(n); n.Factory = "x" }, "priority budget_usd factory"},
		"nothing said, of calm":  {calm, func(*jobs.New) {}, ""},
		"nothing said, of rich":  {rich, func(*jobs.New) {}, ""},
		"nothing said of urgent": {urgent, func(*jobs.New) {}, ""},
	} {
		made, err := w.submit(ada, ref(c.held), c.change)
		if c.refuse != "" {
			f := fault.From(err)
			for _, field := range strings.Fields(c.refuse) {
				if f == nil || f.Code != fault.Validation || f.Fields[field] == "" {
					t.Errorf("%s: %v; want %s refused", name, err, field)
				}
			}
			if f != nil && len(f.Fields) != len(strings.Fields(c.refuse)) {
				t.Errorf("%s: %v; want %s refused and nothing else", name, f.Fields, c.refuse)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kept := w.Get(made)
		if kept.Priority > c.held.Priority || strings.HasPrefix(name, "nothing said") && kept.Priority != min(jobs.DefaultPriority, c.held.Priority) {
			t.Errorf("%s: it has priority %d, found by one of %d", name, kept.Priority, c.held.Priority)
		}
		if c.held.ID == rich.ID && (kept.BudgetNanos == nil || *kept.BudgetNanos > 6*dollar || kept.TokenBudget == nil || *kept.TokenBudget > 600) {
			t.Errorf("%s: it may spend %v and %v tokens", name, kept.BudgetNanos, kept.TokenBudget)
		}
	}
	w.Consistent()
}

// Jobs are filed at most five steps away from the first one, whatever people do to the links
// and to the jobs between.
func TestAgentsFileFiveStepsDeep(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	root := w.Job("root")
	held := w.take(ada, root)
	var chain []jobs.Job
	for range jobs.MaxFiledDepth {
		next := w.file(ada, held)
		held = w.take(ada, next)
		chain = append(chain, held)
	}
	deeper := func(when string) {
		t.Helper()
		if f := fault.From(func() error { _, err := w.submit(ada, ref(held)); return err }()); f == nil || f.Fields["discovered_from"] == "" {
			t.Errorf("%s: a sixth step: %v", when, f)
		}
	}
	deeper("as it is")
	if _, err := w.Jobs.Unlink(w.Ctx, w.Owner, held.Key, chain[3].Key, jobs.DiscoveredFrom); err != nil {
		t.Fatal(err)
	}
	deeper("without its link")
	w.Complete(ada, chain[1])
	if err := w.Jobs.Purge(w.Ctx, w.Owner, chain[1].Key); err != nil {
		t.Fatal(err)
	}
	deeper("without a job between")
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE root_id = $1`, root.ID); n != jobs.MaxFiledDepth-1 {
		t.Errorf("%d jobs know their root; want %d", n, jobs.MaxFiledDepth-1)
	}
}

// Fifty jobs below one root are open at a time, by whichever agents and attempts, also when
// two of them file at the same moment, and when the root is gone.
func TestFiftyJobsBelowARootAreOpen(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	bob := w.submitter(tenancy.Scope{}, func(r *fleet.Registration) { r.Agent, r.Factory.Name = "bob", "factory-of-bob" })
	root := w.Job("root")
	held := w.take(ada, root)
	first := w.file(ada, held)
	other := w.take(bob, first)
	w.below(root, jobs.MaxFiledOpen-2, 2)
	var made, refused atomic.Int32
	var all sync.WaitGroup
	for n := range 8 { // 49 are open
		all.Go(func() {
			who, at := ada, held
			if n%2 == 1 {
				who, at = bob, other
			}
			_, err := w.submit(who, ref(at))
			switch f := fault.From(err); {
			case err == nil:
				made.Add(1)
			case f != nil && f.Code == fault.TooMany && f.Details["retry_after"] != nil:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d were filed and %d refused where one has room", made.Load(), refused.Load())
	}
	w.Complete(bob, other) // one of them has ended
	w.file(ada, held)
	if _, err := w.submit(ada, ref(held)); !fault.Is(err, fault.TooMany) {
		t.Errorf("the fifty-first: %v", err)
	}
	// Another root has space of its own, and so has a person's job beside the tree.
	w.file(ada, w.take(ada, w.Job("another root")))
	w.Complete(ada, held)
	next := w.take(ada, w.many(1)[0])
	dbfactory.Exec(t, w.DB, `UPDATE job SET root_id = $1, depth = 1 WHERE id = $2`, root.ID, next.ID)
	if err := w.Jobs.Purge(w.Ctx, w.Owner, root.Key); err != nil {
		t.Fatal(err)
	}
	if _, err := w.submit(ada, ref(next)); !fault.Is(err, fault.TooMany) {
		t.Errorf("below a deleted root: %v", err)
	}
}

// Sixty jobs come below one root in an hour; when the first of them is older, the next may.
// A request that is repeated is answered also then, and makes nothing.
func TestSixtyJobsBelowARootComeInAnHour(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	root := w.Job("root")
	held := w.take(ada, root)
	once := w.Jobs.Key("once", []byte("digest"))
	first, err := w.Dispatch.Submit(w.Ctx, ada, once, ref(held), jobs.New{Spec: jobs.Spec{Title: "found"}})
	if err != nil {
		t.Fatal(err)
	}
	w.below(root, jobs.MaxFiledPerHour-1, 0)
	dbfactory.Exec(t, w.DB, `UPDATE job SET status = 'aborted', failed_at = now() WHERE root_id = $1`, root.ID)
	dbfactory.Exec(t, w.DB, `DELETE FROM job_ready`)
	_, err = w.submit(ada, ref(held))
	if f := fault.From(err); f == nil || f.Code != fault.TooMany || f.Details["retry_after"].(int) < 3000 || f.Details["retry_after"].(int) > 3600 {
		t.Errorf("the sixty-first: %v", err)
	}
	again, err := w.Dispatch.Submit(w.Ctx, ada, once, ref(held), jobs.New{Spec: jobs.Spec{Title: "found"}})
	if err != nil || !again.Replayed || again.Jobs[0].ID != first.Jobs[0].ID {
		t.Errorf("the request again: %+v, %v", again, err)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job SET created_at = now() - interval '61 minutes' WHERE id = $1`, first.Jobs[0].ID)
	w.file(ada, held)
}

// What an agent files may wait for jobs outside of its tree; who they are changes nothing.
func TestDependenciesMayLeaveTheTree(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.submitter(tenancy.Scope{})
	outside, root := w.Job("outside", priority(10)), w.Job("root", priority(2))
	held := w.take(ada, root)
	made := w.file(ada, held, dependsOn(outside.Key, held.Key))
	if made.Status != jobs.Waiting || made.Priority != 2 {
		t.Errorf("it is %s with priority %d", made.Status, made.Priority)
	}
	if _, err := w.Jobs.LinkParent(w.Ctx, w.Owner, made.Key, outside.Key, false); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE id = $1 AND root_id = $2 AND depth = 1`, made.ID, root.ID); n != 1 {
		t.Error("a parent outside of the tree is its root now")
	}
	w.Consistent()
}
