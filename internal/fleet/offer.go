package fleet

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Offer is what an agent, or a factory by itself, offers: sorted tokens, and where.
type Offer struct {
	Factory string
	Tokens  []string
	Who     distinct.Agent // the agent; nobody for a factory by itself
}

// Serves reports whether jobs with these needs, of this factory or "" for any, can be
// given to whoever makes the offer.
func (o Offer) Serves(needs []string, factory string) bool {
	return o.Has(needs, factory) && o.Who.Passes(needs)
}

// Has is Serves for jobs that keep nobody away by who they are.
func (o Offer) Has(needs []string, factory string) bool {
	if factory != "" && factory != o.Factory {
		return false
	}
	return !slices.ContainsFunc(needs, func(need string) bool {
		_, found := slices.BinarySearch(o.Tokens, need)
		return !found && !distinct.Is(need)
	})
}

// Allows reports whether a token's scope allows its agents jobs with these needs, of
// this factory or "" for any, whatever they offer. Repos do not count: products limit
// them.
func Allows(scope tenancy.Scope, needs []string, factory string) bool {
	needs = distinct.Without(needs)
	return (factory == "" || scope.Factory == "" || factory == scope.Factory) && len(Within(scope, needs)) == len(needs)
}
