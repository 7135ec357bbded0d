package cli

import (
	"os"
	"slices"
)

// ownTokens are variables with tokens of the worker's, which no agent is to read.
var ownTokens = []string{"FLEETBOARD_ENROLMENT_TOKEN", "FLEETBOARD_TOKEN", "GITHUB_TOKEN", "GITEA_TOKEN"}

// conceal takes the worker's tokens out of its environment, but for those that agents are to
// have, and keeps other processes of the user from reading its memory and what it was started
// with.
func conceal(passed []string) error {
	for _, name := range ownTokens {
		if slices.Contains(passed, name) {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return closeMemory()
}
