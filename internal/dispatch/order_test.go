package dispatch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// refused asserts a refusal of that kind.
func refused(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: %v; want %s", what, err, code)
	}
}

// All answers that give a merge job give its order: that to a repeated request, and that to
// the end of another job. Other jobs have none.
func TestEachAnswerThatGivesAMergeJobHasItsOrder(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	w.approved()
	smith := w.Agent("smith", hasAtlas)
	w.Job("other", inRepo("atlas"))
	other, err := w.Dispatch.Claim(w.Ctx, smith, claim.Request{})
	if err != nil || len(other.Jobs) != 1 || len(other.Orders) != 0 {
		t.Fatalf("the other job came with %v: %v", other.Orders, err)
	}
	w.mergeCycle(1)
	next := report.Completion{Next: &lease.Next{RequestID: "next"}}
	done, err := w.Dispatch.Complete(w.Ctx, smith, ref(other.Jobs[0]), next)
	if err != nil || done.Next == nil || len(done.Next.Jobs) != 1 {
		t.Fatalf("the end gave %+v: %v", done.Next, err)
	}
	again, err := w.Dispatch.Claim(w.Ctx, smith, claim.Request{RequestID: "next"})
	if err != nil || len(again.Jobs) != 1 {
		t.Fatalf("the repeated request gave %d jobs: %v", len(again.Jobs), err)
	}
	for _, got := range []lease.Claimed{*done.Next, again} {
		if o := got.Orders[got.Jobs[0].ID].Merge; o == nil || o.Commit != "abc" || o.Job != "FB-1" {
			t.Errorf("%s came with the order %+v", got.Jobs[0].Key, o)
		}
	}
}

// An order is what was approved: what the product says later is for later merges.
func TestLaterSettingsDoNotChangeAnOrder(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	w.approved()
	w.mergeCycle(1)
	w.Product(jobs.DefaultProduct, jobs.ProductSettings{Merge: jobs.Merge{By: jobs.MergeByWorker, Into: "evil", Checks: "id",
		Method: jobs.MergeFastForward}})
	if _, order := w.order(w.Agent("smith", hasAtlas)); order.Into != "trunk" || order.Checks != "make test" || order.Method != jobs.MergeCommit {
		t.Errorf("the order is %+v", order)
	}
}

// What is not approved any more, or as another commit, is given to nobody, however soon it is
// claimed; what is approved now gets a merge of its own.
func TestOnlyWhatIsApprovedNowIsOrdered(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	j = w.Act(j, jobs.ByMergeFail)
	author := w.Agent("author", hasAtlas)
	w.Act(j, jobs.ByReject)
	got, err := w.Dispatch.Claim(w.Ctx, author, claim.Request{Job: j.Key})
	if err != nil {
		t.Fatal(err)
	}
	handed := report.Completion{Commit: "bcd", Branch: "fleet/FB-1-e2"}
	if _, err := w.Dispatch.Complete(w.Ctx, author, ref(got.Jobs[0]), handed); err != nil {
		t.Fatal(err)
	}
	w.Act(w.Get(j), jobs.ByApprove)
	smith := w.Agent("smith", hasAtlas)
	w.Nothing(smith, claim.ReasonEmpty)
	old, err := w.Jobs.Get(w.Ctx, w.Owner, "FB-2")
	if err != nil || old.Status != jobs.Failed {
		t.Fatalf("the old merge is %s, %v", old.Status, err)
	}
	w.mergeCycle(2) // the old one is closed, and leaves the job alone
	w.Want(j, jobs.Approved)
	if _, order := w.order(smith); order.Commit != "bcd" || order.Branch != "fleet/FB-1-e2" {
		t.Errorf("the order is %+v", order)
	}
	w.Consistent()
}

