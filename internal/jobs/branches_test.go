package jobs_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Branches are listed of jobs that ended longer ago than their product keeps branches, in the
// repository that was requested.
func TestBranchesOfEndedJobs(t *testing.T) {
	b := setup(t)
	b.put("web", jobs.ProductSettings{Repos: []string{"web"}, BranchRetention: number(7)})
	b.put("kept", jobs.ProductSettings{Repos: []string{"kept"}, BranchRetention: number(0)})
	for key, ended := range map[string]string{"OLD": "8 days", "YOUNG": "6 days", "FAILED": "9 days", "OPEN": "90 days", "KEPT": "900 days"} {
		repo, status, column := "web", "completed", "completed_at"
		switch key {
		case "FAILED":
			status, column = "failed", "failed_at"
		case "OPEN":
			status, column = "in_review", "started_at"
		case "KEPT":
			repo = "kept"
		}
		j := b.create(jobs.New{Spec: jobs.Spec{Title: "work", Repo: repo}, Key: key})[0]
		dbfactory.Exec(t, b.db, `DELETE FROM job_ready WHERE job_id = $1`, j.ID)
		dbfactory.Exec(t, b.db, fmt.Sprintf(`UPDATE job SET status = '%s', %s = now() - interval '%s', merged_commit = CASE WHEN key = 'OLD' THEN 'fff' ELSE '' END
			WHERE id = $1`, status, column, ended), j.ID)
		dbfactory.Exec(t, b.db, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at, result, checkpoint)
			SELECT workspace_id, id, 1, 'a', 'f', 'rejected', now(), '{"branch": "one", "commit": "aaa"}'::jsonb, NULL::jsonb FROM job WHERE id = $1
			UNION ALL SELECT workspace_id, id, 2, 'a', 'f', 'failed', now(), NULL, '{"fleet_worker": {"branch": "two", "commit": "bbb"}}' FROM job WHERE id = $1
			UNION ALL SELECT workspace_id, id, 3, 'a', 'f', 'completed', now(), '{"branch": "three", "commit": "ccc"}', NULL FROM job WHERE id = $1`, j.ID)
		dbfactory.Exec(t, b.db, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at, result, delivery, delivery_at, delivery_branch, delivery_commit)
			SELECT workspace_id, id, 4, 'a', 'f', 'rejected', now(), '"an agent''s own words"', 'pushed', now(), 'four', 'ddd' FROM job WHERE id = $1`, j.ID)
	}
	keys := []string{"OLD", "YOUNG", "FAILED", "OPEN", "KEPT", "NONE"}
	told := func(repo string) (said []string) {
		t.Helper()
		list, err := b.EndedBranches(t.Context(), b.who, repo, keys)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			said = append(said, fmt.Sprintf("%s %d %s=%s %v %v", e.Key, e.Epoch, e.Branch, e.Commit, e.Merged, e.Unmerged))
		}
		return said
	}
	want := []string{"FAILED 4 four=ddd false false", "FAILED 3 three=ccc false false", "FAILED 2 two=bbb false false", "FAILED 1 one=aaa false false",
		"OLD 4 four=ddd true false", "OLD 3 three=ccc true false", "OLD 2 two=bbb true false", "OLD 1 one=aaa true false"}
	if got := told("web"); !slices.Equal(got, want) {
		t.Errorf("it tells %q", got)
	}
	if got := told("kept"); len(got) > 0 {
		t.Errorf("of a product that keeps its branches it tells %q", got)
	}
	dbfactory.Exec(t, b.db, `UPDATE job SET merged_commit = ''`)
	if got := told("web"); !slices.Contains(got, "OLD 3 three=ccc false true") || !slices.Contains(got, "OLD 1 one=aaa false false") {
		t.Errorf("of unmerged work it tells %q", got)
	}
	if _, err := b.EndedBranches(t.Context(), b.who, "web", make([]string, jobs.MaxBranchJobs+1)); !fault.Is(err, fault.Validation) {
		t.Errorf("too many jobs: %v", err)
	}
}
