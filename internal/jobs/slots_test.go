package jobs_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// serial makes the workspace's product "default" one that allows one job in a repo.
func (b *bundle) serial() *bundle {
	b.t.Helper()
	dbfactory.Exec(b.t, b.db, `UPDATE product SET serialise = 'repo' WHERE workspace_id = $1`, b.who.Workspace)
	return b
}

// decide changes a job as a person or an agent would.
func (b *bundle) decide(j jobs.Job, decide func(jobs.Locked) (jobs.Decision, error)) jobs.Job {
	b.t.Helper()
	saved, err := b.Change(b.t.Context(), b.who, func(tx db.Tx) (jobs.Job, error) {
		locked, err := jobs.LockTx(b.t.Context(), tx, b.who.Workspace, j.Key)
		if err != nil {
			return jobs.Job{}, err
		}
		if err := jobs.WithdrawTx(b.t.Context(), tx, b.who.Workspace, locked); err != nil {
			return jobs.Job{}, err
		}
		d, err := decide(locked)
		if err != nil {
			return jobs.Job{}, err
		}
		return jobs.SaveTx(b.t.Context(), tx, b.who, d)
	})
	if err != nil {
		b.t.Fatalf("change %s: %v", j.Key, err)
	}
	return saved
}

func (b *bundle) pause(j jobs.Job) jobs.Job {
	return b.decide(j, func(l jobs.Locked) (jobs.Decision, error) { return l.Pause() })
}

func (b *bundle) resume(j jobs.Job) jobs.Job {
	return b.decide(j, func(l jobs.Locked) (jobs.Decision, error) { return l.Resume(false) })
}

// promote returns what the flows do with a held job.
func (b *bundle) promote(id ids.ID) jobs.Job {
	b.t.Helper()
	var saved jobs.Job
	err := b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
		locked, err := jobs.LockTx(b.t.Context(), tx, b.who.Workspace, id.String())
		if err != nil {
			return err
		}
		saved = locked.Job
		d, ok := locked.Promote(false)
		if !ok {
			return nil
		}
		saved, err = jobs.SaveTx(b.t.Context(), tx, b.who, d)
		return err
	})
	if err != nil {
		b.t.Fatalf("promote: %v", err)
	}
	return saved
}

// held returns the jobs that HeldFreedTx names.
func (b *bundle) held() (list []ids.ID) {
	b.t.Helper()
	err := b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) (err error) {
		list, err = jobs.HeldFreedTx(b.t.Context(), tx, b.who.Workspace, 100)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *bundle) next(repo string) ids.ID {
	b.t.Helper()
	var id ids.ID
	err := b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) (err error) {
		id, _, err = jobs.HeldByRepoTx(b.t.Context(), tx, b.who.Workspace, repo)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bundle) get(j jobs.Job) jobs.Job {
	b.t.Helper()
	now, err := b.Get(b.t.Context(), b.who, j.Key)
	if err != nil {
		b.t.Fatal(err)
	}
	return now
}

// is asserts where a job stands.
func (b *bundle) is(j jobs.Job, status jobs.Status, reason jobs.WaitReason) {
	b.t.Helper()
	if now := b.get(j); now.Status != status || now.WaitReason != reason {
		b.t.Errorf("%s (%s) is %s %q; want %s %q", j.Key, j.Title, now.Status, now.WaitReason, status, reason)
	}
}

// slots asserts that slots belong to exactly the jobs that may be worked on, and
// that the log has every job's present status.
func (b *bundle) slots(want int) {
	b.t.Helper()
	if n := dbfactory.Int(b.t, b.db, `SELECT count(*) FROM repo_slot`); n != want {
		b.t.Errorf("%d slots are taken; want %d", n, want)
	}
	for what, sql := range map[string]string{
		"slots of jobs that left": `SELECT count(*) FROM repo_slot s JOIN job j ON j.id = s.job_id
			WHERE j.status NOT IN ('ready', 'assigned', 'running') OR j.repo <> s.repo`,
		"ready jobs without their row": `SELECT count(*) FROM job j LEFT JOIN job_ready r ON r.job_id = j.id
			WHERE (j.status = 'ready') <> (r.job_id IS NOT NULL)`,
		"statuses that the log does not tell": `SELECT count(*) FROM job j WHERE j.status <> (
			SELECT c->>'new' FROM event e, jsonb_array_elements(e.changes) c
			WHERE e.job_id = j.id AND c->>'field' = 'status' ORDER BY e.id DESC LIMIT 1)`,
	} {
		if n := dbfactory.Int(b.t, b.db, sql); n != 0 {
			b.t.Errorf("%d %s", n, what)
		}
	}
}

