package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// Where tools/ensure-test-deps.sh puts what the browser tests need.
const (
	driverDir = "../.tools/playwright"
	axeFile   = "../.tools/axe/package/axe.min.js"
)

// What TestMain prepares for all tests.
var (
	serverBinary string
	chromium     playwright.Browser
)

func TestMain(m *testing.M) {
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "fleetboard-e2e-")
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
	driver, err := startDriver()
	if err != nil {
		return 1, fmt.Errorf("start the browser (run tools/ensure-test-deps.sh): %w", err)
	}
	defer func() { _ = driver.Stop() }()
	defer func() { _ = chromium.Close() }()
	defer endShared()
	return m.Run(), nil
}

func startDriver() (*playwright.Playwright, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("PLAYWRIGHT_NODEJS_PATH", node); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(driverDir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "package", "cli.js")); err != nil {
		return nil, err
	}
	driver, err := playwright.Run(&playwright.RunOptions{DriverDirectory: dir, SkipInstallBrowsers: true})
	if err != nil {
		return nil, err
	}
	path, err := browser()
	if err != nil {
		return nil, err
	}
	chromium, err = driver.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
		ExecutablePath: playwright.String(path),
		Args:           []string{"--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update"},
	})
	return driver, err
}

// browser is Chromium: as Debian's package without windows, which takes a third less of the
// processor, else the whole one.
func browser() (string, error) {
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil {
		return path, nil
	}
	return exec.LookPath("chromium")
}
