package jobs

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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

// Job is the unit of work, a card on the board. Times are the database's.
type Job struct {
	Spec
	ID        ids.ID
	Key       string
	Kind      string
	ProductID ids.ID
	Product   string
	LaneID    int64
	// InputContext has redact.Placeholder in place of the values of SecretKeys, which are
	// sorted.
	InputContext json.RawMessage
	SecretKeys   []string
	// Secrets are the values, for the holder of the lease: only a claim has them.
	Secrets secrets.Set

	Status        Status
	WaitReason    WaitReason
	BlockedReason string
	Question      string
	Answer        string
	StatusBy      tenancy.Actor // who decided on the status
	CarriedOutBy  tenancy.Actor // who carried it out, where that was somebody else
	StatusAt      time.Time

	Epoch               int64
	Attempts            int
	FailureCount        int
	LostCount           int
	MaxLost             int
	RetryBackoffSeconds int
	LastError           string
	FailureKind         FailureKind // of LastError
	Feedback            string      // the last rejection's reason
	ProgressPercent     *int
	CurrentStep         string
	ProgressAt          *time.Time
	Checkpoint          json.RawMessage
	Result              json.RawMessage
	FilesTouched        []string // as the agent told that handed the work in
	ApprovedHead        string   // the commit that was approved
	MergedCommit        string
	URL                 string // where the work is to be seen
	ReviewRequired      bool   // what counts: ReviewOverride, else the product's policy
	ProductPaused       bool
	OneJobPerRepo       bool // the product's policy
	ReviewLimit         *int // the product's limit of jobs in review

	IdempotencyKey string
	Version        int
	CreatedBy      string
	CreatedAt      time.Time
	UpdatedAt      time.Time
	ReadyAt        *time.Time
	AssignedAt     *time.Time
	StartedAt      *time.Time
	CompletedAt    *time.Time
	FailedAt       *time.Time

	Lease *Lease // exactly while assigned or running
}

// Asks reports whether the job waits for the answer to its agent's question.
func (j Job) Asks() bool { return j.Status == Blocked && j.Question != "" && j.Answer == "" }

// Lease is the right to work on a job until a time.
type Lease struct {
	AgentID         ids.ID
	Agent           string
	FactoryID       ids.ID
	Factory         string
	Epoch           int64
	SessionKey      string
	TTLSeconds      int
	ClaimedAt       time.Time
	ExpiresAt       time.Time
	Directive       string // "", warn, pause, cancel or drain
	DirectiveReason string
	DirectiveBy     tenancy.Actor
	GraceEndsAt     *time.Time
	Reserved        bool       // it has reserved something of a budget
	WarnedAt        *time.Time // when the holder was told that its estimate is long over
}

// New is what a new job is made of. Only Title is required; the zero value of
// the others takes the default. Numbers of which 0 is another one than the default
// stand beside the Spec.
type New struct {
	Spec
	Priority            *int // else the Spec's, where that is not 0
	MaxRetries          *int // else the Spec's, where that is not 0
	MaxLost             *int
	RetryBackoffSeconds *int
	Key                 string // "" gets one made, FB-12
	Kind                string
	Product             string // "" takes the product that owns Repo, else "default"
	InputContext        json.RawMessage
	SecretKeys          []string // keys of InputContext whose values are encrypted
	IdempotencyKey      string
	BlockedReason       string // not "": it is created blocked
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
	PriorityGTE  *int
	ReadyOnly    bool
	Query        string // part of key or title
	UpdatedSince *time.Time
	Sort         Sort // default SortCreated
	Cursor       string
	Limit        int // 1..200, default 50
}
