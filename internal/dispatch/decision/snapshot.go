package decision

import (
	"context"
	"fmt"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/score"
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
	// maxWorkspaces bounds the cache (least recently used out).
	maxWorkspaces = 1024
)

// Reader reads what is compared. What factories did lately it keeps for a moment.
type Reader struct {
	now       func() time.Time
	histories *lru.Cache[ids.ID, history]
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
	return &Reader{now: time.Now, histories: histories}
}

// Snapshot is a fleet at one moment.
type Snapshot struct {
	At time.Time

	fleet     score.Fleet
	agents    map[string][]Agent // by factory
	histories history
	since     time.Duration // that these were read
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

// SnapshotTx reads the factories that may take jobs, and those of the agents that ask whatever they are.
// barred says of which products budgets keep the jobs from an agent; nil is of none.
func (r *Reader) SnapshotTx(
	ctx context.Context, tx db.Tx, workspace ids.ID, asking []ids.ID, barred func(Agent) []string,
) (*Snapshot, error) {
	at, agents, err := agentsTx(ctx, tx, workspace, asking)
	if err != nil {
		return nil, err
	}
	lately, err := r.historyTx(ctx, tx, workspace, agents)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{At: at, agents: map[string][]Agent{}, histories: lately, since: r.now().Sub(lately.read)}
	for _, a := range agents {
		if barred != nil {
			a.barred = barred(a)
		}
		s.agents[a.offer.Factory] = append(s.agents[a.offer.Factory], a)
	}
	candidates := make([]score.Candidate, 0, len(s.agents))
	for name := range s.agents {
		candidates = append(candidates, s.candidate(name))
	}
	s.fleet = score.NewFleet(candidates)
	return s, nil
}

// candidate describes a factory by its agents and what it did up to a moment ago.
func (s *Snapshot) candidate(name string) score.Candidate {
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
		k := score.Kind{Offers: a.offer.Tokens, Products: a.products, Barred: a.barred, Held: a.held, Free: max(0, a.free)}
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

// Decide compares the factories for a job.
func (s *Snapshot) Decide(j Job, w score.Weights) score.Decision { return s.fleet.Decide(j.Job, w) }

// Take counts a seat of an agent, and of its factory, as taken from here on.
func (s *Snapshot) Take(factory string, agent ids.ID) {
	list := s.agents[factory]
	if len(list) == 0 {
		return
	}
	for i := range list {
		if list[i].taken++; list[i].id == agent {
			list[i].free--
		}
	}
	s.fleet.Replace(s.candidate(factory))
}

// mayRun reports whether a claim of one of the factory's agents would have been given the job: by the
// rules of claims, not by those of the comparison.
func (s *Snapshot) mayRun(j Job, factory string) bool {
	return slices.ContainsFunc(s.agents[factory], func(a Agent) bool {
		return a.out == "" && !a.held && a.free > 0 && a.taken < a.seats && a.offer.Serves(j.Needs, j.Factory) &&
			(len(a.products) == 0 || slices.Contains(a.products, j.Product)) && !slices.Contains(a.barred, j.Product)
	})
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
	ProductID ids.ID
	Lane      int64
	Epoch     int64
	score.Job
}
