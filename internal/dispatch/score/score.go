package score

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/natural"
)

const (
	// MaxCandidates is how many factories one decision looks at; those behind them, by their names, are
	// not looked at.
	MaxCandidates = 256
	// MaxListed is how many of them a decision lists: the best, then the nearest misses.
	MaxListed = 8
	// Tie is how far apart the scores of two factories are that suit a job equally well.
	Tie = 0.02
)

// What keeps a factory from a job, beside the names of what it lacks.
const (
	OtherFactory = "factory"  // the job is bound to another one
	OutOfScope   = "product"  // no token of its agents reaches the product
	Offline      = "offline"  // none of its agents lives
	Draining     = "draining" // it takes no new jobs
	NoEngine     = "engine"   // none of its engines works now
	Held         = "provider" // the provider of its models takes no requests now
	OverBudget   = "budget"   // a budget keeps the job from its models
	NoSeat       = "seat"     // all its seats are taken
)

// Job is what a decision knows of a job. Ages are those at the moment of the decision.
type Job struct {
	Needs   []string // what a factory must offer
	Factory string   // the one factory that may run it, "" for any
	Product string
	Repo    string
	Tier    string // small, standard or large; "" for any
	// TierBy says which tiers engines and models are good for, by the job's product.
	TierBy   map[string][]string
	Waiting  time.Duration
	Attempts []Attempt // the newest first
}

// Attempt is an attempt of the job that has ended.
type Attempt struct {
	Factory string
	Ago     time.Duration // since it ended
	Bad     bool          // it failed there, or was lost
}

// Candidate is a factory as a decision knows it.
type Candidate struct {
	Factory     string
	Kinds       []Kind // of its agents that live
	Seats, Free int
	Out         string // why it takes no new jobs, Draining or NoEngine; "" where it does
	// Worked says of repositories for how long the factory has not worked in them: its copies get
	// colder.
	Worked map[string]time.Duration
	Runs   []string // its engines, and the models of its agents
	// What happened to attempts there lately.
	Completed, Failed, Lost int
}

// Kind is what some agents of a factory have in common.
type Kind struct {
	Offers   []string // with what the factory offers, as far as their tokens reach
	Products []string // whose jobs they may have; none is all
	Barred   []string // products whose jobs a budget keeps from their models
	Held     bool     // their provider takes no requests now
	Free     int      // seats
}

// Scored is a candidate with what the decision found out about it.
type Scored struct {
	Factory  string   `json:"factory"`
	Eligible bool     `json:"eligible"`
	Missing  []string `json:"missing"`
	// Score and Parts are zero of one that misses more than a seat.
	Score float64 `json:"score"`
	Parts Parts   `json:"parts"`
}

// Decision is the factories in their order for one job.
type Decision struct {
	// Chosen is the factory that suits the job best, "" where none may have it.
	Chosen     string   `json:"chosen"`
	Candidates []Scored `json:"candidates"`
}

// Fleet is the candidates of many decisions.
type Fleet struct {
	list  []Candidate
	spare [][]offered // of each, the rarest first
}

// offered is what a candidate offers: its rarity is 0 where all do, 1 where it alone does.
type offered struct {
	token  string
	rarity float64
}

// NewFleet returns the first MaxCandidates of the candidates, by their names, for decisions.
func NewFleet(candidates []Candidate) Fleet {
	list := slices.Clone(candidates)
	slices.SortFunc(list, func(a, b Candidate) int { return natural.Compare(a.Factory, b.Factory) })
	f := Fleet{list: list[:min(len(list), MaxCandidates)]}
	f.countOffers()
	return f
}

// Replace puts a candidate in the place of the one of its name, which offers the same.
func (f Fleet) Replace(c Candidate) {
	if at := slices.IndexFunc(f.list, func(o Candidate) bool { return o.Factory == c.Factory }); at >= 0 {
		f.list[at] = c
	}
}

