package ha

import (
	"os"
	"os/exec"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// serverProgram and fleetProgram are built by TestMain.
var serverProgram, fleetProgram string

func TestMain(m *testing.M) { os.Exit(processtest.Run(m, &serverProgram, &fleetProgram)) }

// program returns a command that runs a program of Debian's, as the user postgres where the tests
// run as root.
func program(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	found, err := exec.LookPath(path)
	if err != nil {
		t.Fatalf("there is no %s: run tools/ensure-ha.sh", path)
	}
	if os.Getuid() != 0 {
		return exec.Command(found, args...) //nolint:noctx // ended by the test's clean-up
	}
	//nolint:noctx // ended by the test's clean-up
	return exec.Command("/usr/bin/setpriv", append([]string{"--reuid=postgres", "--regid=postgres", "--clear-groups", found}, args...)...)
}
