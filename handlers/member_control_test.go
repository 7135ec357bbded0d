package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/accounts"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// tokenOf makes a personal token of a browser's person.
func (d *desk) tokenOf(s *site) string {
	d.t.Helper()
	id, _ := ids.Parse(d.idOf(s))
	who, err := d.Accounts.Person(d.t.Context(), id, d.workspace)
	if err != nil {
		d.t.Fatal(err)
	}
	token, err := d.Accounts.IssueToken(d.t.Context(), who, accounts.NewToken{Kind: tenancy.KindPerson, Name: "script"})
	if err != nil {
		d.t.Fatal(err)
	}
	return token
}

// A disabled member's pages, streams and tokens stop, and go on when somebody
// enables him again. The last owner stays.
func TestDisableAMember(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	address := d.listen(t)
	other := d.as(tenancy.RoleMember)
	id, token := d.idOf(other), d.tokenOf(other)
	stream := other.stream(t, address+links.LiveAgents(""), "")
	began := time.Now()
	wantRedirect(t, d.post(links.MemberDisable(id), nil), links.Members)
	for err := error(nil); err == nil; {
		_, err = stream.next()
	}
	if took := time.Since(began); took > sessionEvery {
		t.Errorf("the stream went on for %s", took)
	}
	wantRedirect(t, other.get(links.Board), "/login")
	if _, err := d.Accounts.Bearer(t.Context(), token); !fault.Is(err, fault.TokenRevoked) {
		t.Errorf("the token: %v", err)
	}
	doc := page(t, d.get(links.Members), http.StatusOK)
	wantText(t, doc, "tr[data-member='"+id+"']", "disabled")
	wantCount(t, doc, "form[action='"+links.MemberEnable(id)+"']", 1)
	// An invitation is no way around it.
	link := d.invite("again@example.org", "admin")
	read(t, other.post(link, url.Values{"as": {id}}), http.StatusForbidden)

	wantRedirect(t, d.post(links.MemberEnable(id), nil), links.Members)
	read(t, other.get(links.Board), http.StatusOK)
	if _, err := d.Accounts.Bearer(t.Context(), token); err != nil {
		t.Errorf("the token afterwards: %v", err)
	}
	// Neither oneself nor the last owner; a disabled owner does not count.
	read(t, d.post(links.MemberDisable(d.idOf(d.site)), nil), http.StatusForbidden)
	dbfactory.Exec(t, d.db, `DELETE FROM membership WHERE role = 'owner' AND account_id <> $1::uuid`, d.idOf(d.site))
	second := d.as(tenancy.RoleOwner)
	wantRedirect(t, d.post(links.MemberDisable(d.idOf(second)), nil), links.Members)
	wantText(t, page(t, d.get(links.Members), http.StatusOK), "#toasts", "The member is disabled")
	wantRedirect(t, d.post(links.StepDown, nil), links.Members)
	wantText(t, page(t, d.get(links.Members), http.StatusOK), "#toasts", "is the last owner")
	read(t, d.as(tenancy.RoleAdmin).post(links.MemberDisable(id), nil), http.StatusForbidden)
	if off, on := d.events(eventlog.MemberDisabled), d.events(eventlog.MemberEnabled); off != 2 || on != 1 {
		t.Errorf("%d and %d events", off, on)
	}
	wantText(t, page(t, d.get(links.Audit), http.StatusOK), "main", "disabled ")
}

func TestEndAMembersSessions(t *testing.T) {
	d := newDesk(t)
	other := d.as(tenancy.RoleMember)
	wantRedirect(t, d.post(links.MemberEndSessions(d.idOf(other)), nil), links.Members)
	wantRedirect(t, other.get(links.Board), "/login")
	read(t, d.get(links.Board), http.StatusOK)
	read(t, d.post(links.MemberEndSessions(ids.New().String()), nil), http.StatusNotFound)
	wantText(t, page(t, d.get(links.Audit), http.StatusOK), "main", "ended 1 session of ")
}

// A member without the second factor that the workspace asks for is led to set it
// up, can do nothing else there, and goes on afterwards; a token neither.
func TestTheSecondFactorIsADuty(t *testing.T) {
	d := newDesk(t)
	wantRedirect(t, d.post(links.Password, url.Values{"password": {ownerPassword}}), links.Account)
	wantRedirect(t, d.post(links.RequireFactor, url.Values{"required": {"1"}}), links.Workspace)
	wantText(t, page(t, d.get(links.Workspace), http.StatusOK), "#toasts", "your own second factor first")
	d.secondFactor(t)

	other := d.as(tenancy.RoleAdmin)
	wantRedirect(t, other.post(links.Password, url.Values{"password": {otherPassword}}), links.Account)
	token := d.tokenOf(other)
	guest := d.as(tenancy.RoleMember) // comes by the provider: has no password
	wantRedirect(t, d.post(links.RequireFactor, url.Values{"required": {"1"}}), links.Workspace)
	read(t, guest.get(links.Board), http.StatusOK)

	for _, path := range []string{links.Board, links.Members, links.NewToken("person"), links.Account} {
		wantRedirect(t, other.get(path), links.SecondFactor)
	}
	for _, path := range []string{links.Jobs, links.Tokens, links.Invitations} {
		wantRedirect(t, other.post(path, url.Values{"title": {"A"}, "name": {"a"}, "kind": {"person"}, "life": {"30"}}), links.SecondFactor)
	}
	if _, err := d.Accounts.Bearer(t.Context(), token); !fault.Is(err, fault.Forbidden) {
		t.Errorf("the token: %v", err)
	}
	body := read(t, other.get(links.SecondFactor), http.StatusOK)
	if strings.Contains(body, "Mara") {
		t.Error("the page tells of others in the workspace")
	}
	wantText(t, page(t, other.post(links.SecondFactor, url.Values{"current": {"wrong password!"}}), http.StatusUnprocessableEntity), "#current-e", "not your password")
	wantRedirect(t, other.post(links.SecondFactor, url.Values{"current": {otherPassword}}), links.SecondFactor)
	secret := strings.ReplaceAll(page(t, other.get(links.SecondFactor), http.StatusOK).Find("#secret").Text(), " ", "")
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, page(t, other.post(links.ConfirmFactor, url.Values{"code": {code}}), http.StatusOK), "h1", "The second factor is on")
	read(t, other.get(links.Board), http.StatusOK)
	if _, err := d.Accounts.Bearer(t.Context(), token); err != nil {
		t.Errorf("the token afterwards: %v", err)
	}
	if n := dbfactory.Int(t, d.db, "SELECT count(*) FROM event WHERE type = 'workspace.second_factor_set'"); n != 1 {
		t.Errorf("%d events", n)
	}
	read(t, other.post(links.RequireFactor, nil), http.StatusForbidden)
	wantText(t, page(t, d.get(links.Audit), http.StatusOK), "main", "a duty of members")
}
