package db

import (
	"maps"
	"slices"
)

// KnownConstraints are the constraints that Fault has a refusal for.
func KnownConstraints() []string { return slices.Sorted(maps.Keys(constraints)) }
