package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// newToken is the form of a token as the page sends it.
func newToken(kind, name string, change ...url.Values) url.Values {
	in := url.Values{"kind": {kind}, "name": {name}, "life": {"90"}, "form_key": {ids.New().String()}}
	for _, c := range change {
		for field, values := range c {
			in[field] = values
		}
	}
	return in
}

// made makes a token at the page and returns it.
func (d *desk) made(s *site, in url.Values) string {
	d.t.Helper()
	doc := page(d.t, s.post("/settings/tokens", in), http.StatusOK)
	token := doc.Find("#new-token pre").Text()
	if doc.Find("#new-token [data-copy='"+token+"']").Length() != 1 || token == "" {
		d.t.Fatalf("the page shows no token to copy: %q", token)
	}
	return token
}

// A token is shown on the answer that makes it and never again: not by a reload,
// which sends the form again, and not by the list.
func TestATokenIsShownOnce(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/settings/tokens"), http.StatusOK)
	wantText(t, doc, "#own-tokens", "You have no token")
	wantCount(t, doc, "a[href='/settings/tokens/new?kind=person']", 1)
	doc = page(t, d.get("/settings/tokens/new?kind=person"), http.StatusOK)
	wantCount(t, doc, "#token-form option[value='90'][selected]", 1)
	wantCount(t, doc, "#token-form [name=capabilities]", 0)

	in := newToken("person", "laptop")
	token := d.made(d.site, in)
	who, err := d.people.Bearer(t.Context(), token)
	if err != nil || who.Kind != tenancy.KindPerson || who.Role != tenancy.RoleOwner {
		t.Fatalf("the token is %+v, %v", who, err)
	}
	wantRedirect(t, d.post("/settings/tokens", in), "/settings/tokens")
	res := d.get("/settings/tokens")
	if body := read(t, res, http.StatusOK); strings.Contains(body, token) {
		t.Error("the list shows a whole token")
	} else {
		doc = parse(t, body)
	}
	wantText(t, doc, "#toasts", "has made its token already")
	wantCount(t, doc, "[data-token=laptop]", 1)
	wantText(t, doc, "[data-token=laptop]", token[:len("fb_person_")+6])
	wantText(t, doc, "[data-token=laptop]", "Made")
	if strings.Contains(d.log.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestARefusedTokenFormKeepsItsText(t *testing.T) {
	d := newDesk(t)
	for name, c := range map[string]struct {
		change url.Values
		field  string
	}{
		"no name":            {url.Values{"name": {" "}}, "#name-e"},
		"unknown product":    {url.Values{"products": {"atlsa"}}, "#products-e"},
		"no capability":      {url.Values{"capabilities": {"HAS git"}}, "#capabilities-e"},
		"no factory":         {url.Values{"factory": {"a/b"}}, "#factory-e"},
		"a life of its own":  {url.Values{"life": {"100000"}}, "#life-e"},
		"a life of no sense": {url.Values{"life": {"x"}}, "#life-e"},
	} {
		in := newToken("enrolment", "macs", url.Values{"capabilities": {"os:mac"}}, c.change)
		doc := page(t, d.post("/settings/tokens", in), http.StatusUnprocessableEntity)
		if doc.Find(c.field).Text() == "" {
			t.Errorf("%s: no error at %s", name, c.field)
		}
		if got := doc.Find("#name").AttrOr("value", ""); got != strings.TrimSpace(in.Get("name")) {
			t.Errorf("%s: the name is now %q", name, got)
		}
		wantText(t, doc, "form#token-form", "No token was made.")
	}
	if n := dbfactory.Text(t, d.db, "SELECT count(*)::text FROM access_token WHERE name = 'macs'"); n != "0" {
		t.Errorf("%s tokens were made", n)
	}
}

func TestAnEnrolmentTokenWithLimits(t *testing.T) {
	d := newDesk(t)
	in := newToken("enrolment", "macs", url.Values{"products": {"default"}, "capabilities": {"os:mac, has:git"}, "factory": {"mac-1"}, "life": {"0"}})
	who, err := d.people.Bearer(t.Context(), d.made(d.site, in))
	if err != nil || who.Scope.Factory != "mac-1" || len(who.Scope.Capabilities) != 2 || len(who.Scope.Products) != 1 {
		t.Fatalf("the token is %+v, %v", who, err)
	}
	doc := page(t, d.get("/settings/tokens"), http.StatusOK)
	for _, limit := range []string{"default", "factory mac-1", "os:mac", "Never"} {
		wantText(t, doc, "[data-token=macs]", limit)
	}
}

// Members have tokens of their own and see nothing of the workspace's.
func TestTokensOfAMember(t *testing.T) {
	d := newDesk(t)
	d.made(d.site, newToken("enrolment", "macs"))
	member := d.as(tenancy.RoleMember)
	doc := page(t, member.get("/settings/tokens"), http.StatusOK)
	wantCount(t, doc, "#enrolment-tokens", 0)
	wantCount(t, doc, "[data-token]", 0)
	read(t, member.get("/settings/tokens/new?kind=enrolment"), http.StatusForbidden)
	read(t, member.post("/settings/tokens", newToken("enrolment", "x")), http.StatusForbidden)
	read(t, member.post("/settings/connect", newToken("enrolment", "x")), http.StatusForbidden)
	who, err := d.people.Bearer(t.Context(), d.made(member, newToken("person", "mine")))
	if err != nil || who.Role != tenancy.RoleMember {
		t.Errorf("the member's token is %+v, %v", who, err)
	}
	own := dbfactory.Text(t, d.db, "SELECT id::text FROM access_token WHERE name = 'macs'")
	read(t, member.post("/settings/tokens/"+own+"/revoke", nil), http.StatusNotFound)
	read(t, member.post("/settings/tokens/nonsense/revoke", nil), http.StatusNotFound)
}

// Revoked, an enrolment token's agents are refused; their jobs stay with them
// until the leases end, unless the person cuts them off as well.
func TestRevokeAnEnrolmentToken(t *testing.T) {
	d := newDesk(t)
	for name, c := range map[string]struct {
		fields url.Values
		job    jobs.Status
		toast  string
	}{
		"softly": {nil, jobs.Assigned, "Nothing is let in with it"},
		"hardly": {url.Values{"cut_off": {"1"}}, jobs.Ready, "1 agent was cut off"},
	} {
		enrolment, err := d.people.Bearer(t.Context(), d.made(d.site, newToken("enrolment", name)))
		if err != nil {
			t.Fatal(err)
		}
		made, err := d.elsewhere.Register(t.Context(), enrolment, fleet.Registration{Agent: name, BootID: "b",
			Factory: fleet.FactoryInfo{Name: name, Capabilities: []string{"has:" + name}, Seats: 1}})
		if err != nil {
			t.Fatal(err)
		}
		agent, err := d.people.Bearer(t.Context(), made.Token)
		if err != nil {
			t.Fatal(err)
		}
		j := d.job("work", func(n *jobs.New) { n.Capabilities = []string{"has:" + name} })
		d.claim(agent)
		doc := page(t, d.get("/settings/tokens"), http.StatusOK)
		wantText(t, doc, "#dlg-revoke-"+enrolment.Token.String(), "One agent that registered with it is alive.")
		wantRedirect(t, d.post("/settings/tokens/"+enrolment.Token.String()+"/revoke", c.fields), "/settings/tokens")
		doc = page(t, d.get("/settings/tokens"), http.StatusOK)
		wantText(t, doc, "[data-token="+name+"]", "Revoked")
		wantCount(t, doc, "[data-token="+name+"] button", 0)
		wantText(t, doc, "#toasts", c.toast)
		if _, err := d.people.Bearer(t.Context(), made.Token); !fault.Is(err, fault.TokenRevoked) {
			t.Errorf("%s: the agent is answered: %v", name, err)
		}
		if now := d.now(j); now.Status != c.job {
			t.Errorf("%s: the job is %s, want %s", name, now.Status, c.job)
		}
	}
}

func TestConnectPage(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/settings/connect"), http.StatusOK)
	wantText(t, doc, "#connect-environment", "export FLEETBOARD_TOKEN=$(cat /data/enrolment-token)")
	wantCount(t, doc, "#connect-form", 1)
	member := page(t, d.as(tenancy.RoleMember).get("/settings/connect"), http.StatusOK)
	wantCount(t, member, "#connect-form", 0)
	wantText(t, member, "#connect-ask", "Owners and admins make them")

	doc = page(t, d.post("/settings/connect", newToken("enrolment", "rack 3", url.Values{"life": {"7"}})), http.StatusOK)
	wantText(t, doc, "#new-token", "Copy the lines with the token “rack 3” now")
	_, token, _ := strings.Cut(doc.Find("#connect-environment [data-copy]").AttrOr("data-copy", ""), "FLEETBOARD_TOKEN=")
	token = strings.TrimSpace(token)
	who, err := d.people.Bearer(t.Context(), token)
	if err != nil || who.Kind != tenancy.KindEnrolment || who.Name != "rack 3" {
		t.Errorf("the token is %+v, %v", who, err)
	}
	doc = page(t, d.post("/settings/connect", newToken("enrolment", "")), http.StatusUnprocessableEntity)
	if doc.Find("#name-e").Text() == "" {
		t.Error("a token without a name is not refused at its field")
	}
}

func TestCutOffOnTheAgentsPage(t *testing.T) {
	d := newDesk(t)
	j := d.job("Alpha")
	agent := d.agent("claude-1")
	d.claim(agent)
	doc := page(t, d.get("/agents"), http.StatusOK)
	wantText(t, doc, "[role=dialog]", "Cut off claude-1?")
	wantText(t, doc, "[role=dialog]", "FB-1 goes back to Ready.")
	read(t, d.as(tenancy.RoleMember).post("/agents/claude-1/cut-off", nil), http.StatusForbidden)
	read(t, d.hx("/agents", "/agents/nobody/cut-off", nil), http.StatusNotFound)
	read(t, d.hx("/agents", "/agents/claude-1/cut-off", url.Values{"reason": {strings.Repeat("x", maxWhy+1)}}), http.StatusUnprocessableEntity)
	doc = page(t, d.hx("/agents", "/agents/claude-1/cut-off", url.Values{"reason": {"Odd"}}), http.StatusOK)
	wantText(t, doc, "#agents-panel", "Cut off")
	wantCount(t, doc, "#agents-panel form[action='/agents/claude-1/cut-off']", 0)
	if now := d.now(j); now.Status != jobs.Ready {
		t.Errorf("the job is %s", now.Status)
	}
	if _, err := d.elsewhere.Claim(t.Context(), agent, dispatch.ClaimRequest{}); !fault.Is(err, fault.TokenRevoked) {
		t.Errorf("it claims: %v", err)
	}
}
