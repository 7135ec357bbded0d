package budgets

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

// Scope is what a budget is for.
type Scope string

// The scopes.
const (
	Workspace Scope = "workspace"
	Product   Scope = "product"
	Milestone Scope = "milestone" // the jobs of a phase, of one product or of all
	Job       Scope = "job"
)

// Scopes lists them, from the widest to the narrowest.
var Scopes = []Scope{Workspace, Product, Milestone, Job}

// Unpriced is what a hard budget of dollars does with models that have no price.
type Unpriced string

// What it does.
const (
	AskUnpriced   Unpriced = "ask"   // holds their claims until a person has decided, who is asked once
	HoldUnpriced  Unpriced = "hold"  // holds their claims
	AllowUnpriced Unpriced = "allow" // lets them pass
)

// Unpriceds lists them.
var Unpriceds = []Unpriced{AskUnpriced, HoldUnpriced, AllowUnpriced}

// HoldsUnpriced reports whether claims of models without a price wait for the budget.
func (b Budget) HoldsUnpriced() bool {
	return b.Hard && b.Limits.Money != nil && b.Unpriced != AllowUnpriced
}

// Limits are the ceilings of a period; nil is none of that kind.
type Limits struct {
	Money  *spend.Nanos
	Tokens *int64
	Runs   *int64
}

// Budget is what may be spent, and how its present period stands.
type Budget struct {
	ID          ids.ID
	Name        string
	Scope       Scope
	ProductID   ids.ID // Nil where the scope names none
	Product     string
	Phase       string
	JobID       ids.ID // Nil where the scope is not a job
	JobKey      string
	Period      Period
	Timezone    string // IANA, "Europe/Berlin"
	Limits      Limits // of each period that begins
	Hard        bool   // it holds claims and pauses jobs; a soft one only gives alerts
	Slice       spend.Nanos
	SliceTokens int64
	AlertAt     []int // per cent of the limit, rising
	Throttle    bool  // jobs of low priority wait while it would run out too early
	// Unpriced is what it does with models without a price, where it is hard and in dollars.
	Unpriced Unpriced
	// ThrottledBelow is the priority below which jobs wait for it now; 0 holds none.
	ThrottledBelow int
	Version        int
	CreatedBy      string
	CreatedAt      time.Time
	SpentSince     *time.Time // when it was first charged; nil where that is unknown
	State          State
	// Projection is what was foreseen in the last minute, of the money.
	Projection forecast.Projection
}

// Covers reports whether a job of a product and a phase counts for the budget.
func (b Budget) Covers(product ids.ID, phase string, job ids.ID) bool {
	switch b.Scope {
	case Workspace:
		return true
	case Product:
		return b.ProductID == product
	case Milestone:
		return b.Phase == phase && (b.ProductID == ids.Nil || b.ProductID == product)
	case Job:
		return b.JobID == job
	}
	return false
}

// State is how one period of a budget stands. All are sums of its ledger's lines.
type State struct {
	Start    time.Time
	End      time.Time // Forever for a budget without periods
	Limits   Limits    // with what was raised and transferred
	Settled  Amounts
	Reserved Amounts // the runs of it are always 0: a run is settled when it begins
	// UnpricedTokens have no known price, so that what they cost is missing in Settled.
	UnpricedTokens int64
	Alerts         []Alert // those that were reported in this period, in the order of thresholds
}

// Amounts are money, tokens and runs of an account.
type Amounts struct {
	Money  spend.Nanos
	Tokens int64
	Runs   int64
}

// Alert is a threshold that was reached; RunsOut is that of a budget that will not last.
type Alert struct {
	Threshold int
	At        time.Time
}

// RunsOut is the threshold of "runs out before its period ends".
const RunsOut = 101

// Free returns what is left of the money: below 0 where more was spent than there was. The
// second result is false where money has no limit.
func (s State) Free() (spend.Nanos, bool) {
	if s.Limits.Money == nil {
		return 0, false
	}
	return *s.Limits.Money - s.Settled.Money - s.Reserved.Money, true
}

// FreeTokens is Free of the tokens.
func (s State) FreeTokens() (int64, bool) {
	if s.Limits.Tokens == nil {
		return 0, false
	}
	return *s.Limits.Tokens - s.Settled.Tokens - s.Reserved.Tokens, true
}

// FreeRuns is Free of the runs.
func (s State) FreeRuns() (int64, bool) {
	if s.Limits.Runs == nil {
		return 0, false
	}
	return *s.Limits.Runs - s.Settled.Runs, true
}
