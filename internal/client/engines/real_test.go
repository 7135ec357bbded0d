package engines_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// TestMain is also the server of tools that the programs start. It keeps the calls that it got
// in the file FLEETBOARD_TEST_ASKED.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve-tools" {
		server := mcp.NewServer(&mcp.Implementation{Name: "fleetboard"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "ask_person", Description: "Asks a person."},
			func(_ context.Context, _ *mcp.CallToolRequest, in struct {
				Question string `json:"question"`
			}) (*mcp.CallToolResult, any, error) {
				err := os.WriteFile(os.Getenv("FLEETBOARD_TEST_ASKED"), []byte(in.Question), 0o600)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "It is asked."}}}, nil, err
			})
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is one that was installed for tests.
type program struct {
	name  string
	model string
	// prepare writes what the program needs to find the model, and returns variables.
	prepare func(t *testing.T, home, repo, model string) []string
}

// known returns the program of a name.
func known(t *testing.T, name string) engines.Program {
	t.Helper()
	at := slices.Index(engines.Names(), name)
	if at < 0 {
		t.Fatalf("there is no program %s", name)
	}
	return engines.Programs[at]
}

// installed returns the path of a program that tools/ensure-engines.sh installed.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../../.tools/engines/node_modules/.bin/" + name)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%s is not there: tools/ensure-engines.sh installs it, with npm", name)
	}
	return path
}

// world is a repository, a home and a model for a program.
type world struct {
	engine  engines.Engine
	task    engines.Task
	printed string // the file with all that the program printed to stdout

	mu     sync.Mutex
	bodies []string // of the calls of the model
}

// worldOf makes a world. The program runs through a script that keeps what it prints.
func worldOf(t *testing.T, p program, model http.Handler) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{printed: filepath.Join(dir, "printed")}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the program has been stopped
		}
		w.mu.Lock()
		w.bodies = append(w.bodies, string(body))
		w.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(out, r)
	}))
	t.Cleanup(server.Close)
	home, repo, scratch, wrapper := filepath.Join(dir, "home"), filepath.Join(dir, "repo"), filepath.Join(dir, "scratch"), filepath.Join(dir, "run")
	for _, d := range []string{home, repo, scratch} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", repo, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	script := "#!/bin/bash\nset -o pipefail\n" + strconv.Quote(installed(t, p.name)) + ` "$@" | tee -a ` + strconv.Quote(w.printed) + "\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + scratch, "FLEETBOARD_TEST_ASKED=" + filepath.Join(dir, "asked")},
		p.prepare(t, home, repo, server.URL)...)
	w.engine = known(t, p.name).At(wrapper)
	w.task = engines.Task{Prompt: "--version is what this prompt begins with", Dir: repo, Scratch: scratch, Env: env, Model: p.model, RunID: t.Name() + strconv.Itoa(os.Getpid())}
	return w
}

// told is what an engine said.
type told struct {
	sessions, steps, logs []string
	did                   []string // kinds and texts of the transcript
	usage                 map[string]transcript.Entry
	result                engines.Result
}

// run runs the engine on the task.
func (w *world) run(ctx context.Context, t *testing.T) told {
	t.Helper()
	said := told{usage: map[string]transcript.Entry{}}
	var err error
	said.result, err = w.engine.Run(ctx, w.task, func(e engines.Event) {
		switch {
		case e.Session != "":
			said.sessions = append(said.sessions, e.Session)
		case e.Step != "":
			said.steps = append(said.steps, e.Step)
		case e.Log != nil:
			said.logs = append(said.logs, e.Log.Level+" "+e.Log.Event+" "+e.Log.Message)
		}
		for _, d := range e.Did {
			said.did = append(said.did, d.Kind+" "+strings.TrimSpace(d.Title+" "+d.Text))
		}
		for _, u := range e.Usage {
			said.usage[u.ID] = u
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// has says whether one of the lines begins with a text.
func has(lines []string, begin string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, begin) })
}

// count returns how many of the lines begin with a text.
func count(lines []string, begin string) (n int) {
	for _, l := range lines {
		if strings.HasPrefix(l, begin) {
			n++
		}
	}
	return n
}

func (w *world) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(w.task.Dir, name)) // "" is what there is not
	return string(text)
}

