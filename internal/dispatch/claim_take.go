package dispatch

import (
	"cmp"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// runJobs is how many jobs a run gives out at most, unless it has more agents:
// each gets one at least.
const runJobs = 1600

// name finds the one job that an agent asks for.
func (r *claimRun) name() error {
	for _, a := range r.open() {
		if a.in.Job == "" {
			continue
		}
		job, err := jobs.LoadTx(r.ctx, r.tx, r.workspace, a.in.Job)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		switch {
		case err != nil:
			a.err = err
		case !r.reaches(a, job.ProductID):
			a.err = fault.New(fault.NotClaimable, "The token of %s does not reach the product %s.", a.agent.Name, job.Product)
		case !slices.Contains(a.look.lanes, job.LaneID):
			a.err = fault.New(fault.NotClaimable, "%s needs something that %s on %s does not offer.", job.Key, a.agent.Name, a.agent.Factory)
		default:
			a.err = r.requireOpen(job)
		}
		a.named = &job
	}
	return nil
}

// choose finds out for whom there is anything to take.
func (r *claimRun) choose() error {
	asks := r.open()
	heads, err := r.firstHeads(lanesOf(asks))
	nothing := func(a *ask) bool { return a.named == nil && len(r.headsFor(a, heads)) == 0 }
	if err == nil && len(r.below) > 0 && slices.ContainsFunc(asks, nothing) {
		r.below = nil
		heads, err = r.heads(r.tx, lanesOf(asks))
	}
	if err != nil {
		return err
	}
	if !r.patient {
		r.seen = heads
	}
	for _, a := range asks {
		if nothing(a) {
			a.look.claimed.Reason, a.done = cmp.Or(a.closed, ReasonEmpty), true
		}
	}
	return nil
}

// foresee finds the lanes that the agents served when they looked last, for they
// mostly still do.
func (r *claimRun) foresee() {
	if r.patient {
		return
	}
	for _, a := range r.asks {
		if a.in.Job == "" {
			r.foreseen = append(r.foreseen, a.outlook.lanes...)
		}
	}
	slices.Sort(r.foreseen)
	r.foreseen = slices.Compact(r.foreseen)
	r.below = r.s.floors.below(r.workspace, r.foreseen)
}

// look reads the heads of the foreseen lanes.
func (r *claimRun) look(tx db.Tx) (err error) {
	r.seen, err = r.heads(tx, r.foreseen)
	return err
}

// unclear are the foreseen lanes, of which it is not known whether they have a job;
// none where one has a floor: the way to it is long, and its first job was near.
func (r *claimRun) unclear() []int64 {
	if len(r.below) > 0 {
		return nil
	}
	return r.foreseen
}

// firstHeads are the heads of these lanes, read again where others were foreseen.
func (r *claimRun) firstHeads(lanes []int64) ([]dbsqlc.ReadyHeadsRow, error) {
	if slices.Equal(lanes, r.foreseen) {
		return r.seen, nil
	}
	r.reached, r.below = nil, nil
	if !r.patient {
		r.below = r.s.floors.below(r.workspace, lanes)
	}
	return r.heads(r.tx, lanes)
}

// heads are those of these lanes that have a claimable job, the most urgent first.
func (r *claimRun) heads(tx db.Tx, lanes []int64) ([]dbsqlc.ReadyHeadsRow, error) {
	params := dbsqlc.ReadyHeadsParams{WorkspaceID: r.workspace, Lanes: lanes}
	if len(params.Lanes) == 0 {
		return nil, nil
	}
	for _, id := range params.Lanes {
		from := r.from(id)
		params.Priorities, params.ReadyAts = append(params.Priorities, from.priority), append(params.ReadyAts, from.readyAt)
		params.JobIds = append(params.JobIds, from.job)
	}
	heads, err := q.ReadyHeads(r.ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("heads of lanes: %w", err)
	}
	for _, h := range heads {
		if _, below := r.below[h.LaneID]; !below {
			r.reached = append(r.reached, reached{h.LaneID, place{h.Priority, h.ReadyAt, h.JobID}, h.Blocks})
		}
	}
	slices.SortFunc(heads, func(a, b dbsqlc.ReadyHeadsRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.ReadyAt.Compare(b.ReadyAt), cmp.Compare(a.LaneID, b.LaneID))
	})
	return heads, nil
}

// lanesOf are the lanes of all asks that want any job.
func lanesOf(asks []*ask) []int64 {
	var lanes []int64
	for _, a := range asks {
		if a.named == nil {
			lanes = append(lanes, a.look.lanes...)
		}
	}
	slices.Sort(lanes)
	return slices.Compact(lanes)
}

