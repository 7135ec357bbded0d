package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/apptest"
	handler "github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/cli"
)

// serverAndTerminal is a server, and a person at a terminal of the same machine.
type serverAndTerminal struct {
	t                *testing.T
	url              string
	db               *db.DB
	owner, enrolment string
	home             string
	env              map[string]string
	now              time.Time
	terminal         bool
	secret           string // what is typed where the command asks for a token

	mu     sync.Mutex
	called map[string]bool // operations of the API
	mixed  bool            // several commands ran at once: which one called is not known
	calls  buffer          // all of them, in their order
}

// operations are those of the API, by method and path with the names of its parts as *.
var operations = sync.OnceValues(func() (map[string]string, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../../api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	named := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			named[method+" "+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "*")] = operation.OperationID
		}
	}
	return named, nil
})

// note notes which operation is called.
func (w *serverAndTerminal) note(r *http.Request) {
	all, err := operations()
	if err != nil {
		w.t.Error(err)
	}
	path := strings.TrimPrefix(r.URL.Path, handler.BasePath)
	parts := strings.Split(path, "/")
	name := all[r.Method+" "+path]
	for _, hidden := range [][]int{{2}, {2, 4}, {3}} {
		masked := slices.Clone(parts)
		for _, i := range hidden {
			if i < len(masked) {
				masked[i] = "*"
			}
		}
		if found, ok := all[r.Method+" "+strings.Join(masked, "/")]; ok && name == "" {
			name = found
		}
	}
	if name == "" {
		w.t.Errorf("no operation is %s %s", r.Method, path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called[name] = true
	_, _ = w.calls.Write([]byte(name + "\n"))
}

// asked fails the test where a command made a call that its description does not name.
func (w *serverAndTerminal) asked(args []string) {
	w.t.Helper()
	cmd, _, err := cli.NewRoot().Find(args)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.called {
		if !w.mixed && !slices.Contains(strings.Fields(cmd.Annotations["calls"]), name) {
			w.t.Errorf("`%s` asked for %s, which its description does not name", cmd.CommandPath(), name)
		}
	}
}

// newServerAndTerminal starts a server of the API on a fresh database. The person has the owner's and
// the enrolment token in the environment.
func newServerAndTerminal(t *testing.T) *serverAndTerminal {
	t.Helper()
	d := dbtest.New(t)
	services := apptest.Start(t, d)
	w := newTerminal(t)
	w.db = d
	data := filepath.Join(w.home, "data")
	if _, err := services.Accounts.Setup.Bootstrap(t.Context(), setup.BootstrapInput{DataDir: data}); err != nil {
		t.Fatal(err)
	}
	deps := services.API()
	deps.Build = handler.Build{Server: "test", Schema: 7}
	server := handler.New(deps)
	listening := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		server.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		services.Close()
		listening.CloseClientConnections()
		listening.Close()
	})
	w.url = listening.URL
	w.owner, w.enrolment = w.read(filepath.Join(data, "owner-token")), w.read(filepath.Join(data, "enrolment-token"))
	w.env["FLEETBOARD_URL"], w.env["FLEETBOARD_TOKEN"], w.env["FLEETBOARD_ENROLMENT_TOKEN"] = w.url, w.owner, w.enrolment
	return w
}

// newTerminal is somebody without a server.
func newTerminal(t *testing.T) *serverAndTerminal {
	t.Helper()
	w := &serverAndTerminal{t: t, home: t.TempDir(), env: map[string]string{}, called: map[string]bool{}}
	w.env["HOME"] = w.home
	return w
}

func (w *serverAndTerminal) read(path string) string {
	w.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// client speaks to the server without the command.
func (w *serverAndTerminal) client(token string) *api.Client {
	w.t.Helper()
	server, err := client.New(w.url, token, api.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return server
}

// agent speaks as the agent that claimed last from here.
func (w *serverAndTerminal) agent() *api.Client {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.home, "state", "fleet", "agents", "*.json"))
	if err != nil || len(files) != 1 {
		w.t.Fatalf("kept agents: %v %v", files, err)
	}
	var kept struct{ Token string }
	if err := json.Unmarshal([]byte(w.read(files[0])), &kept); err != nil {
		w.t.Fatal(err)
	}
	return w.client(kept.Token)
}

