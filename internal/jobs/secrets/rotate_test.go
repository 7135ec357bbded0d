package secrets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func (b *fixture) keys() []secrets.Key {
	b.T.Helper()
	list, err := b.Secrets.Keys(b.T.Context(), b.owner())
	if err != nil {
		b.T.Fatal(err)
	}
	return list
}

// renew makes a new key, which must be possible.
func (b *fixture) renew() {
	b.T.Helper()
	if err := b.Secrets.RenewKey(b.T.Context(), b.owner()); err != nil {
		b.T.Fatal(err)
	}
}

// rotated calls the loop until nothing is left to do.
func (b *fixture) rotated() (moved int) {
	b.T.Helper()
	for {
		n, err := b.Secrets.RotateSecrets(b.T.Context())
		if err != nil {
			b.T.Fatal(err)
		}
		if moved += n; n == 0 {
			return moved
		}
	}
}

// manySecrets makes n jobs with per secrets each; value is what each one is.
func (b *fixture) manySecrets(n, per int) []jobs.Job {
	b.T.Helper()
	var made []jobs.Job
	for len(made) < n {
		var list []jobs.New
		for i := range min(jobs.MaxBatch, n-len(made)) {
			input, keys := map[string]string{}, []string{}
			for k := range per {
				name := fmt.Sprint("K", k)
				input[name], keys = value(len(made)+i, name), append(keys, name)
			}
			raw, err := json.Marshal(input)
			if err != nil {
				b.T.Fatal(err)
			}
			list = append(list, withSecrets(fmt.Sprint("job ", len(made)+i), string(raw), keys...))
		}
		made = append(made, b.NewJobs(list...)...)
	}
	return made
}

func value(job int, name string) string { return fmt.Sprintf("value of %d %s", job, name) }

// readers read jobs' secrets all the time until the returned function ends them;
// it gives how many values were read. Any that fails or is wrong fails the test.
func (b *fixture) readers(made []jobs.Job, per int) (stop func() int64) {
	ctx, cancel := context.WithCancel(context.Background())
	var read atomic.Int64
	var wg sync.WaitGroup
	for i := range 3 {
		service := b.Service
		if i == 2 {
			service = jobs.NewService(b.DB, jobstest.Silence{}, dbtest.Vault(b.DB), nil) // another process
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				at := rand.IntN(len(made) - 20)
				var revealed []jobs.Job
				err := b.DB.In(context.Background(), db.Workspace(b.Who.Workspace), func(tx db.Tx) (err error) {
					revealed, _, err = service.RevealTx(context.Background(), tx, b.Who.Workspace, made[at:at+20])
					return err
				})
				if err != nil || len(revealed) != 20 {
					b.T.Errorf("%d of 20 jobs were read: %v", len(revealed), err)
					return
				}
				for n, j := range revealed {
					for name, secret := range j.Secrets {
						if got, want := string(secret.Reveal()), `"`+value(at+n, name)+`"`; got != want {
							b.T.Errorf("%s of %s is %s; want %s", name, j.Key, got, want)
						}
						read.Add(1)
					}
					if len(j.Secrets) != per {
						b.T.Errorf("%s has %d secrets; want %d", j.Key, len(j.Secrets), per)
					}
				}
			}
		})
	}
	return func() int64 { cancel(); wg.Wait(); return read.Load() }
}

// Ten thousand values are encrypted anew by two processes at once while others
// read and write without a pause: no read fails or is wrong, each value is moved
// once, and what was written meanwhile is not left behind.
func TestTenThousandValuesAreRotatedWhileTheyAreRead(t *testing.T) {
	b := setup(t)
	const count, per = 2500, 4
	begin := time.Now()
	made := b.manySecrets(count, per)
	t.Logf("made %d values in %v", count*per, time.Since(begin))
	stop := b.readers(made, per)
	b.renew()
	begin = time.Now()
	var moved atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		other := jobs.NewService(b.DB, jobstest.Silence{}, dbtest.Vault(b.DB), nil)
		wg.Go(func() {
			for n := 1; n > 0; {
				var err error
				if n, err = other.Secrets.RotateSecrets(context.Background()); err != nil {
					t.Error(err)
				}
				moved.Add(int64(n))
			}
		})
	}
	for i := range 20 {
		b.NewJobs(withSecrets(fmt.Sprint("meanwhile ", i), `{"A":"new"}`, "A"))
	}
	wg.Wait()
	took := time.Since(begin)
	b.rotated()
	read := stop()
	t.Logf("moved %d values in %v, read %d meanwhile", moved.Load(), took, read)
	list := b.keys()
	if len(list) != 2 || list[1].RetiredAt == nil || list[1].Values != 0 || list[1].Moved != count*per || !list[0].Writes || !list[0].More {
		t.Errorf("the keys are %+v", list)
	}
	if left := dbfactory.Int(t, b.DB, `SELECT count(*) FROM job_secret WHERE key_id <> 2`); left != 0 || read == 0 {
		t.Errorf("%d values are left behind, %d were read", left, read)
	}
	for kind, want := range map[eventlog.Type]string{eventlog.KeyRotationBegun: `{"key": 2, "values": 10000}`, eventlog.KeyRotationDone: `{"key": 1, "values": 10000}`} {
		if got := dbfactory.Text(t, b.DB, `SELECT string_agg(payload::text, ' ') FROM event WHERE type = $1`, string(kind)); got != want {
			t.Errorf("%s says %s; want %s", kind, got, want)
		}
	}
}

