package dispatch_test

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var canaryHex = hex.EncodeToString([]byte(canary))

// claims claims one job under a request id, which has to be the given one.
func (w *testWorkspace) claims(agent tenancy.Principal, request string, want jobs.Job) {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{SessionKey: "run " + canary, RequestID: request})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].Key != want.Key {
		w.T.Fatalf("request %q got %v, %v; want %s", request, got, err, want.Key)
	}
}

// The key and the request id of a claim are kept without the secrets of jobs that the
// agent holds; the same request still gets the same lease, and no other one does.
func TestWhatAClaimSaysIsRedacted(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a", secret, priority(9))
	agent := w.Agent("claude-1")
	w.Claim(agent)
	second, third, fourth := w.Job("b", priority(7)), w.Job("c", priority(5)), w.Job("d", priority(3))
	for range 2 {
		w.claims(agent, "r-"+canary, second)
		w.claims(agent, "r-"+canaryHex, third) // the same text once it is redacted
		w.claims(agent, "r-[secret]", fourth)
	}
	kept := dbfactory.Text(t, w.DB, `SELECT string_agg(concat_ws('|', l.session_key, a.session_key, l.request_id, l.request_digest IS NOT NULL), ', ' ORDER BY l.number)
		FROM job_lease l JOIN attempt a USING (workspace_id, job_id, epoch)`)
	if want := "|||f, run [secret]|run [secret]|r-[secret]|t, run [secret]|run [secret]|r-[secret]|t, run [secret]|run [secret]|r-[secret]|f"; kept != want {
		t.Errorf("kept is %s\nwant %s", kept, want)
	}
	w.untold("after claims")
	w.Consistent()
}

// A request finds its leases after the server's secret key was changed.
func TestARequestIsKnownUnderAnotherServerKey(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a", secret, priority(9))
	agent := w.Agent("claude-1")
	w.Claim(agent)
	second := w.Job("b")
	w.Job("c")
	w.claims(agent, "r-"+canary, second)
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, vault.KeySize) }
	copied := *w.Fixture
	other := &testWorkspace{&copied}
	other.Jobs = jobs.NewService(w.DB, w.Wake, vault.New(w.DB, key(8), key(7)), nil) // dbtest.Vault has the one of sevens
	other.Dispatch = dispatch.New(w.DB, other.Jobs, w.Wake, w.Tokens, nil, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(other.Dispatch.Close)
	other.claims(agent, "r-"+canary, second)
	w.untold("after another key")
}

// A secret that cannot be read keeps no agent from its claims.
func TestAClaimGoesOnBesideDamagedSecrets(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a", secret, priority(9))
	agent := w.Agent("claude-1")
	w.Claim(agent)
	dbfactory.Exec(t, w.DB, `UPDATE job_secret SET sealed = substr(sealed, 1, 10)`)
	w.claims(agent, "r", w.Job("b"))
}

// describes is a description that contains the canary in each text.
func describes(r *fleet.Registration) {
	r.Model, r.Capabilities = "model-"+canary, []string{"cap-" + canary, "gpu"}
	r.Factory.OS, r.Factory.Host, r.Factory.Engines = "os-"+canary, "host "+canaryHex, []string{"engine-" + canary, "claude"}
	r.Factory.Capabilities = []string{"fcap-" + canary}
	r.Factory.Repos = []fleet.Repo{{Name: "ledger-api", URL: "https://x:" + canary + "@h/r.git", DefaultBranch: "b/" + canary}}
}

