package claim

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// A lane that was committed after one with a higher number is found although the list has that one.
func TestALaneThatWasCommittedLaterIsFound(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	cache := newLaneCache()
	make := func(id int64) {
		dbfactory.Exec(t, d, `INSERT INTO lane (id, workspace_id, product_id, needs, factory, digest) OVERRIDING SYSTEM VALUE
			SELECT $1, p.workspace_id, p.id, '{}', '', int8send($1) FROM product p WHERE p.workspace_id = $2`, id, workspace)
	}
	one := func(id int64) error {
		return d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
			_, err := cache.one(t.Context(), tx, workspace, id)
			return err
		})
	}
	make(1001)
	if err := one(1001); err != nil {
		t.Fatal(err)
	}
	make(1000)
	if err := one(1000); err != nil {
		t.Error(err)
	}
	if err := one(999); err == nil {
		t.Error("it found a lane that is not there")
	}
}

// Of one kind of agents each serves the lanes that do not keep it away, and none knows of the others.
func TestGuardedLanesAreServedByTheOthers(t *testing.T) {
	s, product := newServedLanes(), ids.New()
	list := laneList{number: 1, lanes: []lane{{ID: 1, ProductID: product}, {ID: 2, ProductID: product, Needs: []string{"!agent:ada"}},
		{ID: 3, ProductID: product, Needs: []string{"!agent:bob"}}}}
	of := func(name string) served {
		return s.of(ids.Nil, list, [32]byte{}, func(lane) bool { return true }).passes(distinct.Agent{Name: name})
	}
	for name, want := range map[string][]int64{"ada": {1, 3}, "bob": {1, 2}, "eve": {1, 2, 3}, "": {1}} {
		got := of(name)
		_, knows := got.products[2]
		if !slices.Equal(got.lanes, want) || knows != slices.Contains(want, 2) || got.partly[product] != (len(want) < 3) {
			t.Errorf("%q serves %v", name, got)
		}
	}
	list.lanes = append(list.lanes, lane{ID: 4, ProductID: product, Needs: []string{"!agent:ada"}})
	if got := of("ada"); !slices.Equal(got.lanes, []int64{1, 3}) || !got.verifies(4) || got.verifies(1) {
		t.Errorf("with a new lane ada serves %v", got)
	}
}
