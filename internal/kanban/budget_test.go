package kanban

import (
	"testing"

	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// A job that waits for a budget says which one, and what it has.
func TestABudgetSaysWhatItHas(t *testing.T) {
	id := ids.New()
	f := facts{refused: map[ids.ID]string{id: "The budget has $0 free"}}
	j := jobs.Job{ID: id, Status: jobs.Waiting, WaitReason: jobs.WaitBudget}
	if r := f.reasonOf(j); r.Code != CodeBudget || r.Text != "The budget has $0 free" {
		t.Errorf("it says %+v", r)
	}
}
