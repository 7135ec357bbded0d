package process

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// MaxLine is how much of a line is reported, in bytes, where a Spec says no other number; the
// rest of a longer one is dropped.
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
	// Mark is a variable, as "NAME=value", that no other program has: on Linux those that
	// inherited it are killed at the end, also where they have left the group. "" is none.
	Mark string
	// Stdin is what the program reads; "" is nothing.
	Stdin string
	// Grace is how long it may take to end after the signal to end.
	Grace time.Duration
	// MaxLine bounds a line in bytes; 0 is MaxLine.
	MaxLine int
	// Line is called with each line, without its end, from one goroutine at a time. It is
	// valid UTF-8, and good until Line returns.
	Line func(s Stream, line []byte)
}

// Exit is how a program ended.
type Exit struct {
	Status int // 0 to 255; 128 and the signal's number where a signal ended it
	// Tail is the end of what it printed to stderr, at most 4 KB.
	Tail string
}

const (
	// maxTail bounds Exit.Tail, in bytes.
	maxTail = 4 << 10
	// stdinDelay is how long a child that was left running may keep stdin from being closed.
	stdinDelay = time.Second
)

// Run runs a program until it ends. When ctx ends, its process group gets SIGTERM, and
// SIGKILL after Grace. What a program that ends by itself leaves running in its group is
// killed, and so is the group when this process dies. The error says that it could not be
// started; it is exec.ErrNotFound where there is no such program.
func Run(ctx context.Context, s Spec) (Exit, error) {
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...) //nolint:noctx // ctx ends the whole group, below
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.Dir, s.Env, stdinDelay
	if s.Mark != "" {
		cmd.Env = append(s.Env[:len(s.Env):len(s.Env)], s.Mark)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.Stdin != "" {
		cmd.Stdin = strings.NewReader(s.Stdin)
	}
	out, err := newOutput(s)
	if err != nil {
		return Exit{}, err
	}
	cmd.Stdout, cmd.Stderr = out.pipes[0].w, out.pipes[1].w
	guard, err := newGuard(s.Mark)
	if err != nil {
		out.close()
		return Exit{}, err
	}
	defer guard.release()
	if err := cmd.Start(); err != nil {
		out.close()
		return Exit{}, err
	}
	guard.watch(cmd.Process.Pid)
	out.read()
	ended, guarded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(guarded)
		endGroup(ctx, cmd.Process.Pid, s.Grace, ended)
	}()
	_ = cmd.Wait() // its state says how it ended
	if ctx.Err() != nil {
		// Others of the group got the signal to end too, and end what they have started.
		select {
		case <-out.over:
		case <-guarded:
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group may be empty
	if s.Mark != "" {
		KillMarked(s.Mark)
	}
	close(ended)
	out.finish()
	<-guarded
	return Exit{Status: status(cmd.ProcessState), Tail: out.tail.String()}, nil
}

// endGroup signals a group to end when ctx does, and kills it after a while.
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

// status reads how a program ended.
func status(state *os.ProcessState) int {
	if how, ok := state.Sys().(syscall.WaitStatus); ok && how.Signaled() {
		return 128 + int(how.Signal())
	}
	return state.ExitCode()
}
