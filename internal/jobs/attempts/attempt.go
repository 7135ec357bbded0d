package attempts

import (
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Attempt is the record of one lease from claim to end.
type Attempt struct {
	Epoch           int64
	Agent           string
	Factory         string
	Model           string
	SessionKey      string
	ClaimedAt       time.Time
	StartedAt       *time.Time
	EndedAt         *time.Time
	Outcome         string // "" while it lasts, else completed, failed, released, lost, cancelled, paused, …
	Error           string
	ErrorKind       string
	ProgressPercent *int
	CurrentStep     string
	Checkpoint      json.RawMessage
	Result          json.RawMessage
	Delivery        Delivery // of its commit
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
