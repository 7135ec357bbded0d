package repositories

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// process is a program that a test starts and kills.
type process struct {
	t    *testing.T
	path string
	args []string
	env  []string

	cmd   *exec.Cmd
	ended chan struct{}
	log   log
}

// log is what a process printed.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start starts the program, also again after it has ended. The test's end ends it.
func (p *process) start() {
	p.t.Helper()
	first := p.cmd == nil
	p.cmd = exec.Command(p.path, p.args...) //nolint:noctx // ended by the test's clean-up
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.env, &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(p.cmd, p.ended)
	if first {
		p.t.Cleanup(func() {
			p.kill()
			if p.t.Failed() {
				p.t.Logf("%s %s printed:\n%s", filepath.Base(p.path), strings.Join(p.args, " "), p.log.String())
			}
		})
	}
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-p.ended
}

// freeAddress finds a port that outgoing connections are not given.
func freeAddress(t *testing.T) string {
	t.Helper()
	for port := 21000 + os.Getpid()%3000; port < 27000; port++ {
		if _, used := ports.LoadOrStore(port, true); used {
			continue
		}
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			_ = l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// ports were given away before.
var ports sync.Map
