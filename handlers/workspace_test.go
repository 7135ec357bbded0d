package handlers

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// elsewhereOwner is a browser of somebody who owns another workspace and is not
// in this one.
func (d *desk) elsewhereOwner(name string) *site {
	d.t.Helper()
	s := d.as(tenancy.RoleOwner)
	other := dbfactory.Workspace(d.t, d.db)
	dbfactory.Exec(d.t, d.db, `UPDATE workspace SET name = $2 WHERE id = $1`, other, name)
	dbfactory.Exec(d.t, d.db, `UPDATE membership SET workspace_id = $2 WHERE account_id = $1::uuid`, d.idOf(s), other)
	return s
}

// alsoIn makes the desk's owner a member of another workspace and returns its id.
func (d *desk) alsoIn(name string, role tenancy.Role) string {
	d.t.Helper()
	other := dbfactory.Workspace(d.t, d.db)
	dbfactory.Exec(d.t, d.db, `UPDATE workspace SET name = $2 WHERE id = $1`, other, name)
	dbfactory.Exec(d.t, d.db, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2::uuid, $3)`, other, d.idOf(d.site), string(role))
	return other.String()
}

func (d *desk) switchTo(workspace, next string) answer {
	return d.post("/workspaces/switch", url.Values{"workspace": {workspace}, "next": {next}})
}

func TestTheWorkspacesPage(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/settings/workspace"), http.StatusOK)
	wantText(t, doc, "#workspace dl", "Slugdefault")
	wantText(t, doc, "#workspace dl", "owner, what that means")
	wantCount(t, doc, "#rename-form #name[value=Default]", 1)

	wantRedirect(t, d.post("/settings/workspace", url.Values{"name": {"Kestrel <b>"}}), "/settings/workspace")
	doc = page(t, d.get("/settings/workspace"), http.StatusOK)
	wantText(t, doc, "#toasts", "The workspace was renamed")
	wantText(t, doc, "#workspace-btn", "Kestrel <b>")
	doc = page(t, d.post("/settings/workspace", url.Values{"name": {strings.Repeat("x", 101)}}), http.StatusUnprocessableEntity)
	wantText(t, doc, "#name-e", "Use 1 to 100 characters.")
	wantText(t, doc, "#workspace-btn", "Kestrel <b>")

	admin, viewer := d.as(tenancy.RoleAdmin), d.as(tenancy.RoleViewer)
	doc = page(t, admin.get("/settings/workspace"), http.StatusOK)
	wantCount(t, doc, "#rename-form", 0)
	wantCount(t, doc, "#create-form", 1)
	read(t, admin.post("/settings/workspace", url.Values{"name": {"Mine"}}), http.StatusForbidden)
	doc = page(t, viewer.get("/settings/workspace"), http.StatusOK)
	wantText(t, doc, "#workspace dl", "NameKestrel <b>")
	wantCount(t, doc, "#rename-form, #create-form", 0)
	wantCount(t, doc, "#workspace-menu a[href='/settings/workspace#new']", 0)
	read(t, viewer.post("/workspaces", url.Values{"name": {"Mine"}}), http.StatusForbidden)
	if n := d.events(eventlog.WorkspaceRenamed); n != 1 {
		t.Errorf("%d events", n)
	}
}

// Whoever makes a workspace is in it, and sees nothing of the other one.
func TestMakeAnotherWorkspace(t *testing.T) {
	d := newDesk(t)
	d.job("Secret of the first")
	doc := page(t, d.post("/workspaces", url.Values{"name": {" "}}), http.StatusUnprocessableEntity)
	wantText(t, doc, "#new_name-e", "Use 1 to 100 characters.")
	wantRedirect(t, d.post("/workspaces", url.Values{"name": {"Other Labs"}}), "/board")
	body := read(t, d.get("/board"), http.StatusOK)
	if strings.Contains(body, "Secret of the first") {
		t.Error("the new board shows the old workspace's job")
	}
	doc = parse(t, body)
	wantText(t, doc, "#toasts", "Other Labs was created")
	wantText(t, doc, "#workspace-btn", "Other Labs")
	wantText(t, doc, "#workspace-menu button[aria-current]", "Other Labs owner")
	wantCount(t, doc, "#workspace-menu button[name=workspace]", 2)
	wantCount(t, doc, "#more-menu button[name=workspace]", 2)
	read(t, d.get("/jobs/FB-1"), http.StatusNotFound)
	// The token in the data directory is of the first workspace.
	wantText(t, doc, ".cmd", "FLEETBOARD_ENROLMENT_TOKEN_FILE=/path/to/enrolment-token")
	wantRedirect(t, d.switchTo(d.workspace.String(), ""), "/board")
	dbfactory.Exec(t, d.db, "DELETE FROM job")
	wantText(t, page(t, d.get("/board"), http.StatusOK), ".cmd", "FLEETBOARD_ENROLMENT_TOKEN_FILE=/data/enrolment-token")
}

// After a switch a page of the old workspace is not shown as one of the new one.
func TestSwitchTheWorkspace(t *testing.T) {
	d := newDesk(t)
	other := d.alsoIn("Other Labs", tenancy.RoleViewer)
	for next, want := range map[string]string{
		"/jobs/FB-1": "/board", "/board?q=secret": "/board", "/settings/products/ledger": "/board", "//evil.example": "/board", "": "/board",
		"/settings/members": "/settings/members", "/settings/workspace": "/settings/workspace", "/settings/audit": "/board",
	} {
		wantRedirect(t, d.switchTo(other, next), want)
		wantRedirect(t, d.switchTo(d.workspace.String(), next), want)
	}
	wantRedirect(t, d.switchTo(other, "/board"), "/board")
	doc := page(t, d.get("/board"), http.StatusOK)
	wantText(t, doc, "#toasts", "You are in Other LabsAs its viewer, in all tabs of this browser.")
	wantText(t, doc, "title", "Other Labs")
	// The page that one switches back to from an old tab is of that workspace.
	wantRedirect(t, d.post("/workspaces/switch", url.Values{"workspace": {d.workspace.String()}, "next": {"/jobs/FB-1"}, "in_workspace": {d.workspace.String()}}), "/jobs/FB-1")

	foreign := dbfactory.Workspace(t, d.db).String()
	for _, id := range []string{foreign, "x", ""} {
		read(t, d.switchTo(id, "/board"), http.StatusNotFound)
	}
	wantText(t, page(t, d.get("/board"), http.StatusOK), "title", "Default")
}

// A page says with all it sends in which workspace it was made.
func TestEveryFormSaysItsWorkspace(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha", func(n *jobs.New) { n.Repo = "ledger-api" })
	d.agent("claude-1")
	for _, address := range []string{"/board", "/jobs/FB-1", "/jobs/new", "/agents", "/review", "/timeline",
		"/settings/products", "/settings/products/new", "/settings/products/default", "/settings/members", "/settings/workspace"} {
		doc := page(t, d.get(address), http.StatusOK)
		if got := doc.Find("body").AttrOr("hx-headers:inherited", ""); got != `{"X-Workspace":"`+d.workspace.String()+`"}` {
			t.Errorf("%s: htmx says %s", address, got)
		}
		doc.Find("form").Each(func(_ int, f *goquery.Selection) {
			if f.AttrOr("method", "") == "post" && f.ChildrenFiltered("input[name=in_workspace][value='"+d.workspace.String()+"']").Length() != 1 {
				t.Errorf("%s: the form to %s says nothing", address, f.AttrOr("action", ""))
			}
		})
	}
}

// Two tabs: what one of them sends after a switch in the other changes nothing,
// in either workspace.
func TestAnOldTabChangesNothing(t *testing.T) {
	d := newDesk(t)
	j := d.job("Alpha")
	other := d.alsoIn("Other Labs", tenancy.RoleOwner)
	wantRedirect(t, d.switchTo(other, "/board"), "/board")
	old := d.workspace.String()

	plain := func(address string, in url.Values) answer {
		in.Set("in_workspace", old)
		return d.post(address, in)
	}
	doc := page(t, plain("/jobs", url.Values{"title": {"Meant for the old one"}}), http.StatusConflict)
	wantText(t, doc, "main", "You switched to another workspace in another tabThe page is of Default, and you are in Other Labs now. Nothing was changed.")
	wantText(t, doc, "main .btn-primary", "Go to the board of Other Labs")
	for address, in := range map[string]url.Values{
		"/settings/workspace":              {"name": {"Wrong"}},
		"/settings/members/invitations":    {"email": {"bob@example.org"}, "role": {"member"}},
		"/settings/products/default/pause": {},
		"/workspaces":                      {"name": {"Wrong"}},
		"/settings/members/leave":          {},
	} {
		read(t, plain(address, in), http.StatusConflict)
	}
	r := request(http.MethodPost, "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {strconv.Itoa(j.Version)}})
	r.Header.Set("HX-Request", "true")
	r.Header.Set("X-Workspace", old)
	res := d.do(r)
	if read(t, res, http.StatusConflict); res.Header.Get("HX-Retarget") != "#toasts" || !strings.Contains(res.Body.String(), "You switched to another workspace") {
		t.Errorf("htmx gets %v %s", res.Header, res.Body)
	}
	// Parts of a page and its stream are refused too, or they would mix the two.
	for _, address := range []string{"/palette", "/live?on=board", "/jobs/FB-1/log/stream"} {
		r := request(http.MethodGet, address, nil)
		r.Header.Set("HX-Request", "true")
		r.Header.Set("X-Workspace", old)
		read(t, d.do(r), http.StatusConflict)
	}
	for sql, want := range map[string]int{
		`SELECT count(*) FROM job`:                                             1,
		`SELECT count(*) FROM workspace WHERE name = 'Wrong'`:                  0,
		`SELECT count(*) FROM invitation`:                                      0,
		`SELECT count(*) FROM product WHERE paused`:                            0,
		`SELECT count(*) FROM event WHERE type <> 'job.created'`:               firstStart,
		`SELECT count(*) FROM membership WHERE workspace_id = '` + other + `'`: 1,
	} {
		if n := dbfactory.Int(t, d.db, sql); n != want {
			t.Errorf("%d: %s", n, sql)
		}
	}
	// Back in the old one its page works again.
	wantRedirect(t, plain("/workspaces/switch", url.Values{"workspace": {old}, "next": {"/board"}}), "/board")
	wantRedirect(t, plain("/settings/workspace", url.Values{"name": {"Right"}}), "/settings/workspace")

	// So does a page of a workspace that its person was taken out of.
	dbfactory.Exec(t, d.db, `DELETE FROM membership WHERE workspace_id = $1::uuid AND account_id = $2::uuid`, old, d.idOf(d.site))
	doc = page(t, plain("/settings/workspace", url.Values{"name": {"Wrong"}}), http.StatusConflict)
	wantText(t, doc, "main", "You are no longer in this workspace")
	if strings.Contains(doc.Text(), "Right") {
		t.Error("it still tells the name of the workspace")
	}
}

// The settings are in the navigation of every size of screen, and in the palette.
func TestTheWayToTheSettings(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/board"), http.StatusOK)
	wantCount(t, doc, ".side .nav a[href='/settings'], #more-menu a[href='/settings']", 2)
	wantText(t, doc, "#person-menu", "Your account Keyboard ? StatusLog out")
	wantText(t, doc, "#more-menu", "Log out")
	wantText(t, doc, "#keys", "SettingsGS")
	all := []string{"/settings/account", "/settings/workspace", "/settings/members", "/settings/products", "/settings/tokens",
		"/settings/connect", "/settings/secrets", "/settings/audit"}
	found := map[string]bool{}
	for _, q := range []string{"account", "workspace", "members", "products", "tokens", "connect", "encryption", "audit"} {
		for _, a := range all {
			if page(t, d.get("/palette?q="+q), http.StatusOK).Find("a[href='"+a+"']").Length() == 1 {
				found[a] = true
			}
		}
	}
	if len(found) != len(all) {
		t.Errorf("the palette finds %v", found)
	}
	wantCount(t, page(t, d.as(tenancy.RoleViewer).get("/palette?q=audit"), http.StatusOK), "a[href='/settings/audit']", 0)
	wantCount(t, page(t, d.get("/palette"), http.StatusOK), "a[href='/settings']", 1)
	wantCount(t, page(t, d.get("/palette"), http.StatusOK), "a[href^='/settings/']", 0)
}
