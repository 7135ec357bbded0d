package claim_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// fill makes n jobs of a product.
func (w *testWorkspace) fill(product string, n int, change ...func(*jobs.New)) {
	w.T.Helper()
	for n > 0 {
		list := make([]jobs.New, min(n, jobs.MaxBatch))
		for i := range list {
			list[i].Title, list[i].Product = fmt.Sprint(product, n-i), product
			for _, c := range change {
				c(&list[i])
			}
		}
		if _, err := w.Jobs.Create(w.Ctx, w.Owner, nil, list...); err != nil {
			w.T.Fatal(err)
		}
		n -= len(list)
	}
}

// crew registers agents with many seats.
func (w *testWorkspace) crew(n int) (list []tenancy.Principal) {
	for i := range n {
		list = append(list, w.Agent(fmt.Sprintf("agent-%d", i), func(r *fleet.Registration) { r.MaxConcurrentJobs = 100 }))
	}
	return list
}

// products counts jobs by product.
type products map[string]int

func (p products) add(list []jobs.Job) {
	for _, j := range list {
		p[j.Product]++
	}
}

func (w *testWorkspace) take(agent tenancy.Principal, n int) []jobs.Job {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: n})
	if err != nil {
		w.T.Error(err)
	}
	return got.Jobs
}

// Of 1,000 claims each of two products is given its share within a tenth, however many jobs
// they have: one at a time, in batches, and to many agents at once.
func TestProductsShareByWeight(t *testing.T) {
	for _, c := range []struct{ many, few int }{{1, 1}, {1, 3}} {
		t.Run(fmt.Sprintf("%d to %d", c.many, c.few), func(t *testing.T) {
			w := newTestWorkspace(t)
			for _, name := range []string{"many", "few"} {
				w.Product(name, jobs.ProductSettings{})
			}
			if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, setting.Change{
				ProductWeights: map[string]int{"many": c.many, "few": c.few}}); err != nil {
				t.Fatal(err)
			}
			few := 1000 * c.few / (c.many + c.few)
			w.fill("many", 10*few)
			w.fill("few", few*12/10)
			crew := w.crew(16)
			within := func(what string, got products) {
				t.Helper()
				total := got["many"] + got["few"]
				share := float64(total*c.few) / float64(c.many+c.few)
				if d := float64(got["few"]) - share; d > share/10+1 || d < -share/10-1 {
					t.Errorf("%s: %v; want %.0f of few", what, got, share)
				}
			}
			one, some, crowd := products{}, products{}, products{}
			for i := range 200 {
				one.add(w.take(crew[i%4], 1))
			}
			within("one at a time", one)
			for left := 400; left > 0; {
				n := min(left, 1+rand.IntN(100))
				agent := w.Agent(fmt.Sprintf("batch-%d", left))
				list := w.take(agent, n)
				some.add(list)
				left -= len(list)
			}
			within("in batches", some)
			var mu sync.Mutex
			var group sync.WaitGroup
			for _, agent := range crew[4:] {
				group.Go(func() {
					for i := range 20 {
						list := w.take(agent, 1+i%3)
						mu.Lock()
						crowd.add(list)
						mu.Unlock()
					}
				})
			}
			group.Wait()
			within("many agents at once", crowd)
		})
	}
}

// Urgent jobs come first, whatever a product was given: shares are of jobs as urgent.
func TestSharesAreOfJobsAsUrgent(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("a", jobs.ProductSettings{})
	w.Product("b", jobs.ProductSettings{})
	w.fill("a", 30)
	w.fill("b", 30)
	w.fill("a", 10, priority(9))
	agent := w.Agent("ada")
	got := w.take(agent, 30)
	count := products{}
	for i, j := range got {
		if (i < 10) != (j.Priority == 9) {
			t.Fatalf("job %d has priority %d", i, j.Priority)
		}
	}
	if count.add(got[10:]); count["a"] != 10 || count["b"] != 10 {
		t.Errorf("after the urgent ones: %v", count)
	}
}

// A change of weights holds for the next claim, of every server.
func TestWeightsHoldFromTheNextClaimOn(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("a", jobs.ProductSettings{})
	w.Product("b", jobs.ProductSettings{})
	w.fill("a", 200)
	w.fill("b", 200)
	other := inWorkspace(t, w.DB, w.Workspace)
	agents := w.crew(2)
	w.take(agents[0], 10)
	other.take(agents[1], 10)
	if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, setting.Change{ProductWeights: map[string]int{"b": 9}}); err != nil {
		t.Fatal(err)
	}
	for i, server := range []*testWorkspace{w, other} {
		count := products{}
		if count.add(server.take(agents[i], 50)); count["b"] < 44 || count["a"] < 4 {
			t.Errorf("server %d gave %v of 50", i, count)
		}
	}
}

// A product that gives nothing for a moment comes back with the turns that it has had.
func TestAPausedProductKeepsItsTurns(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("a", jobs.ProductSettings{})
	w.Product("b", jobs.ProductSettings{})
	w.fill("a", 50)
	w.fill("b", 50)
	crew := w.crew(2)
	w.take(crew[0], 2)
	crew[1].Scope.Products = []string{"b"}
	w.take(crew[1], 10)
	w.Product("b", jobs.ProductSettings{Paused: true})
	w.take(crew[0], 1)
	w.Product("b", jobs.ProductSettings{})
	count := products{}
	if count.add(w.take(crew[0], 5)); count["b"] > 0 {
		t.Errorf("after its pause b, which had more than its share, is given %v", count)
	}
}