// A merge whose work was approved as another commit meanwhile is stopped while it runs, and
// its report decides nothing.
func TestAMergeOfAnotherCommitDecidesNothing(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	smith := w.Agent("smith", hasAtlas)
	m, _ := w.order(smith)
	dbfactory.Exec(t, w.DB, `UPDATE job SET approved_head = 'bcd' WHERE id = $1`, j.ID)
	w.mergeCycle(1) // it is directed to stop
	w.mergeCycle(0)
	if _, err := w.Dispatch.Complete(w.Ctx, smith, ref(m), report.Completion{Result: []byte(`{"merged_commit": "def"}`)}); err != nil {
		refused(t, "a cancelled merge", err, fault.Cancelled)
	} else {
		w.mergeCycle(2)
	}
	if now := w.Want(j, jobs.Approved); now.MergedCommit != "" {
		t.Errorf("it was merged as %s", now.MergedCommit)
	}
}

// reservedKinds are names that the system's kinds go by.
var reservedKinds = []string{"merge", "verify", "Merge", "MERGE", "vErIfY"}

// The system alone makes jobs of its kinds, whoever requests them and however.
func TestNobodyElseMakesJobsOfTheSystem(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	said := json.RawMessage(`{"merge":{"commit":"abc","into":"main","checks":"id"}}`)
	w.Job("origin")
	filer := w.Agent("filer")
	filer.MaySubmit = true
	held := w.Claim(filer)
	member := dbfactory.Person(w.Workspace, tenancy.RoleMember)
	for _, kind := range reservedKinds {
		n := jobs.New{Spec: jobs.Spec{Title: "x", Repo: "atlas"}, Kind: kind, InputContext: said}
		for _, who := range []tenancy.Principal{w.Owner, member, tenancy.System(w.Workspace, "recipes")} {
			_, err := w.Jobs.Create(w.Ctx, who, nil, n)
			refused(t, kind+" by "+who.Name, err, fault.Validation)
			_, err = w.Jobs.Create(w.Ctx, who, w.Jobs.Key("k", []byte("d")), jobs.New{Spec: jobs.Spec{Title: "y"}}, n)
			if f := fault.From(err); f.Code != fault.Validation || f.Fields["jobs[1].kind"] == "" {
				t.Errorf("a batch of %s by %s: %v %v", kind, who.Name, err, f.Fields)
			}
		}
		_, err := w.Dispatch.Submit(w.Ctx, filer, nil, ref(held), n)
		refused(t, kind+" by an agent", err, fault.Validation)
	}
}

// Nobody changes what a merge job does, has it done again, or says by hand that it is done.
func TestAMergeJobIsNotForPeopleToChange(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	w.mergeCycle(1)
	m, err := w.Jobs.Get(w.Ctx, w.Owner, "FB-2")
	if err != nil {
		t.Fatal(err)
	}
	yes, many, text := true, 9, "vault"
	for field, p := range map[string]jobs.Patch{"repo": {Spec: jobs.Spec{Repo: text}, Set: []string{"repo"}},
		"title": {Spec: jobs.Spec{Title: text}, Set: []string{"title"}}, "body": {Spec: jobs.Spec{Body: text}, Set: []string{"body"}},
		"capabilities": {Spec: jobs.Spec{Capabilities: []string{"os:linux"}}, Set: []string{"capabilities"}},
		"factory":      {Spec: jobs.Spec{Factory: text}, Set: []string{"factory"}}, "review_required": {Spec: jobs.Spec{ReviewOverride: &yes}, Set: []string{"review_required"}},
		"max_retries": {Spec: jobs.Spec{MaxRetries: many}, Set: []string{"max_retries"}},
		"files":       {Spec: jobs.Spec{Files: []string{"a"}}, Set: []string{"files"}}, "acceptance": {Spec: jobs.Spec{Acceptance: []string{"a"}}, Set: []string{"acceptance"}}} {
		p.Version = m.Version
		_, err := w.Jobs.Patch(w.Ctx, w.Owner, m.Key, p)
		if f := fault.From(err); f.Code != fault.Validation || f.Fields[field] == "" {
			t.Errorf("an edit of its %s: %v %v", field, err, f.Fields)
		}
	}
	urgent, err := w.Jobs.Patch(w.Ctx, w.Owner, m.Key, jobs.Patch{Version: m.Version, Spec: jobs.Spec{Priority: many},
		Set: []string{"priority"}})
	if err != nil || urgent.Priority != many {
		t.Errorf("its priority is %d: %v", urgent.Priority, err)
	}
	act := func(a actions.Action) error { _, err := w.Dispatch.Act(w.Ctx, w.Owner, m.Key, a); return err }
	refused(t, "done by hand", act(actions.Action{Verb: jobs.ByFinish, Reason: "done", Result: []byte(`{"merged_commit": "bad"}`)}), fault.InvalidTransition)
	other := w.Agent("other", hasAtlas)
	_, err = w.Dispatch.Complete(w.Ctx, other, lease.Ref{Job: m.Key, Epoch: 1}, report.Completion{Result: []byte(`{"merged_commit": "bad"}`)})
	if err == nil {
		t.Error("an agent that does not hold it completed it")
	}
	smith := w.Agent("smith", hasAtlas)
	held := w.Claim(smith)
	if _, err := w.Dispatch.Complete(w.Ctx, smith, ref(held), report.Completion{Result: []byte(`{"merged_commit": "def"}`)}); err != nil {
		t.Fatal(err)
	}
	w.mergeCycle(1)
	w.Want(j, jobs.Completed)
	refused(t, "a retry", act(actions.Action{Verb: jobs.ByRetry}), fault.InvalidTransition)
	refused(t, "a retry with changes", act(actions.Action{Verb: jobs.ByRetry, Edit: &jobs.Patch{Version: w.Get(m).Version,
		Spec: jobs.Spec{Repo: text}, Set: []string{"repo"}}}), fault.Validation)
}

