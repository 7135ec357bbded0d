package claim

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// claimCall is one try of a claim.
type claimCall struct {
	who  tenancy.Principal
	in   Request
	hint waitlist.Hint
}

// claimResult is the result of one try.
type claimResult struct {
	claimed       Result
	lanes         []int64
	factory       ids.ID
	version       uint64
	began         uint64        // of this process's wake-ups, before anything was read
	outOfCapacity bool          // there was a job, and this agent could not take it
	held          time.Duration // until its provider takes requests again
	again         bool          // what it was given has failed instead: there may be more behind it
}

// lockClaim waits for the locks of one claim: the factory, then the agent.
func (s *Service) lockClaim(ctx context.Context, tx db.Tx, workspace ids.ID, c claimCall) error {
	return waitForAgent(ctx, tx, workspace, c.who.Agent)
}

// execClaims answers the claims of many agents. Where there is nothing to take it only
// reads.
func (s *Service) execClaims(ctx context.Context, tx db.Tx, workspace ids.ID, items []*batch.Item[claimCall, claimResult]) (func(), error) {
	return s.newBatch(ctx, tx, workspace, items).exec()
}

func (s *Service) newBatch(ctx context.Context, tx db.Tx, workspace ids.ID, items []*batch.Item[claimCall, claimResult]) *claimBatch {
	b := &claimBatch{ctx: ctx, tx: tx, s: s, workspace: workspace, locked: map[ids.ID]bool{}}
	b.compared.claimBatch, b.matched.claimBatch = b, b
	for _, i := range items {
		b.items = append(b.items, &claimItem{Item: i})
	}
	return b
}

// exec answers the claims; the function that it returns runs after the commit.
func (b *claimBatch) exec() (func(), error) {
	for _, step := range []func() error{b.authenticate, b.holdUnpriced, b.resolve, b.heads, b.reserve, b.dequeue, b.afford,
		b.compared.shadow, b.lease, b.ask} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, c := range b.items {
		c.Res.claimed.QueueVersion = b.s.waiters.Text(c.Res.version)
	}
	if !b.hasWrites {
		return b.notify, batch.ErrNothingWritten
	}
	return b.notify, nil
}

// claimBatch is the claims of one transaction.
type claimBatch struct {
	ctx       context.Context // lives as long as the batch
	tx        db.Tx
	s         *Service
	workspace ids.ID
	items     []*claimItem

	agents        map[ids.ID]claimant
	settings      setting.Present // as the agents were read
	locked        map[ids.ID]bool // agents that are locked with their factories
	products      products
	hinted        []int64            // lanes that the agents served in their last claims
	ready         []head             // the heads of the lanes, until something is taken
	watermarks    map[int64]readyKey // watermarks of lanes, from which jobs are looked for
	newWatermarks []watermark
	failedInstead []lease.Change // jobs that failed, or wait for a budget now, instead of being leased
	countedAgents []claimant     // agents whose leases were counted, with the new ones
	hasWrites     bool           // there is something to commit

	// filling is set where the seats become free in this transaction.
	filling bool

	compared comparer // factories, where the workspace compares them

	matched matcher // jobs and factories, in mode targeted

	budgets budgeting.Active // of the workspace
	grants  map[ids.ID]budgeting.Grant
	asked   bool                   // a person was asked about a model without a price
	orders  map[ids.ID]lease.Order // of the jobs of system kinds
}

// claimItem is one of the claims.
type claimItem struct {
	*batch.Item[claimCall, claimResult]

	agent  claimant
	served           // its lanes and their products
	named  *jobs.Job // the one job that was requested
	// unpriced is set where a model that the agent may run has no price and budgets hold such,
	// holder is one that has held something, and without the models for which it has.
	unpriced *budgeting.Unpriced
	holder   *budgeting.Holder
	without  []prices.Model
	closed   string   // why its lanes' jobs were left out, "" where none was
	reserved int      // how many jobs may be taken for it
	crowded  bool     // other claims of the batch have reserved the free seats
	taken    []ids.ID // out of the queue, without a lease yet
	given    []ids.ID
	done     bool // its answer is known
}

// unanswered returns the claims whose answer is not known yet.
func (b *claimBatch) unanswered() []*claimItem {
	var claims []*claimItem
	for _, c := range b.items {
		if c.Err == nil && !c.done && !c.Retrying() {
			claims = append(claims, c)
		}
	}
	return claims
}

