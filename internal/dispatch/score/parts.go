package score

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Weights say how much each part counts, from 0 to 10.
type Weights struct {
	CapabilityFit int `json:"capability_fit"`
	Affinity      int `json:"affinity"`
	Load          int `json:"load"`
	CostFit       int `json:"cost_fit"`
	Health        int `json:"health"`
	Starvation    int `json:"starvation"`
	AntiAffinity  int `json:"anti_affinity"`
}

// Parts are what a score is made of, each from -1 to 1.
type Parts struct {
	CapabilityFit float64 `json:"capability_fit"`
	Affinity      float64 `json:"affinity"`
	Load          float64 `json:"load"`
	CostFit       float64 `json:"cost_fit"`
	Health        float64 `json:"health"`
	Starvation    float64 `json:"starvation"`
	AntiAffinity  float64 `json:"anti_affinity"`
}

// Fact is what a part is computed from, for the pages and the documentation.
type Fact struct{ Name, Text string }

// Facts are those of the parts, in their order.
var Facts = []Fact{
	{"capability_fit", "how common everything is that the factory offers and the job does not need, among the factories looked at"},
	{"affinity", "how long ago the factory worked in the job's repository, and whether it made the job's last attempt"},
	{"load", "the share of the factory's seats that are free"},
	{"cost_fit", "whether the factory runs a model of the job's tier, by the models of the product"},
	{"health", "attempts that failed or were lost there in the last hour, against those that were completed"},
	{"starvation", "how long the job is ready; the same for each factory"},
	{"anti_affinity", "attempts of this job that failed or were lost there"},
}

// List returns the parts in the order of Facts.
func (p Parts) List() []float64 {
	return []float64{p.CapabilityFit, p.Affinity, p.Load, p.CostFit, p.Health, p.Starvation, p.AntiAffinity}
}

const (
	// repoHalfLife is in what time half of what a copy of a repository is worth is gone.
	repoHalfLife = 4 * time.Hour
	// attemptHalfLife is that of having made the last attempt of a job.
	attemptHalfLife = 30 * time.Minute
	// ageing is for how long a job is ready when its age counts neither for nor against it.
	ageing = 10 * time.Minute
	// What warmth of the repository, and the last attempt, can add to affinity.
	repoShare, attemptShare = 0.6, 0.4
)

// mean weighs the parts. It is 0 where nothing counts.
func (w Weights) mean(p Parts) float64 {
	values := p.List()
	var sum, total float64
	for i, weight := range []int{w.CapabilityFit, w.Affinity, w.Load, w.CostFit, w.Health, w.Starvation, w.AntiAffinity} {
		sum += float64(weight) * values[i]
		total += float64(weight)
	}
	if total <= 0 {
		return 0
	}
	return round(sum / total)
}

// parts are those of the candidate at i.
func (f Fleet) parts(j Job, i int) Parts {
	c := f.list[i]
	return Parts{
		CapabilityFit: round(capabilityFit(j, f.spare[i])),
		Affinity:      round(affinity(j, c)),
		Load:          round(load(c)),
		CostFit:       round(costFit(j, c)),
		Health:        round(health(c)),
		Starvation:    round(1 - 2*halved(j.Waiting, ageing)),
		AntiAffinity:  round(antiAffinity(j, c)),
	}
}

// countOffers finds out how rare it is what each candidate offers.
func (f *Fleet) countOffers() {
	count := map[string]int{}
	all := make([][]string, len(f.list))
	for i, c := range f.list {
		for _, k := range c.Kinds {
			all[i] = append(all[i], k.Offers...)
		}
		slices.Sort(all[i])
		all[i] = slices.Compact(all[i])
		for _, token := range all[i] {
			count[token]++
		}
	}
	f.spare = make([][]offered, len(f.list))
	for i := range f.list {
		for _, token := range all[i] {
			rarity := 1 - float64(count[token]-1)/float64(max(1, len(f.list)-1))
			if len(f.list) == 1 {
				rarity = 0
			}
			f.spare[i] = append(f.spare[i], offered{token, rarity})
		}
		slices.SortStableFunc(f.spare[i], func(a, b offered) int { return cmp.Compare(b.rarity, a.rarity) })
	}
}

// capabilityFit is low of a factory that something rare would be wasted of: what is rarest of what
// the job does not need.
func capabilityFit(j Job, offers []offered) float64 {
	for _, o := range offers {
		if !slices.Contains(j.Needs, o.token) {
			return 1 - 2*o.rarity
		}
	}
	return 1
}

// affinity is that of a warm copy of the repository, and of the last attempt where that did not end
// badly.
func affinity(j Job, c Candidate) float64 {
	value := 0.0
	if j.Repo != "" {
		warm := 0.0
		if ago, worked := c.Worked[j.Repo]; worked {
			warm = halved(ago, repoHalfLife)
		}
		value = repoShare * (2*warm - 1)
	}
	if len(j.Attempts) > 0 && j.Attempts[0].Factory == c.Factory && !j.Attempts[0].Bad {
		value += attemptShare * halved(j.Attempts[0].Ago, attemptHalfLife)
	}
	return value
}

func load(c Candidate) float64 {
	if c.Seats <= 0 {
		return -1
	}
	return 2*float64(min(max(c.Free, 0), c.Seats))/float64(c.Seats) - 1
}

// costFit is 1 of a factory that runs the tier of a job, and 0 where either is not known. Too large a
// model costs more than is needed; too small a one may fail.
func costFit(j Job, c Candidate) float64 {
	wanted := tierRank(j.Tier)
	if wanted < 0 {
		return 0
	}
	value, known := -1.0, false
	for _, runs := range c.Runs {
		for _, t := range j.TierBy[runs] {
			rank := tierRank(t)
			if rank == wanted {
				return 1
			}
			if known = true; rank > wanted {
				value = max(value, -0.5*float64(rank-wanted))
			}
		}
	}
	if !known {
		return 0
	}
	return value
}

func tierRank(tier string) int { return slices.Index([]string{"small", "standard", "large"}, tier) }

// health counts a lost attempt twice: nobody even learned how it ended.
func health(c Candidate) float64 {
	bad := float64(max(0, c.Failed) + 2*max(0, c.Lost))
	return 1 - 2*bad/(float64(max(0, c.Completed))+bad+1)
}

func antiAffinity(j Job, c Candidate) float64 {
	n := 0
	for _, a := range j.Attempts {
		if a.Bad && a.Factory == c.Factory {
			n++
		}
	}
	return math.Pow(0.25, float64(n)) - 1
}

// halved is 1 at first, and a half after each half-life.
func halved(ago, halfLife time.Duration) float64 {
	return math.Exp2(-float64(max(0, ago)) / float64(halfLife))
}

// round leaves four digits, so that a stored decision is the same one.
func round(x float64) float64 {
	return math.Round(x*1e4)/1e4 + 0
}
