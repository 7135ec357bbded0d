package handlers

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/accounts"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// idOf is the account that a browser is logged in with.
func (d *desk) idOf(s *site) string {
	d.t.Helper()
	ctx, err := d.Sessions.Load(d.t.Context(), s.cookies["sid"].Value)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.Sessions.GetString(ctx, accounts.SessionAccount)
}

// named gives the person at a browser a name.
func (d *desk) named(s *site, name string) string {
	d.t.Helper()
	id := d.idOf(s)
	dbfactory.Exec(d.t, d.db, `UPDATE account SET name = $2 WHERE id = $1`, id, name)
	return id
}

// events counts those of a type.
func (d *desk) events(kind eventlog.Type) int {
	d.t.Helper()
	return dbfactory.Int(d.t, d.db, `SELECT count(*) FROM event WHERE type = $1`, string(kind))
}

func TestMembersSayWhoIsHereAndWhatRolesMay(t *testing.T) {
	d := newDesk(t)
	me := d.named(d.site, "Ada <b>")
	viewer := d.as(tenancy.RoleViewer)
	bob := d.named(viewer, "Bob")
	doc := page(t, d.get("/settings/members"), http.StatusOK)
	wantText(t, doc, "tr[data-member='"+me+"']", "Ada <b> you")
	wantText(t, doc, "tr[data-member='"+me+"']", "owner")
	wantCount(t, doc, "tr[data-member='"+me+"'] form, tr[data-member='"+me+"'] button", 0)
	wantText(t, doc, "tr[data-member='"+bob+"']", "Bob E-mail "+bob+"@example.org")
	wantCount(t, doc, "tr[data-member='"+bob+"'] option[value=viewer][selected]", 1)
	wantCount(t, doc, "tr[data-member='"+bob+"'] option", 4)
	wantText(t, doc, "#dlg-remove-"+bob, "Remove Bob?")
	wantText(t, doc, "#invite .empty", "Nobody is invited")
	wantText(t, doc, "#rights tr:contains('Make and unmake owners')", "Make and unmake owners, log members out and disable them, ask for a second factor, rename the workspace, change its encryption key yes– no– no– no")
	wantCount(t, doc, ".side .nav a[aria-current=page][href='/settings']", 1)

	// Those who only look see the list and the table, and may leave.
	doc = page(t, viewer.get("/settings/members"), http.StatusOK)
	wantCount(t, doc, "#members tr[data-member]", 3) // the desk's first owner, Ada, Bob
	wantCount(t, doc, "#members form, #members button, #invite", 0)
	wantCount(t, doc, "#own #dlg-leave form[action='/settings/members/leave']", 1)
	for _, address := range []string{"/" + me + "/role", "/" + me + "/remove", "/invitations", "/invitations/" + me + "/revoke", "/step-down"} {
		read(t, viewer.post("/settings/members"+address, url.Values{"role": {"viewer"}}), http.StatusForbidden)
	}
	// An admin gives no owner's role, and cannot touch one.
	doc = page(t, d.as(tenancy.RoleAdmin).get("/settings/members"), http.StatusOK)
	wantCount(t, doc, "tr[data-member='"+me+"'] form", 0)
	wantCount(t, doc, "tr[data-member='"+bob+"'] option[value=owner]", 0)
	wantCount(t, doc, "#invite-form option[value=owner]", 0)
	wantCount(t, doc, "#invite-form option[value=member][selected]", 1)
}

// Each permission of people is explained.
func TestTheTableOfRightsIsWhole(t *testing.T) {
	explained := map[tenancy.Permission]bool{}
	for _, r := range rights {
		explained[r.need] = true
	}
	for _, need := range []tenancy.Permission{tenancy.SignedIn, tenancy.ReadBoard, tenancy.WriteJobs, tenancy.RunFleet, tenancy.Manage, tenancy.Own} {
		if !explained[need] {
			t.Errorf("%s is not in the table", need)
		}
	}
	for _, role := range accounts.Roles {
		if roleMay[role] == "" {
			t.Errorf("an invitation does not say what %s may", role)
		}
	}
}

