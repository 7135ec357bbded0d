package cli

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// What the worker has read is not in its environment any more, nor to be read from outside.
func TestTokensLeaveTheEnvironment(t *testing.T) {
	for _, name := range append(ownTokens, "HARMLESS") {
		t.Setenv(name, "a value")
	}
	if err := conceal([]string{"GITHUB_TOKEN"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(ownTokens, "HARMLESS") {
		if _, there := os.LookupEnv(name); there != (name == "GITHUB_TOKEN" || name == "HARMLESS") {
			t.Errorf("%s is there: %v", name, there)
		}
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		t.Errorf("its memory may be read: %d, %v", dumpable, err)
	}
}
