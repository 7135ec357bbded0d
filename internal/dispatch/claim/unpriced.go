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
// an agent whose model has no price. What is behind them waits for the price, or for others.
const maxPassedOver = 200

// holdUnpriced notes of the claims of agents whose models have no price which jobs are held
// from them. Where no budget holds any, and for models of the built-in list, nothing is read.
func (b *claimBatch) holdUnpriced() error {
	if !b.budgets.HoldsUnpriced {
		return nil
	}
	doubtful := slices.DeleteFunc(b.unanswered(), func(c *claimItem) bool {
		_, known := prices.Builtin.Find(c.agent.Provider, c.agent.Model, time.Now())
		return known || c.agent.Model == ""
	})
	if len(doubtful) == 0 {
		return nil
	}
	held, err := budgeting.UnpricedTx(b.ctx, b.tx, b.workspace)
	if err != nil {
		return err
	}
	for _, c := range doubtful {
		if held.Holds(c.agent.uses()) {
			c.unpriced = &held
		}
	}
	return nil
}

// uses returns the model that an agent works with.
func (c claimant) uses() prices.Model { return prices.Model{Provider: c.Provider, Name: c.Model} }

// heldFrom reports whether all jobs of a product are held from the agent of a claim, and
// notes by which budget.
func (c *claimItem) heldFrom(product ids.ID) bool {
	if c.unpriced == nil {
		return false
	}
	h, held := c.unpriced.FindHolderForAll(product)
	if held {
		c.holder = &h
	}
	return held
}

// narrow returns the scopes of budgets that hold some jobs of a lane from the agent of a claim.
func (c *claimItem) narrow() []string {
	if c.unpriced == nil {
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
		c.holder = &first
	}
	slices.SortFunc(keys, readyKey.compare)
	return keys, err
}

// requirePrice refuses a named job that is held from an agent whose model has no price.
func (b *claimBatch) requirePrice(c *claimItem, job jobs.Job) error {
	if c.unpriced == nil {
		return nil
	}
	h, held := c.unpriced.FindHolder(job.ProductID, job.Phase, job.ID)
	if !held {
		return nil
	}
	c.holder = &h
	return fault.New(fault.NotClaimable, "%s waits for a price. %s.", job.Key, h.Refusal(c.agent.Model).Reason()).
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
			_, held := c.unpriced.FindHolderForAll(c.products[lane])
			return held
		})
		if c.holder != nil && c.holder.Asks && !c.unpriced.Prices.WasAsked(c.agent.Model) {
			list = append(list, prices.Unpriced{
				ModelDecision: prices.ModelDecision{Model: c.agent.uses()},
				Budget:        c.holder.Name,
				Source:        c.agent.Name,
			})
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