// from is the place from which on jobs of a lane are looked for.
func (r *claimRun) from(lane int64) place {
	if at, ok := r.below[lane]; ok {
		return at
	}
	return top
}

// reserve sees which agents have a free seat, and keeps those for the run. Claims
// of one factory come one after another from here on; others are not touched.
func (r *claimRun) reserve() error {
	for _, a := range r.open() {
		// Whoever went away gets nothing; from here on nobody can be left out.
		if a.err = a.ctx.Err(); a.err == nil {
			a.done = a.full()
		}
	}
	if len(r.open()) == 0 {
		return nil
	}
	if err := r.keep(); err != nil {
		return err
	}
	asks := r.open()
	share := max(1, runJobs/max(1, len(asks)))
	ofAgent, ofFactory := map[ids.ID]int{}, map[ids.ID]int{}
	for _, a := range asks {
		if a.err = r.standing(a); a.err != nil {
			continue
		}
		r.s.seats.counted(a.agent)
		if a.done = a.full(); a.done {
			continue
		}
		free := min(a.ownSeats()-ofAgent[a.agent.ID], a.factorySeats()-ofFactory[a.agent.FactoryID])
		a.crowded = free <= 0
		a.reserved = max(0, min(free, a.in.Max, share))
		ofAgent[a.agent.ID] += a.reserved
		ofFactory[a.agent.FactoryID] += a.reserved
	}
	return nil
}

// keep locks the factories and agents that are to get something, and reads them
// again, in statements that see what happened while the locks were waited for. A new
// boot and an end of an agent give back what it holds; neither may miss what is
// claimed at that moment.
func (r *claimRun) keep() error {
	asks := r.open()
	if r.patient {
		return r.read(r.await(asks[0])...)
	}
	if !slices.ContainsFunc(asks, func(a *ask) bool { return !r.locked[a.agent.ID] }) {
		return nil
	}
	for _, a := range asks {
		a.outlook.factory = a.agent.FactoryID
	}
	err := r.read(r.locking(asks, nil))
	for _, a := range asks {
		a.apart = !r.locked[a.agent.ID]
	}
	return err
}

// locking locks the agents of these asks and their factories, as far as nobody else
// has, and where lanes are named only if one of them has a job.
func (r *claimRun) locking(asks []*ask, lanes []int64) func(db.Tx) error {
	params := dbsqlc.AgentsKeepParams{WorkspaceID: r.workspace, Lanes: append([]int64{}, lanes...)}
	for _, a := range asks {
		params.Factories, params.Agents = append(params.Factories, a.outlook.factory), append(params.Agents, a.who.Agent)
	}
	return func(tx db.Tx) error {
		kept, err := q.AgentsKeep(r.ctx, tx, params)
		if err != nil {
			return fmt.Errorf("lock agents: %w", err)
		}
		r.locked = map[ids.ID]bool{}
		for _, agent := range kept {
			r.locked[agent] = true
		}
		return nil
	}
}

// await locks with patience, for the one ask that is alone then.
func (r *claimRun) await(a *ask) []func(db.Tx) error {
	return []func(db.Tx) error{func(tx db.Tx) error {
		_, err := q.FactoryLock(r.ctx, tx, dbsqlc.FactoryLockParams{WorkspaceID: r.workspace, ID: a.agent.FactoryID})
		if err != nil {
			return fmt.Errorf("lock factory: %w", err)
		}
		return nil
	}, func(tx db.Tx) error {
		if err := q.AgentKeep(r.ctx, tx, dbsqlc.AgentKeepParams{WorkspaceID: r.workspace, ID: a.agent.ID}); err != nil {
			return fmt.Errorf("lock agent: %w", err)
		}
		return nil
	}}
}

func (a *ask) ownSeats() int     { return int(a.agent.MaxConcurrentJobs - a.agent.AgentTaken) }
func (a *ask) factorySeats() int { return int(a.agent.Seats - a.agent.FactoryTaken) }

// full reports whether the agent may take nothing, and notes why.
func (a *ask) full() bool {
	switch {
	case a.agent.Draining || a.agent.TerminatedAt != nil:
		a.look.claimed.Reason = ReasonDraining
	case a.ownSeats() <= 0 || a.factorySeats() <= 0:
		a.look.claimed.Reason = ReasonNoSeats
	default:
		return false
	}
	a.look.wanted = a.named == nil
	return true
}

