package usage

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// MaxCharges is how many charges a page has at most.
const MaxCharges = 1000

// Charge is what an attempt used of a model within an hour. All charges of a period add up to its report. What an
// entry was raised by stands in the hour of the raise, so that a charge may be of no entry, and below zero.
type Charge struct {
	spend.Usage

	Hour      time.Time // when it began, in UTC
	JobID     ids.ID
	JobKey    string // "" where the job is gone
	Epoch     int64
	ProductID ids.ID
	Product   string // "" where it is gone
	Phase     string
	Repo      string
	Agent     string
	Factory   string
	Provider  string
	Model     string
	Corrects  bool // it only raises entries of earlier months
}

// Basis is what the cost of a charge stands on.
type Basis int

// The bases.
const (
	ByPrice    Basis = iota // what the price makes of the tokens
	ByAgent                 // there is no price: what the agent reported
	ByFlatRate              // nothing is charged: what the price makes of the tokens is imputed
	ByNothing               // nothing is charged, since no cost is known
	ByMany                  // several of these
)

// Basis returns what the cost of the charge stands on.
func (c Charge) Basis() Basis {
	basis, n := ByPrice, 0
	for of, is := range map[Basis]bool{ByPrice: c.Computed != 0, ByAgent: c.Charged != c.Computed, ByFlatRate: c.Imputed != 0,
		ByNothing: c.Unpriced != 0} {
		if is {
			basis, n = of, n+1
		}
	}
	switch {
	case n > 1:
		return ByMany
	case n == 0 && c.UnpricedTokens != 0:
		return ByAgent // who reported that it cost nothing
	}
	return basis
}

// Account is the workspace, as what its usage is charged to.
type Account struct {
	ID   ids.ID
	Name string
}

// Account returns the workspace of a reader.
//
// Faults: Forbidden.
func (s *Service) Account(ctx context.Context, who tenancy.Principal) (a Account, err error) {
	if err := mayRead(who); err != nil {
		return a, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		a, err = accountTx(ctx, tx, who.Workspace)
		return err
	})
	return a, err
}

// ChargeQuery says which charges are listed.
type ChargeQuery struct {
	Query

	// After is the charge whose later ones are wanted; the zero value begins with the earliest.
	After Charge
	Limit int
}

// Charges lists charges by their hour, the earliest first, and says whether there are more.
//
// Faults: Forbidden; Validation by field.
func (s *Service) Charges(ctx context.Context, who tenancy.Principal, query ChargeQuery) (list []Charge, more bool, err error) {
	if err := mayRead(who); err != nil {
		return nil, false, err
	}
	if query.Query, err = query.checked(); err != nil {
		return nil, false, err
	}
	limit := min(max(query.Limit, 1), MaxCharges)
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = chargesTx(ctx, tx, who.Workspace, query, limit+1)
		return err
	})
	if len(list) > limit {
		return list[:limit], true, err
	}
	return list, false, err
}
