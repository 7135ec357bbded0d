package claim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// offerSeeds are the fleets that the rules of offers are tried with. FLEETBOARD_OFFER_SEED adds one.
var offerSeeds = []uint64{1, 2, 3}

// Whatever the fleet and the jobs are, and however many servers and agents claim at once: no job goes to a
// factory that may not have it, none is lost or given twice, no seat is taken twice, and none is kept from
// a factory that may have it for longer than the bound.
func TestOffersKeepTheRulesAtOnce(t *testing.T) {
	seeds := slices.Clone(offerSeeds)
	if one := envtest.Number(t, "FLEETBOARD_OFFER_SEED", 0); one > 0 {
		seeds = append(seeds, uint64(one))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newOfferWorld(t, seed).run() })
	}
}

// offerWorld is a fleet that the test knows all of.
type offerWorld struct {
	*testWorkspace

	servers []*testWorkspace
	draw    *rand.Rand
	agents  []*offerAgent
	drained map[string]bool
	silent  map[string]bool // factories that do not ask, so that what they are offered ends
	seats   map[string]int  // of the factories
	passed  time.Duration   // so far
	met     map[ids.ID]time.Duration
	jobs    map[ids.ID]jobs.Job // ready or worked on
	total   int
	ended   int
}

type offerAgent struct {
	tenancy.Principal

	factory  string
	seats    int
	offers   []string
	products []string // none is all
	held     []jobs.Job
}

var (
	offerNeeds    = []string{"gpu", "docker", "browser"}
	offerRepos    = []string{"ledger-api", "web"}
	offerProducts = []string{"default", "billing"}
)

func newOfferWorld(t *testing.T, seed uint64) *offerWorld {
	w := &offerWorld{testWorkspace: newTestWorkspace(t), draw: rand.New(rand.NewPCG(seed, 67)), drained: map[string]bool{}, silent: map[string]bool{},
		seats: map[string]int{}, met: map[ids.ID]time.Duration{}, jobs: map[ids.ID]jobs.Job{}}
	w.servers = []*testWorkspace{w.testWorkspace, inWorkspace(t, w.DB, w.Workspace), inWorkspace(t, w.DB, w.Workspace)}
	w.Product("billing", jobs.ProductSettings{})
	w.inMode(setting.Targeted)
	stands, affinity := 5+w.draw.IntN(20), w.draw.IntN(20)
	w.set(setting.Change{OfferSeconds: &stands, AffinitySeconds: &affinity, Weights: map[string]int{"load": w.draw.IntN(3)}})
	for i := range 3 + w.draw.IntN(5) {
		name := fmt.Sprintf("mac-%d", i)
		w.seats[name] = 1 + w.draw.IntN(4)
		w.silent[name] = w.draw.IntN(2) == 0
		able, repos := w.some(offerNeeds), w.some(offerRepos)
		for range 1 + w.draw.IntN(2) {
			w.addAgent(name, able, repos)
		}
	}
	w.addAgent("mac-all", offerNeeds, offerRepos)
	return w
}

func (w *offerWorld) addAgent(factory string, able, repos []string) {
	a := &offerAgent{factory: factory, seats: 1 + w.draw.IntN(3), offers: slices.Concat(able, []string{"os:linux", "engine:claude"})}
	if factory == "mac-all" {
		a.seats, w.seats[factory] = 2, 2
	} else if w.draw.IntN(3) == 0 {
		a.products = []string{offerProducts[w.draw.IntN(2)]}
	}
	r := fleet.Registration{Agent: fmt.Sprintf("agent-%d", len(w.agents)), BootID: "boot-1", MaxConcurrentJobs: a.seats,
		Factory: fleet.FactoryInfo{Name: factory, OS: "linux", Engines: []string{"claude"}, Seats: w.seats[factory], Capabilities: able}}
	for _, repo := range repos {
		a.offers = append(a.offers, "repo:"+repo)
		r.Factory.Repos = append(r.Factory.Repos, fleet.Repo{Name: repo})
	}
	enrolment := dbfactory.Enrolment(w.Workspace)
	enrolment.Scope.Products = a.products
	if _, err := w.Dispatch.Register(w.Ctx, enrolment, r); err != nil {
		w.T.Fatal(err)
	}
	a.Principal = w.Tokens.Issued[len(w.Tokens.Issued)-1]
	w.agents = append(w.agents, a)
}

