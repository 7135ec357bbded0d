// Package mcptools are the tools that an agent program gets for its job, over the Model
// Context Protocol: report progress, ask a person, save a checkpoint, file a follow-up job and answer
// its questions, and send and read messages. One that verifies work reports progress and gives its verdict,
// and has no other tool.
//
// The server of the protocol is the worker, at a socket of its own for each attempt. The
// program starts `fleet mcp`, which only passes bytes between its stdin and stdout and
// that socket (Pipe): so the program holds no token, and what it may do ends with the
// attempt.
package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/api"
)

// Handler does what the tools are called for. The agent gets an error in its words.
type Handler interface {
	Progress(ctx context.Context, p Progress) error
	// Ask hands a question to the people. The agent gets the instruction to end its turn.
	Ask(ctx context.Context, question string) error
	// Checkpoint keeps a JSON object for the next attempt.
	Checkpoint(ctx context.Context, checkpoint json.RawMessage) error
	// FileJob makes a job that follows from this one, and returns its key.
	FileJob(ctx context.Context, n NewJob) (key string, err error)
	// Answer answers the question of a job that was filed.
	Answer(ctx context.Context, job, answer string) error
}

// Progress is what the agent does, and how much is done.
type Progress struct {
	Step    string `json:"step" jsonschema:"what you do now, in a few words"`
	Percent *int   `json:"percent,omitempty" jsonschema:"how much is done, from 0 to 100; leave it out where you cannot tell"`
}

// NewJob is a job that the agent found.
type NewJob struct {
	Title    string `json:"title" jsonschema:"what is to be done, in a line"`
	Body     string `json:"body,omitempty" jsonschema:"what somebody needs to know who does not know this job"`
	Kind     string `json:"kind,omitempty" jsonschema:"such as fix, feature, test, docs, refactor"`
	Repo     string `json:"repo,omitempty" jsonschema:"the repository; that of this job where it is left out"`
	Priority *int   `json:"priority,omitempty" jsonschema:"from 0 (some day) to 10 (at once); at most that of this job"`
}

const (
	// maxMessage is the longest message of the protocol, in bytes, and maxConnections how
	// many a program may have.
	maxMessage     = 1 << 20
	maxConnections = 4
	// maxCheckpoint is how many bytes of a checkpoint the API takes.
	maxCheckpoint = 64 << 10
)

// Serve answers programs at a listener until ctx ends, which closes it.
func Serve(ctx context.Context, l net.Listener, h Handler, box Mailbox) error {
	return serve(ctx, l, func() *mcp.Server { return server(h, box) })
}

// serve answers each program with a server of its own.
func serve(ctx context.Context, l net.Listener, newServer func() *mcp.Server) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var all sync.WaitGroup
	defer all.Wait()
	seats := make(chan struct{}, maxConnections)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case seats <- struct{}{}:
		default:
			_ = conn.Close() // a program needs one
			continue
		}
		all.Go(func() {
			defer func() { <-seats }()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			defer func() { _ = conn.Close() }() // it may be closed already
			// It ends when the program goes away, or says what is no message.
			_ = newServer().Run(ctx, &mcp.IOTransport{Reader: conn, Writer: conn, MaxLineLength: maxMessage})
		})
	}
}

// Pipe passes bytes between a program and the socket, until the socket's end. When the
// program has said all, it still gets the answers.
func Pipe(ctx context.Context, socket string, in io.Reader, out io.Writer) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("the worker does not answer: %w", err)
	}
	defer func() { _ = conn.Close() }() // it may be closed already
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() { // it may wait for stdin until the process ends
		_, _ = io.Copy(conn, in) // where it fails, so does reading below
		if c, ok := conn.(*net.UnixConn); ok {
			_ = c.CloseWrite() // it may be closed already
		}
	}()
	if _, err := io.Copy(out, conn); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// server returns one with all tools.
