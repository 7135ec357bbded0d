package newcomer

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/processtest"
	"github.com/fleetboard/fleetboard/internal/client"
)

// demo is tools/demo.sh in a directory that looks like a clone.
type demo struct {
	t       *testing.T
	dir     string
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	starts  int
}

func newDemo(t *testing.T) *demo {
	t.Helper()
	// PostgreSQL's user has to pass through it where the test runs as root.
	dir, err := os.MkdirTemp("", "fleetboard-demo-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../tools/demo.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"tools", "bin", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tools", "demo.sh"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"fleetboard": serverBinary, "fleet": fleetBinary} {
		if err := os.Symlink(program, filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return &demo{t: t, dir: dir, address: processtest.FreeAddress(t, firstPort)}
}

// start starts the script in a session of its own, as a terminal does.
func (d *demo) start() {
	d.t.Helper()
	d.starts++
	log, err := os.Create(d.printed())
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	d.cmd = exec.Command("tools/demo.sh", "--pace", "1s") //nolint:noctx // ended by the test
	d.cmd.Dir, d.cmd.Stdout, d.cmd.Stderr = d.dir, log, log
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(d.dir, "home"), "FLEETBOARD_LISTEN=" + d.address,
		"TMPDIR=" + filepath.Join(d.dir, "home")}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(d.cmd, d.ended)
	d.t.Cleanup(func() {
		for pid := range d.alive() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if d.t.Failed() {
			d.t.Logf("the demo printed:\n%s\nthe server:\n%s", d.read(d.printed()), d.read(filepath.Join(d.dir, ".demo", "server.log")))
		}
	})
}

func (d *demo) printed() string { return filepath.Join(d.dir, fmt.Sprintf("printed-%d", d.starts)) }

func (d *demo) read(path string) string {
	text, _ := os.ReadFile(path) // it may not be there yet
	return string(text)
}

// alive returns the processes of the demo, each with its command: those of its session, those
// that work below its directory, and those that were started with a path in it.
func (d *demo) alive() map[int]string {
	found := map[int]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat := d.read(filepath.Join("/proc", entry.Name(), "stat"))
		fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		if len(fields) < 4 || fields[0] == "Z" {
			continue
		}
		command := strings.ReplaceAll(d.read(filepath.Join("/proc", entry.Name(), "cmdline")), "\x00", " ")
		at, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd")) // it may have ended
		if fields[3] == strconv.Itoa(d.cmd.Process.Pid) || strings.HasPrefix(at, d.dir) || strings.Contains(command, d.dir) {
			found[pid] = command
		}
	}
	return found
}

// jobs returns those on the board, the newest first.
func (d *demo) jobs() []api.Job {
	d.t.Helper()
	token := strings.TrimSpace(d.read(filepath.Join(d.dir, ".demo", "data", "owner-token")))
	connection, err := client.New("http://"+d.address, token, api.Options{})
	if err != nil {
		d.t.Fatal(err)
	}
	order := api.ListJobsParamsSortCreated
	page, err := connection.ListJobsWithResponse(context.Background(), &api.ListJobsParams{Sort: &order, Limit: new(200)})
	if err != nil {
		return nil // the server is not there yet
	}
	return page.JSON200.Items
}

// shows waits until agents and the orchestrator are at work on more jobs than so many.
func (d *demo) shows(more int) {
	d.t.Helper()
	until(d.t, "the demo is at work", func() bool {
		select {
		case <-d.ended:
			d.t.Fatal("the demo ended by itself")
		default:
		}
		list := d.jobs()
		running := slices.ContainsFunc(list, func(j api.Job) bool { return j.Status == api.JobStatusRunning })
		conducted := false
		for _, command := range d.alive() {
			conducted = conducted || strings.Contains(command, "orchestrator.sh")
		}
		return len(list) > more && running && conducted
	})
}

// isOver waits until the script has ended, and fails the test where something of it is left.
func (d *demo) isOver() {
	d.t.Helper()
	until(d.t, "the script has ended", func() bool {
		select {
		case <-d.ended:
			return true
		default:
			return false
		}
	})
	if left := d.alive(); len(left) > 0 {
		d.t.Fatalf("processes live on: %v", left)
	}
	l, err := new(net.ListenConfig).Listen(d.t.Context(), "tcp", d.address)
	if err != nil {
		d.t.Fatalf("the port is not free: %v", err)
	}
	_ = l.Close()
}

// The demo ends with all that it started, by SIGTERM to the script and by Ctrl-C, and the next
// one goes on where it was.
func TestTheDemoEndsAndGoesOn(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	d.start()
	d.shows(0)
	before := len(d.jobs())
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	d.isOver()

	d.start()
	d.shows(before + 4)
	if said := d.read(d.printed()); strings.Contains(said, "refused") || strings.Contains(said, "WARN") {
		t.Errorf("the second demo says\n%s", said)
	}
	// A terminal sends the interrupt to all processes of the group that is in front.
	if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	d.isOver()
}

// Where somebody else listens on the port already, the demo says so and leaves nothing behind.
func TestTheDemoNeedsItsPort(t *testing.T) {
	t.Parallel()
	d := newDemo(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	d.start()
	until(t, "the demo gives up", func() bool { return strings.Contains(d.read(d.printed()), "in use") })
	_ = l.Close()
	d.isOver()
	if code := d.cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(d.read(d.printed()), "address already in use") {
		t.Errorf("it ended with %d and said\n%s", code, d.read(d.printed()))
	}
}
