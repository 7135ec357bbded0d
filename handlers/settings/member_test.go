package settings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

func TestMembersSayWhoIsHereAndWhatRolesMay(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	me := d.Named(d.Site, "Ada <b>")
	viewer := d.As(tenancy.RoleViewer)
	bob := d.Named(viewer, "Bob")
	doc := handlertest.Page(t, d.Get("/settings/members"), http.StatusOK)
	handlertest.WantText(t, doc, "tr[data-member='"+me+"']", "Ada <b> you")
	handlertest.WantText(t, doc, "tr[data-member='"+me+"']", "owner")
	handlertest.WantCount(t, doc, "tr[data-member='"+me+"'] form, tr[data-member='"+me+"'] button", 0)
	handlertest.WantText(t, doc, "tr[data-member='"+bob+"']", "Bob "+bob+"@example.org")
	handlertest.WantCount(t, doc, "tr[data-member='"+bob+"'] option[value=viewer][selected]", 1)
	handlertest.WantCount(t, doc, "tr[data-member='"+bob+"'] option", 4)
	handlertest.WantText(t, doc, "#dlg-remove-"+bob, "Remove Bob?")
	handlertest.WantText(t, doc, "#invite .empty", "Nobody is invited")
	handlertest.WantText(t, doc, "#rights tr:contains('Make and unmake owners')", "Make and unmake owners, log members out and disable them, ask for a second factor, rename the workspace, change its encryption key yes– no– no– no")
	handlertest.WantCount(t, doc, ".side .nav a[aria-current=page][href='/settings']", 1)

	// Those who only look see the list and the table, and may leave.
	doc = handlertest.Page(t, viewer.Get("/settings/members"), http.StatusOK)
	handlertest.WantCount(t, doc, "#members tr[data-member]", 3) // the workspace's first owner, Ada, Bob
	handlertest.WantCount(t, doc, "#members form, #members button, #invite", 0)
	handlertest.WantCount(t, doc, "#own #dlg-leave form[action='/settings/members/leave']", 1)
	for _, address := range []string{"/" + me + "/role", "/" + me + "/remove", "/invitations", "/invitations/" + me + "/revoke", "/step-down"} {
		handlertest.Read(t, viewer.Post("/settings/members"+address, url.Values{"role": {"viewer"}}), http.StatusForbidden)
	}
	// An admin gives no owner's role, and cannot touch one.
	doc = handlertest.Page(t, d.As(tenancy.RoleAdmin).Get("/settings/members"), http.StatusOK)
	handlertest.WantCount(t, doc, "tr[data-member='"+me+"'] form", 0)
	handlertest.WantCount(t, doc, "tr[data-member='"+bob+"'] option[value=owner]", 0)
	handlertest.WantCount(t, doc, "#invite-form option[value=owner]", 0)
	handlertest.WantCount(t, doc, "#invite-form option[value=member][selected]", 1)
}

func TestChangeAndRemoveAMember(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	other := d.As(tenancy.RoleMember)
	bob := d.Named(other, "Bob")
	handlertest.WantRedirect(t, d.Post("/settings/members/"+bob+"/role", url.Values{"role": {"admin"}}), "/settings/members")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/members"), http.StatusOK), "#toasts", "The role was changedThe member is an admin now.")
	handlertest.WantCount(t, handlertest.Page(t, other.Get("/settings/members"), http.StatusOK), "#invite", 1)
	handlertest.Read(t, d.Post("/settings/members/"+bob+"/role", url.Values{"role": {"emperor"}}), http.StatusUnprocessableEntity)
	handlertest.Read(t, other.Post("/settings/members/"+bob+"/role", url.Values{"role": {"member"}}), http.StatusForbidden)

	handlertest.WantRedirect(t, d.Post("/settings/members/"+bob+"/remove", nil), "/settings/members")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/settings/members"), http.StatusOK), "tr[data-member='"+bob+"']", 0)
	handlertest.WantRedirect(t, other.Get("/board"), "/login")
	for _, id := range []string{bob, ids.New().String(), "x"} {
		handlertest.Read(t, d.Post("/settings/members/"+id+"/remove", nil), http.StatusNotFound)
		handlertest.Read(t, d.Post("/settings/members/"+id+"/role", url.Values{"role": {"admin"}}), http.StatusNotFound)
	}
	if d.CountEvents(eventlog.MemberRoleChanged) != 1 || d.CountEvents(eventlog.MemberRemoved) != 1 {
		t.Error("not one event each")
	}
}

