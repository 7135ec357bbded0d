package dispatch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

func with(provider, model string) func(*fleet.Registration) {
	return func(r *fleet.Registration) { r.Provider, r.Model = provider, model }
}

func unpriced(u budgets.Unpriced) func(*budgets.Input) {
	return func(in *budgets.Input) { in.Unpriced = u }
}

func soft(in *budgets.Input) { in.Hard = false }

func inTokens(in *budgets.Input) {
	n := int64(1_000_000)
	in.Limits, in.Slice = budgets.Limits{Tokens: &n}, nil
}

func (w *testWorkspace) rates() *prices.Service { return prices.NewService(w.DB, w.Wake) }

// questions returns the models that a person is asked about.
func (w *testWorkspace) questions() (open []string) {
	w.T.Helper()
	list, err := w.rates().Models(w.Ctx, w.Owner)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, u := range list {
		if u.Decision == prices.Undecided {
			open = append(open, u.Name)
		}
	}
	return open
}

func (w *testWorkspace) decides(d prices.ModelDecision) {
	w.T.Helper()
	if _, err := w.rates().Decide(w.Ctx, w.Owner, d); err != nil {
		w.T.Fatal(err)
	}
}

func model(name string) prices.Model { return prices.Model{Provider: "house", Name: name} }

// A hard budget of dollars gives jobs to no model that it cannot count, asks a person once,
// and keeps the job for others.
func TestAModelWithoutAPriceWaits(t *testing.T) {
	w := newTestWorkspace(t)
	strange, other, known := w.Agent("strange", with("house", "House-7B")), w.Agent("other", with("", "house-7b")),
		w.Agent("known", with("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"))
	b := w.budget(1000)
	w.Nothing(strange, claim.ReasonEmpty)
	if asked := w.questions(); len(asked) != 0 {
		t.Errorf("with nothing to do it asks about %v", asked)
	}
	j := w.Job("build")
	for range 3 {
		w.Nothing(strange, claim.ReasonBudget)
		w.Nothing(other, claim.ReasonBudget)
	}
	if asked := w.questions(); !slices.Equal(asked, []string{"house-7b"}) || dbfactory.EventCount(t, w.DB, "price.asked") != 1 {
		t.Errorf("it asks about %v", asked)
	}
	_, err := w.Dispatch.Claim(w.Ctx, strange, claim.Request{Job: j.Key})
	if !fault.Is(err, fault.NotClaimable) {
		t.Errorf("a named job: %v", err)
	}
	w.stands(b, 0, 0, 0)
	w.Want(j, jobs.Ready)
	if got := w.Claim(known); got.ID != j.ID {
		t.Errorf("the model with a price got %s", got.Key)
	}
	w.Consistent()
}

// Each way out of it: a price, another model's, a pass, another rule of the budget.
func TestWhatLetsAModelWithoutAPriceGoOn(t *testing.T) {
	for name, out := range map[string]func(w *testWorkspace, b budgets.Budget){
		"a price": func(w *testWorkspace, _ budgets.Budget) {
			_, err := w.rates().Save(w.Ctx, w.Owner, prices.List{{Provider: "house", Model: "House-7b", From: time.Now().Add(-time.Hour),
				Rates: prices.Tokens{Input: 1_000_000}}})
			if err != nil {
				w.T.Fatal(err)
			}
		},
		"another model's": func(w *testWorkspace, _ budgets.Budget) {
			w.decides(prices.ModelDecision{Model: model("house-7b"), Decision: prices.Count, As: prices.Model{Provider: "anthropic", Name: "claude-haiku-4-5"}})
		},
		"a pass": func(w *testWorkspace, _ budgets.Budget) {
			w.decides(prices.ModelDecision{Model: model("house-7b"), Decision: prices.Pass})
		},
		"a pass in other letters, by no provider": func(w *testWorkspace, _ budgets.Budget) {
			w.decides(prices.ModelDecision{Model: prices.Model{Name: "HOUSE-7B "}, Decision: prices.Pass})
		},
		"allowed": func(w *testWorkspace, b budgets.Budget) {
			allow := budgets.AllowUnpriced
			if _, err := w.money().Change(w.Ctx, w.Owner, b.ID, budgets.Patch{Unpriced: &allow}); err != nil {
				w.T.Fatal(err)
			}
		},
		"soft": func(w *testWorkspace, b budgets.Budget) {
			no := false
			if _, err := w.money().Change(w.Ctx, w.Owner, b.ID, budgets.Patch{Hard: &no}); err != nil {
				w.T.Fatal(err)
			}
		},
		"removed": func(w *testWorkspace, b budgets.Budget) {
			if err := w.money().Remove(w.Ctx, w.Owner, b.ID); err != nil {
				w.T.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			<-w.Listening
			agent := w.Agent("strange", with("house", "house-7b"))
			b := w.budget(1000)
			j := w.Job("build")
			w.Nothing(agent, claim.ReasonBudget)
			got := make(chan claim.Result, 1)
			go func() {
				r, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: 50 * time.Second})
				if err != nil {
					t.Error(err)
				}
				got <- r
			}()
			w.Waits()
			out(w, b)
			if r := <-got; len(r.Jobs) != 1 || r.Jobs[0].ID != j.ID {
				t.Errorf("it got %+v", r)
			}
		})
	}
}

