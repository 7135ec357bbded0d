package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// seatSeeds are the fleets that the rules of requests for seats are tried with. FLEETBOARD_SEAT_SEED adds
// one.
var seatSeeds = []uint64{1, 2, 3, 4}

// Whatever the fleet and the jobs are: each job has one victim at most, a seat is asked for only by the
// gap and where the urgent job could run on it, nobody's failures or losses rise, and every job ends
// completed.
func TestRequestsForSeatsKeepTheRules(t *testing.T) {
	seeds := slices.Clone(seatSeeds)
	if one := envtest.Number(t, "FLEETBOARD_SEAT_SEED", 0); one > 0 {
		seeds = append(seeds, uint64(one))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newSeatWorld(t, seed).run() })
	}
}

// seatWorld is a fleet that the test knows all of.
type seatWorld struct {
	*testWorkspace

	servers []*testWorkspace
	draw    *rand.Rand
	agents  []*seatAgent
	needs   map[ids.ID][]string
	gapNow  int
	asked   int
}

type seatAgent struct {
	tenancy.Principal

	able   []string
	obeys  bool
	served []jobs.Job
}

func newSeatWorld(t *testing.T, seed uint64) *seatWorld {
	w := &seatWorld{testWorkspace: newTestWorkspace(t), draw: rand.New(rand.NewPCG(seed, 73)), needs: map[ids.ID][]string{}}
	w.servers = []*testWorkspace{w.testWorkspace, inWorkspace(t, w.DB, w.Workspace)}
	all := []string{"gpu", "docker"}
	for i := range 3 + w.draw.IntN(3) {
		n := w.draw.IntN(2)
		a := &seatAgent{able: all[n : n+1], obeys: w.draw.IntN(4) > 0}
		if i == 0 {
			a.able, a.obeys = all, true
		}
		seats := 1 + w.draw.IntN(2)
		a.Principal = w.Agent(fmt.Sprintf("agent-%d", i), func(r *fleet.Registration) {
			r.MaxConcurrentJobs, r.Factory.Seats, r.Factory.Capabilities = seats, seats, a.able
		})
		w.agents = append(w.agents, a)
	}
	w.change(1 + w.draw.IntN(4))
	return w
}

func (w *seatWorld) change(gap int) {
	w.gapNow = gap
	w.gap(gap)
}

func (w *seatWorld) run() {
	w.fill()
	for range 120 {
		w.step()
		w.check()
	}
	for range 400 {
		if dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM job WHERE status <> 'completed'`) == 0 {
			break
		}
		w.preempt()
		for _, a := range w.agents {
			w.work(a, true)
			w.take(a)
		}
		w.check()
	}
	if n := dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM job WHERE status <> 'completed'`); n > 0 {
		w.T.Errorf("%d jobs are not completed", n)
	}
	if w.asked == 0 {
		w.T.Error("no seat was asked for: the test shows nothing")
	}
	w.Consistent()
}

// fill has all seats taken by jobs that anybody can run, and then an urgent one submitted.
func (w *seatWorld) fill() {
	for range 20 {
		w.Job("job", priority(w.draw.IntN(5)))
	}
	for _, a := range w.agents {
		w.take(a)
		w.take(a)
		w.work(a, false)
	}
	w.Job("urgent", priority(10))
	w.preempt()
	w.check()
}

// step does one thing.
func (w *seatWorld) step() {
	a := w.agents[w.draw.IntN(len(w.agents))]
	switch n := w.draw.IntN(20); {
	case n < 4:
		w.submit()
	case n < 9:
		w.take(a)
	case n < 13:
		w.work(a, w.draw.IntN(4) == 0)
	case n == 13:
		w.lapses()
	case n == 14:
		w.change(w.draw.IntN(6))
	default:
		bothAtOnce(w.servers[0].preempt, w.servers[1].preempt)
		for _, r := range w.standing() {
			if v, j := w.Get(jobs.Job{Key: r[0]}), w.Get(jobs.Job{Key: r[1]}); j.Priority-v.Priority < w.gapNow {
				w.T.Fatalf("%s of priority %d is asked for %s of %d; the gap is %d", v.Key, v.Priority, j.Key, j.Priority, w.gapNow)
			}
		}
	}
}

