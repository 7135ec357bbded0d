package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// look tries once, in one transaction. Where there is nothing to take it only
// reads.
func (s *Service) look(ctx context.Context, who tenancy.Principal, in ClaimRequest) (look, error) {
	var l look
	var broken []change
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		c := &claim{ctx: ctx, tx: tx, who: who, in: in, s: s}
		err := c.run()
		l, broken = c.look, c.broken
		return err
	})
	if err == nil && len(broken) > 0 {
		s.settled(ctx, who.Workspace, broken...)
		if len(l.claimed.Jobs) == 0 {
			return s.look(ctx, who, in) // what stood behind them
		}
	}
	l.claimed.QueueVersion = s.waiters.text(l.version)
	return l, err
}

// claim is one look inside its transaction.
type claim struct {
	ctx context.Context //nolint:containedctx // lives as long as the call
	tx  db.Tx
	who tenancy.Principal
	in  ClaimRequest
	s   *Service

	look     look
	agent    dbsqlc.AgentForClaimRow
	products map[int64]ids.ID // of the lanes
	closed   string           // why the last heads left lanes out, "" where none was
	broken   []change         // jobs that failed instead of being given
}

func (c *claim) run() error {
	if err := c.meet(); err != nil {
		return err
	}
	if c.in.RequestID != "" {
		given, err := q.LeaseOfRequest(c.ctx, c.tx, dbsqlc.LeaseOfRequestParams{
			WorkspaceID: c.who.Workspace, AgentID: c.who.Agent, RequestID: c.in.RequestID})
		if err != nil {
			return fmt.Errorf("leases of request: %w", err)
		}
		if len(given) > 0 {
			if err := c.give(given); err != nil || len(c.look.claimed.Jobs) > 0 {
				return err
			}
		}
	}
	if c.in.Job != "" {
		return c.takeNamed()
	}
	heads, err := c.heads()
	if err != nil || len(heads) == 0 {
		c.look.claimed.Reason = cmp.Or(c.closed, ReasonEmpty)
		return err
	}
	free, err := c.seats()
	if err != nil || free == 0 {
		c.look.wanted = true
		return err
	}
	// What was closed while the factory's lock was waited for is left alone.
	return c.takeFrom(c.open(heads), min(free, c.in.Max))
}

// meet reads who asks and which lanes it serves.
func (c *claim) meet() error {
	// Before anything is read: a product that opens, and a job that becomes ready,
	// from here on changes the version.
	c.look.began = c.s.waiters.latest()
	if err := c.read(); err != nil {
		return err
	}
	repos, err := reposOf(c.agent.Repos)
	if err != nil {
		return err
	}
	// The scope once more: an agent with another token may have described the
	// factory since.
	offers := fleet.Within(c.who.Scope,
		fleet.Offers(c.agent.Os, c.agent.Engines, slices.Concat(c.agent.FactoryCapabilities, c.agent.Capabilities), repos))
	page, err := c.s.lanes.of(c.ctx, c.tx, c.who.Workspace, c.agent.NewestLane)
	if err != nil {
		return err
	}
	c.look.factory = c.agent.FactoryID
	c.look.lanes, c.products = []int64{}, map[int64]ids.ID{}
	for _, l := range page {
		if c.serves(l.product) && l.serves(c.agent.Factory, offers) {
			c.look.lanes, c.products[l.id] = append(c.look.lanes, l.id), l.product
		}
	}
	c.look.version = min(c.look.began, c.s.waiters.version(c.who.Workspace, c.look.lanes))
	c.s.waiters.remember(c.who.Agent, c.look.lanes)
	return nil
}

func reposOf(raw json.RawMessage) ([]fleet.Repo, error) {
	var repos []fleet.Repo
	if err := json.Unmarshal(raw, &repos); err != nil {
		return nil, fmt.Errorf("repos of factory: %w", err)
	}
	return repos, nil
}

func (c *claim) read() (err error) {
	c.agent, err = q.AgentForClaim(c.ctx, c.tx, dbsqlc.AgentForClaimParams{
		WorkspaceID: c.who.Workspace, ID: c.who.Agent, Products: orEmpty(c.who.Scope.Products)})
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.New(fault.Superseded, "This agent is no longer registered. Register it again.")
	}
	if err != nil {
		return fmt.Errorf("read agent: %w", err)
	}
	return c.standing()
}

// standing refuses an agent whose token has ended, by what the database says: a
// process that has not heard of it yet gives out nothing either.
func (c *claim) standing() error {
	switch {
	case c.agent.EnrolmentRevoked:
		return fault.New(fault.TokenRevoked, "The enrolment token of %s was revoked.", c.agent.Name)
	case c.agent.CutOffAt != nil:
		return fault.New(fault.TokenRevoked, "%s was cut off by a person.", c.agent.Name)
	case c.agent.BootID != c.who.Boot || c.agent.Generation > c.who.Generation:
		return superseded(c.agent.Name)
	}
	return nil
}

func superseded(agent string) error {
	return fault.New(fault.Superseded, "%s was started again; this process has no leases any more and is to stop.", agent)
}

// heads are the lanes with a claimable job, the most urgent first, without those
// of products that give nothing now.
func (c *claim) heads() ([]dbsqlc.ReadyHeadsRow, error) {
	if len(c.look.lanes) == 0 {
		return nil, nil
	}
	heads, err := q.ReadyHeads(c.ctx, c.tx, dbsqlc.ReadyHeadsParams{WorkspaceID: c.who.Workspace, Lanes: c.look.lanes})
	if err != nil {
		return nil, fmt.Errorf("heads of lanes: %w", err)
	}
	slices.SortFunc(heads, func(a, b dbsqlc.ReadyHeadsRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.ReadyAt.Compare(b.ReadyAt), cmp.Compare(a.LaneID, b.LaneID))
	})
	return c.open(heads), nil
}

