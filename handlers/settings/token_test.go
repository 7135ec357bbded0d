package settings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// newToken returns the form of a token as the page sends it.
func newToken(kind, name string, change ...url.Values) url.Values {
	in := url.Values{"kind": {kind}, "name": {name}, "life": {"90"}, "form_key": {ids.New().String()}}
	for _, c := range change {
		for field, values := range c {
			in[field] = values
		}
	}
	return in
}

// A token is shown on the answer that makes it and never again: not by a reload,
// which sends the form again, and not by the list.
func TestATokenIsShownOnce(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/settings/tokens"), http.StatusOK)
	handlertest.WantText(t, doc, "#own-tokens", "You have no token")
	handlertest.WantCount(t, doc, "a[href='/settings/tokens/new?kind=person']", 1)
	doc = handlertest.Page(t, d.Get("/settings/tokens/new?kind=person"), http.StatusOK)
	handlertest.WantCount(t, doc, "#token-form option[value='90'][selected]", 1)
	handlertest.WantCount(t, doc, "#token-form [name=capabilities]", 0)

	in := newToken("person", "laptop")
	token := d.Made(d.Site, in)
	who, err := d.People.Tokens.Bearer(t.Context(), token)
	if err != nil || who.Kind != tenancy.KindPerson || who.Role != tenancy.RoleOwner {
		t.Fatalf("the token is %+v, %v", who, err)
	}
	handlertest.WantRedirect(t, d.Post("/settings/tokens", in), "/settings/tokens")
	res := d.Get("/settings/tokens")
	if body := handlertest.Read(t, res, http.StatusOK); strings.Contains(body, token) {
		t.Error("the list shows a whole token")
	} else {
		doc = handlertest.Parse(t, body)
	}
	handlertest.WantText(t, doc, "#toasts", "has made its token already")
	handlertest.WantCount(t, doc, "[data-token=laptop]", 1)
	handlertest.WantText(t, doc, "[data-token=laptop]", token[:len("fb_person_")+6])
	handlertest.WantText(t, doc, "[data-token=laptop]", "Made")
	if strings.Contains(d.LogText.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestARefusedTokenFormKeepsItsText(t *testing.T) {
	d := handlertest.NewWorkspace(t)
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
		doc := handlertest.Page(t, d.Post("/settings/tokens", in), http.StatusUnprocessableEntity)
		if doc.Find(c.field).Text() == "" {
			t.Errorf("%s: no error at %s", name, c.field)
		}
		if got := doc.Find("#name").AttrOr("value", ""); got != strings.TrimSpace(in.Get("name")) {
			t.Errorf("%s: the name is now %q", name, got)
		}
		handlertest.WantText(t, doc, "form#token-form", "No token was made.")
	}
	if n := dbfactory.Text(t, d.DB, "SELECT count(*)::text FROM access_token WHERE name = 'macs'"); n != "0" {
		t.Errorf("%s tokens were made", n)
	}
}

func TestAnEnrolmentTokenWithLimits(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	in := newToken("enrolment", "macs", url.Values{"products": {"default"}, "capabilities": {"os:mac, has:git"}, "factory": {"mac-1"}, "life": {"0"}})
	who, err := d.People.Tokens.Bearer(t.Context(), d.Made(d.Site, in))
	if err != nil || who.Scope.Factory != "mac-1" || len(who.Scope.Capabilities) != 2 || len(who.Scope.Products) != 1 {
		t.Fatalf("the token is %+v, %v", who, err)
	}
	doc := handlertest.Page(t, d.Get("/settings/tokens"), http.StatusOK)
	for _, limit := range []string{"default", "factory mac-1", "os:mac", "Never"} {
		handlertest.WantText(t, doc, "[data-token=macs]", limit)
	}
}

// Members have tokens of their own and see nothing of the workspace's.
func TestTokensOfAMember(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Made(d.Site, newToken("enrolment", "macs"))
	member := d.As(tenancy.RoleMember)
	doc := handlertest.Page(t, member.Get("/settings/tokens"), http.StatusOK)
	handlertest.WantCount(t, doc, "#enrolment-tokens", 0)
	handlertest.WantCount(t, doc, "[data-token]", 0)
	handlertest.Read(t, member.Get("/settings/tokens/new?kind=enrolment"), http.StatusForbidden)
	handlertest.Read(t, member.Post("/settings/tokens", newToken("enrolment", "x")), http.StatusForbidden)
	handlertest.Read(t, member.Post("/settings/connect", newToken("enrolment", "x")), http.StatusForbidden)
	who, err := d.People.Tokens.Bearer(t.Context(), d.Made(member, newToken("person", "mine")))
	if err != nil || who.Role != tenancy.RoleMember {
		t.Errorf("the member's token is %+v, %v", who, err)
	}
	own := dbfactory.Text(t, d.DB, "SELECT id::text FROM access_token WHERE name = 'macs'")
	handlertest.Read(t, member.Post("/settings/tokens/"+own+"/revoke", nil), http.StatusNotFound)
	handlertest.Read(t, member.Post("/settings/tokens/nonsense/revoke", nil), http.StatusNotFound)
}

// Revoked, an enrolment token's agents are refused; their jobs stay with them
// until the leases end, unless the person cuts them off as well.
func TestRevokeAnEnrolmentToken(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for name, c := range map[string]struct {
		fields url.Values
		job    jobs.Status
		toast  string
	}{
		"softly": {nil, jobs.Assigned, "Nothing is let in with it"},
		"hardly": {url.Values{"cut_off": {"1"}}, jobs.Ready, "1 agent was cut off"},
	} {
		enrolment, err := d.People.Tokens.Bearer(t.Context(), d.Made(d.Site, newToken("enrolment", name)))
		if err != nil {
			t.Fatal(err)
		}
		made, err := d.OtherProcess.Register(t.Context(), enrolment, fleet.Registration{Agent: name, BootID: "b",
			Factory: fleet.FactoryInfo{Name: name, Capabilities: []string{"has:" + name}, Seats: 1}})
		if err != nil {
			t.Fatal(err)
		}
		agent, err := d.People.Tokens.Bearer(t.Context(), made.Token)
		if err != nil {
			t.Fatal(err)
		}
		j := d.Job("work", func(n *jobs.New) { n.Capabilities = []string{"has:" + name} })
		d.Claim(agent)
		doc := handlertest.Page(t, d.Get("/settings/tokens"), http.StatusOK)
		handlertest.WantText(t, doc, "#dlg-revoke-"+enrolment.Token.String(), "One agent that registered with it is alive.")
		handlertest.WantRedirect(t, d.Post("/settings/tokens/"+enrolment.Token.String()+"/revoke", c.fields), "/settings/tokens")
		doc = handlertest.Page(t, d.Get("/settings/tokens"), http.StatusOK)
		handlertest.WantText(t, doc, "[data-token="+name+"]", "Revoked")
		handlertest.WantCount(t, doc, "[data-token="+name+"] button", 0)
		handlertest.WantText(t, doc, "#toasts", c.toast)
		if _, err := d.People.Tokens.Bearer(t.Context(), made.Token); !fault.Is(err, fault.TokenRevoked) {
			t.Errorf("%s: the agent is answered: %v", name, err)
		}
		if now := d.Now(j); now.Status != c.job {
			t.Errorf("%s: the job is %s, want %s", name, now.Status, c.job)
		}
	}
}

func TestConnectPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/settings/connect"), http.StatusOK)
	handlertest.WantText(t, doc, "#connect-environment", `export FLEETBOARD_ENROLMENT_TOKEN="$(cat /data/enrolment-token)"`)
	handlertest.WantText(t, doc, "#connect-worker", "fleet worker --repos ~/src")
	handlertest.WantText(t, doc, "#connect-agent", `curl -fsSO "$FLEETBOARD_URL/agent.sh" && bash agent.sh`)
	handlertest.WantCount(t, doc, "details#connect-calls:not([open]) #connect-register", 1)
	handlertest.WantCount(t, doc, "#connect-form", 1)
	member := handlertest.Page(t, d.As(tenancy.RoleMember).Get("/settings/connect"), http.StatusOK)
	handlertest.WantCount(t, member, "#connect-form", 0)
	handlertest.WantText(t, member, "#connect-ask", "Owners and admins make them")

	doc = handlertest.Page(t, d.Post("/settings/connect", newToken("enrolment", "rack 3", url.Values{"life": {"7"}})), http.StatusOK)
	handlertest.WantText(t, doc, "#new-token", "Copy the lines with the token “rack 3” now")
	handlertest.WantText(t, doc, "#new-token", "It ends on "+time.Now().UTC().AddDate(0, 0, 7).Format("2 Jan 2006"))
	never := handlertest.Page(t, d.Post("/settings/connect", newToken("enrolment", "rack 4", url.Values{"life": {"0"}})), http.StatusOK)
	handlertest.WantText(t, never, "#new-token", "It does not end by itself.")
	_, token, _ := strings.Cut(doc.Find("#connect-environment [data-copy]").AttrOr("data-copy", ""), "FLEETBOARD_ENROLMENT_TOKEN=")
	token = strings.TrimSpace(token)
	who, err := d.People.Tokens.Bearer(t.Context(), token)
	if err != nil || who.Kind != tenancy.KindEnrolment || who.Name != "rack 3" {
		t.Errorf("the token is %+v, %v", who, err)
	}
	doc = handlertest.Page(t, d.Post("/settings/connect", newToken("enrolment", "")), http.StatusUnprocessableEntity)
	if doc.Find("#name-e").Text() == "" {
		t.Error("a token without a name is not refused at its field")
	}
}

