package pools

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Limits of pools; see TestLimitsAgree of handlers/api.
const (
	MaxPools     = 100  // of a workspace
	MaxSeats     = 100  // of a factory
	MaxFactories = 1000 // of a pool
	MaxJobs      = 10000
	MaxCoolDown  = 24 * 60 * 60
	// DefaultCoolDown is the cool-down of a pool that names none, in seconds.
	DefaultCoolDown = 300
	MaxProducts     = 100
	MaxDetail       = 500 // of why a factory has ended
)

// Offers is what each factory of a pool would offer.
type Offers struct {
	OS           string   `json:"os"`
	Engines      []string `json:"engines"`
	Capabilities []string `json:"capabilities"`
	Repos        []string `json:"repos"`
	Seats        int      `json:"seats"`
}

// Tokens returns the set that such a factory would advertise.
func (o Offers) Tokens() []string {
	repos := make([]fleet.Repo, len(o.Repos))
	for i, name := range o.Repos {
		repos[i].Name = name
	}
	return fleet.Offers(o.OS, o.Engines, o.Capabilities, repos)
}

// Template is what people set of a pool.
type Template struct {
	Offers          Offers   `json:"offers"`
	Min             int      `json:"min"`
	Max             int      `json:"max"`
	MinIdle         int      `json:"min_idle"`
	CoolDownSeconds int      `json:"cool_down_seconds"`
	ProductScope    []string `json:"product_scope"`
}

// Pool is a named template of factories, and how many of them there are.
type Pool struct {
	Template

	ID        ids.ID
	Name      string
	CreatedAt time.Time
	UpdatedAt time.Time
	Live      int // factories that live and take jobs
	Draining  int // factories that live and take none
	Starting  int // factories that a scaler starts and that have not registered
	Running   int // jobs that its factories hold
	Offered   int // ready jobs that are offered to its factories
	// ColdStart is the middle of the last starts that were measured, 0 where none was.
	ColdStart time.Duration
	// Stalled says that for ten minutes it has needed more factories than there were, and none was
	// being started.
	Stalled bool

	tokens []string
}

// ColdStartSeconds is the measured cold start in whole seconds, at least 1; nil where none was
// measured.
func (p Pool) ColdStartSeconds() *int {
	if p.ColdStart <= 0 {
		return nil
	}
	seconds := max(1, int(p.ColdStart.Round(time.Second)/time.Second))
	return &seconds
}

// AtMaximum reports whether no further factory may be started.
func (p Pool) AtMaximum() bool { return p.Live+p.Draining+p.Starting >= p.Max }

// fits reports whether a factory of the pool could run jobs that need some tokens.
func (p Pool) fits(product string, needs []string) bool {
	return (len(p.ProductScope) == 0 || slices.Contains(p.ProductScope, product)) &&
		!slices.ContainsFunc(needs, func(token string) bool {
			// A factory that is started has new agents.
			return !slices.Contains(p.tokens, token) && !strings.HasPrefix(token, distinct.NotAgents)
		})
}

// room is how many jobs the pool can still take when it has grown to its maximum.
func (p Pool) room() int { return max(0, p.Max*p.Offers.Seats-p.Running-p.Offered) }

// check refuses a template with Validation.
func (t Template) check(name string) error {
	p := fault.Problems{}
	if name == "" || strings.Contains(name, "/") {
		p.Add("name", "A name is needed, of letters, digits and . _ @ -.")
	}
	p.Name("name", name, fleet.MaxName)
	if t.Offers.OS != "" {
		p.Capabilities("offers.os", []string{"os:" + t.Offers.OS}, 1)
	}
	engines := make([]string, len(t.Offers.Engines))
	for i, e := range t.Offers.Engines {
		engines[i] = "engine:" + e
	}
	p.Capabilities("offers.engines", engines, fleet.MaxEngines)
	p.Capabilities("offers.capabilities", t.Offers.Capabilities, fleet.MaxCapabilities)
	p.List("offers.repos", t.Offers.Repos, fleet.MaxRepos, fleet.MaxRepo)
	for i, repo := range t.Offers.Repos {
		p.Repo(fmt.Sprintf("offers.repos[%d]", i), repo, fleet.MaxRepo)
	}
	p.Number("offers.seats", t.Offers.Seats, 1, MaxSeats)
	p.Number("max", t.Max, 0, MaxFactories)
	p.Number("min", t.Min, 0, max(0, t.Max))
	p.Number("min_idle", t.MinIdle, 0, max(0, t.Max))
	if t.Max*t.Offers.Seats > MaxJobs {
		p.Add("max", "Its factories must have at most %d seats together (they would have %d).", MaxJobs, t.Max*t.Offers.Seats)
	}
	p.Number("cool_down_seconds", t.CoolDownSeconds, 0, MaxCoolDown)
	p.List("product_scope", t.ProductScope, MaxProducts, fleet.MaxName)
	return p.Err()
}

// normal returns the template with each list sorted and without repetitions.
func (t Template) normal() Template {
	for _, list := range []*[]string{&t.Offers.Engines, &t.Offers.Capabilities, &t.Offers.Repos, &t.ProductScope} {
		sorted := append([]string{}, *list...)
		slices.Sort(sorted)
		*list = slices.Compact(sorted)
	}
	return t
}
