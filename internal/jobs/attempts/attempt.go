package attempts

import (
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Attempt is the record of one lease from claim to end.
type Attempt struct {
	Epoch           int64           `json:"epoch"`
	Agent           string          `json:"agent"`
	Factory         string          `json:"factory"`
	Model           string          `json:"model"`
	SessionKey      string          `json:"session_key"`
	ClaimedAt       time.Time       `json:"claimed_at"`
	StartedAt       *time.Time      `json:"started_at"`
	EndedAt         *time.Time      `json:"ended_at"`
	Outcome         string          `json:"outcome"` // "" while it lasts, else completed, failed, released, lost, cancelled, paused, …
	Error           string          `json:"error"`
	ErrorKind       string          `json:"error_kind"`
	ProgressPercent *int            `json:"progress_percent"`
	CurrentStep     string          `json:"current_step"`
	Checkpoint      json.RawMessage `json:"checkpoint"`
	Result          json.RawMessage `json:"result"`
	Delivery        Delivery        `json:"-"` // of its commit
}

// Record is an attempt with all that is kept of it.
type Record struct {
	Attempt
	Stack string // of the failure, as the agent gave it
	Lines int    // of the log, those that are still kept
	// Capped is set where there are more lines than were counted.
	Capped bool
}

// live adds what the lease of a running attempt knows so far.
func (a Attempt) live(j jobs.Job) Attempt {
	if j.Lease != nil && j.Lease.Epoch == a.Epoch {
		a.ProgressPercent, a.CurrentStep, a.Checkpoint = j.ProgressPercent, j.CurrentStep, j.Checkpoint
	}
	return a
}
