package jobs_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

func (b *bundle) link(job, dependsOn jobs.Job, kind jobs.LinkType) jobs.Job {
	b.t.Helper()
	linked, err := b.Link(b.t.Context(), b.who, job.Key, dependsOn.Key, kind)
	if err != nil {
		b.t.Fatalf("link %s to %s: %v", job.Key, dependsOn.Key, err)
	}
	return linked
}

// circle asserts that a link is refused, with the path.
func (b *bundle) circle(job, dependsOn jobs.Job, kind jobs.LinkType, want ...jobs.Job) {
	b.t.Helper()
	_, err := b.Link(b.t.Context(), b.who, job.Key, dependsOn.Key, kind)
	path, _ := fault.From(err).Details["path"].([]string)
	keys := make([]string, 0, len(want))
	for _, j := range want {
		keys = append(keys, j.Key)
	}
	if !fault.Is(err, fault.DependencyCycle) || strings.Join(path, " ") != strings.Join(keys, " ") {
		b.t.Errorf("%s %s %s: %v, path %v; want %v", job.Key, kind, dependsOn.Key, err, path, keys)
	}
}

// createN makes jobs with nothing between them.
func (b *bundle) createN(n int) []jobs.Job {
	b.t.Helper()
	list := make([]jobs.New, n)
	for i := range list {
		list[i] = jobs.New{Spec: jobs.Spec{Title: fmt.Sprintf("job %d", i)}}
	}
	return b.create(list...)
}

func (b *bundle) complete(j jobs.Job) {
	b.t.Helper()
	dbfactory.Exec(b.t, b.db, `WITH gone AS (DELETE FROM job_ready WHERE job_id = $1)
		UPDATE job SET status = 'completed', wait_reason = '', completed_at = now() WHERE id = $1`, j.ID)
}

func TestALinkedJobWaitsUntilTheLinkIsGone(t *testing.T) {
	b := setup(t)
	j := b.createN(2)
	linked := b.link(j[0], j[1], jobs.Blocks)
	if linked.Status != jobs.Waiting || linked.WaitReason != jobs.WaitDependency || strings.Join(linked.DependsOn, " ") != j[1].Key || linked.Version != 2 {
		t.Errorf("linked: %s %q, depends on %v, version %d", linked.Status, linked.WaitReason, linked.DependsOn, linked.Version)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event WHERE job_id = $1 AND type = 'job.linked'
		AND payload = jsonb_build_object('type', 'blocks', 'job', $2::text)
		AND changes @> '[{"field": "status", "old": "ready", "new": "waiting"}, {"field": "link"}]'`, j[0].ID, j[1].Key); n != 1 {
		t.Errorf("%d events tell it", n)
	}
	if again := b.link(j[0], j[1], jobs.Blocks); again.Version != 2 {
		t.Errorf("the same link again: version %d; want 2", again.Version)
	}
	gone, err := b.Unlink(t.Context(), b.who, j[0].Key, j[1].Key, "")
	if err != nil || gone.Status != jobs.Ready || len(gone.DependsOn) != 0 {
		t.Errorf("unlinked: %s, %v, %v; want ready", gone.Status, gone.DependsOn, err)
	}
	if _, err := b.Unlink(t.Context(), b.who, j[0].Key, j[1].Key, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("unlinked twice: %v; want not_found", err)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event WHERE job_id = $1`, j[0].ID); n != 3 {
		t.Errorf("%d events; want created, linked, unlinked", n)
	}
	b.slots(0)
}

