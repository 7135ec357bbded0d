package jobs

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
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

// Job is the unit of work, a card on the board. Times are the database's. What has a name in
// JSON is for everybody who may read the job.
type Job struct {
	Spec
	ID        ids.ID `json:"id"`
	Key       string `json:"key"`
	Kind      string `json:"kind"`
	ProductID ids.ID `json:"-"`
	Product   string `json:"product"`
	LaneID    int64  `json:"-"`
	// InputContext has redact.Placeholder in place of the values of SecretKeys, which are
	// sorted.
	InputContext json.RawMessage `json:"input_context"`
	SecretKeys   []string        `json:"secret_keys"`
	// Secrets are the values, for the holder of the lease: only a claim has them.
	Secrets secrets.Set `json:"-"`

	Status        Status        `json:"status"`
	WaitReason    WaitReason    `json:"wait_reason"`
	BlockedReason string        `json:"blocked_reason"`
	Question      string        `json:"question"`
	Answer        string        `json:"answer"`
	StatusBy      tenancy.Actor `json:"-"` // who decided on the status
	CarriedOutBy  tenancy.Actor `json:"-"` // who carried it out, where that was somebody else
	StatusAt      time.Time     `json:"-"`

	Epoch               int64           `json:"-"`
	Attempts            int             `json:"attempts"`
	FailureCount        int             `json:"failure_count"`
	LostCount           int             `json:"lost_count"`
	MaxLost             int             `json:"max_lost"`
	RetryBackoffSeconds int             `json:"retry_backoff_seconds"`
	LastError           string          `json:"last_error"`
	FailureKind         FailureKind     `json:"failure_kind"` // of LastError
	Feedback            string          `json:"feedback"`     // the last rejection's reason
	ProgressPercent     *int            `json:"progress_percent"`
	CurrentStep         string          `json:"current_step"`
	ProgressAt          *time.Time      `json:"-"`
	Checkpoint          json.RawMessage `json:"checkpoint"`
	Result              json.RawMessage `json:"result"`
	FilesTouched        []string        `json:"files_touched"` // as its agent reported with the work
	ApprovedHead        string          `json:"approved_head"` // the commit that was approved
	MergedCommit        string          `json:"merged_commit"`
	URL                 string          `json:"url"`             // where the work is to be seen
	Verdict             string          `json:"verdict"`         // what a verifier said of the commit that was handed in last
	Round               int             `json:"round"`           // how often verifiers have sent the work back
	CommentsOpen        int             `json:"comments_open"`   // threads about its work that nobody has resolved
	Verifies            string          `json:"verifies"`        // of a verify job: the key of the job whose work it verifies
	ReviewRequired      bool            `json:"review_required"` // what counts: ReviewOverride, else the product's policy
	ProductPaused       bool            `json:"-"`
	Serialise           Serialise       `json:"-"` // the product's policy
	ReviewLimit         *int            `json:"-"` // the product's limit of jobs in review
	ProductModels       tiermodel.Table `json:"-"` // the product's
	VerifyMode          string          `json:"-"` // the product's, Verify.Mode
	ApprovesUnverified  bool            `json:"-"` // the product's: its limits want no verdict

	IdempotencyKey string     `json:"idempotency_key"`
	Version        int        `json:"version"`
	CreatedBy      string     `json:"created_by"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	ReadyAt        *time.Time `json:"ready_at"`
	AssignedAt     *time.Time `json:"assigned_at"`
	StartedAt      *time.Time `json:"started_at"`
	CompletedAt    *time.Time `json:"completed_at"`
	FailedAt       *time.Time `json:"failed_at"`

	Lease *Lease `json:"lease"` // exactly while assigned or running
}

// Asks reports whether the job waits for the answer to its agent's question.
func (j Job) Asks() bool { return j.Status == Blocked && j.Question != "" && j.Answer == "" }

// Lease is the right to work on a job until a time.
type Lease struct {
	AgentID         ids.ID        `json:"-"`
	Agent           string        `json:"agent"`
	FactoryID       ids.ID        `json:"-"`
	Factory         string        `json:"factory"`
	Epoch           int64         `json:"epoch"`
	SessionKey      string        `json:"session_key"`
	TTLSeconds      int           `json:"ttl_seconds"`
	ClaimedAt       time.Time     `json:"claimed_at"`
	ExpiresAt       time.Time     `json:"expires_at"`
	Directive       string        `json:"directive"` // "", warn, pause, cancel or drain
	DirectiveReason string        `json:"directive_reason"`
	DirectiveBy     tenancy.Actor `json:"-"`
	GraceEndsAt     *time.Time    `json:"-"`
	Reserved        bool          `json:"-"` // it has reserved something of a budget
	WarnedAt        *time.Time    `json:"-"` // when the holder was warned that its estimate is long over
}

// GivesSeat reports whether the holder is asked to give its seat to a more urgent job: to save a
// checkpoint and give the job back, which is paused by nobody.
func (l *Lease) GivesSeat() bool {
	return l != nil && l.Directive == string(ByPause) && l.DirectiveBy.IsPreemption()
}

// IsDirectedToStop reports whether the holder is directed to pause or to cancel, for whatever is not
// only a request for its seat.
func (l *Lease) IsDirectedToStop() bool {
	return l != nil && (l.Directive == string(ByCancel) || l.Directive == string(ByPause) && !l.GivesSeat())
}

// New is what a new job is made of. Only Title is required; the zero value of
// the others takes the default. Numbers of which 0 is another one than the default
// stand beside the Spec.
type New struct {
	Spec
	Priority            *int            `json:"priority"`    // else the Spec's, where that is not 0
	MaxRetries          *int            `json:"max_retries"` // else the Spec's, where that is not 0
	MaxLost             *int            `json:"max_lost"`
	RetryBackoffSeconds *int            `json:"retry_backoff_seconds"`
	Key                 string          `json:"key"` // "" gets one made, FB-12
	Kind                string          `json:"kind"`
	Product             string          `json:"product"` // "" takes the product that owns Repo, else "default"
	InputContext        json.RawMessage `json:"input_context"`
	SecretKeys          []string        `json:"secret_keys"` // keys of InputContext whose values are encrypted
	IdempotencyKey      string          `json:"idempotency_key"`
	BlockedReason       string          `json:"blocked_reason"` // not "": it is created blocked
}

// WithDefaults returns what people set on the job, where they set nothing the default.
func (n New) WithDefaults() Spec {
	s := n.Spec
	s.Priority = orDefault(n.Priority, cmp.Or(s.Priority, DefaultPriority))
	s.MaxRetries = orDefault(n.MaxRetries, cmp.Or(s.MaxRetries, DefaultMaxRetries))
	return s
}

// Filter narrows a list. Zero fields narrow nothing.
type Filter struct {
	Statuses     []Status
	Keys         []string
	Product      string
	Repo         string
	Phase        string
	Tag          string
	Factory      string // factory that must run it, or that runs it now
	Agent        string // agent that runs it now
	FailureKind  string
	WaitReason   string
	Verdict      string // what a verifier said of the commit handed in last
	RoundGTE     int    // how often at least verifiers have sent the work back
	PriorityGTE  *int
	ReadyOnly    bool
	Query        string // part of key or title
	UpdatedSince *time.Time
	Sort         Sort // default SortCreated
	Cursor       string
	Limit        int // 1..200, default 50
}

func orDefault[T any](v *T, fallback T) T {
	if v == nil {
		return fallback
	}
	return *v
}
