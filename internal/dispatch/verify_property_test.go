package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// verifySeeds are the fleets that the rule of authors is tried with. FLEETBOARD_VERIFY_SEED adds one.
var verifySeeds = []uint64{1, 2}

// Whatever the fleet, the rule and the mode are, and however jobs are claimed, by many agents at once and
// over several servers: no author of work ever verifies it, nor anybody who runs the model or the provider
// of one where that counts; and whoever may verify is given the verification.
func TestNoAuthorEverVerifies(t *testing.T) {
	seeds := slices.Clone(verifySeeds)
	if one := envtest.Number(t, "FLEETBOARD_VERIFY_SEED", 0); one > 0 {
		seeds = append(seeds, uint64(one))
	}
	for _, rule := range distinct.Rules {
		for _, mode := range []setting.Mode{setting.Pull, setting.Shadow, setting.Targeted} {
			for _, seed := range seeds {
				t.Run(fmt.Sprint(rule, "/", mode, "/", seed), func(t *testing.T) { newVerifyWorld(t, rule, mode, seed).run() })
			}
		}
	}
}

// verifyWorld is a fleet that the test knows all of.
type verifyWorld struct {
	*testWorkspace

	rule     distinct.Rule
	draw     *rand.Rand
	servers  []*testWorkspace
	agents   []*verifyAgent
	verified int
}

type verifyAgent struct {
	tenancy.Principal

	who  distinct.Agent
	held []jobs.Job
}

func newVerifyWorld(t *testing.T, rule distinct.Rule, mode setting.Mode, seed uint64) *verifyWorld {
	w := &verifyWorld{testWorkspace: newTestWorkspace(t), rule: rule, draw: rand.New(rand.NewPCG(seed, 39))}
	w.servers = []*testWorkspace{w.testWorkspace, inWorkspace(t, w.DB, w.Workspace)}
	w.testWorkspace.verified(rule)
	stands, gap := 5, 1
	if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, setting.Change{Mode: &mode, OfferSeconds: &stands, PreemptGap: &gap}); err != nil {
		t.Fatal(err)
	}
	models := []distinct.Agent{{Model: "opus", Provider: "anthropic"}, {Model: "haiku", Provider: "anthropic"}, {Model: "gpt-7", Provider: "openai"}, {}}
	for i := range 3 + w.draw.IntN(4) {
		a := &verifyAgent{who: models[w.draw.IntN(len(models))]}
		a.who.Name = fmt.Sprint("agent-", i)
		a.Principal = w.Agent(a.who.Name, func(r *fleet.Registration) {
			hasAtlas(r)
			// Agents share factories: one that may not be given a job stands beside one that may.
			r.Model, r.Provider, r.Factory.Name = a.who.Model, a.who.Provider, fmt.Sprint("factory-", i%2)
			r.MaxConcurrentJobs, r.Factory.Seats = 3, 12
		})
		w.agents = append(w.agents, a)
	}
	return w
}

func (w *verifyWorld) run() {
	for range 12 {
		w.Job("work", inRepo("atlas"), priority(w.draw.IntN(11)))
	}
	for range 40 {
		w.step()
		w.check()
	}
	if w.verified == 0 && w.mayVerify() {
		w.T.Error("nobody verified anything: the test shows nothing")
	}
	w.Consistent()
}

// mayVerify reports whether two of the agents may verify each other's work.
func (w *verifyWorld) mayVerify() bool {
	return slices.ContainsFunc(w.agents, func(a *verifyAgent) bool {
		return slices.ContainsFunc(w.agents, func(b *verifyAgent) bool {
			return a.who.Passes(distinct.From(w.rule, []distinct.Agent{b.who}))
		})
	})
}

