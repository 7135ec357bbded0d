package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of what an agent may say of itself and of its factory; see TestLimitsAgree of
// handlers/api.
const (
	MaxName             = 64 // of an agent, a factory or a model
	MaxRepo             = 128
	MaxURL              = 500
	MaxHost             = 255
	MaxCapabilities     = 64
	MaxEngines          = 32
	MaxRepos            = 200
	MaxUnavailable      = 100
	MaxRescued          = 50
	MaxWhy              = 500  // why something is not offered, or was moved aside
	MaxPath             = 1000 // of what was moved aside
	MaxRescuedName      = 255
	MaxSeats            = 1000
	MaxConcurrentJobs   = 100
	MaxBootID           = 128
	MaxHeartbeatSeconds = 60 * 60
	MaxStaleSeconds     = 24 * 60 * 60
)

// Defaults fills in what an agent left out.
func (r Registration) Defaults() Registration {
	if r.MaxConcurrentJobs == 0 {
		r.MaxConcurrentJobs = 1
	}
	if r.HeartbeatIntervalSeconds == 0 {
		r.HeartbeatIntervalSeconds = 10
	}
	if len(r.Roles) == 0 {
		r.Roles = []string{tenancy.AgentWorker}
	}
	r.Factory = r.Factory.Defaults()
	return r
}

// Defaults fills in what was left out of a factory's description.
func (f FactoryInfo) Defaults() FactoryInfo {
	if f.Seats == 0 {
		f.Seats = 1
	}
	return f
}

// Check refuses a registration with Validation, or with Forbidden where the
// enrolment token's scope does not allow it.
func (r Registration) Check(scope tenancy.Scope) error {
	p := fault.Problems{}
	named(p, "agent", r.Agent, MaxName)
	p.Line("model", r.Model, MaxName)
	p.Line("provider", r.Provider, MaxName)
	p.Capabilities("capabilities", r.Capabilities, MaxCapabilities)
	p.Number("max_concurrent_jobs", r.MaxConcurrentJobs, 1, MaxConcurrentJobs)
	p.Number("heartbeat_interval_seconds", r.HeartbeatIntervalSeconds, 1, MaxHeartbeatSeconds)
	if r.StaleAfterSeconds != nil {
		p.Number("stale_after_seconds", *r.StaleAfterSeconds, 1, MaxStaleSeconds)
	}
	p.Line("boot_id", r.BootID, MaxBootID)
	if r.BootID == "" {
		p.Add("boot_id", "It must be given: something new on every start.")
	}
	if len(r.Roles) > tenancy.MaxAgentRoles {
		p.Add("roles", "It must have at most %d entries.", tenancy.MaxAgentRoles)
	}
	for i, name := range r.Roles {
		if !tenancy.IsAgentRole(name) {
			p.Add(fmt.Sprintf("roles[%d]", i), "It must be worker, orchestrator, reviewer or custom:<name>.")
		}
	}
	r.Factory.check(p)
	if err := p.Err(); err != nil {
		return err
	}
	return r.inScope(scope)
}

// CheckRoles refuses, with Forbidden, roles that an enrolment token does not allow; one
// that names none allows worker.
func (r Registration) CheckRoles(allowed []string) error {
	if len(allowed) == 0 {
		allowed = []string{tenancy.AgentWorker}
	}
	for _, name := range r.Roles {
		if !slices.Contains(allowed, name) {
			return fault.New(fault.Forbidden, "This enrolment token does not allow the role %s; it allows %s.", name,
				strings.Join(allowed, ", "))
		}
	}
	return nil
}

// Check refuses a factory's description with Validation.
func (f FactoryInfo) Check() error {
	p := fault.Problems{}
	f.check(p)
	return p.Err()
}

// named checks a name that is needed. Agents and factories are addressed by
// theirs, so that a slash cannot be part of it.
func named(p fault.Problems, field, s string, limit int) {
	if s == "" || slices.Contains([]rune(s), '/') {
		p.Add(field, "A name is needed, of letters, digits and . _ @ -.")
	}
	p.Name(field, s, limit)
}

