// Package routing simulates a fleet without a server, to compare the ways in which jobs find a
// factory: pull, where the agent that waits longest takes the first job that it can, targeted, where
// package score decides and everybody hears at once, and offered, which is targeted with a part of the
// offers unheard until their time is over. All are given the same jobs at the same moments. Time is
// simulated: ten thousand jobs take a second.
package routing

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
)

// Workload is a fleet and what comes to it.
type Workload struct {
	Name      string
	Factories int
	Seats     int // of each
	Repos     int
	// Skew makes some repositories commoner than others: the exponent of Zipf's law, 0 for none.
	Skew float64
	// Cached is how many repositories a factory keeps a copy of: the last ones. Another has to be
	// cloned first, which takes Clone.
	Cached int
	Clone  time.Duration
	Work   time.Duration // of a job, on the average
	Load   float64       // the share of the seats that the jobs without cloning would fill
	// RareFactories have something that RareShare of the jobs need.
	RareFactories int
	RareShare     float64
	// FlakyFactories lose a job in five, after it has run for a while; it begins again.
	FlakyFactories int
}

// Workloads are those that decide whether targeted is better.
func Workloads() []Workload {
	minute := time.Minute
	return []Workload{
		{Name: "uniform", Factories: 8, Seats: 2, Repos: 4, Cached: 4, Clone: minute / 2, Work: 5 * minute, Load: 0.7},
		{Name: "skewed", Factories: 8, Seats: 2, Repos: 8, Skew: 1, Cached: 8, Clone: minute / 2, Work: 5 * minute, Load: 0.7,
			RareFactories: 2, RareShare: 0.2, FlakyFactories: 1},
		{Name: "warm caches", Factories: 8, Seats: 2, Repos: 24, Skew: 0.5, Cached: 4, Clone: 2 * minute, Work: 5 * minute, Load: 0.55},
	}
}

// defaults are the settings of a workspace where nobody has changed any.
var defaults = setting.Default()

const (
	// Stands is how long an offer does, and maxTurns how often a job is offered.
	Stands   = 15 * time.Second
	maxTurns = 3
	// unheard is the share of offers that their factories do not take in time.
	unheard = 0.02
)

// Way is how jobs find a factory.
type Way int

// The ways.
const (
	Pull Way = iota
	Targeted
	Offered
)

// Result is what has come out of one run.
type Result struct {
	Jobs, Clones, Lost int
	Unheard            int           // offers
	Mean               time.Duration // from a job's arrival to its end
	Longest            time.Duration // in the queue, before an attempt
	Unfit, Overbooked  int           // jobs at a factory that may not have them, or without a seat: 0
}

type job struct {
	number         int
	arrived, ready time.Duration
	work           time.Duration
	repo           string
	rare           bool
	attempts       []attempt
	left           bool // the queue
	turn           int
	tried          []string
	offered        *host         // that has not heard of it yet
	until          time.Duration // that offer's end
}

type attempt struct {
	factory string
	ended   time.Duration
	bad     bool
}

type host struct {
	name   string
	offers []string
	flaky  bool
	free   int
	held   int             // of these, for jobs that are offered
	waits  []time.Duration // of each free seat, since when
	cached []string        // the last used last
	worked map[string]time.Duration
	ends   []ending
}

type ending struct {
	at  time.Duration
	bad bool
}

