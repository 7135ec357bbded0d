package screens

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

var q = dbsqlc.New()

// lane is what jobs of one kind need of whoever runs them.
type lane struct {
	id      int64
	product ids.ID
	needs   []string
	factory string
}

// product is what filters and menus know of a product.
type product struct {
	id    ids.ID
	name  string
	repos []string
}

// mergeTx reads the job that merges another one.
func mergeTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (Merge, error) {
	row, err := q.JobMergeLast(ctx, tx, workspace, job)
	if errors.Is(err, pgx.ErrNoRows) {
		return Merge{}, nil
	}
	if err != nil {
		return Merge{}, err
	}
	return Merge{Key: row.Key, Status: jobs.Status(row.Status), URL: row.Url}, nil
}

// readLanes reads the workspace's lanes, once.
func (r *reader) readLanes() error {
	if r.lanesRead {
		return nil
	}
	rows, err := q.LaneList(r.ctx, r.tx, r.workspace, 0)
	if err != nil {
		return err
	}
	for _, l := range rows {
		r.lanes = append(r.lanes, lane{id: l.ID, product: l.ProductID, needs: l.Needs, factory: l.Factory})
	}
	r.lanesRead = true
	return nil
}

// poolList reads the workspace's pools, once.
func (r *reader) poolList() (list []pools.Pool, err error) {
	if !r.poolsRead {
		r.pools, err = pools.ListTx(r.ctx, r.tx, r.workspace)
		r.poolsRead = err == nil
	}
	return r.pools, err
}

// productList reads the workspace's products, once.
func (r *reader) productList() ([]product, error) {
	if r.productsRead {
		return r.products, nil
	}
	rows, err := q.ProductList(r.ctx, r.tx, r.workspace)
	if err != nil {
		return nil, err
	}
	for _, p := range rows {
		r.products = append(r.products, product{id: p.ID, name: p.Name, repos: p.Repos})
	}
	r.productsRead = true
	return r.products, nil
}

// phases lists the phases that jobs have.
func (r *reader) phases() ([]string, error) {
	return q.BoardPhases(r.ctx, r.tx, r.workspace)
}

// firstReadyIn finds the most urgent ready jobs of some lanes.
func (r *reader) firstReadyIn(lanes []int64) ([]ids.ID, error) {
	return q.BoardUnroutable(r.ctx, r.tx, lanes, r.workspace, namedUnroutable)
}

// countReadyIn counts the ready jobs of some lanes, up to one more than countCap.
func (r *reader) countReadyIn(lanes []int64) (int, error) {
	return q.BoardUnroutableCount(r.ctx, r.tx, lanes, r.workspace, countCap+1)
}

// idsWaitingOn finds jobs whose reason names one of the jobs, a page of them.
func (r *reader) idsWaitingOn(list []ids.ID) ([]ids.ID, error) {
	return q.BoardWaitingOn(r.ctx, r.tx, list, r.workspace, PageSize)
}

// idsOfKey finds the job with a key, in any case of letters.
func (r *reader) idsOfKey(key string) ([]ids.ID, error) {
	rows, err := q.JobIDs(r.ctx, r.tx, r.workspace, []string{key, strings.ToUpper(key)}, []ids.ID{})
	if err != nil {
		return nil, err
	}
	list := make([]ids.ID, 0, len(rows))
	for _, row := range rows {
		list = append(list, row.ID)
	}
	return list, nil
}

// leasedTx finds the jobs that agents work on, at most maxLeased.
func leasedTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]ids.ID, error) {
	found, err := q.BoardLeased(ctx, tx, workspace, maxLeased)
	return found, wrapped("leased jobs", err)
}