func TestALinkGatesOnlyWhereThereIsSomethingToWaitFor(t *testing.T) {
	b := setup(t)
	j := b.createN(4)
	b.complete(j[1])
	if linked := b.link(j[0], j[1], jobs.Blocks); linked.Status != jobs.Ready {
		t.Errorf("linked to a completed job: %s; want ready", linked.Status)
	}
	for _, kind := range []jobs.LinkType{jobs.Parent, jobs.DiscoveredFrom, jobs.Duplicates, jobs.Supersedes} {
		if linked := b.link(j[0], j[2], kind); linked.Status != jobs.Ready {
			t.Errorf("%s: %s; want ready", kind, linked.Status)
		}
	}
	later := b.create(jobs.New{Spec: jobs.Spec{Title: "later", NotBefore: number(time.Now().Add(time.Hour))}})[0]
	b.link(later, j[2], jobs.Blocks)
	b.is(later, jobs.Waiting, jobs.WaitDependency)
	if _, err := b.Unlink(t.Context(), b.who, later.Key, j[2].Key, jobs.Blocks); err != nil {
		t.Fatal(err)
	}
	b.is(later, jobs.Waiting, jobs.WaitNotBefore)
	paused := b.pause(j[3])
	b.link(paused, j[2], jobs.Blocks)
	b.is(paused, jobs.Paused, "")

	for name, c := range map[string]struct {
		job, other string
		kind       jobs.LinkType
		code       fault.Code
	}{
		"itself":         {j[0].Key, j[0].ID.String(), jobs.Blocks, fault.Validation},
		"unknown type":   {j[0].Key, j[2].Key, "likes", fault.Validation},
		"unknown job":    {"NOPE", j[2].Key, jobs.Blocks, fault.NotFound},
		"unknown other":  {j[0].Key, "NOPE", jobs.Blocks, fault.NotFound},
		"a finished job": {j[1].Key, j[2].Key, jobs.Blocks, fault.InvalidTransition},
	} {
		if _, err := b.Link(t.Context(), b.who, c.job, c.other, c.kind); !fault.Is(err, c.code) {
			t.Errorf("%s: %v; want %s", name, err, c.code)
		}
	}
	if _, err := b.Link(t.Context(), b.who, j[1].Key, j[2].Key, jobs.Duplicates); err != nil {
		t.Errorf("a finished job may be a duplicate: %v", err)
	}
}

// A job that an agent works on goes on; once it is back, the new link gates it.
func TestALinkGatesALeasedJobOnceItIsBack(t *testing.T) {
	b := setup(t)
	j := b.createN(3)
	for _, held := range j[:2] {
		b.lease(held)
		b.link(held, j[2], jobs.Blocks)
		b.is(held, jobs.Assigned, "")
	}
	dbfactory.Exec(t, b.db, `DELETE FROM job_lease`)
	b.decide(j[0], func(l jobs.Locked) (jobs.Decision, error) { return l.Release("") })
	b.is(j[0], jobs.Waiting, jobs.WaitDependency)
	b.decide(j[1], func(l jobs.Locked) (jobs.Decision, error) { return l.Lose("silent", 0) })
	b.is(j[1], jobs.Waiting, jobs.WaitDependency)
}

func TestJobsNeverWaitForOneAnother(t *testing.T) {
	b := setup(t)
	j := b.createN(5)
	b.link(j[0], j[1], jobs.Blocks)
	b.link(j[1], j[2], jobs.Blocks)
	b.link(j[0], j[3], jobs.Blocks)
	b.link(j[3], j[1], jobs.Blocks)
	b.circle(j[1], j[0], jobs.Blocks, j[1], j[0], j[1])
	b.circle(j[2], j[0], jobs.Blocks, j[2], j[0], j[1], j[2])
	b.link(j[2], j[0], jobs.DiscoveredFrom) // it only informs

	b.link(j[4], j[3], jobs.Parent)
	b.circle(j[3], j[4], jobs.Parent, j[3], j[4], j[3])
}

// A parent that waits for its children waits, for a cycle as for its end.
func TestAParentThatWaitsForItsChildren(t *testing.T) {
	b := setup(t)
	parent := b.create(jobs.New{Spec: jobs.Spec{Title: "epic", WaitsForChildren: true}})[0]
	j := b.createN(3)
	b.link(j[0], parent, jobs.Parent)
	b.link(j[1], j[0], jobs.Blocks)
	b.circle(j[0], parent, jobs.Blocks, j[0], parent, j[0])
	b.link(j[2], parent, jobs.Blocks)
	b.circle(j[2], parent, jobs.Parent, j[2], parent, j[2])
	b.is(parent, jobs.Ready, "") // it can be worked on; only its end waits

	open := func() (err error) {
		t.Helper()
		if txErr := b.db.In(t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
			err = jobs.RequireChildrenDoneTx(t.Context(), tx, b.who.Workspace, b.get(parent))
			return nil
		}); txErr != nil {
			t.Fatal(txErr)
		}
		return err
	}
	if children, _ := fault.From(open()).Details["children"].([]string); strings.Join(children, " ") != j[0].Key {
		t.Errorf("open children %v; want %s", children, j[0].Key)
	}
	b.complete(j[0])
	if err := open(); err != nil {
		t.Errorf("all children done: %v", err)
	}

	loose := b.createN(2)
	b.link(loose[0], loose[1], jobs.Parent)
	b.link(loose[0], loose[1], jobs.Blocks)
	_, err := b.Patch(t.Context(), b.who, loose[1].Key, jobs.Patch{Version: 1, Spec: jobs.Spec{WaitsForChildren: true},
		Set: []string{"waits_for_children"}})
	if path, _ := fault.From(err).Details["path"].([]string); !fault.Is(err, fault.DependencyCycle) || len(path) != 3 {
		t.Errorf("a parent that is to wait for a child that waits for it: %v, path %v", err, path)
	}
}