// A rotation that is killed anywhere, again and again, goes on and ends.
func TestARotationThatIsKilledGoesOn(t *testing.T) {
	b := setup(t)
	made := b.manySecrets(600, 3)
	stop := b.readers(made, 3)
	b.renew()
	kills := 0
	for left := 1; left > 0; {
		// Each has more time than the one before: on a slow machine too one comes to a batch's end.
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(60+5*kills))*time.Millisecond)
		if _, err := b.Secrets.RotateSecrets(ctx); err != nil {
			kills++
		}
		cancel()
		left = dbfactory.Int(t, b.DB, `SELECT count(*) FROM workspace_key WHERE retired_at IS NULL AND id = 1`)
	}
	stop()
	t.Logf("%d kills", kills)
	if n := dbfactory.Int(t, b.DB, `SELECT count(*) FROM job_secret WHERE key_id = 2`); n != 1800 {
		t.Errorf("%d values have the new key", n)
	}
	if n := dbfactory.Int(t, b.DB, `SELECT count(*) FROM event WHERE type = 'key.rotation_done' AND payload->>'values' = '1800'`); n != 1 {
		t.Errorf("%d events tell of its end", n)
	}
}

// Who writes with the old key while it is to be retired keeps it alive until its
// value was moved, too.
func TestAKeyIsNotRetiredUnderAWriter(t *testing.T) {
	b := setup(t)
	b.NewJobs(withSecrets("a", `{"A":"one"}`, "A"))
	vault := dbtest.Vault(b.DB)
	retired := make(chan error, 1)
	err := b.DB.In(t.Context(), db.Workspace(b.Who.Workspace), func(tx db.Tx) error {
		// A writer has taken the first key and is slow.
		if _, err := vault.WriterTx(t.Context(), tx, b.Who.Workspace); err != nil {
			return err
		}
		b.renew()
		begun := make(chan struct{})
		go func() {
			close(begun)
			for range 3 {
				if _, err := b.Secrets.RotateSecrets(context.Background()); err != nil {
					retired <- err
					return
				}
			}
			retired <- nil
		}()
		<-begun
		// The value is moved; the key itself waits for the writer.
		for waits := 0; waits == 0; {
			waits = dbfactory.Int(t, b.DB, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
			if dbfactory.Int(t, b.DB, `SELECT count(*) FROM workspace_key WHERE retired_at IS NOT NULL`) != 0 {
				t.Error("the key was retired while somebody writes with it")
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-retired
	b.rotated()
	if list := b.keys(); list[1].RetiredAt == nil {
		t.Errorf("afterwards: %+v", list)
	}
}

// A value that was damaged stays where it is, keeps its key, and neither stops
// the others nor the loop.
func TestADamagedValueDoesNotStopARotation(t *testing.T) {
	b := setup(t)
	b.manySecrets(300, 1)
	dbfactory.Exec(t, b.DB, `UPDATE job_secret SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)
		WHERE job_id IN (SELECT job_id FROM job_secret ORDER BY job_id LIMIT 250)`)
	b.renew()
	if moved := b.rotated(); moved != 50 {
		t.Errorf("%d values were moved; want 50", moved)
	}
	if list := b.keys(); list[1].RetiredAt != nil || list[1].Values != 250 || list[1].Moved != 50 {
		t.Errorf("the keys are %+v", list)
	}
	if err := b.Secrets.RenewKey(t.Context(), b.owner()); !fault.Is(err, fault.InvalidTransition) {
		t.Errorf("another key at once: %v", err)
	}
	dbfactory.Exec(t, b.DB, `UPDATE workspace_key SET made_at = made_at - interval '2 hours'`)
	b.renew()
	if moved := b.rotated(); moved != 50 || len(b.keys()) != 3 {
		t.Errorf("the next rotation moved %d", moved)
	}
}

func TestWhoMayMakeAKey(t *testing.T) {
	b := setup(t)
	for _, role := range []tenancy.Role{tenancy.RoleAdmin, tenancy.RoleMember, tenancy.RoleViewer} {
		who := dbfactory.Person(b.Who.Workspace, role)
		if err := b.Secrets.RenewKey(t.Context(), who); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s makes a key: %v", role, err)
		}
		if _, err := b.Secrets.Keys(t.Context(), who); (err == nil) != (role == tenancy.RoleAdmin) {
			t.Errorf("%s reads the keys: %v", role, err)
		}
	}
	if n := len(b.keys()); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}
