package setting

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Mode is who decides which agent gets a job.
type Mode string

// The modes. Pull gives a job to the agent that asks first. Shadow does too, and keeps which factory
// would have suited the job best. Targeted offers a job to the factories that suit it best first.
const (
	Pull     Mode = "pull"
	Shadow   Mode = "shadow"
	Targeted Mode = "targeted"
)

// Modes are those that can be chosen.
var Modes = []Mode{Pull, Shadow, Targeted}

const (
	// MaxWeight bounds what one thing counts where factories are compared.
	MaxWeight = 10
	// MaxProductWeight bounds a product's share of what is given out.
	MaxProductWeight = 100
	// MaxAgeingMinutes is a week.
	MaxAgeingMinutes = 7 * 24 * 60
	// MaxNamed bounds how many products one change names.
	MaxNamed = 500
)

// Settings is how a workspace gives its jobs out.
type Settings struct {
	Mode Mode `json:"mode"`
	// OfferSeconds is how long an offer to a factory stands, and AffinitySeconds for how long a
	// job waits for the factory that has its files.
	OfferSeconds    int `json:"offer_seconds"`
	AffinitySeconds int `json:"affinity_seconds"`
	// Weights say what counts how much where factories are compared.
	Weights score.Weights `json:"weights"`
	// PreemptGap is by how much a job must be more urgent than one that runs to take its seat;
	// 0 is never.
	PreemptGap int `json:"preempt_gap"`
	// AgeingMinutes is after how many minutes a ready job counts as more urgent by one; 0 is never.
	AgeingMinutes int `json:"ageing_minutes"`
	// ProductWeights are the products' shares of what is given out, by name. Others weigh 1.
	ProductWeights map[string]int `json:"product_weights"`
	// ShortJobsFirst puts a ready job behind others that are as urgent by the minutes of its estimate.
	ShortJobsFirst bool `json:"short_jobs_first"`
}

// Default returns the settings of a workspace where nobody has changed any.
func Default() Settings {
	s := Settings{Mode: Pull, ProductWeights: map[string]int{}}
	for _, n := range Numbers {
		*n.At(&s) = n.Default
	}
	return s
}

// Number is a setting that is a whole number.
type Number struct {
	Name               string // as refusals name it
	Low, High, Default int
	At                 func(*Settings) *int
	// given returns what a change makes of it, nil for nothing.
	given func(Change) *int
}

// Numbers are all of them.
var Numbers = []Number{
	{"offer_seconds", 5, 300, 15, func(s *Settings) *int { return &s.OfferSeconds }, func(c Change) *int { return c.OfferSeconds }},
	{"affinity_seconds", 0, 60, 5, func(s *Settings) *int { return &s.AffinitySeconds }, func(c Change) *int { return c.AffinitySeconds }},
	{"preempt_gap", 0, 10, 0, func(s *Settings) *int { return &s.PreemptGap }, func(c Change) *int { return c.PreemptGap }},
	{"ageing_minutes", 0, MaxAgeingMinutes, 0, func(s *Settings) *int { return &s.AgeingMinutes },
		func(c Change) *int { return c.AgeingMinutes }},
	weight("capability_fit", 3, func(w *score.Weights) *int { return &w.CapabilityFit }),
	weight("affinity", 3, func(w *score.Weights) *int { return &w.Affinity }),
	weight("load", 2, func(w *score.Weights) *int { return &w.Load }),
	weight("cost_fit", 1, func(w *score.Weights) *int { return &w.CostFit }),
	weight("health", 3, func(w *score.Weights) *int { return &w.Health }),
	weight("starvation", 2, func(w *score.Weights) *int { return &w.Starvation }),
	weight("anti_affinity", 4, func(w *score.Weights) *int { return &w.AntiAffinity }),
}

func weight(name string, usual int, at func(*score.Weights) *int) Number {
	return Number{"weights." + name, 0, MaxWeight, usual, func(s *Settings) *int { return at(&s.Weights) }, func(c Change) *int {
		if n, given := c.Weights[name]; given {
			return &n
		}
		return nil
	}}
}

// Change is what a person changes; the rest stays.
type Change struct {
	Mode            *Mode          `json:"mode"`
	OfferSeconds    *int           `json:"offer_seconds"`
	AffinitySeconds *int           `json:"affinity_seconds"`
	Weights         map[string]int `json:"weights"`
	PreemptGap      *int           `json:"preempt_gap"`
	AgeingMinutes   *int           `json:"ageing_minutes"`
	// ProductWeights are those of the products that are named.
	ProductWeights map[string]int `json:"product_weights"`
	ShortJobsFirst *bool          `json:"short_jobs_first"`
}

func (c Change) check() error {
	p := fault.Problems{}
	if c.Mode != nil && !slices.Contains(Modes, *c.Mode) {
		p.Add("mode", "It must be pull, shadow or targeted.")
	}
	known := map[string]bool{}
	for _, n := range Numbers {
		known[n.Name] = true
		if v := n.given(c); v != nil {
			p.Number(n.Name, *v, n.Low, n.High)
		}
	}
	for name := range c.Weights {
		if !known["weights."+name] {
			p.Add("weights."+name, "There is no such weight.")
		}
	}
	if len(c.ProductWeights) > MaxNamed {
		p.Add("product_weights", "It must name at most %d products.", MaxNamed)
		return p.Err()
	}
	for name, n := range c.ProductWeights {
		p.Number(productField(name), n, 1, MaxProductWeight)
	}
	return p.Err()
}

// Topics is the prefix of the topics on which claims hear of changed settings.
const Topics = "dispatch:"

// Topic is published when a workspace's settings have changed.
func Topic(workspace ids.ID) string { return Topics + workspace.String() }

// ParseTopic reads what Topic has written.
func ParseTopic(topic string) (workspace ids.ID, ok bool) {
	return ids.Parse(strings.TrimPrefix(topic, Topics))
}

func productField(name string) string { return "product_weights." + name }

// apply returns the settings after the change.
func (c Change) apply(s Settings) Settings {
	if c.Mode != nil {
		s.Mode = *c.Mode
	}
	if c.ShortJobsFirst != nil {
		s.ShortJobsFirst = *c.ShortJobsFirst
	}
	for _, n := range Numbers {
		if v := n.given(c); v != nil {
			*n.At(&s) = *v
		}
	}
	s.ProductWeights = maps.Clone(s.ProductWeights)
	for name, n := range c.ProductWeights {
		if s.ProductWeights[name] = n; n == 1 {
			delete(s.ProductWeights, name)
		}
	}
	return s
}

// changes lists what differs from the settings of before.
func (s Settings) changes(before Settings) []eventlog.Change {
	var list []eventlog.Change
	note := func(field string, old, now any) {
		if old != now {
			list = append(list, eventlog.Change{Field: field, Old: old, New: now})
		}
	}
	note("mode", before.Mode, s.Mode)
	for _, n := range Numbers {
		note(n.Name, *n.At(&before), *n.At(&s))
	}
	note("short_jobs_first", before.ShortJobsFirst, s.ShortJobsFirst)
	names := maps.Clone(before.ProductWeights)
	maps.Copy(names, s.ProductWeights)
	for _, name := range slices.SortedFunc(maps.Keys(names), strings.Compare) {
		note(productField(name), cmp.Or(before.ProductWeights[name], 1), cmp.Or(s.ProductWeights[name], 1))
	}
	return list
}
