package jobs

import (
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
	ID           ids.ID
	Key          string
	Title        string
	Body         string
	Kind         string
	ProductID    ids.ID
	Product      string
	Repo         string
	Phase        string
	Priority     int // 0..10, higher is sooner
	Capabilities []string
	Factory      string // the one factory that may run it, "" for any
	LaneID       int64
	DependsOn    []string // keys of the jobs that gate this one
	Tags         []string
	Files        []string // globs of the files that it means to touch
	Acceptance   []string
	// AcceptanceMet says of each criterion whether a person checked it off; it is as
	// long as Acceptance.
	AcceptanceMet []bool
	// InputContext has redact.Placeholder in place of the values of SecretKeys, which are
	// sorted.
	InputContext json.RawMessage
	SecretKeys   []string
	// Secrets are the values, for the holder of the lease: only a claim has them.
	Secrets secrets.Set
	// WaitsForChildren keeps the job from being completed while a child is open.
	WaitsForChildren bool

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
	MaxRetries          int
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
	ReviewOverride      *bool  // nil takes the product's policy
	ProductPaused       bool
	OneJobPerRepo       bool // the product's policy
	ReviewLimit         *int // the product's limit of jobs in review

	EstimatedComplexity string
	EstimatedMinutes    *int
	TokenBudget         *int64
	// BudgetNanos is what all attempts together may cost, in billionths of a dollar.
	BudgetNanos *int64
	Complexity  *int // 1..5
	Tier        Tier

	NotBefore      *time.Time
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
// the others takes the default.
type New struct {
	Key                 string // "" gets one made, FB-12
	Title               string
	Body                string
	Kind                string
	Product             string // "" takes the product that owns Repo, else "default"
	Repo                string
	Phase               string
	Priority            *int
	Capabilities        []string
	Factory             string
	DependsOn           []string // keys or ids; in a batch also keys of the same batch
	Tags                []string
	Files               []string
	Acceptance          []string
	InputContext        json.RawMessage
	SecretKeys          []string // keys of InputContext whose values are encrypted
	EstimatedComplexity string
	EstimatedMinutes    *int
	TokenBudget         *int64
	BudgetNanos         *int64
	Complexity          *int
	Tier                Tier
	ReviewRequired      *bool
	MaxRetries          *int
	MaxLost             *int
	RetryBackoffSeconds *int
	NotBefore           *time.Time
	IdempotencyKey      string
	WaitsForChildren    bool
	BlockedReason       string `json:",omitempty"` // not "": it is created blocked
}

// Patch is an edit by a person. Nil leaves a field as it is. Version is the
// version that the editor saw; another one is a conflict.
type Patch struct {
	Version             int
	Title               *string
	Body                *string
	Phase               *string
	Priority            *int
	Tags                *[]string
	Files               *[]string
	Acceptance          *[]string
	AcceptanceMet       *[]bool
	WaitsForChildren    *bool
	Capabilities        *[]string
	Factory             *string
	Repo                *string
	EstimatedComplexity *string
	EstimatedMinutes    *int
	TokenBudget         *int64
	BudgetNanos         *int64
	Complexity          *int
	Tier                *Tier
	MaxRetries          *int
	ReviewRequired      *bool
	NotBefore           *time.Time
	DependsOn           *[]string // keys or ids of all jobs that are to gate this one
	// Clear names fields that lose their value, as the API calls them.
	Clear []string
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