// Which budgets hold which jobs.
func TestOnlyHardBudgetsOfDollarsHoldModels(t *testing.T) {
	inProduct := func(in *budgets.Input) { in.Scope, in.Product = budgets.Product, "guarded" }
	inPhase := func(in *budgets.Input) { in.Scope, in.Phase = budgets.Milestone, "M1" }
	inBoth := func(in *budgets.Input) { in.Scope, in.Phase, in.Product = budgets.Milestone, "M1", "guarded" }
	phase := func(n *jobs.New) { n.Phase = "M1" }
	for name, c := range map[string]struct {
		budget []func(*budgets.Input)
		job    []func(*jobs.New)
		model  string
		held   bool
		asks   bool
	}{
		"of the workspace":              {nil, nil, "house-7b", true, true},
		"that holds":                    {[]func(*budgets.Input){unpriced(budgets.HoldUnpriced)}, nil, "house-7b", true, false},
		"that allows":                   {[]func(*budgets.Input){unpriced(budgets.AllowUnpriced)}, nil, "house-7b", false, false},
		"that is soft":                  {[]func(*budgets.Input){soft}, nil, "house-7b", false, false},
		"of tokens":                     {[]func(*budgets.Input){inTokens}, nil, "house-7b", false, false},
		"of its product":                {[]func(*budgets.Input){inProduct}, []func(*jobs.New){dispatchtest.InProduct("guarded")}, "house-7b", true, true},
		"of another product":            {[]func(*budgets.Input){inProduct}, nil, "house-7b", false, false},
		"of its phase":                  {[]func(*budgets.Input){inPhase}, []func(*jobs.New){phase}, "house-7b", true, true},
		"of another phase":              {[]func(*budgets.Input){inPhase}, nil, "house-7b", false, false},
		"of its phase in its product":   {[]func(*budgets.Input){inBoth}, []func(*jobs.New){phase, dispatchtest.InProduct("guarded")}, "house-7b", true, true},
		"of its phase in another":       {[]func(*budgets.Input){inBoth}, []func(*jobs.New){phase}, "house-7b", false, false},
		"for an agent that names none":  {nil, nil, "", false, false},
		"for a fine-tune":               {nil, nil, "ft:gpt-4o:org", true, true},
		"for a free variant":            {nil, nil, "anthropic/claude-sonnet-4.5:free", true, true},
		"for an alias":                  {nil, nil, "sonnet", false, false},
		"for another cloud's name":      {nil, nil, "publishers/anthropic/models/claude-sonnet-4-5@20250929", false, false},
		"for another model of the kind": {nil, nil, "gpt-5.2-pro", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.Product("guarded", jobs.ProductSettings{})
			agent := w.Agent("strange", with("", c.model))
			w.budget(1000, c.budget...)
			j := w.Job("build", c.job...)
			if !c.held {
				if got := w.Claim(agent); got.ID != j.ID {
					t.Errorf("it got %s", got.Key)
				}
				return
			}
			w.Nothing(agent, claim.ReasonBudget)
			if asked := len(w.questions()) == 1; asked != c.asks {
				t.Errorf("it asks: %t", asked)
			}
			w.Want(j, jobs.Ready)
			w.Consistent()
		})
	}
}

