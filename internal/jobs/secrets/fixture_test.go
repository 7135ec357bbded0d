package secrets_test

import (
	"encoding/json"
	"testing"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// fixture is a workspace with its jobs.
type fixture struct {
	t   *testing.T
	db  *db.DB
	who tenancy.Principal
	*jobs.Service
}

// silence tells nobody anything.
type silence struct{}

func (silence) Publish(...string) {}

func setup(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return &fixture{t: t, db: d, who: dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleMember),
		Service: jobs.NewService(d, silence{}, dbtest.Vault(d))}
}

func (b *fixture) owner() tenancy.Principal {
	return dbfactory.Person(b.who.Workspace, tenancy.RoleOwner)
}

func (b *fixture) create(list ...jobs.New) []jobs.Job {
	b.t.Helper()
	made, err := b.Create(b.t.Context(), b.who, jobs.Origin{}, list...)
	if err != nil {
		b.t.Fatal(err)
	}
	return made.Jobs
}

// withSecrets is a new job with the inputs of which the named ones are secret.
func withSecrets(title, input string, keys ...string) jobs.New {
	return jobs.New{Title: title, InputContext: json.RawMessage(input), SecretKeys: keys}
}
