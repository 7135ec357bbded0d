package jobs_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A product that is taken away while a job of it is being made is one that there
// is not, and a repo of it belongs to the default product again.
func TestAJobIsMadeWhileItsProductIsTakenAway(t *testing.T) {
	for name, c := range map[string]struct {
		job  jobs.New
		want fault.Code
	}{
		"named":          {jobs.New{Spec: jobs.Spec{Title: "a"}, Product: "ledger"}, fault.Validation},
		"through a repo": {jobs.New{Spec: jobs.Spec{Title: "b", Repo: "api"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			p, _ := b.put("ledger", jobs.ProductSettings{Repos: []string{"api"}})
			deletion, err := dbtest.Owner(t, b.db).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = deletion.Rollback(t.Context()) }()
			if _, err := deletion.Exec(t.Context(), `DELETE FROM product WHERE id = $1`, p.ID); err != nil {
				t.Fatal(err)
			}
			answer := make(chan error, 1)
			var made jobs.Created
			go func() {
				var err error
				made, err = b.Create(t.Context(), b.who, b.Key("once", []byte("x")), c.job)
				answer <- err
			}()
			waitForWaiter(t, deletion)
			if err := deletion.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			err = <-answer
			switch {
			case c.want != "" && (!fault.Is(err, c.want) || fault.From(err).Fields["product"] == ""):
				t.Errorf("%v with fields %v; want %s of the product", err, fault.From(err).Fields, c.want)
			case c.want == "" && (err != nil || made.Jobs[0].Product != jobs.DefaultProduct):
				t.Errorf("%+v, %v; want a job of the default product", made.Jobs, err)
			}
		})
	}
}

// waitForWaiter returns once another transaction waits for a lock of this one.
func waitForWaiter(t *testing.T, holder pgx.Tx) {
	t.Helper()
	for waiting := 0; waiting == 0; {
		err := holder.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Only a claim that is taking the job is worth another try. A lock that was not
// had in its whole time is not: the caller has waited long enough.
func TestAChangeWaitsForALockOnce(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Spec: jobs.Spec{Title: "a"}})[0]
	holder, err := dbtest.Owner(t, b.db).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(t.Context()) }()
	if _, err := holder.Exec(t.Context(), `SELECT 1 FROM job WHERE id = $1 FOR UPDATE`, j.ID); err != nil {
		t.Fatal(err)
	}
	tries, began := 0, time.Now()
	_, err = b.Change(t.Context(), b.who, func(tx db.Tx) (jobs.Job, error) {
		tries++
		if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = '50ms'`); err != nil {
			return jobs.Job{}, err
		}
		locked, err := jobs.LockTx(t.Context(), tx, b.who.Workspace, j.Key)
		return locked.Job, err
	})
	if !fault.Is(err, fault.Unavailable) || tries != 1 {
		t.Errorf("%d tries in %s, then %v; want unavailable after one", tries, time.Since(began), err)
	}

	grab := func(tx db.Tx) (jobs.Job, error) {
		tries++
		_, err := tx.Exec(t.Context(), `SELECT 1 FROM job WHERE id = $1 FOR UPDATE NOWAIT`, j.ID)
		return jobs.Job{}, err
	}
	tries = 0
	if _, err = b.Change(t.Context(), b.who, grab); !fault.Is(err, fault.Unavailable) || tries < 2 {
		t.Errorf("%d tries, then %v; want unavailable after several", tries, err)
	}
	tries = 0
	_, err = b.Change(t.Context(), b.who, func(tx db.Tx) (jobs.Job, error) {
		if tries == 6 {
			_ = holder.Rollback(t.Context())
		}
		return grab(tx)
	})
	if err != nil || tries != 7 {
		t.Errorf("%d tries, then %v; want the lock at the seventh", tries, err)
	}
}
