package score

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	tokens   = []string{"engine:claude", "engine:codex", "gpu", "os:linux", "os:mac", "repo:ledger", "repo:web"}
	tiers    = []string{"small", "standard", "large"}
	products = []string{"atlas", "billing"}
)

func drawSome(t *rapid.T, of []string, label string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, len(of), rapid.ID[string]).Draw(t, label)
}

func drawAge(t *rapid.T, label string) time.Duration {
	return time.Duration(rapid.IntRange(0, 7*24*3600).Draw(t, label)) * time.Second
}

func drawJob(t *rapid.T) Job {
	j := Job{Needs: drawSome(t, tokens, "needs"), Product: rapid.SampledFrom(products).Draw(t, "product"),
		Repo: rapid.SampledFrom([]string{"", "ledger", "web"}).Draw(t, "repo"),
		Tier: rapid.SampledFrom(append(tiers, "")).Draw(t, "tier"), Waiting: drawAge(t, "waiting"), TierBy: map[string][]string{}}
	for _, runs := range []string{"claude", "opus"} {
		j.TierBy[runs] = drawSome(t, tiers, runs)
	}
	if rapid.IntRange(0, 5).Draw(t, "bound") == 0 {
		j.Factory = "host-1"
	}
	for range rapid.IntRange(0, 4).Draw(t, "attempts") {
		j.Attempts = append(j.Attempts, Attempt{fmt.Sprintf("host-%d", rapid.IntRange(0, 5).Draw(t, "at")), drawAge(t, "ago"),
			rapid.Bool().Draw(t, "bad")})
	}
	return j
}

func drawCandidate(t *rapid.T, name string) Candidate {
	c := Candidate{Factory: name, Seats: rapid.IntRange(0, 8).Draw(t, "seats"), Out: rapid.SampledFrom([]string{"", "", "", "", Draining, NoEngine}).Draw(t, "out"),
		Runs: drawSome(t, []string{"claude", "codex", "opus"}, "runs"), Completed: rapid.IntRange(0, 50).Draw(t, "completed"),
		Failed: rapid.IntRange(0, 50).Draw(t, "failed"), Lost: rapid.IntRange(0, 50).Draw(t, "lost")}
	c.Free = rapid.IntRange(-1, c.Seats).Draw(t, "free")
	c.Worked = map[string]time.Duration{}
	for _, repo := range drawSome(t, []string{"ledger", "web"}, "worked") {
		c.Worked[repo] = drawAge(t, "worked ago")
	}
	for range rapid.IntRange(0, 3).Draw(t, "kinds") {
		c.Kinds = append(c.Kinds, Kind{Offers: drawSome(t, tokens, "offers"), Products: drawSome(t, products, "products"),
			Free: rapid.IntRange(0, 4).Draw(t, "kind free"), Held: rapid.IntRange(0, 9).Draw(t, "held") == 0,
			Barred: rapid.SliceOfN(rapid.SampledFrom(products), 0, 1).Draw(t, "barred")})
	}
	return c
}

func drawFleet(t *rapid.T) []Candidate {
	var list []Candidate
	for i := range rapid.IntRange(0, 12).Draw(t, "factories") {
		list = append(list, drawCandidate(t, fmt.Sprintf("host-%d", i)))
	}
	return list
}

func drawWeights(t *rapid.T) Weights {
	weight := func(name string) int { return rapid.IntRange(0, 10).Draw(t, name) }
	return Weights{weight("fit"), weight("affinity"), weight("load"), weight("cost"), weight("health"), weight("starvation"), weight("anti")}
}

// mayRun says it another way than the filter does: some agents of the factory could take the job now.
func mayRun(j Job, c Candidate) bool {
	return c.Out == "" && c.Free > 0 && (j.Factory == "" || j.Factory == c.Factory) && slices.ContainsFunc(c.Kinds, func(k Kind) bool {
		for _, n := range j.Needs {
			if !slices.Contains(k.Offers, n) {
				return false
			}
		}
		return k.Free > 0 && !k.Held && !slices.Contains(k.Barred, j.Product) && (len(k.Products) == 0 || slices.Contains(k.Products, j.Product))
	})
}

