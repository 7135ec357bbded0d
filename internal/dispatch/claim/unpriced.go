package claim

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// maxPassedOver is how many jobs of a lane are looked at for one that no budget holds from
// an agent that may run a model without a price. What is behind them waits for the price, or for others.
const maxPassedOver = 200

// holdUnpriced notes of the claims of agents that may run models without a price which jobs are
// held from them. Where no budget holds any, and where all agents name models of the built-in list
// and products none, nothing is read.
func (b *claimBatch) holdUnpriced() error {
	if !b.budgets.HoldsUnpriced {
		return nil
	}
	doubtful := slices.DeleteFunc(b.unanswered(), func(c *claimItem) bool {
		_, known := prices.Builtin.Find(c.agent.Provider, c.agent.Model, time.Now())
		return !b.budgets.NamesModels && (known || c.agent.Model == "")
	})
	if len(doubtful) == 0 {
		return nil
	}
	held, err := budgeting.UnpricedTx(b.ctx, b.tx, b.workspace)
	if err != nil {
		return err
	}
	for _, c := range doubtful {
		if held.WithoutAny(c.agent.uses()) {
			c.unpriced = &held
		}
	}
	return nil
}

// uses returns what says which models an agent works with.
func (c claimant) uses() budgeting.User {
	return budgeting.User{Model: prices.Model{Provider: c.Provider, Name: c.Model}, Engines: c.Engines}
}

// unpricedIn returns the models without a price that the agent of a claim may run for a product.
func (c *claimItem) unpricedIn(product ids.ID) []prices.Model {
	if c.unpriced == nil {
		return nil
	}
	return c.unpriced.Without(c.agent.uses(), product)
}

// hold notes which budget holds something from the agent of a claim, for want of which prices.
func (c *claimItem) hold(h budgeting.Holder, models []prices.Model) {
	c.holder = &h
	for _, m := range models {
		if !slices.Contains(c.without, m) {
			c.without = append(c.without, m)
		}
	}
}

// heldFrom reports whether all jobs of a product are held from the agent of a claim, and
// notes by which budget.
func (c *claimItem) heldFrom(product ids.ID) bool {
	models := c.unpricedIn(product)
	if len(models) == 0 {
		return false
	}
	h, held := c.unpriced.FindHolderForAll(product)
	if held {
		c.hold(h, models)
	}
	return held
}

// narrow returns the scopes of budgets that hold some jobs of a lane of a product from the agent of
// a claim.
func (c *claimItem) narrow(product ids.ID) []string {
	if len(c.unpricedIn(product)) == 0 {
		return nil
	}
	scopes, _ := c.unpriced.Narrow()
	return scopes
}

// takeOutside takes up to n jobs of a lane that no budget holds from the agent of a claim.
func (b *claimBatch) takeOutside(c *claimItem, lane int64, least int, n int) ([]readyKey, error) {
	scopes, first := c.unpriced.Narrow()
	keys, err := takeReadyOutside(b.ctx, b.tx, b.workspace, lane, scopes, least, n)
	if err == nil && len(keys) == 0 {
		c.hold(first, c.unpricedIn(c.products[lane]))
	}
	slices.SortFunc(keys, readyKey.compare)
	return keys, err
}

// requirePrice refuses a named job that is held from an agent that may run a model without a price
// for it.
func (b *claimBatch) requirePrice(c *claimItem, job jobs.Job) error {
	models := c.unpricedIn(job.ProductID)
	if len(models) == 0 {
		return nil
	}
	h, held := c.unpriced.FindHolder(job.ProductID, job.Phase, job.ID)
	if !held {
		return nil
	}
	c.hold(h, models)
	return fault.New(fault.NotClaimable, "%s waits for a price. %s.", job.Key, h.Refusal(models[0].Name).Reason()).
		With("status", string(job.Status))
}

// ask asks a person about the models for want of whose price jobs were held, each once; and
// lets those claims wait for the lanes that are open to them alone, so that no wake-up ends
// at who may take nothing.
func (b *claimBatch) ask() error {
	var list []prices.Unpriced
	for _, c := range b.items {
		if c.unpriced == nil {
			continue
		}
		c.Res.lanes = slices.DeleteFunc(slices.Clone(c.Res.lanes), func(lane int64) bool {
			product := c.products[lane]
			_, held := c.unpriced.FindHolderForAll(product)
			return held && len(c.unpricedIn(product)) > 0
		})
		if c.holder == nil || !c.holder.Asks {
			continue
		}
		for _, m := range c.without {
			if !c.unpriced.Prices.WasAsked(m.Name) {
				list = append(list, prices.Unpriced{
					ModelDecision: prices.ModelDecision{Model: m}, Budget: c.holder.Name, Source: c.agent.Name,
				})
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	asked, err := prices.AskTx(b.ctx, b.tx, tenancy.System(b.workspace, budgeting.Actor), list)
	b.asked, b.hasWrites = asked, b.hasWrites || asked
	return err
}

// pricesChanged handles the news that claims which waited for a price may look again, or, with the
// bare prefix, that wake-ups may have been missed.
func (s *Service) pricesChanged(topic string) {
	if workspace, ok := prices.ParseTopic(topic); ok {
		s.waiters.WakeWorkspace(workspace)
		return
	}
	s.waiters.WakeAll()
}
