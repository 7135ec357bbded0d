package fleet

import (
	"slices"
	"time"
)

// Kinds of what a factory may not offer.
const (
	UnavailableEngine = "engine"
	UnavailableRepo   = "repo"
)

// Unavailable is an engine or a repository that a host has and does not offer now.
type Unavailable struct {
	Kind   string    `json:"kind"`
	Name   string    `json:"name"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"` // by the host's clock
}

// token returns what the factory would offer of it.
func (u Unavailable) token() string { return u.Kind + ":" + u.Name }

// Rescued is work that a host could not save otherwise and has moved aside, until a person
// removes it.
type Rescued struct {
	Name  string    `json:"name"`
	Path  string    `json:"path"`
	Why   string    `json:"why"`
	Since time.Time `json:"since"` // by the host's clock
}

// hasNoEngine reports whether the factory takes no job for want of an engine. One that never
// named an engine may work without.
func (f Factory) hasNoEngine() bool {
	return len(f.Engines) == 0 && len(f.unavailable(UnavailableEngine)) > 0
}

// TakesJobs reports whether the factory lives, does not drain, and has an engine that works.
func (f Factory) TakesJobs() bool { return f.Live() && !f.Draining && !f.hasNoEngine() }

// unavailable returns those of a kind.
func (f Factory) unavailable(kind string) (list []Unavailable) {
	for _, u := range f.Unavailable {
		if u.Kind == kind {
			list = append(list, u)
		}
	}
	return list
}

// explainMissing returns those that it has of what is missing, but does not offer now.
func (f Factory) explainMissing(missing []string) (list []Unavailable) {
	for _, u := range f.Unavailable {
		if slices.Contains(missing, u.token()) {
			list = append(list, u)
		}
	}
	return list
}
