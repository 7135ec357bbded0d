package life

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// server is the API on a real listener, without the loops that a whole server
// runs: here a sequence says when the coordinator works.
type server struct {
	db      *db.DB
	url     string
	people  *accounts.Parts
	account ids.ID // the owner's
	client  *http.Client
}

func newServer(t *testing.T) *server {
	t.Helper()
	d := dbtest.New(t)
	services := apptest.Start(t, d)
	_, err := services.Accounts.Setup.Bootstrap(t.Context(), setup.BootstrapInput{AdminEmail: "mara@kestrel.example",
		AdminPassword: "quiet watch room 12", DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(api.New(services.API()))
	s := &server{db: d, url: front.URL + api.BasePath, people: services.Accounts,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(func() {
		services.Close()
		front.Close()
	})
	conn := dbtest.Owner(t, d)
	if err := conn.QueryRow(t.Context(), `SELECT id FROM account`).Scan(&s.account); err != nil {
		t.Fatal(err)
	}
	return s
}

// failer is a test or one of rapid's sequences.
type failer interface {
	Fatalf(format string, args ...any)
}

// testWorkspace is one workspace of its own, with its owner's token.
type testWorkspace struct {
	*server
	t         failer
	conn      *pgx.Conn // the database's owner: moves clocks
	workspace ids.ID
	owner     tenancy.Principal
	person    string
}

func (s *server) newTestWorkspace(t failer, conn *pgx.Conn) *testWorkspace {
	w := &testWorkspace{server: s, t: t, conn: conn, workspace: ids.New()}
	w.sql(`INSERT INTO workspace (id, slug, name) VALUES ($1::uuid, 'w-' || $1::uuid, 'Kestrel Labs')`, w.workspace)
	w.sql(`INSERT INTO job_number (workspace_id) VALUES ($1)`, w.workspace)
	w.sql(`INSERT INTO product (workspace_id, id, name) SELECT $1, gen_random_uuid(), unnest(ARRAY['default', 'vega'])`, w.workspace)
	w.sql(`INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'owner')`, w.workspace, s.account)
	w.owner = tenancy.Principal{Kind: tenancy.KindPerson, Workspace: w.workspace, Account: s.account, Role: tenancy.RoleOwner, Name: "Mara"}
	w.person = w.token(tokens.NewToken{Kind: tenancy.KindPerson, Name: "life"})
	return w
}

func (w *testWorkspace) token(t tokens.NewToken) string {
	token, err := w.people.Tokens.Issue(context.Background(), w.owner, t)
	if err != nil {
		w.t.Fatalf("token: %v", err)
	}
	return token
}

// enrolmentToken makes one, limited to the default product where it is narrow.
func (w *testWorkspace) enrolmentToken(name string, narrow bool) *enrolment {
	e := &enrolment{name: name, narrow: narrow}
	in := tokens.NewToken{Kind: tenancy.KindEnrolment, Name: name}
	if narrow {
		in.Products = []string{"default"}
	}
	e.token = w.token(in)
	if err := w.conn.QueryRow(context.Background(), `SELECT id FROM access_token WHERE workspace_id = $1 AND name = $2`,
		w.workspace, name).Scan(&e.id); err != nil {
		w.t.Fatalf("token: %v", err)
	}
	return e
}

func (w *testWorkspace) sql(statement string, args ...any) {
	if _, err := w.conn.Exec(context.Background(), statement, args...); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

type object map[string]any

// answer is what the API said.
type answer struct {
	status int
	code   string // of a refusal
	reason string // of an empty claim
	raw    []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.raw) }

// job is the part of a job that the model knows.
type job struct {
	Key        string `json:"key"`
	Status     string `json:"status"`
	WaitReason string `json:"wait_reason"`
	Failures   int    `json:"failure_count"`
	Losses     int    `json:"lost_count"`
	Attempts   int    `json:"attempts"`
	Priority   int    `json:"priority"`
	Question   string `json:"question"`
	Answer     string `json:"answer"`
	Feedback   string `json:"feedback"`
	Lease      *struct {
		Agent     string `json:"agent"`
		Epoch     int64  `json:"epoch"`
		Directive string `json:"directive"`
	} `json:"lease"`
}

func (w *testWorkspace) call(token, method, path string, body any) answer {
	raw, err := json.Marshal(body)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	if body == nil {
		raw = nil
	}
	r, err := http.NewRequestWithContext(context.Background(), method, w.url+path, bytes.NewReader(raw))
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if raw != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	a := answer{status: response.StatusCode, reason: response.Header.Get("X-Claim-Reason")}
	if a.raw, err = io.ReadAll(response.Body); err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status >= 400 {
		var problem struct {
			Code string `json:"code"`
		}
		_ = json.Unmarshal(a.raw, &problem)
		a.code = problem.Code
	}
	return a
}

func (w *testWorkspace) decode(a answer, into any) {
	if err := json.Unmarshal(a.raw, into); err != nil {
		w.t.Fatalf("%v: %v", a, err)
	}
}

// list reads all jobs of the workspace, by key.
func (w *testWorkspace) list() map[string]job {
	a := w.call(w.person, "GET", "/jobs?limit=200", nil)
	var page struct {
		Items []job `json:"items"`
	}
	w.decode(a, &page)
	all := map[string]job{}
	for _, j := range page.Items {
		all[j.Key] = j
	}
	return all
}
