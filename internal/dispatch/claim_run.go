package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// lookCall is what one look at the queue needs to know.
type lookCall struct {
	who     tenancy.Principal
	in      ClaimRequest
	outlook outlook
}

// errNothing ends the transaction of looks that have written nothing, but may have
// locked: what is not saved is not waited for.
var errNothing = errors.New("dispatch: nothing was written")

// look is what one look at the queue found.
type look struct {
	claimed Claimed
	lanes   []int64
	factory ids.ID
	version uint64
	began   uint64 // of this process's wake-ups, before anything was read
	wanted  bool   // there was a job, and this agent could not take it
}

// lookTogether answers the looks of many agents in one transaction. Where there
// is nothing to take it only reads.
func (s *Service) lookTogether(ctx context.Context, workspace ids.ID, list []*request[lookCall, look], patient bool) error {
	var run *claimRun
	err := s.scope(patient)(ctx, workspace, func(tx db.Tx) error {
		run = newClaimRun(ctx, tx, s, workspace, list)
		run.patient = patient
		return run.run()
	})
	if err != nil && !errors.Is(err, errNothing) {
		return err
	}
	s.settled(ctx, workspace, run.broken...)
	s.claimed(workspace, run.asks)
	for _, l := range run.reached {
		s.floors.reached(workspace, l.lane, l.place, l.blocks)
	}
	if patient && run.asks[0].apart {
		return s.lookTogether(ctx, workspace, list, patient)
	}
	for i, a := range run.asks {
		a.look.claimed.QueueVersion = s.waiters.text(a.look.version)
		list[i].out, list[i].err, list[i].apart = a.look, a.err, a.apart
	}
	return nil
}

// claimed tells the others what was given: the pages, and the next in line.
func (s *Service) claimed(workspace ids.ID, asks []*ask) {
	var given []jobs.Job
	for _, a := range asks {
		if len(a.look.claimed.Jobs) > 0 {
			given = append(given, a.look.claimed.Jobs...)
			s.waiters.passOn(workspace, a.look.lanes, fanOut)
		}
		if a.err == nil {
			s.waiters.remember(a.who.Agent, outlook{factory: a.look.factory, lanes: a.look.lanes})
		}
	}
	if len(given) > 0 {
		s.published(workspace, nil, given...)
	}
}

// claimRun is the looks of one transaction.
type claimRun struct {
	ctx       context.Context //nolint:containedctx // lives as long as the run
	tx        db.Tx
	s         *Service
	workspace ids.ID
	asks      []*ask
	patient   bool // it may wait for locks

	agents   map[ids.ID]dbsqlc.AgentsForClaimRow
	closed   map[ids.ID]string      // products that give nothing now, and why
	products map[string]ids.ID      // those that tokens are limited to
	held     []int64                // lanes with jobs that wait for a place in review
	broken   []change               // jobs that failed instead of being given
	locked   map[ids.ID]bool        // agents that are locked with their factories
	foreseen []int64                // lanes that it probably looks at
	seen     []dbsqlc.ReadyHeadsRow // what choose saw, until something is taken
	wrote    bool                   // it has something to save
	loaded   []jobs.Job             // what was given, and what could not be
	below    map[int64]place        // floors of lanes, from which jobs are looked for
	reached  []reached
}

// reached is how far a run has come in a lane.
type reached struct {
	lane int64
	place
	blocks int64
}

// ask is one of the looks.
type ask struct {
	ctx context.Context //nolint:containedctx // the caller's
	lookCall

	agent    dbsqlc.AgentsForClaimRow
	products map[int64]ids.ID // of its lanes
	named    *jobs.Job        // the one job wanted
	closed   string           // why its lanes' jobs were left out, "" where none was
	reserved int              // how many jobs may be taken for it
	crowded  bool             // others of the run have reserved what is free
	taken    []ids.ID         // out of the queue, without a lease yet
	given    []ids.ID

	look  look
	err   error
	apart bool
	done  bool // what it gets is known
}

func newClaimRun(ctx context.Context, tx db.Tx, s *Service, workspace ids.ID, list []*request[lookCall, look]) *claimRun {
	r := &claimRun{ctx: ctx, tx: tx, s: s, workspace: workspace}
	for _, one := range list {
		r.asks = append(r.asks, &ask{ctx: one.ctx, lookCall: one.in})
	}
	return r
}

// open are the asks of which it is not known yet what they get.
func (r *claimRun) open() []*ask {
	var open []*ask
	for _, a := range r.asks {
		if a.err == nil && !a.done && !a.apart {
			open = append(open, a)
		}
	}
	return open
}

func (r *claimRun) run() error {
	for _, step := range []func() error{r.meet, r.repeat, r.name, r.choose, r.reserve, r.grab, r.take, r.give, r.show} {
		if err := step(); err != nil {
			return err
		}
	}
	if !r.wrote {
		return errNothing
	}
	return nil
}

// meet reads who asks and which lanes they serve. Those who may well get something
// are locked first, if there is anything to get.
func (r *claimRun) meet() error {
	// Before anything is read: a product that opens, and a job that becomes ready,
	// from here on changes the version.
	began := r.s.waiters.latest()
	var hopeful []*ask
	for _, a := range r.asks {
		if a.outlook.good && len(a.outlook.lanes) > 0 && a.in.Job == "" && !r.patient {
			hopeful = append(hopeful, a)
		}
	}
	r.foresee()
	before := []func(db.Tx) error{r.look}
	if len(hopeful) > 0 {
		before = []func(db.Tx) error{r.locking(hopeful, r.unclear()), r.look}
	}
	if err := r.read(before...); err != nil {
		return err
	}
	for _, a := range r.open() {
		a.look.began = began
		if a.err = r.standing(a); a.err != nil {
			continue
		}
		if err := r.serve(a); err != nil {
			return err
		}
	}
	return nil
}

