package screens

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A review queue that is full keeps a new job back, however many jobs it holds: they are
// counted up to the product's limit, not to that of the jobs ahead.
func TestAFullReviewQueueStandsBeforeANewJob(t *testing.T) {
	h := newHeld(t)
	h.crowd(h.job(jobs.New{Spec: jobs.Spec{Title: "one"}}), maxAhead+50)
	for limit, full := range map[int]bool{maxAhead + 50: true, maxAhead + 51: false} {
		h.exec(`UPDATE product SET review_limit = $2 WHERE workspace_id = $1`, limit)
		start, err := h.service().Start(t.Context(), h.who, fleet.Snapshot{}, StartQuery{Product: "default", Priority: 5})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(start.Reasons) == 1 && start.Reasons[0].Code == CodeReviewBacklog; got != full {
			t.Errorf("a limit of %d: %+v", limit, start.Reasons)
		}
	}
}
