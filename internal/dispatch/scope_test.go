package dispatch_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// enrolment returns the holder of an enrolment token that stands in the database.
func (w *testWorkspace) enrolment(scope tenancy.Scope) tenancy.Principal {
	w.T.Helper()
	who := dbfactory.Enrolment(w.Workspace)
	who.Token, who.Scope = ids.New(), scope
	dbfactory.Exec(w.T, w.DB, `INSERT INTO access_token (workspace_id, id, kind, name, token_hash, hint, created_by, products, capabilities, factory)
		VALUES ($1, $2, 'enrolment', 'hosts', sha256($3::bytea), 'fb_enrolment', 'Mara Ilić', coalesce($4, '{}'::text[]), coalesce($5, '{}'::text[]), $6)`,
		w.Workspace, who.Token, who.Token[:], scope.Products, scope.Capabilities, scope.Factory)
	return who
}

// register registers ada, unless change says otherwise, and returns it with its
// token.
func (w *testWorkspace) register(enrolment tenancy.Principal, change ...func(*fleet.Registration)) (tenancy.Principal, error) {
	w.T.Helper()
	r := fleet.Registration{Agent: "ada", BootID: "boot-1", MaxConcurrentJobs: 100, Factory: fleet.FactoryInfo{Name: "desk", Seats: 100}}
	for _, c := range change {
		c(&r)
	}
	if _, err := w.Dispatch.Register(w.Ctx, enrolment, r); err != nil {
		return tenancy.Principal{}, err
	}
	return w.Tokens.Issued[len(w.Tokens.Issued)-1], nil
}

func (w *testWorkspace) registered(enrolment tenancy.Principal, change ...func(*fleet.Registration)) tenancy.Principal {
	w.T.Helper()
	who, err := w.register(enrolment, change...)
	if err != nil {
		w.T.Fatalf("register: %v", err)
	}
	return who
}

func boot(id string) func(*fleet.Registration) {
	return func(r *fleet.Registration) { r.BootID = id }
}

// A registration may advertise what its token's scope allows and nothing beside
// it, wherever it says so; a refused one changes nothing.
func TestARegistrationStaysInItsTokensScope(t *testing.T) {
	w := newTestWorkspace(t)
	linux := tenancy.Scope{Capabilities: []string{"os:linux", "engine:claude", "has:git"}}
	for name, c := range map[string]struct {
		scope  tenancy.Scope
		change func(*fleet.Registration)
		ok     bool
	}{
		"nothing is limited": {tenancy.Scope{}, func(r *fleet.Registration) { r.Factory.OS, r.Capabilities = "mac", []string{"has:gpu"} }, true},
		"all that is allowed": {linux, func(r *fleet.Registration) {
			r.Factory.OS, r.Factory.Engines, r.Capabilities = "linux", []string{"claude"}, []string{"has:git"}
		}, true},
		"nothing at all":               {linux, func(*fleet.Registration) {}, true},
		"another system":               {linux, func(r *fleet.Registration) { r.Factory.OS = "mac" }, false},
		"another engine":               {linux, func(r *fleet.Registration) { r.Factory.Engines = []string{"claude", "codex"} }, false},
		"a capability of the factory":  {linux, func(r *fleet.Registration) { r.Factory.Capabilities = []string{"has:gpu"} }, false},
		"a capability of the agent":    {linux, func(r *fleet.Registration) { r.Capabilities = []string{"has:git", "has:gpu"} }, false},
		"a system as a capability":     {linux, func(r *fleet.Registration) { r.Capabilities = []string{"os:mac"} }, false},
		"repos are the products' task": {linux, func(r *fleet.Registration) { r.Factory.Repos = []fleet.Repo{{Name: "atlas"}} }, true},
		"a repo as a capability":       {linux, func(r *fleet.Registration) { r.Capabilities = []string{"repo:atlas"} }, false},
		"its factory":                  {tenancy.Scope{Factory: "desk"}, func(*fleet.Registration) {}, true},
		"another factory":              {tenancy.Scope{Factory: "roof"}, func(*fleet.Registration) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := dbfactory.Text(t, w.DB, `SELECT coalesce(jsonb_agg(to_jsonb(f) - 'updated_at'), '[]')::text FROM factory f`)
			enrolment := w.enrolment(c.scope)
			_, err := w.register(enrolment, c.change)
			w.revoke(enrolment) // so that the next one takes over
			if c.ok && err != nil || !c.ok && !fault.Is(err, fault.Forbidden) {
				t.Errorf("= %v", err)
			}
			after := dbfactory.Text(t, w.DB, `SELECT coalesce(jsonb_agg(to_jsonb(f) - 'updated_at'), '[]')::text FROM factory f`)
			if !c.ok && before != after {
				t.Errorf("a refused registration changed the factory: %s", after)
			}
		})
	}
}