// notify notifies the others of what was given, after the commit: the pages, and the next in
// line.
func (b *claimBatch) notify() {
	b.s.effects.AfterCommit(b.ctx, b.workspace, b.failedInstead...)
	var given []jobs.Job
	for _, c := range b.items {
		if len(c.Res.claimed.Jobs) > 0 {
			given = append(given, c.Res.claimed.Jobs...)
			b.s.waiters.NotifyNext(b.workspace, c.Res.lanes, waitlist.FanOut)
		}
		if c.Err == nil {
			b.s.waiters.StoreHint(c.Req.who.Agent, waitlist.Hint{Factory: c.Res.factory, Lanes: c.Res.lanes})
		}
	}
	b.matched.notify()
	if b.asked {
		b.s.effects.Publish(b.workspace, nil)
	}
	if len(given) > 0 {
		metrics.ClaimedJobs.Add(float64(len(given)))
		b.s.effects.Publish(b.workspace, nil, given...)
	}
	for _, agent := range b.countedAgents {
		b.s.leaseWatermarks.advance(agent)
	}
	for _, w := range b.newWatermarks {
		b.s.watermarks.advance(b.workspace, w)
	}
}

// authenticate reads who claims, which lanes they serve, and the heads of the lanes that
// they served last. Those for whom a job has just become ready are locked first.
func (b *claimBatch) authenticate() error {
	// Before anything is read: a product that opens, and a job that becomes ready,
	// from here on changes the version.
	began := b.s.waiters.Latest()
	var likely []*claimItem
	for _, c := range b.items {
		if c.Req.in.Job != "" {
			continue
		}
		b.hinted = append(b.hinted, c.Req.hint.Lanes...)
		if c.Req.hint.Likely {
			likely = append(likely, c)
		}
	}
	b.hinted = compact(b.hinted)
	b.watermarks = b.s.watermarks.of(b.workspace, b.hinted)
	before := []func(db.Tx) error{func(tx db.Tx) (err error) {
		b.ready, err = b.readHeads(tx, b.hinted)
		return err
	}}
	if len(likely) > 0 {
		before = slices.Insert(before, 0, b.lockAgents(likely))
	}
	if err := b.read(before...); err != nil {
		return err
	}
	if err := b.readSettings(); err != nil {
		return err
	}
	for _, c := range b.unanswered() {
		c.Res.began = began
		if b.filling && b.budgets.Any {
			c.Retry()
			continue
		}
		if c.Err = b.refuseEnded(c); c.Err != nil {
			continue
		}
		if err := b.findLanes(c); err != nil {
			return err
		}
	}
	return b.replay()
}

// read loads the agents and products, after running the before steps in the same round
// trip.
func (b *claimBatch) read(before ...func(db.Tx) error) error {
	var agents []ids.ID
	names := []string{}
	for _, c := range b.items {
		agents, names = append(agents, c.Req.who.Agent), append(names, c.Req.who.Scope.Products...)
	}
	err := b.tx.Pipeline(b.ctx, append(before,
		func(tx db.Tx) error { return b.readAgents(tx, agents) },
		// What is stopped is read by a later statement than the one that takes the lock of stops:
		// none is committed between that and the end of the transaction.
		func(tx db.Tx) (err error) {
			b.products, err = readProducts(b.ctx, tx, b.workspace, names)
			return err
		},
		func(tx db.Tx) (err error) {
			b.budgets, err = budgeting.ActiveTx(b.ctx, tx, b.workspace)
			return err
		})...)
	for _, a := range b.agents {
		b.products.changing = b.products.changing || !a.MayGive
	}
	return err
}

func (b *claimBatch) readAgents(tx db.Tx, agents []ids.ID) (err error) {
	b.agents, err = readClaimants(b.ctx, tx, b.workspace, b.s.leaseWatermarks.of(agents))
	return err
}

// readSettings notes how the workspace gives its jobs out. Where that is as the claims before
// have read it nothing is read.
func (b *claimBatch) readSettings() (err error) {
	var version int64
	for _, a := range b.agents {
		version = a.SettingVersion
	}
	b.settings, err = b.s.settings.Of(b.ctx, b.tx, b.workspace, version)
	return err
}