// Whatever the fleet and the job: everything is in its range, every candidate is answered, one that
// may not run the job is never chosen and says why, and one is chosen where any may.
func TestADecisionIsTotalAndInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, list, w := drawJob(t), drawFleet(t), drawWeights(t)
		d := NewFleet(list).Decide(j, w)
		if len(d.Candidates) != len(list) {
			t.Fatalf("%d of %d candidates are answered", len(d.Candidates), len(list))
		}
		possible := false
		for _, c := range list {
			s, found := d.Find(c.Factory)
			if !found || s.Eligible != mayRun(j, c) || s.Eligible != (len(s.Missing) == 0) {
				t.Fatalf("%s: %+v; it may run the job: %v", c.Factory, s, mayRun(j, c))
			}
			possible = possible || s.Eligible
			if s.Score < -1 || s.Score > 1 {
				t.Fatalf("a score of %v", s.Score)
			}
			for i, p := range s.Parts.List() {
				if p < -1 || p > 1 || p != p {
					t.Fatalf("%s is %v", Facts[i].Name, p)
				}
			}
		}
		chosen, found := d.Find(d.Chosen)
		if possible != found || found && !chosen.Eligible {
			t.Fatalf("chosen is %q (%+v); somebody may run it: %v", d.Chosen, chosen, possible)
		}
		for _, s := range d.Candidates {
			if s.Eligible && s.Score > chosen.Score {
				t.Fatalf("%s has %v, the chosen one %v", s.Factory, s.Score, chosen.Score)
			}
		}
	})
}

func TestADecisionIsTheSameInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, list, w := drawJob(t), drawFleet(t), drawWeights(t)
		want := NewFleet(list).Decide(j, w)
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		draw.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		draw.Shuffle(len(j.Needs), func(a, b int) { j.Needs[a], j.Needs[b] = j.Needs[b], j.Needs[a] })
		for _, c := range list {
			draw.Shuffle(len(c.Kinds), func(a, b int) { c.Kinds[a], c.Kinds[b] = c.Kinds[b], c.Kinds[a] })
		}
		got := NewFleet(list).Decide(j, w)
		for _, d := range []Decision{want, got} {
			for i := range d.Candidates {
				slices.Sort(d.Candidates[i].Missing)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\nbefore %+v", got, want)
		}
	})
}

// Each part goes the way that its name says, whatever the rest is.
func TestPartsAreMonotonous(t *testing.T) {
	less := func(t *rapid.T, name string, worse, better float64) {
		if worse > better {
			t.Fatalf("%s is %v where it is worse, %v where it is better", name, worse, better)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		j, others := drawJob(t), drawFleet(t)
		c := drawCandidate(t, "a-host") // the first by its name
		parts := func(j Job, c Candidate) Parts { return NewFleet(append([]Candidate{c}, others...)).parts(j, 0) }
		base := parts(j, c)

		better := c
		better.Free++
		less(t, "load", base.Load, parts(j, better).Load)

		worse := c
		worse.Failed++
		less(t, "health of failures", parts(j, worse).Health, base.Health)
		worse = c
		worse.Lost++
		less(t, "health of losses", parts(j, worse).Health, base.Health)
		better = c
		better.Completed++
		less(t, "health of completions", base.Health, parts(j, better).Health)

		worse = c
		worse.Worked = nil
		less(t, "affinity of a cold copy", parts(j, worse).Affinity, base.Affinity)
		worse.Worked = map[string]time.Duration{}
		for repo, since := range c.Worked {
			worse.Worked[repo] = since + drawAge(t, "longer")
		}
		less(t, "affinity of an older copy", parts(j, worse).Affinity, base.Affinity)

		older := j
		older.Waiting += drawAge(t, "more")
		less(t, "starvation", base.Starvation, parts(older, c).Starvation)

		failed := j
		failed.Attempts = append(slices.Clone(j.Attempts), Attempt{Factory: c.Factory, Bad: true})
		less(t, "anti-affinity", parts(failed, c).AntiAffinity, base.AntiAffinity)

		if len(c.Kinds) > 0 {
			worse = c
			worse.Kinds = slices.Clone(c.Kinds)
			worse.Kinds[0].Offers = append(slices.Clone(c.Kinds[0].Offers), "nobody else has it")
			less(t, "capability fit", parts(j, worse).CapabilityFit, base.CapabilityFit)
		}
		if j.Tier != "" {
			better = c
			better.Runs = append(slices.Clone(c.Runs), "its tier")
			j.TierBy["its tier"] = []string{j.Tier}
			less(t, "cost fit", base.CostFit, parts(j, better).CostFit)
		}
	})
}

