package dispatch_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/verifying"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// verified has the work of the default product verified by agents.
func (w *testWorkspace) verified(rule distinct.Rule, change ...func(*jobs.ProductSettings)) {
	w.T.Helper()
	in := jobs.ProductSettings{Repos: []string{"atlas"}, ReviewRequired: true,
		Verify: jobs.Verify{Mode: jobs.VerifyByAgent, Distinct: rule}}
	for _, c := range change {
		c(&in)
	}
	w.Product(jobs.DefaultProduct, in)
}

// runs is an agent with the repo of the work that says its model.
func runs(model string) func(*fleet.Registration) {
	return func(r *fleet.Registration) { hasAtlas(r); r.Model = model }
}

// handIn has an agent claim and start the next job, and hand it in as a commit.
func (w *testWorkspace) handIn(agent tenancy.Principal, commit string) jobs.Job {
	w.T.Helper()
	j := w.Claim(agent)
	w.start(agent, j)
	done, err := w.Dispatch.Complete(w.Ctx, agent, ref(j), report.Completion{Commit: commit, Branch: "fleet/" + j.Key})
	if err != nil {
		w.T.Fatal(err)
	}
	return done.Job
}

func (w *testWorkspace) start(agent tenancy.Principal, j jobs.Job) {
	w.T.Helper()
	if _, err := w.Dispatch.Start(w.Ctx, agent, ref(j), nil); err != nil {
		w.T.Fatal(err)
	}
}

// endVerifications is one cycle of the coordinator, which must do so much.
func (w *testWorkspace) endVerifications(want int) {
	w.T.Helper()
	if n, err := verifying.New(w.DB, w.Dispatch).EndVerifications(w.Ctx); n != want || err != nil {
		w.T.Fatalf("a cycle did %d, want %d: %v", n, want, err)
	}
}

// noneFor checks that a claim gives an agent nothing.
func (w *testWorkspace) noneFor(agent tenancy.Principal) {
	w.T.Helper()
	if got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 10}); err != nil || len(got.Jobs) > 0 {
		w.T.Fatalf("%s got %d jobs: %v", agent.Name, len(got.Jobs), err)
	}
}

// verifyJob returns the one that is the newest.
func (w *testWorkspace) verifyJob() jobs.Job {
	w.T.Helper()
	return w.Get(jobs.Job{Key: dbfactory.Text(w.T, w.DB, `SELECT key FROM job WHERE kind = 'verify' ORDER BY created_at DESC LIMIT 1`)})
}

func TestWorkThatIsHandedInIsVerifiedByAnother(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent, func(p *jobs.ProductSettings) { p.Verify.Capabilities = []string{"has:browser"} })
	w.Job("work", inRepo("atlas"), priority(9), func(n *jobs.New) {
		n.Acceptance, n.Body, n.Phase = []string{"It works.", "It is fast."}, "Do it.", "m1"
	})
	ada, bob := w.Agent("ada", hasAtlas, canBrowse), w.Agent("bob", hasAtlas, canBrowse)
	unable := w.Agent("unable", hasAtlas)
	work := w.handIn(ada, "abc1234")
	if work.Status != jobs.InReview {
		t.Fatalf("the work is %s", work.Status)
	}
	v := w.verifyJob()
	if v.Status != jobs.Ready || v.Title != "Verify FB-1: work" || v.Priority != 9 || v.Phase != "m1" || v.ReviewRequired || v.Repo != "atlas" ||
		!slices.Equal(v.Capabilities, []string{"!agent:ada", "has:browser"}) {
		t.Errorf("the verify job is %+v", v)
	}
	if here, there := w.transactionOf(work, "job.handed_in"), w.transactionOf(v, "job.created"); here != there {
		t.Errorf("it was handed in by transaction %s, and the verify job made by %s", here, there)
	}
	w.noneFor(ada)
	w.noneFor(unable)
	if _, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{Job: v.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("its author names it: %v", err)
	}
	got, err := w.Dispatch.Claim(w.Ctx, bob, claim.Request{})
	if err != nil || len(got.Jobs) != 1 {
		t.Fatal(got.Reason, err)
	}
	want := lease.VerifyOrder{Job: "FB-1", Title: "work", Body: "Do it.", Attempt: 1, Commit: "abc1234", Branch: "fleet/FB-1",
		Acceptance: []string{"It works.", "It is fast."}}
	if order := got.Orders[got.Jobs[0].ID].Verify; !reflect.DeepEqual(order, &want) {
		t.Errorf("the order is %+v", order)
	}
	w.endVerifications(0)
	w.Consistent()
}

func canBrowse(r *fleet.Registration) { r.Capabilities = []string{"has:browser"} }

