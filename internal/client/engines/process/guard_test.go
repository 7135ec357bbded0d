package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Whoever runs programs is killed: they die with it, also those that they have started and,
// on Linux, those that have left their group.
func TestProgramsDieWithWhoeverRunsThem(t *testing.T) {
	t.Parallel()
	line, pids := "sleep 1000 & echo $!; echo $$; wait", 2
	if runtime.GOOS == "linux" {
		left := t.TempDir() + "/left"
		line, pids = fmt.Sprintf("LEAVE_THE_GROUP=%s %q & %s", left, os.Args[0], line), 3
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "RUN_UNTIL_KILLED="+line, fmt.Sprintf("RUN_MARKED=FLEETBOARD_TEST_MARK=%d-%s", os.Getpid(), t.Name()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var found []string
	for lines := bufio.NewScanner(out); len(found) < pids && lines.Scan(); {
		found = append(found, lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil || len(found) < pids {
		t.Fatalf("it ran %v, %v", found, err)
	}
	_ = cmd.Wait() // it was killed
	for _, pid := range found {
		gone(t, pid)
	}
}
