package db

// OrEmpty returns a list that is not nil: statements take an empty array, not null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
