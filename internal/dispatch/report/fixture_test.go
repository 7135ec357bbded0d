package report_test

import (
	"encoding/json"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
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
	retries = dispatchtest.Retries
	ref     = dispatchtest.Ref
)

func number[T any](v T) *T { return &v }

const canary = "canary-7f3a"

// secret makes TOKEN a secret input of a new job.
func secret(n *jobs.New) {
	n.InputContext, n.SecretKeys = json.RawMessage(`{"URL":"https://x","TOKEN":"`+canary+`"}`), []string{"TOKEN"}
}