// A budget of one phase keeps nothing else of the same lane from the agent.
func TestABudgetOfAPhaseHoldsNoOtherJob(t *testing.T) {
	w := newTestWorkspace(t)
	agent, known := w.Agent("strange", with("house", "house-7b")), w.Agent("known", with("openai", "gpt-5"))
	w.budget(1000, func(in *budgets.Input) { in.Scope, in.Phase = budgets.Milestone, "M1" })
	first := w.Job("guarded", func(n *jobs.New) { n.Phase = "M1" }, dispatchtest.Priority(9))
	second := w.Job("free")
	if got := w.Claim(agent); got.ID != second.ID {
		t.Errorf("it got %s", got.Title)
	}
	w.Nothing(agent, claim.ReasonBudget)
	if got := w.Claim(known); got.ID != first.ID {
		t.Errorf("the other got %s", got.Title)
	}
	w.Consistent()
}

// Claims that are answered together get no job that is held from one of them.
func TestClaimsAtOnceKeepModelsApart(t *testing.T) {
	w := newTestWorkspace(t)
	w.budget(100_000, func(in *budgets.Input) { in.Scope, in.Phase = budgets.Milestone, "M1" })
	const guarded, free = 60, 20
	for range guarded {
		w.Job("guarded", func(n *jobs.New) { n.Phase = "M1" }, dispatchtest.Priority(9))
	}
	for range free {
		w.Job("free")
	}
	agents := w.Crew(20, func(r *fleet.Registration) {
		r.MaxConcurrentJobs, r.Factory.Seats = 10, 10
		if r.Agent[len(r.Agent)-1]%2 == 0 {
			r.Model = "house-7b"
		}
	})
	for range 6 {
		dispatchtest.AtOnce(agents, func(_ int, agent tenancy.Principal) {
			if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{}); err != nil {
				t.Error(err)
			}
		})
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_lease l JOIN agent a ON a.id = l.agent_id JOIN job j ON j.id = l.job_id
		WHERE a.model = 'house-7b' AND j.phase = 'M1'`); n > 0 {
		t.Errorf("%d jobs of the phase are with a model that has no price", n)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_lease l JOIN agent a ON a.id = l.agent_id WHERE a.model = 'house-7b'`); n == 0 {
		t.Error("the others got nothing")
	}
	w.Consistent()
}

// Usage that nobody can count raises the question too, where its job's budgets ask; what an
// agent says that it cost is counted.
func TestUsageWithoutAPriceAsks(t *testing.T) {
	for name, c := range map[string]struct {
		policy budgets.Unpriced
		cost   string
		want   int
	}{"asked": {budgets.AskUnpriced, "", 1}, "held": {budgets.HoldUnpriced, "", 0}, "allowed": {budgets.AllowUnpriced, "", 0}, "told": {budgets.AskUnpriced, "0.01", 0}} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			w.budget(1000, unpriced(c.policy))
			w.Job("build")
			j := w.Claim(agent)
			for _, id := range []string{"m1", "m2"} {
				e := spend.Entry{ID: id, Provider: "house", Model: "House-9", Input: 10, At: time.Now()}
				if c.cost != "" {
					e.CostUSD = &c.cost
				}
				answers, err := w.Dispatch.RecordUsage(w.Ctx, agent, []report.UsageLine{{Lease: dispatchtest.Ref(j), Entry: e}})
				if err != nil || answers[0].Refused != nil {
					t.Fatal(answers, err)
				}
			}
			if asked := w.questions(); len(asked) != c.want || dbfactory.EventCount(t, w.DB, "price.asked") != c.want {
				t.Errorf("it asks about %v", asked)
			}
		})
	}
}

// However many names an agent makes up, people are asked about some of them only.
func TestPeopleAreAskedAboutSomeModelsAtATime(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.budget(1000)
	w.Job("build")
	j := w.Claim(agent)
	for i := range 60 {
		e := spend.Entry{ID: fmt.Sprint("m", i), Provider: "house", Model: fmt.Sprint("made-up-", i), Input: 10, At: time.Now()}
		answers, err := w.Dispatch.RecordUsage(w.Ctx, agent, []report.UsageLine{{Lease: dispatchtest.Ref(j), Entry: e}})
		if err != nil || answers[0].Refused != nil {
			t.Fatal(answers, err)
		}
	}
	if asked := w.questions(); len(asked) != 50 {
		t.Errorf("it asks about %d", len(asked))
	}
}

