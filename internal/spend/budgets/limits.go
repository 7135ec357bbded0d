package budgets

import "github.com/fleetboard/fleetboard/internal/spend"

// Limits of a budget: characters of a text, entries of a list, ranges of a number. Forms
// take them from here; TestLimitsAgree of handlers/api holds openapi.yaml to them.
const (
	MaxName   = 100
	MaxPhase  = 64
	MaxReason = 500
	MaxZone   = 64
	// MaxMoney is the most that a period may have, also with what it is raised by.
	MaxMoney  = spend.MaxAmount
	MaxTokens = 1_000_000_000_000_000
	MaxRuns   = 1_000_000_000
	// MaxAlerts is how many thresholds give an alert, MaxAlert the highest, in per cent.
	MaxAlerts = 10
	MaxAlert  = 100
	// MaxBudgets is how many a workspace has.
	MaxBudgets = 500
	// MaxLines bounds a page of the ledger.
	MaxLines = 500

	// defaultSlice and defaultSliceTokens are what a job reserves at a time, where its
	// budget says nothing and has so much.
	defaultSlice       = 1_000_000_000
	defaultSliceTokens = 200_000
)

// defaultAlerts are the thresholds of a budget that names none.
var defaultAlerts = []int{50, 80, 90, 100}