// What agents and factories report of themselves is kept without the secrets of jobs
// that the agent or others of its factory hold.
func TestWhatAFactoryTellsIsRedacted(t *testing.T) {
	const clean = `os-[secret]|host [secret]|{engine-[secret],claude}|{fcap-[secret]}|[{"url": "https://x:[secret]@h/r.git", "name": "ledger-api", "default_branch": "b/[secret]"}]`
	for what, say := range map[string]func(*testWorkspace, tenancy.Principal){
		"itself again": func(w *testWorkspace, _ tenancy.Principal) { w.Agent("claude-1", describes) },
		"a new boot": func(w *testWorkspace, _ tenancy.Principal) {
			w.Agent("claude-1", describes, func(r *fleet.Registration) { r.BootID = "boot-2" })
		},
		"another one of the factory": func(w *testWorkspace, _ tenancy.Principal) {
			w.Agent("claude-2", describes, func(r *fleet.Registration) { r.Factory.Name = "factory-of-claude-1" })
		},
		"in another factory": func(w *testWorkspace, _ tenancy.Principal) {
			w.Agent("claude-1", describes, func(r *fleet.Registration) { r.Factory.Name = "factory-of-claude-2" })
		},
		"a heartbeat": func(w *testWorkspace, agent tenancy.Principal) {
			r := fleet.Registration{Factory: fleet.FactoryInfo{Name: agent.Factory}}
			describes(&r)
			for range 2 {
				if _, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: agent.Name, BootID: agent.Boot, Factory: &r.Factory}); err != nil {
					w.T.Fatal(err)
				}
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.Job("a", secret)
			agent := w.Agent("claude-1")
			w.Claim(agent)
			say(w, agent)
			w.untold(what)
			got := dbfactory.Text(t, w.DB, `SELECT concat_ws('|', os, host, engines, capabilities, repos) FROM factory ORDER BY created_at DESC LIMIT 1`)
			if got != clean {
				t.Errorf("kept is %s\nwant %s", got, clean)
			}
			if what == "a heartbeat" {
				return
			}
			got = dbfactory.Text(t, w.DB, `SELECT concat_ws('|', a.model, a.capabilities, e.payload->>'model')
				FROM agent a, event e WHERE e.type = 'agent.registered' ORDER BY a.created_at DESC, e.id DESC LIMIT 1`)
			if want := "model-[secret]|{cap-[secret],gpu}|model-[secret]"; got != want {
				t.Errorf("kept is %s; want %s", got, want)
			}
		})
	}
}

// A new name with a secret in it is refused, without saying it; a name that is known
// reveals nothing new.
func TestNewNamesHoldNoSecret(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a", secret)
	known := func(r *fleet.Registration) { r.Factory.Name = "factory-" + canary }
	agent := w.Agent("agent-"+canary, known)
	w.Claim(agent)
	w.Agent("agent-"+canary, known)
	for field, change := range map[string]func(*fleet.Registration){
		"agent":        func(r *fleet.Registration) { r.Agent, r.Factory.Name = "other-"+canary, agent.Factory },
		"factory.name": func(r *fleet.Registration) { r.Agent, r.Factory.Name = agent.Name, "other-"+canary },
	} {
		r := fleet.Registration{BootID: "boot-1"}
		change(&r)
		_, err := w.Dispatch.Register(w.Ctx, dbfactory.Enrolment(w.Workspace), r)
		if refused := fault.From(err); !fault.Is(err, fault.Validation) || refused.Fields[field] == "" || strings.Contains(err.Error()+refused.Fields[field], canary) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if names := dbfactory.Text(t, w.DB, `SELECT string_agg(name, ', ') FROM factory`); names != "factory-"+canary {
		t.Errorf("there are the factories %s", names)
	}
}

// A boot id with a secret in it is kept as a digest, and stays the same boot: while the
// job is held, and after it has ended.
func TestABootIDWithASecretIsTheSameBoot(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("a", secret)
	held := w.Claim(w.Agent("claude-1"))
	boot := func(r *fleet.Registration) { r.BootID, r.Factory.Name = "boot of "+canary, "factory-of-claude-1" }
	agent := w.Agent("claude-2", boot)
	w.untold("after the registration")
	beat := report.Heartbeat{Agent: agent.Name, BootID: "boot of " + canary}
	if _, err := w.Dispatch.Heartbeat(w.Ctx, agent, beat); err != nil {
		t.Errorf("a heartbeat: %v", err)
	}
	beat.BootID = "boot of another"
	if _, err := w.Dispatch.Heartbeat(w.Ctx, agent, beat); !fault.Is(err, fault.Superseded) {
		t.Errorf("a heartbeat of another boot: %v", err)
	}
	second := w.Job("b")
	w.claims(agent, "r", second)
	dbfactory.Exec(t, w.DB, `DELETE FROM job_secret WHERE job_id = $1`, held.ID)
	again := w.Agent("claude-2", boot)
	if again.Boot != agent.Boot {
		t.Errorf("the same boot is %q; before it was %q", again.Boot, agent.Boot)
	}
	w.Want(second, jobs.Assigned)
	if strings.Contains(agent.Boot, canary) {
		t.Error("the token tells the boot id")
	}
}

// Agents that hold no job cost no look at secrets when they claim, whatever they say.
func TestAClaimOfAFreeAgentReadsNoSecrets(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	dbfactory.Exec(t, w.DB, `REVOKE ALL ON job_secret FROM fleetboard_app`)
	a := w.Job("a")
	w.claims(agent, "r", a)
	w.claims(agent, "r", a)
	w.Job("b")
	if _, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{}); err != nil {
		t.Errorf("a claim that says nothing: %v", err)
	}
}
