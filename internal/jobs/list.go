package jobs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Sort is an order of a list of jobs.
type Sort string

// The orders of a list.
const (
	SortCreated  Sort = "created"  // newest first
	SortAge      Sort = "age"      // oldest first
	SortUpdated  Sort = "updated"  // changed last first
	SortPriority Sort = "priority" // highest first, then longest in its status; of open jobs
	SortCost     Sort = "cost"     // most expensive first; of at most MaxSortedByCost jobs
)

// MaxSortedByCost is how many jobs a filter may leave for SortCost, which no index has.
const MaxSortedByCost = 1000

// List reads the jobs that a filter leaves, in its order, and the cursor of the
// next page, "" after the last one.
func (s *Service) List(ctx context.Context, who tenancy.Principal, f Filter) (list []Job, next string, err error) {
	f.Limit, f.Sort = cmp.Or(f.Limit, 50), cmp.Or(f.Sort, SortCreated)
	if f.Limit < 1 || f.Limit > 200 {
		return nil, "", fault.Invalid("limit", "It must be 1 to 200 (it is %d).", f.Limit)
	}
	if f.ReadyOnly {
		f.Statuses = []Status{Ready}
	}
	after, err := parsePlace(f.Sort, f.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		places, err := f.placesTx(ctx, tx, who.Workspace, after)
		if err != nil {
			return err
		}
		if len(places) > f.Limit {
			places = places[:f.Limit]
			next = places[f.Limit-1].cursor(f.Sort)
		}
		list, err = loadPlacesTx(ctx, tx, who.Workspace, places)
		return err
	}, db.Snapshot, db.PlanAnew)
	return list, next, err
}

// placesTx finds where the jobs of a page stand, and one more.
func (f Filter) placesTx(ctx context.Context, tx db.Tx, workspace ids.ID, after place) ([]place, error) {
	switch f.Sort {
	case SortCost:
		return f.placesByCostTx(ctx, tx, workspace, after)
	case SortPriority:
		return f.placesByPriorityTx(ctx, tx, workspace, after)
	}
	return f.readPlacesTx(ctx, tx, workspace, window{after: after, rows: f.Limit + 1})
}

// placesByPriorityTx merges what comes next in each status: the rest of the place's
// priority, and what is below it.
func (f Filter) placesByPriorityTx(ctx context.Context, tx db.Tx, workspace ids.ID, after place) ([]place, error) {
	if len(f.Statuses) == 0 || slices.ContainsFunc(f.Statuses, Status.Finished) {
		return nil, fault.Invalid("sort", "By priority it must come with the filter status, and with none but these: %s.", openStatuses())
	}
	var places []place
	var asks []func(db.Tx) error
	for _, status := range slices.Compact(slices.Sorted(slices.Values(f.Statuses))) {
		for _, within := range []bool{true, false} {
			asks = append(asks, func(tx db.Tx) error {
				part, err := f.readPlacesTx(ctx, tx, workspace, window{after, status, within, f.Limit + 1})
				places = append(places, part...)
				return err
			})
		}
	}
	if err := tx.Pipeline(ctx, asks...); err != nil {
		return nil, err
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), a.at.Compare(b.at), bytes.Compare(a.id[:], b.id[:]))
	})
	return places, nil
}

func openStatuses() string {
	var names []string
	for _, status := range Statuses {
		if !status.Finished() {
			names = append(names, string(status))
		}
	}
	return strings.Join(names, ", ")
}

// placesByCostTx sorts all that the filter leaves.
func (f Filter) placesByCostTx(ctx context.Context, tx db.Tx, workspace ids.ID, after place) ([]place, error) {
	places, err := f.readPlacesTx(ctx, tx, workspace, window{after: firstPlace(SortCreated), rows: MaxSortedByCost + 1})
	if err != nil {
		return nil, err
	}
	if len(places) > MaxSortedByCost {
		return nil, fault.Invalid("sort", "By cost it must have at most %d jobs to sort; narrow the filters.", MaxSortedByCost)
	}
	byCost := func(a, b place) int { return cmp.Or(cmp.Compare(b.cost, a.cost), bytes.Compare(b.id[:], a.id[:])) }
	slices.SortFunc(places, byCost)
	return slices.DeleteFunc(places, func(p place) bool { return byCost(p, after) <= 0 }), nil
}

// place is where a job stands in an order.
type place struct {
	id       ids.ID
	priority int
	at       time.Time // UpdatedAt where it is sorted by it, else StatusAt
	cost     int64     // in billionths of a dollar; 0 where it is not sorted by it
}

func (p place) cursor(s Sort) string {
	return fmt.Sprintf("%s.%d.%d.%d.%s", s, p.priority, p.at.UnixMicro(), p.cost, p.id)
}

// LastMicro is the latest time of a cursor, the end of the year 9986, in
// microseconds: PostgreSQL knows no time far beyond it.
const LastMicro = 253_000_000_000_000_000

// firstPlace is before all jobs of an order.
func firstPlace(s Sort) place {
	p := place{id: ids.Max, priority: MaxPriority + 1, at: time.UnixMicro(LastMicro), cost: math.MaxInt64}
	if s == SortAge {
		p.id = ids.Nil
	}
	return p
}

// parsePlace reads a cursor that was given out in an order.
func parsePlace(s Sort, cursor string) (place, error) {
	if cursor == "" {
		return firstPlace(s), nil
	}
	var p place
	var of, id string
	var micros int64
	_, err := fmt.Sscanf(strings.ReplaceAll(cursor, ".", " "), "%s %d %d %d %s", &of, &p.priority, &micros, &p.cost, &id)
	parsed, ok := ids.Parse(id)
	switch {
	case err != nil || !ok || p.priority < 0 || p.priority > MaxPriority+1 || micros < 0 || micros > LastMicro:
		return p, fault.Invalid("cursor", "It must be one that this server gave out.")
	case of != string(s):
		return p, fault.Invalid("cursor", "It must be one that was given out for this order.")
	}
	p.id, p.at = parsed, time.UnixMicro(micros)
	return p, nil
}