// sum returns all that entries say was used, without ids and times.
func sum(usage map[string]transcript.Entry) (s transcript.Entry) {
	for _, u := range usage {
		s.Input += u.Input
		s.CacheRead += u.CacheRead
		s.CacheWrite += u.CacheWrite
		s.CacheWrite1h += u.CacheWrite1h
		s.Output += u.Output
	}
	return s
}

// testProgram has a program do its work through its engine. totals reads what the program
// itself says that the run used.
func testProgram(t *testing.T, p program, totals func(t *testing.T, printed string) transcript.Entry) {
	t.Run("it does a task and goes on with its session", func(t *testing.T) { testWork(t, p, totals) })
	t.Run("it ends with all that it started", func(t *testing.T) { testEnd(t, p) })
	t.Run("it uses the tools of a server", func(t *testing.T) { testTools(t, p) })
	t.Run("it tells that the model's API fails", func(t *testing.T) { testRetries(t, p) })
	t.Run("a session that is not there", func(t *testing.T) { testNoSession(t, p) })
}

func testWork(t *testing.T, p program, totals func(t *testing.T, printed string) transcript.Entry) {
	t.Parallel()
	w := worldOf(t, p, scripted.Turns(scripted.Greeting, []scripted.Step{{Text: "I go on.", Command: "cat greeting.txt >again.txt", Usage: scripted.Usage{Input: 5, Output: 3}},
		{Text: "It was done again.\nNothing is left.", Usage: scripted.Usage{Input: 7, Output: 2}}}))
	version, err := w.engine.Probe(t.Context())
	if err != nil || !strings.Contains(version, ".") {
		t.Errorf("version %q, %v", version, err)
	}
	if err := os.Remove(w.printed); err != nil {
		t.Fatal(err)
	}
	first := w.run(t.Context(), t)
	if !first.result.OK || first.result.Summary != "The file says hello." || w.file("greeting.txt") != "hello\n" {
		t.Fatalf("result %+v %+v, file %q, logs %q", first.result, first.result.Failure, w.file("greeting.txt"), first.logs)
	}
	if len(first.sessions) != 1 || !has(first.steps, "I write the file.") || !has(first.steps, "Runs echo hello > greeting.txt") || !has(first.steps, "Runs cat greeting.txt") {
		t.Errorf("sessions %q, steps %q", first.sessions, first.steps)
	}
	if !has(first.logs, "INFO agent I read it back.") || !has(first.logs, "DEBUG result hello") {
		t.Errorf("logs %q", first.logs)
	}
	testTranscript(t, first.did)
	if !strings.Contains(strings.Join(w.bodies, "\n"), "--version is what this prompt begins with") {
		t.Error("the model has not seen the prompt")
	}
	printed, err := os.ReadFile(w.printed)
	if err != nil {
		t.Fatal(err)
	}
	if used, want := sum(first.usage), totals(t, string(printed)); used != want || used.Input == 0 || used.Output == 0 {
		t.Errorf("used %+v, the program says %+v", used, want)
	}
	testResumed(t, w, first.sessions)
}

// testTranscript looks for all that testWork has a program do.
func testTranscript(t *testing.T, did []string) {
	t.Helper()
	for _, want := range []string{"message I write the file.", "tool echo hello > greeting.txt", "tool cat greeting.txt", "output hello", "usage ",
		"message The file says hello."} {
		if !has(did, want) {
			t.Errorf("the transcript %q lacks %q", did, want)
		}
	}
	if tools := count(did, "tool "); tools != 2 || count(did, "output ")+count(did, "output") < tools {
		t.Errorf("%d tools in the transcript %q", tools, did)
	}
}

// testResumed goes on with the session of testWork.
func testResumed(t *testing.T, w *world, sessions []string) {
	t.Helper()
	w.task.Session, w.task.Prompt, w.task.RunID = sessions[0], "-p do it again", w.task.RunID+"-2"
	second := w.run(t.Context(), t)
	if !second.result.OK || w.file("again.txt") != "hello\n" || !strings.HasPrefix(second.result.Summary, "It was done again.") || !slices.Equal(sessions, second.sessions) {
		t.Errorf("result %+v %+v, sessions %q, file %q, logs %q", second.result, second.result.Failure, second.sessions, w.file("again.txt"), second.logs)
	}
	if !has(second.steps, "It was done again.") || slices.ContainsFunc(second.steps, func(s string) bool { return strings.Contains(s, "\n") }) {
		t.Errorf("steps %q", second.steps)
	}
}

