package handlertest

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Burst pauses, resumes and cancels jobs, several at once, and adds new ones.
func (w *Workspace) Burst(t *testing.T) (changes int) {
	t.Helper()
	var group errgroup.Group
	for part := range 6 {
		group.Go(func() error {
			for n := part + 1; n <= 120; n += 6 {
				for _, verb := range []jobs.Trigger{jobs.ByPause, jobs.ByResume, jobs.ByCancel}[:1+n%3] {
					if _, err := w.OtherProcess.Act(t.Context(), w.Owner, fmt.Sprint("FB-", n), actions.Action{Verb: verb}); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		_, err := w.Jobs.Create(t.Context(), w.Owner, nil, jobs.New{Spec: jobs.Spec{Title: "The last"}, Priority: new(int)})
		return err
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return 241
}
