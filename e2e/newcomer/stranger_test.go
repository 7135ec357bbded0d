package newcomer

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// host is a machine with a server and a home that is empty.
type host struct {
	t            *testing.T
	dir, address string
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), address: processtest.FreeAddress(t, firstPort)}
	server := &processtest.Process{T: t, Path: serverBinary, Env: []string{"DATABASE_URL=" + dbtest.URL(t), "PATH=" + os.Getenv("PATH"),
		"HOME=" + h.dir, "FLEETBOARD_LISTEN=" + h.address, "FLEETBOARD_ADMIN_EMAIL=mara@kestrel.example",
		"FLEETBOARD_ADMIN_PASSWORD=quiet watch room 12"}}
	server.Start()
	until(t, "the server is ready", func() bool { return processtest.IsReady(t.Context(), h.address) })
	return h
}

// command returns a line of the shell on the host.
func (h *host) command(line string) *exec.Cmd {
	shell := exec.CommandContext(h.t.Context(), "bash", "-c", line)
	shell.Dir = h.dir
	shell.Env = []string{"PATH=" + filepath.Dir(fleetBinary) + ":" + os.Getenv("PATH"), "HOME=" + h.dir, "FLEETBOARD_URL=http://" + h.address}
	return shell
}

// run runs a line, and returns how it ended and what it printed, to where results and to
// where complaints go.
func (h *host) run(line string) (code int, out, complaint string) {
	h.t.Helper()
	shell := h.command(line)
	var printed, said bytes.Buffer
	shell.Stdout, shell.Stderr = &printed, &said
	var ended *exec.ExitError
	if err := shell.Run(); err != nil && !errors.As(err, &ended) {
		h.t.Fatal(err)
	}
	return shell.ProcessState.ExitCode(), printed.String(), said.String()
}

