package jobs

import (
	"slices"

	"fleetboard/internal/fault"
)

// Tier is the size of model that a job is worth.
type Tier string

// The tiers. NoTier leaves the choice to the estimate.
const (
	NoTier       Tier = ""
	TierSmall    Tier = "small"
	TierStandard Tier = "standard"
	TierLarge    Tier = "large"
)

// Tiers are those that a person may ask for, the smallest first.
var Tiers = []Tier{TierSmall, TierStandard, TierLarge}

func (t Tier) check(p fault.Problems, field string) {
	if t != NoTier && !slices.Contains(Tiers, t) {
		p.Add(field, "It must be small, standard or large.")
	}
}
