package dispatch_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// fleetState returns all that registrations change.
func (w *testWorkspace) fleetState() string {
	return dbfactory.Text(w.T, w.DB, `SELECT jsonb_build_array(
		(SELECT jsonb_agg(to_jsonb(a) - 'last_heartbeat_at' ORDER BY a.name) FROM agent a),
		(SELECT jsonb_agg(to_jsonb(f) ORDER BY f.name) FROM factory f),
		(SELECT jsonb_agg(jsonb_build_array(l.job_id, l.agent_id, l.epoch) ORDER BY l.job_id) FROM job_lease l))::text`)
}

// revoke ends an enrolment token.
func (w *testWorkspace) revoke(enrolment tenancy.Principal) {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE access_token SET revoked_at = now() WHERE id = $1`, enrolment.Token)
}

// A token that reaches less than another one can neither take over that one's agent,
// whatever it knows of it, nor describe its factory or fill its seats; nothing changes
// for the agent that is there.
func TestATokenThatReachesLessTakesNothingOfAnothers(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("atlas", jobs.ProductSettings{})
	w.Product("vega", jobs.ProductSettings{})
	gpu := func(r *fleet.Registration) { r.Factory.Capabilities = []string{"has:gpu"} }
	ada := w.registered(w.enrolment(tenancy.Scope{}), gpu)
	atlas, vega := w.Job("atlas", inProduct("atlas")), w.Job("vega", inProduct("vega"))
	if got, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{Max: 2, RequestID: "r1"}); err != nil || len(got.Jobs) != 2 {
		t.Fatalf("claimed %d, %v", len(got.Jobs), err)
	}
	before := w.fleetState()
	for limited, scope := range map[string]tenancy.Scope{
		"to a product":     {Products: []string{"atlas"}},
		"to a capability":  {Capabilities: []string{"has:git"}},
		"to a factory":     {Factory: "roof"},
		"to both products": {Products: []string{"atlas", "vega"}},
	} {
		factory := func(r *fleet.Registration) {
			if scope.Factory != "" {
				r.Factory.Name = scope.Factory
			}
		}
		eve := w.enrolment(scope)
		for as, change := range map[string]func(*fleet.Registration){
			"the same boot":           func(*fleet.Registration) {},
			"a new boot":              boot("boot-2"),
			"another factory":         func(r *fleet.Registration) { r.Factory.Name = "attic" },
			"another agent beside it": func(r *fleet.Registration) { r.Agent, r.Factory.Seats = "eve", 1 },
		} {
			if limited == "to a factory" && as == "another agent beside it" {
				continue // in its own factory it may
			}
			if _, err := w.register(eve, change, factory); !fault.Is(err, fault.Forbidden) {
				t.Errorf("a token limited %s registers as %s: %v; want forbidden", limited, as, err)
			}
		}
	}
	if after := w.fleetState(); after != before {
		t.Errorf("the fleet was\n%s\nand is\n%s", before, after)
	}
	w.Complete(ada, w.read(atlas))
	w.Complete(ada, w.read(vega))
}

func (w *testWorkspace) read(j jobs.Job) jobs.Job {
	w.T.Helper()
	now, err := w.Jobs.Get(w.Ctx, w.Owner, j.Key)
	if err != nil {
		w.T.Fatal(err)
	}
	return now
}

// Tokens are rotated: one that reaches as far takes the agents over with what they
// hold, also while the one before is good; one that reaches less does once that was
// revoked or the agent was cut off, and the same boot gives back what it does not reach.
func TestRotatingTokens(t *testing.T) {
	wide := tenancy.Scope{Products: []string{"atlas", "vega"}, Capabilities: []string{"os:linux", "has:gpu"}}
	for name, c := range map[string]struct {
		scope tenancy.Scope
		end   func(w *testWorkspace, old tenancy.Principal)
		boot  string
		kept  []string
	}{
		"as far, the same boot":     {wide, nil, "boot-1", []string{"atlas", "gpu", "vega"}},
		"without limits":            {tenancy.Scope{}, nil, "boot-1", []string{"atlas", "gpu", "vega"}},
		"for its factory":           {tenancy.Scope{Products: wide.Products, Capabilities: wide.Capabilities, Factory: "desk"}, nil, "boot-1", []string{"atlas", "gpu", "vega"}},
		"as far, a new boot":        {wide, nil, "boot-2", nil},
		"fewer products, revoked":   {tenancy.Scope{Products: []string{"atlas"}}, (*testWorkspace).revoke, "boot-1", []string{"atlas", "gpu"}},
		"less able, revoked":        {tenancy.Scope{Capabilities: []string{"os:linux"}}, (*testWorkspace).revoke, "boot-1", []string{"atlas", "vega"}},
		"a new boot, revoked":       {tenancy.Scope{Products: []string{"atlas"}}, (*testWorkspace).revoke, "boot-2", nil},
		"less, a new boot, cut off": {tenancy.Scope{Products: []string{"atlas"}, Factory: "desk"}, cutOff, "boot-2", nil},
		"another factory, revoked":  {tenancy.Scope{Factory: "roof"}, (*testWorkspace).revoke, "boot-1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.Product("atlas", jobs.ProductSettings{})
			w.Product("vega", jobs.ProductSettings{})
			old := w.enrolment(wide)
			before := w.registered(old, func(r *fleet.Registration) { r.Capabilities = []string{"has:gpu"} })
			held := map[string]jobs.Job{"atlas": w.Job("atlas", inProduct("atlas")), "vega": w.Job("vega", inProduct("vega")),
				"gpu": w.Job("gpu", inProduct("atlas"), needs("has:gpu"))}
			if got, err := w.Dispatch.Claim(w.Ctx, before, claim.Request{Max: 3, RequestID: "r1"}); err != nil || len(got.Jobs) != 3 {
				t.Fatalf("claimed %d, %v", len(got.Jobs), err)
			}
			if c.end != nil {
				c.end(w, old)
			}
			next := w.enrolment(c.scope)
			after := w.registered(next, boot(c.boot), func(r *fleet.Registration) {
				if c.scope.Factory != "" {
					r.Factory.Name = c.scope.Factory
				}
			})
			want := map[string]jobs.Status{"atlas": jobs.Ready, "vega": jobs.Ready, "gpu": jobs.Ready}
			for _, k := range c.kept {
				want[k] = jobs.Assigned
			}
			for k, j := range held {
				w.Want(j, want[k])
			}
			if _, err := w.Dispatch.Claim(w.Ctx, before, claim.Request{}); err == nil {
				t.Error("the token before still claims")
			}
			if len(c.kept) > 0 {
				again, err := w.Dispatch.Claim(w.Ctx, after, claim.Request{Max: 3, RequestID: "r1"})
				if err != nil || len(again.Jobs) != len(c.kept) {
					t.Errorf("the same request gave %d jobs, %v; want %v", len(again.Jobs), err, c.kept)
				}
			}
			w.Consistent()
		})
	}
}

func cutOff(w *testWorkspace, _ tenancy.Principal) {
	w.T.Helper()
	if _, err := w.Dispatch.CutOff(w.Ctx, w.Owner, "ada", "leaked"); err != nil {
		w.T.Fatal(err)
	}
}

// A claim that is sent again gives only what the token reaches, even where a lease
// stands that it does not: by product and by what the job needs.
func TestARepeatedClaimStaysInItsTokensScope(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.registered(w.enrolment(tenancy.Scope{Capabilities: []string{"has:git", "has:gpu"}}), func(r *fleet.Registration) {
		r.Capabilities = []string{"has:git", "has:gpu"}
	})
	w.Job("render", needs("has:gpu"))
	git := w.Job("merge", needs("has:git"))
	if got, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{Max: 2, RequestID: "r1"}); err != nil || len(got.Jobs) != 2 {
		t.Fatalf("claimed %d, %v", len(got.Jobs), err)
	}
	ada.Scope.Capabilities = []string{"has:git"}
	again, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{Max: 2, RequestID: "r1"})
	if err != nil || len(again.Jobs) != 1 || again.Jobs[0].Key != git.Key {
		t.Errorf("the same request gave %d jobs, %v; want only %s", len(again.Jobs), err, git.Key)
	}
}

// A token that is made for a factory lets its agents work there beside those of the
// token that the factory belongs to, and does not change what it offers; agents of a
// token that reaches as far do.
func TestGuestsDoNotDescribeAFactory(t *testing.T) {
	w := newTestWorkspace(t)
	offers := func(token ...string) func(*fleet.Registration) {
		return func(r *fleet.Registration) { r.Factory.Capabilities = token }
	}
	named := func(name string) func(*fleet.Registration) { return func(r *fleet.Registration) { r.Agent = name } }
	described := func(want string) {
		t.Helper()
		if f, err := w.Fleet.Factory(w.Ctx, w.Owner, "desk"); err != nil || fmt.Sprint(f.Capabilities, f.Seats) != want {
			t.Errorf("it offers %v on %d seats, %v; want %s", f.Capabilities, f.Seats, err, want)
		}
	}
	owner := w.enrolment(tenancy.Scope{})
	w.registered(owner, offers("has:git"))
	guest := w.registered(w.enrolment(tenancy.Scope{Products: []string{"default"}, Factory: "desk"}), named("bob"), offers("has:gpu"))
	described("[has:git] 100")
	beat := func(who tenancy.Principal, offers ...string) {
		t.Helper()
		_, err := w.Dispatch.Heartbeat(w.Ctx, who, report.Heartbeat{Agent: who.Name, BootID: "boot-1",
			Factory: &fleet.FactoryInfo{Name: "desk", Seats: 7, Capabilities: offers}})
		if err != nil {
			t.Fatal(err)
		}
	}
	beat(guest, "has:gpu")
	described("[has:git] 100")
	equal := w.registered(w.enrolment(tenancy.Scope{}), named("cleo"), offers("has:gpu"))
	described("[has:gpu] 100")
	beat(equal, "has:git")
	described("[has:git] 7")
	w.revoke(owner)
	beat(guest, "has:mic")
	described("[has:mic] 7")
}

// Usage is reported of ended leases too, but not by a token that does not reach the product
// that it would be billed to.
func TestUsageStaysInItsTokensScope(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("atlas", jobs.ProductSettings{})
	ada := w.registered(w.enrolment(tenancy.Scope{}))
	w.Job("atlas", inProduct("atlas"))
	held := w.Claim(ada)
	w.Complete(ada, held)
	tell := func(id string) report.UsageAnswer {
		answers, err := w.Dispatch.RecordUsage(w.Ctx, ada, []report.UsageLine{{Lease: ref(held),
			Entry: spend.Entry{ID: id, Provider: "anthropic", Model: "sonnet", Operation: "edit"}}})
		if err != nil || len(answers) != 1 {
			t.Fatalf("= %v, %v", answers, err)
		}
		return answers[0]
	}
	if a := tell("m-1"); a.Refused != nil {
		t.Fatalf("its own: %v", a.Refused)
	}
	ada.Scope.Products = []string{"default"}
	if a := tell("m-2"); a.Refused == nil || a.Refused.Code != fault.Forbidden {
		t.Errorf("out of reach: %+v; want forbidden", a)
	}
}

// Two tokens make an agent of one name at the same moment: the one that reaches less
// never takes it from the other.
func TestTwoTokensMakeOneAgent(t *testing.T) {
	w := newTestWorkspace(t)
	wide, narrow := w.enrolment(tenancy.Scope{}), w.enrolment(tenancy.Scope{Products: []string{"default"}})
	for n := range 20 {
		name := fmt.Sprint("agent-", n)
		var wg sync.WaitGroup
		for i, token := range []tenancy.Principal{wide, narrow} {
			wg.Go(func() {
				_, err := w.Dispatch.Register(w.Ctx, token, fleet.Registration{Agent: name, BootID: "boot-1",
					Factory: fleet.FactoryInfo{Name: fmt.Sprint("host-", n, "-", i)}})
				if err != nil && (i == 0 || !fault.Is(err, fault.Forbidden)) {
					t.Errorf("%s by %d: %v", name, i, err)
				}
			})
		}
		wg.Wait()
		if owner := dbfactory.Text(t, w.DB, `SELECT enrolment_id::text FROM agent WHERE name = $1`, name); owner != wide.Token.String() {
			t.Errorf("%s belongs to the token that reaches less", name)
		}
	}
}

// An agent that was ended gracefully is as well as its heartbeats say and drains; to
// register again, with a new token too, does not undo its end, only a new boot does.
func TestAnAgentThatEndsGracefullyLives(t *testing.T) {
	w := newTestWorkspace(t)
	enrolment := w.enrolment(tenancy.Scope{})
	ada := w.registered(enrolment)
	j := w.Job("work")
	held := w.Claim(ada)
	if a, err := w.Dispatch.Terminate(w.Ctx, w.Owner, "ada", "enough", true); err != nil || a.Health != fleet.Healthy || !a.Terminated {
		t.Fatalf("= %+v, %v; want healthy and ended", a, err)
	}
	w.Want(j, jobs.Assigned)
	next := w.Job("more")
	for _, token := range []tenancy.Principal{enrolment, w.enrolment(tenancy.Scope{})} {
		ada = w.registered(token)
		w.Nothing(ada, claim.ReasonDraining)
	}
	w.Complete(ada, held)
	dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 day'`)
	if a, err := w.Fleet.Agent(w.Ctx, w.Owner, "ada"); err != nil || a.Health != fleet.Dead || a.TerminateReason != "enough" {
		t.Errorf("silent it is %+v, %v; want dead", a, err)
	}
	if got := w.Claim(w.registered(enrolment, boot("boot-2"))); got.Key != next.Key {
		t.Errorf("a new boot claimed %s", got.Key)
	}
}

// An agent that was ended at once stays ended until it is started again.
func TestAnEndAtOnceIsNotUndone(t *testing.T) {
	w := newTestWorkspace(t)
	enrolment := w.enrolment(tenancy.Scope{})
	ada := w.registered(enrolment)
	w.Job("work")
	w.Claim(ada)
	for _, graceful := range []bool{false, true} { // the second one changes nothing
		if a, err := w.Dispatch.Terminate(w.Ctx, w.Owner, "ada", "enough", graceful); err != nil || a.Health != fleet.Dead {
			t.Fatalf("= %+v, %v; want dead", a, err)
		}
	}
	for _, token := range []tenancy.Principal{enrolment, w.enrolment(tenancy.Scope{})} {
		if _, err := w.register(token); !fault.Is(err, fault.Superseded) {
			t.Errorf("the same boot registers: %v; want superseded", err)
		}
	}
	if a, err := w.Fleet.Agent(w.Ctx, w.Owner, "ada"); err != nil || !a.Terminated || a.ID == ids.Nil {
		t.Errorf("it is %+v, %v", a, err)
	}
	w.Claim(w.registered(enrolment, boot("boot-2")))
}
