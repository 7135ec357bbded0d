package processtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// endsWithin bounds the wait for a process that was killed.
const endsWithin = 20 * time.Second

// Child is a program that a test started, in a group of its own.
type Child struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed once it is gone and reaped
}

// starter is the one thread that starts processes. It lives as long as we do:
// what a process leaves as its will is carried out when the thread that started
// it ends.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

// StartChild starts cmd with its output added to a log. will is the signal it
// gets when this process dies. The test's clean-up kills it.
func StartChild(t testing.TB, name string, cmd *exec.Cmd, log string, will syscall.Signal) (*Child, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	leaveWill(cmd.SysProcAttr, will)
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Child{name: name, cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		if err := p.End(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return p, nil
}

// Signal sends a signal; a process that has ended gets none.
func (p *Child) Signal(s syscall.Signal) {
	if !p.Gone() {
		_ = p.cmd.Process.Signal(s)
	}
}

// Gone reports whether the process has ended.
func (p *Child) Gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// End sends a deadly signal and waits until the process is gone.
func (p *Child) End(s syscall.Signal) error {
	p.Signal(s)
	select {
	case <-p.ended:
		return nil
	case <-time.After(endsWithin):
		p.Signal(syscall.SIGKILL)
		return errors.New(p.name + " did not end when it was told to")
	}
}

// PID returns the id of the process.
func (p *Child) PID() int { return p.cmd.Process.Pid }