// take takes jobs out of the queue: for agents of the same lanes together, in the
// order in which they came.
func (r *claimRun) take() error {
	asks := r.open()
	for len(asks) > 0 {
		first := asks[0]
		alike := func(a *ask) bool {
			return a == first || first.named == nil && a.named == nil && slices.Equal(a.look.lanes, first.look.lanes)
		}
		var group, others []*ask
		for _, a := range asks {
			if alike(a) {
				group = append(group, a)
			} else {
				others = append(others, a)
			}
		}
		asks = others
		var err error
		if first.named != nil {
			err = r.takeNamed(first)
		} else {
			err = r.takeFor(group)
		}
		if err != nil {
			return err
		}
	}
	for _, a := range r.open() {
		a.resolve(r.asks)
	}
	return nil
}

// resolve says of an ask that has got nothing for itself why.
func (a *ask) resolve(all []*ask) {
	switch {
	case len(a.taken) > 0:
	case !a.crowded:
		a.look.claimed.Reason, a.done = cmp.Or(a.closed, ReasonEmpty), true
	default:
		own, factory := a.ownSeats(), a.factorySeats()
		for _, other := range all {
			if other.agent.FactoryID == a.agent.FactoryID {
				factory -= len(other.taken)
			}
			if other.agent.ID == a.agent.ID {
				own -= len(other.taken)
			}
		}
		if a.apart = own > 0 && factory > 0; !a.apart {
			a.look.claimed.Reason, a.look.wanted, a.done = ReasonNoSeats, true, true
		}
	}
}

// takeNamed takes the one job that was asked for.
func (r *claimRun) takeNamed(a *ask) error {
	if a.crowded {
		return nil
	}
	a.err = r.requireOpen(*a.named)
	if a.err != nil {
		return nil //nolint:nilerr // the refusal of this ask, not of the run
	}
	n, err := q.ReadyTakeOne(r.ctx, r.tx, dbsqlc.ReadyTakeOneParams{WorkspaceID: r.workspace, LaneID: a.named.LaneID, JobID: a.named.ID})
	if err != nil {
		return fmt.Errorf("claim %s: %w", a.named.Key, err)
	}
	if n == 0 {
		a.err = notClaimable(*a.named)
		return nil
	}
	a.taken = []ids.ID{a.named.ID}
	return nil
}

// takeFor takes jobs for asks of the same lanes.
func (r *claimRun) takeFor(group []*ask) error {
	n := 0
	for _, a := range group {
		n += a.reserved
	}
	if n == 0 {
		return nil
	}
	taken, err := r.takeFrom(group[0], n)
	if err != nil {
		return err
	}
	for _, a := range group {
		got := min(a.reserved, len(taken))
		a.taken, taken = taken[:got:got], taken[got:]
		a.closed = group[0].closed
	}
	return nil
}

// takeFrom takes up to n jobs, lane by lane: from the most urgent lane those that
// are at least as urgent as the next lane's head, then it looks again. A job that
// another claim is taking is passed over.
func (r *claimRun) takeFrom(a *ask, n int) ([]ids.ID, error) {
	var taken []ids.ID
	dry := map[int64]bool{}
	for len(taken) < n {
		// Nothing was waited for since choose looked: the first to take can go by that.
		heads, fresh := r.seen, r.seen == nil
		if r.seen = nil; fresh {
			var err error
			if heads, err = r.heads(r.tx, lanesOf([]*ask{a})); err != nil {
				return nil, err
			}
		}
		heads = slices.DeleteFunc(r.headsFor(a, heads), func(h dbsqlc.ReadyHeadsRow) bool { return dry[h.LaneID] })
		if len(heads) == 0 && len(r.below) > 0 {
			r.below = nil // once more, from the top
			continue
		}
		if len(heads) == 0 {
			break
		}
		from := r.from(heads[0].LaneID)
		params := dbsqlc.ReadyTakeParams{WorkspaceID: r.workspace, LaneID: heads[0].LaneID, MaxRows: int32(n - len(taken)), //nolint:gosec // bounded by runJobs
			FromPriority: from.priority, FromReadyAt: from.readyAt, FromJobID: from.job}
		if len(heads) > 1 {
			params.MinPriority = heads[1].Priority
		}
		rows, err := q.ReadyTake(r.ctx, r.tx, params)
		if err != nil {
			return nil, fmt.Errorf("claim: %w", err)
		}
		slices.SortFunc(rows, func(x, y dbsqlc.ReadyTakeRow) int {
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), x.ReadyAt.Compare(y.ReadyAt), slices.Compare(x.JobID[:], y.JobID[:]))
		})
		for _, row := range rows {
			taken = append(taken, row.JobID)
		}
		if len(rows) > 0 {
			last := rows[len(rows)-1]
			r.reached = append(r.reached, reached{heads[0].LaneID, place{last.Priority, last.ReadyAt, last.JobID}, 0})
		}
		dry[heads[0].LaneID] = fresh && len(rows) == 0
	}
	return taken, nil
}
