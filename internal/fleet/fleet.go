package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/natural"
)

// Health is how alive an agent or a factory is.
type Health string

// The healths, from best to worst, and that of an agent or factory that has ended.
const (
	Healthy Health = "healthy"
	Warn    Health = "warn"
	Stale   Health = "stale"
	Dead    Health = "dead"
	// Ended is the health of a process that reported its end: no heartbeats are expected.
	Ended Health = "ended"
)

// Missed intervals after which an agent is warned of, stale and dead
// (docs/concepts.md). An agent that names its own stale time keeps the
// proportions.
const (
	warnAfter  = 3
	staleAfter = 10
	deadAfter  = 30
)

// Repo is a repository that a factory holds.
type Repo struct {
	Name          string `json:"name"`
	URL           string `json:"url,omitempty"`
	DefaultBranch string `json:"default_branch,omitempty"`
}

// Agent is a registered worker identity inside a factory.
type Agent struct {
	ID       ids.ID `json:"id"`
	Name     string `json:"name"`
	Model    string `json:"model"`
	Provider string `json:"provider"` // whose models it works with, "" where that is unknown
	// HeldUntil is when its provider takes requests again, nil where it does now.
	HeldUntil                *time.Time `json:"held_until"`
	Roles                    []string   `json:"roles"` // what messages address it as
	Factory                  string     `json:"factory"`
	Capabilities             []string   `json:"capabilities"`
	Products                 []string   `json:"-"` // whose jobs it may have; none is all
	MaxConcurrentJobs        int        `json:"max_concurrent_jobs"`
	HeartbeatIntervalSeconds int        `json:"heartbeat_interval_seconds"`
	StaleAfterSeconds        *int       `json:"stale_after_seconds"`
	BootID                   string     `json:"-"`
	Status                   string     `json:"status"` // idle, working or blocked, as it said itself
	MemoryMB                 *int       `json:"memory_mb"`
	CPUPercent               *float64   `json:"cpu_percent"`
	LastHeartbeatAt          time.Time  `json:"last_heartbeat_at"`
	Host                     string     `json:"-"`          // where it registered, "" where that is unknown
	Terminated               bool       `json:"terminated"` // by a person
	HasEnded                 bool       `json:"-"`          // it said so or lost its factory, and is given nothing until it registers again
	Graceful                 bool       `json:"-"`          // it was, and may end its jobs
	TerminateReason          string     `json:"terminate_reason"`
	CutOff                   bool       `json:"-"`            // ended with all its tokens
	Taken                    int        `json:"current_jobs"` // of its seats
	Follows                  int        `json:"-"`            // pull requests, which take no seat
	Health                   Health     `json:"health"`
	CreatedAt                time.Time  `json:"created_at"`
	RegisteredAt             time.Time  `json:"registered_at"`
}

// HealthAt returns the agent's health at a time of the database's clock. An agent
// that a person ended at once is dead.
func (a Agent) HealthAt(now time.Time) Health {
	if a.HasEnded {
		return Ended
	}
	if a.Terminated && !a.Graceful {
		return Dead
	}
	interval := time.Duration(a.HeartbeatIntervalSeconds) * time.Second
	if a.StaleAfterSeconds != nil {
		interval = time.Duration(*a.StaleAfterSeconds) * time.Second / staleAfter
	}
	switch age := now.Sub(a.LastHeartbeatAt); {
	case age >= deadAfter*interval:
		return Dead
	case age >= staleAfter*interval:
		return Stale
	case age >= warnAfter*interval:
		return Warn
	}
	return Healthy
}

// NextBeat returns when the agent's next heartbeat is expected.
func (a Agent) NextBeat() time.Time {
	return a.LastHeartbeatAt.Add(time.Duration(a.HeartbeatIntervalSeconds) * time.Second)
}

// TakesJobs reports whether the agent lives and was not ended.
func (a Agent) TakesJobs() bool { return a.Health.lives() && !a.Terminated }

func (h Health) lives() bool { return h != Dead && h != Ended }

