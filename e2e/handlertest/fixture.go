package handlertest

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Workspace is a server with a workspace, its owner at a browser, and agents that work through
// services of another process.
type Workspace struct {
	*Site
	t            *testing.T
	Workspace    ids.ID
	Owner        tenancy.Principal
	OtherProcess *dispatch.Service
	People       *accounts.Parts
}

// NewWorkspace starts a server with a workspace; change changes its dependencies.
func NewWorkspace(t *testing.T, change ...func(*handlers.Deps)) *Workspace {
	t.Helper()
	t.Parallel()
	d, text := dbtest.New(t), &logText{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", text)
		}
	})
	log := slog.New(slog.NewTextHandler(text, nil))
	services := apptest.Start(t, d, logTo(log))
	first, err := services.Accounts.Setup.Bootstrap(t.Context(), setup.BootstrapInput{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	deps := services.Pages()
	deps.Sessions = web.NewSessions(sessions.NewStore(d), false)
	deps.EnrolmentTokenFile = "/data/enrolment-token"
	for _, f := range change {
		f(&deps)
	}
	w := &Workspace{
		Site:         &Site{Server: handlers.New(deps), DB: d, LogText: text},
		t:            t,
		Workspace:    first.Workspace,
		Owner:        dbfactory.Person(first.Workspace, tenancy.RoleOwner),
		OtherProcess: apptest.Start(t, d, logTo(log)).Dispatch,
		People:       services.Accounts,
	}
	w.Cookies = w.As(tenancy.RoleOwner).Cookies
	return w
}

func logTo(log *slog.Logger) func(*app.Options) { return func(o *app.Options) { o.Log = log } }

// As returns another browser, of a new member with a role.
func (w *Workspace) As(role tenancy.Role) *Site {
	w.t.Helper()
	id := dbfactory.NewMember(w.t, w.DB, w.Workspace, role)
	ctx, err := w.Sessions.Load(w.t.Context(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.Sessions.Put(ctx, sessions.Account, id.String())
	w.Sessions.Put(ctx, sessions.Proven, web.ProvenNow())
	token, _, err := w.Sessions.Commit(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return &Site{Server: w.Server, DB: w.DB, LogText: w.LogText, Cookies: map[string]*http.Cookie{"sid": {Name: "sid", Value: token}}}
}

// Job makes a job; change sets more than its title.
func (w *Workspace) Job(title string, change ...func(*jobs.New)) jobs.Job {
	w.t.Helper()
	n := jobs.New{Spec: jobs.Spec{Title: title}}
	for _, c := range change {
		c(&n)
	}
	made, err := w.Jobs.Create(w.t.Context(), w.Owner, nil, n)
	if err != nil {
		w.t.Fatalf("create %s: %v", title, err)
	}
	return made.Jobs[0]
}

// Agent registers an agent in a factory of its own with two seats.
func (w *Workspace) Agent(name string, change ...func(*fleet.Registration)) tenancy.Principal {
	w.t.Helper()
	r := fleet.Registration{Agent: name, Model: "sonnet", BootID: "boot-1", MaxConcurrentJobs: 2, Factory: fleet.FactoryInfo{
		Name: "factory-of-" + name, OS: "linux", Engines: []string{"claude"}, Seats: 2, Capabilities: []string{"has:git"},
		Repos: []fleet.Repo{{Name: "ledger-api"}}}}
	for _, c := range change {
		c(&r)
	}
	made, err := w.OtherProcess.Register(w.t.Context(), dbfactory.Enrolment(w.Workspace), r)
	if err != nil {
		w.t.Fatalf("register %s: %v", name, err)
	}
	who, err := w.People.Tokens.Bearer(w.t.Context(), made.Token)
	if err != nil {
		w.t.Fatal(err)
	}
	return who
}

// Claim takes one job for an agent, in the other process.
func (w *Workspace) Claim(agent tenancy.Principal) jobs.Job {
	w.t.Helper()
	got, err := w.OtherProcess.Claim(w.t.Context(), agent, claim.Request{})
	if err != nil || len(got.Jobs) != 1 {
		w.t.Fatalf("claim gave %d jobs (%s), %v", len(got.Jobs), got.Reason, err)
	}
	return got.Jobs[0]
}

// Now reads a job again.
func (w *Workspace) Now(j jobs.Job) jobs.Job {
	w.t.Helper()
	job, err := w.Jobs.Get(w.t.Context(), w.Owner, j.Key)
	if err != nil {
		w.t.Fatal(err)
	}
	return job
}

// Hx posts as htmx does from a page.
func (s *Site) Hx(page, target string, fields url.Values) Answer {
	r := Request(http.MethodPost, target, fields)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", "http://example.com"+page)
	return s.Do(r)
}

// Read gives an answer's text after a look at its status.
func Read(t *testing.T, res Answer, status int) string {
	t.Helper()
	body := res.Body.String()
	if res.StatusCode != status {
		t.Fatalf("status %d, want %d: %.600s", res.StatusCode, status, body)
	}
	return body
}

// Page parses an answer.
func Page(t *testing.T, res Answer, status int) *goquery.Document {
	t.Helper()
	return Parse(t, Read(t, res, status))
}

// Parse reads a page's HTML.
func Parse(t *testing.T, html string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(html))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// WantText asserts that a place of a page says something.
func WantText(t *testing.T, doc *goquery.Document, place, text string) {
	t.Helper()
	if got := strings.Join(strings.Fields(doc.Find(place).Text()), " "); !strings.Contains(got, text) {
		t.Errorf("%s says %.400q; want %q in it", place, got, text)
	}
}

// AwaitText waits until a place of a page says something. The log shows an event once all
// transactions that began before it have ended, also those of other tests on one PostgreSQL.
func (s *Site) AwaitText(t *testing.T, page, place, text string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		doc := Page(t, s.Get(page), http.StatusOK)
		if strings.Contains(strings.Join(strings.Fields(doc.Find(place).Text()), " "), text) {
			return
		}
		if time.Now().After(late) {
			WantText(t, doc, place, text)
			return
		}
	}
}

// WantCount asserts how many elements a page has in a place.
func WantCount(t *testing.T, doc *goquery.Document, place string, n int) {
	t.Helper()
	if got := doc.Find(place).Length(); got != n {
		t.Errorf("%d elements %s, want %d", got, place, n)
	}
}
