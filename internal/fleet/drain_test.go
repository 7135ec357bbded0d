package fleet_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// counter counts the calls that published something.
type counter int

func (c *counter) Publish(...string) { *c++ }

// Owners and admins drain factories, whatever the door; the same again changes and wakes nothing.
func TestWhoDrainsFactories(t *testing.T) {
	t.Parallel()
	d, published := dbtest.New(t), new(counter)
	workspace, s := dbfactory.Workspace(t, d), fleet.NewService(d, published)
	dbfactory.Exec(t, d, `INSERT INTO factory (workspace_id, id, name, os) VALUES ($1, gen_random_uuid(), 'mac-1', 'linux')`, workspace)
	for _, who := range []tenancy.Principal{dbfactory.Person(workspace, tenancy.RoleMember), dbfactory.Person(workspace, tenancy.RoleViewer),
		{Kind: tenancy.KindAgent, Workspace: workspace}, {}} {
		if _, err := s.SetDraining(t.Context(), who, "mac-1", true); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s %s: %v", who.Kind, who.Role, err)
		}
	}
	for i, drains := range []bool{true, true, false, false} {
		f, err := s.SetDraining(t.Context(), dbfactory.Person(workspace, tenancy.RoleAdmin), "mac-1", drains)
		if err != nil || f.Draining != drains || int(*published) != i/2+1 {
			t.Errorf("call %d: %t, published %d, %v", i, f.Draining, *published, err)
		}
	}
	if n := dbfactory.Int(t, d, `SELECT count(*) FROM event WHERE type LIKE 'factory.%drained'`); n != 2 {
		t.Errorf("%d events", n)
	}
	if _, err := s.SetDraining(t.Context(), dbfactory.Person(workspace, tenancy.RoleOwner), "nowhere", true); !fault.Is(err, fault.NotFound) {
		t.Errorf("no factory: %v", err)
	}
}
