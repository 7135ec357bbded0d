package dispatch_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// atHost has an agent register on a host, in the factory "build".
func atHost(host string) func(*fleet.Registration) {
	return func(r *fleet.Registration) { r.Factory.Name, r.Factory.Host = "build", host }
}

// state returns the health of a factory, whole and as the board reads it.
func (w *testWorkspace) state(name string) fleet.Health {
	w.T.Helper()
	f, err := w.Fleet.Factory(w.Ctx, w.Owner, name)
	if err != nil {
		w.T.Fatal(err)
	}
	reach, err := w.Fleet.ReducedSnapshot(w.Ctx, w.Owner)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, short := range reach.Factories {
		if short.Name == name && short.Live() != f.Live() || short.Name == name && !f.Live() && short.Health != f.Health {
			w.T.Errorf("%s is %s, but %s for the board", name, f.Health, short.Health)
		}
	}
	return f.Health
}

// An agent that ends gives back what it holds, is given nothing, and nobody waits for its
// heartbeats; its factory has ended with the last one, is no candidate, and lives again as soon
// as one registers, also under the same boot.
func TestAFactoryEnds(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada", atHost("alpha"))
	bob := w.Agent("bob", atHost("alpha"))
	held := w.Claim(w.onJob(ada))
	if err := w.Dispatch.EndAgent(w.Ctx, ada, "bob"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("it ends another one: %v", err)
	}
	if err := w.Dispatch.EndAgent(w.Ctx, ada, "ada"); err != nil {
		t.Fatal(err)
	}
	w.Want(held, jobs.Ready)
	if got := w.state("build"); got != fleet.Healthy {
		t.Errorf("with bob it is %s", got)
	}
	w.Nothing(ada, claim.ReasonDraining)
	for range 2 { // the second changes nothing
		if err := w.Dispatch.EndAgent(w.Ctx, bob, "bob"); err != nil {
			t.Fatal(err)
		}
	}
	w.silent(ada)
	w.silent(bob)
	if got := w.state("build"); got != fleet.Ended {
		t.Errorf("it is %s", got)
	}
	snap, err := w.Fleet.Snapshot(w.Ctx, w.Owner)
	if err != nil {
		t.Fatal(err)
	}
	if r := snap.Route(fleet.Needs{}); len(r.Eligible) != 0 || r.Ineligible[0].Reason != fleet.ReasonEnded {
		t.Errorf("it is a candidate: %+v", r)
	}
	counts, err := w.Fleet.ByHealth(w.Ctx, w.Owner)
	if err != nil || counts[fleet.Ended] != 2 || counts[fleet.Dead] != 0 {
		t.Errorf("counted: %v, %v", counts, err)
	}
	told := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'agent.ended' AND payload->>'agent' = 'ada' AND payload->>'leases' = '1'`)
	if told != 1 {
		t.Errorf("%d events say that ada ended", told)
	}
	again := w.Agent("ada", atHost("alpha"), func(r *fleet.Registration) { r.BootID = ada.Boot })
	if got := w.state("build"); got != fleet.Healthy {
		t.Errorf("it is started again and %s", got)
	}
	w.Claim(again)
	w.Consistent()
}

// Of two agents that end at the same moment one is the last.
func TestTheLastAgentEndsTheFactory(t *testing.T) {
	w := newTestWorkspace(t)
	ada, bob := w.Agent("ada", atHost("alpha")), w.Agent("bob", atHost("alpha"))
	release := w.Hold(`SELECT FROM factory WHERE name = 'build' FOR UPDATE`)
	failed := make(chan error, 2)
	for _, one := range []tenancy.Principal{ada, bob} {
		go func() { failed <- w.Dispatch.EndAgent(w.Ctx, one, one.Name) }()
	}
	w.Blocked(2)
	release()
	for range 2 {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	if got := w.state("build"); got != fleet.Ended {
		t.Errorf("it is %s", got)
	}
}

// What a person said about an agent outlasts its end.
func TestAPersonsWordOutlastsTheEnd(t *testing.T) {
	w := newTestWorkspace(t)
	enrolment := w.enrolment(tenancy.Scope{})
	ada := w.registered(enrolment)
	if _, err := w.Dispatch.Terminate(w.Ctx, w.Owner, "ada", "enough", true); err != nil {
		t.Fatal(err)
	}
	if err := w.Dispatch.EndAgent(w.Ctx, ada, "ada"); err != nil {
		t.Fatal(err)
	}
	if a, err := w.Fleet.Agent(w.Ctx, w.Owner, "ada"); err != nil || !a.Terminated || a.TakesJobs() {
		t.Errorf("it is %+v, %v", a, err)
	}
	if _, err := w.register(enrolment); !fault.Is(err, fault.Superseded) {
		t.Errorf("the same boot registers: %v", err)
	}
	w.registered(enrolment, boot("boot-2"))
}

// Who may take the name of a factory that an agent on the host alpha has, by the state of that
// agent.
func TestAFactoryLivesOnOneHost(t *testing.T) {
	silent := func(seconds int) string {
		return fmt.Sprintf(`UPDATE agent SET last_heartbeat_at = clock_timestamp() - make_interval(secs => %d)`, seconds)
	}
	for name, c := range map[string]struct {
		before  string // of SQL
		host    string
		agent   string
		boot    string
		refused bool
	}{
		"a second agent on the host":                  {"", "alpha", "bob", "", false},
		"the agent is started again":                  {"", "alpha", "ada", "boot-2", false},
		"another host":                                {"", "beta", "bob", "", true},
		"the same agent on another host":              {"", "beta", "ada", "boot-2", true},
		"the host was renamed and its state was kept": {"", "beta", "ada", "ada-boot", false},
		"a host that does not say who it is":          {"", "", "bob", "", false},
		"one of before that did not say who it is":    {`UPDATE agent SET host = ''`, "beta", "bob", "", false},
		"the other one is late":                       {silent(95), "beta", "bob", "", true},
		"the other one is stale":                      {silent(101), "beta", "bob", "", false},
		"the other one is dead":                       {silent(400), "beta", "bob", "", false},
		"the same agent, stale":                       {silent(101), "beta", "ada", "boot-2", false},
		"the other one was ended by a person":         {`UPDATE agent SET terminated_at = now()`, "beta", "bob", "", false},
		"the other one ends after its jobs":           {`UPDATE agent SET terminated_at = now(), ended_gracefully = true`, "beta", "bob", "", true},
		"the other one has ended":                     {`UPDATE agent SET terminated_at = now(), has_ended = true`, "beta", "bob", "", false},
		"a host whose name has another form":          {"", "alpha.example.com", "bob", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			ada := w.Agent("ada", atHost("alpha"), func(r *fleet.Registration) { r.BootID = "ada-boot" })
			w.Claim(w.onJob(ada))
			if c.before != "" {
				dbfactory.Exec(t, w.DB, c.before)
			}
			r := fleet.Registration{Agent: c.agent, BootID: "new", Factory: fleet.FactoryInfo{Name: "build", Host: c.host, Seats: 2}}
			if c.boot != "" {
				r.BootID = c.boot
			}
			_, err := w.Dispatch.Register(w.Ctx, dbfactory.Enrolment(w.Workspace), r)
			if !c.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !fault.Is(err, fault.FactoryElsewhere) {
				t.Fatalf("%v; want factory_elsewhere", err)
			}
			held := fault.From(err).Details["held_by"]
			if held == nil || fault.From(err).Message == "" {
				t.Errorf("it says %v", err)
			}
			w.Want(w.Get(jobs.Job{Key: "FB-1"}), jobs.Assigned)
		})
	}
}

// A host that was silent until another one took over its factory has lost it: its leases are
// given back, and it is directed to stop when it is back.
func TestAStaleHostLosesItsFactory(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada", atHost("alpha"))
	held := w.Claim(w.onJob(ada))
	dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '101 seconds'`)
	bob := w.Agent("bob", atHost("beta"))
	w.Want(held, jobs.Ready)
	if _, err := w.Dispatch.Heartbeat(w.Ctx, ada, report.Heartbeat{Agent: "ada", BootID: ada.Boot, Status: "working"}); !fault.Is(err, fault.Superseded) {
		t.Errorf("it is back: %v; want superseded", err)
	}
	w.Claim(bob)
	if err := w.Dispatch.EndAgent(w.Ctx, bob, "bob"); err != nil {
		t.Fatal(err)
	}
	if got := w.state("build"); got != fleet.Ended {
		t.Errorf("with an agent that has lost it the factory is %s", got)
	}
	for range 2 { // who has lost it does so once
		w.Agent("bob", atHost("beta"), func(r *fleet.Registration) { r.BootID = bob.Boot })
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type = 'agent.superseded'`); n != 1 {
		t.Errorf("%d events say that ada was superseded", n)
	}
	w.Consistent()
}

// Of two hosts that register a new name at the same moment one gets it.
func TestTwoHostsAtOnce(t *testing.T) {
	w := newTestWorkspace(t)
	results := make(chan error, 2)
	for name, host := range map[string]string{"ada": "alpha", "bob": "beta"} {
		go func() {
			_, err := w.Dispatch.Register(w.Ctx, dbfactory.Enrolment(w.Workspace), fleet.Registration{Agent: name, BootID: "b",
				Factory: fleet.FactoryInfo{Name: "build", Host: host}})
			results <- err
		}()
	}
	refused := 0
	for range 2 {
		if err := <-results; fault.Is(err, fault.FactoryElsewhere) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused != 1 {
		t.Errorf("%d were refused; want 1", refused)
	}
}
