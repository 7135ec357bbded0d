package claim_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// world is a workspace with everything that gives jobs to agents.
type world struct{ *dispatchtest.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{dispatchtest.New(t)}
}

// inWorkspace is another process on the same database.
func inWorkspace(t testing.TB, d *db.DB, workspace ids.ID) *world {
	t.Helper()
	return &world{dispatchtest.In(t, d, workspace)}
}

var (
	priority = dispatchtest.Priority
	needs    = dispatchtest.Needs
	ref      = dispatchtest.Ref
)
