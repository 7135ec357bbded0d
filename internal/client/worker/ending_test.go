package worker

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// keptOfError is how many bytes of an error a job keeps, from its beginning.
const keptOfError = 4000

// The last lines of a check that did not pass are within what a job keeps of it.
func TestTheEndOfARedCheckIsKept(t *testing.T) {
	last := "--- FAIL: TestLedger"
	printed := strings.Repeat("ok\n", maxCheckOutput)[:maxCheckOutput-len(last)] + last
	for _, said := range []string{"make test: it ended with status 2", strings.Repeat("very ", 200) + "long: it ended with status 2"} {
		failed, ok := checksFailed(said, printed, true).body.(*api.Failure)
		if !ok || len(failed.Error) > keptOfError || !strings.HasSuffix(failed.Error, last) || !strings.HasPrefix(failed.Error, said[:20]) {
			t.Errorf("%d bytes are told of it, which end in %q", len(failed.Error), failed.Error[len(failed.Error)-20:])
		}
	}
}