// What counts as another model is priced by it, also what was used before, and stops the
// budget.
func TestAModelThatCountsAsAnotherIsCharged(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	b := w.budget(1000)
	w.Job("build")
	j := w.Claim(agent)
	w.uses(agent, j, "m1", 1_000_000)
	w.stands(b, 0, 10, 1)
	w.decides(prices.ModelDecision{Model: model("house-9"), Decision: prices.Count, As: prices.Model{Provider: "anthropic", Name: "claude-haiku-4-5"}})
	w.priced(1)
	w.uses(agent, j, "m2", 1_000_000)
	w.stands(b, 200, 10, 1)
	// A decision can be changed, and says who changed it.
	w.decides(prices.ModelDecision{Model: model("house-9"), Decision: prices.Pass})
	w.uses(agent, j, "m3", 1_000_000)
	w.stands(b, 200, 10, 1)
	if n := dbfactory.EventCount(t, w.DB, "price.decided"); n != 2 {
		t.Errorf("%d decisions are in the log", n)
	}
	if got := dbfactory.Text(t, w.DB, `SELECT actor || ': ' || (changes -> 0 ->> 'old') || ' to ' || (changes -> 0 ->> 'new') FROM event
		WHERE type = 'price.decided' ORDER BY id DESC LIMIT 1`); got != w.Owner.Name+": anthropic/claude-haiku-4-5 to pass" {
		t.Errorf("the log says %q", got)
	}
}

// What is no decision is refused.
func TestDecisionsAreChecked(t *testing.T) {
	w := newTestWorkspace(t)
	haiku := prices.Model{Provider: "anthropic", Name: "claude-haiku-4-5"}
	for field, u := range map[string]prices.ModelDecision{
		"model":     {Model: prices.Model{Name: " "}, Decision: prices.Pass},
		"decision":  {Model: model("house-7b"), Decision: "free"},
		"counts_as": {Model: model("house-7b"), Decision: prices.Count, As: model("house-8b")},
	} {
		_, err := w.rates().Decide(w.Ctx, w.Owner, u)
		if f := fault.From(err); f.Code != fault.Validation || f.Fields[field] == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, u := range []prices.ModelDecision{{Model: model("x"), Decision: prices.Count}, {Model: model("x"), Decision: prices.Pass, As: haiku},
		{Model: haiku, Decision: prices.Pass}, {Model: prices.Model{Provider: "vertex", Name: "claude-haiku-4-5@20251001"}, Decision: prices.Pass}} {
		if _, err := w.rates().Decide(w.Ctx, w.Owner, u); !fault.Is(err, fault.Validation) {
			t.Errorf("%+v: %v", u, err)
		}
	}
	member := w.Owner
	member.Role = tenancy.RoleMember
	if _, err := w.rates().Decide(w.Ctx, member, prices.ModelDecision{Model: model("x"), Decision: prices.Pass}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a member decides: %v", err)
	}
}

// A model that a product names is held like one that an agent is registered with: it may be what
// runs. Other products, and agents without that engine, are not held for it.
func TestAModelOfAProductWithoutAPriceWaits(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("known", with("anthropic", "claude-sonnet-4-5")) // its factory has claude
	w.budget(1000)
	name := func(models tiermodel.Table) {
		w.T.Helper()
		if _, _, err := w.Jobs.PutProduct(w.Ctx, w.Owner, jobs.DefaultProduct, jobs.ProductSettings{Models: models}); err != nil {
			t.Fatal(err)
		}
	}
	name(tiermodel.Table{"claude": {"large": "house-7b", "small": "haiku"}, "codex": {"large": "other-7b"}})
	j := w.Job("build")
	w.Nothing(agent, claim.ReasonBudget)
	if asked := w.questions(); !slices.Equal(asked, []string{"house-7b"}) {
		t.Errorf("it asks about %v", asked)
	}
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: j.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("a named job: %v", err)
	}
	name(tiermodel.Table{"claude": {"large": "opus", "small": "haiku"}, "codex": {"large": "other-7b"}})
	if got := w.Claim(agent); got.ID != j.ID {
		t.Errorf("with models that have prices it got %s", got.Key)
	}
	name(tiermodel.Table{"claude": {"large": "house-7b"}})
	j = w.Job("again")
	w.Nothing(agent, claim.ReasonBudget)
	w.decides(prices.ModelDecision{Model: prices.Model{Name: "house-7b"}, Decision: prices.Pass})
	if got := w.Claim(agent); got.ID != j.ID {
		t.Errorf("once a person has decided it got %s", got.Key)
	}
	w.Consistent()
}
