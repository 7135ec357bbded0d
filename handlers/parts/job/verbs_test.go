package job

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// The buttons are the table of package jobs, whatever the status.
func TestActionsFollowTheTable(t *testing.T) {
	for _, status := range jobs.Statuses {
		var want []string
		for _, v := range Verbs {
			if jobs.Can(status, v.By) && !v.hidden {
				want = append(want, string(v.By))
			}
		}
		var got []string
		for _, a := range Actions(jobs.Job{Key: "FB-1", Status: status}) {
			got = append(got, a.Verb)
			if a.URL != "/jobs/FB-1/"+a.Verb || a.Label == "" || a.Icon == "" {
				t.Errorf("%s: incomplete action %+v", status, a)
			}
			if a.Danger && a.Dialog == nil {
				t.Errorf("%s: %s asks nothing", status, a.Verb)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s offers %v, want %v", status, got, want)
		}
	}
	asked := jobs.Job{Status: jobs.Running, Lease: &jobs.Lease{Directive: "pause"}}
	for _, a := range Actions(asked) {
		if a.Verb == "pause" {
			t.Error("a pause is offered again")
		}
	}
}