// ran is what a command left.
type ran struct {
	t        *testing.T
	line     string
	code     int
	out, err string
}

// fleet runs a command line, with nothing on stdin.
func (w *serverAndTerminal) fleet(args ...string) ran {
	w.t.Helper()
	return w.fleetIn("", args...)
}

func (w *serverAndTerminal) fleetIn(in string, args ...string) ran {
	w.t.Helper()
	w.mu.Lock()
	clear(w.called)
	w.mu.Unlock()
	var out, complaints buffer
	code := cli.Run(w.t.Context(), args, w.around(in, &out, &complaints))
	if len(args) > 0 && !strings.HasPrefix(args[0], "__") {
		w.asked(args)
	}
	return ran{w.t, "fleet " + strings.Join(args, " "), code, out.String(), complaints.String()}
}

// around returns what a command finds.
func (w *serverAndTerminal) around(in string, out, complaints *buffer) cli.Env {
	e := cli.Env{In: strings.NewReader(in), Out: out, Err: complaints, Getenv: func(name string) string { return w.env[name] },
		ConfigDir: filepath.Join(w.home, "config", "fleet"), StateDir: filepath.Join(w.home, "state", "fleet"),
		Now: func() time.Time {
			if w.now.IsZero() {
				return time.Now()
			}
			return w.now
		},
		Pause: 5 * time.Millisecond, Terminal: w.terminal, Width: func() int { return 100 }}
	if w.secret != "" {
		e.AskSecret = func() (string, error) { return w.secret, nil }
	}
	return e
}

// ok fails the test where the command did not end with 0, and returns what it printed.
func (r ran) ok() string {
	r.t.Helper()
	return r.ends(0).out
}

// ends fails the test where the command ended with another code.
func (r ran) ends(code int) ran {
	r.t.Helper()
	if r.code != code {
		r.t.Fatalf("%s ended with %d, want %d\nout: %s\nerr: %s", r.line, r.code, code, r.out, r.err)
	}
	return r
}

// into reads the JSON that a command printed.
func (r ran) into(v any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.ok()), v); err != nil {
		r.t.Fatalf("%s printed no JSON: %v\n%s", r.line, err, r.out)
	}
}

// running is a command that has not ended yet.
type running struct {
	t        *testing.T
	line     string
	out, err *buffer
	stop     func()
	code     chan int
}

// start runs a command until it ends by itself or is stopped.
func (w *serverAndTerminal) start(args ...string) *running {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r := &running{w.t, "fleet " + strings.Join(args, " "), &buffer{}, &buffer{}, cancel, make(chan int, 1)}
	env := w.around("", r.out, r.err)
	w.mu.Lock()
	w.mixed = true
	w.mu.Unlock()
	w.calls.reset()
	go func() { r.code <- cli.Run(ctx, args, env) }()
	w.t.Cleanup(cancel)
	return r
}

// patience bounds waits that only end early where all is well.
const patience = 20 * time.Second

// says waits until the command has printed a text.
func (r *running) says(text string) {
	r.t.Helper()
	r.until(r.out, text)
}

// until waits until a buffer has a text.
func (r *running) until(b *buffer, text string) {
	r.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		more := b.changed()
		if strings.Contains(b.String(), text) {
			return
		}
		select {
		case <-more:
		case <-deadline.C:
			r.t.Fatalf("%s did not say %q\nout: %s\nerr: %s", r.line, text, r.out, r.err)
		}
	}
}

// ends waits until the command has ended, and returns what it printed.
func (r *running) ends(code int) string {
	r.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case got := <-r.code:
		if got != code {
			r.t.Fatalf("%s ended with %d, want %d\nout: %s\nerr: %s", r.line, got, code, r.out, r.err)
		}
	case <-deadline.C:
		r.t.Fatalf("%s did not end\nout: %s\nerr: %s", r.line, r.out, r.err)
	}
	return r.out.String()
}

// buffer is written by a command while the test reads it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
	return b.text.Write(p)
}

// changed is closed by the next write.
func (b *buffer) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more == nil {
		b.more = make(chan struct{})
	}
	return b.more
}

func (b *buffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