// step has all agents do something at once.
func (w *verifyWorld) step() {
	var all errgroup.Group
	for _, a := range w.agents {
		server, does, n := w.servers[w.draw.IntN(len(w.servers))], w.draw.IntN(5), 1+w.draw.IntN(3)
		all.Go(func() error { return w.act(server, a, does, n) })
	}
	if err := all.Wait(); err != nil {
		w.T.Fatal(err)
	}
	if _, err := w.Dispatch.Preempt(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
	// What is ready is named by all: it is given to none whom it keeps away.
	for _, key := range strings.Fields(dbfactory.Text(w.T, w.DB, `SELECT coalesce(string_agg(key, ' '), '') FROM job WHERE kind = 'verify' AND status = 'ready'`)) {
		a := w.agents[w.draw.IntN(len(w.agents))]
		if got, err := w.Dispatch.Claim(w.Ctx, a.Principal, claim.Request{Job: key}); err == nil {
			a.take(got)
		}
	}
}

func (a *verifyAgent) take(got claim.Result) { a.held = append(a.held, got.Jobs...) }

func (w *verifyWorld) act(server *testWorkspace, a *verifyAgent, does, n int) error {
	if does == 0 || len(a.held) == 0 {
		got, err := server.Dispatch.Claim(w.Ctx, a.Principal, claim.Request{Max: n})
		a.take(got)
		return err
	}
	j := a.held[0]
	a.held = a.held[1:]
	if does == 1 {
		_, err := server.Dispatch.Release(w.Ctx, a.Principal, ref(j), report.Release{Reason: "later"})
		return err
	}
	if _, err := server.Dispatch.Start(w.Ctx, a.Principal, ref(j), nil); err != nil {
		return err
	}
	next := &lease.Next{Max: n}
	if does == 2 {
		ended, err := server.Dispatch.Release(w.Ctx, a.Principal, ref(j), report.Release{Reason: "half done", Next: next})
		a.takeNext(ended)
		return err
	}
	done := report.Completion{Commit: fmt.Sprintf("%s%d", j.Key, j.Epoch), Next: next}
	if j.Kind == jobs.KindVerify {
		done = report.Completion{Result: []byte(sayings[n-1]), Next: next}
	}
	ended, err := server.Dispatch.Complete(w.Ctx, a.Principal, ref(j), done)
	a.takeNext(ended)
	return err
}

// sayings are verdicts.
var sayings = []string{`{"verdict": "approve"}`, `{"verdict": "unsure"}`,
	`{"verdict": "changes", "findings": [{"path": "a", "line": 1, "severity": "major", "text": "x"}]}`}

func (a *verifyAgent) takeNext(ended report.Ended) {
	if ended.Next != nil {
		a.take(*ended.Next)
	}
}

// check looks at all attempts on verify jobs, whoever was given them.
func (w *verifyWorld) check() {
	w.T.Helper()
	rows := dbfactory.Text(w.T, w.DB, `SELECT coalesce(string_agg(a.agent || ' ' || (SELECT string_agg(DISTINCT x.agent, ',') FROM attempt x
		WHERE x.job_id = m.job_id AND x.epoch <= m.epoch AND (x.started_at IS NOT NULL OR x.epoch = m.epoch)), ';'), '')
		FROM attempt a JOIN job_verify m ON m.verify_job_id = a.job_id`)
	if rows == "" {
		return
	}
	for row := range strings.SplitSeq(rows, ";") {
		verifier, authors, _ := strings.Cut(row, " ")
		w.verified++
		for name := range strings.SplitSeq(authors, ",") {
			v, author := w.find(verifier), w.find(name)
			same := v.Name == author.Name || w.rule == distinct.ByModel && (v.Model == "" || author.Model == "" || v.Model == author.Model) ||
				w.rule == distinct.ByProvider && (v.Provider == "" || author.Provider == "" || v.Provider == author.Provider)
			if same {
				w.T.Fatalf("%+v verifies what %+v wrote", v, author)
			}
		}
	}
}

func (w *verifyWorld) find(name string) distinct.Agent {
	at := slices.IndexFunc(w.agents, func(a *verifyAgent) bool { return a.Name == name })
	return w.agents[at].who
}