// An owner trusts an issuer on the page of tokens, is told what is wrong with a rule, and trusts it no
// longer; a member sees nothing of it.
func TestTrustedIssuersOnThePage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	rule := url.Values{"issuer": {"github"}, "url": {"https://token.actions.githubusercontent.com"}, "audience": {"fleetboard"},
		"claims": {"repository=kestrel/ledger"}, "capabilities": {"os:linux"}, "factory": {""}}
	doc := handlertest.Page(t, d.Post("/settings/issuers", rule), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#claims-e", "add repository_id or repository_owner_id")
	rule.Set("claims", "repository=kestrel/ledger, repository_id=1296269")
	handlertest.WantRedirect(t, d.Post("/settings/issuers", rule), "/settings/tokens#issuers")
	doc = handlertest.Page(t, d.Get("/settings/tokens"), http.StatusOK)
	handlertest.WantText(t, doc, "[data-issuer=github]", "repository_id=1296269")
	handlertest.WantText(t, doc, "[data-token=github]", "by OpenID Connect")
	member := handlertest.Page(t, d.As(tenancy.RoleMember).Get("/settings/tokens"), http.StatusOK)
	handlertest.WantCount(t, member, "#issuers, [data-issuer]", 0)
	handlertest.WantRedirect(t, d.Post("/settings/issuers/github/remove", nil), "/settings/tokens#issuers")
	doc = handlertest.Page(t, d.Get("/settings/tokens"), http.StatusOK)
	handlertest.WantCount(t, doc, "[data-issuer]", 0)
}