func server(h Handler, box Mailbox) *mcp.Server {
	said := func(text string) *mcp.CallToolResult { return said(text + hint(box.Waiting())) }
	s := mcp.NewServer(&mcp.Implementation{Name: "fleetboard", Version: "1.0.0"}, nil)
	addProgress(s, h, said)
	mcp.AddTool(
		s,
		&mcp.Tool{Name: "ask_person", Description: "Ask a person to decide what you cannot decide yourself, such as a change of a public " +
			"interface or something that the job leaves open. Your work is saved and the job waits; you go on with the answer later. " +
			"End your turn after this call."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in question) (*mcp.CallToolResult, any, error) {
			if n := utf8.RuneCountInString(in.Question); n == 0 || n > api.MaxQuestionQuestion {
				return nil, nil, fmt.Errorf("question must have 1 to %d characters", api.MaxQuestionQuestion)
			}
			return said(
					"The question was handed over. End your turn now, without doing anything else: " +
						"you will be asked to go on with the answer.",
				), nil,
				h.Ask(
					ctx,
					in.Question,
				)
		},
	)
	mcp.AddTool(
		s,
		&mcp.Tool{
			Name: "save_checkpoint",
			Description: "Keep what whoever goes on with this job would need to know if you were interrupted now: " +
				"what is done, what is left, what you found out. It replaces what you saved before.",
		},
		func(ctx context.Context, r *mcp.CallToolRequest, in saved) (*mcp.CallToolResult, any, error) {
			raw, err := exact(r.Params.Arguments)
			if err != nil || len(in.Checkpoint) == 0 || len(raw) > maxCheckpoint {
				return nil, nil, fmt.Errorf("checkpoint must be an object of at most %d bytes that is not empty", maxCheckpoint)
			}
			return said("Saved."), nil, h.Checkpoint(ctx, raw)
		},
	)
	mcp.AddTool(
		s,
		&mcp.Tool{
			Name: "file_job",
			Description: "File a job for something that must be done and is not a part of yours, such as a defect that you " +
				"came across. Somebody else does it; go on with your own.",
		},
		func(ctx context.Context, _ *mcp.CallToolRequest, n NewJob) (*mcp.CallToolResult, any, error) {
			if c := utf8.RuneCountInString(n.Title); c == 0 || c > api.MaxNewJobTitle {
				return nil, nil, fmt.Errorf("title must have 1 to %d characters", api.MaxNewJobTitle)
			}
			key, err := h.FileJob(ctx, n)
			return said("Filed as " + key + "."), nil, err
		},
	)
	mcp.AddTool(
		s,
		&mcp.Tool{
			Name: "answer_question",
			Description: "Answer the question of a job that you filed: a message of type task_blocked says what it asks. " +
				"Whoever goes on with that job is given your answer.",
		},
		func(ctx context.Context, _ *mcp.CallToolRequest, in answer) (*mcp.CallToolResult, any, error) {
			if n := utf8.RuneCountInString(in.Answer); in.Job == "" || n == 0 || n > api.MaxQuestionQuestion {
				return nil, nil, fmt.Errorf("job must be a key, and answer must have 1 to %d characters", api.MaxQuestionQuestion)
			}
			return said("Answered."), nil, h.Answer(ctx, in.Job, in.Answer)
		},
	)
	addComments(s, h, said)
	addMessages(s, box)
	return s
}

// addProgress adds the tool that says what the agent does.
func addProgress(s *mcp.Server, h interface {
	Progress(ctx context.Context, p Progress) error
}, said func(text string) *mcp.CallToolResult) {
	mcp.AddTool(
		s,
		&mcp.Tool{
			Name:        "report_progress",
			Description: "Tell the people who watch this job what you do now. Call it when you begin something new.",
		},
		func(ctx context.Context, _ *mcp.CallToolRequest, p Progress) (*mcp.CallToolResult, any, error) {
			if p.Step == "" || p.Percent != nil && (*p.Percent < 0 || *p.Percent > 100) {
				return nil, nil, errors.New("step must say something, and percent must be from 0 to 100")
			}
			return said("Reported."), nil, h.Progress(ctx, p)
		},
	)
}

type question struct {
	Question string `json:"question" jsonschema:"what is to be decided, with what you know and what you would do"`
}

type answer struct {
	Job    string `json:"job" jsonschema:"the key of the job that asks"`
	Answer string `json:"answer" jsonschema:"what you decide, with the reason"`
}

type saved struct {
	Checkpoint map[string]any `json:"checkpoint" jsonschema:"an object of your own making"`
}

// exact returns the checkpoint among a tool's arguments as it was written: numbers lose no
// digit, as they do in a map.
func exact(arguments json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Checkpoint json.RawMessage `json:"checkpoint"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	var short bytes.Buffer
	err := json.Compact(&short, in.Checkpoint)
	return short.Bytes(), err
}

// said returns what a tool answers.
func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
