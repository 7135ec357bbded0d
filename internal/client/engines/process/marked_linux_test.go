package process_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/engines/process"
)

// A child that has left the group and has the mark is killed.
func TestWhoIsMarkedIsKilled(t *testing.T) {
	t.Parallel()
	exit, lines := shell(t.Context(), t, process.Spec{Mark: fmt.Sprintf("FLEETBOARD_TEST_MARK=%d-%s", os.Getpid(), t.Name())},
		fmt.Sprintf(`LEAVE_THE_GROUP=left %q & until [ -s left ]; do sleep 0.01; done; echo done`, os.Args[0]))
	if exit.Status != 0 || len(lines) != 2 || lines[1] != "stdout done" {
		t.Fatalf("status %d, lines %q", exit.Status, lines)
	}
	gone(t, strings.TrimPrefix(lines[0], "stdout "))
}
