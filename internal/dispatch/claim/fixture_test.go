package claim_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// testWorkspace is a workspace with everything that gives jobs to agents.
type testWorkspace struct{ *dispatchtest.Fixture }

func newTestWorkspace(t *testing.T) *testWorkspace {
	t.Helper()
	return &testWorkspace{dispatchtest.New(t)}
}

// inWorkspace is another process on the same database.
func inWorkspace(t testing.TB, d *db.DB, workspace ids.ID) *testWorkspace {
	t.Helper()
	return &testWorkspace{dispatchtest.In(t, d, workspace)}
}

var (
	priority = dispatchtest.Priority
	needs    = dispatchtest.Needs
	ref      = dispatchtest.Ref
)
