// Package jobstest gives tests of what builds on jobs a workspace with its jobs.
package jobstest

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Workspace is a workspace of its own, a member of it and its jobs.
type Workspace struct {
	T    *testing.T
	DB   *db.DB
	Who  tenancy.Principal
	Jobs *jobs.Service
}

// Silence notifies nobody.
type Silence struct{}

// Publish is what jobs notify others by.
func (Silence) Publish(...string) {}

// New makes a workspace in a database of its own; the test runs beside others.
func New(t *testing.T) *Workspace {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return &Workspace{T: t, DB: d, Who: dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleMember),
		Jobs: jobs.NewService(d, Silence{}, dbtest.Vault(d), nil)}
}

// Beside makes another workspace in the same database.
func (w *Workspace) Beside() *Workspace {
	w.T.Helper()
	return &Workspace{T: w.T, DB: w.DB, Who: dbfactory.Person(dbfactory.Workspace(w.T, w.DB), tenancy.RoleMember), Jobs: w.Jobs}
}

// NewJobs makes jobs as the member.
func (w *Workspace) NewJobs(list ...jobs.New) []jobs.Job {
	w.T.Helper()
	made, err := w.Jobs.Create(w.T.Context(), w.Who, nil, list...)
	if err != nil {
		w.T.Fatal(err)
	}
	return made.Jobs
}