// Work that names no commit, that no person decides about, or that is of another product goes on as before.
func TestWhatIsNotVerified(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	w.Product("other", jobs.ProductSettings{ReviewRequired: true})
	ada := w.Agent("ada", hasAtlas)
	w.Job("no commit", inRepo("atlas"))
	w.handIn(ada, "")
	no := false
	w.Job("no review", inRepo("atlas"), func(n *jobs.New) { n.ReviewOverride = &no })
	w.handIn(ada, "abc")
	w.Job("elsewhere", inProduct("other"))
	w.handIn(ada, "abc")
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job WHERE kind = 'verify'`); n != 0 {
		t.Errorf("%d verify jobs", n)
	}
}

// Everybody who began to work on the job wrote of it, also under a lease that was lost.
func TestEarlierHoldersAreAuthors(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob, eve := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas), w.Agent("eve", hasAtlas)
	w.Job("work", inRepo("atlas"))
	for _, begins := range []bool{true, false} {
		agent := map[bool]tenancy.Principal{true: ada, false: eve}[begins]
		j := w.Claim(agent)
		if begins {
			w.start(agent, j)
		}
		if _, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{Reason: "later"}); err != nil {
			t.Fatal(err)
		}
	}
	w.handIn(bob, "abc")
	w.noneFor(ada)
	w.noneFor(bob)
	w.Claim(eve)
}

func TestVerifiersAreDistinctByModelOrProvider(t *testing.T) {
	for rule, want := range map[distinct.Rule]string{distinct.ByModel: "sonnet gpt", distinct.ByProvider: "gpt"} {
		t.Run(string(rule), func(t *testing.T) {
			w := newTestWorkspace(t)
			w.verified(rule)
			ada := w.Agent("ada", runs("claude-opus-4"))
			others := map[string]tenancy.Principal{"same": w.Agent("same", runs("Claude-Opus-4")), "dated": w.Agent("dated", runs("claude-opus-4-20260101")),
				"silent": w.Agent("silent", hasAtlas), "sonnet": w.Agent("sonnet", runs("claude-sonnet-4")), "gpt": w.Agent("gpt", runs("gpt-7"))}
			for name, agent := range others {
				w.Job("work "+name, inRepo("atlas"))
				work := w.handIn(ada, "abc-"+name)
				got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 1})
				if may := strings.Contains(want, name); err != nil || (len(got.Jobs) == 1) != may {
					t.Errorf("%s got %d jobs, %v", name, len(got.Jobs), err)
				}
				w.Act(work, jobs.ByApprove)
				w.endVerifications(1)
				if len(got.Jobs) == 1 {
					if _, err := w.Dispatch.Release(w.Ctx, agent, ref(got.Jobs[0]), report.Release{}); err != nil {
						t.Fatal(err)
					}
				}
				w.endVerifications(1)
			}
		})
	}
}

// The models that usage names count as those of the authors, and a model that nobody knows is anybody's.
func TestModelsOfUsageAreAuthors(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByModel)
	ada, opus, haiku := w.Agent("ada", hasAtlas), w.Agent("opus", runs("claude-opus-4")), w.Agent("haiku", runs("claude-haiku-4"))
	w.Job("work", inRepo("atlas"))
	j := w.Claim(ada)
	if _, err := w.Dispatch.RecordUsage(w.Ctx, ada, []report.UsageLine{{Lease: ref(j), Entry: spend.Entry{ID: "1", Provider: "anthropic",
		Model: "claude-opus-4", Input: 1, At: j.Lease.ClaimedAt}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dispatch.Complete(w.Ctx, ada, ref(j), report.Completion{Commit: "abc"}); err != nil {
		t.Fatal(err)
	}
	w.noneFor(opus)
	w.Claim(haiku)
	w.Job("of an unknown model", inRepo("atlas"))
	w.handIn(ada, "def")
	w.noneFor(haiku)
	w.noneFor(opus)
}

// A verification ends with the decision about its work, whoever works on it; new work is verified anew.
func TestAVerificationEndsWithTheDecision(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
	w.Job("work", inRepo("atlas"))
	work := w.handIn(ada, "abc")
	first := w.verifyJob()
	w.Claim(bob)
	w.Act(work, jobs.ByReject)
	w.endVerifications(1)
	if held := w.Get(first); held.Lease == nil || held.Lease.Directive != "cancel" {
		t.Fatalf("its holder was told %+v", held.Lease)
	}
	w.endVerifications(0)
	again := w.handIn(ada, "def")
	second := w.verifyJob()
	if second.Key == first.Key || second.Status != jobs.Ready {
		t.Fatalf("the new work has %s, %s", second.Key, second.Status)
	}
	w.Act(again, jobs.ByCancel)
	w.endVerifications(1)
	if j := w.Get(second); j.Status != jobs.Aborted || !strings.Contains(j.LastError, "FB-1") {
		t.Errorf("of cancelled work: %s, %s", j.Status, j.LastError)
	}
	if _, err := w.Dispatch.Release(w.Ctx, bob, ref(w.Get(first)), report.Release{}); err != nil {
		t.Fatal(err)
	}
	w.endVerifications(2) // both have ended
	w.endVerifications(0)
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_verify WHERE decided_at IS NULL`); n != 0 {
		t.Errorf("%d verifications are open", n)
	}
	w.Consistent()
}