func testEnd(t *testing.T, p program) {
	t.Parallel()
	w := worldOf(t, p, scripted.New([]scripted.Step{{Text: "I wait.", Command: "echo $$ >pid.new; mv pid.new pid; sleep 1000; true"}}))
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for w.file("pid") == "" && ctx.Err() == nil {
			<-time.After(10 * time.Millisecond)
		}
		cancel()
	})
	said := w.run(ctx, t)
	cancel()
	waiting.Wait()
	if said.result.OK || said.result.Failure == nil {
		t.Errorf("result %+v", said.result)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(w.file("pid")))
	if err != nil {
		t.Fatalf("it ended before: %+v, logs %q", said.result.Failure, said.logs)
	}
	for deadline := time.Now().Add(time.Minute); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH); {
		if time.Now().After(deadline) {
			t.Fatal("its shell still runs")
		}
		<-time.After(10 * time.Millisecond)
	}
}

func testTools(t *testing.T, p program) {
	t.Parallel()
	w := worldOf(t, p, scripted.New([]scripted.Step{{Text: "I ask.", Tool: "ask_person", Arguments: map[string]any{"question": "Blue or green?"}}, {Text: "I end my turn."}}))
	// It is slow to start, as on a host that is busy: the program must wait for it.
	w.task.MCP = []string{"sh", "-c", `sleep 3; exec "$0" serve-tools`, os.Args[0]}
	said := w.run(t.Context(), t)
	if asked := w.file("../asked"); asked != "Blue or green?" || said.result.Summary != "I end my turn." {
		t.Errorf("asked %q, result %+v %+v, logs %q", asked, said.result, said.result.Failure, said.logs)
	}
	if slices.ContainsFunc(said.steps, func(s string) bool { return strings.Contains(s, "ask_person") }) {
		t.Errorf("steps %q", said.steps)
	}
}

func testRetries(t *testing.T, p program) {
	t.Parallel()
	w := worldOf(t, p, scripted.New([]scripted.Step{{Text: "At last.", Refuse: scripted.Refuse{Status: 503, Times: 2}}}))
	said := w.run(t.Context(), t)
	if !said.result.OK || !has(said.steps, "The model's API fails: ") || !has(said.steps, "At last.") {
		t.Errorf("result %+v %+v, steps %q, logs %q", said.result, said.result.Failure, said.steps, said.logs)
	}
}

func testNoSession(t *testing.T, p program) {
	t.Parallel()
	w := worldOf(t, p, scripted.New(scripted.Greeting))
	w.task.Session = "11124ef7-89da-4dd2-b1e7-177458f58d93"
	said := w.run(t.Context(), t)
	if said.result.OK || said.result.Failure == nil || len(said.steps) > 0 || len(said.usage) > 0 {
		t.Errorf("said %+v", said)
	}
}

func TestAProgramThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	for _, name := range engines.Names() {
		e := known(t, name).At("no-such-program-here")
		r, err := e.Run(t.Context(), engines.Task{Dir: t.TempDir()}, func(engines.Event) {})
		if err != nil || r.OK || r.Failure == nil || r.Failure.Kind != "engine_missing" {
			t.Errorf("%s: %+v %+v, %v", name, r, r.Failure, err)
		}
		if v, err := e.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "not installed") {
			t.Errorf("%s: version %q, %v", name, v, err)
		}
		if found, err := engines.ByName(name); err != nil || found.Name() != name || e.Name() != name {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// last is the last line of a type, which has fields as v has.
func last(t *testing.T, printed, kind string, v any) {
	t.Helper()
	found := false
	for line := range strings.Lines(printed) {
		var l struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == kind {
			found = true
			if err := json.Unmarshal([]byte(line), v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found {
		t.Fatalf("no line %s in %s", kind, printed)
	}
}