// A better part never makes a score worse, and a weight of 0 takes a part out.
func TestTheMeanFollowsItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWeights(t)
		var p [7]float64
		for i := range p {
			p[i] = float64(rapid.IntRange(-100, 99).Draw(t, "part")) / 100
		}
		i := rapid.IntRange(0, 6).Draw(t, "which")
		before := w.mean(Parts{p[0], p[1], p[2], p[3], p[4], p[5], p[6]})
		p[i] += 0.01
		after := w.mean(Parts{p[0], p[1], p[2], p[3], p[4], p[5], p[6]})
		weights := []int{w.CapabilityFit, w.Affinity, w.Load, w.CostFit, w.Health, w.Starvation, w.AntiAffinity}
		if after < before || weights[i] == 0 && after != before {
			t.Fatalf("%s raised: %v, before %v", Facts[i].Name, after, before)
		}
	})
}

func TestTheFactsAreThoseOfTheParts(t *testing.T) {
	text, err := json.Marshal(Parts{1, 2, 3, 4, 5, 6, 7})
	var got map[string]float64
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for i, f := range Facts {
		if got[f.Name] != float64(i+1) || f.Text == "" {
			t.Errorf("%s is %v, %v", f.Name, got[f.Name], err)
		}
	}
	if len(got) != len(Facts) {
		t.Errorf("%d parts, %d facts", len(got), len(Facts))
	}
}

func kinds(offers ...string) []Kind { return []Kind{{Offers: offers, Free: 9}} }

func worked(ago time.Duration) map[string]time.Duration { return map[string]time.Duration{"web": ago} }

var tierBy = map[string][]string{"haiku": {"small"}, "sonnet": {"standard"}, "opus": {"large"}}

func TestWhatADecisionPrefers(t *testing.T) {
	all := Weights{1, 1, 1, 1, 1, 1, 1}
	cases := map[string]struct {
		job  Job
		a, b Candidate // a is to be chosen
	}{
		"a common factory, for a common job": {Job{Needs: []string{"os:linux"}},
			Candidate{Kinds: kinds("os:linux")}, Candidate{Kinds: kinds("os:linux", "gpu")}},
		"a warm copy":        {Job{Repo: "web"}, Candidate{Worked: worked(time.Minute)}, Candidate{Worked: worked(48 * time.Hour)}},
		"free seats":         {Job{}, Candidate{Seats: 4, Free: 3}, Candidate{Seats: 4, Free: 1}},
		"its tier":           {Job{Tier: "small", TierBy: tierBy}, Candidate{Runs: []string{"haiku"}}, Candidate{Runs: []string{"opus"}}},
		"the less too large": {Job{Tier: "small", TierBy: tierBy}, Candidate{Runs: []string{"sonnet"}}, Candidate{Runs: []string{"opus"}}},
		"a healthy one":      {Job{}, Candidate{Completed: 5}, Candidate{Completed: 5, Lost: 1}},
		"who worked last":    {Job{Attempts: []Attempt{{Factory: "mac-a"}}}, Candidate{}, Candidate{}},
		"who did not fail it": {Job{Attempts: []Attempt{{Factory: "mac-b", Bad: true}}},
			Candidate{}, Candidate{}},
	}
	for name, c := range cases {
		for _, swap := range []bool{false, true} {
			a, b := c.a, c.b
			a.Factory, b.Factory = "mac-a", "mac-b"
			for _, one := range []*Candidate{&a, &b} {
				if one.Seats == 0 {
					one.Seats, one.Free = 2, 1
				}
				if one.Kinds == nil {
					one.Kinds = kinds()
				}
			}
			j := c.job
			if swap { // the name does not decide
				a.Factory, b.Factory = "mac-b", "mac-a"
				j.Attempts = slices.Clone(j.Attempts)
				for i := range j.Attempts {
					j.Attempts[i].Factory = map[string]string{"mac-a": "mac-b", "mac-b": "mac-a"}[j.Attempts[i].Factory]
				}
			}
			if d := NewFleet([]Candidate{b, a}).Decide(j, all); d.Chosen != a.Factory {
				t.Errorf("%s: chosen is %s of %+v", name, d.Chosen, d.Candidates)
			}
		}
	}
}

