// Package processtest builds the product's programs and runs them as processes of their own,
// which a test starts, signals and kills.
package processtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Run builds the server and the fleet command, sets their paths, and runs the tests of a
// package. It returns the exit code.
func Run(m *testing.M, server, fleet *string) int {
	dir, err := os.MkdirTemp("", "fleetboard-processtest-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		*server, *fleet = filepath.Join(dir, "fleetboard"), filepath.Join(dir, "fleet")
		err = build(map[string]string{
			*server: "github.com/fleetboard/fleetboard/cmd/web",
			*fleet:  "github.com/fleetboard/fleetboard/cmd/fleet",
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "processtest:", err)
		return 1
	}
	return m.Run()
}

// build builds packages as binaries.
func build(packages map[string]string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for binary, pkg := range packages {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// Process is a program that a test starts and kills. Its fields are set before it is started.
type Process struct {
	T    *testing.T
	Path string
	Args []string
	Env  []string // all of it, as "NAME=value"

	cmd    *exec.Cmd
	ended  chan struct{}
	output Output
}

// Output is what a process printed. It may be read while the process prints.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Start starts the program, also again after it has ended. It is killed when the test ends;
// where the test has failed, what the program printed is logged.
func (p *Process) Start() {
	p.T.Helper()
	first := p.cmd == nil
	p.cmd = exec.Command(p.Path, p.Args...) //nolint:noctx // ended by the test's clean-up
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.Env, &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(p.cmd, p.ended)
	if first {
		p.T.Cleanup(p.cleanUp)
	}
}

func (p *Process) cleanUp() {
	p.Signal(syscall.SIGCONT)
	p.Kill()
	if p.T.Failed() {
		p.T.Logf("%s %s printed:\n%s", filepath.Base(p.Path), strings.Join(p.Args, " "), p.Output())
	}
}

// Signal sends a signal; a process that has ended gets none.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Kill ends the process as a power cut would, and waits until it has ended.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.ended
}

// AwaitEnd waits until the process has ended by itself. The test fails if that takes longer
// than timeout.
func (p *Process) AwaitEnd(timeout time.Duration) {
	p.T.Helper()
	select {
	case <-p.ended:
	case <-time.After(timeout):
		p.T.Fatalf("it did not end within %s", timeout)
	}
}

// IsReady reports whether a server at an address answers that it is ready.
func IsReady(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Until waits until something is so. The test fails if that takes longer than timeout.
func Until(t *testing.T, timeout time.Duration, what string, so func() bool) {
	t.Helper()
	if !Soon(timeout, so) {
		t.Fatalf("it is not so within %s that %s", timeout, what)
	}
}

// Soon reports whether something is so before a timeout.
func Soon(timeout time.Duration, so func() bool) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// PID returns the id of the process that was started last.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// ExitCode returns the exit code of a process that has ended.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Output returns what the program has printed so far, over all its starts.
func (p *Process) Output() string { return p.output.String() }

// ports is how many ports FreeAddress tries, and usedPorts are those given away before.
const ports = 6000

var usedPorts sync.Map

// FreeAddress finds a free local address whose port lies within the 6,000 from first on. With
// a first below the range of outgoing connections, the port stays free while a server is down;
// packages whose tests run at the same time need ranges of their own.
func FreeAddress(t *testing.T, first int) string {
	t.Helper()
	for port := first + os.Getpid()%(ports/2); port < first+ports; port++ {
		if _, used := usedPorts.LoadOrStore(port, true); used {
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