func TestChangeAndRemoveAMember(t *testing.T) {
	d := newDesk(t)
	other := d.as(tenancy.RoleMember)
	bob := d.named(other, "Bob")
	wantRedirect(t, d.post("/settings/members/"+bob+"/role", url.Values{"role": {"admin"}}), "/settings/members")
	wantText(t, page(t, d.get("/settings/members"), http.StatusOK), "#toasts", "The role was changedThe member is an admin now.")
	wantCount(t, page(t, other.get("/settings/members"), http.StatusOK), "#invite", 1)
	read(t, d.post("/settings/members/"+bob+"/role", url.Values{"role": {"emperor"}}), http.StatusUnprocessableEntity)
	read(t, other.post("/settings/members/"+bob+"/role", url.Values{"role": {"member"}}), http.StatusForbidden)

	wantRedirect(t, d.post("/settings/members/"+bob+"/remove", nil), "/settings/members")
	wantCount(t, page(t, d.get("/settings/members"), http.StatusOK), "tr[data-member='"+bob+"']", 0)
	wantRedirect(t, other.get("/board"), "/login")
	for _, id := range []string{bob, ids.New().String(), "x"} {
		read(t, d.post("/settings/members/"+id+"/remove", nil), http.StatusNotFound)
		read(t, d.post("/settings/members/"+id+"/role", url.Values{"role": {"admin"}}), http.StatusNotFound)
	}
	if d.events(eventlog.MemberRoleChanged) != 1 || d.events(eventlog.MemberRemoved) != 1 {
		t.Error("not one event each")
	}
}

// The last owner is told what to do instead of leaving.
func TestTheLastOwnersPage(t *testing.T) {
	d := newDesk(t)
	dbfactory.Exec(t, d.db, `DELETE FROM membership WHERE account_id <> $1::uuid`, d.idOf(d.site))
	doc := page(t, d.get("/settings/members"), http.StatusOK)
	wantText(t, doc, "#own", "You are the last owner")
	wantCount(t, doc, "#own button", 0)
	for _, address := range []string{"/settings/members/leave", "/settings/members/step-down"} {
		wantRedirect(t, d.post(address, nil), "/settings/members")
		wantText(t, page(t, d.get("/settings/members"), http.StatusOK), "#toasts", "is the last owner, and a workspace has one. Make another member an owner first.")
	}
	second := d.as(tenancy.RoleOwner)
	wantCount(t, page(t, d.get("/settings/members"), http.StatusOK), "#dlg-step-down form[action='/settings/members/step-down'], #dlg-leave form[action='/settings/members/leave']", 2)
	wantRedirect(t, d.post("/settings/members/step-down", nil), "/settings/members")
	wantText(t, page(t, d.get("/settings/members"), http.StatusOK), "#own", "You are an admin of this workspace.")
	// The other one is the last owner now. Who leaves and is nowhere else is
	// logged out.
	wantRedirect(t, second.post("/settings/members/leave", nil), "/settings/members")
	wantRedirect(t, d.post("/settings/members/leave", nil), "/login")
	if d.cookies["sid"] != nil {
		t.Error("the session goes on")
	}
}

var linkForm = regexp.MustCompile(`^http://example\.com(/invitations/fb_invite_[0-9A-Za-z]{33}_[0-9A-Za-z]{6})$`)

// invite makes a link on the page and returns its path.
func (d *desk) invite(email, role string) string {
	d.t.Helper()
	doc := page(d.t, d.post("/settings/members/invitations", url.Values{"email": {email}, "role": {role}}), http.StatusOK)
	found := linkForm.FindStringSubmatch(strings.TrimSpace(doc.Find("#new-link pre").Text()))
	if found == nil {
		d.t.Fatalf("no link in %q", doc.Find("#new-link").Text())
	}
	if copied := doc.Find("#new-link [data-copy]").AttrOr("data-copy", ""); copied != found[0] {
		d.t.Errorf("the button copies %q", copied)
	}
	return found[1]
}

