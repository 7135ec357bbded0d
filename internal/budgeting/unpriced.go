package budgeting

import (
	"context"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// Holder is a hard budget of dollars that holds the claims of models without a price.
type Holder struct {
	ID   ids.ID
	Name string
	Asks bool // a person, once for each model

	scope string // as the function budget_scopes writes it
}

// Unpriced is what decides which claims wait for a price. Holds remembers models in it, so it is for
// one goroutine, as its Prices are.
type Unpriced struct {
	Holders []Holder // the widest scopes first
	Prices  prices.Book
	Now     time.Time

	tables map[ids.ID]tiermodel.Table // of the products that name models
	named  map[string]ids.ID          // those products
	held   map[prices.Model]bool      // of the models that were asked about already
}

// UnpricedTx reads what decides which claims wait for a price. Nothing waits where
// Active.HoldsUnpriced is false.
func UnpricedTx(ctx context.Context, tx db.Tx, workspace ids.ID) (u Unpriced, err error) {
	if u.Holders, u.Now, err = holdersTx(ctx, tx, workspace); err != nil {
		return u, err
	}
	if len(u.Holders) > 0 {
		u.Prices, err = prices.BookTx(ctx, tx, workspace)
	}
	if err == nil && len(u.Holders) > 0 {
		u.held = map[prices.Model]bool{}
		u.tables, u.named, err = tablesTx(ctx, tx, workspace)
	}
	return u, err
}

// Holds reports whether claims of a model wait for a price where a budget says so. An agent
// that names no model is none of them.
func (u Unpriced) Holds(m prices.Model) bool {
	if m.Name == "" || len(u.Holders) == 0 {
		return false
	}
	held, known := u.held[m]
	if !known {
		held = u.Prices.Holds(m, u.Now)
		u.held[m] = held
	}
	return held
}

// User is who may run a model: the one that it is registered with, or one that a product names for
// the engines of its factory.
type User struct {
	Model   prices.Model
	Engines []string
}

// Without returns the models without a price that an agent may run for the jobs of a product. Which
// of them a job gets is decided after its claim, by its tier and the engine that its worker takes.
func (u Unpriced) Without(who User, product ids.ID) (list []prices.Model) {
	if u.Holds(who.Model) {
		list = append(list, who.Model)
	}
	for _, name := range u.tables[product].Models(who.Engines) {
		if m := (prices.Model{Provider: fleet.GuessProvider(name), Name: name}); name != who.Model.Name && u.Holds(m) {
			list = append(list, m)
		}
	}
	return list
}

// WithoutAny reports whether there are such models in any product.
func (u Unpriced) WithoutAny(who User) bool {
	for product := range u.tables {
		if len(u.Without(who, product)) > 0 {
			return true
		}
	}
	return u.Holds(who.Model)
}

// FindProduct returns the product of a name, ids.Nil where that names no models.
func (u Unpriced) FindProduct(name string) ids.ID { return u.named[name] }

// FindHolder gives the budget that holds a job's claims of models without a price; false where
// none does.
func (u Unpriced) FindHolder(product ids.ID, phase string, job ids.ID) (Holder, bool) {
	for _, h := range u.Holders {
		if h.coversAll(product) || phase != "" && (h.scope == "milestone::"+phase || h.scope == "milestone:"+product.String()+":"+phase) ||
			h.scope == "job:"+job.String() {
			return h, true
		}
	}
	return Holder{}, false
}

// FindHolderForAll gives the budget that holds the claims of all jobs of a product; false where none
// does.
func (u Unpriced) FindHolderForAll(product ids.ID) (Holder, bool) {
	for _, h := range u.Holders {
		if h.coversAll(product) {
			return h, true
		}
	}
	return Holder{}, false
}

func (h Holder) coversAll(product ids.ID) bool {
	return h.scope == "workspace" || h.scope == "product:"+product.String()
}

// Narrow returns the scopes of budgets that hold some jobs of a product and not others, and the
// first of those budgets.
func (u Unpriced) Narrow() (scopes []string, first Holder) {
	for _, h := range u.Holders {
		switch {
		case h.scope == "workspace" || strings.HasPrefix(h.scope, "product:"):
		case scopes == nil:
			scopes, first = []string{h.scope}, h
		default:
			scopes = append(scopes, h.scope)
		}
	}
	return scopes, first
}

// Refusal is why a claim of a model waits for a budget.
func (h Holder) Refusal(model string) Refusal {
	return Refusal{Budget: h.ID, Name: h.Name, Model: model}
}

// AskOfUsageTx asks people about models that were used with neither a price nor a known
// cost, by jobs that count for a budget that asks.
func AskOfUsageTx(ctx context.Context, tx db.Tx, workspace ids.ID, charges []spend.Charge) error {
	used, jobs := map[ids.ID][]prices.Model{}, []ids.ID{}
	for _, ch := range charges {
		if ch.Uncosted {
			if used[ch.Job] == nil {
				jobs = append(jobs, ch.Job)
			}
			used[ch.Job] = append(used[ch.Job], prices.Model{Provider: ch.Provider, Name: ch.Model})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	asking, err := askingTx(ctx, tx, workspace, jobs)
	if err != nil {
		return err
	}
	var list []prices.Unpriced
	for _, a := range asking {
		for _, m := range used[a.job] {
			list = append(list, prices.Unpriced{ModelDecision: prices.ModelDecision{Model: m}, Budget: a.budget, Source: a.key})
		}
	}
	if len(list) == 0 {
		return nil
	}
	_, err = prices.AskTx(ctx, tx, tenancy.System(workspace, Actor), list)
	return err
}