// Idle reports whether the agent could take one more job of its own.
func (a Agent) Idle() bool { return a.HeldUntil == nil && a.hasSeat() }

// serves reports whether the agent lacks none of some needs, and has capacity for them: one that
// follows as many pull requests as it may takes no further ones.
func (a Agent) serves(needs, lacks []string) bool {
	return len(lacks) == 0 && (a.Follows < MaxFollowed || !slices.Contains(needs, OpensPullRequests))
}

func (a Agent) hasSeat() bool { return a.TakesJobs() && a.Taken < a.MaxConcurrentJobs }

// Factory is a worker host, as its agents last described it.
type Factory struct {
	ID           ids.ID        `json:"id"`
	Name         string        `json:"name"`
	OS           string        `json:"os"`
	Host         string        `json:"host"`
	Pool         string        `json:"pool"` // that it belongs to, "" where it belongs to none
	Engines      []string      `json:"engines"`
	Capabilities []string      `json:"capabilities"`
	Repos        []Repo        `json:"repos"`
	Unavailable  []Unavailable `json:"unavailable"`
	Rescued      []Rescued     `json:"rescued"`
	Seats        int           `json:"seats"`
	Taken        int           `json:"seats_taken"` // seats with a job
	Draining     bool          `json:"draining"`
	DrainedBy    string        `json:"drained_by"`
	DrainedAt    *time.Time    `json:"drained_at"`
	CreatedAt    time.Time     `json:"created_at"`
	UpdatedAt    time.Time     `json:"updated_at"`
	Agents       []Agent       `json:"-"`
	LastBeatAt   time.Time     `json:"-"`      // of its agent that was seen last
	EndedAt      *time.Time    `json:"-"`      // when the last of its agents that lived ended
	Health       Health        `json:"health"` // that of the best of its agents that live; else Dead, or Ended where EndedAt is set
}

// healthRank orders healths, the best first.
var healthRank = map[Health]int{Healthy: 0, Warn: 1, Stale: 2, Dead: 3, Ended: 3}

// add adds an agent to the factory, whose health becomes that of its best agent.
func (f *Factory) add(a Agent, now time.Time) {
	a.Health = a.HealthAt(now)
	f.Agents = append(f.Agents, a)
	if a.LastHeartbeatAt.After(f.LastBeatAt) {
		f.LastBeatAt = a.LastHeartbeatAt
	}
	if a.Health.lives() && healthRank[a.Health] < healthRank[f.Health] {
		f.Health = a.Health
	}
}

// Live reports whether one of the factory's agents is not dead and did not end.
func (f Factory) Live() bool { return f.Health.lives() }

// Free returns how many jobs the factory could take now: free seats that its live agents can
// fill. None while it drains, or has no engine that works.
func (f Factory) Free() int {
	if f.Draining || f.hasNoEngine() {
		return 0
	}
	capacity := 0
	for _, a := range f.Agents {
		if a.Idle() {
			capacity += a.MaxConcurrentJobs - a.Taken
		}
	}
	return max(0, min(f.Seats-f.Taken, capacity))
}

// Offers returns what the factory advertises, as a sorted set: its capabilities,
// os:<os>, engine:<engine> and repo:<name> for each. Its agents' own capabilities are not
// among them.
func (f Factory) Offers() []string {
	return Offers(f.OS, f.Engines, f.Capabilities, f.Repos)
}

