package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/internal/client/mcptools"
)

// work is a Handler that notes what it gets.
type work struct {
	mu         sync.Mutex
	steps      []string
	question   string
	checkpoint string
	filed      []mcptools.NewJob
	answers    map[string]string
	sent       []mcptools.NewMessage
	inbox      []mcptools.Message
	waited     time.Duration
}

func (w *work) Progress(_ context.Context, p mcptools.Progress) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, p.Step)
	return nil
}

func (w *work) Ask(_ context.Context, q string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.question != "" {
		return errors.New("a question was asked already")
	}
	w.question = q
	return nil
}

func (w *work) Checkpoint(_ context.Context, c json.RawMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkpoint = string(c)
	return nil
}

func (w *work) FileJob(_ context.Context, n mcptools.NewJob) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filed = append(w.filed, n)
	return "FB-99", nil
}

func (w *work) Answer(_ context.Context, job, answer string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = map[string]string{job: answer}
	return nil
}

func (w *work) Send(_ context.Context, m mcptools.NewMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, m)
	return nil
}

func (w *work) Receive(_ context.Context, wait time.Duration) ([]mcptools.Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.inbox
	w.inbox, w.waited = nil, wait
	return list, nil
}

func (w *work) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inbox)
}

// serve starts the worker's side and returns its socket.
func serve(t *testing.T, h *work) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mcptools.Serve(ctx, l, h, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	return socket
}

// program connects a client of the protocol through the pipe that `fleet mcp` is.
func program(t *testing.T, socket string) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	toPipe, fromClient := io.Pipe()
	toClient, fromPipe := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = mcptools.Pipe(ctx, socket, toPipe, fromPipe)
		_ = fromPipe.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		cancel()
		_ = toPipe.Close()
		<-ended
	})
	return session
}

// call calls a tool; it returns what the tool says, and whether that is an error.
func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (said string, refused bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s answered %T", tool, r.Content[0])
	}
	return text.Text, r.IsError
}

func TestAProgramReachesItsWorker(t *testing.T) {
	w := &work{}
	s := program(t, serve(t, w))
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"report_progress", map[string]any{"step": "reads the code", "percent": 10}, "Reported."},
		{"save_checkpoint", map[string]any{"checkpoint": map[string]any{"done": 3}}, "Saved."},
		{"file_job", map[string]any{"title": "Mend the flaky test", "priority": 7}, "Filed as FB-99."},
		{"answer_question", map[string]any{"job": "FB-99", "answer": "Yes."}, "Answered."},
		{"send_message", map[string]any{"to": "agent:bob", "text": "Look at FB-99.", "thread": "FB-99"}, "Sent."},
		{"ask_person", map[string]any{"question": "May I?"}, "End your turn now"},
	} {
		if said, refused := call(t, s, c.tool, c.args); refused || !strings.Contains(said, c.want) {
			t.Errorf("%s said %q (refused: %v)", c.tool, said, refused)
		}
	}
	if w.steps[0] != "reads the code" || w.checkpoint != `{"done":3}` || w.filed[0].Title != "Mend the flaky test" ||
		*w.filed[0].Priority != 7 ||
		w.question != "May I?" || w.answers["FB-99"] != "Yes." || w.sent[0] != (mcptools.NewMessage{To: "agent:bob", Text: "Look at FB-99.", Thread: "FB-99"}) {
		t.Errorf("the worker was told %+v", w)
	}
}

