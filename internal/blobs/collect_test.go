package blobs_test

import (
	"errors"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A blob stays for a grace, for as long as something names it, and for a grace after that.
func TestABlobIsCollectedWhenNothingNamesIt(t *testing.T) {
	f := setup(t)
	free, ofJob, ofMessage := f.put(f.Owner, []byte("free")), f.put(f.Owner, []byte("of a job")), f.put(f.Owner, []byte("of a message"))
	job, message := f.Job("a"), ids.New()
	if err := f.refer(f.Owner, ofJob.Sum, job); err != nil {
		t.Fatal(err)
	}
	err := f.DB.In(f.Ctx, db.Workspace(f.Workspace), func(tx db.Tx) error {
		return f.ReferTx(f.Ctx, tx, f.Owner, ofMessage.Sum, blobs.Ref{Message: message})
	})
	if err != nil {
		t.Fatal(err)
	}
	there := func(what string, want ...blobs.Blob) {
		t.Helper()
		f.collected()
		f.exact()
		for _, b := range []blobs.Blob{free, ofJob, ofMessage} {
			wanted := false
			for _, w := range want {
				wanted = wanted || w.Sum == b.Sum
			}
			if _, err := f.Open(f.Ctx, f.Owner, b.Sum); wanted != (err == nil) {
				t.Errorf("%s: %s: %v", what, b.Sum, err)
			}
		}
	}
	f.later(23)
	there("within the grace", free, ofJob, ofMessage)
	f.put(f.Owner, []byte("free"))
	f.later(2)
	there("put again", free, ofJob, ofMessage)
	f.later(25)
	there("after the grace", ofJob, ofMessage)
	f.Act(job, jobs.ByCancel)
	if err := f.Jobs.Purge(f.Ctx, f.Owner, job.Key); err != nil {
		t.Fatal(err)
	}
	err = f.DB.In(f.Ctx, db.Workspace(f.Workspace), func(tx db.Tx) error {
		return f.ForgetMessagesTx(f.Ctx, tx, f.Workspace, []ids.ID{message})
	})
	if err != nil {
		t.Fatal(err)
	}
	f.later(23)
	there("nothing names them for a while", ofJob, ofMessage)
	f.later(2)
	there("nothing names them")
	f.later(2)
	f.collected()
	if n := f.count("blob_data") + f.count("blob_chunk"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	f.exact()
}

// A blob that is named while it is to be collected stays, or the one who names it learns
// that it is gone.
func TestABlobIsNamedWhileItIsCollected(t *testing.T) {
	f := setup(t)
	job := f.Job("a")
	t.Run("named first", func(t *testing.T) {
		b := f.put(f.Owner, []byte("named first"))
		f.later(25)
		err := f.DB.In(f.Ctx, db.Workspace(f.Workspace), func(tx db.Tx) error {
			if err := f.ReferTx(f.Ctx, tx, f.Owner, b.Sum, blobs.Ref{Job: job.ID}); err != nil {
				return err
			}
			_, err := f.Collect(f.Ctx) // another process, before this one commits
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		f.collected()
		f.holds(f.Owner, []byte("named first"))
	})
	t.Run("collected first", func(t *testing.T) {
		b := f.put(f.Owner, []byte("collected first"))
		f.later(25)
		// The collector has locked and deleted the row of the blob and waits for that of its bytes.
		release := f.Hold(`SELECT FROM blob_data d JOIN blob b ON b.data_id = d.id WHERE b.sha256 = $1 FOR UPDATE OF d`, b.Sum[:])
		ended, named := make(chan error, 1), make(chan error, 1)
		go func() { _, err := f.Collect(f.Ctx); ended <- err }()
		f.Blocked(1)
		go func() { named <- f.refer(f.Owner, b.Sum, job) }()
		f.Blocked(2)
		release()
		if err := errors.Join(<-ended); err != nil {
			t.Error(err)
		}
		if err := <-named; !fault.Is(err, fault.NotFound) {
			t.Errorf("it is named after it was collected: %v", err)
		}
		if n := dbfactory.Int(t, f.DB, `SELECT count(*) FROM blob_ref r WHERE NOT EXISTS (SELECT FROM blob b
			WHERE b.workspace_id = r.workspace_id AND b.sha256 = r.sha256)`); n != 0 {
			t.Errorf("%d references lead nowhere", n)
		}
	})
	f.exact()
}

// A workspace goes with its blobs.
func TestAWorkspaceGoesWithItsBlobs(t *testing.T) {
	f := setup(t)
	b := f.put(f.Owner, []byte("x"))
	err := f.DB.In(f.Ctx, db.Workspace(f.Workspace), func(tx db.Tx) error {
		return f.ReferTx(f.Ctx, tx, f.Owner, b.Sum, blobs.Ref{Message: ids.New()})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.refer(f.Owner, b.Sum, f.Job("a")); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, f.DB, `DELETE FROM workspace`)
	for _, table := range []string{"blob", "blob_data", "blob_chunk", "blob_room", "blob_ref", "blob_putter"} {
		if n := f.count(table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}