// Offers returns the advertised set of a factory described by its parts.
func Offers(system string, engines, capabilities []string, repos []Repo) []string {
	set := slices.Clone(capabilities)
	if system != "" {
		set = append(set, "os:"+system)
	}
	for _, e := range engines {
		set = append(set, "engine:"+e)
	}
	for _, r := range repos {
		set = append(set, "repo:"+r.Name)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Snapshot is the fleet at one moment, dead factories included, by name.
type Snapshot struct {
	Now       time.Time
	Factories []Factory
	Stops     Stops
	// Touches: an agent has said which files it touches, so that jobs may collide.
	Touches bool
}

// Needs is what a job requires of a factory.
type Needs struct {
	Repo         string
	Capabilities []string
	Factory      string
}

// Tokens returns what an advertised set must have, sorted.
func (n Needs) Tokens() []string {
	tokens := slices.Clone(n.Capabilities)
	if n.Repo != "" {
		tokens = append(tokens, "repo:"+n.Repo)
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// Why a factory cannot run a job.
const (
	ReasonMissing      = "missing"
	ReasonOtherFactory = "other_factory"
	ReasonDraining     = "draining"
	ReasonDead         = "dead"
	ReasonEnded        = "ended"
	ReasonUnavailable  = "unavailable" // it has no engine that works now
)

// Fit says how well one factory fits a job.
type Fit struct {
	Factory Factory
	Missing []string // needed tokens that neither it nor its best agent has
	// Unavailable are those of what is missing that it would have, but for a reason; with
	// ReasonUnavailable its engines.
	Unavailable []Unavailable
	Reason      string   // "" where it can run the job
	Free        int      // seats that could take it now
	IdleAgents  []string // agents that could take it now, by name
	// Held is the agent that could take it first, of those that only their providers keep
	// from it; nil where there is none.
	Held *Agent
}

// Routing splits the fleet by whether a job can run there. Ineligible factories
// come with the nearest miss first.
type Routing struct {
	Eligible, Ineligible []Fit
}

// Route says for each factory whether it can run a job with these needs. A
// factory with all seats taken can; one that drains, is dead, lacks something,
// or is not the one named, cannot.
func (s Snapshot) Route(n Needs) Routing {
	var r Routing
	for _, f := range s.Factories {
		fit := f.fit(n)
		if fit.Reason == "" {
			r.Eligible = append(r.Eligible, fit)
		} else {
			r.Ineligible = append(r.Ineligible, fit)
		}
	}
	slices.SortStableFunc(r.Ineligible, func(a, b Fit) int {
		return cmp.Or(cmp.Compare(len(a.Missing), len(b.Missing)), cmp.Compare(len(b.Unavailable), len(a.Unavailable)),
			natural.Compare(a.Factory.Name, b.Factory.Name))
	})
	return r
}

// HasOther reports whether some agent that takes jobs may have those with these needs, of a factory or ""
// for any, where they keep agents away by who they are; true where they keep nobody away.
func (s Snapshot) HasOther(needs []string, factory string) bool {
	if !slices.ContainsFunc(needs, distinct.Is) {
		return true
	}
	return slices.ContainsFunc(s.Factories, func(f Factory) bool {
		if !f.TakesJobs() || factory != "" && factory != f.Name {
			return false
		}
		offers := f.Offers()
		return slices.ContainsFunc(f.Agents, func(a Agent) bool { return a.TakesJobs() && len(a.lacks(needs, offers)) == 0 })
	})
}

// HasFree reports whether one of the factories could take the job now.
func (r Routing) HasFree() bool {
	return slices.ContainsFunc(r.Eligible, func(fit Fit) bool { return fit.Free > 0 })
}

// Takers returns the agents that could take a job with these needs now; where none could, those
// that could but are busy.
func (r Routing) Takers(n Needs) []Agent {
	var idle, busy []Agent
	for _, fit := range r.Eligible {
		offers, needs := fit.Factory.Offers(), n.Tokens()
		for _, a := range fit.Factory.Agents {
			switch {
			case !a.TakesJobs() || len(a.lacks(needs, offers)) > 0:
			case a.serves(needs, nil) && a.Idle() && fit.Free > 0:
				idle = append(idle, a)
			default:
				busy = append(busy, a)
			}
		}
	}
	if len(idle) > 0 {
		return idle
	}
	return busy
}

func (f Factory) fit(n Needs) Fit {
	fit := Fit{Factory: f}
	offers, needs := f.Offers(), n.Tokens()
	fit.Missing = f.missing(needs, offers)
	capable, ending := 0, f.Live()
	for _, a := range f.Agents {
		if !a.TakesJobs() {
			continue
		}
		ending = false
		lacks := a.lacks(needs, offers)
		fit.Missing = nearest(fit.Missing, lacks)
		if a.serves(needs, lacks) && a.Idle() {
			capable += a.MaxConcurrentJobs - a.Taken
			fit.IdleAgents = append(fit.IdleAgents, a.Name)
		}
		if len(lacks) == 0 && a.hasSeat() && a.HeldUntil != nil && (fit.Held == nil || a.HeldUntil.Before(*fit.Held.HeldUntil)) {
			fit.Held = &a
		}
	}
	switch {
	case n.Factory != "" && n.Factory != f.Name:
		fit.Reason = ReasonOtherFactory
	case len(fit.Missing) > 0:
		fit.Reason = ReasonMissing
	case f.Health == Ended:
		fit.Reason = ReasonEnded
	case !f.Live():
		fit.Reason = ReasonDead
	case f.Draining || ending:
		fit.Reason = ReasonDraining
	case f.hasNoEngine():
		fit.Reason, fit.Unavailable = ReasonUnavailable, f.unavailable(UnavailableEngine)
	default:
		fit.Free = max(0, min(f.Seats-f.Taken, capable))
	}
	if len(fit.Missing) > 0 {
		fit.Unavailable = f.explainMissing(fit.Missing)
	}
	return fit
}

// missing returns the needs that the factory by itself does not meet. Who is kept away by who they are is
// asked of agents alone: of a factory with agents that take jobs, everybody is at first.
func (f Factory) missing(needs, offers []string) []string {
	if !slices.ContainsFunc(f.Agents, Agent.TakesJobs) {
		needs = distinct.Without(needs)
	}
	return missing(needs, offers)
}

// nearest returns the shorter list, the first of such as are equally long.
func nearest(a, b []string) []string {
	if len(b) < len(a) {
		return b
	}
	return a
}

// lacksAny reports whether the factory lacks any of the needs itself, so that its agents' own
// capabilities matter.
func (f Factory) lacksAny(needs []Needs) bool {
	offers := f.Offers()
	return slices.ContainsFunc(needs, func(n Needs) bool { return len(missing(n.Tokens(), offers)) > 0 })
}

// lacks returns the needs of a job that the agent of a factory with these offers does not meet.
func (a Agent) lacks(needs, offers []string) []string {
	lacks := missing(distinct.Without(needs), offers, a.Capabilities)
	who := distinct.Agent{Name: a.Name, Model: a.Model, Provider: a.Provider}
	for _, need := range distinct.Among(needs) {
		if !who.Passes([]string{need}) {
			lacks = append(lacks, need)
		}
	}
	return lacks
}

// missing returns the needs that none of the sets has.
func missing(needs []string, sets ...[]string) []string {
	var lacks []string
	for _, need := range needs {
		if !slices.ContainsFunc(sets, func(set []string) bool { return slices.Contains(set, need) }) {
			lacks = append(lacks, need)
		}
	}
	return lacks
}

// Registration is how an agent presents itself.
type Registration struct {
	Agent                    string
	Model                    string
	Provider                 string // "" takes GuessProvider(Model)
	Capabilities             []string
	Products                 []string // whose jobs it may have; none is all
	MaxConcurrentJobs        int      // 0 is 1
	HeartbeatIntervalSeconds int      // 0 is 10
	StaleAfterSeconds        *int
	Factory                  FactoryInfo
	BootID                   string   // new on every start
	Roles                    []string // what messages address it as; none is worker
}

// FactoryInfo is how an agent describes its factory.
type FactoryInfo struct {
	Name         string
	OS           string
	Host         string
	Engines      []string
	Capabilities []string
	Repos        []Repo
	Unavailable  []Unavailable
	Rescued      []Rescued
	Seats        int    // 0 is 1
	Pool         string // that it belongs to, said when it registers; "" is none
}