func (w *offerWorld) some(list []string) (some []string) {
	for _, s := range list {
		if w.draw.IntN(2) == 0 {
			some = append(some, s)
		}
	}
	return some
}

func (w *offerWorld) run() {
	for range 25 {
		w.create(w.draw.IntN(8))
		w.drain()
		w.claimAtOnce()
		w.wantSeats()
		w.end()
		w.claimOneByOne()
		w.lets(time.Duration(w.draw.IntN(15)) * time.Second)
	}
	w.finish()
}

// mayRun is whether an agent may have a job, as the test sees it.
func (w *offerWorld) mayRun(a *offerAgent, j jobs.Job) bool {
	needs := slices.Clone(j.Capabilities)
	if j.Repo != "" {
		needs = append(needs, "repo:"+j.Repo)
	}
	return !slices.ContainsFunc(needs, func(n string) bool { return !slices.Contains(a.offers, n) }) &&
		(j.Factory == "" || j.Factory == a.factory) && (len(a.products) == 0 || slices.Contains(a.products, j.Product))
}

func (w *offerWorld) create(n int) {
	if n == 0 {
		return
	}
	list := make([]jobs.New, n)
	none := 0
	for i := range list {
		p := w.draw.IntN(3)
		list[i] = jobs.New{Spec: jobs.Spec{Title: "job", Capabilities: w.some(offerNeeds[:2]),
			Repo: []string{"", "ledger-api", "web"}[w.draw.IntN(3)]}, Product: offerProducts[w.draw.IntN(2)]}
		priority(p)(&list[i])
		list[i].RetryBackoffSeconds = &none
		if w.draw.IntN(10) == 0 {
			list[i].Factory = "mac-all"
		}
	}
	made, err := w.Jobs.Create(w.Ctx, w.Owner, nil, list...)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, j := range made.Jobs {
		w.jobs[j.ID] = j
	}
	w.total += n
}

// drain lets a factory drain, or no longer.
func (w *offerWorld) drain() {
	if w.draw.IntN(3) > 0 {
		return
	}
	name := fmt.Sprintf("mac-%d", w.draw.IntN(len(w.seats)-1))
	w.setDraining(name, !w.drained[name])
}

func (w *offerWorld) setDraining(name string, on bool) {
	if _, err := w.Fleet.SetDraining(w.Ctx, w.Owner, name, on); err != nil {
		w.T.Fatal(err)
	}
	w.drained[name] = on
}

// claimAtOnce lets all agents claim at once, through different servers, a while.
func (w *offerWorld) claimAtOnce() {
	got := make([][]jobs.Job, len(w.agents))
	var all errgroup.Group
	for i, a := range w.agents {
		if w.silent[a.factory] {
			continue
		}
		most, server := 1+w.draw.IntN(3), w.servers[w.draw.IntN(len(w.servers))]
		all.Go(func() error {
			claimed, err := server.Dispatch.Claim(w.Ctx, a.Principal, claim.Request{Max: most, Wait: time.Duration(i%2) * 20 * time.Millisecond})
			got[i] = claimed.Jobs
			return err
		})
	}
	if err := all.Wait(); err != nil {
		w.T.Fatal(err)
	}
	for i, list := range got {
		w.note(w.agents[i], list)
	}
}

// note asserts that an agent may have what it got.
func (w *offerWorld) note(a *offerAgent, got []jobs.Job) {
	for _, j := range got {
		known, there := w.jobs[j.ID]
		if !there || !w.mayRun(a, known) || w.drained[a.factory] {
			w.T.Fatalf("%s of %s (drains: %v, offers %v, products %v) got %s, which needs %v, repo %q, factory %q, product %s; known %v",
				a.Name, a.factory, w.drained[a.factory], a.offers, a.products, j.Key, j.Capabilities, j.Repo, j.Factory, j.Product, there)
		}
		for _, other := range w.agents {
			if slices.ContainsFunc(other.held, func(o jobs.Job) bool { return o.ID == j.ID }) {
				w.T.Fatalf("%s was given to %s and to %s", j.Key, other.Name, a.Name)
			}
		}
		delete(w.met, j.ID)
		a.held = append(a.held, j)
	}
}