// Links that close a circle together are made one after the other: one of them is
// refused, whatever the moment.
func TestTwoLinksAtOnceFormNoCircle(t *testing.T) {
	b := setup(t)
	j := b.createN(6)
	var all sync.WaitGroup
	made := make([]error, len(j))
	for i := range j {
		all.Go(func() { _, made[i] = b.Link(t.Context(), b.who, j[i].Key, j[(i+1)%len(j)].Key, jobs.Blocks) })
	}
	all.Wait()
	refused := 0
	for _, err := range made {
		switch {
		case fault.Is(err, fault.DependencyCycle):
			refused++
		case err != nil:
			t.Errorf("link: %v", err)
		}
	}
	if refused != 1 {
		t.Errorf("%d links were refused; want the one that closes the circle", refused)
	}
}

// The second link of a circle waits until the first one is committed, and sees it.
func TestALinkWaitsForTheOtherLinks(t *testing.T) {
	b := setup(t)
	j := b.createN(2)
	owner := dbtest.Owner(t, b.db)
	first, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		fmt.Sprintf(`SELECT pg_advisory_xact_lock(hashtextextended('links:%s', 0))`, b.who.Workspace),
		fmt.Sprintf(`INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by) VALUES ('%s', '%s', '%s', 'test')`,
			b.who.Workspace, j[0].ID, j[1].ID),
	} {
		if _, err := first.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	second := make(chan error, 1)
	go func() {
		_, err := b.Link(t.Context(), b.who, j[1].Key, j[0].Key, jobs.Blocks)
		second <- err
	}()
	for waiting := 0; waiting == 0; {
		select {
		case err := <-second:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		err := first.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-second; !fault.Is(err, fault.DependencyCycle) {
		t.Errorf("the second link: %v; want dependency_cycle", err)
	}
}

// A link never waits for whoever completes the other job while it holds its own:
// a completion locks the other way round.
func TestALinkGivesWayToACompletion(t *testing.T) {
	b := setup(t)
	j := b.createN(2)
	completion, err := dbtest.Owner(t, b.db).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = completion.Rollback(t.Context()) }()
	if _, err := completion.Exec(t.Context(), `SELECT 1 FROM job WHERE id = $1 FOR NO KEY UPDATE`, j[1].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Link(t.Context(), b.who, j[0].Key, j[1].Key, jobs.Blocks); !db.IsLocked(err) || strings.Contains(err.Error(), "timeout") {
		t.Errorf("linked while the other job is being completed: %v", err)
	}
	b.is(j[0], jobs.Ready, "")
}

func TestAGraphShowsWhatIsAroundAJob(t *testing.T) {
	b := setup(t)
	j := b.createN(5)
	b.link(j[0], j[1], jobs.Blocks)
	b.link(j[2], j[1], jobs.Duplicates)
	b.link(j[2], j[3], jobs.Parent)
	g, err := b.Graph(t.Context(), b.who, j[0].Key)
	if err != nil || len(g.Nodes) != 4 || g.Nodes[0].Key != j[0].Key || len(g.Edges) != 3 || g.More {
		t.Fatalf("graph %+v, %v", g, err)
	}
	if e := g.Edges[1]; e.Job != j[2].Key || e.DependsOn != j[1].Key || e.Type != jobs.Duplicates {
		t.Errorf("edge %+v", e)
	}
	if alone, err := b.Graph(t.Context(), b.who, j[4].ID.String()); err != nil || len(alone.Nodes) != 1 || len(alone.Edges) != 0 {
		t.Errorf("a job alone: %+v, %v", alone, err)
	}
	for _, unknown := range []string{"NOPE", b.who.Workspace.String()} {
		if _, err := b.Graph(t.Context(), b.who, unknown); !fault.Is(err, fault.NotFound) {
			t.Errorf("graph of %s: %v; want not_found", unknown, err)
		}
	}
	many := make([]jobs.New, 150)
	for i := range many {
		many[i] = jobs.New{Spec: jobs.Spec{Title: "leaf", DependsOn: []string{j[4].Key}}}
	}
	b.create(many...)
	if g, err := b.Graph(t.Context(), b.who, j[4].Key); err != nil || len(g.Nodes) != 100 || !g.More || len(g.Edges) != 99 {
		t.Errorf("a crowd: %d nodes, %d edges, more %t, %v", len(g.Nodes), len(g.Edges), g.More, err)
	}
}
