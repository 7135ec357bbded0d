package attempts_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
)

// fixture is a workspace with its jobs.
type fixture struct {
	*jobstest.Workspace
	*attempts.Service
}

func setup(t *testing.T) *fixture {
	t.Helper()
	w := jobstest.New(t)
	return &fixture{Workspace: w, Service: attempts.NewService(w.DB)}
}
