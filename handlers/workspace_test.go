package handlers_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestTheWorkspacesPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/settings/workspace"), http.StatusOK)
	handlertest.WantText(t, doc, "#workspace dl", "Slugdefault")
	handlertest.WantText(t, doc, "#workspace dl", "owner, what that means")
	handlertest.WantCount(t, doc, "#rename-form #name[value=Default]", 1)

	handlertest.WantRedirect(t, d.Post("/settings/workspace", url.Values{"name": {"Kestrel <b>"}}), "/settings/workspace")
	doc = handlertest.Page(t, d.Get("/settings/workspace"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "The workspace was renamed")
	handlertest.WantText(t, doc, "#workspace-btn", "Kestrel <b>")
	doc = handlertest.Page(t, d.Post("/settings/workspace", url.Values{"name": {strings.Repeat("x", 101)}}), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#name-e", "Use 1 to 100 characters.")
	handlertest.WantText(t, doc, "#workspace-btn", "Kestrel <b>")

	admin, viewer := d.As(tenancy.RoleAdmin), d.As(tenancy.RoleViewer)
	doc = handlertest.Page(t, admin.Get("/settings/workspace"), http.StatusOK)
	handlertest.WantCount(t, doc, "#rename-form", 0)
	handlertest.WantCount(t, doc, "#create-form", 1)
	handlertest.Read(t, admin.Post("/settings/workspace", url.Values{"name": {"Mine"}}), http.StatusForbidden)
	doc = handlertest.Page(t, viewer.Get("/settings/workspace"), http.StatusOK)
	handlertest.WantText(t, doc, "#workspace dl", "NameKestrel <b>")
	handlertest.WantCount(t, doc, "#rename-form, #create-form", 0)
	handlertest.WantCount(t, doc, "#workspace-menu a[href='/settings/workspace#new']", 0)
	handlertest.Read(t, viewer.Post("/workspaces", url.Values{"name": {"Mine"}}), http.StatusForbidden)
	if n := d.CountEvents(eventlog.WorkspaceRenamed); n != 1 {
		t.Errorf("%d events", n)
	}
}

// Whoever makes a workspace is in it, and sees nothing of the other one.
func TestMakeAnotherWorkspace(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Secret of the first")
	doc := handlertest.Page(t, d.Post("/workspaces", url.Values{"name": {" "}}), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#new_name-e", "Use 1 to 100 characters.")
	handlertest.WantRedirect(t, d.Post("/workspaces", url.Values{"name": {"Other Labs"}}), "/board")
	body := handlertest.Read(t, d.Get("/board"), http.StatusOK)
	if strings.Contains(body, "Secret of the first") {
		t.Error("the new board shows the old workspace's job")
	}
	doc = handlertest.Parse(t, body)
	handlertest.WantText(t, doc, "#toasts", "Other Labs was created")
	handlertest.WantText(t, doc, "#workspace-btn", "Other Labs")
	handlertest.WantText(t, doc, "#workspace-menu button[aria-current]", "Other Labs owner")
	handlertest.WantCount(t, doc, "#workspace-menu button[name=workspace]", 2)
	handlertest.WantCount(t, doc, "#more-menu button[name=workspace]", 2)
	handlertest.Read(t, d.Get("/jobs/FB-1"), http.StatusNotFound)
	// The token in the data directory is of the first workspace.
	handlertest.WantText(t, doc, "#first-run", "Make a token and show the lines")
	handlertest.WantCount(t, doc, ".cmd", 0)
	handlertest.WantRedirect(t, d.SwitchTo(d.Workspace.String(), ""), "/board")
	dbfactory.Exec(t, d.DB, "DELETE FROM job")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), ".cmd", `FLEETBOARD_ENROLMENT_TOKEN="$(cat /data/enrolment-token)"`)
}

// After a switch a page of the old workspace is not shown as one of the new one.
func TestSwitchTheWorkspace(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	other := d.AlsoIn("Other Labs", tenancy.RoleViewer)
	for next, want := range map[string]string{
		"/jobs/FB-1": "/board", "/board?q=secret": "/board", "/settings/products/ledger": "/board", "//evil.example": "/board", "": "/board",
		"/settings/members": "/settings/members", "/settings/workspace": "/settings/workspace", "/settings/audit": "/board",
	} {
		handlertest.WantRedirect(t, d.SwitchTo(other, next), want)
		handlertest.WantRedirect(t, d.SwitchTo(d.Workspace.String(), next), want)
	}
	handlertest.WantRedirect(t, d.SwitchTo(other, "/board"), "/board")
	doc := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "You are in Other LabsAs its viewer, in all tabs of this browser.")
	handlertest.WantText(t, doc, "title", "Other Labs")
	// The page that one switches back to from an old tab is of that workspace.
	handlertest.WantRedirect(t, d.Post("/workspaces/switch", url.Values{"workspace": {d.Workspace.String()}, "next": {"/jobs/FB-1"}, "in_workspace": {d.Workspace.String()}}), "/jobs/FB-1")

	foreign := dbfactory.Workspace(t, d.DB).String()
	for _, id := range []string{foreign, "x", ""} {
		handlertest.Read(t, d.SwitchTo(id, "/board"), http.StatusNotFound)
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), "title", "Default")
}

