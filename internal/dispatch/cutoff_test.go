package dispatch_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// An agent that is cut off loses its jobs at once, gets none, and its process
// does not come back under the same boot; a new start does.
func TestCutOff(t *testing.T) {
	w := newTestWorkspace(t)
	enrolment := w.enrolment(tenancy.Scope{})
	ada := w.registered(enrolment)
	j := w.Job("work")
	w.Claim(ada)
	got, err := w.Dispatch.CutOff(w.Ctx, w.Owner, "ada", "It writes nonsense")
	if err != nil || !got.Terminated || got.TerminateReason != "It writes nonsense" {
		t.Fatalf("= %+v, %v", got, err)
	}
	w.Want(j, jobs.Ready)
	if _, err := w.Dispatch.Claim(w.Ctx, ada, claim.Request{}); !fault.Is(err, fault.TokenRevoked) {
		t.Errorf("it claims: %v; want token_revoked", err)
	}
	if _, err := w.register(enrolment); !fault.Is(err, fault.Superseded) {
		t.Errorf("the same boot registers: %v; want superseded", err)
	}
	again := w.registered(enrolment, boot("boot-2"))
	if again.Generation <= ada.Generation {
		t.Errorf("the new token has generation %d, the old one %d", again.Generation, ada.Generation)
	}
	w.Claim(again)
	n := dbfactory.Text(t, w.DB, `SELECT count(*)::text FROM event WHERE type = 'agent.cut_off' AND actor_kind = 'person'
		AND payload = '{"agent": "ada", "reason": "It writes nonsense", "leases": 1}'`)
	if n != "1" {
		t.Errorf("%s events agent.cut_off, want 1", n)
	}
	w.Consistent()
}

func TestWhoMayCutOff(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.registered(w.enrolment(tenancy.Scope{}))
	for _, who := range []tenancy.Principal{dbfactory.Person(w.Workspace, tenancy.RoleMember), ada, dbfactory.Enrolment(w.Workspace)} {
		if _, err := w.Dispatch.CutOff(w.Ctx, who, "ada", ""); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s %s: %v; want forbidden", who.Kind, who.Role, err)
		}
		if _, err := w.Dispatch.CutOffEnrolled(w.Ctx, who, ada.Token, ""); !fault.Is(err, fault.Forbidden) {
			t.Errorf("all, %s %s: %v; want forbidden", who.Kind, who.Role, err)
		}
	}
	foreign := dbfactory.Person(dbfactory.Workspace(t, w.DB), tenancy.RoleOwner)
	if _, err := w.Dispatch.CutOff(w.Ctx, foreign, "ada", ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("from another workspace: %v; want not_found", err)
	}
	if n, err := w.Dispatch.CutOffEnrolled(w.Ctx, foreign, ada.Token, ""); n != 0 || err != nil {
		t.Errorf("all, from another workspace: %d, %v", n, err)
	}
	w.Nothing(ada, claim.ReasonEmpty)
}

// All agents of one enrolment token go, and no other.
func TestCutOffEnrolled(t *testing.T) {
	w := newTestWorkspace(t)
	macs, rest := w.enrolment(tenancy.Scope{}), w.enrolment(tenancy.Scope{})
	ada := w.registered(macs)
	bob := w.registered(macs, func(r *fleet.Registration) { r.Agent = "bob" })
	eve := w.registered(rest, func(r *fleet.Registration) { r.Agent = "eve" })
	j := w.Job("work")
	w.Claim(ada)
	if n, err := w.Dispatch.CutOffEnrolled(w.Ctx, w.Owner, macs.Token, "leaked"); n != 2 || err != nil {
		t.Fatalf("= %d, %v", n, err)
	}
	w.Want(j, jobs.Ready)
	for _, gone := range []tenancy.Principal{ada, bob} {
		if _, err := w.Dispatch.Claim(w.Ctx, gone, claim.Request{}); !fault.Is(err, fault.TokenRevoked) {
			t.Errorf("%s claims: %v; want token_revoked", gone.Name, err)
		}
	}
	w.Claim(eve)
	if n, err := w.Dispatch.CutOffEnrolled(w.Ctx, w.Owner, macs.Token, "again"); n != 0 || err != nil {
		t.Errorf("again = %d, %v", n, err)
	}
}

