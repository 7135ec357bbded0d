package schema

// Limits for tests.
const (
	MaxDepth    = maxDepth
	MaxFindings = maxFindings
	MaxValues   = maxValues
)