// What a beginner types gets an answer that says what was wrong or what to do, and the exit
// code that scripts rely on.
func TestWhatAStrangerTypes(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	const full = "could not be written: no space left on device"
	for _, test := range []struct {
		line string
		code int
		says string // somewhere in what it prints or complains
	}{
		{"fleet --version", 0, ", client 1."},
		{"fleet version", 0, "server "},
		{"fleet job create 'The first' --repo hello", 0, "Created FB-1: The first\nNo live factory can run it now."},
		{"fleet job create 'The second' --quiet", 0, "FB-2\n"},
		{"fleet job list --quiet", 0, "FB-2\nFB-1\n"},
		{"fleet job show fb-1", 0, "FB-1  The first"},
		{"fleet job show Fb-1 -o json", 0, `"key":"FB-1"`},
		{"fleet job explain fb-1", 0, "No factory has reported yet."},
		{"fleet job logs fb-1", 0, ""},
		{"until fleet events --job fb-1 | grep job.created; do :; done", 0, "job.created"}, // a transaction elsewhere may keep it back
		{"fleet job pause fb-2", 0, "FB-2 is paused"},
		{"fleet job show FB-2", 0, "fleet job resume FB-2"},
		{"fleet job list --jq '.items[] | .key + \" \" + .title'", 0, "FB-2 The second\nFB-1 The first\n"},
		{"fleet job show FB-1 --jq '.priority'", 0, "5\n"},
		{"fleet job list --jq '.items['", 2, "--jq is no expression of jq"},
		{"fleet job list --jq '.items | keys | .[0] | keys'", 2, "--jq does not fit what came"},
		{"fleet job list -o yaml", 2, "--output must be text or json, and is \"yaml\": for YAML, pass the JSON on"},
		{"fleet job list -o wide", 2, "--output must be text or json, and is \"wide\""},
		{"fleet job list --quiet --json", 2, "give one of them"},
		{"fleet jbo list", 2, "Did you mean job?"},
		{"fleet job shwo FB-1", 2, "Did you mean show?"},
		{"fleet job list --josn", 2, "Did you mean --json?"},
		{"fleet help nothing", 2, "`fleet` has no command \"nothing\""},
		{"fleet help job show", 0, "fleet job show FB-1"},
		{"fleet job help show", 0, "fleet job show FB-1"},
		{"fleet help exit-codes", 0, "--timeout"},
		{"fleet job show", 2, "it is used as `fleet job show JOB"},
		{"fleet job show ''", 2, "an argument is empty"},
		{"fleet job show FB-99", 4, "There is no job FB-99 in this workspace."},
		{"fleet job list --status 'in review'", 0, "There are no such jobs."},
		{"fleet job list --status done", 2, "it must be one of waiting, ready,"},
		{"fleet job watch FB-1 --timeout 1s", 8, "1s was over, and FB-1 is ready"},
		{"fleet job watch FB-1 --until nowhere", 2, "\"nowhere\" is no status"},
		{"fleet job watch --until ready", 2, "--until is about one job"},
		{"fleet job watch FB-1 --until ready,in-review", 0, "No factory has reported yet."},
		{"fleet job list | head -1", 0, "KEY"},
		{"fleet job list >/dev/full", 1, full},
		{"fleet job list --json >/dev/full", 1, full},
		{"fleet job list --quiet >/dev/full", 1, full},
		{"fleet job list --jq .items >/dev/full", 1, full},
		{"fleet job show FB-1 >/dev/full", 1, full},
		{"fleet version >/dev/full", 1, full},
		{"fleet --version >/dev/full", 1, full},
		{"fleet help >/dev/full", 1, full},
		{"fleet doctor >/dev/full", 1, full},
		{"fleet events >/dev/full", 1, full},
		{"fleet completion bash >/dev/full", 1, full},
		{"fleet job watch FB-1 >/dev/full", 1, full},
		{"FLEETBOARD_TOKEN=fb_person_old fleet job list", 5, "It was asked with the token of FLEETBOARD_TOKEN"},
		{"FLEETBOARD_TOKEN=fb_person_old fleet --server http://127.0.0.1:9 job list", 6, "Is it running?"},
		{"fleet logout", 4, "there is no current context"},
		{"fleet login --name one --token-file .local/share/fleetboard/owner-token", 0, "as context one"},
		{"fleet login --name two --token-file .local/share/fleetboard/owner-token", 0, "as context two"},
		{"fleet --context one job list", 0, "FB-1"},
		{"fleet --context one --server $FLEETBOARD_URL/ job list", 0, "FB-1"},
		{"fleet --context one --server http://127.0.0.1:9 job list", 2, "and --server names http://127.0.0.1:9: give one of them"},
		{"fleet --context three job list", 4, "there is no context \"three\""},
		{"fleet worker", 2, "--repos"},
	} {
		code, out, complaint := h.run(test.line)
		if code != test.code || !strings.Contains(out+complaint, test.says) {
			t.Errorf("%s\nended with %d, want %d and %q\n%s%s", test.line, code, test.code, test.says, out, complaint)
		}
		if code != 0 && !strings.HasPrefix(complaint, "fleet: ") || code == 0 && complaint != "" {
			t.Errorf("%s\nended with %d and complained %q", test.line, code, complaint)
		}
	}
}

// A reader that goes away ends the command without a word, as it does other programs.
func TestAReaderThatIsGoneEndsTheCommand(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, line := range []string{"exec fleet job create One", "exec fleet job list --json", "exec fleet help job"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close() // nobody reads
		shell := h.command(line)
		var said bytes.Buffer
		shell.Stdout, shell.Stderr = w, &said
		err = shell.Run()
		_ = w.Close() // it is the shell's
		how, ok := shell.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !how.Signaled() || how.Signal() != syscall.SIGPIPE || said.Len() > 0 {
			t.Errorf("%s: %v, and it complained %q", line, err, said.String())
		}
	}
}

// An expression of --jq that never comes to an end is interrupted like everything else.
func TestAnEndlessExpressionIsInterrupted(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := &processtest.Process{T: t, Path: fleetBinary, Args: []string{"job", "list", "--jq", `"begun", (range(infinite) | select(. < 0))`},
		Env: []string{"HOME=" + h.dir, "FLEETBOARD_URL=http://" + h.address}}
	p.Start()
	until(t, "the expression runs", func() bool { return strings.Contains(p.Output(), "begun") })
	p.Signal(syscall.SIGINT)
	p.AwaitEnd(patience)
	if p.ExitCode() != 130 {
		t.Errorf("it ended with %d: %s", p.ExitCode(), p.Output())
	}
}
