package screens

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// counted counts the statements of a transaction.
type counted struct {
	db.Tx
	n int
}

func (c *counted) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.n++
	return c.Tx.Query(ctx, sql, args...)
}

func (c *counted) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c.n++
	return c.Tx.QueryRow(ctx, sql, args...)
}

// held is a workspace with jobs that are held up in every way.
type held struct {
	t    *testing.T
	db   *db.DB
	who  tenancy.Principal
	jobs *jobs.Service
}

func newHeld(t *testing.T) *held {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return newHeldIn(t, d, dbfactory.Workspace(t, d))
}

func newHeldIn(t *testing.T, d *db.DB, workspace ids.ID) *held {
	t.Helper()
	who := dbfactory.Person(workspace, tenancy.RoleOwner)
	h := &held{t: t, db: d, who: who, jobs: jobs.NewService(d, transporttest.Notifier(t, d), dbtest.Vault(d), nil)}
	h.exec(`INSERT INTO factory (workspace_id, id, name, os, seats) VALUES ($1, gen_random_uuid(), 'linux-2', 'linux', 1)`)
	h.exec(`INSERT INTO agent (workspace_id, id, factory_id, name, boot_id, max_concurrent_jobs, heartbeat_interval_seconds, last_heartbeat_at)
		SELECT $1, gen_random_uuid(), f.id, 'claude-1', 'b', 1, 3600, now() FROM factory f WHERE f.workspace_id = $1`)
	return h
}

// exec runs a statement as the owner; $1 is the workspace.
func (h *held) exec(sql string, args ...any) {
	h.t.Helper()
	dbfactory.Exec(h.t, h.db, sql, append([]any{h.who.Workspace}, args...)...)
}

func (h *held) job(n jobs.New) jobs.Job {
	h.t.Helper()
	made, err := h.jobs.Create(h.t.Context(), h.who, nil, n)
	if err != nil {
		h.t.Fatal(err)
	}
	return made.Jobs[0]
}

// put gives a job a status as its life would have; the rest of it is not looked at.
func (h *held) put(j jobs.Job, status jobs.Status, why jobs.WaitReason) jobs.Job {
	h.t.Helper()
	h.exec(`DELETE FROM job_ready WHERE workspace_id = $1 AND job_id = $2`, j.ID)
	h.exec(`UPDATE job SET status = $3, wait_reason = $4, status_at = now(), failed_at = now() WHERE workspace_id = $1 AND id = $2`,
		j.ID, string(status), string(why))
	return j
}

// lease gives a job to the agent.
func (h *held) lease(j jobs.Job) {
	h.t.Helper()
	h.put(j, jobs.Running, jobs.NoWait)
	h.exec(`INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, session_key, ttl_seconds, expires_at)
		SELECT $1, $2, 0, a.id, a.factory_id, '', 900, now() + interval '1 hour' FROM agent a WHERE a.workspace_id = $1`, j.ID)
}

