package life

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/mutanttest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
)

// build compiles the server, with an overlay unless that is "".
func build(t *testing.T, overlay string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "web")
	mutanttest.Compile(t, "build", "-o", binary, "-overlay", overlay, "github.com/fleetboard/fleetboard/cmd/web")
	return binary
}

// process is a running server with its tokens.
type process struct {
	url              string
	owner, enrolment string
}

// run starts a server on a database of its own and waits until it says where it is.
func run(t *testing.T, binary string) process {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(binary) //nolint:noctx // ended by the clean-up
	cmd.Env = append(transporttest.Environ(), "FLEETBOARD_RATE_LIMIT=0", "DATABASE_URL="+dbtest.URL(t),
		"FLEETBOARD_DATA_DIR="+dir, "FLEETBOARD_LISTEN=127.0.0.1:0",
		"FLEETBOARD_ADMIN_EMAIL=mara@kestrel.example", "FLEETBOARD_ADMIN_PASSWORD=quiet watch room 12",
		"PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if url, ok := strings.CutPrefix(scan.Text(), "Fleetboard is at "); ok {
			return process{url: url, owner: tokenIn(t, dir, "owner-token"), enrolment: tokenIn(t, dir, "enrolment-token")}
		}
	}
	t.Fatal("the server ended at its start")
	return process{}
}

func tokenIn(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