// The last owner reads what to do instead of leaving.
func TestTheLastOwnersPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	dbfactory.Exec(t, d.DB, `DELETE FROM membership WHERE account_id <> $1::uuid`, d.Account(d.Site))
	doc := handlertest.Page(t, d.Get("/settings/members"), http.StatusOK)
	handlertest.WantText(t, doc, "#own", "You are the last owner")
	handlertest.WantCount(t, doc, "#own button", 0)
	for _, address := range []string{"/settings/members/leave", "/settings/members/step-down"} {
		handlertest.WantRedirect(t, d.Post(address, nil), "/settings/members")
		handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/members"), http.StatusOK), "#toasts", "is the last owner, and a workspace has one. Make another member an owner first.")
	}
	second := d.As(tenancy.RoleOwner)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/settings/members"), http.StatusOK), "#dlg-step-down form[action='/settings/members/step-down'], #dlg-leave form[action='/settings/members/leave']", 2)
	handlertest.WantRedirect(t, d.Post("/settings/members/step-down", nil), "/settings/members")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/members"), http.StatusOK), "#own", "You are an admin of this workspace.")
	// The other one is the last owner now. Who leaves and is nowhere else is
	// logged out.
	handlertest.WantRedirect(t, second.Post("/settings/members/leave", nil), "/settings/members")
	handlertest.WantRedirect(t, d.Post("/settings/members/leave", nil), "/login")
	if d.Cookies["sid"] != nil {
		t.Error("the session goes on")
	}
}

