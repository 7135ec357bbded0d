package api_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// described is openapi.yaml, against which every exchange of the suite is
// checked, and what the suite has seen of it.
var described struct {
	doc    *openapi3.T
	router routers.Router

	mu    sync.Mutex
	codes map[fault.Code]bool
	good  map[string]bool // operations answered below 400
}

func TestMain(m *testing.M) {
	flag.Parse()
	doc, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	if err == nil {
		err = doc.Validate(context.Background())
	}
	if err == nil {
		described.router, err = gorillamux.NewRouter(doc)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi.yaml:", err)
		os.Exit(1)
	}
	described.doc, described.codes, described.good = doc, map[fault.Code]bool{}, map[string]bool{}
	code := m.Run()
	if code == 0 && wholeSuite() {
		code = uncovered()
	}
	os.Exit(code)
}

func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip", "test.fuzz", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}

// uncovered fails the suite where it has not seen a code of the catalogue or a
// good answer of an operation.
func uncovered() (exit int) {
	for _, code := range fault.Codes() {
		if !described.codes[code] {
			fmt.Fprintln(os.Stderr, "FAIL: no test has seen the code", code)
			exit = 1
		}
	}
	for _, item := range described.doc.Paths.Map() {
		for _, op := range item.Operations() {
			if !described.good[op.OperationID] {
				fmt.Fprintln(os.Stderr, "FAIL: no test has seen a good answer of", op.OperationID)
				exit = 1
			}
		}
	}
	return exit
}

// apiServer is a server with real services on a fresh database.
type apiServer struct {
	t         *testing.T
	db        *db.DB
	services  *app.Services
	accounts  *accounts.Parts
	jobs      *jobs.Service
	dispatch  *dispatch.Service
	bus       *bus.Service
	handler   http.Handler
	url       string
	owner     string // token of the owner
	enrolment string
	arrived   chan string // the path of each call, once its token was accepted
	left      chan string // the path of each call, once it was answered
}

func newAPIServer(t *testing.T, change ...func(*app.Options)) *apiServer {
	t.Helper()
	d := dbtest.New(t)
	change = append(change, func(o *app.Options) { o.Blobs.MaxSize, o.Blobs.MaxTotal = maxBlob, maxBlobs })
	services := apptest.Start(t, d, change...)
	w := &apiServer{t: t, db: d, services: services, accounts: services.Accounts, jobs: services.Jobs, dispatch: services.Dispatch,
		bus: services.Bus, arrived: make(chan string, 1000), left: make(chan string, 1000)}
	dir := t.TempDir()
	if _, err := w.accounts.Setup.Bootstrap(t.Context(), setup.BootstrapInput{DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	w.owner, w.enrolment = readToken(t, dir, "owner-token"), readToken(t, dir, "enrolment-token")
	// Most enrolment tokens allow less than that of the first start.
	dbfactory.Exec(t, d, "UPDATE access_token SET may_submit = false, roles = '{worker}' WHERE kind = 'enrolment'")

	deps := services.API()
	deps.Tokens, deps.Build = arrivals{w}, api.Build{Server: "test", Schema: 7}
	server := api.New(deps)
	listening := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(rw, r)
		w.left <- r.URL.Path
	}))
	w.handler = server
	w.url = listening.URL
	t.Cleanup(func() {
		services.Close()
		listening.Close()
	})
	return w
}

func readToken(t *testing.T, dir, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// arrivals notifies the test of each call whose token was accepted.
type arrivals struct{ w *apiServer }

func (a arrivals) Bearer(ctx context.Context, token string) (tenancy.Principal, error) {
	who, err := a.w.accounts.Tokens.Bearer(ctx, token)
	if err == nil {
		a.w.arrived <- who.Name
	}
	return who, err
}

type object = map[string]any

// agent registers an agent of a factory that holds the repo atlas, and gives its
// token.
func (w *apiServer) agent(name string, over ...object) string {
	w.t.Helper()
	body := object{"boot_id": name + "-boot", "max_concurrent_jobs": 10, "factory": object{"name": name + "-host",
		"os": "linux", "engines": []string{"claude"}, "capabilities": []string{"has:git"}, "seats": 10,
		"repos": []object{{"name": "atlas"}}}}
	for _, o := range over {
		for k, v := range o {
			body[k] = v
		}
	}
	return w.as(w.enrolment, "PUT", "/agents/"+name, body).want(200).text("token")
}

// job creates a job and gives its key.
func (w *apiServer) job(title string, over ...object) string {
	w.t.Helper()
	body := object{"title": title}
	for _, o := range over {
		for k, v := range o {
			body[k] = v
		}
	}
	return w.as(w.owner, "POST", "/jobs", body).want(201).text("key")
}

// claim takes one job and gives what its reports begin with.
func (w *apiServer) claim(token string) object {
	w.t.Helper()
	a := w.as(token, "POST", "/fleet/claim", object{}).want(200)
	return object{"job": a.text("jobs", 0, "key"), "epoch": a.number("jobs", 0, "lease", "epoch")}
}

func merge(a, b object) object {
	m := object{}
	for k, v := range a {
		m[k] = v
	}
	for k, v := range b {
		m[k] = v
	}
	return m
}

// otherWorkspace makes a second workspace and gives the token of its owner.
func (w *apiServer) otherWorkspace() string {
	w.t.Helper()
	owner := dbtest.Owner(w.t, w.db)
	id, account := ids.New(), ids.New()
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO workspace (id, slug, name) VALUES ($1, 'other', 'Other')`, []any{id}},
		{`INSERT INTO job_number (workspace_id) VALUES ($1)`, []any{id}},
		{`INSERT INTO product (workspace_id, id, name) VALUES ($1, $2, 'default')`, []any{id, ids.New()}},
		{`INSERT INTO account (id, email, name) VALUES ($1, 'other@example.org', 'Other')`, []any{account}},
		{`INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'owner')`, []any{id, account}},
	} {
		if _, err := owner.Exec(w.t.Context(), statement.sql, statement.args...); err != nil {
			w.t.Fatal(err)
		}
	}
	who, err := w.accounts.Workspaces.Person(w.t.Context(), account, id)
	if err != nil {
		w.t.Fatal(err)
	}
	token, err := w.accounts.Tokens.Issue(w.t.Context(), who, tokens.NewToken{Kind: tenancy.KindPerson, Name: "other"})
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// arrive waits until a call with the token of that name was let in.
func (w *apiServer) arrive(name string) {
	w.t.Helper()
	for {
		select {
		case who := <-w.arrived:
			if who == name {
				return
			}
		case <-w.t.Context().Done():
			w.t.Fatal("nobody came")
		}
	}
}