func TestEqualFactoriesAreOrderedByName(t *testing.T) {
	var list []Candidate
	for _, name := range []string{"mac-10", "mac-2", "mac-1"} {
		list = append(list, Candidate{Factory: name, Seats: 1, Free: 1, Kinds: kinds()})
	}
	d := NewFleet(list).Decide(Job{}, Weights{Load: 1})
	if d.Chosen != "mac-1" || d.Candidates[1].Factory != "mac-2" || !d.Suits("mac-10") {
		t.Errorf("decided %+v", d)
	}
}

func TestAJobWaitsForAWarmFactoryWithoutASeat(t *testing.T) {
	w := Weights{Affinity: 3, Load: 1}
	warm := Candidate{Factory: "warm", Seats: 2, Kinds: kinds(), Worked: worked(time.Minute)}
	cold := Candidate{Factory: "cold", Seats: 2, Free: 2, Kinds: kinds()}
	if d := NewFleet([]Candidate{warm, cold}).Decide(Job{Repo: "web"}, w); d.Chosen != "cold" || d.AwaitsWarm() != "warm" {
		t.Errorf("chosen is %s, waits for %q", d.Chosen, d.AwaitsWarm())
	}
	if d := NewFleet([]Candidate{warm, cold}).Decide(Job{}, w); d.AwaitsWarm() != "" {
		t.Errorf("a job without a repository waits for %q", d.AwaitsWarm())
	}
	warm.Out = Draining
	if d := NewFleet([]Candidate{warm, cold}).Decide(Job{Repo: "web"}, w); d.AwaitsWarm() != "" {
		t.Errorf("it waits for %q, which drains", d.AwaitsWarm())
	}
}

func TestDecisionsAreBounded(t *testing.T) {
	var list []Candidate
	for i := range 3 * MaxCandidates {
		list = append(list, Candidate{Factory: fmt.Sprintf("host-%d", i), Seats: 1, Free: 1, Kinds: kinds()})
	}
	d := NewFleet(list).Decide(Job{}, Weights{Load: 1})
	if len(d.Candidates) != MaxCandidates {
		t.Errorf("%d candidates", len(d.Candidates))
	}
	short := d.Shorten("host-200")
	if _, found := short.Find("host-200"); len(short.Candidates) != MaxListed || !found || len(d.Candidates) != MaxCandidates {
		t.Errorf("%d listed, host-200 among them: %v", len(short.Candidates), found)
	}
}

func BenchmarkDecide(b *testing.B) {
	var list []Candidate
	for i := range 64 {
		list = append(list, Candidate{Factory: fmt.Sprintf("host-%02d", i), Seats: 4, Free: i % 5,
			Kinds: kinds("engine:claude", "os:linux", "repo:ledger", "repo:web"), Worked: worked(time.Hour)})
	}
	j := Job{Needs: []string{"repo:web"}, Repo: "web", Tier: "small"}
	fleet := NewFleet(list)
	b.ReportAllocs()
	for b.Loop() {
		fleet.Decide(j, Weights{1, 1, 1, 1, 1, 1, 1})
	}
}