func TestOneJobOfARepoIsReadyAtATime(t *testing.T) {
	b := setup(t).serial()
	first := b.create(jobs.New{Spec: jobs.Spec{Title: "first", Repo: "ledger-api"}})[0]
	second := b.create(jobs.New{Spec: jobs.Spec{Title: "second", Repo: "ledger-api"}})[0]
	other := b.create(jobs.New{Spec: jobs.Spec{Title: "elsewhere", Repo: "web"}})[0]
	none := b.create(jobs.New{Spec: jobs.Spec{Title: "no repo"}}, jobs.New{Spec: jobs.Spec{Title: "no repo either"}})
	b.is(first, jobs.Ready, "")
	b.is(second, jobs.Waiting, jobs.WaitRepoBusy)
	b.is(other, jobs.Ready, "")
	b.is(none[1], jobs.Ready, "")
	b.slots(2)

	events := dbfactory.Int(t, b.db, `SELECT count(*) FROM event`)
	if again := b.promote(second.ID); again.Status != jobs.Waiting || again.Version != second.Version {
		t.Errorf("promoted while the repo is busy: %s, version %d", again.Status, again.Version)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event`); n != events {
		t.Errorf("being held again wrote %d events", n-events)
	}

	b.pause(first)
	b.slots(1)
	if id := b.next("ledger-api"); id != second.ID {
		t.Errorf("the next one is %s; want %s", id, second.ID)
	}
	if list := b.held(); len(list) != 1 || list[0] != second.ID {
		t.Errorf("held for nothing: %v; want %s", list, second.ID)
	}
	b.promote(second.ID)
	b.is(second, jobs.Ready, "")
	b.resume(first)
	b.is(first, jobs.Waiting, jobs.WaitRepoBusy)
	b.slots(2)
	if list := b.held(); len(list) != 0 {
		t.Errorf("held for nothing: %v", list)
	}
}

// One job of each repo of a batch is ready, the most urgent one, however many
// there are.
func TestABatchHoldsAllButTheMostUrgent(t *testing.T) {
	b := setup(t).serial()
	list := make([]jobs.New, jobs.MaxBatch)
	for i := range list {
		list[i] = jobs.New{Spec: jobs.Spec{Title: "job", Repo: fmt.Sprintf("repo-%d", i%2)}, Priority: number(i % 9)}
	}
	list[700].Priority, list[701].Priority = number(10), number(9)
	made := b.create(list...)
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job WHERE status = 'waiting' AND wait_reason = 'repo_busy'`); n != len(list)-2 {
		t.Errorf("%d wait for their repo; want %d", n, len(list)-2)
	}
	b.is(made[700], jobs.Ready, "")
	b.is(made[701], jobs.Ready, "")
	b.slots(2)
}

// A more urgent job takes the slot from one that nobody has claimed yet.
func TestAMoreUrgentJobTakesTheSlotFromAReadyOne(t *testing.T) {
	b := setup(t).serial()
	first := b.create(jobs.New{Spec: jobs.Spec{Title: "first", Repo: "web"}})[0]
	same := b.create(jobs.New{Spec: jobs.Spec{Title: "as urgent", Repo: "web"}})[0]
	urgent := b.create(jobs.New{Spec: jobs.Spec{Title: "urgent", Repo: "web"}, Priority: number(8)})[0]
	b.is(first, jobs.Waiting, jobs.WaitRepoBusy)
	b.is(same, jobs.Waiting, jobs.WaitRepoBusy)
	b.is(urgent, jobs.Ready, "")
	b.slots(1)
	if _, err := b.Patch(t.Context(), b.who, same.Key, jobs.Patch{Version: same.Version, Spec: jobs.Spec{Priority: 10},
		Set: []string{"priority"}}); err != nil {
		t.Fatal(err)
	}
	b.is(same, jobs.Ready, "")
	b.is(urgent, jobs.Waiting, jobs.WaitRepoBusy)
	b.slots(1)
	dbfactory.Exec(t, b.db, `WITH gone AS (DELETE FROM job_ready WHERE job_id = $1) UPDATE job SET status = 'assigned' WHERE id = $1`, same.ID)
	late := b.create(jobs.New{Spec: jobs.Spec{Title: "too late", Repo: "web"}, Priority: number(10)})[0]
	b.is(late, jobs.Waiting, jobs.WaitRepoBusy)
}

