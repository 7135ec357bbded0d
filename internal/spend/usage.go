package spend

import "github.com/fleetboard/fleetboard/internal/ids"

// Usage is the sums of entries. The meters are disjoint.
type Usage struct {
	Entries      int64 `json:"entries"`
	Input        int64 `json:"input_tokens"` // tokens, without those of caches
	Output       int64 `json:"output_tokens"`
	CacheRead    int64 `json:"cache_read_tokens"`
	CacheWrite   int64 `json:"cache_write_tokens"`
	CacheWrite1h int64 `json:"cache_write_1h_tokens"`

	Charged  Nanos `json:"-"`                 // to budgets: computed, or what agents said where no price is known
	Computed Nanos `json:"-"`                 // by prices
	Reported Nanos `json:"reported_cost_usd"` // as agents said
	Imputed  Nanos `json:"imputed_usd"`       // what would have been paid without flat rates
	// Unpriced is how many entries have no known cost, and so are missing in Charged.
	Unpriced int64 `json:"unpriced_entries"`
	// UnpricedTokens have no known price, whether their agents said a cost or not.
	UnpricedTokens int64 `json:"unpriced_tokens"`
}

// Cost returns what the entries cost, as far as it is known; false where none has a known cost.
func (u Usage) Cost() (Nanos, bool) { return u.Charged, u.Entries > u.Unpriced }

// Tokens returns the number of tokens of all meters.
func (u Usage) Tokens() int64 {
	return u.Input + u.Output + u.CacheRead + u.CacheWrite + u.CacheWrite1h
}

// CacheShare returns what part of all that models read came from a cache, 0 to 1; false where
// they read nothing.
func (u Usage) CacheShare() (float64, bool) {
	read := u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h
	if read == 0 {
		return 0, false
	}
	return float64(u.CacheRead) / float64(read), true
}

// plus returns the sums of both.
func (u Usage) plus(v Usage) Usage {
	return Usage{Entries: u.Entries + v.Entries, Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h, Charged: u.Charged + v.Charged,
		Computed: u.Computed + v.Computed, Reported: u.Reported + v.Reported, Imputed: u.Imputed + v.Imputed,
		Unpriced: u.Unpriced + v.Unpriced, UnpricedTokens: u.UnpricedTokens + v.UnpricedTokens}
}

// minus is by how much u is more than v.
func (u Usage) minus(v Usage) Usage {
	return u.plus(Usage{Entries: -v.Entries, Input: -v.Input, Output: -v.Output, CacheRead: -v.CacheRead, CacheWrite: -v.CacheWrite,
		CacheWrite1h: -v.CacheWrite1h, Charged: -v.Charged, Computed: -v.Computed, Reported: -v.Reported, Imputed: -v.Imputed,
		Unpriced: -v.Unpriced, UnpricedTokens: -v.UnpricedTokens})
}

// Spent is what a job has cost.
type Spent struct {
	Cost     Nanos
	Since    Nanos // of it since the last progress of the lease that lasts
	Unpriced bool  // some usage has no known cost, and so is missing

	known bool
}

// Known reports whether the cost of any usage is known.
func (s Spent) Known() bool { return s.known }

// JobUsage is what a job has used, as a whole and by the epochs of attempts.
type JobUsage struct {
	Total    Usage
	Spent    Spent
	Attempts map[int64]Usage
	// Verified: the verifications of its work have used something, which cost Verify; the others are
	// without that.
	Verified bool
	Verify   Nanos
}

// Lease names a lease of a job.
type Lease struct {
	Job   ids.ID
	Epoch int64
}
