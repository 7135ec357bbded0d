package estimates

import (
	"fmt"
	"math"
	"strings"

	"github.com/fleetboard/fleetboard/internal/spend"
)

// Source is what an estimate goes by.
type Source string

// The sources.
const (
	History Source = "history"
	Formula Source = "formula"
)

// Estimate is what a job is expected to use.
type Estimate struct {
	P50       spend.Nanos // half of such jobs cost at most this
	P90       spend.Nanos // nine tenths do
	TokensP50 int64       // of all kinds
	Source    Source
	// Samples is how many finished jobs the narrowest group has in which there are any:
	// of the same kind, complexity and repo at best. At most Window are looked at.
	Samples int
	Tier    Tier
	Why     string // what it goes by and why this tier, in sentences
}

// Window is how many jobs of a group an estimate looks at, the newest.
const Window = 100

// group is how much the newest jobs of a group cost.
type group struct {
	jobs      int
	p50, p90  float64 // nano-dollars
	tokensP50 float64
}

// The groups of an ask, each within the one before.
const (
	everything = iota
	sameKind
	sameStep
	sameRepo
	groups
)

// formulaStrength is how many jobs the formula counts as much as, spreadStrength is that
// of a wider group where the distance of a percentile is drawn, and leastStrength and
// mostStrength bound that of its median.
const (
	formulaStrength = 0.2
	spreadStrength  = 4
	leastStrength   = 0.25
	mostStrength    = 20
)

// strength returns how many jobs of a group count as much as the wider group does: many where
// the narrower one spreads as far as the wider one, which then says the same, and few
// where it is what makes the wider one spread.
func strength(spread, wider float64) float64 {
	between := wider*wider - spread*spread
	if between <= 0 {
		return mostStrength
	}
	return min(max(spread*spread/between, leastStrength), mostStrength)
}

// of returns the estimate for an ask, given its groups.
func of(a Ask, found [groups]group) Estimate {
	tier, whyTier := ChooseTier(a)
	start := byFormula(a, tier)
	e := Estimate{Source: Formula, Tier: tier}
	cost, spread, tokens := math.Log(start.p50), math.Log(start.p90/start.p50), math.Log(start.tokensP50)
	narrowest := -1
	for i, g := range found {
		if g.jobs == 0 {
			continue
		}
		narrowest = i
		n, against, wider := float64(g.jobs), formulaStrength, spread
		spread = drawn(math.Log(g.p90/g.p50), spread, n-1, spreadStrength)
		if i > everything {
			against = strength(spread, wider)
		}
		cost = drawn(math.Log(g.p50), cost, n, against)
		tokens = drawn(math.Log(g.tokensP50), tokens, n, against)
	}
	e.P50, e.P90, e.TokensP50 = amount(math.Exp(cost)), amount(math.Exp(cost+spread)), int64(amount(math.Exp(tokens)))
	if narrowest >= 0 {
		e.Source, e.Samples = History, found[narrowest].jobs
	}
	e.Why = why(a, found, narrowest) + " " + whyTier
	return e
}

// drawn returns a value that n jobs give, drawn towards that of a wider group.
func drawn(value, wider, n, against float64) float64 {
	return (n*value + against*wider) / (n + against)
}

// amount returns a number of nano-dollars, at most as many as there are.
func amount(nanos float64) spend.Nanos {
	if nanos >= math.MaxInt64 {
		return math.MaxInt64
	}
	return spend.Nanos(math.Round(nanos))
}

// why says in a sentence what an estimate goes by.
func why(a Ask, found [groups]group, narrowest int) string {
	if narrowest < 0 {
		return "No job has finished with a known cost yet, so the formula is all there is."
	}
	text := "It goes by " + named(a, narrowest, found[narrowest].jobs)
	if narrowest > everything && found[narrowest].jobs < Window {
		text += ", drawn towards " + named(a, narrowest-1, found[narrowest-1].jobs)
	}
	return text + "."
}

// named returns a group in words.
func named(a Ask, level, jobs int) string {
	noun := "finished jobs"
	switch {
	case jobs == 1:
		noun = "finished job"
	case jobs >= Window:
		noun = "newest finished jobs"
	}
	var of []string
	if level >= sameKind {
		if a.Kind == "" {
			of = append(of, "without a kind")
		} else {
			of = append(of, "of kind "+a.Kind)
		}
	}
	if level >= sameStep {
		if step := a.Step(); step == unsaid {
			of = append(of, "without a complexity")
		} else {
			of = append(of, fmt.Sprintf("with complexity %d", step))
		}
	}
	if level >= sameRepo {
		if a.Repo == "" {
			of = append(of, "without a repo")
		} else {
			of = append(of, "in "+a.Repo)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", jobs, noun, strings.Join(of, " ")))
}