// lockAgents locks the agents of these claims and their factories, as far as nobody
// else has.
func (b *claimBatch) lockAgents(claims []*claimItem) func(db.Tx) error {
	agents, factories := make([]ids.ID, 0, len(claims)), make([]ids.ID, 0, len(claims))
	for _, c := range claims {
		factory := c.agent.FactoryID
		if factory == ids.Nil {
			factory = c.Req.hint.Factory
		}
		agents, factories = append(agents, c.Req.who.Agent), append(factories, factory)
	}
	return func(tx db.Tx) error {
		locked, err := lockAgents(b.ctx, tx, b.workspace, factories, agents)
		for _, agent := range locked {
			b.locked[agent] = true
		}
		return err
	}
}

// refuseEnded refuses an agent whose token has ended, by what the database says: a
// process that does not know of it yet gives out nothing either.
func (b *claimBatch) refuseEnded(c *claimItem) error {
	agent, known := b.agents[c.Req.who.Agent]
	c.agent = agent
	switch {
	case !known:
		return fault.New(fault.Superseded, "This agent is no longer registered. Register it again.")
	case agent.EnrolmentRevoked:
		return fault.New(fault.TokenRevoked, "The enrolment token of %s was revoked.", agent.Name)
	case agent.CutOff:
		return fault.New(fault.TokenRevoked, "%s was cut off by a person.", agent.Name)
	case agent.BootID != c.Req.who.Boot || agent.Generation > c.Req.who.Generation:
		return lease.Superseded(agent.Name)
	}
	return nil
}

// findLanes finds the lanes whose jobs an agent may take.
func (b *claimBatch) findLanes(c *claimItem) error {
	offer, err := c.agent.offer(c.Req.who.Scope)
	if err != nil {
		return err
	}
	lanes, err := b.s.lanes.of(b.ctx, b.tx, b.workspace, c.agent.NewestLane)
	if err != nil {
		return err
	}
	c.Res.factory = c.agent.FactoryID
	c.served = b.s.served.of(b.workspace, lanes, c.agent.classKey(offer, b.products.idsInScope(c.Req.who.Scope)), func(l lane) bool {
		return b.products.inScope(c.Req.who.Scope, l.ProductID) && offer.Has(l.Needs, l.Factory) && c.agent.mayFollow(l.Needs)
	}).passes(offer.Who)
	c.Res.lanes = c.lanes
	c.Res.version = min(c.Res.began, b.s.waiters.Version(b.workspace, c.Res.lanes))
	return nil
}

// replay gives the same leases again to a request that was answered before, but
// those that its token does not reach any more.
func (b *claimBatch) replay() error {
	var asked []repeatable
	for _, c := range b.unanswered() {
		if c.Req.in.RequestID == "" {
			continue
		}
		asked = append(asked, repeatable{claim: c, digests: c.requestDigests(b.s.jobs),
			fromNumber: b.s.leaseWatermarks.from(c.Req.who.Agent)})
	}
	given, err := leasesOfRequests(b.ctx, b.tx, b.workspace, asked)
	if err != nil {
		return err
	}
	for _, g := range given {
		c := g.claim
		if !b.products.inScope(c.Req.who.Scope, g.product) {
			continue
		}
		l, err := b.s.lanes.one(b.ctx, b.tx, b.workspace, g.lane)
		if err != nil {
			return err
		}
		if fleet.Allows(c.Req.who.Scope, l.Needs, l.Factory) {
			c.given, c.done = append(c.given, g.job), true
		}
	}
	return nil
}

// resolve finds the one job that an agent requests.
func (b *claimBatch) resolve() error {
	for _, c := range b.unanswered() {
		if c.Req.in.Job == "" {
			continue
		}
		job, err := jobs.LoadTx(b.ctx, b.tx, b.workspace, c.Req.in.Job)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		switch {
		case err != nil:
			c.Err = err
		case !b.products.inScope(c.Req.who.Scope, job.ProductID):
			c.Err = fault.New(fault.NotClaimable, "The token of %s does not reach the product %s.", c.agent.Name, job.Product)
		case !slices.Contains(c.Res.lanes, job.LaneID):
			c.Err = fault.New(fault.NotClaimable, "%s needs something that %s on %s does not offer.", job.Key, c.agent.Name,
				c.agent.Factory)
		default:
			if c.Err = b.products.requireOpen(job); c.Err == nil {
				c.Err = b.requirePrice(c, job)
			}
		}
		c.named = &job
	}
	return nil
}
