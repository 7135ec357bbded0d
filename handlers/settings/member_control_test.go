package settings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// A disabled member's pages, streams and tokens stop, and go on when somebody
// enables him again. The last owner stays.
func TestDisableAMember(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	address := d.Listen(t)
	other := d.As(tenancy.RoleMember)
	id, token := d.Account(other), d.NewToken(other)
	stream := other.Stream(t, address+links.Live("agents", "", nil), "")
	told := hearsOfMembers(d)
	handlertest.WantRedirect(t, d.Post(links.MemberDisable(id), nil), links.Members)
	for err := error(nil); err == nil; {
		_, err = stream.Next()
	}
	told(t)
	handlertest.WantRedirect(t, other.Get(links.Board), "/login")
	if _, err := d.Accounts.Tokens.Bearer(t.Context(), token); !fault.Is(err, fault.TokenRevoked) {
		t.Errorf("the token: %v", err)
	}
	doc := handlertest.Page(t, d.Get(links.Members), http.StatusOK)
	handlertest.WantText(t, doc, "tr[data-member='"+id+"']", "disabled")
	handlertest.WantCount(t, doc, "form[action='"+links.MemberEnable(id)+"']", 1)
	// An invitation is no way around it.
	link := d.Invite("again@example.org", "admin")
	handlertest.Read(t, other.Post(link, url.Values{"as": {id}}), http.StatusForbidden)

	handlertest.WantRedirect(t, d.Post(links.MemberEnable(id), nil), links.Members)
	handlertest.Read(t, other.Get(links.Board), http.StatusOK)
	if _, err := d.Accounts.Tokens.Bearer(t.Context(), token); err != nil {
		t.Errorf("the token afterwards: %v", err)
	}
	// Neither oneself nor the last owner; a disabled owner does not count.
	handlertest.Read(t, d.Post(links.MemberDisable(d.Account(d.Site)), nil), http.StatusForbidden)
	dbfactory.Exec(t, d.DB, `DELETE FROM membership WHERE role = 'owner' AND account_id <> $1::uuid`, d.Account(d.Site))
	second := d.As(tenancy.RoleOwner)
	handlertest.WantRedirect(t, d.Post(links.MemberDisable(d.Account(second)), nil), links.Members)
	handlertest.WantText(t, handlertest.Page(t, d.Get(links.Members), http.StatusOK), "#toasts", "The member is disabled")
	handlertest.WantRedirect(t, d.Post(links.StepDown, nil), links.Members)
	handlertest.WantText(t, handlertest.Page(t, d.Get(links.Members), http.StatusOK), "#toasts", "is the last owner")
	handlertest.Read(t, d.As(tenancy.RoleAdmin).Post(links.MemberDisable(id), nil), http.StatusForbidden)
	if off, on := d.CountEvents(eventlog.MemberDisabled), d.CountEvents(eventlog.MemberEnabled); off != 2 || on != 1 {
		t.Errorf("%d and %d events", off, on)
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get(links.Audit), http.StatusOK), "main", "disabled ")
}

func TestEndAMembersSessions(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	other := d.As(tenancy.RoleMember)
	handlertest.WantRedirect(t, d.Post(links.MemberEndSessions(d.Account(other)), nil), links.Members)
	handlertest.WantRedirect(t, other.Get(links.Board), "/login")
	handlertest.Read(t, d.Get(links.Board), http.StatusOK)
	handlertest.Read(t, d.Post(links.MemberEndSessions(ids.New().String()), nil), http.StatusNotFound)
	handlertest.WantText(t, handlertest.Page(t, d.Get(links.Audit), http.StatusOK), "main", "ended 1 session of ")
}

// A member without the second factor that the workspace requires is led to set it
// up, can do nothing else there, and goes on afterwards; a token neither.
func TestTheSecondFactorIsADuty(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantRedirect(t, d.Post(links.Password, url.Values{"password": {handlertest.OwnerPassword}}), links.Account)
	handlertest.WantRedirect(t, d.Post(links.RequireFactor, url.Values{"required": {"1"}}), links.Workspace)
	handlertest.WantText(t, handlertest.Page(t, d.Get(links.Workspace), http.StatusOK), "#toasts", "your own second factor first")
	d.SecondFactor(t)

	other := d.As(tenancy.RoleAdmin)
	handlertest.WantRedirect(t, other.Post(links.Password, url.Values{"password": {handlertest.OtherPassword}}), links.Account)
	token := d.NewToken(other)
	guest := d.As(tenancy.RoleMember) // comes by the provider: has no password
	handlertest.WantRedirect(t, d.Post(links.RequireFactor, url.Values{"required": {"1"}}), links.Workspace)
	handlertest.Read(t, guest.Get(links.Board), http.StatusOK)

	for _, path := range []string{links.Board, links.Members, links.NewToken("person"), links.Account} {
		handlertest.WantRedirect(t, other.Get(path), links.SecondFactor)
	}
	for _, path := range []string{links.Jobs, links.Tokens, links.Invitations} {
		handlertest.WantRedirect(t, other.Post(path, url.Values{"title": {"A"}, "name": {"a"}, "kind": {"person"}, "life": {"30"}}), links.SecondFactor)
	}
	if _, err := d.Accounts.Tokens.Bearer(t.Context(), token); !fault.Is(err, fault.Forbidden) {
		t.Errorf("the token: %v", err)
	}
	body := handlertest.Read(t, other.Get(links.SecondFactor), http.StatusOK)
	if strings.Contains(body, "Mara") {
		t.Error("the page tells of others in the workspace")
	}
	handlertest.WantText(t, handlertest.Page(t, other.Post(links.SecondFactor, url.Values{"current": {"wrong password!"}}), http.StatusUnprocessableEntity), "#current-e", "not your password")
	handlertest.WantRedirect(t, other.Post(links.SecondFactor, url.Values{"current": {handlertest.OtherPassword}}), links.SecondFactor)
	secret := strings.ReplaceAll(handlertest.Page(t, other.Get(links.SecondFactor), http.StatusOK).Find("#secret").Text(), " ", "")
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	handlertest.WantText(t, handlertest.Page(t, other.Post(links.ConfirmFactor, url.Values{"code": {code}}), http.StatusOK), "h1", "The second factor is on")
	handlertest.Read(t, other.Get(links.Board), http.StatusOK)
	if _, err := d.Accounts.Tokens.Bearer(t.Context(), token); err != nil {
		t.Errorf("the token afterwards: %v", err)
	}
	if n := dbfactory.Int(t, d.DB, "SELECT count(*) FROM event WHERE type = 'workspace.second_factor_set'"); n != 1 {
		t.Errorf("%d events", n)
	}
	handlertest.Read(t, other.Post(links.RequireFactor, nil), http.StatusForbidden)
	handlertest.WantText(t, handlertest.Page(t, d.Get(links.Audit), http.StatusOK), "main", "a duty of members")
}
