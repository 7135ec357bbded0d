package budgets

import (
	"context"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Kind is why a line moves an amount.
type Kind string

// The kinds.
const (
	Granted        Kind = "grant" // by the limit of the budget, when a period begins
	Raised         Kind = "raise"
	Expired        Kind = "expire" // of a raise, or of a limit that was lowered
	TransferredIn  Kind = "transfer_in"
	TransferredOut Kind = "transfer_out"
	Reserved       Kind = "reserve"
	ToppedUp       Kind = "top_up"
	Settled        Kind = "settle"
	Freeing        Kind = "free"
	Adjusted       Kind = "adjust" // what did not fit, or was put right
)

// Kinds lists them.
var Kinds = []Kind{Granted, Raised, Expired, TransferredIn, TransferredOut, Reserved, ToppedUp, Settled, Freeing, Adjusted}

// Account is where an amount of a period is.
type Account string

// The accounts.
const (
	Outside  Account = "outside"
	Free     Account = "free"
	InUse    Account = "reserved"
	Consumed Account = "settled"
)

// Line is one line of a budget's ledger.
type Line struct {
	Amounts

	ID             int64      `json:"id"`
	PeriodStart    time.Time  `json:"period_start"`
	Kind           Kind       `json:"kind"`
	From           Account    `json:"from"`
	To             Account    `json:"to"`
	UnpricedTokens int64      `json:"unpriced_tokens"`
	JobID          ids.ID     `json:"-"` // Nil where it is not for a lease
	JobKey         string     `json:"job"`
	Epoch          int64      `json:"epoch"`
	Entry          string     `json:"entry"` // the usage entry where it is of one alone
	Other          ids.ID     `json:"-"`     // the other budget of a transfer
	OtherName      string     `json:"-"`
	Reverses       int64      `json:"-"` // the transfer that this one takes back
	Until          *time.Time `json:"until"`
	Reason         string     `json:"reason"`
	Actor          string     `json:"actor"`
	At             time.Time  `json:"at"`
}

// LedgerQuery says which lines are read.
type LedgerQuery struct {
	Before int64  // lines older than the one with this id; 0 begins with the newest
	Kinds  []Kind // none is all
	Limit  int
}

// Ledger reads the lines of a budget, newest first, and the line before which to go on, 0
// at the end. Forbidden; NotFound; Validation.
func (s *Service) Ledger(ctx context.Context, who tenancy.Principal, id ids.ID, query LedgerQuery) (lines []Line, next int64, err error) {
	if err := mayRead(who); err != nil {
		return nil, 0, err
	}
	if err := checkKinds(query.Kinds); err != nil {
		return nil, 0, err
	}
	if query.Before <= 0 {
		query.Before = math.MaxInt64
	}
	limit := min(max(query.Limit, 1), MaxLines)
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		found, _, err := budgetsTx(ctx, tx, who.Workspace, []ids.ID{id})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return noBudget()
		}
		lines, err = ledgerTx(ctx, tx, who.Workspace, id, query, limit+1)
		return err
	}, db.Snapshot)
	if len(lines) > limit {
		lines, next = lines[:limit], lines[limit-1].ID
	}
	return lines, next, err
}
