package estimates

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// noise is the standard deviation of the logarithm of what simulated jobs of one group
// cost.
const noise = 0.3

// simulated are jobs of 4 kinds, 5 complexities and 5 repos. What one costs is the
// product of a factor of each, times noise.
func simulated(n int) []Finished {
	random := rand.New(rand.NewPCG(16, 48))
	kinds, repos := map[string]float64{}, map[string]float64{}
	for _, kind := range []string{"feature", "fix", "refactor", "docs"} {
		kinds[kind] = math.Exp(random.NormFloat64())
	}
	for i := range 5 {
		repos[fmt.Sprint("repo-", i)] = math.Exp(random.NormFloat64() * 0.5)
	}
	list := make([]Finished, n)
	for i := range list {
		f := Finished{Kind: []string{"feature", "fix", "refactor", "docs"}[random.IntN(4)], Repo: fmt.Sprint("repo-", random.IntN(5)),
			Complexity: 1 + random.IntN(5), Priority: random.IntN(9), Model: "claude-sonnet-4-5", Failures: random.IntN(10) / 9}
		tokens := 300_000 * kinds[f.Kind] * repos[f.Repo] * math.Pow(1.8, float64(f.Complexity)) * math.Exp(noise*random.NormFloat64())
		f.Tokens = prices.Tokens{Input: int64(tokens * 0.05), CacheRead: int64(tokens * 0.85), CacheWrite: int64(tokens * 0.07), Output: int64(tokens * 0.03)}
		f.Cost = tierCost(f.Tokens, Standard)
		list[i] = f
	}
	return list
}

// normal returns the share of a normal distribution below x.
func normal(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// Of 2,000 jobs as many are estimated within 20 % as the noise allows, but for what is
// lost while groups are small; the 90th percentile covers nine tenths. The formula, which
// knows nothing of agents that read a cache, meets none of them.
func TestReplayOf2000SimulatedJobs(t *testing.T) {
	t.Parallel()
	const jobs = 2000
	r := NewReplay()
	young := 0 // estimated within 20 % while groups are small
	for i, f := range simulated(jobs) {
		if i == jobs/2 {
			young = r.Result().After.Within
		}
		r.Add(f)
	}
	got := r.Result()
	best := normal(math.Log(1.2)/noise) - normal(math.Log(0.8)/noise)
	chance := 3 * math.Sqrt(best*(1-best)/jobs)
	share := float64(got.After.Within) / jobs
	t.Logf("within 20 %%: before %.1f %%, after %.1f %%, at best %.1f %%", 100*float64(got.Before.Within)/jobs, 100*share, 100*best)
	if got.Before.Jobs != jobs || got.After.Jobs != jobs {
		t.Fatalf("%d and %d jobs were compared", got.Before.Jobs, got.After.Jobs)
	}
	if share > best+chance {
		t.Errorf("%.3f are within 20 %%, and the noise allows %.3f: an estimate knows the future", share, best)
	}
	if share < best-chance-0.08 {
		t.Errorf("%.3f are within 20 %%, and the noise allows %.3f", share, best)
	}
	if old := float64(got.After.Within-young) / (jobs / 2); old < best-math.Sqrt2*chance-0.02 {
		t.Errorf("%.3f of the second half are within 20 %%, and the noise allows %.3f", old, best)
	}
	if before := float64(got.Before.Within) / jobs; before > 0.05 || got.Before.Factor < 3 {
		t.Errorf("the formula meets %.3f and is off by a factor of %.1f", before, got.Before.Factor)
	}
	if under := float64(got.After.Under) / jobs; under < 0.86 || under > 0.95 {
		t.Errorf("%.3f cost no more than the 90th percentile", under)
	}
	// The middle error of the best estimate is that of the noise alone.
	if floor := math.Exp(0.6745 * noise); got.After.Factor < floor*0.97 || got.After.Factor > floor*1.1 {
		t.Errorf("half are off by more than a factor of %.3f; the noise alone gives %.3f", got.After.Factor, floor)
	}
}

// What tiers save is what the prices say, and what breaks even follows from it.
func TestTheSavingOfTiers(t *testing.T) {
	t.Parallel()
	r := NewReplay()
	if got := r.Result(); got.Saving() != 0 || got.BreakEven() != 0 || got.After != (Accuracy{}) {
		t.Errorf("nothing was replayed: %+v", got)
	}
	tokens := prices.Tokens{Output: 1_000_000} // $5, $15 and $25
	for i, step := range []int{1, 3, 5, 0} {
		r.Add(Finished{Complexity: step, Tokens: tokens, Cost: 15_000_000_000, Model: "m", Failures: i % 2})
	}
	got := r.Result()
	dollars := func(n spend.Nanos) int { return int(n / 1_000_000_000) }
	if dollars(got.AlwaysLarge) != 100 || dollars(got.ByTier) != 60 || dollars(got.Smaller) != 75 || dollars(got.Actual) != 60 {
		t.Errorf("always large %s, by tier %s, smaller ones %s, really %s", got.AlwaysLarge.USD(), got.ByTier.USD(), got.Smaller.USD(), got.Actual.USD())
	}
	if saving, even := got.Saving(), got.BreakEven(); math.Abs(saving-0.4) > 1e-9 || math.Abs(even-40.0/75) > 1e-9 {
		t.Errorf("they save %f, up to %f done again", saving, even)
	}
	if got.Tiers[Small] != 1 || got.Tiers[Standard] != 2 || got.Tiers[Large] != 1 || got.Models["m"] != (Model{Jobs: 4, Failed: 2}) {
		t.Errorf("tiers %v, models %v", got.Tiers, got.Models)
	}
}