func (f FactoryInfo) check(p fault.Problems) {
	named(p, "factory.name", f.Name, MaxName)
	if f.OS != "" {
		p.Capabilities("factory.os", []string{"os:" + f.OS}, 1)
	}
	p.Line("factory.host", f.Host, MaxHost)
	p.Name("factory.pool", f.Pool, MaxName)
	p.Capabilities("factory.engines", f.Engines, MaxEngines)
	p.Capabilities("factory.capabilities", f.Capabilities, MaxCapabilities)
	p.Number("factory.seats", f.Seats, 1, MaxSeats)
	if len(f.Repos) > MaxRepos {
		p.Add("factory.repos", "It must have at most %d entries.", MaxRepos)
		return
	}
	for i, repo := range f.Repos {
		at := fmt.Sprintf("factory.repos[%d].", i)
		p.Repo(at+"name", repo.Name, MaxRepo)
		if repo.Name == "" {
			p.Add(at+"name", "A repo needs a name.")
		}
		p.Line(at+"url", repo.URL, MaxURL)
		p.Line(at+"default_branch", repo.DefaultBranch, MaxRepo)
	}
	f.checkUnavailable(p)
	f.checkRescued(p)
}

func (f FactoryInfo) checkUnavailable(p fault.Problems) {
	if len(f.Unavailable) > MaxUnavailable {
		p.Add("factory.unavailable", "It must have at most %d entries.", MaxUnavailable)
		return
	}
	for i, u := range f.Unavailable {
		at := fmt.Sprintf("factory.unavailable[%d].", i)
		if u.Kind != UnavailableEngine && u.Kind != UnavailableRepo {
			p.Add(at+"kind", "It must be engine or repo.")
		}
		p.Line(at+"name", u.Name, MaxRepo)
		if u.Name == "" {
			p.Add(at+"name", "It must be named.")
		}
		p.Line(at+"reason", u.Reason, MaxWhy)
	}
}

func (f FactoryInfo) checkRescued(p fault.Problems) {
	if len(f.Rescued) > MaxRescued {
		p.Add("factory.rescued", "It must have at most %d entries.", MaxRescued)
		return
	}
	for i, r := range f.Rescued {
		at := fmt.Sprintf("factory.rescued[%d].", i)
		p.Line(at+"name", r.Name, MaxRescuedName)
		if r.Name == "" {
			p.Add(at+"name", "It must be named.")
		}
		p.Line(at+"path", r.Path, MaxPath)
		p.Line(at+"why", r.Why, MaxWhy)
	}
}

// inScope checks a registration against the token it came with.
func (r Registration) inScope(scope tenancy.Scope) error {
	if err := r.Factory.InScope(scope); err != nil {
		return err
	}
	return allowed(scope, r.Capabilities)
}

// InScope refuses, with Forbidden, a description of a factory that a token's
// scope does not allow: another factory, or a capability that is not among those
// it names. What system, engines and the agent itself offer counts as well;
// repos do not, for products limit them.
func (f FactoryInfo) InScope(scope tenancy.Scope) error {
	if scope.Factory != "" && scope.Factory != f.Name {
		return fault.New(fault.Forbidden, "This enrolment token is for the factory %s only.", scope.Factory)
	}
	return allowed(scope, Offers(f.OS, f.Engines, f.Capabilities, nil))
}

// allowed refuses what a token does not let an agent or a factory advertise. A
// repo is advertised by the list of repos and not as a capability.
func allowed(scope tenancy.Scope, offered []string) error {
	if len(scope.Capabilities) == 0 {
		return nil
	}
	if outside := missing(offered, scope.Capabilities); len(outside) > 0 {
		return fault.New(fault.Forbidden, "This enrolment token does not allow the capability %s.", outside[0])
	}
	return nil
}

// Within returns the part of what an agent and its factory advertise that a token's
// scope allows: another agent may have described the factory they share with
// more. Repos stay; the order is kept.
func Within(scope tenancy.Scope, offered []string) []string {
	if len(scope.Capabilities) == 0 {
		return offered
	}
	return slices.DeleteFunc(slices.Clone(offered), func(token string) bool {
		return !strings.HasPrefix(token, "repo:") && !slices.Contains(scope.Capabilities, token)
	})
}