// Decide puts the candidates in their order for a job: the eligible ones by their scores, then those
// that miss a seat alone, then the others, the nearest misses first.
func (f Fleet) Decide(j Job, w Weights) Decision {
	d := Decision{Candidates: make([]Scored, 0, len(f.list))}
	for i, c := range f.list {
		s := Scored{Factory: c.Factory, Missing: c.missing(j)}
		s.Eligible = len(s.Missing) == 0
		if s.Eligible || s.lacksSeatAlone() {
			s.Parts = f.parts(j, i)
			s.Score = w.mean(s.Parts)
		}
		d.Candidates = append(d.Candidates, s)
	}
	slices.SortStableFunc(d.Candidates, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.Missing), len(b.Missing)))
	})
	if len(d.Candidates) > 0 && d.Candidates[0].Eligible {
		d.Chosen = d.Candidates[0].Factory
	}
	return d
}

// rank orders what may have the job, what could if it had a seat, and the rest.
func (s Scored) rank() int {
	switch {
	case s.Eligible:
		return 0
	case s.lacksSeatAlone():
		return 1
	}
	return 2
}

func (s Scored) lacksSeatAlone() bool { return len(s.Missing) == 1 && s.Missing[0] == NoSeat }

// Find returns what was found out about a factory, false where it was no candidate.
func (d Decision) Find(factory string) (Scored, bool) {
	at := slices.IndexFunc(d.Candidates, func(s Scored) bool { return s.Factory == factory })
	if at < 0 {
		return Scored{}, false
	}
	return d.Candidates[at], true
}

// Suits reports whether a factory may have the job and suits it as well as the best one, within a
// tie.
func (d Decision) Suits(factory string) bool {
	s, found := d.Find(factory)
	return found && s.Eligible && d.Candidates[0].Score-s.Score <= Tie
}

// AwaitsWarm returns the factory that is worth waiting for: it misses a free seat alone, has a warm
// copy of the job's repository or worked on the job last, and suits it better than any that has a
// seat, by more than a tie. "" where there is none.
func (d Decision) AwaitsWarm() string {
	best := math.Inf(-1)
	for _, s := range d.Candidates {
		switch {
		case s.Eligible:
			best = max(best, s.Score)
		case s.lacksSeatAlone() && s.Parts.Affinity > 0 && s.Score > best+Tie:
			return s.Factory
		}
	}
	return ""
}

// Shorten leaves the first MaxListed of the candidates, and with them the one with a name.
func (d Decision) Shorten(keep string) Decision {
	if len(d.Candidates) <= MaxListed {
		return d
	}
	list := slices.Clone(d.Candidates[:MaxListed])
	if at := slices.IndexFunc(d.Candidates, func(s Scored) bool { return s.Factory == keep }); at >= MaxListed {
		list[MaxListed-1] = d.Candidates[at]
	}
	d.Candidates = list
	return d
}

// missing returns what keeps a candidate from a job, of the kind of its agents that comes nearest;
// empty where nothing does.
func (c Candidate) missing(j Job) []string {
	list := []string{}
	if j.Factory != "" && j.Factory != c.Factory {
		list = append(list, OtherFactory)
	}
	if c.Out != "" {
		list = append(list, c.Out)
	}
	if len(c.Kinds) == 0 {
		return append(list, Offline)
	}
	var nearest []string
	for i, k := range c.Kinds {
		if lacks := k.missing(j, c.Free); i == 0 || len(lacks) < len(nearest) ||
			len(lacks) == len(nearest) && slices.Compare(lacks, nearest) < 0 {
			nearest = lacks
		}
	}
	return append(list, nearest...)
}

func (k Kind) missing(j Job, free int) []string {
	var list []string
	for _, need := range j.Needs {
		if !slices.Contains(k.Offers, need) {
			list = append(list, need)
		}
	}
	slices.Sort(list)
	if len(k.Products) > 0 && !slices.Contains(k.Products, j.Product) {
		list = append(list, OutOfScope)
	}
	if k.Held {
		list = append(list, Held)
	}
	if slices.Contains(k.Barred, j.Product) {
		list = append(list, OverBudget)
	}
	if min(k.Free, free) <= 0 {
		list = append(list, NoSeat)
	}
	return list
}