// fill makes one job of each kind of wait; n names them.
func (h *held) fill(n int) map[string]jobs.Job {
	h.t.Helper()
	repo := fmt.Sprintf("repo-%d", n)
	one := func(title string, status jobs.Status, why jobs.WaitReason, change ...func(*jobs.New)) jobs.Job {
		job := jobs.New{Spec: jobs.Spec{Title: title}}
		for _, c := range change {
			c(&job)
		}
		return h.put(h.job(job), status, why)
	}
	inRepo := func(n *jobs.New) { n.Repo = repo }
	list := map[string]jobs.Job{}
	list["holder"] = one("holder", jobs.Running, jobs.NoWait, inRepo)
	h.exec(`INSERT INTO repo_slot (workspace_id, repo, job_id) VALUES ($1, $2, $3)
		ON CONFLICT (workspace_id, repo) WHERE files IS NULL DO UPDATE SET job_id = excluded.job_id`, repo, list["holder"].ID)
	list["repo"] = one("waits for the repo", jobs.Waiting, jobs.WaitRepoBusy, inRepo)
	sharing := func(files ...string) func(*jobs.New) {
		return func(n *jobs.New) { n.Repo, n.Files = repo+"-shared", files }
	}
	list["sharer"] = one("shares the repo", jobs.Running, jobs.NoWait, sharing("db/*.go"))
	h.exec(`INSERT INTO repo_slot (workspace_id, repo, job_id, files) VALUES ($1, $2, $3, '{db/*.go}')`, repo+"-shared", list["sharer"].ID)
	list["paths"] = one("waits for paths", jobs.Waiting, jobs.WaitPathsBusy, sharing("cmd", "db/one.go"))
	list["backlog"] = one("waits for a review", jobs.Waiting, jobs.WaitReviewBacklog)
	list["failed"] = one("has failed", jobs.Failed, jobs.NoWait)
	list["open"] = one("goes on", jobs.Ready, jobs.NoWait)
	list["dependent"] = one("waits for both", jobs.Waiting, jobs.WaitDependency, func(n *jobs.New) {
		n.DependsOn = []string{list["failed"].Key, list["open"].Key}
	})
	list["lost"] = one("was lost", jobs.Waiting, jobs.WaitRetryBackoff)
	h.exec(`INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at)
		VALUES ($1, $2, 0, 'claude-1', 'linux-2', 'lost', now())`, list["lost"].ID)
	list["tried"] = one("has failed once", jobs.Waiting, jobs.WaitRetryBackoff)
	h.exec(`INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at)
		VALUES ($1, $2, 0, 'claude-1', 'linux-2', 'failed', now())`, list["tried"].ID)
	return list
}

