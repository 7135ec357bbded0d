package decision

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// maxAgents is how many agents of a factory are looked at, those that ask first.
	maxAgents = 16
	// maxEnds is how many of the last attempts of an agent, and of a job, are looked at.
	maxEnds = 8
	// historyTTL is for how long what factories did lately is not read again.
	historyTTL = 10 * time.Second
	// fleetTTL is for how long a fleet is not read again, where a little may have changed since.
	fleetTTL = 500 * time.Millisecond
	// maxWorkspaces bounds the cache (least recently used out).
	maxWorkspaces = 1024
)

// Reader reads what is compared. What factories did lately it keeps for a moment, and for a shorter one
// what they are.
type Reader struct {
	now       func() time.Time
	histories *lru.Cache[ids.ID, history]

	mu     sync.Mutex
	fleets *lru.Cache[ids.ID, *readFleet]
}

// readFleet is the agents of a workspace as they were read, with the seats that they took since.
type readFleet struct {
	read, at time.Time // by this process's clock, and by that of the database
	agents   []Agent
}

// Asker is an agent that asks for jobs, with its seats as its claim has counted them.
type Asker struct {
	Agent, Factory ids.ID
	Free           int // of its own
	Taken          int // of its factory
}

// history is what factories did lately.
type history struct {
	read      time.Time
	byFactory map[ids.ID]record
}

type record struct {
	worked                  map[string]time.Duration // when that was read
	completed, failed, lost int
}

// NewReader returns a reader that knows nothing yet.
func NewReader() *Reader {
	histories, err := lru.New[ids.ID, history](maxWorkspaces)
	if err != nil {
		panic(err) // only for a size below one
	}
	fleets, err := lru.New[ids.ID, *readFleet](maxWorkspaces)
	if err != nil {
		panic(err)
	}
	return &Reader{now: time.Now, histories: histories, fleets: fleets}
}

// Snapshot is a fleet at one moment.
type Snapshot struct {
	At time.Time
	// Kept is set where it was read a moment ago.
	Kept bool

	fleet     score.Fleet
	agents    map[string][]Agent // by factory
	histories history
	since     time.Duration // that these were read
	// apart are the candidates for jobs that keep some agents away, by whom.
	apart map[string]score.Fleet
}

// Agent is one that lives, as it is compared.
type Agent struct {
	budgeting.User // which models it runs

	id, factory  ids.ID
	offer        fleet.Offer
	products     []string // whose jobs it may have; none is all
	barred       []string // products whose jobs a budget keeps from it
	out          string   // why it takes no new jobs, as score.Candidate says it
	held         bool     // its provider takes no requests now
	free         int      // seats of its own
	seats, taken int      // of its factory
}

// SnapshotTx reads the factories that may take jobs, and those of the agents that ask whatever they are. Where kept is
// set they may be as they were a moment ago, but for the seats of those that ask. barred says of which
// products budgets keep the jobs from an agent; nil is of none.
func (r *Reader) SnapshotTx(
	ctx context.Context, tx db.Tx, workspace ids.ID, asking []Asker, kept bool, barred func(Agent) []string,
) (*Snapshot, error) {
	f, kept, err := r.fleetTx(ctx, tx, workspace, asking, kept)
	if err != nil {
		return nil, err
	}
	lately, err := r.historyTx(ctx, tx, workspace, f.agents)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{At: f.at, Kept: kept, agents: map[string][]Agent{}, histories: lately, since: r.now().Sub(lately.read)}
	for _, a := range f.agents {
		if barred != nil {
			a.barred = barred(a)
		}
		s.agents[a.offer.Factory] = append(s.agents[a.offer.Factory], a)
	}
	candidates := make([]score.Candidate, 0, len(s.agents))
	for name := range s.agents {
		candidates = append(candidates, s.candidate(name, nil))
	}
	s.fleet = score.NewFleet(candidates)
	return s, nil
}