// A page says with all it sends in which workspace it was made.
func TestEveryFormSaysItsWorkspace(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha", func(n *jobs.New) { n.Repo = "ledger-api" })
	d.Agent("claude-1")
	for _, address := range []string{"/board", "/jobs/FB-1", "/jobs/new", "/agents", "/needs-you", "/review", "/timeline",
		"/settings/products", "/settings/products/new", "/settings/products/default", "/settings/members", "/settings/workspace"} {
		doc := handlertest.Page(t, d.Get(address), http.StatusOK)
		if got := doc.Find("body").AttrOr("hx-headers:inherited", ""); got != `{"X-Workspace":"`+d.Workspace.String()+`"}` {
			t.Errorf("%s: htmx says %s", address, got)
		}
		doc.Find("form").Each(func(_ int, f *goquery.Selection) {
			if f.AttrOr("method", "") == "post" && f.ChildrenFiltered("input[name=in_workspace][value='"+d.Workspace.String()+"']").Length() != 1 {
				t.Errorf("%s: the form to %s says nothing", address, f.AttrOr("action", ""))
			}
		})
	}
}

// Two tabs: what one of them sends after a switch in the other changes nothing,
// in either workspace.
func TestAnOldTabChangesNothing(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("Alpha")
	other := d.AlsoIn("Other Labs", tenancy.RoleOwner)
	handlertest.WantRedirect(t, d.SwitchTo(other, "/board"), "/board")
	old := d.Workspace.String()

	plain := func(address string, in url.Values) handlertest.Answer {
		in.Set("in_workspace", old)
		return d.Post(address, in)
	}
	doc := handlertest.Page(t, plain("/jobs", url.Values{"title": {"Meant for the old one"}}), http.StatusConflict)
	handlertest.WantText(t, doc, "main", "You switched to another workspace in another tabThe page is of Default, and you are in Other Labs now. Nothing was changed.")
	handlertest.WantText(t, doc, "main .btn-primary", "Go to the board of Other Labs")
	for address, in := range map[string]url.Values{
		"/settings/workspace":              {"name": {"Wrong"}},
		"/settings/members/invitations":    {"email": {"bob@example.org"}, "role": {"member"}},
		"/settings/products/default/pause": {},
		"/workspaces":                      {"name": {"Wrong"}},
		"/settings/members/leave":          {},
	} {
		handlertest.Read(t, plain(address, in), http.StatusConflict)
	}
	r := handlertest.Request(http.MethodPost, "/jobs/FB-1/move", url.Values{"to": {"waiting"}, "version": {strconv.Itoa(j.Version)}})
	r.Header.Set("HX-Request", "true")
	r.Header.Set("X-Workspace", old)
	res := d.Do(r)
	if handlertest.Read(t, res, http.StatusConflict); res.Header.Get("HX-Retarget") != "#toasts" || !strings.Contains(res.Body.String(), "You switched to another workspace") {
		t.Errorf("htmx gets %v %s", res.Header, res.Body)
	}
	// Parts of a page and its stream are refused too, or they would mix the two.
	for _, address := range []string{"/palette", "/live?on=board", "/live/jobs/FB-1/log"} {
		r := handlertest.Request(http.MethodGet, address, nil)
		r.Header.Set("HX-Request", "true")
		r.Header.Set("X-Workspace", old)
		handlertest.Read(t, d.Do(r), http.StatusConflict)
	}
	for sql, want := range map[string]int{
		`SELECT count(*) FROM job`:                                             1,
		`SELECT count(*) FROM workspace WHERE name = 'Wrong'`:                  0,
		`SELECT count(*) FROM invitation`:                                      0,
		`SELECT count(*) FROM product WHERE paused`:                            0,
		`SELECT count(*) FROM event WHERE type <> 'job.created'`:               handlertest.FirstStart,
		`SELECT count(*) FROM membership WHERE workspace_id = '` + other + `'`: 1,
	} {
		if n := dbfactory.Int(t, d.DB, sql); n != want {
			t.Errorf("%d: %s", n, sql)
		}
	}
	// Back in the old one its page works again.
	handlertest.WantRedirect(t, plain("/workspaces/switch", url.Values{"workspace": {old}, "next": {"/board"}}), "/board")
	handlertest.WantRedirect(t, plain("/settings/workspace", url.Values{"name": {"Right"}}), "/settings/workspace")

	// So does a page of a workspace that its person was taken out of.
	dbfactory.Exec(t, d.DB, `DELETE FROM membership WHERE workspace_id = $1::uuid AND account_id = $2::uuid`, old, d.Account(d.Site))
	doc = handlertest.Page(t, plain("/settings/workspace", url.Values{"name": {"Wrong"}}), http.StatusConflict)
	handlertest.WantText(t, doc, "main", "You are no longer in this workspace")
	if strings.Contains(doc.Text(), "Right") {
		t.Error("it still tells the name of the workspace")
	}
}

// The settings are in the navigation of every size of screen, and in the palette.
func TestTheWayToTheSettings(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantCount(t, doc, ".side .nav a[href='/settings'], #more-menu a[href='/settings']", 2)
	handlertest.WantText(t, doc, "#person-menu", "Your account Keyboard ?Log out")
	handlertest.WantText(t, doc, "#more-menu", "Log out")
	handlertest.WantText(t, doc, "#keys", "SettingsGS")
	all := []string{"/settings/account", "/settings/workspace", "/settings/members", "/settings/products", "/settings/tokens",
		"/settings/connect", "/settings/secrets", "/settings/audit"}
	found := map[string]bool{}
	for _, q := range []string{"account", "workspace", "members", "products", "tokens", "connect", "encryption", "audit"} {
		for _, a := range all {
			if handlertest.Page(t, d.Get("/palette?q="+q), http.StatusOK).Find("a[href='"+a+"']").Length() == 1 {
				found[a] = true
			}
		}
	}
	if len(found) != len(all) {
		t.Errorf("the palette finds %v", found)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/palette?q=audit"), http.StatusOK), "a[href='/settings/audit']", 0)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette"), http.StatusOK), "a[href='/settings']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette"), http.StatusOK), "a[href^='/settings/']", 0)
}