// A verify job whose work was decided about a moment ago is given to nobody.
func TestNothingOrdersAVerificationOfDecidedWork(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
	w.Job("work", inRepo("atlas"))
	w.Act(w.handIn(ada, "abc"), jobs.ByApprove)
	w.noneFor(bob)
	if v := w.verifyJob(); v.Status != jobs.Failed {
		t.Errorf("it is %s", v.Status)
	}
	w.endVerifications(1)
}

// A verify job only reads: it waits for no repo and takes none, and a full review queue holds it not.
func TestAVerificationTakesNoRepoAndNoPlaceInReview(t *testing.T) {
	for _, how := range []jobs.Serialise{jobs.SerialiseRepo, jobs.SerialisePaths} {
		t.Run(string(how), func(t *testing.T) {
			w := newTestWorkspace(t)
			one := 2
			w.verified(distinct.ByAgent, func(p *jobs.ProductSettings) { p.Serialise, p.ReviewLimit = how, &one })
			ada, bob := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas)
			w.Job("first", inRepo("atlas"))
			w.Job("second", inRepo("atlas"))
			w.Job("third", inRepo("atlas"))
			w.handIn(ada, "abc")
			j := w.Claim(ada) // the second holds the repo
			v := w.Claim(bob)
			if v.Kind != jobs.KindVerify {
				t.Fatalf("bob got %+v", v)
			}
			if n, err := w.Jobs.DemoteExcess(w.Ctx, w.Workspace); n != 0 || err != nil {
				t.Errorf("%d were put to waiting, %v", n, err)
			}
			if _, err := w.Dispatch.Complete(w.Ctx, ada, ref(j), report.Completion{Commit: "def"}); err != nil {
				t.Fatal(err)
			}
			if third := w.Get(jobs.Job{Key: "FB-3"}); third.Status == jobs.Ready {
				w.noneFor(ada) // the review queue is full
			}
			if v := w.Claim(bob); v.Kind != jobs.KindVerify {
				t.Errorf("with a full review queue bob got %s", v.Key)
			}
			w.Consistent()
		})
	}
}

// A verify job whose lease is lost comes back, and its usage is the verified job's as its verification.
func TestALostVerificationComesBackAndIsBookedOnTheWork(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada, bob, eve := w.Agent("ada", hasAtlas), w.Agent("bob", hasAtlas), w.Agent("eve", hasAtlas)
	w.Job("work", inRepo("atlas"))
	work := w.handIn(ada, "abc")
	cost := "1.25"
	v := w.Claim(bob)
	w.start(bob, v)
	if _, err := w.Dispatch.RecordUsage(w.Ctx, bob, []report.UsageLine{{Lease: ref(v), Entry: spend.Entry{ID: "1", Provider: "p", Model: "m", Input: 5,
		CostUSD: &cost, At: v.Lease.ClaimedAt}}}); err != nil {
		t.Fatal(err)
	}
	w.Expire(v)
	if n, err := w.Dispatch.Reap(w.Ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = now() WHERE id = $1`, v.ID)
	if _, err := w.Dispatch.Promote(w.Ctx); err != nil {
		t.Fatal(err)
	}
	w.noneFor(ada)
	if again := w.Claim(eve); again.ID != v.ID || again.Epoch != 2 {
		t.Errorf("eve got %s in epoch %d", again.Key, again.Epoch)
	}
	used, err := w.Dispatch.Usage(w.Ctx, w.Owner, work.ID)
	if err != nil || used.Total.Entries != 0 || !used.Verified || used.Verify.Fixed() != "1.250000000" {
		t.Errorf("the work has used %+v, %v", used, err)
	}
}

// The seat that the hand-in frees is not filled with the verification of that work.
func TestTheFreedSeatGetsNoVerificationOfItsOwnWork(t *testing.T) {
	w := newTestWorkspace(t)
	w.verified(distinct.ByAgent)
	ada := w.Agent("ada", hasAtlas)
	w.Job("work", inRepo("atlas"))
	done, err := w.Dispatch.Complete(w.Ctx, ada, ref(w.Claim(ada)), report.Completion{Commit: "abc", Next: &lease.Next{Max: 5}})
	if err != nil || done.Next == nil || len(done.Next.Jobs) != 0 {
		t.Fatalf("the seat got %+v, %v", done.Next, err)
	}
}