// fleetTx returns the agents that are compared: those that were read a moment ago, where kept allows
// that and all who ask are among them.
func (r *Reader) fleetTx(ctx context.Context, tx db.Tx, workspace ids.ID, asking []Asker, kept bool) (
	f readFleet, isKept bool, err error,
) {
	if kept {
		if f, known := r.findKept(workspace, asking); known {
			return f, true, nil
		}
	}
	f.read = r.now()
	agents := make([]ids.ID, 0, len(asking))
	for _, a := range asking {
		agents = append(agents, a.Agent)
	}
	if f.at, f.agents, err = agentsTx(ctx, tx, workspace, agents); err != nil {
		return f, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleets.Add(workspace, &readFleet{f.read, f.at, slices.Clone(f.agents)})
	return f, false, nil
}

// findKept returns the agents as they were read a moment ago, with the seats of those that ask.
func (r *Reader) findKept(workspace ids.ID, asking []Asker) (readFleet, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.fleets.Get(workspace)
	if !known || r.now().Sub(f.read) >= fleetTTL {
		return readFleet{}, false
	}
	for _, asks := range asking {
		found := false
		for i := range f.agents {
			a := &f.agents[i]
			if a.id == asks.Agent {
				a.free, found = asks.Free, true
			}
			if a.factory == asks.Factory {
				a.taken = asks.Taken
			}
		}
		if !found {
			return readFleet{}, false
		}
	}
	return readFleet{f.read, f.at, slices.Clone(f.agents)}, true
}

// Took counts seats that an agent has taken since its fleet was read.
func (r *Reader) Took(workspace ids.ID, agent ids.ID, seats int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.fleets.Peek(workspace)
	if !known {
		return
	}
	at := slices.IndexFunc(f.agents, func(a Agent) bool { return a.id == agent })
	if at < 0 {
		return
	}
	f.agents[at].free -= seats
	for i := range f.agents {
		if f.agents[i].factory == f.agents[at].factory {
			f.agents[i].taken += seats
		}
	}
}

// fleetFor returns the candidates for a job. To a job that keeps some agents away only the others offer
// that they are not those.
func (s *Snapshot) fleetFor(j Job) score.Fleet {
	away := distinct.Among(j.Needs)
	if len(away) == 0 {
		return s.fleet
	}
	key := fmt.Sprintf("%q", away)
	known, ok := s.apart[key]
	if !ok {
		candidates := make([]score.Candidate, 0, len(s.agents))
		for name := range s.agents {
			candidates = append(candidates, s.candidate(name, away))
		}
		if s.apart == nil {
			s.apart = map[string]score.Fleet{}
		}
		known = score.NewFleet(candidates)
		s.apart[key] = known
	}
	return known
}

// candidate describes a factory by its agents and what it did up to a moment ago; for a job that keeps
// agents away by these needs.
func (s *Snapshot) candidate(name string, away []string) score.Candidate {
	agents := s.agents[name]
	first := agents[0]
	did := s.histories.byFactory[first.factory]
	c := score.Candidate{Factory: name, Seats: first.seats, Free: first.seats - first.taken, Out: first.out, Runs: first.Engines,
		Completed: did.completed, Failed: did.failed, Lost: did.lost, Worked: map[string]time.Duration{}}
	for repo, ago := range did.worked {
		c.Worked[repo] = ago + s.since
	}
	kinds := map[string]int{}
	for _, a := range agents {
		if a.Model.Name != "" && !slices.Contains(c.Runs, a.Model.Name) {
			c.Runs = append(slices.Clip(c.Runs), a.Model.Name)
		}
		if a.out != "" {
			continue
		}
		c.Out = ""
		k := score.Kind{Offers: a.offersTo(away), Products: a.products, Barred: a.barred, Held: a.held, Free: max(0, a.free)}
		key := fmt.Sprint(k.Held, k.Offers, k.Products, k.Barred)
		if n, known := kinds[key]; known {
			c.Kinds[n].Free += k.Free
			continue
		}
		kinds[key] = len(c.Kinds)
		c.Kinds = append(c.Kinds, k)
	}
	return c
}

// Compared is how the factories of a snapshot compare for a job.
type Compared struct {
	score.Decision
	at       time.Time
	feasible bool // a claim would have given it to the best one; also where there is none
}

// Compare puts the factories in their order for a job.
func (s *Snapshot) Compare(j Job, w score.Weights) Compared {
	d := s.fleetFor(j).Decide(j.Job, w)
	return Compared{d, s.At, d.Chosen == "" || s.mayRun(j, d.Chosen)}
}

// Take counts a seat of an agent, and of its factory, as taken from here on.
func (s *Snapshot) Take(factory string, agent ids.ID) { s.count(factory, agent, 1) }

// Free counts one that was taken as free again.
func (s *Snapshot) Free(factory string, agent ids.ID) { s.count(factory, agent, -1) }

func (s *Snapshot) count(factory string, agent ids.ID, seats int) {
	list := s.agents[factory]
	if len(list) == 0 {
		return
	}
	for i := range list {
		if list[i].taken += seats; list[i].id == agent {
			list[i].free -= seats
		}
	}
	s.fleet.Replace(s.candidate(factory, nil))
	clear(s.apart)
}

// mayRun reports whether a claim of one of the factory's agents would have been given the job: by the
// rules of claims, not by those of the comparison.
func (s *Snapshot) mayRun(j Job, factory string) bool {
	_, found := s.FindAgent(factory, j, nil)
	return found
}

// FindAgent returns an agent of a factory to whose claim the job would be given now, by the rules of
// claims, of those that are not excluded; nil excludes none.
func (s *Snapshot) FindAgent(factory string, j Job, excluded func(Agent) bool) (agent ids.ID, found bool) {
	at := slices.IndexFunc(s.agents[factory], func(a Agent) bool {
		return a.hasSeat() && a.mayTake(j) && (excluded == nil || !excluded(a))
	})
	if at < 0 {
		return ids.Nil, false
	}
	return s.agents[factory][at].id, true
}

// offersTo returns what the agent offers, with those of some needs that do not keep it away.
func (a Agent) offersTo(away []string) []string {
	offers := slices.Clip(a.offer.Tokens)
	for _, need := range away {
		if a.offer.Who.Passes([]string{need}) {
			offers = append(offers, need)
		}
	}
	return offers
}

// hasSeat reports whether the agent, and its factory, have a free seat.
func (a Agent) hasSeat() bool { return a.free > 0 && a.taken < a.seats }

// mayTake reports whether a claim of the agent would be given a job if it had a seat.
func (a Agent) mayTake(j Job) bool {
	return a.out == "" && !a.held && a.offer.Serves(j.Needs, j.Factory) &&
		(len(a.products) == 0 || slices.Contains(a.products, j.Product)) && !slices.Contains(a.barred, j.Product)
}

// FactoryID returns the id of a factory that is compared, Nil of another one.
func (s *Snapshot) FactoryID(name string) ids.ID {
	if list := s.agents[name]; len(list) > 0 {
		return list[0].factory
	}
	return ids.Nil
}

// historyTx returns what the agents' factories did lately.
func (r *Reader) historyTx(ctx context.Context, tx db.Tx, workspace ids.ID, agents []Agent) (history, error) {
	if h, known := r.histories.Get(workspace); known && r.now().Sub(h.read) < historyTTL {
		return h, nil
	}
	h := history{read: r.now()}
	var err error
	if h.byFactory, err = recordsTx(ctx, tx, workspace, agents); err == nil {
		r.histories.Add(workspace, h)
	}
	return h, err
}

// Job is a job that is compared.
type Job struct {
	ID        ids.ID
	Key       string
	ProductID ids.ID
	Lane      int64
	Version   int
	Epoch     int64
	Phase     string
	score.Job
}