// read runs fn with a reader and says how many statements it took.
func (h *held) read(fn func(*reader) error) int {
	h.t.Helper()
	n := 0
	err := h.db.In(h.t.Context(), db.Workspace(h.who.Workspace), func(tx db.Tx) error {
		c := &counted{Tx: tx}
		r, err := newReader(h.t.Context(), c, h.who.Workspace)
		if err != nil {
			return err
		}
		err = fn(r)
		n = c.n
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// reasons returns what the cards of columns say, by their jobs.
func (h *held) reasons(columns ...Column) map[ids.ID]Reason {
	known := map[ids.ID]Reason{}
	h.read(func(r *reader) error {
		for _, c := range columns {
			page, err := r.column(Filter{}, c, "")
			if err != nil {
				return err
			}
			for _, card := range page.Cards {
				known[card.Job.ID] = card.Why
			}
		}
		return nil
	})
	return known
}

// What holds a job up is named on its card and in its explanation.
func TestACardNamesWhatHoldsItUp(t *testing.T) {
	h := newHeld(t)
	h.exec(`UPDATE product SET review_limit = 2 WHERE workspace_id = $1`)
	list := h.fill(1)
	h.lease(list["holder"])
	for range 2 {
		h.put(h.job(jobs.New{Spec: jobs.Spec{Title: "to be reviewed"}}), jobs.InReview, jobs.NoWait)
	}
	ready := h.job(jobs.New{Spec: jobs.Spec{Title: "could run"}})
	known := h.reasons(Waiting, Ready)
	if r := known[list["repo"].ID]; r.Code != CodeRepoBusy || len(r.Keys) != 1 || r.Keys[0] != list["holder"].Key || r.By.Name != "claude-1" {
		t.Errorf("a busy repo: %+v", r)
	}
	for name, j := range map[string]jobs.Job{"waiting": list["backlog"], "ready": ready} {
		if r := known[j.ID]; r.Code != CodeReviewBacklog || r.Count != 2 || r.Limit != 2 || r.Product != "default" {
			t.Errorf("a full review queue, %s: %+v", name, r)
		}
	}
	r := known[list["dependent"].ID]
	if r.Code != CodeDependencyFailed || len(r.Ended) != 1 || r.Ended[0] != (Ended{list["failed"].Key, jobs.Failed}) {
		t.Errorf("a failed dependency: %+v", r)
	}
	if lost, tried := known[list["lost"].ID], known[list["tried"].ID]; !lost.Lost || tried.Lost {
		t.Errorf("a lost job says %+v, one that failed %+v", lost, tried)
	}
}

// Who waits for paths says which job has them, and a path that both may touch.
func TestACardNamesBusyPaths(t *testing.T) {
	h := newHeld(t)
	list := h.fill(1)
	known := h.reasons(Waiting)
	if r := known[list["paths"].ID]; r.Code != CodePathsBusy || len(r.Keys) != 1 || r.Keys[0] != list["sharer"].Key ||
		len(r.Paths) != 1 || r.Paths[0] != "db/one.go" || r.Ahead {
		t.Errorf("busy paths: %+v", r)
	}
}

// A page of cards takes the same statements however many cards it has.
func TestAPageOfCardsTakesTheSameStatements(t *testing.T) {
	h := newHeld(t)
	h.exec(`UPDATE product SET review_limit = 2 WHERE workspace_id = $1`)
	page := func() (n, cards int) {
		n = h.read(func(r *reader) error {
			p, err := r.column(Filter{}, Waiting, "")
			cards = len(p.Cards)
			return err
		})
		return n, cards
	}
	h.fill(0)
	few, before := page()
	for i := range 7 { // all on one page
		h.fill(i + 1)
	}
	many, after := page()
	if few != many || after < before+20 {
		t.Errorf("%d cards take %d statements, %d cards take %d", before, few, after, many)
	}
}

// Who sits on the seats is named where a ready job waits for one of them.
func TestAnExplanationNamesWhoHoldsTheSeats(t *testing.T) {
	h := newHeld(t)
	sits := h.job(jobs.New{Spec: jobs.Spec{Title: "sits"}})
	h.lease(sits)
	waits := h.job(jobs.New{Spec: jobs.Spec{Title: "waits"}})
	e, err := (&Service{snapshot: snapshots(h.db)}).Explain(t.Context(), h.who, waits.Key)
	if err != nil {
		t.Fatal(err)
	}
	if r := e.Reasons[0]; r.Code != CodeSeatsTaken || len(r.Keys) != 1 || r.Keys[0] != sits.Key || r.More != 0 {
		t.Errorf("the explanation is %+v", r)
	}
}

// More unroutable jobs than a page has cards are counted, and named are the
// first of them; a filter on them counts the same.
func TestUnroutableJobsAreCounted(t *testing.T) {
	h := newHeld(t)
	var list []jobs.New
	for i := range 230 {
		list = append(list, jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i), Capabilities: []string{fmt.Sprintf("gpu:%d", i%3)}}})
	}
	if _, err := h.jobs.Create(t.Context(), h.who, nil, list...); err != nil {
		t.Fatal(err)
	}
	h.job(jobs.New{Spec: jobs.Spec{Title: "can run"}})
	// What else holds such a job does not hide that nobody could run it.
	h.exec(`UPDATE product SET paused = true WHERE workspace_id = $1`)
	s := &Service{snapshot: snapshots(h.db)}
	b, err := s.Board(t.Context(), h.who, Filter{Unroutable: true})
	if err != nil {
		t.Fatal(err)
	}
	if u := b.Unroutable; u.Count != 230 || u.Capped || len(u.First) != namedUnroutable || u.First[0].Why.Code != CodeNoFactory {
		t.Errorf("%d unroutable (more: %v), %d named: %+v", u.Count, u.Capped, len(u.First), u.First[0].Why)
	}
	if b.Total != 230 || b.TotalCapped {
		t.Errorf("the filter counts %d", b.Total)
	}
	for range 4 {
		if _, err := h.jobs.Create(t.Context(), h.who, nil, list...); err != nil {
			t.Fatal(err)
		}
	}
	u, err := s.Unroutable(t.Context(), h.who)
	if err != nil || u.Count != countCap || !u.Capped {
		t.Errorf("of 1,150 it counts %d (more: %v), %v", u.Count, u.Capped, err)
	}
}

// A change of a job is reported also to those that wait for it or for its repo: what
// they say has changed with it.
func TestAChangeReachesThoseThatWait(t *testing.T) {
	h := newHeld(t)
	list := h.fill(1)
	got := map[ids.ID]bool{}
	h.read(func(r *reader) error {
		cards, err := r.waitingOn([]ids.ID{list["holder"].ID, list["failed"].ID})
		for _, c := range cards {
			got[c.Job.ID] = true
		}
		return err
	})
	if len(got) != 2 || !got[list["repo"].ID] || !got[list["dependent"].ID] {
		t.Errorf("%d are told; want the one that waits for the repo and the one that depends", len(got))
	}
}
