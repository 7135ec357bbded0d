package screens

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// A job that waits for a budget says which one, and what it has.
func TestABudgetSaysWhatItHas(t *testing.T) {
	id := ids.New()
	f := facts{money: money{refused: map[ids.ID]budgeting.Refusal{id: {Name: "All", Free: "$0", Needed: "$1"}}}}
	j := jobs.Job{ID: id, Status: jobs.Waiting, WaitReason: jobs.WaitBudget}
	if r := f.findReason(j); r.Code != CodeBudget || r.Text != `The budget "All" has $0 free, and the job needs $1` || r.Budget != "All" {
		t.Errorf("it says %+v", r)
	}
}
