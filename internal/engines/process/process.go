// Package process runs a program with all that it starts as one group: its lines are read
// as they come, and when it is to end, the whole group ends.
package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxLine is how much of a line is told, in bytes; the rest of a longer one is dropped.
const MaxLine = 64 << 10

// Stream is where a line was printed.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Spec is a program and what it gets.
type Spec struct {
	Argv []string
	Dir  string
	Env  []string // the whole environment
	// Stdin is what the program reads; "" is nothing.
	Stdin string
	// Grace is how long it may take to end once it is asked to.
	Grace time.Duration
	// Line is called with each line, without its end, from one goroutine at a time. It is
	// valid UTF-8 only where the program prints that, and good until Line returns.
	Line func(s Stream, line []byte)
}

// Exit is how a program ended.
type Exit struct {
	Status int // 0 to 255; 128 and the signal's number where a signal ended it
	// Tail is the end of what it printed to stderr.
	Tail string
}

// maxTail bounds Exit.Tail, in bytes.
const maxTail = 4 << 10

// Run runs a program until it ends. When ctx ends, its process group gets SIGTERM, and
// SIGKILL after Grace. What the program leaves running in its group is killed. The error
// says that it could not be started.
func Run(ctx context.Context, s Spec) (Exit, error) {
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...) //nolint:noctx // the program is the operator's choice; ctx ends the group below
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.Stdin != "" {
		cmd.Stdin = strings.NewReader(s.Stdin)
	}
	out := &lines{tell: s.Line}
	outPipe, errPipe := out.pipe(Stdout), out.pipe(Stderr)
	cmd.Stdout, cmd.Stderr = outPipe, errPipe
	// What the group leaves running may hold the pipes: they are closed soon after the end.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return Exit{}, errors.Join(err, outPipe.Close(), errPipe.Close())
	}
	ended := make(chan struct{})
	var guard sync.WaitGroup
	guard.Go(func() { endGroup(ctx, cmd.Process.Pid, s.Grace, ended) })
	err := cmd.Wait()
	close(ended)
	guard.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group may be empty
	_ = errors.Join(outPipe.Close(), errPipe.Close())   // they never fail
	out.readers.Wait()
	return exitOf(cmd, err, out.tail.String()), nil
}

// endGroup asks a group to end when ctx does, and kills it after a while.
func endGroup(ctx context.Context, pid int, grace time.Duration, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM) // it may have ended
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
		_ = syscall.Kill(-pid, syscall.SIGKILL) // it may have ended
	}
}

// exitOf reads how a program ended.
func exitOf(cmd *exec.Cmd, err error, tail string) Exit {
	e := Exit{Tail: tail}
	state := cmd.ProcessState
	if state == nil {
		e.Status = 1
		return e
	}
	e.Status = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Status = 128 + int(status.Signal())
	}
	if err != nil && e.Status == 0 && !errors.Is(err, exec.ErrWaitDelay) {
		e.Status = 1
	}
	return e
}

// lines tells the lines of both streams, one at a time.
type lines struct {
	mu      sync.Mutex
	tell    func(Stream, []byte)
	tail    tail
	readers sync.WaitGroup
}

// pipe returns where a stream is written to.
func (l *lines) pipe(s Stream) *io.PipeWriter {
	r, w := io.Pipe()
	l.readers.Go(func() { l.read(s, r) })
	return w
}

func (l *lines) read(s Stream, r io.Reader) {
	in := bufio.NewReaderSize(r, MaxLine)
	for {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		l.told(s, line)
		for more && err == nil { // the rest of a long line
			_, more, err = in.ReadLine()
		}
	}
}

func (l *lines) told(s Stream, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == Stderr {
		l.tail.add(line)
	}
	if l.tell != nil {
		l.tell(s, line)
	}
}

// tail keeps the end of a text.
type tail struct{ text []byte }

func (t *tail) add(line []byte) {
	t.text = append(append(t.text, line...), '\n')
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

// String is the text, in valid UTF-8.
func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?")) }
