package claim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// inMode switches the workspace to a mode.
func (w *testWorkspace) inMode(mode setting.Mode) {
	w.T.Helper()
	w.set(setting.Change{Mode: &mode})
}

// decisions reads those about a job, the newest first.
func (w *testWorkspace) decisions(j jobs.Job) []decision.Decision {
	w.T.Helper()
	list, err := decision.NewService(w.DB).Decisions(w.Ctx, w.Owner, j.Key)
	if err != nil {
		w.T.Fatal(err)
	}
	return list
}

// at puts an agent into a factory with so many seats and these capabilities.
func at(factory string, seats int, capabilities ...string) func(*fleet.Registration) {
	return func(r *fleet.Registration) {
		r.Factory.Name, r.Factory.Seats, r.Factory.Capabilities, r.MaxConcurrentJobs = factory, seats, capabilities, seats
	}
}

func TestPullKeepsNoDecision(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	w.Job("two")
	w.Claim(agent)
	w.inMode(setting.Shadow)
	w.inMode(setting.Pull)
	w.Claim(agent)
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM dispatch_decision`); n != 0 {
		t.Errorf("%d decisions", n)
	}
}

func TestShadowKeepsWhichFactorySuitsBest(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Shadow)
	rare := w.Agent("rare", at("mac-rare", 4, "gpu"))
	w.Agent("common", at("mac-common", 4))
	w.Agent("full", at("mac-full", 1))
	w.Agent("drained", at("mac-drained", 1))
	if _, err := w.Fleet.SetDraining(w.Ctx, w.Owner, "mac-drained", true); err != nil {
		t.Fatal(err)
	}
	w.Job("common work", dispatchtest.InRepo("ledger-api"))

	made := w.Claim(rare)
	list := w.decisions(made)
	if len(list) != 1 {
		t.Fatalf("%d decisions", len(list))
	}
	d := list[0]
	if d.Epoch != 1 || d.Mode != "shadow" || d.By != decision.ByPull || d.Chosen != "mac-rare" || d.Best != "mac-common" ||
		d.Class != decision.Real || d.At.Before(d.Snapshot) {
		t.Errorf("decided %+v", d)
	}
	if want := "mac-common suits it better than mac-rare"; len(d.Why) < len(want) || d.Why[:len(want)] != want {
		t.Errorf("why: %s", d.Why)
	}
	if len(d.Candidates) != 4 || d.Candidates[0].Factory != "mac-common" || d.Candidates[3].Factory != "mac-drained" ||
		d.Candidates[3].Eligible || d.Candidates[3].Missing[0] != "draining" {
		t.Errorf("candidates %+v", d.Candidates)
	}
	w.Consistent()

	stranger := dbfactory.Person(dbfactory.Workspace(t, w.DB), tenancy.RoleOwner)
	if _, err := decision.NewService(w.DB).Decisions(w.Ctx, stranger, made.Key); !fault.Is(err, fault.NotFound) {
		t.Errorf("another workspace reads the decisions: %v", err)
	}
}

// A person who binds a job to a factory decides, and each attempt has a decision of its own.
func TestShadowOfABoundJobAndOfItsNextAttempt(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Shadow)
	one := w.Agent("one", at("mac-1", 4))
	two := w.Agent("two", at("mac-2", 4))
	bound := w.Job("bound", func(n *jobs.New) { n.Factory = "mac-1" })
	w.Claim(one)
	if d := w.decisions(bound)[0]; d.By != decision.ByPerson || d.Class != decision.Same || d.Best != "mac-1" {
		t.Errorf("decided %+v", d)
	}
	again := w.Job("again", dispatchtest.Retries(3, 0))
	first := w.Claim(one)
	if first.Key != again.Key {
		t.Fatalf("claimed %s", first.Key)
	}
	if _, err := w.Dispatch.Fail(w.Ctx, one, ref(first), report.Failure{Error: "no", Retryable: true}); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job SET not_before = clock_timestamp()`)
	if _, err := w.Dispatch.Promote(w.Ctx); err != nil {
		t.Fatal(err)
	}
	w.Claim(one)
	list := w.decisions(again)
	if len(list) != 2 || list[0].Epoch != 2 || list[0].Class != decision.Real || list[0].Best != "mac-2" ||
		!strings.Contains(list[0].Why, "anti affinity 0.00 against -0.75") {
		t.Errorf("decisions %+v", list)
	}
	w.Nothing(two, claim.ReasonEmpty)
}

