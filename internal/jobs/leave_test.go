package jobs_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Whatever takes a ready job out of its repo lets the next one in at once, not
// with the next sweep.
func TestAJobThatLeavesItsRepoLetsTheNextOneIn(t *testing.T) {
	for name, leave := range map[string]func(b *bundle, j, other jobs.Job) error{
		"it waits for another job": func(b *bundle, j, other jobs.Job) error {
			_, err := b.Link(b.t.Context(), b.who, j.Key, other.Key, jobs.Blocks)
			return err
		},
		"its time is later": func(b *bundle, j, _ jobs.Job) error {
			_, err := b.Patch(b.t.Context(), b.who, j.Key, jobs.Patch{Version: 1,
				Spec: jobs.Spec{NotBefore: number(time.Now().Add(time.Hour))}, Set: []string{"not_before"}})
			return err
		},
		"its repo is another one": func(b *bundle, j, _ jobs.Job) error {
			_, err := b.Patch(b.t.Context(), b.who, j.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{Repo: ""}, Set: []string{"repo"}})
			return err
		},
		"it is less urgent": func(b *bundle, j, _ jobs.Job) error {
			_, err := b.Patch(b.t.Context(), b.who, j.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{Priority: 1}, Set: []string{"priority"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.put("default", jobs.ProductSettings{Serialise: jobs.SerialiseRepo})
			j := b.create(jobs.New{Spec: jobs.Spec{Title: "first", Repo: "api"}, Priority: number(7)},
				jobs.New{Spec: jobs.Spec{Title: "next", Repo: "api"}}, jobs.New{Spec: jobs.Spec{Title: "other"}})
			b.is(j[1], jobs.Waiting, jobs.WaitRepoBusy)
			if err := leave(b, j[0], j[2]); err != nil {
				t.Fatal(err)
			}
			b.is(j[1], jobs.Ready, "")
		})
	}
}
