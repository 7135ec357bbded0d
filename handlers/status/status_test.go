package status_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Each code of the catalogue has a status of a refusal, and 409 is what flows call
// a conflict.
func TestEachCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	for _, code := range fault.Codes() {
		got := status.Of(code)
		if got < 400 || got == http.StatusInternalServerError && code != fault.Internal {
			t.Errorf("%s has status %d", code, got)
		}
		if code.Conflict() != (got == http.StatusConflict) {
			t.Errorf("%s has status %d, conflict is %v", code, got, code.Conflict())
		}
	}
	if got := status.Of("no such code"); got != http.StatusInternalServerError {
		t.Errorf("an unknown code has status %d", got)
	}
}
