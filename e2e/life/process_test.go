package life

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleetboard/db/dbtest"
)

// build compiles the server. replace maps a source file, from the project's
// root, to changed text of it; nil builds the server as it is.
func build(t *testing.T, replace func(source string) string, file string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "web")
	args := []string{"build", "-o", binary}
	if replace != nil {
		args = append(args, "-overlay", overlay(t, replace, file))
	}
	if out, err := exec.Command("go", append(args, "fleetboard/cmd/web")...).CombinedOutput(); err != nil { //nolint:noctx // the test's own time-out ends it
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	return binary
}

// overlay writes the changed file and the list that tells the compiler of it.
func overlay(t *testing.T, replace func(source string) string, file string) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	changed := replace(string(source))
	if changed == string(source) {
		t.Fatalf("%s has not what was to be taken out of it", file)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, filepath.Base(file))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: copied}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{copied: []byte(changed), filepath.Join(dir, "overlay.json"): list} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
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
	cmd.Env = []string{"FLEETBOARD_RATE_LIMIT=0", "DATABASE_URL=" + dbtest.URL(t), "FLEETBOARD_DATA_DIR=" + dir, "FLEETBOARD_LISTEN=127.0.0.1:0",
		"FLEETBOARD_ADMIN_EMAIL=mara@kestrel.example", "FLEETBOARD_ADMIN_PASSWORD=quiet watch room 12",
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
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
