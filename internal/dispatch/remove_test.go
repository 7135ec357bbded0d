package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// silent lets an agent have been silent for a day.
func (w *testWorkspace) silent(agent tenancy.Principal) {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '1 day' WHERE id = $1`, agent.Agent)
}

// A factory is removed with its dead agents and their tokens; its attempts and the log
// keep the names, and the same boot registers anew.
func TestRemoveFactory(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada")
	w.Agent("bob", func(r *fleet.Registration) { r.Factory.Name = "factory-of-ada" })
	held := w.Claim(w.onJob(ada))
	for _, why := range []string{"a live agent", "a lease"} {
		if err := w.Dispatch.RemoveFactory(w.Ctx, w.Owner, "factory-of-ada"); !fault.Is(err, fault.InUse) {
			t.Fatalf("with %s: %v; want in_use", why, err)
		}
		dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '1 day'`)
	}
	dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp()`)
	w.Complete(ada, held)
	if _, err := w.Dispatch.Terminate(w.Ctx, w.Owner, "ada", "", false); err != nil {
		t.Fatal(err)
	}
	if err := w.Dispatch.RemoveFactory(w.Ctx, w.Owner, "factory-of-ada"); !fault.Is(err, fault.InUse) {
		t.Fatalf("one of two agents lives: %v; want in_use", err)
	}
	if _, err := w.Dispatch.Terminate(w.Ctx, w.Owner, "bob", "", false); err != nil {
		t.Fatal(err)
	}
	if err := w.Dispatch.RemoveFactory(w.Ctx, w.Owner, "factory-of-ada"); err != nil {
		t.Fatal(err)
	}
	if err := w.Dispatch.RemoveFactory(w.Ctx, w.Owner, "factory-of-ada"); !fault.Is(err, fault.NotFound) {
		t.Errorf("again: %v; want not_found", err)
	}
	if snap, err := w.Fleet.Snapshot(w.Ctx, w.Owner); err != nil || len(snap.Factories) != 0 {
		t.Errorf("the fleet is %+v, %v", snap.Factories, err)
	}
	if _, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{}); !fault.Is(err, fault.Superseded) {
		t.Errorf("its token claims: %v; want superseded", err)
	}
	kept := dbfactory.Text(t, w.DB, `SELECT agent || ' in ' || factory FROM attempt`)
	said := dbfactory.Text(t, w.DB, `SELECT actor_kind || ' ' || payload::text FROM event WHERE type = 'factory.removed'`)
	ended := dbfactory.Text(t, w.DB, `SELECT reason || ' ' || floor FROM revocation WHERE subject = $1`, ada.Agent)
	if kept != "ada in factory-of-ada" || said != `person {"agents": ["ada", "bob"], "factory": "factory-of-ada"}` || ended != "removed 1" {
		t.Errorf("attempt %q, event %q, revocation %q", kept, said, ended)
	}
	w.Claim(w.onJob(w.Agent("ada")))
	w.Consistent()
}

// onJob makes a job for an agent.
func (w *testWorkspace) onJob(agent tenancy.Principal) tenancy.Principal {
	w.T.Helper()
	w.Job("for " + agent.Name)
	return agent
}

// A lease of an agent that has moved to another factory holds the one that it was given for.
func TestAFactoryOfALeaseStays(t *testing.T) {
	w := newTestWorkspace(t)
	held := w.Claim(w.onJob(w.Agent("ada")))
	moved := w.Agent("ada", func(r *fleet.Registration) { r.Factory.Name = "elsewhere" })
	if err := w.Dispatch.RemoveFactory(w.Ctx, w.Owner, "factory-of-ada"); !fault.Is(err, fault.InUse) {
		t.Fatalf("= %v; want in_use", err)
	}
	w.Complete(moved, held)
	if err := w.Dispatch.RemoveFactory(w.Ctx, w.Owner, "factory-of-ada"); err != nil {
		t.Fatal(err)
	}
	w.Claim(w.onJob(moved))
}

func TestWhoMayRemoveFactories(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada")
	w.silent(ada)
	for _, who := range []tenancy.Principal{dbfactory.Person(w.Workspace, tenancy.RoleMember), ada, dbfactory.Enrolment(w.Workspace)} {
		if err := w.Dispatch.RemoveFactory(w.Ctx, who, "factory-of-ada"); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s %s: %v; want forbidden", who.Kind, who.Role, err)
		}
	}
	foreign := dbfactory.Person(dbfactory.Workspace(t, w.DB), tenancy.RoleOwner)
	if err := w.Dispatch.RemoveFactory(w.Ctx, foreign, "factory-of-ada"); !fault.Is(err, fault.NotFound) {
		t.Errorf("from another workspace: %v; want not_found", err)
	}
}

var (
	removes = racer{"remove", func(w *testWorkspace, a tenancy.Principal, _ jobs.Job) error {
		return w.Dispatch.RemoveFactory(w.Ctx, w.Owner, a.Factory)
	}}
	comesBack = racer{"heartbeat", func(w *testWorkspace, a tenancy.Principal, _ jobs.Job) error {
		_, err := w.Dispatch.Heartbeat(w.Ctx, a, report.Heartbeat{Agent: a.Name, BootID: a.Boot, Status: "idle"})
		return err
	}}
)

// An agent that comes back while its factory is removed either keeps it or is refused;
// one that registers anew always has a factory then.
func TestRacesForARemovedFactory(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, c := range []struct {
		one, other racer
		factories  int // at the end, where the removal had its way
	}{
		{removes, claims, 0}, {claims, removes, 0}, {removes, comesBack, 0}, {comesBack, removes, 0},
		{removes, reboots, 1}, {reboots, removes, 1},
	} {
		for _, hold := range []string{"factory", "agent"} {
			t.Run(c.one.name+" and "+c.other.name+", "+hold+" held", func(t *testing.T) {
				w := inWorkspace(t, d, dbfactory.Workspace(t, d))
				ada := w.onJob(w.Agent("ada"))
				w.silent(ada)
				errs := w.race(hold, ada, jobs.Job{}, c.one, c.other)
				won := w.judge(errs, c.one, c.other)
				removed := errs[0] == nil && c.one.name == removes.name || errs[1] == nil && c.other.name == removes.name
				want := 1
				if removed {
					want = c.factories
					won -= c.factories // it registered after the removal
				}
				if won != 1 {
					t.Errorf("both or none had their way: %v", errs)
				}
				if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM factory f JOIN agent a ON a.factory_id = f.id WHERE f.workspace_id = $1`,
					w.Workspace); n != want {
					t.Errorf("%d factories with an agent; want %d (%v)", n, want, errs)
				}
				w.Consistent()
			})
		}
	}
}
