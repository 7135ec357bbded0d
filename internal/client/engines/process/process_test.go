package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/client/engines/process"
)

// shell runs a line of the shell and returns the lines that it printed.
func shell(ctx context.Context, t *testing.T, s process.Spec, line string) (process.Exit, []string) {
	t.Helper()
	var lines []string
	tell := s.Line
	s.Argv, s.Dir, s.Env = []string{"sh", "-c", line}, t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	s.Line = func(stream process.Stream, line []byte) {
		lines = append(lines, fmt.Sprintf("%s %s", stream, line))
		if tell != nil {
			tell(stream, line)
		}
	}
	exit, err := process.Run(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return exit, lines
}

// gone waits until there is no process pid.
func gone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !errors.Is(syscall.Kill(n, 0), syscall.ESRCH); {
		if time.Now().After(deadline) {
			t.Fatalf("the process %d still runs", n)
		}
		state, _ := os.ReadFile("/proc/" + pid + "/stat")
		if strings.Contains(string(state), ") Z ") {
			return // nobody has collected it yet
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestLinesStatusAndStdin(t *testing.T) {
	t.Parallel()
	exit, lines := shell(t.Context(), t, process.Spec{Stdin: "one\ntwo"}, `cat; printf '\nbad \377 byte\r\n\nlast'; exit 3`)
	want := []string{"stdout one", "stdout two", "stdout bad \uFFFD byte", "stdout ", "stdout last"}
	if exit.Status != 3 || !slices.Equal(lines, want) {
		t.Errorf("status %d, lines %q; want 3 and %q", exit.Status, lines, want)
	}
	exit, lines = shell(t.Context(), t, process.Spec{}, `cat; echo "it is empty" >&2; kill -9 $$`)
	if exit.Status != 128+9 || exit.Tail != "it is empty" || !slices.Equal(lines, []string{"stderr it is empty"}) {
		t.Errorf("status %d, tail %q, lines %q", exit.Status, exit.Tail, lines)
	}
	// What reads none of a long stdin has not failed.
	if exit, _ = shell(t.Context(), t, process.Spec{Stdin: strings.Repeat("x", 1<<20)}, "exec <&-"); exit.Status != 0 {
		t.Errorf("status %d of a program that does not read", exit.Status)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	_, lines := shell(t.Context(), t, process.Spec{MaxLine: 5000}, `head -c 100000 /dev/zero | tr '\0' x; echo; echo short; head -c 5000 /dev/zero | tr '\0' y`)
	want := []string{"stdout " + strings.Repeat("x", 5000), "stdout short", "stdout " + strings.Repeat("y", 5000)}
	if !slices.Equal(lines, want) {
		for _, l := range lines {
			t.Errorf("a line of %d bytes: %.40q", len(l), l)
		}
	}
	// One is cut in the middle of a letter.
	_, lines = shell(t.Context(), t, process.Spec{}, `printf x; head -c 200000 /dev/zero | sed 's/\x00/é/g'`)
	if len(lines) != 1 || len(lines[0]) > process.MaxLine+20 || !utf8.ValidString(lines[0]) {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}

// The program ends, and a child of it holds its pipes and would run for long.
func TestWhatIsLeftRunningIsKilled(t *testing.T) {
	t.Parallel()
	exit, lines := shell(t.Context(), t, process.Spec{Stdin: "x"}, `sleep 1000 & echo $!; echo done`)
	if exit.Status != 0 || len(lines) != 2 || lines[1] != "stdout done" {
		t.Fatalf("status %d, lines %q", exit.Status, lines)
	}
	gone(t, strings.TrimPrefix(lines[0], "stdout "))
}

// TestMain is also a program that leaves its process group, and runs on for long, and one
// that runs others until it is killed.
func TestMain(m *testing.M) {
	if line := os.Getenv("RUN_UNTIL_KILLED"); line != "" {
		_, err := process.Run(context.Background(), process.Spec{Argv: []string{"sh", "-c", line}, Env: []string{"PATH=" + os.Getenv("PATH")},
			Mark: os.Getenv("RUN_MARKED"), Line: func(_ process.Stream, line []byte) { fmt.Fprintf(os.Stdout, "%s\n", line) }})
		panic(err)
	}
	if file := os.Getenv("LEAVE_THE_GROUP"); file != "" {
		if _, err := syscall.Setsid(); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, os.Getpid())
		if err := os.WriteFile(file, []byte("left"), 0o600); err != nil {
			panic(err)
		}
		<-time.After(time.Hour)
	}
	os.Exit(m.Run())
}

// A child that has left the group is neither killed nor waited for.
func TestWhoLeftTheGroupIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	exit, lines := shell(t.Context(), t, process.Spec{}, fmt.Sprintf(`LEAVE_THE_GROUP=left %q & until [ -s left ]; do sleep 0.01; done; echo done`, os.Args[0]))
	if exit.Status != 0 || len(lines) != 2 || lines[1] != "stdout done" {
		t.Errorf("status %d, lines %q", exit.Status, lines)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(lines[0], "stdout "))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("who left the group was ended: %v", err)
	}
}

// sleeper prints its process id once it is what a signal ends.
const sleeper = `sh -c 'echo $$; exec sleep 1000'`

func TestTheGroupEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line   string
		grace  time.Duration
		status int
		said   string
	}{
		"asked": {`trap 'echo bye; exit 7' TERM; ` + sleeper + ` & wait`, time.Minute, 7, "stdout bye"},
		"a child is slower than the program": {`trap 'exit 7' TERM; sh -c "trap 'while kill -0 \$PPID; do :; done; echo bye; exit' TERM; ` + strings.ReplaceAll(sleeper, "$", `\$`) + ` & wait" & wait`,
			time.Minute, 7, "stdout bye"},
		"killed": {`trap '' TERM; ` + sleeper + ` & while :; do wait; done`, time.Millisecond, 128 + 9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(t.Context())
			exit, lines := shell(ctx, t, process.Spec{Grace: c.grace, Line: func(process.Stream, []byte) { end() }}, c.line)
			if exit.Status != c.status || (c.said != "" && !slices.Contains(lines, c.said)) {
				t.Errorf("status %d, lines %q", exit.Status, lines)
			}
			gone(t, strings.TrimPrefix(lines[0], "stdout "))
		})
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := process.Run(t.Context(), process.Spec{Argv: []string{"no-such-program-here"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error is %v", err)
	}
	if _, err := process.Run(t.Context(), process.Spec{Argv: []string{"sh"}, Dir: "/no/such/dir"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}
