package attempts

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// Attempt is the record of one lease from claim to end.
type Attempt struct {
	Epoch           int64           `json:"epoch"`
	Agent           string          `json:"agent"`
	Factory         string          `json:"factory"`
	Engine          string          `json:"engine"`    // what its agent ran, "" where it did not say
	Model           string          `json:"model"`     // that ran, or else the one that the agent was registered with
	ModelWhy        string          `json:"model_why"` // NamedByProduct, NamedByWorker or ByDefault; "" where its agent did not say
	Tier            string          `json:"tier"`
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

// Who named the model of an attempt.
const (
	NamedByProduct = "product"
	NamedByWorker  = "worker"
	ByDefault      = "default"
)

// MaxModel is how long the name of a model may be that ran an attempt.
const MaxModel = 128

// ModelRun is what runs an attempt, as its agent says.
type ModelRun struct {
	Engine string
	Name   string // "" where the engine chose
	Why    string // NamedByProduct, NamedByWorker or ByDefault
	Tier   string // of the job, "" where the agent does not know it
}

// Check adds what is wrong to the problems of the field at.
func (m ModelRun) Check(p fault.Problems, at string) {
	if !tiermodel.IsEngine(m.Engine) {
		p.Add(at+".engine", "It must be the name of an engine: a small letter, then small letters, digits and -.")
	}
	p.Line(at+".name", m.Name, MaxModel)
	if m.Why != NamedByProduct && m.Why != NamedByWorker && m.Why != ByDefault {
		p.Add(at+".why", "It must be product, worker or default.")
	}
	if m.Tier != "" && !slices.Contains(tiermodel.Tiers, m.Tier) {
		p.Add(at+".tier", "It must be small, standard or large.")
	}
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
