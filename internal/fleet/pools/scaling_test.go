package pools_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

type nobody struct{}

func (nobody) Publish(...string) {}

// A scaler of one pool ends no start of another one, except by starting the same factory.
func TestAStepIsOfItsPool(t *testing.T) {
	d := dbtest.New(t)
	who := dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner)
	s := pools.NewService(d, nobody{})
	for _, name := range []string{"one", "two"} {
		if _, err := s.Make(t.Context(), who, name, pools.Template{Min: 2, Max: 3, Offers: pools.Offers{Seats: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	scale := func(pool string, step pools.Step, changes bool) {
		t.Helper()
		start, err := s.Scale(t.Context(), who, pool, pools.Scaling{Factory: "host-1", Step: step})
		if err != nil || (start != nil) != changes {
			t.Errorf("%s of %s: %+v, %v", step, pool, start, err)
		}
	}
	starting := func(pool string, want int) {
		t.Helper()
		if got, err := s.Demand(t.Context(), who, pool); err != nil || got.Starting != want {
			t.Errorf("%d of %s are starting, %v; want %d", got.Starting, pool, err, want)
		}
	}
	scale("one", pools.Starting, true)
	scale("two", pools.Ended, false)
	scale("two", pools.Failed, false)
	scale("two", pools.Draining, false)
	starting("one", 1)
	scale("two", pools.Starting, true)
	starting("one", 0)
	starting("two", 1)
	scale("two", pools.Ended, true)
	starting("two", 0)
}