// A heartbeat describes the factory anew, and may not widen it beyond the token.
func TestAHeartbeatStaysInItsTokensScope(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.registered(w.enrolment(tenancy.Scope{Capabilities: []string{"os:linux", "has:git"}}),
		func(r *fleet.Registration) { r.Factory.OS = "linux" })
	beat := func(f fleet.FactoryInfo) error {
		_, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: "ada", BootID: "boot-1", Factory: &f})
		return err
	}
	if err := beat(fleet.FactoryInfo{Name: "desk", OS: "linux", Seats: 4, Capabilities: []string{"has:git"}}); err != nil {
		t.Errorf("within the scope: %v", err)
	}
	for name, f := range map[string]fleet.FactoryInfo{
		"capability": {Name: "desk", OS: "linux", Capabilities: []string{"has:gpu"}},
		"engine":     {Name: "desk", OS: "linux", Engines: []string{"claude"}},
		"system":     {Name: "desk", OS: "mac"},
		"factory":    {Name: "roof", OS: "linux"},
	} {
		if err := beat(f); !fault.Is(err, fault.Forbidden) {
			t.Errorf("another %s: %v; want forbidden", name, err)
		}
	}
	f, err := w.Fleet.Factory(w.Ctx, w.Owner, "desk")
	if err != nil || len(f.Capabilities) != 1 || f.OS != "linux" || len(f.Engines) != 0 {
		t.Errorf("the factory is %+v, %v", f, err)
	}
}

// Another agent of the same factory, with a wider token, describes it with more.
// The narrow one is given nothing for that.
func TestAWiderNeighbourWidensNobody(t *testing.T) {
	w := newTestWorkspace(t)
	narrow := w.registered(w.enrolment(tenancy.Scope{Capabilities: []string{"os:linux"}}),
		func(r *fleet.Registration) { r.Factory.OS = "linux" })
	wide := w.registered(w.enrolment(tenancy.Scope{}), func(r *fleet.Registration) {
		r.Agent, r.Factory.OS, r.Factory.Capabilities = "bob", "linux", []string{"has:gpu"}
	})
	gpu := w.Job("render", needs("has:gpu"))
	w.Nothing(narrow, claim.ReasonEmpty)
	if _, err := w.Dispatch.Claim(w.Ctx, narrow, claim.Request{Job: gpu.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	if got := w.Claim(wide); got.Key != gpu.Key {
		t.Errorf("claimed %s", got.Key)
	}
}

// A job of a product that the token does not reach is given in no way: not by its
// lane, not by its name, and not again by a request that once gave it.
func TestNoJobOfAnotherProduct(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("atlas", jobs.ProductSettings{})
	vega := w.Product("vega", jobs.ProductSettings{})
	agent := w.registered(w.enrolment(tenancy.Scope{Products: []string{"atlas"}}))
	own := w.Job("own", inProduct("atlas"))
	foreign := w.Job("foreign", priority(10), inProduct("vega"))

	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 10, RequestID: "r1"})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Key != own.Key {
		t.Fatalf("claimed %v, %v", got.Jobs, err)
	}
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: foreign.Key}); !fault.Is(err, fault.NotClaimable) {
		t.Errorf("by name: %v; want not_claimable", err)
	}
	// The job goes over to a product that the token does not reach.
	dbfactory.Exec(t, w.DB, `UPDATE job SET product_id = $2 WHERE id = $1`, own.ID, vega.ID)
	again, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Max: 10, RequestID: "r1"})
	if err != nil || len(again.Jobs) != 0 {
		t.Errorf("the same request gave %d jobs, %v", len(again.Jobs), err)
	}
}

// A product's name is what the scope holds: without the product it reaches
// nothing, and one that is made under that name again is reached again.
func TestAScopeOutlivesItsProduct(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("atlas", jobs.ProductSettings{})
	agent := w.registered(w.enrolment(tenancy.Scope{Products: []string{"atlas"}}))
	if err := w.Jobs.DeleteProduct(w.Ctx, w.Owner, "atlas"); err != nil {
		t.Fatal(err)
	}
	w.Job("of default")
	w.Nothing(agent, claim.ReasonEmpty)
	w.Product("atlas", jobs.ProductSettings{})
	made := w.Job("of atlas", inProduct("atlas"))
	if got := w.Claim(agent); got.Key != made.Key {
		t.Errorf("claimed %s", got.Key)
	}
}

// A token for one factory cannot take an agent, and its work, from another.
func TestATokenForOneFactoryTakesNobodyFromAnother(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.registered(w.enrolment(tenancy.Scope{}))
	j := w.Job("work")
	w.Claim(ada)
	roof := w.enrolment(tenancy.Scope{Factory: "roof"})
	moved := func(r *fleet.Registration) { r.Factory.Name, r.BootID = "roof", "boot-2" }
	if _, err := w.register(roof, moved); !fault.Is(err, fault.Forbidden) {
		t.Errorf("= %v; want forbidden", err)
	}
	w.Want(j, jobs.Assigned)
	// Who may register everywhere may also move an agent.
	w.registered(w.enrolment(tenancy.Scope{}), moved)
	w.Want(j, jobs.Ready)
}
