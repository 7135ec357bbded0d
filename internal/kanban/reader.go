package kanban

import (
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// reader reads parts of a board in one transaction.
type reader struct {
	ctx       context.Context //nolint:containedctx // lives as long as the call
	tx        db.Tx
	workspace ids.ID
	snap      fleet.Snapshot
	dead      []int64 // lanes that no live factory serves, once read
	deadRead  bool
}

func newReader(ctx context.Context, tx db.Tx, workspace ids.ID) (*reader, error) {
	snap, err := fleet.SnapshotTx(ctx, tx, workspace)
	return &reader{ctx: ctx, tx: tx, workspace: workspace, snap: snap}, err
}

func (r *reader) columns(f Filter) ([]ColumnPage, error) {
	list := make([]ColumnPage, 0, len(Columns))
	for _, c := range Columns {
		page, err := r.column(f, c, "")
		if err != nil {
			return nil, err
		}
		list = append(list, page)
	}
	return list, nil
}

func (r *reader) column(f Filter, c Column, after string) (ColumnPage, error) {
	page := ColumnPage{Column: c}
	if statuses[c] == nil {
		return page, fault.New(fault.NotFound, "The board has no column %.32s.", c)
	}
	at, err := parseCursor(after)
	if err != nil {
		return page, err
	}
	list, err := r.pageIDs(f, c, at)
	if err != nil {
		return page, err
	}
	more := len(list) > pageSize
	if page.Cards, err = r.cards(list[:min(len(list), pageSize)]); err != nil {
		return page, err
	}
	if n := len(page.Cards); more && n > 0 {
		page.Next = cursorOf(page.Cards[n-1].Job)
	}
	page.Count, page.Capped, err = r.count(f, c)
	return page, err
}

func (r *reader) pageIDs(f Filter, c Column, at cursor) ([]ids.ID, error) {
	if c == Done || c == Failed {
		if f.Unroutable {
			return nil, nil
		}
		days := int32(DoneDays)
		if c == Failed {
			days = 36500
		}
		list, err := q.BoardFinished(r.ctx, r.tx, dbsqlc.BoardFinishedParams{
			WorkspaceID: r.workspace, Statuses: names(c), Days: days, AfterAt: at.before(), AfterID: at.beforeID(),
			PriorityGte: f.priority(), Product: f.Product, Repo: f.Repo, Phase: f.Phase, Factory: f.Factory,
			Q: db.EscapeLike(f.Query), MaxRows: pageSize + 1})
		if err != nil {
			return nil, fmt.Errorf("finished jobs: %w", err)
		}
		return list, nil
	}
	lanes, any, err := r.lanesFor(f, c)
	if err != nil || !any {
		return nil, err
	}
	list, err := q.BoardOpen(r.ctx, r.tx, dbsqlc.BoardOpenParams{
		WorkspaceID: r.workspace, Statuses: names(c), AfterPriority: at.priority, AfterAt: at.at, AfterID: at.id,
		PriorityGte: f.priority(), Product: f.Product, Repo: f.Repo, Phase: f.Phase, Factory: f.Factory,
		Q: db.EscapeLike(f.Query), Lanes: lanes, MaxRows: pageSize + 1})
	if err != nil {
		return nil, fmt.Errorf("open jobs: %w", err)
	}
	return list, nil
}

// lanesFor are the lanes to look in, none for all; any is false where the
// filter leaves none.
func (r *reader) lanesFor(f Filter, c Column) (lanes []int64, any bool, err error) {
	if !f.Unroutable {
		return []int64{}, true, nil
	}
	if c != Ready {
		return nil, false, nil
	}
	lanes, err = r.deadLanes()
	return lanes, len(lanes) > 0, err
}

// deadLanes are the lanes that no live factory serves.
func (r *reader) deadLanes() ([]int64, error) {
	if r.deadRead {
		return r.dead, nil
	}
	rows, err := q.LaneList(r.ctx, r.tx, r.workspace)
	if err != nil {
		return nil, fmt.Errorf("list lanes: %w", err)
	}
	for _, l := range rows {
		if len(r.snap.Route(fleet.Needs{Capabilities: l.Needs, Factory: l.Factory}).Eligible) == 0 {
			r.dead = append(r.dead, l.ID)
		}
	}
	r.deadRead = true
	return r.dead, nil
}

// unroutable reads the first ready jobs that no live factory can run, and counts
// them up to countCap.
func (r *reader) unroutable() (Unroutable, error) {
	var u Unroutable
	lanes, err := r.deadLanes()
	if err != nil || len(lanes) == 0 {
		return u, err
	}
	list, err := q.BoardUnroutable(r.ctx, r.tx, dbsqlc.BoardUnroutableParams{
		WorkspaceID: r.workspace, Lanes: lanes, MaxRows: namedUnroutable})
	if err != nil {
		return u, fmt.Errorf("unroutable jobs: %w", err)
	}
	if u.First, err = r.cards(list); err != nil {
		return u, err
	}
	for i, c := range u.First {
		// Whatever else holds it: this is about the fleet.
		u.First[i].Why = routeReason(r.snap.Route(needsOf(c.Job)))
	}
	n := len(list)
	if n == namedUnroutable {
		all, err := q.BoardUnroutableCount(r.ctx, r.tx, dbsqlc.BoardUnroutableCountParams{
			WorkspaceID: r.workspace, Lanes: lanes, MaxRows: countCap + 1})
		if err != nil {
			return u, fmt.Errorf("count unroutable jobs: %w", err)
		}
		n = int(all)
	}
	u.Count, u.Capped = min(n, countCap), n > countCap
	return u, nil
}

// count counts a column's jobs, each status up to countCap.
func (r *reader) count(f Filter, c Column) (n int, capped bool, err error) {
	lanes, any, err := r.lanesFor(f, c)
	if err != nil || !any {
		return 0, false, err
	}
	rows, err := q.BoardCount(r.ctx, r.tx, dbsqlc.BoardCountParams{
		WorkspaceID: r.workspace, Statuses: names(c), Days: DoneDays, PriorityGte: f.priority(), Product: f.Product,
		Repo: f.Repo, Phase: f.Phase, Factory: f.Factory, Q: db.EscapeLike(f.Query), Lanes: lanes, MaxRows: countCap + 1})
	if err != nil {
		return 0, false, fmt.Errorf("count jobs: %w", err)
	}
	for _, row := range rows {
		n += min(int(row.Jobs), countCap)
		capped = capped || row.Jobs > countCap
	}
	return n, capped, nil
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
	cards := make([]Card, 0, len(found))
	for _, j := range found {
		if j.Status != jobs.Archived {
			cards = append(cards, Card{Job: j, Why: known.reasonOf(j), Moves: movesOf(j)})
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
	waiting, err := q.BoardWaitingOn(r.ctx, r.tx, dbsqlc.BoardWaitingOnParams{WorkspaceID: r.workspace, Ids: list, MaxRows: pageSize})
	if err != nil {
		return nil, fmt.Errorf("jobs that wait for others: %w", err)
	}
	return r.cards(waiting)
}

// menus fills in what the filter menus offer.
func (r *reader) menus(b *Surroundings) error {
	products, err := q.ProductList(r.ctx, r.tx, r.workspace)
	if err != nil {
		return fmt.Errorf("list products: %w", err)
	}
	for _, p := range products {
		b.Products = append(b.Products, p.Name)
		b.Repos = append(b.Repos, p.Repos...)
	}
	for _, f := range r.snap.Factories {
		for _, repo := range f.Repos {
			b.Repos = append(b.Repos, repo.Name)
		}
	}
	slices.Sort(b.Repos)
	b.Repos = slices.Compact(b.Repos)
	if b.Phases, err = q.BoardPhases(r.ctx, r.tx, r.workspace); err != nil {
		return fmt.Errorf("list phases: %w", err)
	}
	return nil
}

func names(c Column) []string {
	var list []string
	for _, s := range statuses[c] {
		list = append(list, string(s))
	}
	return list
}

func (f Filter) priority() int32 {
	if f.PriorityGTE == nil {
		return 0
	}
	return int32(*f.PriorityGTE) //nolint:gosec // any number narrows
}
