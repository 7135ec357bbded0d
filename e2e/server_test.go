package e2e

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
)

// The owner that every server of these tests is set up with.
const (
	ownerEmail    = "mara@kestrel.example"
	ownerPassword = "quiet watch room 12"
)

// server is a running process of cmd/web, or a workspace of the shared server.
type server struct {
	t       *testing.T
	url     string
	email   string // of the owner
	setup   string // the set-up link, where it printed one
	dataDir string
	env     []string
	cmd     *exec.Cmd
	logs    *processtest.Output
}

// ownServer starts a server on a fresh test database with the owner set up, for tests that kill
// or configure it.
func ownServer(t *testing.T) *server {
	t.Helper()
	return startOn(t, dbtest.URL(t), t.TempDir())
}

// startOn starts a server on a database; servers that share one need the same
// data directory, for its secret key.
func startOn(t *testing.T, databaseURL, dataDir string) *server {
	t.Helper()
	return start(t, dataDir, "DATABASE_URL="+databaseURL, "FLEETBOARD_ADMIN_EMAIL="+ownerEmail, "FLEETBOARD_ADMIN_PASSWORD="+ownerPassword)
}

func start(t *testing.T, dataDir string, env ...string) *server {
	t.Helper()
	s := &server{t: t, email: ownerEmail, dataDir: dataDir, logs: &processtest.Output{}, env: slices.Concat(
		[]string{"FLEETBOARD_DATA_DIR=" + dataDir, "FLEETBOARD_LISTEN=127.0.0.1:0", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
		transporttest.Environ(), env)}
	s.launch()
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("log of the server at %s:\n%s", s.url, s.logs)
		}
	})
	return s
}

// launch starts the process and waits until it says where it is.
func (s *server) launch() {
	s.t.Helper()
	s.cmd = exec.Command(serverBinary) //nolint:noctx // ended by stop
	s.cmd.Env, s.cmd.Stderr = s.env, s.logs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines <- scan.Text()
		}
	}()
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	s.url = ""
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				s.t.Fatalf("the server ended at its start:\n%s", s.logs)
			}
			if at, found := strings.CutPrefix(line, "Fleetboard is at "); found {
				s.url = at
			}
			if _, link, found := strings.Cut(line, "Set up the first owner, once: "); found {
				s.setup = link
			}
			if s.url != "" && s.answers() {
				go func() { _, _ = io.Copy(io.Discard, out) }()
				return
			}
		case <-deadline.C:
			s.t.Fatalf("the server did not come up:\n%s", s.logs)
		}
	}
}

func (s *server) answers() bool {
	answer, err := http.Get(s.url + "/readyz")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// in returns the server for a part of its test.
func (s *server) in(t *testing.T) *server {
	part := *s
	part.t = t
	return &part
}

// kill ends the process as a power cut would.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		s.t.Error("the server did not end within 20 s of being asked")
		s.kill()
	}
}

// restartAt starts the server again at the address it had.
func (s *server) restartAt(url string) {
	s.t.Helper()
	s.env = append(s.env, "FLEETBOARD_LISTEN="+strings.TrimPrefix(url, "http://"))
	s.launch()
}

// token reads one of the tokens that the first start wrote.
func (s *server) token(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dataDir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
