package spend

import "fleetboard/internal/ids"

// Usage is the sums of entries.
type Usage struct {
	Entries    int64
	Input      int64 // tokens, without those of the cache
	Output     int64
	CacheRead  int64
	CacheWrite int64
	// Cost is that of the entries with a known one; nil where none has it.
	Cost *Nanos
	// Unpriced is how many entries have no known cost, and so are missing in Cost.
	Unpriced int64
}

// JobUsage is what a job has used, as a whole and by the epochs of attempts.
type JobUsage struct {
	Total    Usage
	Attempts map[int64]Usage
}

// Lease names a lease of a job.
type Lease struct {
	Job   ids.ID
	Epoch int64
}

// costing is u with the cost of its priced entries.
func (u Usage) costing(nanos int64) Usage {
	if cost := Nanos(nanos); u.Entries > u.Unpriced {
		u.Cost = &cost
	}
	return u
}