// The link is shown once; the list of open ones names it by a part of it.
func TestInviteSomebody(t *testing.T) {
	d := newDesk(t)
	link := d.invite("bob@example.org", "member")
	body := read(t, d.get("/settings/members"), http.StatusOK)
	if strings.Contains(body, link) {
		t.Error("the link is shown again")
	}
	doc := parse(t, body)
	wantText(t, doc, "tr[data-invited='bob@example.org']", "bob@example.org "+link[len("/invitations/"):][:16])
	wantText(t, doc, "tr[data-invited='bob@example.org']", "Role member")
	if strings.Contains(d.log.String(), link[len("/invitations/fb_invite_"):]) {
		t.Error("the link is in the log")
	}

	doc = page(t, d.post("/settings/members/invitations", url.Values{"email": {"<b>"}, "role": {"member"}}), http.StatusUnprocessableEntity)
	wantText(t, doc, "#email-e", "Write an address")
	wantCount(t, doc, "#email[value='<b>'][aria-invalid]", 1)
	wantCount(t, doc, "#new-link", 0)
	read(t, d.as(tenancy.RoleAdmin).post("/settings/members/invitations", url.Values{"email": {"a@example.org"}, "role": {"owner"}}), http.StatusForbidden)

	guest := &site{Server: d.Server, db: d.db, log: d.log, cookies: map[string]*http.Cookie{}}
	read(t, guest.get(link), http.StatusOK)
	revoke := parse(t, body).Find("tr[data-invited='bob@example.org'] form").AttrOr("action", "")
	wantRedirect(t, d.post(revoke, nil), "/settings/members")
	wantText(t, page(t, d.get("/settings/members"), http.StatusOK), "#invite .empty", "Nobody is invited")
	read(t, d.post(revoke, nil), http.StatusNotFound)
	read(t, d.post("/settings/members/invitations/x/revoke", nil), http.StatusNotFound)
	// All links that are over look the same.
	over := page(t, guest.get(link), http.StatusNotFound)
	unknown := page(t, guest.get("/invitations/fb_invite_x"), http.StatusNotFound)
	if a, b := over.Find("main p").First().Text(), unknown.Find("main p").First().Text(); over.Find("h1").Text() != unknown.Find("h1").Text() || a != b {
		t.Errorf("%q and %q", a, b)
	}
	wantText(t, over, "main", "Ask for a new one.")
}

// A new person makes an account with the link, and is in.
func TestJoinAsANewPerson(t *testing.T) {
	d := newDesk(t)
	link := d.invite("bob@example.org", "member")
	guest := &site{Server: d.Server, db: d.db, log: d.log, cookies: map[string]*http.Cookie{}}
	doc := page(t, guest.get(link), http.StatusOK)
	wantText(t, doc, "main", "Join DefaultMara Ilić invites you as a member. Members create, move and review jobs.")
	wantCount(t, doc, "#email[value='bob@example.org'][readonly]", 1)
	wantCount(t, doc, "a[href='/login?next="+url.QueryEscape(link)+"']", 1)

	doc = page(t, guest.post(link, url.Values{"name": {"Bob <b>"}, "email": {"eve@example.org"}, "password": {"short"}}), http.StatusUnprocessableEntity)
	wantCount(t, doc, "#name[value='Bob <b>'], #email[value='bob@example.org'], #password[aria-invalid]", 3)
	if strings.Contains(doc.Text(), "short") {
		t.Error("the password came back")
	}
	wantRedirect(t, guest.post(link, url.Values{"name": {"Bob"}, "email": {"eve@example.org"}, "password": {ownerPassword}}), "/board")
	if n := dbfactory.Int(t, d.db, `SELECT count(*) FROM account WHERE email = 'bob@example.org'`); n != 1 {
		t.Error("the account has not the e-mail of the link")
	}
	doc = page(t, guest.get("/board"), http.StatusOK)
	wantText(t, doc, "#toasts", "You are in DefaultAs a member. Members create, move and review jobs.")
	wantText(t, doc, "#person-btn", "Bob")
	read(t, guest.get(link), http.StatusNotFound)
	read(t, guest.post(link, url.Values{"name": {"Eve"}, "email": {"eve@example.org"}, "password": {ownerPassword}}), http.StatusNotFound)
	if n := dbfactory.Int(t, d.db, `SELECT count(*) FROM account WHERE email = 'eve@example.org'`); n != 0 {
		t.Error("a used link made an account")
	}
}

