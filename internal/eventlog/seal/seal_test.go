package seal_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var keys = seal.NewKeys([]byte("the server's secret key of tests"))

// memory keeps marks as long as a test runs.
type memory struct {
	mu    sync.Mutex
	text  []byte
	saved int
}

func (m *memory) Load(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text, nil
}

func (m *memory) Save(_ context.Context, text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text, m.saved = text, m.saved+1
	return nil
}

// workspaceLog is a workspace with a log.
type workspaceLog struct {
	t         *testing.T
	db        *db.DB
	owner     *pgx.Conn // a hand in the database
	workspace ids.ID
	sealer    *seal.Sealer
	marks     *memory
}

func newWorkspaceLog(t *testing.T) *workspaceLog {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return &workspaceLog{t: t, db: d, owner: dbtest.Owner(t, d), workspace: dbfactory.Workspace(t, d), sealer: seal.New(d, keys), marks: &memory{}}
}

// happen appends n events, each in a transaction of its own.
func (w *workspaceLog) happen(n int) {
	w.t.Helper()
	for i := range n {
		job, epoch := ids.New(), int64(i+1)
		err := w.db.In(w.t.Context(), db.Workspace(w.workspace), func(tx db.Tx) error {
			return eventlog.AppendTx(w.t.Context(), tx, w.workspace, eventlog.Event{Type: eventlog.JobProgressed, JobID: &job,
				Actor: tenancy.Actor{Kind: tenancy.KindAgent, ID: "1", Name: "ada"}, Epoch: &epoch, Changes: []eventlog.Change{{Field: "step", Old: i, New: i + 1}}})
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// exec does something as a hand in the database would, past all rights.
func (w *workspaceLog) exec(sql string, args ...any) int64 {
	w.t.Helper()
	tag, err := w.owner.Exec(w.t.Context(), sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return tag.RowsAffected()
}

// settled gives all events transactions that ended long ago, so that no
// transaction of another test keeps them back.
func (w *workspaceLog) settled() {
	w.t.Helper()
	w.exec(`UPDATE event SET xid = (id + 2)::text::xid8 WHERE id > coalesce((SELECT max(i) FROM log_seal, unnest(event_ids) i), 0)`)
}

func (w *workspaceLog) seal() int {
	w.t.Helper()
	n, err := w.sealer.Seal(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *workspaceLog) keep() []seal.Cut {
	w.t.Helper()
	cuts, err := seal.Keep(w.t.Context(), w.db, keys, w.marks)
	if err != nil {
		w.t.Fatal(err)
	}
	return cuts
}

// findings returns what is wrong with the log.
func (w *workspaceLog) findings() []string {
	w.t.Helper()
	v, err := seal.NewVerifier(w.t.Context(), w.db, keys, w.marks)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	if err := v.Check(w.t.Context(), w.workspace, func(d string) { list = append(list, d) }); err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *workspaceLog) wants(when string, words ...string) {
	w.t.Helper()
	got := w.findings()
	if len(words) == 0 && len(got) > 0 {
		w.t.Errorf("%s: %q was found; want nothing", when, got)
	}
	for _, word := range words {
		if !strings.Contains(strings.Join(got, "; "), word) {
			w.t.Errorf("%s: %q was found; want %q", when, got, word)
		}
	}
}

// newSealedLog has a log of ten sealed events in two blocks, and marks of it.
func newSealedLog(t *testing.T) *workspaceLog {
	t.Helper()
	w := newWorkspaceLog(t)
	for range 2 {
		w.happen(5)
		w.settled()
		if n := w.seal(); n != 5 {
			t.Fatalf("%d events were sealed; want 5", n)
		}
	}
	if cuts := w.keep(); len(cuts) > 0 {
		t.Fatalf("cut: %v", cuts)
	}
	w.wants("untouched")
	return w
}

// Whatever column of an event is changed, the seal shows it. A new column that no seal
// covers fails here.
func TestEveryColumnOfAnEventIsSealed(t *testing.T) {
	changes := map[string]string{
		"id": `(SELECT max(id) + 1 FROM event)`, "xid": `'5'::xid8`, "type": `'job.paused'`, "job_id": `gen_random_uuid()`, "actor": `'eve'`,
		"actor_kind": `'person'`, "actor_id": `'eve'`, "epoch": `epoch + 1`, "at": `at + interval '1 microsecond'`, "saved_at": `now()`, "changes": `'[]'`, "payload": `'{"a": 1}'`,
	}
	w := newSealedLog(t)
	var columns []string
	err := w.owner.QueryRow(t.Context(), `SELECT array_agg(attname::text) FROM pg_attribute
		WHERE attrelid = 'event'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'workspace_id'`).Scan(&columns)
	if err != nil || len(columns) == 0 {
		t.Fatal(err)
	}
	w.exec(`CREATE TABLE kept AS TABLE event`)
	w.exec(`ALTER TABLE event ALTER id DROP IDENTITY`)
	for _, column := range columns {
		value, known := changes[column]
		if !known {
			t.Errorf("no case changes the column %s", column)
			continue
		}
		if n := w.exec(fmt.Sprintf(`UPDATE event SET %s = %s WHERE id = 7`, column, value)); n != 1 {
			t.Fatalf("%s: %d rows were changed", column, n)
		}
		if len(w.findings()) == 0 {
			t.Errorf("a change of %s is not found", column)
		}
		w.exec(`DELETE FROM event`)
		w.exec(`INSERT INTO event SELECT * FROM kept`)
	}
	w.wants("restored")
}

// Each thing that a hand in the database can do to the log is found, and reported as what
// it is.
func TestDamageIsFound(t *testing.T) {
	const sign = `SELECT workspace_id, number + 1, false, to_xid, to_id, '{}', '', digest, digest, signer, signature
		FROM log_seal ORDER BY number DESC LIMIT 1`
	for what, c := range map[string]struct{ sql, want string }{
		"an event is gone":          {`DELETE FROM event WHERE id = 3`, "event 3 is gone"},
		"the last sealed one":       {`DELETE FROM event WHERE id = 10`, "event 10 is gone"},
		"all events are gone":       {`DELETE FROM event`, "event 1 is gone; event 2 is gone"},
		"an event is added":         {`INSERT INTO event (workspace_id, xid, type, actor, actor_kind) SELECT workspace_id, xid, 'job.edited', 'a', 'b' FROM event WHERE id = 4`, "(job.edited) was added later"},
		"a block is gone":           {`DELETE FROM log_seal WHERE number = 2`, "block 3 does not follow block 1"},
		"the first block is gone":   {`DELETE FROM log_seal WHERE number = 1`, "the block that opens the chain is gone"},
		"the last block is gone":    {`DELETE FROM log_seal WHERE number = 3`, "it was sealed up to block 3 and ends at block 2"},
		"all blocks are gone":       {`DELETE FROM log_seal`, "it was sealed up to block 3 and ends at block 0"},
		"the end and its events":    {`WITH b AS (DELETE FROM log_seal WHERE number = 3) DELETE FROM event WHERE id > 5`, "it was cut, or is an older copy"},
		"a digest is put right":     {`UPDATE log_seal SET event_digests = overlay(event_digests PLACING '\x00' FROM 1) WHERE number = 2`, "block 2 was changed"},
		"an event is left out":      {`UPDATE log_seal SET event_ids = event_ids[2:], event_digests = substr(event_digests, 33) WHERE number = 2`, "block 2 was changed"},
		"a block is signed anew":    {`UPDATE log_seal SET digest = sha256('x'), signature = sha512('x') WHERE number = 3`, "block 3 is not the one that was sealed"},
		"a block is made up":        {`INSERT INTO log_seal (workspace_id, number, opens, to_xid, to_id, event_ids, event_digests, previous, digest, signer, signature) ` + sign, "block 4 was changed"},
		"compaction is made up":     {`WITH gone AS (DELETE FROM event WHERE id < 5) UPDATE event SET type = 'job.compacted', payload = '{"events": 5}' WHERE id = 5`, "event 5 was changed"},
		"a fold is made up":         {`WITH gone AS (DELETE FROM event WHERE id = 2) INSERT INTO log_fold (workspace_id, event_id, event_digest, removed_ids, signer, signature) SELECT workspace_id, 3, sha256('x'), '{2}', signer, signature FROM log_seal WHERE number = 2`, "the fold into event 3 is not signed"},
		"a chain is opened by hand": {`INSERT INTO log_seal (workspace_id, number, opens, to_xid, to_id, event_ids, event_digests, previous, digest, signer, signature) SELECT workspace_id, 4, true, '0', 0, '{}', '', digest, digest, signer, signature FROM log_seal WHERE number = 3`, "block 4 was changed"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newSealedLog(t)
			if n := w.exec(c.sql); n == 0 {
				t.Fatal("nothing was damaged")
			}
			w.wants(what, c.want)
		})
	}
}

// An event whose transaction commits late is sealed where it belongs: the sealer
// stays behind the oldest transaction that still runs.
func TestSealsStayBehindTheTail(t *testing.T) {
	w := newWorkspaceLog(t)
	ctx := t.Context()
	early, err := w.owner.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := early.Exec(ctx, `INSERT INTO event (workspace_id, type, actor, actor_kind) VALUES ($1, 'job.edited', 'a', 'b')`, w.workspace); err != nil {
		t.Fatal(err)
	}
	w.happen(3)
	if n := w.seal(); n != 0 {
		t.Errorf("%d events were sealed before an earlier one", n)
	}
	if err := early.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	w.settled()
	if n := w.seal(); n != 4 {
		t.Errorf("%d events were sealed; want 4", n)
	}
	w.wants("in order")
}

// A log of more than one block is sealed whole, by however many at once.
func TestManyMaySealAtOnce(t *testing.T) {
	w := newWorkspaceLog(t)
	w.exec(`INSERT INTO event (workspace_id, xid, type, actor, actor_kind)
		SELECT $1, (g / 100 + 3)::text::xid8, 'job.edited', 'a', 'b' FROM generate_series(1, 5000) g`, w.workspace)
	var all errgroup.Group
	sealed := make([]int, 4)
	for i := range sealed {
		all.Go(func() error {
			for range 10 {
				n, err := w.sealer.Seal(t.Context())
				sealed[i] += n
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, n := range sealed {
		total += n
	}
	if n := dbfactory.Int(t, w.db, `SELECT sum(cardinality(event_ids)) FROM log_seal`); n != 5000 || total != 5000 {
		t.Errorf("%d events are in blocks, %d were sealed; want 5000", n, total)
	}
	w.wants("sealed by four")
}

// Compaction says what it folded, and the log stays whole; a second fold takes in
// the sum of the first.
func TestFoldsAreExcused(t *testing.T) {
	w := newWorkspaceLog(t)
	job := dbfactory.Text(t, w.db, `WITH p AS (SELECT workspace_id, id FROM product WHERE workspace_id = $1), l AS (
			INSERT INTO lane (workspace_id, needs, digest, product_id) SELECT workspace_id, '{}', '', id FROM p RETURNING id)
		INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
		SELECT $1, gen_random_uuid(), 'FB-1', 'A job', p.id, l.id, 'blocked', 'test' FROM p, l RETURNING id::text`, w.workspace)
	log := eventlog.New(w.db, w.sealer)
	for round := range 2 {
		w.exec(`INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, at)
			SELECT $1, 'job.edited', $2, 'a', 'b', now() - interval '100 days' FROM generate_series(1, 60) g`, w.workspace, job)
		w.settled()
		w.seal()
		w.keep()
		if n, err := log.Compact(t.Context()); n != 1 || err != nil {
			t.Fatalf("round %d: %d jobs were folded, %v", round, n, err)
		}
		if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event`); n != 1 {
			t.Fatalf("round %d: %d events are left", round, n)
		}
		w.wants("after compaction")
	}
	w.exec(`UPDATE event SET payload = payload || '{"events": 1}'`)
	w.wants("the sum was changed", "event 120 was changed")
	w.exec(`DELETE FROM event`)
	w.wants("the sum is gone", "event 120 is gone")
}

// So is what is left of a deleted job, where the deletion was noted.
func TestDeletedJobsAreExcused(t *testing.T) {
	for _, noted := range []bool{true, false} {
		t.Run(fmt.Sprintf("noted %t", noted), func(t *testing.T) {
			w := newWorkspaceLog(t)
			who := dbfactory.Person(w.workspace, tenancy.RoleOwner)
			var folds eventlog.Folds
			if noted {
				folds = w.sealer
			}
			list := jobs.NewService(w.db, silent{}, dbtest.Vault(w.db), folds)
			made, err := list.Create(t.Context(), who, nil, jobs.New{Spec: jobs.Spec{Title: "A job"}})
			if err != nil {
				t.Fatal(err)
			}
			w.exec(`UPDATE job SET status = 'failed', failed_at = now(), ready_at = NULL WHERE id = $1`, made.Jobs[0].ID)
			w.settled()
			w.seal()
			w.keep()
			first := dbfactory.Int(t, w.db, `SELECT max(id) FROM event`)
			if err := list.Purge(t.Context(), who, made.Jobs[0].Key); err != nil {
				t.Fatal(err)
			}
			w.settled()
			w.seal()
			w.keep()
			if noted {
				w.wants("after a deletion")
			} else {
				w.wants("after a deletion that nobody noted", fmt.Sprintf("event %d is gone", first))
			}
		})
	}
}

// silent wakes nobody.
type silent struct{}

func (silent) Publish(...string) {}