// A job of kind merge that somebody made before only the system could is given to nobody.
func TestAForgedJobOfBeforeIsGivenToNobody(t *testing.T) {
	w := newTestWorkspace(t)
	forged := w.Job("Merge FB-9: x", inRepo("atlas"), func(n *jobs.New) {
		n.InputContext = json.RawMessage(`{"merge":{"commit":"abc","into":"main","checks":"id"}}`)
	})
	dbfactory.Exec(t, w.DB, `UPDATE job SET kind = 'merge' WHERE id = $1`, forged.ID)
	w.Job("honest", inRepo("atlas"), priority(1))
	if got := w.Claim(w.Agent("smith", hasAtlas)); got.Title != "honest" {
		t.Errorf("%s was given", got.Title)
	}
	if now := w.Want(forged, jobs.Failed); !strings.Contains(now.LastError, "orders") {
		t.Errorf("it says %q", now.LastError)
	}
	w.Consistent()
}

// A job that somebody made under the key that merges had keeps no work from being merged, nor
// does a merge that was deleted.
func TestNoKeyHoldsAMergeUp(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approved()
	for n := range 3 {
		w.Job("squat", func(x *jobs.New) { x.IdempotencyKey = fmt.Sprintf("merge %s %d", j.ID, n) })
	}
	smith := w.Agent("smith", hasAtlas)
	var all []ids.ID
	for range 3 {
		w.mergeCycle(1)
		got, err := w.Dispatch.Claim(w.Ctx, smith, claim.Request{Max: 10})
		if err != nil || len(got.Orders) != 1 {
			t.Fatalf("the claim gave the orders %v: %v", got.Orders, err)
		}
		for _, m := range got.Jobs {
			if got.Orders[m.ID].Merge == nil {
				continue
			}
			all = append(all, m.ID)
			if _, err := w.Dispatch.Fail(w.Ctx, smith, ref(m), report.Failure{Kind: "merge_conflict", Error: "no"}); err != nil {
				t.Fatal(err)
			}
		}
		w.mergeCycle(1)
		w.Act(w.Want(j, jobs.InReview), jobs.ByApprove)
		if err := w.Jobs.Purge(w.Ctx, w.Owner, all[0].String()); len(all) == 1 && err != nil {
			t.Fatal(err)
		}
	}
	w.mergeCycle(1)
	w.mergeCycle(0)
}
