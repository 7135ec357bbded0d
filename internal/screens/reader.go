package screens

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/natural"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// reader reads parts of a board in one transaction.
type reader struct {
	ctx       context.Context // lives as long as the call
	tx        db.Tx
	workspace ids.ID
	snap      fleet.Snapshot

	// Each is read once, where it is requested.
	lanes        []lane
	unserved     []lane // of them those that no live factory serves
	pools        []pools.Pool
	products     []product
	lanesRead    bool
	unservedRead bool
	poolsRead    bool
	productsRead bool
	routes       map[int64]fleet.Routing // by lane
	named        *jobs.Job               // by the key that was searched for
	namedRead    bool
}

func newReader(ctx context.Context, tx db.Tx, workspace ids.ID) (*reader, error) {
	snap, err := fleet.SnapshotTx(ctx, tx, workspace)
	return &reader{ctx: ctx, tx: tx, workspace: workspace, snap: snap}, err
}

// unroutable reads the first ready jobs that no live factory can run and for which none can be
// expected of a pool, and counts them up to countCap.
func (r *reader) unroutable() (Unroutable, error) {
	var u Unroutable
	unserved, err := r.unservedLanes()
	if err != nil || len(unserved) == 0 {
		return u, err
	}
	lanes := laneIDs(unserved)
	list, err := r.firstReadyIn(lanes)
	if err != nil || len(list) == 0 {
		return u, err
	}
	// The pools are read only where a job waits that no live factory can run.
	unroutable, err := r.unroutableLanes()
	if err != nil {
		return u, err
	}
	if lanes = laneIDs(unroutable); len(lanes) < len(unserved) {
		if list, err = r.firstReadyIn(lanes); err != nil {
			return u, err
		}
	}
	if u.First, err = r.cards(list); err != nil {
		return u, err
	}
	for i, c := range u.First {
		// Whatever else holds it: this is about the fleet.
		u.First[i].Why = routeReason(r.route(c.Job.LaneID, toNeeds(c.Job)))
	}
	n := len(list)
	if n == namedUnroutable {
		if n, err = r.countReadyIn(lanes); err != nil {
			return u, err
		}
	}
	u.Count, u.Capped = min(n, countCap), n > countCap
	return u, nil
}

// cards reads jobs in the order of the list.
func (r *reader) cards(list []ids.ID) ([]Card, error) {
	if len(list) == 0 {
		return nil, nil
	}
	found, err := jobs.LoadManyTx(r.ctx, r.tx, r.workspace, list)
	if err != nil {
		return nil, err
	}
	place := make(map[ids.ID]int, len(list))
	for i, id := range list {
		place[id] = i
	}
	slices.SortFunc(found, func(a, b jobs.Job) int { return place[a.ID] - place[b.ID] })
	known, err := r.facts(found)
	if err != nil {
		return nil, err
	}
	spent, err := spend.OfJobsTx(r.ctx, r.tx, r.workspace, list)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(found, known.isUnserved) {
		if known.pools, err = r.poolList(); err != nil {
			return nil, err
		}
	}
	collide, err := r.collisions(found, cardPaths)
	if err != nil {
		return nil, err
	}
	verified, err := verifications{r}.progress(found)
	if err != nil {
		return nil, err
	}
	cards := make([]Card, 0, len(found))
	for _, j := range found {
		if j.Status != jobs.Archived {
			c := Card{Job: j, Why: known.findReason(j), Moves: ListMoves(j), Spent: spent[j.ID], Collisions: collide[j.ID]}
			if p, has := verified[j.ID]; has {
				c.Verified = &p
			}
			cards = append(cards, c)
		}
	}
	return cards, nil
}

// waitingOn reads the cards whose reason names one of the jobs: those that
// depend on it, or wait for the repo that it holds or held. There may be more
// than a board shows; the rest is left out.
func (r *reader) waitingOn(list []ids.ID) ([]Card, error) {
	if len(list) == 0 {
		return nil, nil
	}
	waiting, err := r.idsWaitingOn(list)
	if err != nil {
		return nil, err
	}
	return r.cards(waiting)
}

// verifiedBy reads the cards of the work that verify jobs among some cards verify.
func (r verifications) verifiedBy(cards []Card) ([]Card, error) {
	var verify []ids.ID
	for _, c := range cards {
		if c.Job.Kind == jobs.KindVerify {
			verify = append(verify, c.Job.ID)
		}
	}
	if len(verify) == 0 {
		return nil, nil
	}
	work, err := q.VerificationWork(r.ctx, r.tx, r.workspace, verify)
	if err != nil {
		return nil, err
	}
	return r.cards(work)
}

// menus fills in what the filter menus offer.
func (r *reader) menus(b *PageContext) error {
	products, err := r.productList()
	if err != nil {
		return err
	}
	for _, p := range products {
		b.Products = append(b.Products, p.name)
		b.Repos = append(b.Repos, p.repos...)
	}
	for _, f := range r.snap.Factories {
		for _, repo := range f.Repos {
			b.Repos = append(b.Repos, repo.Name)
		}
	}
	natural.Sort(b.Repos)
	natural.Sort(b.Products)
	b.Repos = slices.Compact(b.Repos)
	b.Phases, err = r.phases()
	natural.Sort(b.Phases)
	return err
}

func (f Filter) priority() int {
	if f.PriorityGTE == nil {
		return 0
	}
	return *f.PriorityGTE
}