// event is an arrival, the end of an attempt, or a job that has waited long enough.
type event struct {
	at   time.Duration
	seq  int
	job  *job
	host *host // nil where the job becomes ready
	lost bool
	wake bool
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(a, b int) bool {
	return e[a].at < e[b].at || e[a].at == e[b].at && e[a].seq < e[b].seq
}
func (e events) Swap(a, b int) { e[a], e[b] = e[b], e[a] }

// Push appends an event.
func (e *events) Push(x any) { *e = append(*e, x.(event)) } //nolint:forcetypeassert // nothing else is pushed

// Pop takes the last one away.
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

type world struct {
	Workload
	way    Way
	draw   *rand.Rand
	now    time.Duration
	hosts  []*host
	queue  []*job
	events events
	seq    int
	result Result
}

// Run lets n jobs come and go. The same seed gives the same jobs.
func (w Workload) Run(way Way, n int, seed uint64) Result {
	jobs := w.jobs(n, rand.New(rand.NewPCG(seed, 1)))
	s := &world{Workload: w, way: way, draw: rand.New(rand.NewPCG(seed, 2))}
	for i := range w.Factories {
		h := &host{name: fmt.Sprintf("host-%d", i+1), free: w.Seats, waits: make([]time.Duration, w.Seats),
			worked: map[string]time.Duration{}, flaky: i >= w.Factories-w.FlakyFactories}
		if i < w.RareFactories {
			h.offers = []string{"gpu"}
		}
		s.hosts = append(s.hosts, h)
	}
	for _, j := range jobs {
		s.at(event{at: j.arrived, job: j})
	}
	var sum time.Duration
	for len(s.events) > 0 {
		e, _ := heap.Pop(&s.events).(event)
		s.now = e.at
		switch {
		case e.wake:
		case e.host == nil:
			s.queue = append(s.queue, e.job)
		default:
			if s.end(e); !e.lost {
				sum += s.now - e.job.arrived
			}
		}
		s.assign()
	}
	s.result.Mean = sum / time.Duration(max(1, s.result.Jobs))
	return s.result
}

// jobs draws n jobs, in the order in which they come.
func (w Workload) jobs(n int, draw *rand.Rand) []*job {
	share := make([]float64, w.Repos)
	total := 0.0
	for i := range share {
		total += 1 / math.Pow(float64(i+1), w.Skew)
		share[i] = total
	}
	between := float64(w.Work) / (w.Load * float64(w.Factories*w.Seats))
	var list []*job
	at := time.Duration(0)
	for i := range n {
		at += time.Duration(draw.ExpFloat64() * between)
		repo := slices.IndexFunc(share, func(s float64) bool { return s >= total*draw.Float64() })
		list = append(list, &job{number: i, arrived: at, ready: at, work: time.Duration((0.2 + 0.8*draw.ExpFloat64()) * float64(w.Work)),
			repo: fmt.Sprintf("repo-%d", max(0, repo)+1), rare: draw.Float64() < w.RareShare})
	}
	return list
}

func (s *world) at(e event) {
	s.seq++
	e.seq = s.seq
	heap.Push(&s.events, e)
}

// end frees the seat of an attempt; a job that was lost there comes again.
func (s *world) end(e event) {
	h := e.host
	h.free++
	h.waits = append(h.waits, s.now)
	h.worked[e.job.repo] = s.now
	h.ends = append(h.ends, ending{s.now, e.lost})
	e.job.attempts = append([]attempt{{h.name, s.now, e.lost}}, e.job.attempts...)
	if !e.lost {
		s.result.Jobs++
		return
	}
	s.result.Lost++
	e.job.ready, e.job.left, e.job.turn, e.job.tried = s.now, false, 0, nil
	s.queue = append(s.queue, e.job)
}

// assign gives out what can be given out now.
func (s *world) assign() {
	for {
		j, h := s.pull()
		if s.way != Pull {
			j, h = s.target()
		}
		if j == nil {
			break
		}
		s.begin(j, h)
	}
	s.queue = slices.DeleteFunc(s.queue, func(j *job) bool { return j.left })
}

// hasSeat reports whether a host has a free seat that is kept for nobody.
func (h *host) hasSeat() bool { return h.free > h.held }

func (h *host) mayRun(j *job) bool { return !j.rare || slices.Contains(h.offers, "gpu") }

// pull returns the first job that a host with a seat can run, and of these the one that waits longest.
func (s *world) pull() (*job, *host) {
	for _, j := range s.queue {
		var best *host
		for _, h := range s.hosts {
			if !j.left && h.hasSeat() && h.mayRun(j) && (best == nil || h.waits[0] < best.waits[0]) {
				best = h
			}
		}
		if best != nil {
			return j, best
		}
	}
	return nil, nil
}

// target returns the first job that is not better off waiting, and the host that suits it best.
func (s *world) target() (*job, *host) {
	affinity := time.Duration(defaults.AffinitySeconds) * time.Second
	var fleet *score.Fleet
	for _, j := range s.queue {
		if j.offered != nil && s.now >= j.until {
			j.offered.held--
			j.offered = nil
		}
		if j.left || j.offered != nil || !slices.ContainsFunc(s.hosts, func(h *host) bool { return h.hasSeat() && h.mayRun(j) }) {
			continue
		}
		if j.turn >= maxTurns {
			return j, s.longest(j)
		}
		if fleet == nil {
			f := score.NewFleet(s.candidates())
			fleet = &f
		}
		waited := s.now - j.ready
		d := fleet.Decide(s.describe(j), defaults.Weights)
		if d.AwaitsWarm() != "" && waited < affinity {
			if waited == 0 {
				s.at(event{at: j.ready + affinity, wake: true})
			}
			continue
		}
		at := slices.IndexFunc(d.Candidates, func(c score.Scored) bool {
			return c.Eligible && !slices.Contains(j.tried, c.Factory)
		})
		if at < 0 {
			return j, s.longest(j)
		}
		h := s.hosts[slices.IndexFunc(s.hosts, func(h *host) bool { return h.name == d.Candidates[at].Factory })]
		if s.way == Targeted || s.draw.Float64() >= unheard {
			return j, h
		}
		j.turn, j.tried, j.offered, j.until = j.turn+1, append(j.tried, h.name), h, s.now+Stands
		h.held++
		s.result.Unheard++
		s.at(event{at: j.until, wake: true})
		fleet = nil
	}
	return nil, nil
}

// longest returns, of the hosts with a seat for a job, the one that waits longest.
func (s *world) longest(j *job) (longest *host) {
	for _, h := range s.hosts {
		if h.hasSeat() && h.mayRun(j) && (longest == nil || h.waits[0] < longest.waits[0]) {
			longest = h
		}
	}
	return longest
}

func (s *world) candidates() []score.Candidate {
	var list []score.Candidate
	for _, h := range s.hosts {
		free := h.free - h.held
		c := score.Candidate{Factory: h.name, Seats: s.Seats, Free: free, Kinds: []score.Kind{{Offers: h.offers, Free: free}},
			Worked: map[string]time.Duration{}}
		for _, repo := range h.cached {
			c.Worked[repo] = s.now - h.worked[repo]
		}
		h.ends = slices.DeleteFunc(h.ends, func(e ending) bool { return e.at < s.now-time.Hour })
		for _, e := range h.ends {
			if e.bad {
				c.Lost++
			} else {
				c.Completed++
			}
		}
		list = append(list, c)
	}
	return list
}

func (s *world) describe(j *job) score.Job {
	d := score.Job{Repo: j.repo, Waiting: s.now - j.ready}
	if j.rare {
		d.Needs = []string{"gpu"}
	}
	for _, a := range j.attempts {
		d.Attempts = append(d.Attempts, score.Attempt{Factory: a.factory, Ago: s.now - a.ended, Bad: a.bad})
	}
	return d
}

// begin starts an attempt. A repository that the host has no copy of is cloned first.
func (s *world) begin(j *job, h *host) {
	if !h.mayRun(j) {
		s.result.Unfit++
	}
	if !h.hasSeat() {
		s.result.Overbooked++
	}
	s.result.Longest = max(s.result.Longest, s.now-j.ready)
	j.left = true
	h.free--
	h.waits = h.waits[1:]
	took := j.work
	if at := slices.Index(h.cached, j.repo); at >= 0 {
		h.cached = slices.Delete(h.cached, at, at+1)
	} else {
		s.result.Clones++
		took += s.Clone
	}
	h.cached = append(h.cached, j.repo)
	if len(h.cached) > s.Cached {
		h.cached = h.cached[1:]
	}
	h.worked[j.repo] = s.now
	lost := h.flaky && s.draw.Float64() < 0.2
	if lost {
		took = time.Duration(s.draw.Float64() * float64(took))
	}
	s.at(event{at: s.now + took, job: j, host: h, lost: lost})
}

// Comparison is all ways on one workload: of several runs with jobs of their own, the means.
type Comparison struct {
	Workload                string
	Pull, Targeted, Offered Result
}

// Gain is by how much jobs that are offered are faster, as a share of pull.
func (c Comparison) Gain() float64 { return 1 - float64(c.Offered.Mean)/float64(c.Pull.Mean) }

// Compare runs all ways, runs times with n jobs each.
func (w Workload) Compare(n, runs int) Comparison {
	c := Comparison{Workload: w.Name}
	for seed := range runs {
		c.Pull.add(w.Run(Pull, n, uint64(seed)), runs)
		c.Targeted.add(w.Run(Targeted, n, uint64(seed)), runs)
		c.Offered.add(w.Run(Offered, n, uint64(seed)), runs)
	}
	return c
}

// add adds one of so many runs.
func (r *Result) add(o Result, runs int) {
	r.Jobs, r.Clones, r.Lost, r.Unheard = r.Jobs+o.Jobs, r.Clones+o.Clones, r.Lost+o.Lost, r.Unheard+o.Unheard
	r.Unfit, r.Overbooked = r.Unfit+o.Unfit, r.Overbooked+o.Overbooked
	r.Mean, r.Longest = r.Mean+o.Mean/time.Duration(runs), max(r.Longest, o.Longest)
}

// maxLoss is by how much targeted may be slower on a workload.
const maxLoss = 0.03

// Wins reports whether targeted is to be the default: faster on two workloads at least, and slower by
// more than 3 % on none.
func Wins(all []Comparison) bool {
	won := 0
	for _, c := range all {
		if c.Gain() < -maxLoss-1e-9 {
			return false
		}
		if c.Gain() > 0 {
			won++
		}
	}
	return won >= 2
}