// seats locks the factory and counts what this agent may still take. Claims of
// one factory come one after another from here on; others are not touched.
func (c *claim) seats() (int, error) {
	if c.full() {
		return 0, nil
	}
	_, err := q.FactoryLock(c.ctx, c.tx, dbsqlc.FactoryLockParams{WorkspaceID: c.who.Workspace, ID: c.agent.FactoryID})
	if err != nil {
		return 0, fmt.Errorf("lock factory: %w", err)
	}
	// A new boot and an end of the agent give back what it holds; neither may
	// miss what is claimed at that moment.
	if err := q.AgentKeep(c.ctx, c.tx, dbsqlc.AgentKeepParams{WorkspaceID: c.who.Workspace, ID: c.who.Agent}); err != nil {
		return 0, fmt.Errorf("lock agent: %w", err)
	}
	// Again, as a statement that sees what happened while the lock was waited for.
	if err := c.read(); err != nil {
		return 0, err
	}
	if c.full() {
		return 0, nil
	}
	own := int(c.agent.MaxConcurrentJobs - c.agent.AgentTaken)
	return min(own, int(c.agent.Seats-c.agent.FactoryTaken)), nil
}

// full reports whether the agent may take nothing, and notes why.
func (c *claim) full() bool {
	switch {
	case c.agent.Draining || c.agent.TerminatedAt != nil:
		c.look.claimed.Reason = ReasonDraining
	case c.agent.AgentTaken >= c.agent.MaxConcurrentJobs || c.agent.FactoryTaken >= c.agent.Seats:
		c.look.claimed.Reason = ReasonNoSeats
	default:
		return false
	}
	return true
}

// takeFrom takes up to n jobs, lane by lane: from the most urgent lane those
// that are at least as urgent as the next lane's head, then it looks again. A
// job that another claim is taking is passed over.
func (c *claim) takeFrom(heads []dbsqlc.ReadyHeadsRow, n int) error {
	var taken []ids.ID
	dry := map[int64]bool{}
	for len(heads) > 0 && len(taken) < n {
		params := c.params()
		params.LaneID, params.MaxRows = heads[0].LaneID, int32(n-len(taken)) //nolint:gosec // 1..100
		if len(heads) > 1 {
			params.MinPriority = heads[1].Priority
		}
		rows, err := q.ReadyClaim(c.ctx, c.tx, params)
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		for _, r := range rows {
			taken = append(taken, r.ID)
		}
		if len(rows) == 0 {
			dry[heads[0].LaneID] = true
		}
		if len(taken) == n {
			break
		}
		if heads, err = c.heads(); err != nil {
			return err
		}
		heads = slices.DeleteFunc(heads, func(h dbsqlc.ReadyHeadsRow) bool { return dry[h.LaneID] })
	}
	if len(taken) == 0 {
		c.look.claimed.Reason = cmp.Or(c.closed, ReasonEmpty)
		return nil
	}
	return c.give(taken)
}

func (c *claim) params() dbsqlc.ReadyClaimParams {
	return dbsqlc.ReadyClaimParams{
		WorkspaceID: c.who.Workspace, Agent: c.agent.Name, AgentID: c.who.Agent, FactoryID: c.agent.FactoryID,
		Factory: c.agent.Factory, Model: c.agent.Model, SessionKey: c.in.SessionKey, RequestID: c.in.RequestID,
		TtlSeconds: int32(c.in.TTLSeconds), //nolint:gosec // 10..86400
	}
}

// takeNamed takes the one job that was asked for.
func (c *claim) takeNamed() error {
	job, err := jobs.LoadTx(c.ctx, c.tx, c.who.Workspace, c.in.Job)
	if err != nil {
		return err
	}
	if !c.serves(job.ProductID) {
		return fault.New(fault.NotClaimable, "The token of %s does not reach the product %s.", c.agent.Name, job.Product)
	}
	if !slices.Contains(c.look.lanes, job.LaneID) {
		return fault.New(fault.NotClaimable, "%s needs something that %s on %s does not offer.", job.Key, c.agent.Name, c.agent.Factory)
	}
	if err := c.requireOpen(job); err != nil {
		return err
	}
	if free, err := c.seats(); err != nil || free == 0 {
		return err
	}
	if err := c.requireOpen(job); err != nil {
		return err
	}
	params := c.params()
	params.LaneID, params.JobID = job.LaneID, job.ID
	rows, err := q.ReadyClaim(c.ctx, c.tx, params)
	if err != nil {
		return fmt.Errorf("claim %s: %w", job.Key, err)
	}
	if len(rows) == 0 {
		return fault.New(fault.NotClaimable, "%s is %s and cannot be claimed.", job.Key, job.Status).
			With("status", string(job.Status))
	}
	return c.give([]ids.ID{job.ID})
}

// give reads the jobs that the agent holds now, the most urgent first. One that
// its token does not reach any more is not shown to it again.
func (c *claim) give(list []ids.ID) error {
	given, err := jobs.LoadManyTx(c.ctx, c.tx, c.who.Workspace, list)
	given = slices.DeleteFunc(given, func(j jobs.Job) bool { return !c.serves(j.ProductID) })
	slices.SortFunc(given, func(a, b jobs.Job) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), slices.Index(list, a.ID)-slices.Index(list, b.ID))
	})
	if err == nil {
		c.look.claimed.Jobs, err = c.reveal(given)
	}
	return err
}