// The link is shown once; the list of open ones names it by a part of it.
func TestInviteSomebody(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	link := d.Invite("bob@example.org", "member")
	body := handlertest.Read(t, d.Get("/settings/members"), http.StatusOK)
	if strings.Contains(body, link) {
		t.Error("the link is shown again")
	}
	doc := handlertest.Parse(t, body)
	handlertest.WantText(t, doc, "tr[data-invited='bob@example.org']", "bob@example.org "+link[len("/invitations/"):][:16])
	handlertest.WantText(t, doc, "tr[data-invited='bob@example.org']", "Role member")
	if strings.Contains(d.LogText.String(), link[len("/invitations/fb_invite_"):]) {
		t.Error("the link is in the log")
	}

	doc = handlertest.Page(t, d.Post("/settings/members/invitations", url.Values{"email": {"<b>"}, "role": {"member"}}), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#email-e", "Write an address")
	handlertest.WantCount(t, doc, "#email[value='<b>'][aria-invalid]", 1)
	handlertest.WantCount(t, doc, "#new-link", 0)
	handlertest.Read(t, d.As(tenancy.RoleAdmin).Post("/settings/members/invitations", url.Values{"email": {"a@example.org"}, "role": {"owner"}}), http.StatusForbidden)

	guest := &handlertest.Site{Server: d.Server, DB: d.DB, LogText: d.LogText, Cookies: map[string]*http.Cookie{}}
	handlertest.Read(t, guest.Get(link), http.StatusOK)
	revoke := handlertest.Parse(t, body).Find("tr[data-invited='bob@example.org'] form").AttrOr("action", "")
	handlertest.WantRedirect(t, d.Post(revoke, nil), "/settings/members")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/members"), http.StatusOK), "#invite .empty", "Nobody is invited")
	handlertest.Read(t, d.Post(revoke, nil), http.StatusNotFound)
	handlertest.Read(t, d.Post("/settings/members/invitations/x/revoke", nil), http.StatusNotFound)
	// All links that are over look the same.
	over := handlertest.Page(t, guest.Get(link), http.StatusNotFound)
	unknown := handlertest.Page(t, guest.Get("/invitations/fb_invite_x"), http.StatusNotFound)
	if a, b := over.Find("main p").First().Text(), unknown.Find("main p").First().Text(); over.Find("h1").Text() != unknown.Find("h1").Text() || a != b {
		t.Errorf("%q and %q", a, b)
	}
	handlertest.WantText(t, over, "main", "Ask for a new one.")
}

// A new person makes an account with the link, and is in.
func TestJoinAsANewPerson(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	link := d.Invite("bob@example.org", "member")
	guest := &handlertest.Site{Server: d.Server, DB: d.DB, LogText: d.LogText, Cookies: map[string]*http.Cookie{}}
	doc := handlertest.Page(t, guest.Get(link), http.StatusOK)
	handlertest.WantText(t, doc, "main", "Join DefaultMara Ilić invites you as a member. Members create, move and review jobs.")
	handlertest.WantCount(t, doc, "#email[value='bob@example.org'][readonly]", 1)
	handlertest.WantCount(t, doc, "a[href='/login?next="+url.QueryEscape(link)+"']", 1)

	doc = handlertest.Page(t, guest.Post(link, url.Values{"name": {"Bob <b>"}, "email": {"eve@example.org"}, "password": {"short"}}), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#name[value='Bob <b>'], #email[value='bob@example.org'], #password[aria-invalid]", 3)
	if strings.Contains(doc.Text(), "short") {
		t.Error("the password came back")
	}
	handlertest.WantRedirect(t, guest.Post(link, url.Values{"name": {"Bob"}, "email": {"eve@example.org"}, "password": {handlertest.OwnerPassword}}), "/board")
	if n := dbfactory.Int(t, d.DB, `SELECT count(*) FROM account WHERE email = 'bob@example.org'`); n != 1 {
		t.Error("the account has not the e-mail of the link")
	}
	doc = handlertest.Page(t, guest.Get("/board"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "You are in DefaultAs a member. Members create, move and review jobs.")
	handlertest.WantText(t, doc, "#person-btn", "Bob")
	handlertest.Read(t, guest.Get(link), http.StatusNotFound)
	handlertest.Read(t, guest.Post(link, url.Values{"name": {"Eve"}, "email": {"eve@example.org"}, "password": {handlertest.OwnerPassword}}), http.StatusNotFound)
	if n := dbfactory.Int(t, d.DB, `SELECT count(*) FROM account WHERE email = 'eve@example.org'`); n != 0 {
		t.Error("a used link made an account")
	}
}

// Somebody who is logged in joins with one button, and goes to that workspace.
func TestJoinWithAnAccount(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	link := d.Invite("bob@example.org", "viewer")
	other := d.ElsewhereOwner("Other Labs")
	id := d.Named(other, "Bob")
	doc := handlertest.Page(t, other.Get(link), http.StatusOK)
	handlertest.WantText(t, doc, "#join button", "Join as Bob")
	handlertest.WantCount(t, doc, "#join input[name=as][value='"+id+"']", 1)
	handlertest.WantCount(t, doc, "#password", 0)

	// A form that was made for somebody else joins nobody.
	for _, as := range []url.Values{nil, {"as": {ids.New().String()}}, {"name": {"Eve"}, "email": {"eve@example.org"}, "password": {handlertest.OwnerPassword}}} {
		handlertest.WantText(t, handlertest.Page(t, other.Post(link, as), http.StatusConflict), "#join button", "Join as Bob")
	}
	stranger := &handlertest.Site{Server: d.Server, DB: d.DB, LogText: d.LogText, Cookies: map[string]*http.Cookie{}}
	handlertest.WantCount(t, handlertest.Page(t, stranger.Post(link, url.Values{"as": {id}}), http.StatusConflict), "#password", 1)

	handlertest.WantRedirect(t, other.Post(link, url.Values{"as": {id}}), "/board")
	handlertest.WantText(t, handlertest.Page(t, other.Get("/board"), http.StatusOK), "#workspace-btn", "Default")

	// A member learns so, and the link stays for whom it is meant.
	link = d.Invite("eve@example.org", "admin")
	doc = handlertest.Page(t, other.Get(link), http.StatusOK)
	handlertest.WantText(t, doc, "main", "You are in Default alreadyYou are its viewer, and that stays so.")
	handlertest.WantCount(t, doc, "form[action='/workspaces/switch'] button[value='"+d.Workspace.String()+"']", 1)
	handlertest.WantRedirect(t, other.Post(link, url.Values{"as": {id}}), "/board")
	handlertest.WantText(t, handlertest.Page(t, other.Get("/board"), http.StatusOK), "#toasts", "You were before, as a viewer. The link was not used up.")
	handlertest.Read(t, stranger.Get(link), http.StatusOK)
}

// Who is in no workspace any more can still accept an invitation.
func TestJoinFromNowhere(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	other := d.As(tenancy.RoleViewer)
	id := d.Named(other, "Bob")
	dbfactory.Exec(t, d.DB, `DELETE FROM membership WHERE account_id = $1::uuid`, id)
	handlertest.WantRedirect(t, other.Get("/board"), "/login")
	link := d.Invite("bob@example.org", "member")
	handlertest.WantText(t, handlertest.Page(t, other.Get(link), http.StatusOK), "#join button", "Join as Bob")
	handlertest.WantRedirect(t, other.Post(link, url.Values{"as": {id}}), "/board")
	handlertest.Read(t, other.Get("/board"), http.StatusOK)
}

// hearsOfMembers listens as open pages do, which look at once whether their reader is
// still in; told asserts that a change of the members was published.
func hearsOfMembers(d *handlertest.Workspace) (told func(t *testing.T)) {
	news := make(chan struct{}, 1)
	stop := d.Accounts.Members.OnMembers(d.Owner.Workspace, func() {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	return func(t *testing.T) {
		t.Helper()
		defer stop()
		select {
		case <-news:
		case <-time.After(handlertest.Patience):
			t.Error("open pages were not told")
		}
	}
}

// The open pages of somebody who was taken out, or whose role changed, end, and
// whoever listens for changes of the members is notified; a switch ends them with the next look.
func TestStreamsEndWithTheMembership(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	address := d.Listen(t)
	for name, end := range map[string]struct {
		told bool
		do   func(other *handlertest.Site, id string)
	}{
		"removed": {true, func(_ *handlertest.Site, id string) {
			handlertest.WantRedirect(t, d.Post("/settings/members/"+id+"/remove", nil), "/settings/members")
		}},
		"role": {true, func(_ *handlertest.Site, id string) {
			handlertest.WantRedirect(t, d.Post("/settings/members/"+id+"/role", url.Values{"role": {"viewer"}}), "/settings/members")
		}},
		"left": {true, func(other *handlertest.Site, _ string) {
			handlertest.WantRedirect(t, other.Post("/settings/members/leave", nil), "/login")
		}},
		"switched": {false, func(other *handlertest.Site, id string) {
			ws := dbfactory.Workspace(t, d.DB)
			dbfactory.Exec(t, d.DB, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2::uuid, 'viewer')`, ws, id)
			handlertest.WantRedirect(t, other.Post("/workspaces/switch", url.Values{"workspace": {ws.String()}}), "/board")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			other := d.As(tenancy.RoleMember)
			s := other.Stream(t, address+links.Live("agents", "", nil), "")
			told := hearsOfMembers(d)
			end.do(other, d.Account(other))
			for err := error(nil); err == nil; {
				_, err = s.Next()
			}
			if end.told {
				told(t)
			}
		})
	}
}
