package secrets_test

import (
	"encoding/json"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// fixture is a workspace with its jobs and their secrets.
type fixture struct {
	*jobstest.Workspace
	*jobs.Service
}

func setup(t *testing.T) *fixture {
	t.Helper()
	w := jobstest.New(t)
	return &fixture{Workspace: w, Service: w.Jobs}
}

func (b *fixture) owner() tenancy.Principal {
	return dbfactory.Person(b.Who.Workspace, tenancy.RoleOwner)
}

// withSecrets returns a new job with the inputs of which the named ones are secret.
func withSecrets(title, input string, keys ...string) jobs.New {
	return jobs.New{Spec: jobs.Spec{Title: title}, InputContext: json.RawMessage(input), SecretKeys: keys}
}