// A claim that is taking the job at this moment keeps it: the urgent job waits, and
// nobody waits for a lock.
func TestAJobThatIsBeingClaimedYieldsNothing(t *testing.T) {
	b := setup(t).serial()
	first := b.create(jobs.New{Spec: jobs.Spec{Title: "first", Repo: "web"}})[0]
	claim, err := dbtest.Owner(t, b.db).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim.Exec(t.Context(), `SELECT 1 FROM job_ready WHERE job_id = $1 FOR UPDATE`, first.ID); err != nil {
		t.Fatal(err)
	}
	urgent := b.create(jobs.New{Spec: jobs.Spec{Title: "urgent", Repo: "web"}, Priority: number(9)})[0]
	b.is(urgent, jobs.Waiting, jobs.WaitRepoBusy)
	if err := claim.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := b.held(); len(list) != 1 || list[0] != urgent.ID {
		t.Errorf("the sweep finds %v; want the urgent one", list)
	}
	b.promote(urgent.ID)
	b.is(urgent, jobs.Ready, "")
	b.is(first, jobs.Waiting, jobs.WaitRepoBusy)
	b.slots(1)
}

func TestAnEditTakesItsSlotAlong(t *testing.T) {
	b := setup(t).serial()
	a := b.create(jobs.New{Spec: jobs.Spec{Title: "a", Repo: "web"}})[0]
	waits := b.create(jobs.New{Spec: jobs.Spec{Title: "waits", Repo: "web"}})[0]
	c := b.create(jobs.New{Spec: jobs.Spec{Title: "c", Repo: "api"}})[0]
	edit := func(j jobs.Job, repo string) {
		t.Helper()
		if _, err := b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: b.get(j).Version, Spec: jobs.Spec{Repo: repo},
			Set: []string{"repo"}}); err != nil {
			t.Fatal(err)
		}
	}
	edit(a, "docs")
	b.is(a, jobs.Ready, "")
	b.is(waits, jobs.Ready, "")
	b.slots(3)
	edit(waits, "api")
	b.is(waits, jobs.Waiting, jobs.WaitRepoBusy)
	edit(waits, "web")
	b.is(waits, jobs.Ready, "")
	edit(c, "docs")
	b.is(c, jobs.Waiting, jobs.WaitRepoBusy)
	edit(a, "")
	b.is(a, jobs.Ready, "")
	b.is(c, jobs.Ready, "")
	b.slots(2)
}

func TestAFullReviewQueueHoldsNewWork(t *testing.T) {
	b := setup(t)
	dbfactory.Exec(t, b.db, `UPDATE product SET review_limit = 2, serialise = 'repo'`)
	list := b.create(jobs.New{Spec: jobs.Spec{Title: "one"}}, jobs.New{Spec: jobs.Spec{Title: "two"}},
		jobs.New{Spec: jobs.Spec{Title: "back from pause", Repo: "web"}})
	paused := b.pause(list[2])
	dbfactory.Exec(t, b.db, `WITH gone AS (DELETE FROM job_ready) UPDATE job SET status = 'in_review' WHERE status = 'ready'`)
	dbfactory.Exec(t, b.db, `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, changes)
		SELECT workspace_id, 'job.edited', id, '', '', '[{"field": "status", "new": "in_review"}]' FROM job WHERE status = 'in_review'`)
	fresh := b.create(jobs.New{Spec: jobs.Spec{Title: "new"}})[0]
	b.resume(paused)
	b.is(fresh, jobs.Waiting, jobs.WaitReviewBacklog)
	b.is(paused, jobs.Waiting, jobs.WaitReviewBacklog)
	b.slots(0)
	if list := b.held(); len(list) != 0 {
		t.Errorf("held for nothing: %v", list)
	}

	b.decide(list[0], func(l jobs.Locked) (jobs.Decision, error) { return l.Reject("again") })
	b.is(list[0], jobs.Ready, "")
	if held := b.held(); len(held) != 2 {
		t.Errorf("the sweep finds %v; want both", held)
	}
	var next []ids.ID
	err := b.db.In(t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) (err error) {
		next, err = jobs.HeldByReviewTx(t.Context(), tx, b.who.Workspace, fresh.ProductID, 1)
		return err
	})
	if err != nil || len(next) != 1 {
		t.Errorf("next %v, %v; want one", next, err)
	}
	b.promote(paused.ID)
	b.is(paused, jobs.Ready, "")
	b.slots(1)
}

