package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// agentVariable makes the test binary an agent; it holds its orders.
const agentVariable = "FLEETBOARD_CHAOS_AGENT"

// serverBinary is cmd/web, built by TestMain.
var serverBinary string

func TestMain(m *testing.M) {
	if text := os.Getenv(agentVariable); text != "" {
		fmt.Fprintln(os.Stderr, "agent:", beAgent(text))
		os.Exit(1)
	}
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "fleetboard-chaos-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	serverBinary = filepath.Join(dir, "web")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", serverBinary, "github.com/fleetboard/fleetboard/cmd/web").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return m.Run(), nil
}
