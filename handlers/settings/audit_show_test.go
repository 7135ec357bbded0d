package settings_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/history"
	"github.com/fleetboard/fleetboard/handlers/settings"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// auditLines returns the texts of the audit's lines, the newest first.
func auditLines(doc *goquery.Document) (list []string) {
	doc.Find("#audit [data-event] .ev-b").Each(func(_ int, e *goquery.Selection) {
		list = append(list, strings.Join(strings.Fields(e.Text()), " "))
	})
	return list
}

// The audit says in words who did what, with what was and what is.
func TestTheAuditTellsWhoDidWhat(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/audit"), http.StatusOK), ".empty", "Nothing was changed yet")
	d.Did("Ada", eventlog.WorkspaceCreated, `{"slug":"kestrel","name":"Kestrel"}`)
	d.Did("Ada", eventlog.WorkspaceRenamed, `{"slug":"kestrel"}`, eventlog.Change{Field: "name", Old: "Kestrel", New: "Kestrel Labs"})
	d.Did("Ada", eventlog.MemberInvited, `{"email":"bob@example.org","role":"member"}`)
	d.Did("Ada", eventlog.InvitationRevoked, `{"email":"eve@example.org","role":"admin"}`)
	d.Did("Bob", eventlog.MemberJoined, `{"member":"Bob","role":"member","invited_by":"Ada"}`)
	d.Did("Ada", eventlog.MemberRoleChanged, `{"member":"Bob"}`, eventlog.Change{Field: "role", Old: "member", New: "admin"})
	d.Did("Ada", eventlog.MemberRemoved, `{"member":"Bob","role":"admin"}`)
	d.Did("Bob", eventlog.MemberLeft, `{}`)
	d.Did("Bob", eventlog.AccountRenamed, `{}`, eventlog.Change{Field: "name", Old: "Bob", New: "Robert"})
	d.Did("Bob", eventlog.PasswordChanged, `{"sessions":2}`)
	d.Did("Bob", eventlog.SecondFactorOn, `{}`)
	d.Did("Bob", eventlog.SecondFactorOff, `{}`)
	d.Did("Bob", eventlog.IdentityLinked, `{"issuer":"https://id.example.org","email":"bob@example.org"}`)
	d.Did("Bob", eventlog.IdentityUnlinked, `{"issuer":"https://id.example.org"}`)
	d.Did("Bob", eventlog.SessionsEnded, `{"sessions":1}`)
	d.Did("Ada", eventlog.TokenIssued, `{"name":"ci-mac","kind":"enrolment","hint":"fbe_ab","products":["ledger","shop"],"factory":"mac-1"}`)
	d.Did("Ada", eventlog.TokenRevoked, `{"name":"laptop","kind":"person"}`)
	d.Did("Ada", eventlog.AgentCutOff, `{"agent":"claude-2","reason":"It ran wild"}`)
	d.Did("Ada", eventlog.KeyRotationBegun, `{"key":2,"values":120}`)
	d.Logged(eventlog.Event{Type: eventlog.KeyRotationDone, Payload: []byte(`{"values":1}`)})
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}, ReviewRequired: true})
	// Nothing of these.
	d.Logged(eventlog.Event{Type: eventlog.AgentDied, Payload: []byte(`{"agent":"claude-2"}`)})
	d.Job("Alpha")

	doc := handlertest.Page(t, d.Get("/settings/audit"), http.StatusOK)
	want := []string{
		"ledger repos none to ledger-api review required no to yes",
		"re-encrypted 1 value with the new key",
		"began to re-encrypt 120 values with a new key",
		"cut off claude-2: It ran wild",
		"revoked the person token laptop",
		"made the enrolment token ci-mac, fbe_ab for ledger, shop, mac-1",
		"ended 1 own session",
		"unlinked the account from https://id.example.org",
		"linked the account with https://id.example.org as bob@example.org",
		"turned the second factor off",
		"turned the second factor on",
		"changed the password, which ended 2 other sessions",
		"changed the own name from Bob to Robert",
		"left the workspace",
		"removed Bob, who was admin",
		"changed the role of Bob from member to admin",
		"joined as member, invited by Ada",
		"took back the invitation of eve@example.org as admin",
		"invited bob@example.org as member",
		"renamed the workspace from Kestrel to Kestrel Labs",
		"made the workspace Kestrel",
	}
	if got := auditLines(doc); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	handlertest.WantCount(t, doc, ".settings-nav a[href='/settings/audit'][aria-current=page]", 1)
	handlertest.WantCount(t, doc, "#audit a[href='/settings/audit?actor=Bob']", 9)
	// The timeline says the same.
	if text := handlertest.Line(d.Timeline("/timeline?group=settings", handlertest.FirstStart+19), "role"); !strings.Contains(text, "changed the role of Bob from member to admin") {
		t.Errorf("the timeline says %q", text)
	}
}

