package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/mcp"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/app"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

type object = map[string]any

// world is a server with real services on a fresh database, the API and the tools.
type world struct {
	t                *testing.T
	db               *db.DB
	services         *app.Services
	url              string
	owner, enrolment string      // tokens
	begun, ended     chan string // the path of each call of the API that a tool makes
}

// watched is the API, whose calls the test sees.
type watched struct {
	*api.Server
	w *world
}

func (a watched) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	a.w.begun <- r.URL.Path
	a.Server.ServeHTTP(to, r)
	a.w.ended <- r.URL.Path
}

// await waits until a claim has begun, or ended.
func (w *world) await(calls chan string) {
	w.t.Helper()
	for {
		select {
		case path := <-calls:
			if path == api.BasePath+"/fleet/claim" {
				return
			}
		case <-w.t.Context().Done():
			w.t.Fatal("no claim came")
		}
	}
}

func newWorld(t *testing.T, change ...func(*api.Deps)) *world {
	t.Helper()
	d := dbtest.New(t)
	services := apptest.Start(t, d)
	dir := t.TempDir()
	if _, err := services.Accounts.Setup.Bootstrap(t.Context(), setup.BootstrapInput{DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	deps := services.API()
	for _, c := range change {
		c(&deps)
	}
	calls := api.New(deps)
	w := &world{t: t, db: d, services: services, begun: make(chan string, 1000), ended: make(chan string, 1000)}
	tools := mcp.New(mcp.Deps{API: watched{calls, w}, Seen: services.Accounts.Tokens.SeeTools, Version: "1.2.3", Log: deps.Log})
	mux := http.NewServeMux()
	mux.Handle("/api/", calls)
	mux.Handle(mcp.Path, tools)
	for _, path := range mcp.MetadataPaths {
		mux.HandleFunc(path, tools.Metadata)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() { services.Close(); server.Close() })
	w.url, w.owner, w.enrolment = server.URL, readToken(t, dir, "owner-token"), readToken(t, dir, "enrolment-token")
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

// answer is what came back over HTTP.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request with a token and further headers.
func (w *world) send(method, path, token, body string, header ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(raw)}
}

// call makes a call of the API, which must succeed, and returns its answer.
func (w *world) call(token, method, path string, body any) object {
	w.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	if body == nil {
		raw = nil
	}
	a := w.send(method, api.BasePath+path, token, string(raw), "Accept", "application/json")
	if a.status >= 300 {
		w.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	return decode(w.t, a.body)
}

// agent registers an agent and returns its token.
func (w *world) agent(name string) string {
	w.t.Helper()
	return w.call(w.enrolment, "PUT", "/agents/"+name, object{"boot_id": name + "-boot", "max_concurrent_jobs": 10,
		"factory": object{"name": name + "-host", "os": "linux", "seats": 10, "repos": []object{{"name": "atlas"}}}})["token"].(string)
}

func decode(t *testing.T, text string) object {
	t.Helper()
	var o object
	from := json.NewDecoder(strings.NewReader(text))
	from.UseNumber()
	if err := from.Decode(&o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

// bearer puts a token on each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	r.Header.Set("User-Agent", "test-program/7.1 (linux)")
	return http.DefaultTransport.RoundTrip(r)
}

// program connects the SDK's client with a token.
func (w *world) program(token string) *program {
	w.t.Helper()
	client := protocol.NewClient(&protocol.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(w.t.Context(), &protocol.StreamableClientTransport{Endpoint: w.url + mcp.Path,
		HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return &program{w.t, session}
}

type program struct {
	t       *testing.T
	session *protocol.ClientSession
}

// try calls a tool and returns its text, and whether it is a refusal.
func (p *program) try(ctx context.Context, tool string, args any) (text string, refused bool) {
	p.t.Helper()
	r, err := p.session.CallTool(ctx, &protocol.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		p.t.Fatalf("%s: %v", tool, err)
	}
	return r.Content[0].(*protocol.TextContent).Text, r.IsError
}

// do calls a tool, which must succeed, and returns its answer.
func (p *program) do(tool string, args any) object {
	p.t.Helper()
	text, refused := p.try(p.t.Context(), tool, args)
	if refused {
		p.t.Fatalf("%s: %s", tool, text)
	}
	return decode(p.t, text)
}

// refused calls a tool, which must be refused with a code, and returns the problem.
func (p *program) refused(code, tool string, args any) object {
	p.t.Helper()
	text, refused := p.try(p.t.Context(), tool, args)
	problem := decode(p.t, text)
	if !refused || problem["code"] != code {
		p.t.Fatalf("%s is not refused with %s: %s", tool, code, text)
	}
	return problem
}

// names returns the names of the tools that are offered, and how long their list is on the wire.
func (p *program) names() (names []string, length int) {
	p.t.Helper()
	list, err := p.session.ListTools(p.t.Context(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	var raw bytes.Buffer
	if err := json.NewEncoder(&raw).Encode(list.Tools); err != nil {
		p.t.Fatal(err)
	}
	return names, raw.Len()
}

// limited gives the API a limit of calls a second.
func limited(perSecond int) func(*api.Deps) {
	return func(d *api.Deps) { d.Quota = quota.New(perSecond, nil) }
}
