package fleet

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Offer is what an agent, or a factory by itself, offers: sorted tokens, and where.
type Offer struct {
	Factory string
	Tokens  []string
}

// Serves reports whether jobs with these needs, of this factory or "" for any, can be
// given to whoever makes the offer.
func (o Offer) Serves(needs []string, factory string) bool {
	if factory != "" && factory != o.Factory {
		return false
	}
	return !slices.ContainsFunc(needs, func(need string) bool {
		_, found := slices.BinarySearch(o.Tokens, need)
		return !found
	})
}

// Allows reports whether a token's scope allows its agents jobs with these needs, of
// this factory or "" for any, whatever they offer. Repos do not count: products limit
// them.
func Allows(scope tenancy.Scope, needs []string, factory string) bool {
	return (factory == "" || scope.Factory == "" || factory == scope.Factory) && len(Within(scope, needs)) == len(needs)
}