// The agent gets a refusal as the result of its call, so that it can do better.
func TestRefusalsAreToldToTheAgent(t *testing.T) {
	s := program(t, serve(t, &work{question: "before"}))
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"ask_person", map[string]any{"question": "again?"}, "asked already"},
		{"ask_person", map[string]any{"question": strings.Repeat("x", 10_001)}, "10000 characters"},
		{"report_progress", map[string]any{"step": "x", "percent": 101}, "from 0 to 100"},
		{"save_checkpoint", map[string]any{"checkpoint": map[string]any{"x": strings.Repeat("x", 70_000)}}, "at most 65536 bytes"},
		{"file_job", map[string]any{"title": ""}, "1 to 200 characters"},
		{"answer_question", map[string]any{"job": "FB-1", "answer": ""}, "1 to 10000 characters"},
		{"send_message", map[string]any{"to": "all", "text": strings.Repeat("x", 64<<10+1)}, "1 to 65536 bytes"},
		{"read_messages", map[string]any{"wait_seconds": 31}, "from 0 to 30"},
	} {
		if said, refused := call(t, s, c.tool, c.args); !refused || !strings.Contains(said, c.want) {
			t.Errorf("%s said %q (refused: %v)", c.tool, said, refused)
		}
	}
}

// A peer that speaks no protocol takes nothing from those that do.
func TestGarbageEndsItsConnectionOnly(t *testing.T) {
	socket := serve(t, &work{})
	for _, text := range []string{"no json\n", `{"half": `, strings.Repeat("x", 2<<20) + "\n"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text) // it may be closed in the middle
		if c, ok := conn.(*net.UnixConn); ok {
			_ = c.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
	if _, refused := call(t, program(t, socket), "report_progress", map[string]any{"step": "goes on"}); refused {
		t.Error("a good program is refused")
	}
}

func TestNobodyThere(t *testing.T) {
	if err := mcptools.Pipe(t.Context(), filepath.Join(t.TempDir(), "s"), strings.NewReader(""), io.Discard); err == nil {
		t.Error("a pipe to nobody ended well")
	}
}

// Numbers that no float64 holds stay as the agent wrote them.
func TestACheckpointKeepsItsNumbers(t *testing.T) {
	w := &work{}
	s := program(t, serve(t, w))
	const exact = `{"id":9007199254740993,"cost":0.1000000000000000055511}`
	if said, refused := call(t, s, "save_checkpoint", map[string]any{"checkpoint": json.RawMessage(exact)}); refused {
		t.Fatal(said)
	}
	if w.checkpoint != exact {
		t.Errorf("the worker was told %s", w.checkpoint)
	}
}

// A program that has said all and closed its end still gets the answers.
func TestAnswersComeAfterTheLastCall(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		asked, _ := io.ReadAll(conn) // until the program's end
		_, _ = io.WriteString(conn, "to "+string(asked))
	}()
	var out strings.Builder
	if err := mcptools.Pipe(t.Context(), socket, strings.NewReader("a call"), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != "to a call" {
		t.Errorf("the program was told %q", out.String())
	}
}

// Messages are announced by every tool until they are read, and are read as they came.
func TestMessagesAreAnnouncedAndRead(t *testing.T) {
	at := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	w := &work{inbox: []mcptools.Message{
		{From: "agent:bob", Type: "custom.question", Thread: "FB-2", Job: "FB-2", Payload: json.RawMessage(`{"n":9007199254740993}`), At: at},
		{From: "system:fleetboard", Type: "task_done", Thread: "FB-3", At: at},
	}}
	s := program(t, serve(t, w))
	if said, _ := call(t, s, "report_progress", map[string]any{"step": "reads"}); said != "Reported. 2 messages wait: call read_messages." {
		t.Errorf("it says %q", said)
	}
	const want = `[{"from":"agent:bob","type":"custom.question","thread":"FB-2","job":"FB-2","payload":{"n":9007199254740993},` +
		`"at":"2026-11-23T10:00:00Z"},{"from":"system:fleetboard","type":"task_done","thread":"FB-3","at":"2026-11-23T10:00:00Z"}]`
	if said, refused := call(t, s, "read_messages", nil); refused || said != want {
		t.Errorf("it reads %s", said)
	}
	if said, _ := call(t, s, "read_messages", map[string]any{"wait_seconds": 30}); said != "[]" || w.waited != 30*time.Second {
		t.Errorf("it reads %s after %s", said, w.waited)
	}
	if said, _ := call(t, s, "report_progress", map[string]any{"step": "goes on"}); said != "Reported." {
		t.Errorf("it says %q", said)
	}
}