// A fleet of 12 factories with capabilities, seats, repositories and products of their own takes 2,000
// jobs. No best factory is one to which a claim would not have given the job, and each real difference
// is explained.
func TestTwoThousandDecisionsInShadow(t *testing.T) {
	const total = 2000
	w := newTestWorkspace(t)
	w.inMode(setting.Shadow)
	draw := rand.New(rand.NewPCG(36, 1))
	able := []string{"gpu", "docker", "browser"}
	var agents []tenancy.Principal
	for i := range 12 {
		for range 1 + draw.IntN(2) {
			agents = append(agents, w.Agent(fmt.Sprintf("agent-%d", len(agents)), at(fmt.Sprintf("mac-%d", i), 2+draw.IntN(6),
				able[:draw.IntN(len(able)+1)]...), func(r *fleet.Registration) {
				r.Model = []string{"", "haiku", "opus"}[draw.IntN(3)]
				r.Factory.Repos = []fleet.Repo{{Name: "ledger-api"}, {Name: "web"}}[:1+i%2]
			}))
		}
	}
	held := map[int][]jobs.Job{}
	decided := 0
	for decided < total {
		var list []jobs.New
		for range 60 {
			n := jobs.New{Spec: jobs.Spec{Title: "job", Repo: []string{"", "ledger-api", "web"}[draw.IntN(3)],
				Capabilities: able[:draw.IntN(len(able))], Tier: jobs.Tiers[draw.IntN(3)]}}
			n.MaxRetries = new(int)
			list = append(list, n)
		}
		if _, err := w.Jobs.Create(w.Ctx, w.Owner, nil, list...); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			i := draw.IntN(len(agents))
			got, err := w.Dispatch.Claim(w.Ctx, agents[i], claim.Request{Max: 1 + draw.IntN(3)})
			if err != nil {
				t.Fatal(err)
			}
			held[i] = append(held[i], got.Jobs...)
			decided += len(got.Jobs)
		}
		var ends errgroup.Group
		for i, list := range held {
			for _, j := range list {
				fails := draw.IntN(10) == 0
				ends.Go(func() (err error) {
					if fails {
						_, err = w.Dispatch.Fail(w.Ctx, agents[i], ref(j), report.Failure{Error: "no"})
					} else {
						_, err = w.Dispatch.Complete(w.Ctx, agents[i], ref(j), report.Completion{})
					}
					return err
				})
			}
			delete(held, i)
		}
		if err := ends.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	w.wantExplained(decided)
	w.Consistent()
}

// wantExplained asserts that so many decisions were made, none for a factory that could not have taken
// its job, and that each real difference says why.
func (w *testWorkspace) wantExplained(decided int) {
	t := w.T
	t.Helper()
	d, err := decision.NewService(w.DB).Divergence(w.Ctx, w.Owner, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d decisions: %v", d.Decisions, d.Classes)
	if d.Decisions != decided || d.Classes[decision.Infeasible] != 0 || d.Classes[decision.Stale] != 0 || d.Classes[decision.Real] == 0 ||
		d.Classes[decision.Same] == 0 {
		t.Errorf("%d decisions of %d: %v", d.Decisions, decided, d.Classes)
	}
	unexplained := dbfactory.Int(t, w.DB, `SELECT count(*) FROM dispatch_decision WHERE class = 'real'
		AND why !~ '^mac-[0-9]+ suits it better than mac-[0-9]+ \([-0-9.]+ against [-0-9.]+\): .+ against .+\.$'`)
	if unexplained != 0 {
		t.Errorf("%d real differences are not explained", unexplained)
	}
	for _, e := range d.Examples {
		if e.Job == "" || e.Why == "" || e.Pulled == e.Scored {
			t.Errorf("example %+v", e)
		}
	}
}

// Decisions go after a week, a bounded number with each call.
func TestOldDecisionsGo(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Shadow)
	agent := w.Agent("claude-1")
	old, young := w.Job("old"), w.Job("young")
	w.Claim(agent)
	w.Claim(agent)
	dbfactory.Exec(t, w.DB, `UPDATE dispatch_decision SET at = at - interval '8 days' WHERE job_id = $1`, old.ID)
	if n, err := w.Dispatch.ExpireDecisions(w.Ctx); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if len(w.decisions(old)) != 0 || len(w.decisions(young)) != 1 {
		t.Errorf("left %v and %v", w.decisions(old), w.decisions(young))
	}
}

// Of a factory with many agents the one that asks is compared, however much else they lack.
func TestShadowLooksAtTheAgentThatAsks(t *testing.T) {
	w := newTestWorkspace(t)
	w.inMode(setting.Shadow)
	for i := range 20 {
		w.Agent(fmt.Sprintf("plain-%d", i), at("mac-1", 40))
	}
	needs := make([]string, jobs.MaxCapabilities)
	for i := range needs {
		needs[i] = fmt.Sprintf("has:%s-%d", strings.Repeat("x", 50), i)
	}
	able := w.Agent("able", at("mac-1", 40), func(r *fleet.Registration) { r.Capabilities = needs })
	j := w.Job("wants much", func(n *jobs.New) { n.Capabilities = needs })
	w.Claim(able)
	if d := w.decisions(j)[0]; d.Class != decision.Same || d.Best != "mac-1" {
		t.Errorf("decided %+v", d)
	}
}
