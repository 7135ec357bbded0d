package joblog_test

import (
	"testing"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/joblog"
	"fleetboard/internal/tenancy"
)

// fixture is a workspace with its jobs.
type fixture struct {
	t    *testing.T
	db   *db.DB
	who  tenancy.Principal
	jobs *jobs.Service
	*joblog.Service
}

// silence tells nobody anything.
type silence struct{}

func (silence) Publish(...string) {}

func setup(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return &fixture{t: t, db: d, who: dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleMember),
		jobs: jobs.NewService(d, silence{}, dbtest.Vault(d)), Service: joblog.NewService(d)}
}

func (b *fixture) create(list ...jobs.New) []jobs.Job {
	b.t.Helper()
	made, err := b.jobs.Create(b.t.Context(), b.who, jobs.Origin{}, list...)
	if err != nil {
		b.t.Fatal(err)
	}
	return made.Jobs
}
