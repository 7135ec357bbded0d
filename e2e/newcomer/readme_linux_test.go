package newcomer

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// clone is a directory that looks like a clone in which the programs were built, and a home
// with nothing in it.
type clone struct {
	t            *testing.T
	dir, address string
	// prepare changes the shell of a block; nil leaves it as it is.
	prepare func(shell *exec.Cmd, block string)
}

func newClone(t *testing.T) *clone {
	t.Helper()
	d := newDemo(t)
	// The programs are built already; `make` starts them as the real Makefile does.
	recipes := "run:\n\t@exec bin/fleetboard\nfleet:\n\t@test -x bin/fleet\n"
	if err := os.WriteFile(filepath.Join(d.dir, "Makefile"), []byte(recipes), 0o600); err != nil {
		t.Fatal(err)
	}
	real, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, recipe := range []string{"\nrun:\n\t@go build -o bin/fleetboard ./cmd/web\n\t@exec bin/fleetboard\n", "\nfleet:\n\t@go build "} {
		if !strings.Contains(string(real), recipe) {
			t.Fatalf("the Makefile has no %q any more", recipe)
		}
	}
	return &clone{t: t, dir: d.dir, address: processtest.FreeAddress(t, firstPort)}
}

// lines returns those of a block of the README, with the address of this test's server.
func (c *clone) lines(block string) string {
	return strings.ReplaceAll(block, "127.0.0.1:8080", c.address)
}

func (c *clone) shell(lines string) *exec.Cmd {
	shell := exec.Command("bash", "-e", "-c", lines) //nolint:noctx // ended by the test
	shell.Dir = c.dir
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home(), "FLEETBOARD_LISTEN=" + c.address,
		"FLEETBOARD_URL=http://" + c.address, "GIT_CONFIG_NOSYSTEM=1"}
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.prepare != nil {
		c.prepare(shell, lines)
	}
	return shell
}

func (c *clone) home() string { return filepath.Join(c.dir, "home") }

// paste runs a block to its end, and returns what it printed.
func (c *clone) paste(block string) string {
	c.t.Helper()
	out, err := c.shell(c.lines(block)).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s\n%v\n%s", block, err, out)
	}
	return string(out)
}

// pasteAndLeave runs a block that goes on, until it has said something. It ends with the test.
func (c *clone) pasteAndLeave(block, says string) *heard {
	c.t.Helper()
	shell, out := c.shell(c.lines(block)), &heard{}
	shell.Stdout, shell.Stderr = out, out
	if err := shell.Start(); err != nil {
		c.t.Fatal(err)
	}
	out.end = sync.OnceFunc(func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGTERM)
		_ = shell.Wait()
	})
	c.t.Cleanup(func() {
		out.end()
		if c.t.Failed() {
			c.t.Logf("%s\nsaid:\n%s", block, out)
		}
	})
	until(c.t, "it says "+says, func() bool { return strings.Contains(out.String(), says) })
	return out
}

// heard is what a process has printed so far.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
	end  func() // ends the process, and waits for it
}

// Write implements io.Writer.
func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// section returns the blocks of code of a section of the README.
func section(t *testing.T, title string) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+title+"\n")
	if !found {
		t.Fatalf("the README has no section %q", title)
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	var blocks []string
	for _, match := range regexp.MustCompile("(?s)```\n(.*?)\n```").FindAllStringSubmatch(body, -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// The lines of the README, one block after the other, bring somebody who has nothing but a clone
// to a first job whose change is in a repository of his own.
func TestTheReadmeLeadsToTheFirstJob(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	start, first := section(t, "Start"), section(t, "The first job")
	if len(start) < 1 || len(first) != 5 {
		t.Fatalf("the README has the blocks %q %q", start, first)
	}
	c.pasteAndLeave(start[0], "Fleetboard is at http://"+c.address)
	c.paste(first[0])
	worker := c.pasteAndLeave(first[1], "offers the repository hello to command")
	if said := worker.String(); strings.Index(said, "looks which engines and toolchains run here") > strings.Index(said, "registered") {
		t.Errorf("the worker says\n%s", said)
	}
	said := c.paste(first[2])
	for _, want := range []string{"Created FB-1: Write down the date", "Factories that can run it: ", "FB-1 completed", "branch        fleet/FB-1-",
		"commit        ", "changes       1 file, +1 −0", "I wrote the date down", "how to get it"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	// The line that shows the change can be pasted, too.
	line := regexp.MustCompile(`(?m)^ *(git diff HEAD\.\.\.\S+)$`).FindStringSubmatch(said)
	if line == nil {
		t.Fatalf("it does not say how to get the change:\n%s", said)
	}
	// The branch comes to the clone a moment after the report.
	until(t, "the branch is in the clone", func() bool {
		return c.shell(c.lines("cd ~/src/hello; git rev-parse --verify --quiet "+strings.TrimPrefix(line[1], "git diff HEAD..."))).Run() == nil
	})
	if diff := c.paste("cd ~/src/hello; " + line[1]); !strings.Contains(diff, "+++ b/notes.txt") {
		t.Errorf("%s shows %q", line[1], diff)
	}
	if now := c.paste("cd ~/src/hello; git status --porcelain; git rev-parse --abbrev-ref HEAD"); now != "main\n" {
		t.Errorf("what was checked out is %q", now)
	}
	if said := c.paste(first[4]); !strings.Contains(said, `"key":"FB-2"`) {
		t.Errorf("the API answers %s", said)
	}
	c.paste("bin/fleet job watch fb-2 --timeout 2m")
}
