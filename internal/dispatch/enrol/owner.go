package enrol

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// owner is the enrolment token that an agent or a factory belongs to: that which
// registered the agent last, or described the factory first. One that was revoked
// owns nothing any more.
type owner struct {
	token ids.ID // ids.Nil where there is none
	reach tenancy.Scope
}

// yields reports whether who may take what belongs to the owner in a factory: the
// token itself may, and one that reaches at least as far.
func (o owner) yields(who tenancy.Principal, factory string) bool {
	return o.token == ids.Nil || o.token == who.Token || who.Scope.Covers(
		tenancy.Scope{Products: o.reach.Products, Capabilities: o.reach.Capabilities, Factory: factory})
}

// belongings are the rows that a registration is about, locked.
type belongings struct {
	factory      factoryRow
	factoryOwner owner
	agent        agentRow // without an id where it is new
	agentOwner   owner
}

// belongingsTx locks the factory and then its agent: the order in which everybody
// locks. A factory that is not there is made.
func belongingsTx(ctx context.Context, tx db.Tx, r *registering) (b belongings, err error) {
	if b.factory, err = lockFactoryTx(ctx, tx, r.who, r.in.Factory.Name); err != nil {
		return b, err
	}
	if b.agent, err = lockAgentTx(ctx, tx, r.who.Workspace, r.in.Agent); err != nil {
		return b, err
	}
	if b.factoryOwner, err = ownerTx(ctx, tx, r.who.Workspace, b.factory.enrolment); err != nil {
		return b, err
	}
	b.agentOwner, err = ownerTx(ctx, tx, r.who.Workspace, b.agent.EnrolmentID)
	return b, err
}

// check refuses what belongs to another token that reaches further, and a boot that
// a person ended at once.
func (b belongings) check(who tenancy.Principal, name, factory, boot string) error {
	known := b.agent.ID != ids.Nil
	switch {
	case known && b.agent.Ended && b.agent.BootID == boot:
		return fault.New(fault.Superseded, "%s was ended by a person; this process is to stop.", name)
	case known && !b.agent.Ended && !b.agentOwner.yields(who, b.agent.Factory):
		return fault.New(fault.Forbidden, "The agent %s belongs to another enrolment token that reaches further than this one. "+
			"Take another name, or have that token revoked or the agent cut off.", name)
	case !b.describes(who, factory) && !b.joins(who, factory):
		return fault.New(fault.Forbidden, "The factory %s belongs to another enrolment token that reaches further than this one. "+
			"Take another name, or use a token that is made for this factory.", factory)
	}
	return nil
}

// describes reports whether a token may say what the factory offers.
func (b belongings) describes(who tenancy.Principal, factory string) bool {
	return b.factoryOwner.yields(who, factory)
}

// joins reports whether a token's agents may work in a factory that it may not
// describe: it was made for it, or the agent is there already.
func (b belongings) joins(who tenancy.Principal, factory string) bool {
	isThere := b.agent.FactoryID == b.factory.id && b.agentOwner.token == who.Token && who.Token != ids.Nil
	return who.Scope.Factory == factory || isThere
}
