package ui

import (
	"os/exec"
	"testing"
)

// The path of the token's file is one word of the shell, whatever its directory
// is called.
func TestPathsAreOneWordOfTheShell(t *testing.T) {
	for _, path := range []string{"/var/lib/fleetboard/enrolment-token", "/home/Mara Ilić/x", "/tmp/it's; rm -rf $HOME", "", "`id`", "*"} {
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+ShellWord(path)).Output()
		if err != nil || string(out) != path {
			t.Errorf("%q became %q, %v", path, out, err)
		}
	}
}
