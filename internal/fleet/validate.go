package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

// Limits of what an agent may say of itself, as in the schema.
const (
	maxName   = 64
	maxRepo   = 128
	maxURL    = 500
	maxTokens = 64
	maxRepos  = 200
	maxSeats  = 1000
	maxJobs   = 100
	maxBoot   = 128
)

var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]*$`)
	repoForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)
	tokenForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._+-]*(:[A-Za-z0-9][A-Za-z0-9._+/@-]*)?$`)
)

type problems map[string]string

func (p problems) add(field, format string, args ...any) {
	if _, taken := p[field]; !taken {
		p[field] = fmt.Sprintf(format, args...)
	}
}

func (p problems) text(field, s string, limit int) {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		p.add(field, "It holds characters that are not text.")
	}
	if n := utf8.RuneCountInString(s); n > limit {
		p.add(field, "It has %d characters; at most %d fit.", n, limit)
	}
}

func (p problems) name(field, s string, form *regexp.Regexp, limit int) {
	p.text(field, s, limit)
	if !form.MatchString(s) {
		p.add(field, "A name is needed, of letters, digits and . _ @ -.")
	}
}

func (p problems) tokens(field string, list []string) {
	if len(list) > maxTokens {
		p.add(field, "At most %d entries fit.", maxTokens)
		return
	}
	for i, token := range list {
		if len(token) > maxName || !tokenForm.MatchString(token) {
			p.add(fmt.Sprintf("%s[%d]", field, i), "It looks like has:git or node:20, at most 64 characters, in lower case before the colon.")
		}
	}
}

func (p problems) number(field string, n, low, high int) {
	if n < low || n > high {
		p.add(field, "It is %d; %d to %d is possible.", n, low, high)
	}
}

// Defaults fills in what an agent left out.
func (r Registration) Defaults() Registration {
	if r.MaxConcurrentJobs == 0 {
		r.MaxConcurrentJobs = 1
	}
	if r.HeartbeatIntervalSeconds == 0 {
		r.HeartbeatIntervalSeconds = 10
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
	p := problems{}
	p.name("agent", r.Agent, nameForm, maxName)
	p.text("model", r.Model, maxName)
	p.tokens("capabilities", r.Capabilities)
	p.number("max_concurrent_jobs", r.MaxConcurrentJobs, 1, maxJobs)
	p.number("heartbeat_interval_seconds", r.HeartbeatIntervalSeconds, 1, 3600)
	if r.StaleAfterSeconds != nil {
		p.number("stale_after_seconds", *r.StaleAfterSeconds, 1, 86400)
	}
	p.text("boot_id", r.BootID, maxBoot)
	if r.BootID == "" {
		p.add("boot_id", "It is needed: something new on every start.")
	}
	r.Factory.check(p, "factory.")
	if len(p) > 0 {
		return fault.InvalidFields(p)
	}
	return r.inScope(scope)
}

// Check refuses a factory's description with Validation.
func (f FactoryInfo) Check() error {
	p := problems{}
	if f.check(p, "factory."); len(p) > 0 {
		return fault.InvalidFields(p)
	}
	return nil
}

func (f FactoryInfo) check(p problems, at string) {
	p.name(at+"name", f.Name, nameForm, maxName)
	if f.OS != "" {
		p.tokens(at+"os", []string{"os:" + f.OS})
	}
	p.text(at+"host", f.Host, maxURL)
	p.tokens(at+"engines", f.Engines)
	p.tokens(at+"capabilities", f.Capabilities)
	p.number(at+"seats", f.Seats, 1, maxSeats)
	if len(f.Repos) > maxRepos {
		p.add(at+"repos", "At most %d entries fit.", maxRepos)
		return
	}
	for i, repo := range f.Repos {
		entry := fmt.Sprintf("%srepos[%d].", at, i)
		p.name(entry+"name", repo.Name, repoForm, maxRepo)
		p.text(entry+"url", repo.URL, maxURL)
		p.text(entry+"default_branch", repo.DefaultBranch, maxRepo)
	}
}

// inScope checks a registration against the token it came with.
func (r Registration) inScope(scope tenancy.Scope) error {
	if scope.Factory != "" && scope.Factory != r.Factory.Name {
		return fault.New(fault.Forbidden, "This enrolment token is for the factory %s only.", scope.Factory)
	}
	if len(scope.Capabilities) == 0 {
		return nil
	}
	offered := Offers(r.Factory.OS, r.Factory.Engines, append(r.Factory.Capabilities, r.Capabilities...), nil)
	if outside := missing(offered, scope.Capabilities); len(outside) > 0 {
		return fault.New(fault.Forbidden, "This enrolment token does not allow the capability %s.", outside[0])
	}
	return nil
}
