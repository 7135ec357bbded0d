package spend

import (
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Limits of an entry. The table has the same ones.
const (
	maxID        = 200
	MaxProvider  = 64
	MaxModel     = 128
	MaxSession   = 200
	MaxOperation = 64
	// MaxTokens is how many tokens of a kind one entry may have: far more than any
	// model takes, and so few that no sum of them passes what a number holds.
	MaxTokens = 1_000_000_000
	// FullCost is where the sum of a lease's costs is full: beyond it further entries
	// are to be refused. What arrives at the same moment still fits in a number.
	FullCost Nanos = 8_000_000_000_000_000_000
)

// The names of fields, as agents know them.
const (
	idField   = "id"
	costField = "cost_usd"
)

// Entry is one message to a model: what it used, and for whom.
type Entry struct {
	ID       string // the message's own, within its job
	Provider string
	Model    string
	Session  string // the provider's name for the conversation, "" where it has none

	Input        int64 // tokens, without those that were read from or written to a cache
	Output       int64
	CacheRead    int64
	CacheWrite   int64 // to a cache of five minutes
	CacheWrite1h int64 // to a cache of an hour
	// CostUSD is what the agent says that it cost in dollars, as ParseUSD reads it; nil is
	// unknown.
	CostUSD *string

	Batch     bool      // it was used in a provider's batch; what is reported first counts
	Operation string    // what it was for, in the agent's words
	At        time.Time // by the agent's clock

	Booking
}

// Booking is what an entry is booked under, which agents do not say: the lease, who held
// it, and where the job belongs now.
type Booking struct {
	Job       ids.ID
	Epoch     int64
	Agent     ids.ID
	AgentName string
	Factory   string
	Product   ids.ID
	Phase     string
	Repo      string
	Claimed   time.Time // when the lease began
	Now       time.Time // by the database's clock
	Late      bool      // the lease has ended
}

// entryKey names an entry.
type entryKey struct {
	job ids.ID
	id  string
}

func (e Entry) key() entryKey { return entryKey{e.Job, e.ID} }

// bookedAt returns the instant that the price, the hour and the periods of budgets go by: the
// agent's, within the lease as the database's clock knows it.
func (e Entry) bookedAt() time.Time {
	switch {
	case e.At.Before(e.Claimed):
		return e.Claimed
	case e.At.After(e.Now):
		return e.Now
	}
	return e.At
}

// Check refuses what cannot be kept of what an agent says. Fault: Validation, with
// the fields.
func (e Entry) Check() error {
	p := fault.Problems{}
	p.Line(idField, e.ID, maxID)
	p.Line("provider", e.Provider, MaxProvider)
	p.Line("model", e.Model, MaxModel)
	p.Line("provider_session", e.Session, MaxSession)
	p.Line("operation", e.Operation, MaxOperation)
	for field, text := range map[string]string{idField: e.ID, "provider": e.Provider, "model": e.Model} {
		if strings.TrimSpace(text) == "" {
			p.Add(field, "It must not be empty.")
		}
	}
	for field, n := range map[string]int64{"input_tokens": e.Input, "output_tokens": e.Output,
		"cache_read_tokens": e.CacheRead, "cache_write_tokens": e.CacheWrite, "cache_write_1h_tokens": e.CacheWrite1h} {
		if n < 0 || n > MaxTokens {
			p.Add(field, "It must be 0 to %d.", MaxTokens)
		}
	}
	if _, err := e.cost(); err != nil {
		p.Add(costField, "%s", fault.From(err).Fields[costField])
	}
	// RFC 3339 can write no other year.
	if year := e.At.UTC().Year(); year < 1 || year > 9999 {
		p.Add("at", "Its year must be 1 to 9999 (it is %d).", year)
	}
	return p.Err()
}

// unknownCost stands for a cost that nobody knows.
const unknownCost Nanos = -1

func (e Entry) cost() (Nanos, error) {
	if e.CostUSD == nil {
		return unknownCost, nil
	}
	return ParseUSD(*e.CostUSD)
}