// A job that comes back to a busy repo waits for it, whatever brought it back.
func TestARejectedJobWaitsForItsRepo(t *testing.T) {
	b := setup(t).serial()
	first := b.create(jobs.New{Spec: jobs.Spec{Title: "first", Repo: "web"}})[0]
	dbfactory.Exec(t, b.db, `WITH gone AS (DELETE FROM job_ready), free AS (DELETE FROM repo_slot)
		UPDATE job SET status = 'in_review' WHERE id = $1`, first.ID)
	second := b.create(jobs.New{Spec: jobs.Spec{Title: "second", Repo: "web"}, Priority: number(9)})[0]
	b.decide(first, func(l jobs.Locked) (jobs.Decision, error) { return l.Reject("again") })
	b.is(first, jobs.Waiting, jobs.WaitRepoBusy)
	b.is(second, jobs.Ready, "")
	b.slots(1)
}

// However many want a repo at the same moment: one has it, all others wait, and no
// two of them wait for each other.
func TestManyWantOneRepoAtOnce(t *testing.T) {
	b := setup(t).serial()
	const n = 12
	made := make([]jobs.Job, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			list, err := b.Create(t.Context(), b.who, nil,
				jobs.New{Spec: jobs.Spec{Title: "a", Repo: fmt.Sprintf("r%d", i%2)}, Priority: number(i % 10)},
				jobs.New{Spec: jobs.Spec{Title: "b", Repo: fmt.Sprintf("r%d", (i+1)%2)}, Priority: number(9 - i%10)})
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			made[i] = list.Jobs[0]
		})
	}
	all.Wait()
	for range 2 {
		for _, j := range made {
			all.Go(func() {
				who := tenancy.System(b.who.Workspace, "test")
				_, err := b.Change(t.Context(), who, func(tx db.Tx) (jobs.Job, error) {
					l, err := jobs.LockTx(t.Context(), tx, who.Workspace, j.Key)
					if err != nil {
						return jobs.Job{}, err
					}
					if err := jobs.WithdrawTx(t.Context(), tx, who.Workspace, l); err != nil {
						return jobs.Job{}, err
					}
					d, err := l.Resume(false)
					if l.Status != jobs.Paused {
						d, err = l.Pause()
					}
					if err != nil {
						return jobs.Job{}, err
					}
					return jobs.SaveTx(t.Context(), tx, who, d)
				})
				if err != nil && !db.IsLocked(err) {
					t.Errorf("change %s: %v", j.Key, err)
				}
			})
		}
		all.Wait()
	}
	for list := b.held(); len(list) > 0; list = b.held() {
		for _, id := range list {
			b.promote(id)
		}
	}
	b.slots(2)
}

// A time that is set on a held job counts first.
func TestAHeldJobWaitsForItsTimeFirst(t *testing.T) {
	b := setup(t).serial()
	b.create(jobs.New{Spec: jobs.Spec{Title: "first", Repo: "web"}})
	held := b.create(jobs.New{Spec: jobs.Spec{Title: "held", Repo: "web"}})[0]
	later := time.Now().Add(time.Hour)
	if _, err := b.Patch(t.Context(), b.who, held.Key, jobs.Patch{Version: held.Version, Spec: jobs.Spec{NotBefore: &later},
		Set: []string{"not_before"}}); err != nil {
		t.Fatal(err)
	}
	b.is(held, jobs.Waiting, jobs.WaitNotBefore)
}