// Somebody who is logged in joins with one button, and goes to that workspace.
func TestJoinWithAnAccount(t *testing.T) {
	d := newDesk(t)
	link := d.invite("bob@example.org", "viewer")
	other := d.elsewhereOwner("Other Labs")
	id := d.named(other, "Bob")
	doc := page(t, other.get(link), http.StatusOK)
	wantText(t, doc, "#join button", "Join as Bob")
	wantCount(t, doc, "#join input[name=as][value='"+id+"']", 1)
	wantCount(t, doc, "#password", 0)

	// A form that was made for somebody else joins nobody.
	for _, as := range []url.Values{nil, {"as": {ids.New().String()}}, {"name": {"Eve"}, "email": {"eve@example.org"}, "password": {ownerPassword}}} {
		wantText(t, page(t, other.post(link, as), http.StatusConflict), "#join button", "Join as Bob")
	}
	stranger := &site{Server: d.Server, db: d.db, log: d.log, cookies: map[string]*http.Cookie{}}
	wantCount(t, page(t, stranger.post(link, url.Values{"as": {id}}), http.StatusConflict), "#password", 1)

	wantRedirect(t, other.post(link, url.Values{"as": {id}}), "/board")
	wantText(t, page(t, other.get("/board"), http.StatusOK), "#workspace-btn", "Default")

	// A member is told so, and the link stays for whom it is meant.
	link = d.invite("eve@example.org", "admin")
	doc = page(t, other.get(link), http.StatusOK)
	wantText(t, doc, "main", "You are in Default alreadyYou are its viewer, and that stays so.")
	wantCount(t, doc, "form[action='/workspaces/switch'] button[value='"+d.workspace.String()+"']", 1)
	wantRedirect(t, other.post(link, url.Values{"as": {id}}), "/board")
	wantText(t, page(t, other.get("/board"), http.StatusOK), "#toasts", "You were before, as a viewer. The link was not used up.")
	read(t, stranger.get(link), http.StatusOK)
}

// Who is in no workspace any more can still accept an invitation.
func TestJoinFromNowhere(t *testing.T) {
	d := newDesk(t)
	other := d.as(tenancy.RoleViewer)
	id := d.named(other, "Bob")
	dbfactory.Exec(t, d.db, `DELETE FROM membership WHERE account_id = $1::uuid`, id)
	wantRedirect(t, other.get("/board"), "/login")
	link := d.invite("bob@example.org", "member")
	wantText(t, page(t, other.get(link), http.StatusOK), "#join button", "Join as Bob")
	wantRedirect(t, other.post(link, url.Values{"as": {id}}), "/board")
	read(t, other.get("/board"), http.StatusOK)
}

// The open pages of somebody who was taken out, or whose role changed, end at
// once where the change was made; a switch ends them with the next look.
func TestStreamsEndWithTheMembership(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	address := d.listen(t)
	for name, end := range map[string]struct {
		soon time.Duration
		do   func(other *site, id string)
	}{
		"removed": {sessionEvery / 2, func(_ *site, id string) {
			wantRedirect(t, d.post("/settings/members/"+id+"/remove", nil), "/settings/members")
		}},
		"role": {sessionEvery / 2, func(_ *site, id string) {
			wantRedirect(t, d.post("/settings/members/"+id+"/role", url.Values{"role": {"viewer"}}), "/settings/members")
		}},
		"left": {sessionEvery / 2, func(other *site, _ string) {
			wantRedirect(t, other.post("/settings/members/leave", nil), "/login")
		}},
		"switched": {2 * sessionEvery, func(other *site, id string) {
			ws := dbfactory.Workspace(t, d.db)
			dbfactory.Exec(t, d.db, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2::uuid, 'viewer')`, ws, id)
			wantRedirect(t, other.post("/workspaces/switch", url.Values{"workspace": {ws.String()}}), "/board")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			other := d.as(tenancy.RoleMember)
			s := other.stream(t, address+links.LiveAgents(""), "")
			began := time.Now()
			end.do(other, d.idOf(other))
			for err := error(nil); err == nil; {
				_, err = s.next()
			}
			if took := time.Since(began); took > end.soon {
				t.Errorf("the stream went on for %s", took)
			}
		})
	}
}
