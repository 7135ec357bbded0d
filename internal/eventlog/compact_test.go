package eventlog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// age makes the first n events of a job 100 days older.
func age(t *testing.T, d *db.DB, job ids.ID, n int) {
	t.Helper()
	dbfactory.Exec(t, d, `UPDATE event SET at = at - interval '100 days'
		WHERE id IN (SELECT id FROM event WHERE job_id = $1 ORDER BY id LIMIT $2)`, job, n)
}

func events(t *testing.T, d *db.DB, workspace, job ids.ID) []eventlog.Event {
	t.Helper()
	list, err := eventlog.New(d, nil).OfJob(t.Context(), tenancy.System(workspace, "test"), job, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// compact goes round once.
func compact(t *testing.T, d *db.DB) int {
	t.Helper()
	n, err := eventlog.New(d, nil).Compact(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// 51 old events become one that says the same, at the place of the newest of
// them; 50 stay as they are, and so does everything that is younger.
func TestOldEventsOfAJobAreFolded(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	many, few, young := job(t, d, workspace), job(t, d, workspace), job(t, d, workspace)
	write(t, d, workspace, many, 54)
	write(t, d, workspace, few, 54)
	write(t, d, workspace, young, 54)
	age(t, d, many, 51)
	age(t, d, few, 50)
	before := events(t, d, workspace, many)

	if n := compact(t, d); n != 1 {
		t.Errorf("%d jobs were folded; want 1", n)
	}
	if n := len(events(t, d, workspace, few)) + len(events(t, d, workspace, young)); n != 108 {
		t.Errorf("the others have %d events; want all 108", n)
	}
	after := events(t, d, workspace, many)
	if diff := cmp.Diff(before[:3], after[:3], cmp.AllowUnexported(eventlog.Cursor{})); diff != "" || len(after) != 4 {
		t.Fatalf("%d events; want the young ones and one more (-before +after):\n%s", len(after), diff)
	}
	sum, newest := after[3], before[3]
	if sum.Type != eventlog.JobCompacted || sum.ID != newest.ID || sum.Cursor != newest.Cursor || !sum.At.Equal(newest.At) || sum.Epoch == nil || *sum.Epoch != 6 {
		t.Errorf("the sum is %+v; want it in the place of %+v", sum, newest)
	}
	if n := compact(t, d); n != 0 {
		t.Errorf("a second time: %d jobs; want none", n)
	}
	checkSum(t, sum, before)
}

// checkSum fails the test where the sum of 51 events does not say what they said.
func checkSum(t *testing.T, sum eventlog.Event, before []eventlog.Event) {
	t.Helper()
	var payload struct {
		Events   int
		Epoch    int
		From, To time.Time
		Types    map[string]int
	}
	if err := json.Unmarshal(sum.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	if payload.Events != 51 || payload.Epoch != 6 || !payload.To.Equal(before[3].At) || !payload.From.Equal(before[53].At) ||
		payload.Types["job.progressed"] != 26 || payload.Types["job.edited"] != 25 {
		t.Errorf("it says %s", sum.Payload)
	}
	if len(sum.Changes) != 52 || fmt.Sprint(sum.Changes[0]) != "{step 0 51  }" {
		t.Errorf("its changes begin with %v, of %d; want the first old and the last new value of 52 fields", sum.Changes[0], len(sum.Changes))
	}
}

// What was folded before is folded again with what has become old since, and
// counted by what it was.
func TestASumIsFoldedIntoTheNext(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	one := job(t, d, workspace)
	write(t, d, workspace, one, 60)
	age(t, d, one, 60)
	from := dbfactory.Text(t, d, `SELECT to_jsonb(min(at))#>>'{}' FROM event`)
	compact(t, d)
	write(t, d, workspace, one, 50)
	age(t, d, one, 51)
	if n := compact(t, d); n != 1 {
		t.Fatalf("%d jobs were folded; want 1", n)
	}
	got := dbfactory.Text(t, d, `SELECT payload - 'to' || jsonb_build_object('first', changes->0) FROM event`)
	want := fmt.Sprintf(`{"from": %q, "epoch": 6, "first": {"new": 50, "old": 0, "field": "step"}, "types": {"job.edited": 55, "job.progressed": 55}, "events": 110}`, from)
	if got != want {
		t.Errorf("the sum is\n%s; want\n%s", got, want)
	}
}

// A reader that stands among events which are folded then still gets every
// younger one, once; one that comes later reads the sum in their place.
func TestATailAmongOldEventsSkipsNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	one, other := job(t, d, workspace), job(t, d, workspace)
	write(t, d, workspace, one, 30)
	write(t, d, workspace, other, 3)
	write(t, d, workspace, one, 40)
	age(t, d, one, 60)
	settle(t, d)
	log, who := eventlog.New(d, nil), tenancy.System(workspace, "test")
	before, middle, err := log.Tail(t.Context(), who, eventlog.Cursor{}, 20)
	if err != nil || len(before) != 20 {
		t.Fatal(len(before), err)
	}
	if n := compact(t, d); n != 1 {
		t.Fatalf("%d jobs were folded; want 1", n)
	}
	rest, _, err := log.Tail(t.Context(), who, middle, 200)
	if err != nil || len(rest) != 3+1+10 || rest[3].Type != eventlog.JobCompacted {
		t.Errorf("from the middle on: %v, %v; want the other job's three, the sum and the ten that are young", typesOf(rest), err)
	}
	for i, e := range rest[1:] {
		if !rest[i].Cursor.Before(e.Cursor) {
			t.Errorf("%s comes after %s", e.Cursor, rest[i].Cursor)
		}
	}
	if again := forwards(t, log, who, eventlog.Filter{}, 7); len(again) != 14 {
		t.Errorf("from the beginning: %v; want the same 14", again)
	}
}

// Two that fold the same job at once: one does it, the other finds it done.
func TestTwoFoldTheSameJob(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	one := job(t, d, workspace)
	write(t, d, workspace, one, 60)
	age(t, d, one, 60)
	var wg sync.WaitGroup
	folded := make([]int, 4)
	for i := range folded {
		wg.Go(func() {
			err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
				return tx.QueryRow(t.Context(), `SELECT compact_job_events($1, $2)`, workspace, one).Scan(&folded[i])
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range folded {
		sum += n
	}
	if n := dbfactory.Int(t, d, `SELECT (payload->>'events')::int FROM event`); sum != 60 || n != 60 {
		t.Errorf("%v were folded, the sum stands for %d; want 60 by one of them", folded, n)
	}
}

// The application may ask for the folding and for nothing else: not of another
// workspace, and it changes and deletes no event itself.
func TestTheApplicationChangesNoEvent(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	mine, theirs := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	one := job(t, d, theirs)
	write(t, d, theirs, one, 60)
	age(t, d, one, 60)
	for _, sql := range []string{
		`UPDATE event SET actor = 'nobody' WHERE workspace_id = $1 AND job_id = $2`,
		`DELETE FROM event WHERE workspace_id = $1 AND job_id = $2`,
		`SELECT compact_job_events($1, $2)`,
	} {
		err := d.In(t.Context(), db.Workspace(mine), func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), sql, theirs, one)
			return err
		})
		if err == nil {
			t.Errorf("%s was allowed", sql)
		}
	}
	err := d.In(t.Context(), db.System, func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT compact_job_events($1, $2)`, theirs, one)
		return err
	})
	if err == nil {
		t.Error("the system role folded events")
	}
	if n := dbfactory.Int(t, d, `SELECT count(*) FROM event WHERE job_id = $1`, one); n != 60 {
		t.Errorf("%d events are left; want 60", n)
	}
	if n := dbfactory.Int(t, d, `SELECT count(*) FROM pg_proc p, aclexplode(p.proacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
		WHERE p.proname = 'compact_job_events' AND a.grantee <> p.proowner AND r.rolname IS DISTINCT FROM 'fleetboard_app'`); n != 0 {
		t.Errorf("%d others may call the function; want none", n)
	}
}

// The tables' owner need not be a superuser: the folding works for one who is
// subject to the policies, and is confined to the workspace even then.
func TestAnOwnerWithoutAllRightsFolds(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	one := job(t, d, workspace)
	write(t, d, workspace, one, 60)
	age(t, d, one, 60)
	owner := "owner_" + workspace.String()[24:]
	for _, sql := range []string{
		`CREATE ROLE ` + owner + ` NOSUPERUSER NOBYPASSRLS`,
		`GRANT USAGE ON SCHEMA public TO ` + owner,
		`ALTER TABLE event OWNER TO ` + owner,
		`ALTER FUNCTION compact_job_events OWNER TO ` + owner,
		`ALTER POLICY compaction ON event TO ` + owner,
		`ALTER FUNCTION event_told OWNER TO ` + owner,
		`ALTER FUNCTION release_contents OWNER TO ` + owner,
		`ALTER FUNCTION collect_contents OWNER TO ` + owner,
		`ALTER TABLE content OWNER TO ` + owner,
		`ALTER TABLE event_content OWNER TO ` + owner,
		`ALTER POLICY compaction ON content TO ` + owner,
		`ALTER POLICY compaction ON event_content TO ` + owner,
	} {
		dbfactory.Exec(t, d, sql)
	}
	all := dbtest.Owner(t, d)
	t.Cleanup(func() { // roles are the server's, not the database's
		for _, sql := range []string{`REASSIGN OWNED BY ` + owner + ` TO CURRENT_USER`, `DROP OWNED BY ` + owner, `DROP ROLE ` + owner} {
			if _, err := all.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	if n := compact(t, d); n != 1 {
		t.Errorf("%d jobs were folded; want 1", n)
	}
}

// One call looks at a bounded number of jobs; the next one goes on behind them,
// through every workspace, and then begins again.
func TestCompactionGoesRound(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	first, second := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	job(t, d, first)
	dbfactory.Exec(t, d, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
		SELECT workspace_id, gen_random_uuid(), 'X-' || g, 'X', product_id, lane_id, 'blocked', 'x' FROM job, generate_series(1, 2100) g`)
	last := job(t, d, second)
	write(t, d, second, last, 60)
	age(t, d, last, 60)
	log := eventlog.New(d, nil)
	for call, want := range []int{0, 1, 0, 1, 0} {
		if n, err := log.Compact(t.Context()); err != nil || n != want {
			t.Errorf("call %d: %d jobs, %v; want %d", call, n, err, want)
		}
		if call == 1 {
			write(t, d, second, last, 60)
			age(t, d, last, 61) // the sum of the first 60 among them
		}
	}
	if n := dbfactory.Int(t, d, `SELECT count(*) FROM event`); n != 1 {
		t.Errorf("%d events are left; want 1", n)
	}
}
