package jobs_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// The table is guarded again where it is written: a decision about a job that is
// in another status by now, or of another epoch, changes nothing and leaves no event.
func TestADecisionAboutWhatWasIsNotWritten(t *testing.T) {
	for name, meanwhile := range map[string]string{
		"another status": `UPDATE job SET status = 'paused'`,
		"another epoch":  `UPDATE job SET epoch = epoch + 1`,
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			j := b.create(jobs.New{Spec: jobs.Spec{Title: "one"}})[0]
			d, err := j.Block("because")
			if err != nil {
				t.Fatal(err)
			}
			dbfactory.Exec(t, b.db, meanwhile)
			err = b.db.In(t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
				_, err := jobs.SaveTx(t.Context(), tx, b.who, d)
				return err
			})
			if !fault.Is(err, fault.InvalidTransition) {
				t.Errorf("%v; want a refusal", err)
			}
			if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job WHERE status = 'blocked'`) +
				dbfactory.Int(t, b.db, `SELECT count(*) FROM event WHERE type = 'job.blocked'`); n != 0 {
				t.Errorf("%d traces of what was refused", n)
			}
		})
	}
}

// An edge that the table does not name is refused where it is written, whoever
// made the decision.
func TestAnEdgeThatTheTableDoesNotNameIsNotWritten(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Spec: jobs.Spec{Title: "one"}})[0]
	d, err := j.Block("because")
	if err != nil {
		t.Fatal(err)
	}
	d.After.Status = jobs.Completed
	err = b.db.In(t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
		_, err := jobs.SaveTx(t.Context(), tx, b.who, d)
		return err
	})
	if !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("%v; want a refusal", err)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job WHERE status = 'completed'`); n != 0 {
		t.Error("a block has completed the job")
	}
}