func (w *seatWorld) submit() {
	var list []string
	if n := w.draw.IntN(4); n < 2 {
		list = []string{[]string{"gpu", "docker"}[n]}
	}
	j := w.Job("job", priority(w.draw.IntN(11)), needs(list...))
	w.needs[j.ID] = list
}

func (w *seatWorld) take(a *seatAgent) {
	got, err := w.servers[w.draw.IntN(2)].Dispatch.Claim(w.Ctx, a.Principal, claim.Request{})
	if err != nil {
		w.T.Fatal(err)
	}
	a.served = append(a.served, got.Jobs...)
}

// work goes on with the jobs of an agent: each is given back where that is asked of one that obeys, or
// completed, or has a checkpoint saved.
func (w *seatWorld) work(a *seatAgent, completes bool) {
	a.served = slices.DeleteFunc(a.served, func(j jobs.Job) bool {
		now := w.Get(j)
		switch {
		case now.Lease.GivesSeat() && a.obeys:
			w.gives(a.Principal, j)
		case completes && w.draw.IntN(2) == 0:
			w.Complete(a.Principal, j)
		default:
			percent := w.draw.IntN(100)
			_, err := w.Dispatch.Progress(w.Ctx, a.Principal, ref(j), report.Progress{Percent: &percent, Checkpoint: []byte(`{"at": 1}`)})
			if err != nil {
				w.T.Fatal(err)
			}
			return false
		}
		return true
	})
}

// check holds what is asked now to the rules.
func (w *seatWorld) check() {
	w.T.Helper()
	if n := dbfactory.Int(w.T, w.DB, `SELECT count(*) FROM job WHERE failure_count + lost_count > 0`); n > 0 {
		w.T.Fatalf("%d jobs have a failure or a loss", n)
	}
	if w.gapNow == 0 {
		w.preempt()
	}
	held := map[ids.ID]*seatAgent{}
	for _, a := range w.agents {
		for _, j := range a.served {
			held[j.ID] = a
		}
	}
	for _, r := range w.standing() {
		w.asked++
		victim, urgent := w.Get(jobs.Job{Key: r[0]}), w.Get(jobs.Job{Key: r[1]})
		a := held[victim.ID]
		switch {
		case w.gapNow == 0:
			w.T.Fatalf("%s is asked without a gap", victim.Key)
		case a == nil || victim.Lease == nil:
			continue // its lease has just ended
		}
		for _, token := range w.needs[urgent.ID] {
			if !slices.Contains(a.able, token) {
				w.T.Fatalf("%s is asked for %s, which needs %s", victim.Key, urgent.Key, token)
			}
		}
	}
	if n := dbfactory.Int(w.T, w.DB, `SELECT count(*) - count(DISTINCT job_id) FROM preemption WHERE state = 'asked'`); n > 0 {
		w.T.Fatal("two are asked for one job")
	}
}

// standing returns the keys of the victims, and of the jobs for which they are asked.
func (w *seatWorld) standing() [][2]string {
	text := dbfactory.Text(w.T, w.DB, `SELECT coalesce(string_agg(v.key || ' ' || j.key, ',' ORDER BY v.key), '') FROM preemption p
		JOIN job v ON v.id = p.victim_id JOIN job j ON j.id = p.job_id WHERE p.state = 'asked'`)
	var list [][2]string
	for pair := range strings.SplitSeq(text, ",") {
		if victim, urgent, found := strings.Cut(pair, " "); found {
			list = append(list, [2]string{victim, urgent})
		}
	}
	return list
}