// read reads the agents and the products as they are now, after what is asked
// before.
func (r *claimRun) read(before ...func(db.Tx) error) error {
	var agents []ids.ID
	names := []string{}
	for _, a := range r.asks {
		agents, names = append(agents, a.who.Agent), append(names, a.who.Scope.Products...)
	}
	return r.tx.Together(r.ctx, append(before,
		func(tx db.Tx) error { return r.readAgents(tx, agents) },
		func(tx db.Tx) error { return r.readProducts(tx, names) })...)
}

func (r *claimRun) readAgents(tx db.Tx, agents []ids.ID) error {
	rows, err := q.AgentsForClaim(r.ctx, tx, r.s.seats.counting(r.workspace, agents))
	if err != nil {
		return fmt.Errorf("read agents: %w", err)
	}
	r.agents = map[ids.ID]dbsqlc.AgentsForClaimRow{}
	for _, row := range rows {
		r.agents[row.ID] = row
	}
	return nil
}

// standing refuses an agent whose token has ended, by what the database says: a
// process that has not heard of it yet gives out nothing either.
func (r *claimRun) standing(a *ask) error {
	agent, known := r.agents[a.who.Agent]
	a.agent = agent
	switch {
	case !known:
		return fault.New(fault.Superseded, "This agent is no longer registered. Register it again.")
	case agent.EnrolmentRevoked:
		return fault.New(fault.TokenRevoked, "The enrolment token of %s was revoked.", agent.Name)
	case agent.CutOffAt != nil:
		return fault.New(fault.TokenRevoked, "%s was cut off by a person.", agent.Name)
	case agent.BootID != a.who.Boot || agent.Generation > a.who.Generation:
		return superseded(agent.Name)
	}
	return nil
}

func superseded(agent string) error {
	return fault.New(fault.Superseded, "%s was started again; this process has no leases any more and is to stop.", agent)
}

// serve finds the lanes whose jobs an agent may take.
func (r *claimRun) serve(a *ask) error {
	repos, err := reposOf(a.agent.Repos)
	if err != nil {
		return err
	}
	// The scope once more: an agent with another token may have described the
	// factory since.
	offers := fleet.Within(a.who.Scope,
		fleet.Offers(a.agent.Os, a.agent.Engines, slices.Concat(a.agent.FactoryCapabilities, a.agent.Capabilities), repos))
	page, err := r.s.lanes.of(r.ctx, r.tx, r.workspace, a.agent.NewestLane)
	if err != nil {
		return err
	}
	a.look.factory = a.agent.FactoryID
	a.look.lanes, a.products = []int64{}, map[int64]ids.ID{}
	for _, l := range page {
		if r.reaches(a, l.product) && l.serves(a.agent.Factory, offers) {
			a.look.lanes, a.products[l.id] = append(a.look.lanes, l.id), l.product
		}
	}
	a.look.version = min(a.look.began, r.s.waiters.version(r.workspace, a.look.lanes))
	return nil
}

func reposOf(raw json.RawMessage) ([]fleet.Repo, error) {
	var repos []fleet.Repo
	if err := json.Unmarshal(raw, &repos); err != nil {
		return nil, fmt.Errorf("repos of factory: %w", err)
	}
	return repos, nil
}

// repeat gives the same leases again to a request that was answered before, but
// those that its token does not reach any more.
func (r *claimRun) repeat() error {
	params := dbsqlc.LeasesOfRequestsParams{WorkspaceID: r.workspace}
	asks := r.open()
	for i, a := range asks {
		if a.in.RequestID == "" {
			continue
		}
		for _, digest := range a.requestDigests(r.s.jobs) {
			params.Asks = append(params.Asks, int32(i))
			params.Agents, params.Requests = append(params.Agents, a.who.Agent), append(params.Requests, a.in.RequestID)
			params.Digests = append(params.Digests, digest)
			params.FromNumbers = append(params.FromNumbers, r.s.seats.from(a.who.Agent))
		}
	}
	if len(params.Agents) == 0 {
		return nil
	}
	rows, err := q.LeasesOfRequests(r.ctx, r.tx, params)
	if err != nil {
		return fmt.Errorf("leases of requests: %w", err)
	}
	for _, row := range rows {
		a := asks[row.Ask]
		if !r.reaches(a, row.ProductID) {
			continue
		}
		l, err := r.s.lanes.one(r.ctx, r.tx, r.workspace, row.LaneID)
		if err != nil {
			return err
		}
		if l.within(a.who.Scope) {
			a.given, a.done = append(a.given, row.JobID), true
		}
	}
	return nil
}

// show gives the agents the jobs that are theirs, the most urgent first.
func (r *claimRun) show() error {
	if len(r.loaded) == 0 {
		return nil
	}
	given := map[ids.ID]bool{}
	for _, a := range r.asks {
		for _, id := range a.given {
			given[id] = true
		}
	}
	list, err := r.reveal(slices.DeleteFunc(r.loaded, func(j jobs.Job) bool { return !given[j.ID] }))
	if err != nil {
		return err
	}
	byID := make(map[ids.ID]jobs.Job, len(list))
	for _, j := range list {
		byID[j.ID] = j
	}
	for _, a := range r.asks {
		for _, id := range a.given {
			if j, ok := byID[id]; ok {
				a.look.claimed.Jobs = append(a.look.claimed.Jobs, j)
			}
		}
		slices.SortStableFunc(a.look.claimed.Jobs, func(x, y jobs.Job) int { return y.Priority - x.Priority })
		// What it was given has failed instead: it looks once more, at what stood behind.
		a.apart = a.apart || len(a.given) > 0 && len(a.look.claimed.Jobs) == 0
	}
	return nil
}