func TestTheAuditIsNarrowedAndReadOn(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for n := range settings.AuditSize + 10 {
		d.Did("Ada", eventlog.MemberInvited, fmt.Sprintf(`{"email":"number-%03d@example.org"}`, n))
	}
	d.Did("Bob", eventlog.TokenIssued, `{"name":"ci","kind":"enrolment"}`)
	doc := handlertest.Page(t, d.Get("/settings/audit"), http.StatusOK)
	handlertest.WantCount(t, doc, "#audit [data-event]", settings.AuditSize)
	older, _ := doc.Find(".tl-more a").Attr("href")
	doc = handlertest.Page(t, d.Get(older), http.StatusOK)
	lines := auditLines(doc)
	if len(lines) != 11 || lines[0] != "invited number-010@example.org" || lines[10] != "invited number-000@example.org" {
		t.Errorf("older are %q", lines)
	}
	handlertest.WantCount(t, doc, ".tl-more", 0)
	handlertest.WantCount(t, doc, "#main a[href='/settings/audit']:contains('Go to the newest')", 1)
	r := handlertest.Request(http.MethodGet, older, nil)
	r.Header.Set("HX-Request", "true")
	if body := handlertest.Read(t, d.Do(r), http.StatusOK); strings.Contains(body, "<html") || strings.Count(body, "data-event") != 11 {
		t.Errorf("htmx gets %.300s", body)
	}

	doc = handlertest.Page(t, d.Get("/settings/audit?group=tokens"), http.StatusOK)
	handlertest.WantCount(t, doc, "#audit [data-event]", 1)
	handlertest.WantCount(t, doc, ".tl-groups a[aria-current]:contains('Tokens')", 1)
	d.Did("Ada", eventlog.FleetStopped, `{"products":["ledger"],"hold":"all","reason":"It ran wild"}`)
	doc = handlertest.Page(t, d.Get("/settings/audit?group=fleet"), http.StatusOK)
	if lines := auditLines(doc); len(lines) != 1 || lines[0] != "ledger, running jobs too: It ran wild" {
		t.Errorf("of the fleet it says %q", lines)
	}
	d.Did("Ada", eventlog.PoolSaved, `{"pool":"linux","new":true}`)
	if lines := auditLines(handlertest.Page(t, d.Get("/settings/audit?group=fleet"), http.StatusOK)); len(lines) != 2 || lines[0] != "linux" {
		t.Errorf("of pools it says %q", lines)
	}
	doc = handlertest.Page(t, d.Get("/settings/audit?actor=Ada&group=members"), http.StatusOK)
	handlertest.WantCount(t, doc, "#audit [data-event]", settings.AuditSize)
	handlertest.WantCount(t, doc, ".tl-more a[href*='actor=Ada'][href*='group=members'][href*='before=']", 1)
	handlertest.WantCount(t, doc, "#audit-actor[value=Ada]", 1)
	doc = handlertest.Page(t, d.Get("/settings/audit?actor=Ada&group=tokens"), http.StatusOK)
	handlertest.WantText(t, doc, ".empty", "No change matches")
	handlertest.WantCount(t, doc, ".empty a[href='/settings/audit']", 1)
	for _, nonsense := range []string{"?group=x", "?actor=%00", "?group[]=1"} {
		handlertest.WantCount(t, handlertest.Page(t, d.Get("/settings/audit"+nonsense), http.StatusOK), "#audit [data-event]", settings.AuditSize)
	}
	handlertest.Read(t, d.Get("/settings/audit?before=x"), http.StatusBadRequest)
}

// Who does not manage the workspace does not read it, and another workspace's
// is not in it.
func TestTheAuditIsNotForEverybody(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	stranger := dbfactory.Workspace(t, d.DB)
	dbfactory.Exec(t, d.DB, `INSERT INTO event (workspace_id, type, actor, actor_kind, payload)
		VALUES ($1, 'member.invited', 'Eve', 'person', '{"email":"secret@example.org"}')`, stranger)
	for role, status := range map[tenancy.Role]int{tenancy.RoleAdmin: http.StatusOK, tenancy.RoleMember: http.StatusForbidden, tenancy.RoleViewer: http.StatusForbidden} {
		body := handlertest.Read(t, d.As(role).Get("/settings/audit"), status)
		if strings.Contains(body, "secret@example.org") {
			t.Errorf("%s reads another workspace's", role)
		}
	}
}

// Whatever names people give, the page shows it as text; an event that says
// nothing, or nonsense, still has its line.
func TestTheAuditShowsHostileTextAsText(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for kind := range history.SettingWords {
		d.Did(`<img src=x onerror=alert(1)>`, kind, `{"member":"<script>alert(1)</script>","email":["x"],"token":{"a":1},"sessions":"many","products":[[]],
			"kind":"<b>","hint":"<i>","agent":"<u>","reason":7,"values":1e99}`, eventlog.Change{Field: "role", Old: map[string]any{"a": 1}, New: "<b>x</b>"})
		d.Did("Ada", kind, `[]`)
	}
	doc := handlertest.Page(t, d.Get("/settings/audit"), http.StatusOK)
	handlertest.WantCount(t, doc, "#audit script, #audit img, #audit b, #audit u", 0)
	handlertest.WantCount(t, doc, "#audit [data-event]", min(settings.AuditSize, 2*len(history.SettingWords)))
}