// A waiting claim ends, and gets no job, once its agent's token has ended: by a
// person's word about the agent or the enrolment token, or by a new boot; in the
// process where that happens and in another.
func TestAWaitingClaimEndsWithItsToken(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(w *testWorkspace, people *accounts.Parts, agent, enrolment tenancy.Principal) error
		code fault.Code
	}{
		"cut off": {func(w *testWorkspace, _ *accounts.Parts, _, _ tenancy.Principal) error {
			_, err := w.Dispatch.CutOff(w.Ctx, w.Owner, "ada", "")
			return err
		}, fault.TokenRevoked},
		"enrolment token revoked": {func(w *testWorkspace, people *accounts.Parts, _, enrolment tenancy.Principal) error {
			return people.Tokens.Revoke(w.Ctx, w.Owner, enrolment.Token)
		}, fault.TokenRevoked},
		"started again": {func(w *testWorkspace, _ *accounts.Parts, _, enrolment tenancy.Principal) error {
			_, err := w.register(enrolment, boot("boot-2"))
			return err
		}, fault.Superseded},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			other := inWorkspace(t, w.DB, w.Workspace)
			enrolment := w.enrolment(tenancy.Scope{})
			agent := w.registered(enrolment)
			people := accountstest.New(w.DB, w.Wake, slog.New(slog.DiscardHandler))
			// It finds out by itself where no wake-up arrives.
			go func() {
				_ = accountstest.New(w.DB, other.Wake, slog.New(slog.DiscardHandler)).Tokens.Watch(t.Context())
			}()
			ended := make(chan error, 2)
			for _, process := range []*testWorkspace{w, other} {
				go func() {
					got, err := process.Dispatch.Claim(w.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
					if len(got.Jobs) > 0 {
						t.Errorf("%d jobs were given out", len(got.Jobs))
					}
					ended <- err
				}()
			}
			w.Waits()
			other.Waits()
			if err := c.end(w, people, agent, enrolment); err != nil {
				t.Fatal(err)
			}
			late := time.NewTimer(30 * time.Second) // less than it would wait
			defer late.Stop()
			for range 2 {
				select {
				case err := <-ended:
					if !fault.Is(err, c.code) {
						t.Errorf("it ends with %v; want %s", err, c.code)
					}
				case <-late.C:
					t.Fatal("it still waits")
				}
			}
			w.Want(w.Job("too late"), jobs.Ready)
		})
	}
}

// No job is given out on the word of a process that does not know of a
// revocation: the claim queries the database in the transaction that takes the job.
func TestARevokedAgentGetsNoJobAnywhere(t *testing.T) {
	w := newTestWorkspace(t)
	enrolment := w.enrolment(tenancy.Scope{})
	agent := w.registered(enrolment)
	j := w.Job("work")
	dbfactory.Exec(t, w.DB, `UPDATE access_token SET revoked_at = now() WHERE id = $1`, enrolment.Token)
	for name, in := range map[string]claim.Request{"any": {}, "by name": {Job: j.Key}, "by request": {RequestID: "r1"}} {
		if _, err := w.Dispatch.Claim(w.Ctx, agent, in); !fault.Is(err, fault.TokenRevoked) {
			t.Errorf("%s: %v; want token_revoked", name, err)
		}
	}
	w.Want(j, jobs.Ready)
}

// The token that a heartbeat brings keeps the old one's scope and its enrolment
// token; one is brought only where the old one is near its end.
func TestARenewedTokenKeepsItsScope(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("atlas", jobs.ProductSettings{})
	agent := w.registered(w.enrolment(tenancy.Scope{Products: []string{"atlas"}, Factory: "desk"}))
	beat := func(left time.Duration) (string, tenancy.Principal) {
		t.Helper()
		agent.Expires = time.Now().Add(left)
		answer, err := w.Dispatch.Heartbeat(w.Ctx, agent, report.Heartbeat{Agent: "ada", BootID: "boot-1"})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Token, w.Tokens.Issued[len(w.Tokens.Issued)-1]
	}
	if token, _ := beat(31 * time.Minute); token != "" {
		t.Error("a token was renewed half an hour too early")
	}
	token, renewed := beat(29 * time.Minute)
	if token == "" || renewed.Token != agent.Token || renewed.Generation != agent.Generation || renewed.Boot != agent.Boot ||
		renewed.Scope.Factory != "desk" || len(renewed.Scope.Products) != 1 {
		t.Errorf("renewed %q for %+v", token, renewed)
	}
	// One that no revocation would reach is left to end.
	agent.Token = [16]byte{}
	if token, _ := beat(time.Minute); token != "" {
		t.Error("a token without its enrolment token was renewed")
	}
}
