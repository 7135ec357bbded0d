package estimates

import (
	"math"
	"slices"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// Finished is a job of the history.
type Finished struct {
	Kind       string
	Repo       string
	Complexity int // by which it is grouped: 0 was not said
	Priority   int
	Failures   int // attempts that failed
	Model      string
	Tokens     prices.Tokens
	Cost       spend.Nanos
}

func (f Finished) ask() Ask {
	return Ask{Kind: f.Kind, Repo: f.Repo, Complexity: f.Complexity, Priority: f.Priority}
}

// Accuracy is how well estimates met what jobs really cost.
type Accuracy struct {
	Jobs   int
	Within int // of them were estimated within 20 % of what they cost
	Under  int // cost no more than the 90th percentile
	// Factor is by how much the middle one was off: 1.5 is half as much more, or two
	// thirds.
	Factor float64
}

// Result is what a replay found.
type Result struct {
	Before Accuracy // by the formula alone
	After  Accuracy // by the history up to each job

	Actual      spend.Nanos
	AlwaysLarge spend.Nanos // all tokens at the prices of the large tier
	ByTier      spend.Nanos // those of each job at the prices of its tier
	// Smaller is what AlwaysLarge has for the jobs that a smaller tier gets.
	Smaller spend.Nanos
	Tiers   map[Tier]int
	Models  map[string]Model
}

// Model is how jobs went that mostly used one model.
type Model struct {
	Jobs   int
	Failed int // of them had an attempt that failed
}

// Saving returns the share of "always large" that tiers save, were a smaller model to need as
// many tokens and to do its work as well.
func (r Result) Saving() float64 {
	if r.AlwaysLarge == 0 {
		return 0
	}
	return 1 - float64(r.ByTier)/float64(r.AlwaysLarge)
}

// BreakEven returns the share of the jobs of smaller tiers from which on nothing is saved if
// they have to be done again by a large model.
func (r Result) BreakEven() float64 {
	if r.Smaller == 0 {
		return 0
	}
	return float64(r.AlwaysLarge-r.ByTier) / float64(r.Smaller)
}

const within = 0.2

// Replay estimates finished jobs one after another, each by those that were added before.
type Replay struct {
	newest        map[key]*window
	before, after tally
	result        Result
	// Nano-dollars of Result.
	actual, alwaysLarge, byTier, smaller float64
}

// NewReplay knows no job yet.
func NewReplay() *Replay {
	return &Replay{newest: map[key]*window{}, result: Result{Tiers: map[Tier]int{}, Models: map[string]Model{}}}
}

// key names a group: fields that it does not go by are empty.
type key struct {
	level int
	kind  string
	step  int
	repo  string
}

func keys(a Ask) [groups]key {
	step := a.Step()
	return [groups]key{{everything, "", 0, ""}, {sameKind, a.Kind, 0, ""}, {sameStep, a.Kind, step, ""}, {sameRepo, a.Kind, step, a.Repo}}
}

// Add estimates a job, compares with what it cost and then learns from it.
func (r *Replay) Add(f Finished) {
	a := f.ask()
	formula, history := of(a, [groups]group{}), of(a, r.groups(a))
	r.before.add(formula, f.Cost)
	r.after.add(history, f.Cost)
	r.learn(f)
	large := float64(tierCost(f.Tokens, Large))
	r.actual += float64(f.Cost)
	r.alwaysLarge += large
	r.byTier += float64(tierCost(f.Tokens, history.Tier))
	if history.Tier != Large {
		r.smaller += large
	}
	r.result.Tiers[history.Tier]++
	m := r.result.Models[f.Model]
	m.Jobs++
	if f.Failures > 0 {
		m.Failed++
	}
	r.result.Models[f.Model] = m
}

// learn adds a job to its groups.
func (r *Replay) learn(f Finished) {
	for _, k := range keys(f.ask()) {
		w := r.newest[k]
		if w == nil {
			w = &window{}
			r.newest[k] = w
		}
		w.add(f)
	}
}

// Result returns what was found up to now.
func (r *Replay) Result() Result {
	result := r.result
	result.Before, result.After = r.before.accuracy(), r.after.accuracy()
	result.Actual, result.AlwaysLarge = amount(r.actual), amount(r.alwaysLarge)
	result.ByTier, result.Smaller = amount(r.byTier), amount(r.smaller)
	return result
}

func (r *Replay) groups(a Ask) (found [groups]group) {
	for i, k := range keys(a) {
		if w := r.newest[k]; w != nil {
			found[i] = w.group()
		}
	}
	return found
}

// window is the newest jobs of a group, the oldest first but for where it goes round.
type window struct {
	costs, tokens []float64
	next          int
}

func (w *window) add(f Finished) {
	if len(w.costs) < Window {
		w.costs, w.tokens = append(w.costs, float64(f.Cost)), append(w.tokens, float64(f.Tokens.Sum()))
		return
	}
	w.costs[w.next], w.tokens[w.next] = float64(f.Cost), float64(f.Tokens.Sum())
	w.next = (w.next + 1) % Window
}

func (w *window) group() group {
	return group{jobs: len(w.costs), p50: percentile(w.costs, 0.5), p90: percentile(w.costs, 0.9), tokensP50: percentile(w.tokens, 0.5)}
}

// percentile is that of PostgreSQL's percentile_cont.
func percentile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := share * float64(len(sorted)-1)
	low := int(at)
	if low == len(sorted)-1 {
		return sorted[low]
	}
	return sorted[low] + (sorted[low+1]-sorted[low])*(at-float64(low))
}

// isWithin reports whether an estimate was within 20 % of what a job cost.
func isWithin(e Estimate, actual spend.Nanos) bool {
	return math.Abs(float64(e.P50-actual)) <= within*float64(actual)
}

// tally compares estimates with what was.
type tally struct {
	within, under int
	off           []float64 // by how much each was off, in logarithms
}

func (t *tally) add(e Estimate, actual spend.Nanos) {
	if isWithin(e, actual) {
		t.within++
	}
	if actual <= e.P90 {
		t.under++
	}
	t.off = append(t.off, math.Abs(math.Log(float64(e.P50)/float64(actual))))
}

func (t *tally) accuracy() Accuracy {
	a := Accuracy{Jobs: len(t.off), Within: t.within, Under: t.under}
	if a.Jobs > 0 {
		a.Factor = math.Exp(percentile(t.off, 0.5))
	}
	return a
}
