package handlers

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/handlers/web"
	"fleetboard/internal/accounts"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/notifier"
	"fleetboard/internal/tenancy"
)

// desk is the server with a workspace, its owner at a browser, and agents that
// work through services of another process.
type desk struct {
	*site
	t         *testing.T
	workspace ids.ID
	owner     tenancy.Principal
	elsewhere *dispatch.Service
	people    *accounts.Service
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	t.Parallel()
	d, text := dbtest.New(t), &logText{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", text)
		}
	})
	log := slog.New(slog.NewTextHandler(text, nil))
	wake := runNotifier(t, d, log)
	people := accounts.New(d, bytes.Repeat([]byte{7}, 32), wake, log)
	first, err := people.Bootstrap(t.Context(), accounts.BootstrapInput{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	list, events := jobs.NewService(d, wake, dbtest.Vault(d)), eventlog.New(d)
	deps := Deps{
		Accounts: people, Sessions: web.NewSessions(accounts.NewSessionStore(d), false), Log: log,
		Jobs: list, Fleet: fleet.NewService(d, wake), Dispatch: dispatch.New(d, list, wake, people, log),
		Kanban: kanban.New(d, events, wake, log), Events: events, EnrolmentTokenFile: "/data/enrolment-token",
	}
	other := runNotifier(t, d, log)
	desk := &desk{t: t, workspace: first.Workspace, people: people,
		elsewhere: dispatch.New(d, jobs.NewService(d, other, dbtest.Vault(d)), other, people, log),
		site:      &site{Server: New(deps), db: d, log: text}}
	t.Cleanup(func() { deps.Kanban.Close(); deps.Dispatch.Close(); desk.elsewhere.Close() })
	desk.cookies = desk.as(tenancy.RoleOwner).cookies
	desk.owner = dbfactory.Person(first.Workspace, tenancy.RoleOwner)
	return desk
}

// runNotifier is a process's connection to the others.
func runNotifier(t *testing.T, d *db.DB, log *slog.Logger) *notifier.Notifier {
	t.Helper()
	n := notifier.New(d, log)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = n.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return n
}

// as is another browser, of a new member with a role.
func (d *desk) as(role tenancy.Role) *site {
	d.t.Helper()
	id := ids.New()
	dbfactory.Exec(d.t, d.db, `INSERT INTO account (id, email, name) VALUES ($1::uuid, $1::text || '@example.org', 'Mara Ilić')`, id.String())
	dbfactory.Exec(d.t, d.db, `INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, $3)`, d.workspace, id, string(role))
	ctx, err := d.Sessions.Load(d.t.Context(), "")
	if err != nil {
		d.t.Fatal(err)
	}
	d.Sessions.Put(ctx, accounts.SessionAccount, id.String())
	d.Sessions.Put(ctx, accounts.SessionProven, web.ProvenNow())
	token, _, err := d.Sessions.Commit(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	return &site{Server: d.Server, db: d.db, log: d.log, cookies: map[string]*http.Cookie{"sid": {Name: "sid", Value: token}}}
}

// job makes a job; change says what matters beside its title.
func (d *desk) job(title string, change ...func(*jobs.New)) jobs.Job {
	d.t.Helper()
	n := jobs.New{Title: title}
	for _, c := range change {
		c(&n)
	}
	made, err := d.Jobs.Create(d.t.Context(), d.owner, jobs.Origin{}, n)
	if err != nil {
		d.t.Fatalf("create %s: %v", title, err)
	}
	return made.Jobs[0]
}

// agent registers an agent in a factory of its own with two seats.
func (d *desk) agent(name string, change ...func(*fleet.Registration)) tenancy.Principal {
	d.t.Helper()
	r := fleet.Registration{Agent: name, Model: "sonnet", BootID: "boot-1", MaxConcurrentJobs: 2, Factory: fleet.FactoryInfo{
		Name: "factory-of-" + name, OS: "linux", Engines: []string{"claude"}, Seats: 2, Capabilities: []string{"has:git"},
		Repos: []fleet.Repo{{Name: "ledger-api"}}}}
	for _, c := range change {
		c(&r)
	}
	made, err := d.elsewhere.Register(d.t.Context(), dbfactory.Enrolment(d.workspace), r)
	if err != nil {
		d.t.Fatalf("register %s: %v", name, err)
	}
	who, err := d.people.Bearer(d.t.Context(), made.Token)
	if err != nil {
		d.t.Fatal(err)
	}
	return who
}

// claim takes one job for an agent, in the other process.
func (d *desk) claim(agent tenancy.Principal) jobs.Job {
	d.t.Helper()
	got, err := d.elsewhere.Claim(d.t.Context(), agent, dispatch.ClaimRequest{})
	if err != nil || len(got.Jobs) != 1 {
		d.t.Fatalf("claim gave %d jobs (%s), %v", len(got.Jobs), got.Reason, err)
	}
	return got.Jobs[0]
}

// now reads a job again.
func (d *desk) now(j jobs.Job) jobs.Job {
	d.t.Helper()
	job, err := d.Jobs.Get(d.t.Context(), d.owner, j.Key)
	if err != nil {
		d.t.Fatal(err)
	}
	return job
}

// hx posts as htmx does from a page.
func (s *site) hx(page, target string, fields url.Values) answer {
	r := request(http.MethodPost, target, fields)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", "http://example.com"+page)
	return s.do(r)
}

// read gives an answer's text after a look at its status.
func read(t *testing.T, res answer, status int) string {
	t.Helper()
	body := res.Body.String()
	if res.StatusCode != status {
		t.Fatalf("status %d, want %d: %.600s", res.StatusCode, status, body)
	}
	return body
}

// page parses an answer.
func page(t *testing.T, res answer, status int) *goquery.Document {
	t.Helper()
	return parse(t, read(t, res, status))
}

func parse(t *testing.T, html string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(html))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// wantText asserts that a place of a page says something.
func wantText(t *testing.T, doc *goquery.Document, place, text string) {
	t.Helper()
	if got := strings.Join(strings.Fields(doc.Find(place).Text()), " "); !strings.Contains(got, text) {
		t.Errorf("%s says %.400q; want %q in it", place, got, text)
	}
}

func wantCount(t *testing.T, doc *goquery.Document, place string, n int) {
	t.Helper()
	if got := doc.Find(place).Length(); got != n {
		t.Errorf("%d elements %s, want %d", got, place, n)
	}
}
