package api_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Whatever a job's status and wait, its explanation has a reason with a code and
// a sentence, and the numbers count it.
func TestEveryStatusIsExplainedAndCounted(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	put := func(title string, status jobs.Status, why jobs.WaitReason) string {
		key := w.job(title)
		dbfactory.Exec(t, w.db, `UPDATE job SET status = $2, wait_reason = $3, completed_at = now(), failed_at = now() WHERE key = $1`,
			key, string(status), string(why))
		return key
	}
	keys := map[string]string{}
	for _, status := range jobs.Statuses {
		if status != jobs.Waiting {
			keys[string(status)] = put(string(status), status, jobs.NoWait)
		}
	}
	for _, why := range jobs.WaitReasons() {
		keys[string(why)] = put(string(why), jobs.Waiting, why)
	}
	for name, key := range keys {
		e := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200)
		if e.count("reasons") == 0 || e.text("reasons", 0, "code") == "" || len(e.text("reasons", 0, "detail")) < 10 {
			t.Errorf("%s is not explained: %s", name, e.raw)
		}
	}
	stats := w.as(w.owner, "GET", "/stats", nil).want(200)
	for _, status := range jobs.Statuses {
		want := int64(1)
		if status == jobs.Waiting {
			want = int64(len(jobs.WaitReasons()))
		}
		if n := stats.number("by_status", string(status)); n != want {
			t.Errorf("%d jobs are %s; want %d", n, status, want)
		}
	}
}

// openapi.yaml names the wait reasons of the jobs, in their order; the CHECK on the column is
// held by the test above, which writes each.
func TestTheWaitReasonsOfTheAPIAreThoseOfJobs(t *testing.T) {
	want := []any{string(jobs.NoWait)}
	for _, wait := range jobs.WaitReasons() {
		want = append(want, string(wait))
	}
	if got := described.doc.Components.Schemas["WaitReason"].Value.Enum; !slices.Equal(got, want) {
		t.Errorf("openapi.yaml names %v; want %v", got, want)
	}
}