func (w *offerWorld) free(a *offerAgent) int {
	factory := w.seats[a.factory]
	for _, o := range w.agents {
		if o.factory == a.factory {
			factory -= len(o.held)
		}
	}
	return min(a.seats-len(a.held), factory)
}

func (w *offerWorld) wantSeats() {
	for _, a := range w.agents {
		if w.free(a) < 0 {
			w.T.Fatalf("%s of %s has %d jobs; the factory has %d seats", a.Name, a.factory, len(a.held), w.seats[a.factory])
		}
	}
	w.Consistent()
}

// claimOneByOne lets one agent after another take what it can, and asserts that nothing is kept from it
// for longer than the bound.
func (w *offerWorld) claimOneByOne() {
	bound := w.bound()
	for _, i := range w.draw.Perm(len(w.agents)) {
		a := w.agents[i]
		if w.draw.IntN(2) == 0 || w.drained[a.factory] || w.silent[a.factory] {
			continue
		}
		got, err := w.servers[w.draw.IntN(len(w.servers))].Dispatch.Claim(w.Ctx, a.Principal, claim.Request{Max: 100})
		if err != nil {
			w.T.Fatal(err)
		}
		w.note(a, got.Jobs)
		if w.free(a) == 0 {
			continue
		}
		for id, j := range w.ready() {
			if !w.mayRun(a, j) {
				continue
			}
			since, known := w.met[id]
			if !known {
				w.met[id] = w.passed
			} else if w.passed-since >= bound {
				w.T.Fatalf("%s waits for %s, the bound is %s; %s of %s may have it, has %d seats and does not get it", j.Key,
					w.passed-since, bound, a.Name, a.factory, w.free(a))
			}
		}
	}
	w.wantSeats()
}

func (w *offerWorld) bound() time.Duration {
	s, err := w.Dispatch.DispatchSettings(w.Ctx, w.Owner)
	if err != nil {
		w.T.Fatal(err)
	}
	return offer.NewTerms(s).Bound()
}

// ready are the jobs that nobody has.
func (w *offerWorld) ready() map[ids.ID]jobs.Job {
	list := map[ids.ID]jobs.Job{}
	for id, j := range w.jobs {
		list[id] = j
	}
	for _, a := range w.agents {
		for _, j := range a.held {
			delete(list, j.ID)
		}
	}
	return list
}

// end lets agents complete their jobs, or release them.
func (w *offerWorld) end() {
	var all errgroup.Group
	for _, a := range w.agents {
		var kept []jobs.Job
		for _, j := range a.held {
			switch w.draw.IntN(3) {
			case 0:
				kept = append(kept, j)
			case 1:
				all.Go(func() error {
					_, err := w.Dispatch.Release(w.Ctx, a.Principal, ref(j), report.Release{Reason: "later"})
					return err
				})
			default:
				delete(w.jobs, j.ID)
				w.ended++
				all.Go(func() error {
					_, err := w.Dispatch.Complete(w.Ctx, a.Principal, ref(j), report.Completion{})
					return err
				})
			}
		}
		a.held = kept
	}
	if err := all.Wait(); err != nil {
		w.T.Fatal(err)
	}
}

// lets time go by.
func (w *offerWorld) lets(d time.Duration) {
	w.passes(d)
	w.passed += d
}

// finish lets the whole fleet work until nothing is left.
func (w *offerWorld) finish() {
	clear(w.silent)
	for name, on := range w.drained {
		if on {
			w.setDraining(name, false)
		}
	}
	for round := 0; len(w.jobs) > 0; round++ {
		if round > 200 {
			w.T.Fatalf("%d jobs are left", len(w.jobs))
		}
		w.claimAtOnce()
		w.wantSeats()
		w.end()
		w.claimOneByOne()
		w.lets(3 * time.Second)
	}
	if n := dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM job WHERE status = 'completed'`); n != w.total || w.ended != w.total {
		w.T.Errorf("%d of %d jobs are completed, %d were", n, w.total, w.ended)
	}
	if n := dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM dispatch_decision WHERE class = 'infeasible'`); n != 0 {
		w.T.Errorf("%d decisions are infeasible", n)
	}
	w.Consistent()
}
