package api_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// person returns the owner as a caller of the services.
func (w *apiServer) person() tenancy.Principal {
	w.t.Helper()
	who, err := w.accounts.Tokens.Bearer(w.t.Context(), w.owner)
	if err != nil {
		w.t.Fatal(err)
	}
	return who
}

// enrolmentToken makes one and gives it with its id.
func (w *apiServer) enrolmentToken(name string) (string, ids.ID) {
	w.t.Helper()
	plain, err := w.accounts.Tokens.Issue(w.t.Context(), w.person(), tokens.NewToken{Kind: tenancy.KindEnrolment, Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	who, err := w.accounts.Tokens.Bearer(w.t.Context(), plain)
	if err != nil {
		w.t.Fatal(err)
	}
	return plain, who.Token
}

func (w *apiServer) revoke(id ids.ID) {
	w.t.Helper()
	if err := w.accounts.Tokens.Revoke(w.t.Context(), w.person(), id); err != nil {
		w.t.Fatal(err)
	}
}

func (w *apiServer) registerWith(enrolment, name, boot string) answer {
	w.t.Helper()
	return w.as(enrolment, "PUT", "/agents/"+name, object{"boot_id": boot, "factory": object{"name": name + "-host"}})
}

// The calls of an agent whose enrolment token was revoked are all refused, in the
// words that let it know that it has to get another token; and nobody registers.
func TestARevokedEnrolmentTokenEndsItsAgents(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	enrolment, id := w.enrolmentToken("hosts")
	ada := w.registerWith(enrolment, "ada", "b1").want(200).text("token")
	other := w.agent("eve")
	w.job("Build")
	ref := w.claim(ada)
	w.revoke(id)
	w.registerWith(enrolment, "ada", "b1").want(401).refused(fault.TokenRevoked)
	for path, body := range map[string]any{
		"/fleet/claim": nil, "/fleet/start": ref, "/fleet/complete": ref, "/agents/ada/heartbeat": object{"boot_id": "b1"},
	} {
		w.as(ada, "POST", path, body).want(401).refused(fault.TokenRevoked)
	}
	for _, path := range []string{"/jobs", "/agents", "/events", "/fleet/queue-state"} {
		w.as(ada, "GET", path, nil).want(401).refused(fault.TokenRevoked)
	}
	// Its lease ends by itself, and the agents of other tokens go on.
	w.as(other, "POST", "/fleet/claim", nil).want(204)
	dbfactory.Exec(t, w.db, `UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second'`)
	w.as(w.owner, "POST", "/reclaim", nil).want(200)
	w.as(other, "POST", "/fleet/claim", nil).want(200)
}

// A boot that was replaced learns from every call of its work that it has to stop, and reads
// nothing any more.
func TestAReplacedBootReadsNothing(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	old := w.registerWith(w.enrolment, "ada", "b1").want(200).text("token")
	w.job("Build")
	ref := w.claim(old)
	now := w.registerWith(w.enrolment, "ada", "b2").want(200).text("token")
	for path, body := range map[string]any{
		"/fleet/claim": nil, "/fleet/progress": ref, "/agents/ada/heartbeat": object{"boot_id": "b1", "status": "idle"},
	} {
		w.as(old, "POST", path, body).want(409).refused(fault.Superseded)
	}
	for _, path := range []string{"/jobs", "/agents/ada", "/events"} {
		w.as(old, "GET", path, nil).want(401).refused(fault.TokenRevoked)
		w.as(now, "GET", path, nil).want(200)
	}
}

// What a replaced boot learns of its leases does not hang on whether the process
// knows of the new boot yet.
func TestAReplacedBootHearsWhatBecameOfItsLeases(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	old := w.registerWith(w.enrolment, "ada", "b1").want(200).text("token")
	w.job("Done")
	done := w.claim(old)
	w.as(old, "POST", "/fleet/complete", done).want(200)
	w.job("Lost")
	lost := w.claim(old)
	w.registerWith(w.enrolment, "ada", "b2").want(200)
	w.claim(w.agent("eve"))
	for _, known := range []bool{false, true} {
		if known {
			// The first call after the news reads it.
			w.as(old, "GET", "/jobs", nil).want(401)
		}
		w.as(old, "POST", "/fleet/complete", done).want(200)
		w.as(old, "POST", "/fleet/complete", lost).want(409).refused(fault.StaleEpoch)
	}
}

// Open streams end with what let them in: a person's token, a membership, an
// enrolment token behind an agent, the agent itself, its boot.
func TestAStreamEndsWithItsRights(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	s := newLiveServer(w)
	owner := w.person()
	enrolment, id := w.enrolmentToken("hosts")
	register := func(name, boot string) string { return w.registerWith(enrolment, name, boot).want(200).text("token") }
	mine, err := w.accounts.Tokens.Issue(t.Context(), owner, tokens.NewToken{Kind: tenancy.KindPerson, Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	who, err := w.accounts.Tokens.Bearer(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	member, guest := w.guest()
	goesOn := s.open(w.agent("eve"), "")
	for name, c := range map[string]struct {
		token string
		end   func()
	}{
		"person's token": {mine, func() { w.revoke(who.Token) }},
		"membership":     {guest, func() { dbfactory.Exec(t, w.db, `DELETE FROM membership WHERE account_id = $1`, member) }},
		"started again":  {register("ada", "b1"), func() { register("ada", "b2") }},
		"cut off":        {register("bob", "b1"), func() { w.cutOff("bob") }},
	} {
		t.Log(name)
		st := s.open(c.token, "")
		st.next(func(m message) bool { return m.comment })
		c.end()
		st.over()
	}
	// The last one, for it ends all agents of the token.
	enrolled := s.open(register("cid", "b1"), "")
	enrolled.next(func(m message) bool { return m.comment })
	w.revoke(id)
	enrolled.over()
	goesOn.next(func(m message) bool { return m.comment })
}

func (w *apiServer) cutOff(agent string) {
	w.t.Helper()
	if _, err := w.dispatch.CutOff(w.t.Context(), w.person(), agent, ""); err != nil {
		w.t.Fatal(err)
	}
}

// guest is another member of the owner's workspace, with a token.
func (w *apiServer) guest() (account ids.ID, token string) {
	w.t.Helper()
	owner := w.person()
	account = ids.New()
	dbfactory.Exec(w.t, w.db, `INSERT INTO account (id, email, name) VALUES ($1, 'guest@example.org', 'Guest')`, account)
	dbfactory.Exec(w.t, w.db, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'viewer')`, owner.Workspace, account)
	token, err := w.accounts.Tokens.Issue(w.t.Context(), tenancy.Principal{Kind: tenancy.KindPerson, Role: tenancy.RoleViewer,
		Workspace: owner.Workspace, Account: account, Name: "Guest"}, tokens.NewToken{Kind: tenancy.KindPerson, Name: "guest"})
	if err != nil {
		w.t.Fatal(err)
	}
	if got := w.as(token, "GET", "/jobs", nil).status; got != http.StatusOK {
		w.t.Fatalf("the guest is answered with %d", got)
	}
	return account, token
}
