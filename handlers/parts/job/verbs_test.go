package job

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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
}

// Where an agent is directed to pause, a person takes that back, but not what a stop directs,
// and takes the place of a loop.
func TestWhatIsOfferedOfAPause(t *testing.T) {
	for by, want := range map[tenancy.Actor][2]bool{
		{Kind: tenancy.KindPerson, ID: "1", Name: "Olga"}: {false, true},
		tenancy.System(ids.Nil, "budget").Actor():         {true, true},
		tenancy.System(ids.Nil, tenancy.Stop).Actor():     {true, false},
	} {
		asked := jobs.Job{Status: jobs.Running, Lease: &jobs.Lease{Directive: "pause", DirectiveBy: by}}
		var offered []string
		for _, a := range Actions(asked) {
			offered = append(offered, a.Verb)
		}
		if got := [2]bool{slices.Contains(offered, "pause"), slices.Contains(offered, "resume")}; got != want {
			t.Errorf("paused by %s it offers %v", by.Name, offered)
		}
	}
}
