package dispatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// impossible is approved work whose repo has become another product's since.
func (w *testWorkspace) impossible(n int) []jobs.Job {
	w.T.Helper()
	var list []jobs.Job
	for i := range n {
		list = append(list, w.approvedAs(fmt.Sprintf("lost-%d", i), "abc"))
	}
	repos := make([]string, 0, n)
	for i := range n {
		repos = append(repos, fmt.Sprintf("lost-%d", i))
	}
	w.Product("others", jobs.ProductSettings{Repos: repos})
	return list
}

// scan reads one value, past the policies.
func (w *testWorkspace) scan(to any, query string, args ...any) {
	w.T.Helper()
	if err := dbtest.Owner(w.T, w.DB).QueryRow(w.Ctx, query, args...).Scan(to); err != nil {
		w.T.Fatal(err)
	}
}

// approvedAs is approved work in a repo with a commit; "" is none.
func (w *testWorkspace) approvedAs(repo, commit string) jobs.Job {
	w.T.Helper()
	j := w.Job("in "+repo, reviewed, inRepo(repo))
	dbfactory.Exec(w.T, w.DB, `DELETE FROM job_ready WHERE job_id = $1`, j.ID)
	dbfactory.Exec(w.T, w.DB, `UPDATE job SET status = 'approved', approved_head = $2 WHERE id = $1`, j.ID, commit)
	return w.Get(j)
}

// held asserts that a job says why its merge waits, and is left alone.
func (w *testWorkspace) held(j jobs.Job, why string) {
	w.T.Helper()
	if now := w.Want(j, jobs.Approved); !strings.Contains(now.LastError, why) {
		w.T.Errorf("%s says %q, not %q", j.Key, now.LastError, why)
	}
}

// What cannot be merged says so and is left alone, however much of it there is; everything
// else goes on, and so does it once it can be merged.
func TestAnImpossibleMergeHoldsUpNobodyElse(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	list := w.impossible(60)
	good := w.approvedAs("atlas", "abc")
	w.mergeCycle(50) // all that a cycle looks at, and each is held
	w.mergeCycle(11) // the rest, with what can be merged
	w.mergeCycle(0)
	w.held(list[0], "others")
	w.held(list[59], "others")
	if m := w.Claim(w.Agent("smith", hasAtlas)); !strings.Contains(m.Title, good.Key) {
		t.Errorf("%s was claimed", m.Title)
	}
	version := w.Get(list[0]).Version
	dbfactory.Exec(t, w.DB, `UPDATE job_merge_hold SET until = now()`)
	w.mergeCycle(50)
	if now := w.Get(list[0]); now.Version != version {
		t.Error("it says the same again")
	}
	w.Product("others", jobs.ProductSettings{})
	dbfactory.Exec(t, w.DB, `UPDATE job_merge_hold SET until = now()`)
	w.mergeCycle(50)
	w.mergeCycle(10)
	w.mergeCycle(0)
}

// Each refusal holds for longer, up to two minutes.
func TestARefusedMergeIsLeftAloneLongerAndLonger(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.impossible(1)[0]
	for try, want := range []int{5, 10, 20, 40, 80, 120, 120} {
		w.mergeCycle(1)
		var seconds int
		w.scan(&seconds, `SELECT extract(epoch FROM until - now())::int FROM job_merge_hold WHERE job_id = $1`, j.ID)
		if seconds > want || want == 120 && seconds < 60 { // of a slow machine less is left
			t.Errorf("after %d refusals it is left alone for %d s, not %d", try+1, seconds, want)
		}
		dbfactory.Exec(t, w.DB, `UPDATE job_merge_hold SET until = now()`)
	}
}

// Work without a commit, also without a repo, has nothing to merge and is completed.
func TestWorkWithoutChangesIsApprovedToItsEnd(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	author := w.Agent("author", hasAtlas)
	for _, change := range []func(*jobs.New){inRepo("atlas"), inRepo("")} {
		j := w.Job("look", reviewed, change)
		done, err := w.Dispatch.Complete(w.Ctx, author, ref(w.Claim(author)), report.Completion{Summary: "All is well."})
		if err != nil {
			t.Fatal(err)
		}
		w.Act(done.Job, jobs.ByApprove)
		w.mergeCycle(1)
		if now := w.Want(j, jobs.Completed); now.MergedCommit != "" {
			t.Errorf("it was merged as %q", now.MergedCommit)
		}
	}
	w.mergeCycle(0)
	w.Consistent()
}

// A factory that says nothing, or nonsense, about what it merged has merged nothing.
func TestAMergeWithoutACommitIsNone(t *testing.T) {
	for name, result := range map[string]string{"nothing": `{}`, "long": `{"merged_commit": "` + strings.Repeat("a", 101) + `"}`,
		"two lines": `{"merged_commit": "abc\ndef"}`, "another form": `{"merged_commit": {"a": 1}}`} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			w.byFactories()
			j := w.approved()
			w.mergeCycle(1)
			smith := w.Agent("smith", hasAtlas)
			if _, err := w.Dispatch.Complete(w.Ctx, smith, ref(w.Claim(smith)), report.Completion{Result: []byte(result)}); err != nil {
				t.Fatal(err)
			}
			w.mergeCycle(1)
			if now := w.Get(j); now.MergedCommit != "" && name != "another form" || now.Status == jobs.Approved {
				t.Errorf("it is %s, merged as %q", now.Status, now.MergedCommit)
			}
			w.mergeCycle(0)
		})
	}
}

// Children that are open keep work from being completed, and no other work.
func TestOpenChildrenHoldTheMergeOfTheirParentOnly(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	j := w.approvedAs("atlas", "")
	dbfactory.Exec(t, w.DB, `UPDATE job SET waits_for_children = true WHERE id = $1`, j.ID)
	child := w.Job("child")
	if _, err := w.Jobs.Link(w.Ctx, w.Owner, child.Key, j.Key, jobs.Parent); err != nil {
		t.Fatal(err)
	}
	other := w.approvedAs("atlas", "")
	w.mergeCycle(2)
	w.held(j, child.Key)
	w.Want(other, jobs.Completed)
	w.mergeCycle(0)
	w.Act(child, jobs.ByCancel)
	dbfactory.Exec(t, w.DB, `UPDATE job_merge_hold SET until = now()`)
	w.mergeCycle(1)
	if now := w.Want(j, jobs.Completed); now.LastError != "" {
		t.Errorf("it still says %q", now.LastError)
	}
}

// More merges that go on than a cycle looks at keep none that has ended from being decided.
func TestLongMergesHoldUpNobodyElse(t *testing.T) {
	w := newTestWorkspace(t)
	w.byFactories()
	for range 55 {
		w.approvedAs("atlas", "abc")
	}
	w.mergeCycle(50)
	w.mergeCycle(5)
	var last ids.ID
	w.scan(&last, `SELECT job_id FROM job_merge ORDER BY merge_job_id DESC LIMIT 1`)
	var merge string
	w.scan(&merge, `SELECT j.key FROM job_merge m JOIN job j ON j.id = m.merge_job_id WHERE m.job_id = $1`, last)
	m, err := w.Jobs.Get(w.Ctx, w.Owner, merge)
	if err != nil {
		t.Fatal(err)
	}
	w.Act(m, jobs.ByCancel)
	w.mergeCycle(1)
	if now, err := w.Jobs.Get(w.Ctx, w.Owner, last.String()); err != nil || now.Status != jobs.InReview {
		t.Errorf("it is %s: %v", now.Status, err)
	}
}
