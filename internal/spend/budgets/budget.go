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
	return b.Hard && b.Money != nil && b.Unpriced != AllowUnpriced
}

// Limits are the ceilings of a period; nil is none of that kind.
type Limits struct {
	Money  *spend.Nanos `json:"limit_usd"`
	Tokens *int64       `json:"limit_tokens"`
	Runs   *int64       `json:"limit_runs"`
}

// Budget is what may be spent, and how its present period stands.
type Budget struct {
	ID          ids.ID      `json:"id"`
	Name        string      `json:"name"`
	Scope       Scope       `json:"scope"`
	ProductID   ids.ID      `json:"-"` // Nil where the scope names none
	Product     string      `json:"product"`
	Phase       string      `json:"phase"`
	JobID       ids.ID      `json:"-"` // Nil where the scope is not a job
	JobKey      string      `json:"job"`
	Period      Period      `json:"period"`
	Timezone    string      `json:"timezone"` // IANA, "Europe/Berlin"
	Limits                  // of each period that begins
	Hard        bool        `json:"hard"` // it holds claims and pauses jobs; a soft one only gives alerts
	Slice       spend.Nanos `json:"slice_usd"`
	SliceTokens int64       `json:"slice_tokens"`
	AlertAt     []int       `json:"alert_at"` // per cent of the limit, rising
	Throttle    bool        `json:"throttle"` // jobs of low priority wait while it would run out too early
	// Unpriced is what it does with models without a price, where it is hard and in dollars.
	Unpriced Unpriced `json:"unpriced"`
	// ThrottledBelow is the priority below which jobs wait for it now; 0 holds none.
	ThrottledBelow int        `json:"throttled_below"`
	Version        int        `json:"version"`
	CreatedBy      string     `json:"created_by"`
	CreatedAt      time.Time  `json:"created_at"`
	SpentSince     *time.Time `json:"-"` // when it was first charged; nil where that is unknown
	State          State      `json:"-"`
	// Projection is what was foreseen in the last minute, of the money.
	Projection forecast.Projection `json:"projection"`
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
	Start    time.Time `json:"period_start"`
	End      time.Time `json:"-"` // Forever for a budget without periods
	Limits             // with what was raised and transferred
	Settled  Amounts   `json:"-"`
	Reserved Amounts   `json:"-"` // the runs of it are always 0: a run is settled when it begins
	// UnpricedTokens have no known price, so that what they cost is missing in Settled.
	UnpricedTokens int64   `json:"unpriced_tokens"`
	Alerts         []Alert `json:"alerts"` // those that were reported in this period, in the order of thresholds
}

// Amounts are money, tokens and runs of an account.
type Amounts struct {
	Money  spend.Nanos `json:"amount_usd"`
	Tokens int64       `json:"tokens"`
	Runs   int64       `json:"runs"`
}

// Alert is a threshold that was reached; RunsOut is that of a budget that will not last.
type Alert struct {
	Threshold int       `json:"threshold"`
	At        time.Time `json:"at"`
}

// RunsOut is the threshold of "runs out before its period ends".
const RunsOut = 101

// Free returns what is left of the money: below 0 where more was spent than there was. The
// second result is false where money has no limit.
func (s State) Free() (spend.Nanos, bool) {
	if s.Money == nil {
		return 0, false
	}
	return *s.Money - s.Settled.Money - s.Reserved.Money, true
}

// FreeTokens is Free of the tokens.
func (s State) FreeTokens() (int64, bool) {
	if s.Tokens == nil {
		return 0, false
	}
	return *s.Tokens - s.Settled.Tokens - s.Reserved.Tokens, true
}

// FreeRuns is Free of the runs.
func (s State) FreeRuns() (int64, bool) {
	if s.Runs == nil {
		return 0, false
	}
	return *s.Runs - s.Settled.Runs, true
}
