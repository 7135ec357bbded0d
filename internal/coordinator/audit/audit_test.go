package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// life leads jobs through most of what can happen to one.
func (w *testWorkspace) life() map[string]jobs.Job {
	w.t.Helper()
	ctx := w.t.Context()
	_, _, err := w.jobs.PutProduct(ctx, w.owner, "ledger", jobs.ProductSettings{Repos: []string{"atlas"}, Serialise: jobs.SerialiseRepo})
	if err != nil {
		w.t.Fatal(err)
	}
	must := func(_ any, err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	at := time.Now().Add(time.Hour)
	yes := true
	ada := w.agent("ada")
	j := map[string]jobs.Job{
		"ready": w.job(jobs.New{Spec: jobs.Spec{Title: "Ready", Tags: []string{"b", "a"}, Phase: "M1",
			Capabilities: []string{"has:git"}}}),
		"timed":   w.job(jobs.New{Spec: jobs.Spec{Title: "Later", NotBefore: &at}}),
		"running": w.job(jobs.New{Spec: jobs.Spec{Title: "Running"}}),
		"done":    w.job(jobs.New{Spec: jobs.Spec{Title: "Done"}}),
		"failed":  w.job(jobs.New{Spec: jobs.Spec{Title: "Failed twice"}}),
		"review":  w.job(jobs.New{Spec: jobs.Spec{Title: "In review", ReviewOverride: &yes}}),
		"asked":   w.job(jobs.New{Spec: jobs.Spec{Title: "Asked and answered"}}),
		"paused":  w.job(jobs.New{Spec: jobs.Spec{Title: "Paused"}}),
		"slot":    w.job(jobs.New{Spec: jobs.Spec{Title: "First of the repo", Repo: "atlas"}}),
		"busy":    w.job(jobs.New{Spec: jobs.Spec{Title: "Second of the repo", Repo: "atlas"}}),
	}
	j["waiting"] = w.job(jobs.New{Spec: jobs.Spec{Title: "Waiting", DependsOn: []string{j["running"].Key}}})
	must(w.dispatch.Start(ctx, ada, w.claim(ada, j["running"]), nil))
	must(w.dispatch.Complete(ctx, ada, w.claim(ada, j["done"]), report.Completion{Summary: "All is well"}))
	must(w.dispatch.Fail(ctx, ada, w.claim(ada, j["failed"]), report.Failure{Error: "broken", Retryable: true}))
	must(w.dispatch.Complete(ctx, ada, w.claim(ada, j["review"]), report.Completion{}))
	w.act(j["review"], jobs.ByReject)
	must(w.dispatch.Complete(ctx, ada, w.claim(ada, j["review"]), report.Completion{}))
	must(w.dispatch.Ask(ctx, ada, w.claim(ada, j["asked"]), report.Question{Text: "Which one?"}))
	w.act(j["asked"], jobs.ByAnswer)
	w.act(j["paused"], jobs.ByPause)
	now, err := w.jobs.Get(ctx, w.owner, j["ready"].Key)
	must(now, err)
	title, urgent := "Ready and renamed", 9
	must(w.jobs.Patch(ctx, w.owner, now.Key, jobs.Patch{Version: now.Version, Spec: jobs.Spec{Title: title, Priority: urgent},
		Set: []string{"title", "priority"}}))
	return j
}

// What the application did itself is in order, and the log records it all.
func TestALifeIsInOrder(t *testing.T) {
	w := newTestWorkspace(t)
	w.life()
	w.clean(audit.Run)
	w.clean(audit.Verify)
	r := w.look(audit.Run)
	if r.Jobs != 11 || r.Workspaces != 1 || len(r.Checks) != 12 {
		t.Errorf("looked at %d jobs of %d workspaces in %d ways; want 11, 1, 12", r.Jobs, r.Workspaces, len(r.Checks))
	}
}

// Each kind of damage is found, by the job's key.
func TestDamageIsFound(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.life()
	for _, c := range []struct{ sql, job, check, detail string }{
		{`DELETE FROM job_lease WHERE job_id = $1`, "running", "lease", "running without a lease"},
		{`UPDATE job_lease SET epoch = 7 WHERE job_id = $1`, "running", "lease", "its epoch is 1, its lease's 7"},
		{`UPDATE job SET status = 'paused' WHERE id = $1`, "running", "lease", "it is paused and has a lease of epoch 1"},
		{`DELETE FROM job_ready WHERE job_id = $1`, "ready", "ready", "ready and not in the queue"},
		{`UPDATE job SET status = 'paused' WHERE id = $1`, "ready", "ready", "paused and in the queue"},
		{`UPDATE job_ready SET lane_id = lane_id + 1 WHERE job_id = $1`, "ready", "ready", "in the queue"},
		{`UPDATE job SET priority = 1 WHERE id = $1`, "ready", "ready", "its priority is 1, in the queue 9"},
		{`UPDATE job_ready SET priority = 10 WHERE job_id = $1`, "ready", "ready", "its priority is 9, in the queue 10, raised by 0"},
		{`UPDATE job_ready SET place = place - interval '1 hour' WHERE job_id = $1`, "ready", "ready", "its place is"},
		{`UPDATE job_ready SET rank = 'a' WHERE job_id = $1`, "ready", "ready", "its rank is , in the queue 61"},
		{`UPDATE job_ready SET ready_at = ready_at - interval '1 hour' WHERE job_id = $1`, "ready", "ready", "in the queue since"},
		{`UPDATE job SET ready_at = NULL WHERE id = $1`, "ready", "ready", "does not say since when"},
		{`UPDATE attempt SET ended_at = now(), outcome = 'lost' WHERE job_id = $1`, "running", "attempt", "has no open attempt"},
		{`UPDATE attempt SET ended_at = NULL, outcome = '' WHERE job_id = $1`, "done", "attempt", "attempt 1 is open without a lease"},
		{`UPDATE attempt SET ended_at = NULL, outcome = '' WHERE job_id = $1`, "review", "attempt", "2 attempts are open"},
		{`UPDATE attempt SET epoch = 3 WHERE job_id = $1`, "running", "attempt", "attempt 3 is open, the lease's epoch is 1"},
		{`DELETE FROM attempt WHERE job_id = $1 AND epoch = 1`, "review", "epochs", "its epoch is 2, its 1 attempts have the epochs 2 to 2"},
		{`UPDATE attempt SET epoch = 5 WHERE job_id = $1 AND epoch = 2`, "review", "epochs", "its 2 attempts have the epochs 1 to 5"},
		{`UPDATE job SET wait_reason = '' WHERE id = $1`, "waiting", "waiting", "waits for nothing"},
		{`UPDATE job SET wait_reason = 'budget' WHERE id = $1`, "ready", "waiting", "ready and waits for budget"},
		{`UPDATE repo_slot SET repo = 'other' WHERE job_id = $1`, "slot", "repo_slot", "its repo is atlas, it holds other"},
		{`UPDATE job SET status = 'paused' WHERE id = $1`, "slot", "repo_slot", "it is paused and holds the repo atlas"},
	} {
		w.mended(func() {
			w.damage(c.sql, j[c.job].ID)
			w.finds(audit.Run, c.check, j[c.job], c.detail)
		})
	}
	w.clean(audit.Run)
}

// mended does something to the tables and puts them back as they were.
func (w *testWorkspace) mended(do func()) {
	w.t.Helper()
	tables := []string{"job", "job_ready", "job_lease", "attempt", "repo_slot"}
	for _, table := range tables {
		w.damage(`CREATE TABLE kept_` + table + ` AS SELECT * FROM ` + table)
		w.damage(`ALTER TABLE ` + table + ` DISABLE TRIGGER ALL`)
	}
	w.damage(`ALTER TABLE job DROP CONSTRAINT IF EXISTS job_check`)
	do()
	for _, table := range tables {
		w.damage(`DELETE FROM ` + table)
	}
	for _, table := range tables {
		columns := dbfactory.Text(w.t, w.db, `SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
			WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, table)
		w.damage(`INSERT INTO ` + table + ` (` + columns + `) OVERRIDING SYSTEM VALUE SELECT ` + columns + ` FROM kept_` + table)
		w.damage(`DROP TABLE kept_` + table)
		w.damage(`ALTER TABLE ` + table + ` ENABLE TRIGGER ALL`)
	}
}

// A job that is not what its events say is found, with the field that differs;
// so is a history that cannot have happened.
func TestALogThatTellsSomethingElseIsFound(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.life()
	w.damage(`UPDATE job SET title = 'Another one', lost_count = 2 WHERE id = $1`, j["timed"].ID)
	w.damage(`UPDATE job SET epoch = 4 WHERE id = $1`, j["paused"].ID)
	w.damage(`DELETE FROM event WHERE job_id = $1 AND type = 'job.completed'`, j["done"].ID)
	w.damage(`DELETE FROM event WHERE job_id = $1 AND type = 'job.handed_in' AND epoch = 1`, j["review"].ID)
	w.damage(`UPDATE event SET changes = '"x"' WHERE job_id = $1 AND type = 'job.created'`, j["asked"].ID)
	w.finds(audit.Verify, "state", j["timed"], `lost_count: 2, 0; title: "Another one", "Later"`)
	w.finds(audit.Verify, "state", j["paused"], `epoch: 4, 0`)
	w.finds(audit.Verify, "state", j["done"], `status: "completed", "assigned"`)
	w.finds(audit.Verify, "history", j["review"], `cannot change from`)
	w.finds(audit.Verify, "history", j["asked"], `cannot be read`)
	if n := w.look(audit.Verify).Found(); n != 5 {
		t.Errorf("%d findings; want 5", n)
	}
}

// All are counted, the first hundred are kept, and pages do not lose any.
func TestManyFindingsAreCounted(t *testing.T) {
	w := newTestWorkspace(t)
	w.job(jobs.New{Spec: jobs.Spec{Title: "One"}})
	w.damage(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
		SELECT workspace_id, gen_random_uuid(), 'X-' || g, 'X', product_id, lane_id, 'ready', 'x' FROM job, generate_series(1, 1203) g`)
	r := w.look(audit.Run)
	if r.Jobs != 1204 || r.Found() != 1203 || r.Checks[1].Found != 1203 || len(r.Findings) != audit.MaxFindings {
		t.Errorf("%d jobs, %d findings, %d of them kept; want 1204, 1203 and %d", r.Jobs, r.Found(), len(r.Findings), audit.MaxFindings)
	}
	if r := w.look(audit.Verify); r.Jobs != 1204 || r.Found() != 1203 {
		t.Errorf("%d jobs, %d findings; want 1204 and 1203", r.Jobs, r.Found())
	}
}

// Folding old events takes nothing away from what the log records.
func TestTheLogTellsTheSameAfterCompaction(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.agent("ada")
	long := w.job(jobs.New{Spec: jobs.Spec{Title: "A long story", Tags: []string{"a"}}})
	for range 20 {
		ref := w.claim(ada, long)
		if _, err := w.dispatch.Release(w.t.Context(), ada, ref, report.Release{Reason: "not mine"}); err != nil {
			t.Fatal(err)
		}
		w.act(long, jobs.ByPause)
		w.act(long, jobs.ByResume)
	}
	for round, old := range []int{60, 62} { // the second time the sum of the first is among them
		for range 20 * round {
			w.act(long, jobs.ByPause)
			w.act(long, jobs.ByResume)
		}
		before := w.replay(long)
		w.damage(`UPDATE event SET at = now() - interval '100 days' WHERE id IN (SELECT id FROM event WHERE job_id = $1 ORDER BY id LIMIT $2)`,
			long.ID, old)
		if n, err := eventlog.New(w.db, nil).Compact(t.Context()); err != nil || n != 1 {
			t.Fatalf("round %d: %d jobs were folded, %v; want 1", round, n, err)
		}
		if diff := before.Diff(w.replay(long)); len(diff) != 0 {
			t.Errorf("round %d: replayed before and after: %v", round, diff)
		}
		w.clean(audit.Verify)
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE job_id = $1`, long.ID); n != 1 {
		t.Errorf("%d events are left; want 1", n)
	}
}

// replay returns what a job's events lead to.
func (w *testWorkspace) replay(j jobs.Job) jobs.State {
	w.t.Helper()
	raw := dbfactory.Text(w.t, w.db, `SELECT jsonb_agg(jsonb_build_object('ID', id, 'Type', type, 'Epoch', epoch,
		'Actor', jsonb_build_object('name', actor, 'kind', actor_kind, 'id', actor_id), 'Payload', payload, 'SavedAt', saved_at, 'Changes', changes) ORDER BY id)
		FROM event WHERE job_id = $1`, j.ID)
	var list []eventlog.Event
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		w.t.Fatal(err)
	}
	s, err := jobs.Replay(list)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// While agents claim, report, fail, lose and hand in as fast as they can, and a
// person stops and edits jobs, neither check raises a false alarm.
func TestABusyDatabaseRaisesNoFalseAlarm(t *testing.T) {
	w := newTestWorkspace(t)
	yes := true
	for i := range 60 {
		w.job(jobs.New{Spec: jobs.Spec{Title: fmt.Sprint("Job ", i), ReviewOverride: &yes}})
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var busy sync.WaitGroup
	for n := range 4 {
		agent := w.agent(fmt.Sprint("agent", n))
		busy.Go(func() { w.work(ctx, agent) })
	}
	busy.Go(func() { w.meddle(ctx) })
	// However slow the machine is: so long that there was something to be wrong about.
	looks, events := 0, 0
	for ctx.Err() == nil && (looks < 10 || events < 600) {
		w.clean(audit.Run)
		w.clean(audit.Verify)
		looks, events = looks+1, dbfactory.Int(t, w.db, `SELECT count(*) FROM event`)
	}
	stop()
	busy.Wait()
	if looks < 10 || events < 600 {
		t.Errorf("only %d looks at %d events", looks, events)
	}
}

func (w *testWorkspace) work(ctx context.Context, agent tenancy.Principal) {
	for ctx.Err() == nil {
		got, err := w.dispatch.Claim(ctx, agent, claim.Request{Max: 3})
		w.expected(ctx, err)
		for _, j := range got.Jobs {
			ref := lease.Ref{Job: j.Key, Epoch: j.Epoch}
			_, err := w.dispatch.Start(ctx, agent, ref, nil)
			w.expected(ctx, err)
			switch rand.IntN(3) {
			case 0:
				_, err = w.dispatch.Release(ctx, agent, ref, report.Release{})
			case 1:
				_, err = w.dispatch.Complete(ctx, agent, ref, report.Completion{})
			default:
				_, err = w.dispatch.Fail(ctx, agent, ref, report.Failure{Error: "broken"})
			}
			w.expected(ctx, err)
		}
	}
}

// meddle brings finished jobs back and parks others.
func (w *testWorkspace) meddle(ctx context.Context) {
	for ctx.Err() == nil {
		list, _, err := w.jobs.List(ctx, w.owner, jobs.Filter{Limit: 100})
		w.expected(ctx, err)
		for _, j := range list {
			verb := map[jobs.Status]jobs.Trigger{jobs.Failed: jobs.ByRetry, jobs.InReview: jobs.ByReject, jobs.Ready: jobs.ByPause,
				jobs.Paused: jobs.ByResume}[j.Status]
			if verb == "" {
				continue
			}
			_, err := w.dispatch.Act(ctx, w.owner, j.Key, actions.Action{Verb: verb, Reason: "because"})
			w.expected(ctx, err)
		}
	}
}

// expected fails the test on an error that is neither a lost race nor the end.
func (w *testWorkspace) expected(ctx context.Context, err error) {
	var refusal *fault.Error
	if err == nil || ctx.Err() != nil || errors.As(err, &refusal) && refusal.Code.Conflict() {
		return
	}
	w.t.Error(err)
}
